// Package trust tests signatures, keys and policies as a user meets them.
package trust

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m, nil) }

func TestScripts(t *testing.T) { harness.RunScripts(t) }
