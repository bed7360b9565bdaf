//go:build unix

package durable

import (
	"os"
	"syscall"
)

// Narrow takes the rights of group and others from dir, if it is there, is no link and belongs to this user.
// Where directories have no such rights it does nothing.
func Narrow(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() || info.Mode().Perm()&^Private == 0 || !Owned(info) {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if now, err := d.Stat(); err != nil || !os.SameFile(info, now) {
		return err // it was replaced in between
	}
	return d.Chmod(info.Mode().Perm() & Private)
}

// Owned reports whether what Lstat or Stat described belongs to this user. Where files have no such owner it does.
func Owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}

// keepPrivate has nothing to do: new files have the mode for it.
func keepPrivate(*os.File) error { return nil }
