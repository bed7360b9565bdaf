package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
	"github.com/skl-project/skl/registry/meta/sqlite"
)

// Backup implements [meta.Store]. The copy is a file of SQLite, as a registry on one machine has it. It appears under its name when it is
// whole and durable.
func (s *store) Backup(ctx context.Context, dst string) (err error) {
	if _, err := os.Lstat(dst); err == nil {
		return fmt.Errorf("backup to %s: %w", dst, fs.ErrExist)
	}
	// The directory that a crash leaves behind has a name that says what it is.
	dir, err := os.MkdirTemp(filepath.Dir(dst), ".backup-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var schema meta.Schema
	if err := s.View(ctx, func(tx *meta.Tx) (err error) { schema, err = tx.Schema(ctx); return err }); err != nil {
		return err
	}
	copied, err := sqlite.Open(ctx, filepath.Join(dir, "meta.db"), sqlite.Options{Readers: 1, Schema: schema.Version})
	if err != nil {
		return err
	}
	err = s.View(ctx, func(from *meta.Tx) error {
		return copied.Update(ctx, func(to *meta.Tx) error {
			_, err := meta.Copy(ctx, to, from, nil)
			return err
		})
	})
	if err == nil {
		// Without the files that belong to an open database, and synced.
		err = copied.Backup(ctx, dst)
	}
	return errors.Join(err, copied.Close(), durable.SyncDir(filepath.Dir(dst)))
}

// Size implements [meta.Store]. It is that of the schema.
func (s *store) Size(ctx context.Context) (n int64, err error) {
	err = s.readers.QueryRowContext(ctx, `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class AS c
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'`).Scan(&n)
	return n, s.diagnose(err)
}

// Check implements [meta.Store]: it reads every row, with what lies outside of it. The server finds damage where its pages have checksums.
func (s *store) Check(ctx context.Context) error {
	c, err := s.readers.Conn(ctx)
	if err != nil {
		return s.diagnose(err)
	}
	defer c.Close()
	t, err := c.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return s.diagnose(err)
	}
	defer t.Rollback()
	for _, table := range append(meta.Tables(), search.Tables()...) {
		var bytes int64
		if err := t.QueryRowContext(ctx, `SELECT coalesce(sum(length(r::text)), 0)::bigint FROM `+table+` AS r`).Scan(&bytes); err != nil {
			return s.diagnose(fmt.Errorf("table %s: %w", table, err))
		}
	}
	return nil
}
