// Package corpus has the snapshots of published skills with trees that lie beside the repository: several states of three repositories. A test that
// needs them is skipped where they are not there, and fails if SKL_TEST_REQUIRE is all.
package corpus

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

const archive = "canopy-corpus.tar.gz"

// Files are all files, by REPOSITORY/COMMIT/PATH.
func Files(tb testing.TB) fstest.MapFS {
	tb.Helper()
	f := open(tb)
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	files := fstest.MapFS{}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		} else if err != nil {
			tb.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			tb.Fatal(err)
		}
		files[path.Clean(h.Name)] = &fstest.MapFile{Data: data, Mode: fs.FileMode(h.Mode) & fs.ModePerm}
	}
}

func open(tb testing.TB) *os.File {
	tb.Helper()
	for dir, err := os.Getwd(); err == nil && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if f, err := os.Open(filepath.Join(filepath.Dir(dir), "shared", "data", archive)); err == nil {
			return f
		}
	}
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		tb.Fatal("shared/data/" + archive + " is not beside the repository")
	}
	tb.Skip("skipped: shared/data/" + archive + " is not beside the repository")
	return nil
}

// IsEntry reports whether a file is the SKILL.md of a skill, in either case, and not that of a template.
func IsEntry(name string) bool {
	base := path.Base(name)
	return base == "SKILL.md" || base == "skill.md" && path.Base(path.Dir(name)) != "templates"
}

// IsAgent reports whether a file is that of an agent, which older states have in place of a skill.
func IsAgent(name string) bool {
	return path.Base(path.Dir(name)) == "agents" && path.Ext(name) == ".md"
}

// Below are the files below each directory that has an entry, by the directory.
func Below(files fstest.MapFS, entry func(name string) bool) map[string]fstest.MapFS {
	dirs := map[string]fstest.MapFS{}
	for name := range files {
		if entry(name) {
			dirs[path.Dir(name)] = fstest.MapFS{}
		}
	}
	for name, f := range files {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if fsys := dirs[dir]; fsys != nil {
				fsys[strings.TrimPrefix(name, dir+"/")] = f
			}
		}
	}
	return dirs
}
