package install

import (
	"errors"
	"io/fs"

	"github.com/skl-project/skl/spec/diag"
)

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
