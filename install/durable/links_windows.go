package durable

import (
	"errors"

	"golang.org/x/sys/windows"
)

// NoLinks reports whether err, of making a symbolic link, says that the disk has none or that the user may make none.
func NoLinks(err error) bool {
	return errors.Is(err, windows.ERROR_PRIVILEGE_NOT_HELD) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NOT_SUPPORTED)
}
