// Package durable writes files so that a crash leaves either the old or the new
// content, reads what somebody else may have put in place, and takes locks between
// processes. It is a leaf: std and x/sys only.
package durable

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// WriteFile replaces path by data: it writes beside, syncs, renames and syncs
// the directory. After a crash path holds its old content or all of data.
// A new file gets perm; the directory must exist.
func WriteFile(path string, data []byte, perm fs.FileMode) error {
	tmp, err := stageFile(path, data, perm)
	if err != nil {
		return err
	}
	if err := Rename(tmp, path); err != nil {
		os.Remove(tmp)
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// stageFile writes data to a new synced file beside path and returns its name.
func stageFile(path string, data []byte, perm fs.FileMode) (string, error) {
	f, err := Stage(path)
	if err != nil {
		return "", err
	}
	if err := Fill(f, data, perm); err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// Stage creates a new empty file beside path, which can be renamed to it. An error is about path: that is the name people know.
func Stage(path string) (*os.File, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".skl-"+filepath.Base(path)+"-")
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, &fs.PathError{Op: "create", Path: path, Err: e.Err}
	}
	return f, err
}

// Fill writes data to the new file f, gives it perm, syncs and closes it. What is for nobody but the user is so before
// the first byte, also where rights are not modes.
func Fill(f *os.File, data []byte, perm fs.FileMode) error {
	var err error
	if perm&0o077 == 0 {
		err = keepPrivate(f)
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Chmod(perm)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// SyncDir makes renames inside dir durable. Where directories cannot be synced it does nothing.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return SyncOpen(d)
}

// SyncOpen syncs an open file or directory. Where it cannot be synced it does nothing.
func SyncOpen(f *os.File) error {
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, fs.ErrInvalid) && !syncRefused(err) {
		return err
	}
	return nil
}

// ErrLocked is returned by Lock when another process holds the lock until ctx is done.
var ErrLocked = errors.New("another skl is at work here")

// Lock waits until this process alone holds the lock of dir, an existing
// directory, and returns the way out. It leaves no file: on Windows, .skl.lock is in dir until the way out. Waiting is called once, before the
// first wait, and may be nil. The lock is advisory and ends with the process.
func Lock(ctx context.Context, dir string, waiting func()) (unlock func(), err error) {
	l := lock{dir: dir}
	for {
		ok, err := l.try()
		if err != nil {
			l.end()
			return nil, fmt.Errorf("locking %s: %w", dir, err)
		}
		if ok {
			return l.end, nil
		}
		if waiting != nil {
			waiting()
			waiting = nil
		}
		select {
		case <-ctx.Done():
			l.end()
			return nil, fmt.Errorf("%s: %w: %w", dir, ErrLocked, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}
