package within

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// folder makes a skill's folder with what skl does not read, too, and returns it.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "s")
	for name, text := range map[string]string{"SKILL.md": "one\n", "references/a.md": "a\n", "references/deep/b.md": "b\n", ".git/config": "git\n", "run.sh": "#!/bin/sh\n"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// shown is all that lies in a folder, and in the directory that it is in.
func shown(t *testing.T, dir string) string {
	t.Helper()
	var w strings.Builder
	err := filepath.WalkDir(filepath.Dir(dir), func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(filepath.Dir(dir), p)
		info, err := e.Info()
		if err != nil {
			return err
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			to, _ := os.Readlink(p)
			fmt.Fprintf(&w, "%s -> %s\n", rel, to)
		case e.Type().IsRegular():
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			fmt.Fprintf(&w, "%s %v %q\n", rel, info.Mode(), data)
		case e.IsDir() && rel != ".":
			fmt.Fprintf(&w, "%s/\n", rel)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w.String()
}

// TestEdit changes, adds and removes files in one step, and leaves everything else.
func TestEdit(t *testing.T) {
	dir := folder(t)
	link(t, "SKILL.md", filepath.Join(dir, "other"))
	link(t, "/nowhere", filepath.Join(dir, "away"))
	before := shown(t, dir)
	old, err := os.Stat(filepath.Join(dir, "references/a.md"))
	if err != nil {
		t.Fatal(err)
	}
	d := Anywhere()
	err = d.Edit(dir, filepath.Dir(dir), []Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "references/deep/b.md", Was: []byte("b\n")}, {Path: "new/c.md", Now: []byte{}}, {Path: "new/d.sh", Now: []byte{}, Executable: true}, {Path: "run.sh", Was: []byte("#!/bin/sh\n"), Now: []byte("#!/bin/sh\n:\n")}})
	if err != nil {
		t.Fatal(err)
	}
	mode := func(m fs.FileMode) string { return m.String() }
	want := strings.NewReplacer("s/SKILL.md "+mode(0o644)+` "one\n"`, "s/SKILL.md "+mode(0o644)+` "two\n"`, "s/references/deep/\n", "", "s/references/deep/b.md "+mode(0o644)+` "b\n"`+"\n", "",
		"s/other -> SKILL.md\n", "s/new/\ns/new/c.md "+mode(0o644)+` ""`+"\ns/new/d.sh "+mode(0o755)+` ""`+"\ns/other -> SKILL.md\n").Replace(before)
	want = strings.ReplaceAll(want, `"#!/bin/sh\n"`, `"#!/bin/sh\n:\n"`)
	if lines := strings.SplitAfter(want, "\n"); runtime.GOOS != "windows" {
		got := strings.SplitAfter(shown(t, dir), "\n")
		if fmt.Sprint(got) != sorted(lines, got) {
			t.Errorf("after the edits there is\n%s\nand not\n%s", strings.Join(got, ""), want)
		}
	}
	now, err := os.Stat(filepath.Join(dir, "references/a.md"))
	if err != nil || !now.ModTime().Equal(old.ModTime()) {
		t.Errorf("a file that was not edited has another time: %v, %v", now.ModTime(), err)
	}
}

// sorted is the text of lines if they are the same as got in another order.
func sorted(lines, got []string) string {
	count := map[string]int{}
	for _, l := range lines {
		count[l]++
	}
	for _, l := range got {
		count[l]--
	}
	for _, n := range count {
		if n != 0 {
			return fmt.Sprint(lines)
		}
	}
	return fmt.Sprint(got)
}

// TestEditRefusals change nothing.
func TestEditRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		edits []Edit
		make  func(dir string) error
		code  string
	}{
		"other text":      {[]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "references/a.md", Was: []byte("other\n")}}, nil, "changed_meanwhile"},
		"is there":        {[]Edit{{Path: "SKILL.md", Now: []byte("two\n")}}, nil, "changed_meanwhile"},
		"is not there":    {[]Edit{{Path: "gone.md", Was: []byte("x")}}, nil, "changed_meanwhile"},
		"outside":         {[]Edit{{Path: "../x", Now: []byte("x")}}, nil, "path_outside"},
		"absolute":        {[]Edit{{Path: "/x", Now: []byte("x")}}, nil, "path_outside"},
		"not clean":       {[]Edit{{Path: "a/../b", Now: []byte("x")}}, nil, "path_outside"},
		"the folder":      {[]Edit{{Path: ".", Now: []byte("x")}}, nil, "path_outside"},
		"a directory":     {[]Edit{{Path: "references", Now: []byte("x")}}, nil, "irregular_file"},
		"a link":          {[]Edit{{Path: "l", Was: []byte("one\n"), Now: []byte("x")}}, func(dir string) error { return os.Symlink("SKILL.md", filepath.Join(dir, "l")) }, "irregular_file"},
		"through a link":  {[]Edit{{Path: "out/x", Now: []byte("x")}}, func(dir string) error { return os.Symlink("..", filepath.Join(dir, "out")) }, ""},
		"below a file":    {[]Edit{{Path: "SKILL.md/x", Now: []byte("x")}}, nil, ""},
		"a pipe beside":   {[]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}}, func(dir string) error { return exec.Command("mkfifo", filepath.Join(dir, "p")).Run() }, "irregular_file"},
		"a working place": {[]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}}, nil, "inside_folder"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			if c.make != nil {
				if err := c.make(dir); err != nil {
					t.Skipf("skipped: %v", err)
				}
			}
			before := shown(t, dir)
			here := ""
			if c.code == "inside_folder" {
				here = filepath.Join(dir, "references")
			}
			err := Anywhere().Edit(dir, here, c.edits)
			if err == nil || c.code != "" && !errors.Is(err, diag.Code(c.code)) {
				t.Errorf("error %v, not %s", err, c.code)
			}
			if now := shown(t, dir); now != before {
				t.Errorf("it was\n%s\nand is\n%s", before, now)
			}
		})
	}
}

// TestEditLosesNothing has somebody else write to the folder at any moment: what they wrote is there afterwards, or the edit is.
func TestEditLosesNothing(t *testing.T) {
	dir := folder(t)
	d := Anywhere()
	stop := make(chan struct{})
	var wg sync.WaitGroup
	last := ""
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			text := fmt.Sprint(i)
			tmp := filepath.Join(filepath.Dir(dir), "tmp")
			if os.WriteFile(tmp, []byte(text), 0o644) == nil && os.Rename(tmp, filepath.Join(dir, "note")) == nil {
				last = text
			}
		}
	})
	edits, refused := 0, 0
	for i := 0; i < 60; i++ {
		was, err := os.ReadFile(filepath.Join(dir, "SKILL.md"))
		if err != nil {
			t.Fatal(err)
		}
		switch err := d.Edit(dir, "", []Edit{{Path: "SKILL.md", Was: was, Now: fmt.Appendf(nil, "text %d\n", i)}, {Path: "references/a.md", Was: []byte("a\n"), Now: []byte("a\n")}}); {
		case err == nil:
			edits++
		case errors.Is(err, diag.Code("changed_meanwhile")):
			refused++
		case !errors.Is(err, fs.ErrNotExist): // it was renamed while it was copied
			t.Fatal(err)
		}
	}
	close(stop)
	wg.Wait()
	got, err := os.ReadFile(filepath.Join(dir, "note"))
	if err != nil && last != "" || string(got) != last {
		t.Errorf("the note is %q, %v; written last was %q (%d edits, %d refused)", got, err, last, edits, refused)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) > 2 {
		t.Errorf("beside it lie %v, %v", entries, err)
	}
}
