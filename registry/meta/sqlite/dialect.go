package sqlite

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

// A dialect is SQLite's share of the work of [meta.Tx]: full-text search.
//
// Two FTS5 indexes hold the words of each skill, without their text: "search" all of
// them, "search_name" those of name and keywords. They know prefixes of up to three
// characters, so that the first letters of a word are as quick as a whole one.
//
// The values by which searches filter and count lie beside them as a column store, "search_cells": eight bytes for each
// skill, for its namespace, license, and whether it is signed. So a search reads one list of ids and these cells, and
// no row per match; that keeps it in milliseconds for words that 30,000 skills have. A word that most skills have takes
// as long again, so long lists and the cells stay in memory, in a [cache], until a skill changes.
type dialect struct{ cache *cache }

// SQL implements [meta.Dialect].
func (dialect) SQL(statement string) string {
	return strings.NewReplacer(
		"{blob}", "BLOB",
		"{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT",
		"{clustered}", "WITHOUT ROWID",
		"id BIGINT PRIMARY KEY", "id INTEGER PRIMARY KEY", // the only spelling that makes it the row's own number
	).Replace(statement)
}

// Schema implements [meta.Dialect].
func (dialect) Schema(version int) []string {
	if version != 1 {
		return nil
	}
	return []string{
		`CREATE VIRTUAL TABLE search USING fts5 (name, keywords, namespace, description, body, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')`,
		`CREATE VIRTUAL TABLE search_name USING fts5 (name, keywords, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')`,
		`CREATE TABLE search_cells (page INTEGER PRIMARY KEY, cells BLOB NOT NULL)`,
		`CREATE TABLE search_values (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, value))`,
		`CREATE TABLE search_ids (last INTEGER NOT NULL)`,
		`INSERT INTO search_ids VALUES (0)`,
	}
}

// Index implements [meta.Dialect].
func (d dialect) Index(ctx context.Context, q meta.Querier, id int64, doc meta.Document) (int64, error) {
	if id != 0 {
		if err := d.Unindex(ctx, q, id); err != nil {
			return 0, err
		}
	} else {
		// RETURNING would make this a statement that FTS5 writes its pending words for.
		if _, err := q.ExecContext(ctx, `UPDATE search_ids SET last = last + 1`); err != nil {
			return 0, err
		}
		var err error
		if id, err = number(ctx, q, `SELECT last FROM search_ids`); err != nil {
			return 0, err
		}
	}
	keywords := strings.Join(doc.Keywords, " ")
	if _, err := q.ExecContext(ctx, `INSERT INTO search (rowid, name, keywords, namespace, description, body) VALUES ($1, $2, $3, $4, $5, $6)`,
		id, doc.Name, keywords, doc.Namespace, doc.Description, doc.Text); err != nil {
		return 0, err
	}
	if _, err := q.ExecContext(ctx, `INSERT INTO search_name (rowid, name, keywords) VALUES ($1, $2, $3)`, id, doc.Name, keywords); err != nil {
		return 0, err
	}
	c := cell{signed: doc.Signed}
	var err error
	if c.namespace, err = intern(ctx, q, "namespace", doc.Namespace); err != nil {
		return 0, err
	}
	if c.license, err = intern(ctx, q, "license", doc.License); err != nil {
		return 0, err
	}
	return id, putCell(ctx, q, id, c)
}

// Unindex implements [meta.Dialect].
func (dialect) Unindex(ctx context.Context, q meta.Querier, id int64) error {
	if _, err := q.ExecContext(ctx, `DELETE FROM search WHERE rowid = $1`, id); err != nil {
		return err
	}
	if _, err := q.ExecContext(ctx, `DELETE FROM search_name WHERE rowid = $1`, id); err != nil {
		return err
	}
	return putCell(ctx, q, id, cell{})
}

// intern returns the number of a value, which it gets if it has none.
func intern(ctx context.Context, q meta.Querier, kind, value string) (uint32, error) {
	id, err := lookup(ctx, q, kind, value)
	if err != nil || id != 0 {
		return id, err
	}
	if _, err := q.ExecContext(ctx, `INSERT INTO search_values (kind, value) VALUES ($1, $2)`, kind, value); err != nil {
		return 0, err
	}
	return lookup(ctx, q, kind, value)
}

// lookup returns the number of a value, 0 if it has none.
func lookup(ctx context.Context, q meta.Querier, kind, value string) (uint32, error) {
	n, err := number(ctx, q, `SELECT coalesce((SELECT id FROM search_values WHERE kind = $1 AND value = $2), 0)`, kind, value)
	return uint32(n), err
}

// number is the answer to a query for one number.
func number(ctx context.Context, q meta.Querier, query string, args ...any) (n int64, err error) {
	err = scanOne(ctx, q, &n, query, args...)
	return n, err
}

// scanOne stores the only value of the answer in dest, and leaves it alone if the answer is empty.
func scanOne(ctx context.Context, q meta.Querier, dest any, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest); err != nil {
			return err
		}
	}
	return rows.Err()
}
