package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/registrytest"
)

func BenchmarkMeta(b *testing.B) {
	registrytest.BenchMeta(b, func(b testing.TB) meta.Store { return openTest(b, filepath.Join(b.TempDir(), "meta.db"), Options{}) })
}
