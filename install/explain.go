package install

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/spec/diag"
)

// Unwritable turns an error of the file system, of whatever was done, into one that says what to do if the file system
// is full or read-only. Others, and those that say it already, are returned as they are.
func Unwritable(err error) error {
	if _, told := errors.AsType[*diag.Error](err); told || err == nil {
		return err
	}
	path := "the directory"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		path = e.Path
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		path = e.New
	}
	switch {
	case isFull(err):
		return diag.New(diag.Failed, "disk_full", "no space is left for %s: %w", diag.Printable(path), err).
			Hint("make room (skl cache gc) and try again")
	case isReadOnly(err):
		return diag.New(diag.Failed, "not_writable", "%s cannot be written: %w", diag.Printable(path), err).
			Hint("look how it is mounted; --scope user works in the home directory, SKL_STATE_DIR and SKL_DATA_DIR move skl's own")
	}
	return err
}

// NotWritable is Explain for a file or folder that a person named: the error names that, and not the file beside it that was tried first.
func NotWritable(err error, at string) error {
	if _, told := errors.AsType[*diag.Error](err); told {
		return err
	}
	if !errors.Is(err, fs.ErrPermission) && !isReadOnly(err) {
		return Explain(err, at)
	}
	why := err
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		why = e.Err
	}
	return diag.New(diag.Failed, "not_writable", "%s cannot be written: %w", diag.Printable(at), why).Hint("nothing was changed; see whose it is: ls -ld %s", diag.Quote(filepath.Dir(at)))
}

// Explain turns errors of the file system during an Apply into ones that say
// what to do: a full disk, a root that cannot be written. Others are returned
// as they are. Nothing was changed in either case.
func Explain(err error, root string) error {
	switch {
	case err == nil:
		return nil
	case isFull(err):
		return diag.New(diag.Failed, "disk_full", "no space is left for %s: %w", root, err).
			Hint("nothing was changed; make room (skl cache gc) and try again")
	case errors.Is(err, fs.ErrPermission) || isReadOnly(err):
		return diag.New(diag.Failed, "not_writable", "%s cannot be written: %w", root, err).
			Hint("nothing was changed; check its owner and the mount, or install with --scope user")
	}
	return err
}
