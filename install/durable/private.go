package durable

import (
	"io/fs"
	"os"
)

// Private is the mode of directories of skl's own: nobody else looks into them.
const Private fs.FileMode = 0o700

// MkdirPrivate makes dir, and the directories above it that are missing, with mode Private. A dir that is there is
// narrowed as [Narrow] does. So dir is one of skl's own, never one that the user shares with other programs.
func MkdirPrivate(dir string) error {
	if err := os.MkdirAll(dir, Private); err != nil {
		return err
	}
	return Narrow(dir)
}
