//go:build unix

package install

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func TestUnwritable(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code string
	}{
		{&fs.PathError{Op: "mkdir", Path: "/p/.agents", Err: syscall.EROFS}, "not_writable"},
		{fmt.Errorf("trust: %w", &fs.PathError{Op: "open", Path: "/p/.agents", Err: syscall.ENOSPC}), "disk_full"},
		{&os.LinkError{Op: "rename", Old: "/p/a", New: "/p/.agents", Err: syscall.EROFS}, "not_writable"},
	} {
		e, ok := errors.AsType[*diag.Error](Unwritable(tt.err))
		if !ok || e.Code != tt.code || len(e.Hints) != 1 || !strings.HasPrefix(e.Message, "/p/.agents cannot") && !strings.Contains(e.Message, "for /p/.agents") {
			t.Errorf("%v became %+v", tt.err, e)
		}
	}
	told := diag.New(diag.Failed, "not_writable", "x: %w", syscall.EROFS)
	for _, err := range []error{nil, told, &fs.PathError{Op: "open", Path: "x", Err: syscall.ENOENT}} {
		if got := Unwritable(err); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}

// TestNotWritable names what a person named, not the file that was tried, and leaves other errors as they are.
func TestNotWritable(t *testing.T) {
	err := NotWritable(&fs.PathError{Op: "openat", Path: "/p/.skl-SKILL.md-17", Err: fs.ErrPermission}, "/p/SKILL.md")
	if e, ok := diag.Own(err); !ok || e.Code != "not_writable" || strings.Contains(e.Message, "skl-") || !strings.Contains(e.Message, "/p/SKILL.md") || len(e.Hints) != 1 {
		t.Error(err)
	}
	told := diag.New(diag.Refused, "x", "no")
	for _, err := range []error{nil, io.EOF, told} {
		if got := NotWritable(err, "/p"); got != err {
			t.Errorf("%v became %v", err, got)
		}
	}
}
