package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// TestUnreadable has errors of the file system say what they are about and what helps, and leaves others as they are.
func TestUnreadable(t *testing.T) {
	at, err := filepath.Abs("a.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		err               error
		code, text, helps string
	}{
		{&fs.PathError{Op: "openat", Path: at, Err: syscall.EACCES}, "unreadable", at + " cannot be read: permission denied", "see whose it is: ls -ld " + diag.Quote(at)},
		{fmt.Errorf("rel: %w", &fs.PathError{Op: "open", Path: "a.md", Err: fs.ErrPermission}), "unreadable", "rel: a.md cannot be read: permission denied", "see whose it is: ls -l"},
		{&fs.PathError{Op: "open", Path: at, Err: durable.ErrIrregular}, "irregular_file", "", "ls -l shows what it is; skl reads regular files only"},
		{&fs.PathError{Op: "mkdir", Path: at, Err: fs.ErrPermission}, "", "", ""},
		{&fs.PathError{Op: "open", Path: at, Err: fs.ErrNotExist}, "", "", ""},
		{diag.New(diag.Unmet, "drift", "%w", &fs.PathError{Op: "open", Path: at, Err: fs.ErrPermission}), "drift", "", ""},
	} {
		got := unreadable(c.err)
		e, _ := errors.AsType[*diag.Error](got)
		switch {
		case c.code == "" || c.helps == "":
			if got != c.err {
				t.Errorf("%v became %v", c.err, got)
			}
		case e == nil || e.Code != c.code || len(e.Hints) != 1 || e.Hints[0] != c.helps || c.text != "" && fs.ErrPermission.Error() == "permission denied" && e.Error() != c.text:
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}
