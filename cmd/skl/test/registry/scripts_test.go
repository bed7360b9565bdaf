// Package registry tests publishing, searching and running a registry as its users meet them.
package registry

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m, nil) }

func TestScripts(t *testing.T) { harness.RunScripts(t) }
