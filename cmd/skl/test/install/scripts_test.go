// Package install tests installing, locking, updating and removing as a user meets them.
package install

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m, nil) }

func TestScripts(t *testing.T) { harness.RunScripts(t) }
