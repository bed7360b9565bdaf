package scope

import "github.com/skl-project/skl/install"

// Unwritable says what to do about an error of a file system that is full or read-only; other errors are returned as they are.
func Unwritable(err error) error { return install.Unwritable(err) }
