package audit

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/corpus"
	"github.com/skl-project/skl/testdata/long"
)

var update = flag.Bool("update", false, "write the golden files")

// bundled checks out a bundle of real skills, or skips.
func bundled(t testing.TB, name string) fs.FS {
	bundle := ""
	for _, dir := range []string{os.Getenv("SKL_TEST_CORPUS"), filepath.Join("..", "..", "..", "shared", "data"), filepath.Join("..", "..", "..", "..", "shared", "data")} {
		if file := filepath.Join(dir, name+".bundle"); dir != "" {
			if abs, err := filepath.Abs(file); err == nil {
				if _, err := os.Stat(abs); err == nil {
					bundle = abs
				}
			}
		}
	}
	if bundle == "" {
		t.Skipf("there is no %s.bundle: SKL_TEST_CORPUS names its folder", name)
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	dir := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("git", "clone", "-q", bundle, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return os.DirFS(dir)
}

// skills reads every folder of fsys that holds a SKILL.md.
func skills(t testing.TB, fsys fs.FS) (names []string, all map[string][]File) {
	all = map[string][]File{}
	err := fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "SKILL.md" {
			return err
		}
		root := path.Dir(p)
		names = append(names, root)
		sub, _ := fs.Sub(fsys, root)
		return fs.WalkDir(sub, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			data, err := fs.ReadFile(sub, p)
			info, _ := d.Info()
			all[root] = append(all[root], File{Path: p, Data: data, Executable: info.Mode()&0o100 != 0})
			return err
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names, all
}

// TestCorpus holds the permissions of real skills: a change of the rules is a line in a diff.
func TestCorpus(t *testing.T) {
	long.Slow(t)
	for name, read := range map[string]func(t *testing.T) fs.FS{
		"awesome-copilot": func(t *testing.T) fs.FS { return bundled(t, "awesome-copilot") },
		"superpowers":     func(t *testing.T) fs.FS { return bundled(t, "superpowers") },
		"canopy":          func(t *testing.T) fs.FS { return corpus.Files(t) },
	} {
		t.Run(name, func(t *testing.T) {
			names, all := skills(t, read(t))
			var out bytes.Buffer
			for _, skill := range names {
				texts := Read(all[skill]).Set().Texts()
				if len(texts) == 0 {
					texts = []string{"-"}
				}
				fmt.Fprintf(&out, "%s: %s\n", strings.TrimPrefix(skill, "skills/"), strings.Join(texts, " "))
			}
			file := filepath.Join("testdata", name+".txt")
			if *update {
				if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if got == string(want) {
				return
			}
			old := strings.Split(string(want), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(old) || line != old[i] {
					t.Errorf("got  %s", line)
				}
			}
		})
	}
}

// How much time do 400 skills take?
func BenchmarkCorpus(b *testing.B) {
	names, all := skills(b, bundled(b, "awesome-copilot"))
	var size int64
	for _, files := range all {
		for _, f := range files {
			size += int64(len(f.Data))
		}
	}
	b.SetBytes(size)
	for b.Loop() {
		start := time.Now()
		for _, name := range names {
			Read(all[name])
		}
		b.ReportMetric(time.Since(start).Seconds()*400/float64(len(names)), "s/400skills")
	}
}
