package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// looksAtLoopback are the files besides registry/client/origin that ask an address whether it is of the loopback
// interface, and what they ask it for. Where plain http, no key or no token will do, is for origin.Loopback to say.
var looksAtLoopback = map[string]string{
	"spec/ref/inward.go":        "whether a ref leads inwards: spec does not import origin, and private networks count too",
	"runtime/sandbox/proxy.go":  "where an address leads that a name stands for",
	"registry/server/access.go": "where a request comes from, which is an address already",
}

func TestOneLoopback(t *testing.T) {
	root, found, looked := os.DirFS(filepath.Join("..", "..")), map[string]bool{}, 0
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"), strings.HasPrefix(name, "registry/client/origin/"):
			return nil
		}
		src, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		looked++
		if strings.Contains(string(src), ".IsLoopback()") {
			found[name] = true
			if looksAtLoopback[name] == "" {
				t.Errorf("%s has a rule of its own for what is on this machine: use origin.Loopback", name)
			}
		}
		return nil
	})
	if err != nil || looked < 500 {
		t.Fatalf("%d files: %v", looked, err)
	}
	for name := range looksAtLoopback {
		if !found[name] {
			t.Errorf("%s is an exception and asks no address any more", name)
		}
	}
}
