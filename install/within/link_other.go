//go:build !windows

package within

import "errors"

// Junction is not available here: symbolic links to directories need no privilege.
func (d *Dir) Junction(string, string) error { return errors.ErrUnsupported }
