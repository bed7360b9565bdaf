package within

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func TestEditFile(t *testing.T) {
	dir := folder(t)
	link(t, "SKILL.md", filepath.Join(dir, "other"))
	d := Anywhere()
	for _, x := range []Edit{
		{Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("two\n")},
		{Path: "run.sh", Was: []byte("#!/bin/sh\n"), Now: []byte("#!/bin/sh\ntrue\n")},
		{Path: "references/a.md", Was: []byte("a\n")},
		{Path: "assets/new/c.md", Now: []byte("c\n")},
		{Path: "scripts/d.sh", Now: []byte("d\n"), Executable: true},
	} {
		if err := d.EditFile(dir, x); err != nil {
			t.Errorf("%s: %v", x.Path, err)
		}
	}
	got := shown(t, dir)
	for _, want := range []string{`s/SKILL.md -rw-r--r-- "two\n"`, `s/run.sh -rwxr-xr-x "#!/bin/sh\ntrue\n"`, `s/assets/new/c.md -rw-r--r-- "c\n"`, `s/scripts/d.sh -rwxr-xr-x "d\n"`, "s/other -> SKILL.md"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if strings.Contains(got, "references/a.md") || strings.Contains(got, ".skl-") {
		t.Errorf("something is left:\n%s", got)
	}
	for name, x := range map[string]Edit{
		"another text": {Path: "SKILL.md", Was: []byte("one\n"), Now: []byte("three\n")},
		"a longer one": {Path: "SKILL.md", Was: []byte("t"), Now: []byte("three\n")},
		"not there":    {Path: "gone.md", Was: []byte("one\n"), Now: []byte("three\n")},
		"there":        {Path: "SKILL.md", Now: []byte("three\n")},
		"a link":       {Path: "other", Was: []byte("two\n"), Now: []byte("three\n")},
		"outside":      {Path: "../x", Now: []byte("three\n")},
	} {
		if err := d.EditFile(dir, x); diag.ClassOf(err) != diag.Refused && !errors.Is(err, diag.Code("changed_meanwhile")) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := shown(t, dir); now != got {
		t.Errorf("a refusal changed\n%sto\n%s", got, now)
	}
}

// TestEditFileRaces edits a file that somebody else replaces at the same time: what they wrote last is there, or in a file that an error names.
func TestEditFileRaces(t *testing.T) {
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
			switch err := Anywhere().EditFile(dir, Edit{Path: "SKILL.md", Was: was, Now: append(bytes.Clone(was), 'x')}); {
			case err == nil:
				edits++
			case !errors.Is(err, diag.Code("changed_meanwhile")):
				t.Error(err)
			}
		}
	})
	all.Wait()
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
