package within

import (
	"bytes"
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
	err = d.Edit(dir, "", []Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "references/deep/b.md", Was: []byte("b\n")}, {Path: "new/c.md", Now: []byte{}}, {Path: "new/d.sh", Now: []byte{}, Executable: true}, {Path: "run.sh", Was: []byte("#!/bin/sh\n"), Now: []byte("#!/bin/sh\n:\n")}})
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
		"other text":     {[]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "references/a.md", Was: []byte("other\n")}}, nil, "changed_meanwhile"},
		"is there":       {[]Edit{{Path: "SKILL.md", Now: []byte("two\n")}}, nil, "changed_meanwhile"},
		"is not there":   {[]Edit{{Path: "gone.md", Was: []byte("x")}}, nil, "changed_meanwhile"},
		"outside":        {[]Edit{{Path: "../x", Now: []byte("x")}}, nil, "path_outside"},
		"absolute":       {[]Edit{{Path: "/x", Now: []byte("x")}}, nil, "path_outside"},
		"not clean":      {[]Edit{{Path: "a/../b", Now: []byte("x")}}, nil, "path_outside"},
		"the folder":     {[]Edit{{Path: ".", Now: []byte("x")}}, nil, "path_outside"},
		"a directory":    {[]Edit{{Path: "references", Now: []byte("x")}}, nil, "irregular_file"},
		"a link":         {[]Edit{{Path: "l", Was: []byte("one\n"), Now: []byte("x")}}, func(dir string) error { return os.Symlink("SKILL.md", filepath.Join(dir, "l")) }, "irregular_file"},
		"through a link": {[]Edit{{Path: "out/x", Now: []byte("x")}}, func(dir string) error { return os.Symlink("..", filepath.Join(dir, "out")) }, ""},
		"below a file":   {[]Edit{{Path: "SKILL.md/x", Now: []byte("x")}}, nil, ""},
		"a pipe":         {[]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "p", Was: []byte("x"), Now: []byte("y")}}, func(dir string) error { return exec.Command("mkfifo", filepath.Join(dir, "p")).Run() }, "irregular_file"},
		"one of three":   {[]Edit{{Path: "new/deep/a.md", Now: []byte("a")}, {Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}, {Path: "run.sh/b", Now: []byte("b")}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t)
			if c.make != nil {
				if err := c.make(dir); err != nil {
					t.Skipf("skipped: %v", err)
				}
			}
			before := shown(t, dir)
			err := Anywhere().Edit(dir, "", c.edits)
			if err == nil || c.code != "" && !errors.Is(err, diag.Code(c.code)) {
				t.Errorf("error %v, not %s", err, c.code)
			}
			if now := shown(t, dir); now != before {
				t.Errorf("it was\n%s\nand is\n%s", before, now)
			}
		})
	}
}

// TestEditOthers leaves everything else what it is: what somebody writes beside what is edited, and who has a directory open.
func TestEditOthers(t *testing.T) {
	dir := folder(t)
	was, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	stop, last := make(chan struct{}), 0
	var all sync.WaitGroup
	all.Go(func() {
		for ; ; last++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := os.WriteFile(filepath.Join(dir, "references", "note"), []byte(fmt.Sprint(last+1)), 0o644); err != nil {
				t.Error(err)
				return
			}
		}
	})
	text, a := []byte("one\n"), []byte("a\n")
	for i := range 100 {
		now, b := fmt.Appendf(nil, "text %d\n", i), fmt.Appendf(nil, "a %d\n", i)
		if err := Anywhere().Edit(dir, "", []Edit{{Path: "SKILL.md", Was: text, Now: now}, {Path: "references/a.md", Was: a, Now: b}}); err != nil {
			t.Fatal(err)
		}
		text, a = now, b
	}
	close(stop)
	all.Wait()
	if got, err := os.ReadFile(filepath.Join(dir, "references", "note")); err != nil || string(got) != fmt.Sprint(last) {
		t.Errorf("the note is %q, %v, and %d was written last", got, err, last)
	}
	if is, err := os.Stat(dir); err != nil || !os.SameFile(was, is) {
		t.Errorf("it is another folder: %v", err)
	}
	if got := shown(t, dir); strings.Contains(got, ".skl-") {
		t.Errorf("something is left:\n%s", got)
	}
}

