package server

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/spec/diag"
)

// Backup writes a consistent copy to dir while the registry serves: a data directory like its own. A
// second backup to the same place copies only blobs that are new, and replaces the database last, so that
// whatever interrupts it leaves the earlier backup.
func (s *Server) Backup(ctx context.Context, dir string, progress func(done int)) (registry.Copied, error) {
	if err := os.MkdirAll(filepath.Join(dir, "blobs"), 0o700); err != nil {
		return registry.Copied{}, err
	}
	to, err := blobfs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return registry.Copied{}, err
	}
	if err := copyKeys(filepath.Join(dir, "keys"), s.path("keys")); err != nil {
		return registry.Copied{}, err
	}
	next := filepath.Join(dir, "meta.db.new")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a backup that was interrupted
		return registry.Copied{}, err
	}
	copied, err := s.Registry.Backup(ctx, next, to, progress)
	if err != nil {
		return copied, err
	}
	if err := os.Rename(next, filepath.Join(dir, "meta.db")); err != nil {
		return copied, err
	}
	return copied, durable.SyncDir(dir)
}

// Restore makes data, which must be empty or absent, a copy of the backup in dir. Every blob is
// verified. The database comes last: without it, data is no registry yet.
func Restore(ctx context.Context, data, dir string) (registry.Copied, error) {
	database := filepath.Join(dir, "meta.db")
	if _, err := os.Stat(database); err != nil {
		return registry.Copied{}, diag.New(diag.Misuse, "no_backup", "%s holds no backup: %w", dir, err)
	}
	if left, err := os.ReadDir(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return registry.Copied{}, err
	} else if len(left) > 0 {
		return registry.Copied{}, diag.New(diag.Misuse, "not_empty", "%s is not empty; a backup is restored into a new directory", data)
	}
	if err := os.MkdirAll(filepath.Join(data, "blobs"), 0o700); err != nil {
		return registry.Copied{}, err
	}
	from, err := blobfs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return registry.Copied{}, err
	}
	to, err := blobfs.Open(filepath.Join(data, "blobs"))
	if err != nil {
		return registry.Copied{}, err
	}
	copied, err := registry.CopyBlobs(ctx, to, from)
	if err != nil {
		return copied, err
	}
	if err := copyKeys(filepath.Join(data, "keys"), filepath.Join(dir, "keys")); err != nil {
		return copied, err
	}
	return copied, copyFile(filepath.Join(data, "meta.db"), database)
}

// copyKeys copies the keys that make a restored registry the same one to its clients.
func copyKeys(to, from string) error {
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	names, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(from, name.Name()))
		if err != nil {
			return err
		}
		if err := durable.WriteFile(filepath.Join(to, name.Name()), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// copyFile writes a copy that is whole or absent.
func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to+".new", os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	if err := os.Rename(to+".new", to); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(to))
}
