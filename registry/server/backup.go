package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry"
	blobfs "github.com/skl-project/skl/registry/blob/fs"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// Backup writes a consistent copy to dir while the registry serves: a data directory like its own. A
// second backup to the same place copies only blobs that are new, and replaces the database last, so that
// whatever interrupts it leaves the earlier backup. What the earlier one has and the registry has no more stays: see [Server.MayBackup].
func (s *Server) Backup(ctx context.Context, dir string, progress func(done int)) (registry.Copied, error) {
	if err := s.MayBackup(ctx, dir); err != nil {
		return registry.Copied{}, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "blobs"), 0o700); err != nil {
		return registry.Copied{}, err
	}
	to, err := blobfs.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		return registry.Copied{}, err
	}
	if err := s.saveKeys(ctx, filepath.Join(dir, "keys")); err != nil {
		return registry.Copied{}, err
	}
	next := filepath.Join(dir, "meta.db.new")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of a backup that was interrupted
		return registry.Copied{}, err
	}
	head, signed, err := s.lastHead(ctx) // before the database is copied: what is copied then is not shorter
	if err != nil {
		return registry.Copied{}, err
	}
	copied, err := s.Registry.Backup(ctx, next, to, progress)
	if err != nil {
		return copied, err
	}
	if err := s.Registry.LogUncut(ctx, signed); errors.Is(err, diag.Code("log_rollback")) {
		copied.Problems = append(copied.Problems, registry.Problem{Code: "log", What: s.Registry.Key.Origin(), Text: "the log is not whole: " + err.Error()})
	} else if err != nil {
		return copied, err
	}
	if err := os.Rename(next, filepath.Join(dir, "meta.db")); err != nil {
		return copied, err
	}
	if head != nil { // after the database, which is never older than its head then
		if err := durable.WriteFile(filepath.Join(dir, "log.head"), head, 0o600); err != nil {
			return copied, err
		}
	}
	return copied, durable.SyncDir(dir)
}

// MayBackup refuses to replace a backup in dir that this registry does not go on from: it is of another one (not_empty), or its log
// has entries that the registry's lacks (log_rollback), and may be the only copy of them. A backup that is damaged is replaced.
func (s *Server) MayBackup(ctx context.Context, dir string) error {
	key, before, err := headOf(ctx, dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, diag.Code("corrupt")) {
		return nil // there is none, or an interrupted or a damaged one
	}
	if err != nil {
		return fmt.Errorf("the backup in %s: %w", dir, err)
	}
	if key.Public() != s.Registry.Key.Public() {
		return diag.New(diag.Misuse, "not_empty", "%s holds the backup of another registry, %s", dir, key.Origin()).Hint("name another directory")
	}
	size, err := s.Registry.LogContinues(ctx, before)
	lacks := "has other entries than that of its backup"
	switch {
	case errors.Is(err, diag.Code("log_rollback")):
		lacks = fmt.Sprintf("was cut: it has %d entries, and that of its backup has %d", size, before.Size)
	case !errors.Is(err, diag.Code("log_fork")):
		return err
	}
	return diag.New(diag.Refused, "log_rollback", "the log of the registry %s; the backup in %s stays as it is", lacks, dir).
		Hint("skl registry restore %s --data NEW makes a registry of the backup; to keep what is there now as well, name another directory for it", dir)
}

// headOf is the key and the head of the log of a backup. It looks at a copy of the database, for to open one changes it.
func headOf(ctx context.Context, dir string) (key tlog.Key, head tlog.Checkpoint, err error) {
	tmp, err := os.MkdirTemp("", "skl-backup-")
	if err != nil {
		return key, head, err
	}
	defer os.RemoveAll(tmp)
	if err := copyFile(filepath.Join(tmp, "meta.db"), filepath.Join(dir, "meta.db")); err != nil {
		return key, head, err
	}
	if err := copyKeys(filepath.Join(tmp, "keys"), filepath.Join(dir, "keys")); err != nil {
		return key, head, err
	}
	earlier, err := attach(ctx, tmp, attachment{})
	if err != nil {
		return key, head, err
	}
	defer earlier.Close()
	head, err = earlier.logHead(ctx)
	return earlier.Registry.Key, head, err
}

// logHead is the head of the log as it is now.
func (s *Server) logHead(ctx context.Context) (tlog.Checkpoint, error) {
	note, err := s.Registry.Checkpoint(ctx)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	return tlog.OpenCheckpoint(note, s.Registry.Key.Public())
}

// lastHead is the newest head of the log that was signed, and its size; nil if none is kept.
func (s *Server) lastHead(ctx context.Context) (note []byte, size int64, err error) {
	if s.shared {
		return s.Registry.LastHead(ctx)
	}
	note, err = os.ReadFile(s.headFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	head, err := tlog.OpenCheckpoint(note, s.Registry.Key.Public())
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w", s.headFile(), err)
	}
	return note, head.Size, nil
}

// Restore makes data, which must be empty or absent, a copy of the backup in dir. Every blob is
// verified; those that are damaged in the backup are problems of the result. The database comes last: without it, data
// is no registry yet. After an error data is as it was.
func Restore(ctx context.Context, data, dir string) (copied registry.Copied, err error) {
	database := filepath.Join(dir, "meta.db")
	if _, err := os.Stat(database); err != nil {
		return registry.Copied{}, diag.New(diag.Misuse, "no_backup", "%s holds no backup: %w", dir, err)
	}
	if left, err := os.ReadDir(data); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return registry.Copied{}, err
	} else if len(left) > 0 {
		return registry.Copied{}, diag.New(diag.Misuse, "not_empty", "%s is not empty; a backup is restored into a new directory", data)
	}
	_, absent := os.Stat(data)
	defer func() {
		if err != nil {
			for _, name := range []string{"meta.db", "meta.db-wal", "meta.db-shm", "meta.db.new", "log.head", "log.head.new", "keys", "blobs"} {
				err = errors.Join(err, os.RemoveAll(filepath.Join(data, name)))
			}
			if absent != nil {
				os.Remove(data)
			}
		}
	}()
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
	if copied, err = registry.CopyBlobs(ctx, to, from); err != nil {
		return copied, err
	}
	if err := copyKeys(filepath.Join(data, "keys"), filepath.Join(dir, "keys")); err != nil {
		return copied, err
	}
	if err := copyFile(filepath.Join(data, "log.head"), filepath.Join(dir, "log.head")); err != nil && !errors.Is(err, fs.ErrNotExist) { // backups of older versions have none
		return copied, err
	}
	if err := copyFile(filepath.Join(data, "meta.db"), database); err != nil {
		return copied, err
	}
	s, err := attach(ctx, data, attachment{mover: true})
	if err == nil {
		if err = s.Registry.Meta.Check(ctx); err == nil {
			_, err = s.frozen(ctx)
		}
		if err == nil { // who restores wants one that takes changes
			err = s.Registry.Meta.Update(ctx, func(tx *meta.Tx) error { return tx.Thaw(ctx) })
		}
		err = errors.Join(err, s.Close())
	}
	if errors.Is(err, diag.Code("corrupt")) {
		return copied, diag.New(diag.Failed, "corrupt", "%s is damaged; nothing was restored", database).Hint("restore from another backup")
	}
	return copied, err
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
