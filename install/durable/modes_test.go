package durable

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// Modes that are kept beside a tree are what everybody sees who reads it, by whatever way.
func TestWithModes(t *testing.T) {
	fsys := WithModes(fstest.MapFS{
		"a/run":  {Data: []byte("x"), Mode: 0o644},
		"a/text": {Data: []byte("y"), Mode: 0o755},
	}, func(name string) bool { return name == "a/run" })
	for name, want := range map[string]fs.FileMode{"a/run": 0o755, "a/text": 0o644} {
		f, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		opened, err1 := f.Stat()
		stat, err2 := fs.Stat(fsys, name)
		lstat, err3 := fs.Lstat(fsys, name)
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		f.Close()
		for _, info := range []fs.FileInfo{opened, stat, lstat} {
			if info.Mode().Perm() != want {
				t.Errorf("%s: %v, want %v", name, info.Mode(), want)
			}
		}
	}
	entries, err := fs.ReadDir(fsys, "a")
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("listed as %v, %v", info.Mode(), err)
	}
	if err := fstest.TestFS(fsys, "a/run", "a/text"); err != nil {
		t.Error(err)
	}
}

// On a disk without modes the files of an author have those of git's index; others are executable if they start with #!.
func TestModesOfAuthors(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not there")
	}
	for _, version := range []string{"2", "4"} {
		top := t.TempDir()
		write := func(name, text string) {
			path := filepath.Join(top, filepath.FromSlash(name))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("README", "x")
		write("skills/a/SKILL.md", "x")
		write("skills/a/bin/tool", "no first line")
		write("skills/a/lib/part.sh", "#!/bin/sh\n# is only read by others\n")
		write("skills/ab/other", "x")
		for _, args := range [][]string{{"init", "-q"}, {"config", "index.version", version}, {"add", "."}, {"update-index", "--chmod=+x", "skills/a/bin/tool"}} {
			if out, err := exec.Command(git, append([]string{"-C", top}, args...)...).CombinedOutput(); err != nil {
				t.Fatalf("git %s: %v: %s", args, err, out)
			}
		}
		write("skills/a/new.sh", "#!/bin/sh\n")
		write("skills/a/new.txt", "x")
		dir := filepath.Join(top, "skills", "a")
		fsys := authored(os.DirFS(dir), dir)
		for name, want := range map[string]bool{"SKILL.md": false, "bin/tool": true, "lib/part.sh": false, "new.sh": true, "new.txt": false} {
			info, err := fs.Stat(fsys, name)
			if err != nil || info.Mode()&0o111 != 0 != want {
				t.Errorf("index version %s: %s: %v, %v; executable %v is wanted", version, name, info.Mode(), err, want)
			}
		}
		if got := gitModes(dir); !maps.Equal(got, map[string]bool{"SKILL.md": false, "bin/tool": true, "lib/part.sh": false}) {
			t.Errorf("index version %s: %v", version, got)
		}
		// Without an index that can be read, the first line decides.
		if err := os.WriteFile(filepath.Join(top, ".git", "index"), []byte("DIRC\x00\x00\x00\x02 damaged"), 0o644); err != nil {
			t.Fatal(err)
		}
		if info, err := fs.Stat(authored(os.DirFS(dir), dir), "lib/part.sh"); err != nil || info.Mode()&0o111 == 0 {
			t.Errorf("without an index: %v, %v", info.Mode(), err)
		}
	}
}

// index is git's index, version 2, of these files.
func index(files map[string]uint32) []byte {
	var b bytes.Buffer
	b.WriteString("DIRC\x00\x00\x00\x02")
	binary.Write(&b, binary.BigEndian, uint32(len(files)))
	for name, mode := range files {
		entry := make([]byte, 62)
		binary.BigEndian.PutUint32(entry[24:], mode)
		entry = append(entry, name...)
		entry = append(entry, make([]byte, 8-len(entry)%8)...)
		b.Write(entry)
	}
	sum := sha1.Sum(b.Bytes())
	return append(b.Bytes(), sum[:]...)
}

func FuzzGitIndex(f *testing.F) {
	f.Add(index(map[string]uint32{"a/b": 0o100755})[:], "a/")
	f.Add([]byte("DIRC\x00\x00\x00\x04\x00\x00\x00\x01"), "")
	f.Fuzz(func(t *testing.T, body []byte, prefix string) {
		sum := sha1.Sum(body)
		for name := range indexModes(append(bytes.Clone(body), sum[:]...), prefix) {
			if strings.Contains(name, "\x00") {
				t.Errorf("path %q", name)
			}
		}
	})
}

// The modes in an index that git wrote are read; links and submodules are left out.
func TestIndexModes(t *testing.T) {
	data := index(map[string]uint32{"a/x": 0o100755, "a/y": 0o100644, "a/l": 0o120000, "a/m": 0o160000, "b": 0o100755})
	if got := indexModes(data, "a/"); !maps.Equal(got, map[string]bool{"x": true, "y": false}) {
		t.Error(got)
	}
	data[30]++
	if got := indexModes(data, ""); got != nil {
		t.Errorf("of a damaged index: %v", got)
	}
}
