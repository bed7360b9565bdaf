package files_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/skl-project/skl/index/files"
)

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func makeDir(t testing.TB, path string) {
	t.Helper()
	if err := os.MkdirAll(path, 0o755); err != nil {
		t.Fatal(err)
	}
}

// plant writes files below dir, by slashed path.
func plant(t testing.TB, dir string, texts map[string]string) {
	t.Helper()
	for path, text := range texts {
		path = filepath.Join(dir, filepath.FromSlash(path))
		makeDir(t, filepath.Dir(path))
		write(t, path, text)
	}
}

func walkAll(t testing.TB, w *files.Walker) files.List {
	t.Helper()
	list, err := w.Walk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func pathsOf(list []files.File) []string {
	paths := make([]string, 0, len(list))
	for _, f := range list {
		paths = append(paths, f.Path)
	}
	return paths
}
