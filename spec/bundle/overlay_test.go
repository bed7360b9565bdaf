package bundle_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/bundle"
)

func TestOverlay(t *testing.T) {
	below := fstest.MapFS{
		"SKILL.md": {Data: []byte("old")}, "assets/a.md": {Data: []byte("a")}, "assets/gone.md": {Data: []byte("g")},
		"scripts/run.sh": {Data: []byte("#!/bin/sh\n"), Mode: 0o755}, "link.md": {Data: []byte("SKILL.md"), Mode: fs.ModeSymlink | 0o777},
	}
	o := bundle.Overlay{Below: below, Files: bundle.Memory{"SKILL.md": {Data: []byte("new")}, "references/ops/b.md": {}, "link.md": {Data: []byte("text")}},
		Gone: map[string]bool{"assets/gone.md": true}}
	if err := fstest.TestFS(o, "SKILL.md", "assets/a.md", "scripts/run.sh", "references/ops/b.md", "link.md"); err != nil {
		t.Error(err)
	}
	for name, want := range map[string]string{"SKILL.md": "new", "assets/a.md": "a", "link.md": "text"} {
		if got, err := fs.ReadFile(o, name); string(got) != want || err != nil {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	for _, look := range []func() error{
		func() error { _, err := o.Open("assets/gone.md"); return err },
		func() error { _, err := fs.ReadFile(o, "assets/gone.md"); return err },
		func() error { _, err := fs.Stat(o, "assets/gone.md"); return err },
		func() error { _, err := fs.Lstat(o, "assets/gone.md"); return err },
		func() error { _, err := fs.ReadLink(o, "assets/gone.md"); return err },
		func() error { _, err := o.Open("nowhere"); return err },
	} {
		if err := look(); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("what is gone gives %v", err)
		}
	}
	if info, err := fs.Lstat(o, "link.md"); err != nil || !info.Mode().IsRegular() {
		t.Errorf("a link that was replaced is %v, %v", info, err)
	}
	if info, err := fs.Stat(o, "scripts/run.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("what is not changed has the mode %v, %v", info, err)
	}
	if got := len(below); got != 5 {
		t.Errorf("below has %d files now", got)
	}
}
