package sqlite

import (
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/registrytest"
)

func openTest(t testing.TB, path string, o Options) *store {
	t.Helper()
	s, err := open(t.Context(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestMeta(t *testing.T) {
	registrytest.Meta(t, func(t testing.TB, dir string) meta.Store {
		return openTest(t, filepath.Join(dir, "meta.db"), Options{})
	})
}
