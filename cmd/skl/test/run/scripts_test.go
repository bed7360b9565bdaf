// Package run tests running, writing and searching skills as a user meets them.
package run

import (
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m, map[string]func() int{"vault": vault}) }

func TestScripts(t *testing.T) { harness.RunScripts(t) }