// TestEditUndone fails at each step in turn, with what somebody wrote meanwhile to a file that is edited: that stays, and all else is as it was.
func TestEditUndone(t *testing.T) {
	edits := []Edit{
		{Path: "new/a.md", Now: []byte("a\n")},
		{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")},
		{Path: "run.sh", Was: []byte("#!/bin/sh\n"), Now: []byte("#!/bin/sh\n:\n")},
		{Path: "references/a.md", Was: []byte("a\n")},
	}
	for written := range edits {
		for fails := range len(edits) + 1 {
			t.Run(fmt.Sprintf("%d_%d", written, fails), func(t *testing.T) {
				dir := folder(t)
				before := shown(t, dir)
				e := open(t, dir)
				defer e.in.Close()
				if err := errors.Join(e.plan(edits), e.stage()); err != nil {
					t.Fatal(err)
				}
				at := filepath.Join(dir, filepath.FromSlash(edits[written].Path))
				for i := range fails {
					if err := e.put(&e.steps[i]); err != nil {
						t.Fatal(err)
					}
				}
				done := written < fails
				if done {
					if err := os.WriteFile(at, []byte("theirs\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				err := e.back(fails, errors.New("it is full"))
				if err == nil || errors.Is(err, diag.Code("changed_meanwhile")) != done {
					t.Errorf("error %v", err)
				}
				if done {
					got, err := os.ReadFile(at)
					if err != nil || string(got) != "theirs\n" {
						t.Errorf("%s holds %q, %v", at, got, err)
					}
					return
				}
				if err := os.RemoveAll(e.temp); err != nil {
					t.Fatal(err)
				}
				if now := shown(t, dir); now != before {
					t.Errorf("it was\n%s\nand is\n%s", before, now)
				}
			})
		}
	}
}

// open is an editor of a folder.
func open(t *testing.T, dir string) editor {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	temp := filepath.Join(dir, editMark+"1")
	if err := os.Mkdir(temp, 0o755); err != nil {
		t.Fatal(err)
	}
	return editor{in: &Dir{dir, root}, root: root, temp: temp}
}

// TestEditKept puts what has no place beside the one that has: a directory where a file was, and a file that somebody made where one went.
func TestEditKept(t *testing.T) {
	dir := folder(t)
	e := open(t, dir)
	defer e.in.Close()
	if err := errors.Join(e.plan([]Edit{{Path: "references/a.md", Was: []byte("a\n")}}), e.stage()); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(dir, "references", "a.md")
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(at, "theirs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := e.put(&e.steps[0]); !errors.Is(err, diag.Code("changed_meanwhile")) {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(at, "theirs")); err != nil {
		t.Error(err)
	}

	dir = folder(t)
	e = open(t, dir)
	defer e.in.Close()
	if err := errors.Join(e.plan([]Edit{{Path: "references/a.md", Was: []byte("a\n")}}), e.stage()); err != nil {
		t.Fatal(err)
	}
	if err := e.put(&e.steps[0]); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "references", "a.md"), []byte("theirs\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := e.back(1, errors.New("it is full"))
	_, beside, _ := strings.Cut(fmt.Sprint(err), "lies in ")
	if got, err := os.ReadFile(beside); err != nil || string(got) != "a\n" {
		t.Errorf("%q holds %q, %v", beside, got, err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "references", "a.md")); err != nil || string(got) != "theirs\n" {
		t.Errorf("a.md holds %q, %v", got, err)
	}
}

// TestEditKilled kills a process that edits again and again: what it left is taken back, all of it.
func TestEditKilled(t *testing.T) {
	if dir := os.Getenv("SKL_TEST_EDIT"); dir != "" {
		for i := 0; ; i++ {
			text := func(i int) []byte { return fmt.Appendf(nil, "%d\n", i) }
			if err := Anywhere().Edit(dir, os.Getenv("SKL_TEST_RECORDS"), []Edit{{Path: "SKILL.md", Was: text(i), Now: text(i + 1)}, {Path: "references/a.md", Was: text(i), Now: text(i + 1)}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("skipped: no process can be killed between two system calls there")
	}
	left := 0
	for range 20 {
		dir, records := folder(t), t.TempDir()
		files := []string{filepath.Join(dir, "SKILL.md"), filepath.Join(dir, "references", "a.md")}
		for _, at := range files {
			if err := os.WriteFile(at, []byte("0\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0], "-test.run=^TestEditKilled$")
		cmd.Env = append(os.Environ(), "SKL_TEST_EDIT="+dir, "SKL_TEST_RECORDS="+records)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if got, err := os.ReadFile(files[0]); err == nil && string(got) != "0\n" {
				break
			}
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
		folders, err := TakeBack(records, func(at string) bool { return at == dir })
		if err != nil {
			t.Fatal(err)
		}
		left += len(folders)
		var n [2]string
		for i, at := range files {
			got, err := os.ReadFile(at)
			if err != nil {
				t.Fatal(err)
			}
			n[i] = string(got)
		}
		if n[0] != n[1] {
			t.Errorf("%q and %q are of two edits", n[0], n[1])
		}
		if got := shown(t, dir); strings.Contains(got, ".skl-") {
			t.Errorf("something is left:\n%s", got)
		}
		if left, err := filepath.Glob(filepath.Join(records, "*.json")); err != nil || len(left) > 0 {
			t.Errorf("records are left: %v, %v", left, err)
		}
	}
	t.Logf("%d of 20 were taken back", left)
}

// TestTakeBack cuts an edit off at each step, and has somebody write to one of its files then: that stays, in its place or beside it.
func TestTakeBack(t *testing.T) {
	edits := []Edit{
		{Path: "new/deep/a.md", Now: []byte("a\n")},
		{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")},
		{Path: "run.sh", Was: []byte("#!/bin/sh\n"), Now: []byte("#!/bin/sh\n:\n")},
		{Path: "references/a.md", Was: []byte("a\n")},
	}
	for written := -1; written < len(edits); written++ {
		for done := range len(edits) + 1 {
			t.Run(fmt.Sprintf("%d_%d", written, done), func(t *testing.T) {
				dir, records := folder(t), t.TempDir()
				before := shown(t, dir)
				e := open(t, dir)
				defer e.in.Close()
				if err := e.plan(edits); err != nil {
					t.Fatal(err)
				}
				if err := e.stage(); err != nil {
					t.Fatal(err)
				}
				recorded(t, &e, records, true)
				for i := range done {
					if err := e.put(&e.steps[i]); err != nil {
						t.Fatal(err)
					}
				}
				at := dir
				if written >= 0 {
					at = filepath.Join(dir, filepath.FromSlash(edits[written].Path))
					if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
						t.Fatal(err)
					}
					if err := os.WriteFile(at, []byte("theirs\n"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				if none, err := TakeBack(records, func(string) bool { return false }); err != nil || len(none) > 0 {
					t.Errorf("%v, %v", none, err)
				}
				if folders, err := TakeBack(records, func(string) bool { return true }); err != nil || len(folders) != 1 || folders[0] != dir {
					t.Errorf("%v, %v", folders, err)
				}
				now := shown(t, dir)
				if written < 0 && now != before {
					t.Errorf("it was\n%s\nand is\n%s", before, now)
				}
				if written >= 0 {
					if got, err := os.ReadFile(at); err != nil || string(got) != "theirs\n" {
						t.Errorf("%s holds %q, %v", at, got, err)
					}
				}
				for i, x := range edits {
					got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(x.Path)))
					if i != written && (string(got) != string(x.Was) || (err != nil) != (x.Was == nil)) {
						t.Errorf("%s holds %q, %v", x.Path, got, err)
					}
				}
				if strings.Contains(now, editMark) {
					t.Errorf("something is left:\n%s", now)
				}
			})
		}
	}
}

// recorded keeps a record of an edit.
func recorded(t *testing.T, e *editor, records string, staged bool) {
	t.Helper()
	r := e.record()
	r.Staged = staged
	if _, err := r.keep(records); err != nil {
		t.Fatal(err)
	}
}

// TestTakeBackLinked cuts an edit off when a new file has two names: its own and the one that it was written by. One that somebody else wrote stays.
func TestTakeBackLinked(t *testing.T) {
	for _, theirs := range []bool{false, true} {
		dir, records := folder(t), t.TempDir()
		before := shown(t, dir)
		e := open(t, dir)
		defer e.in.Close()
		if err := e.plan([]Edit{{Path: "new/a.md", Now: []byte("a\n")}, {Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}}); err != nil {
			t.Fatal(err)
		}
		if err := e.stage(); err != nil {
			t.Fatal(err)
		}
		recorded(t, &e, records, true)
		at := filepath.Join(dir, "new", "a.md")
		err := os.Mkdir(filepath.Dir(at), 0o755)
		if err == nil && theirs {
			err = os.WriteFile(at, []byte("a\n"), 0o644)
		} else if err == nil {
			err = os.Link(filepath.Join(e.temp, "0"), at)
		}
		if err != nil {
			t.Fatal(err)
		}
		if folders, err := TakeBack(records, func(string) bool { return true }); err != nil || len(folders) != 1 {
			t.Errorf("%v, %v", folders, err)
		}
		if _, err := os.Lstat(at); (err == nil) != theirs {
			t.Errorf("written by somebody else: %v, and it is there: %v", theirs, err)
		}
		if now := shown(t, dir); !theirs && now != before {
			t.Errorf("it was\n%s\nand is\n%s", before, now)
		}
	}
}

// TestTakeBackStaging cuts an edit off before all is written: nothing of it is put anywhere.
func TestTakeBackStaging(t *testing.T) {
	dir, records := folder(t), t.TempDir()
	before := shown(t, dir)
	e := open(t, dir)
	defer e.in.Close()
	if err := e.plan([]Edit{{Path: "new/a.md", Now: []byte("a long text\n")}, {Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("a long text\n")}}); err != nil {
		t.Fatal(err)
	}
	recorded(t, &e, records, false)
	for _, slot := range []string{"0", "1"} {
		if err := os.WriteFile(filepath.Join(e.temp, slot), []byte("a lo"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if folders, err := TakeBack(records, func(string) bool { return true }); err != nil || len(folders) > 0 {
		t.Fatalf("%v, %v: no step can have been done", folders, err)
	}
	if now := shown(t, dir); now != before {
		t.Errorf("it was\n%s\nand is\n%s", before, now)
	}
}

// TestTakeBackCaught has an edit be cut off when it holds what somebody wrote at that moment: it comes back, or lies beside.
func TestTakeBackCaught(t *testing.T) {
	for _, after := range []string{"", "mine, too\n"} {
		dir, records := folder(t), t.TempDir()
		e := open(t, dir)
		defer e.in.Close()
		if err := e.plan([]Edit{{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")}}); err != nil {
			t.Fatal(err)
		}
		if err := e.stage(); err != nil {
			t.Fatal(err)
		}
		recorded(t, &e, records, true)
		at := filepath.Join(dir, "SKILL.md")
		if err := os.WriteFile(at, []byte("mine\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := e.exchange(&e.steps[0]); err != nil { // and killed before it looks
			t.Fatal(err)
		}
		if after != "" {
			if err := os.WriteFile(at, []byte(after), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := TakeBack(records, func(string) bool { return true }); err != nil {
			t.Fatal(err)
		}
		if now := shown(t, dir); !strings.Contains(now, `"mine\n"`) || !strings.Contains(now, fmt.Sprintf("%q", after)) && after != "" || strings.Contains(now, editMark) {
			t.Errorf("there is\n%s", now)
		}
	}
}

// TestRecordRefusals removes nothing for a record that no edit wrote.
func TestRecordRefusals(t *testing.T) {
	for _, text := range []string{"", "null", "{}", `{"dir": "a", "temp": ".skl-edit-1"}`, `{"dir": "/a/..", "temp": ".skl-edit-1"}`, `{"dir": "/a", "temp": "b"}`, `{"dir": "/a", "temp": ".skl-edit-1/.."}`,
		`{"dir": "/a", "temp": ".skl-edit-1", "steps": [{"path": "../x", "was": "a"}]}`, `{"dir": "/a", "temp": ".skl-edit-1", "steps": [{"path": "/x", "was": "a"}]}`,
		`{"dir": "/a", "temp": ".skl-edit-1", "steps": [{"path": ".skl-edit-1/0", "was": "a"}]}`, `{"dir": "/a", "temp": ".skl-edit-1", "steps": [{"path": "x"}]}`} {
		if r, err := parseRecord([]byte(text)); err == nil {
			t.Errorf("%s is read: %+v", text, r)
		}
		records := t.TempDir()
		if err := os.WriteFile(filepath.Join(records, "a.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := TakeBack(records, func(string) bool { return true }); err == nil {
			t.Errorf("%s: no error", text)
		}
		if _, err := os.Stat(filepath.Join(records, "a.json")); err != nil {
			t.Error(err)
		}
	}
}

// TestEditRaces edits a file that somebody else replaces at the same time: what they wrote last is there, or in a file that an error names.
func TestEditRaces(t *testing.T) {
	dir := folder(t)
	at := filepath.Join(dir, "SKILL.md")
	var all sync.WaitGroup
	last := ""
	all.Go(func() {
		for i := range 200 {
			last = fmt.Sprintf("v%d\n", i)
			if err := Anywhere().WriteFile(at, []byte(last), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	edits := 0
	all.Go(func() {
		for range 200 {
			was, err := os.ReadFile(at)
			if err != nil {
				t.Error(err)
				return
			}
			switch err := Anywhere().Edit(dir, "", []Edit{
				{Path: "new/a.md", Now: []byte("a\n")},
				{Path: "SKILL.md", Was: was, Now: append(bytes.Clone(was), 'x')},
			}); {
			case err == nil:
				edits++
				if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
					t.Error(err)
				}
			case !errors.Is(err, diag.Code("changed_meanwhile")):
				t.Error(err)
			}
		}
	})
	all.Wait()
	if _, err := os.Lstat(filepath.Join(dir, "new")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("new/a.md of an edit that was refused: %v", err)
	}
	files, err := filepath.Glob(filepath.Join(dir, ".skl-SKILL.md-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, at) {
		if text, err := os.ReadFile(file); err == nil && strings.HasPrefix(string(text), last) {
			return
		}
	}
	t.Errorf("after %d edits %q is nowhere", edits, last)
}

// FuzzRecord reads any text as a record: what is read names files of a folder, and nothing else.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"dir": "/a", "temp": ".skl-edit-1", "staged": true, "steps": [{"path": "b/c", "was": "1", "now": "2"}]}`))
	f.Add([]byte(`{"dir": "/a", "temp": ".skl-edit-1", "steps": [{"path": "../c", "was": "1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			return
		}
		for _, s := range r.Steps {
			at := filepath.Join(r.Dir, filepath.FromSlash(s.Path))
			if rel, err := filepath.Rel(r.Dir, at); err != nil || !filepath.IsLocal(rel) || rel == "." || strings.HasPrefix(rel, r.Temp+string(filepath.Separator)) {
				t.Errorf("%q of %q", s.Path, r.Dir)
			}
		}
		if filepath.Dir(filepath.Join(r.Dir, r.Temp)) != r.Dir {
			t.Errorf("%q of %q", r.Temp, r.Dir)
		}
	})
}
