// Package search finds skills in a registry's database: it filters, counts, relaxes and ranks, the same in all of them. A
// database only knows which skills have a word; see [Database].
//
// The values by which searches filter and count lie beside the words as a column store, "search_cells": eight bytes for each
// skill, for its namespace, license, and whether it is signed. So a search reads one list of ids and these cells, and
// no row per match; that keeps it in milliseconds for words that 30,000 skills have. A word that most skills have takes
// as long again, so long lists and the cells stay in memory, in a [Cache]. The database tells which skills changed lately, and a
// cache corrects for these what it holds.
package search

import (
	"context"

	"github.com/skl-project/skl/registry/meta"
)

// A Database is what databases do differently for searches. Words are those of [Words].
type Database interface {
	// Put makes a skill found by its words.
	Put(ctx context.Context, q meta.Querier, id int64, w Fields) error
	// Remove takes back what Put did.
	Remove(ctx context.Context, q meta.Querier, id int64) error
	// Lists calls visit with the number of a list and each skill that is in it.
	Lists(ctx context.Context, q meta.Querier, lists []Terms, visit func(list int, id int64)) error
	// IDs turns a query for ids into one for a single text of them, as bytes: numbers and commas.
	IDs(query string) string
	// Among is a table j of numbers, "value", in the order of the JSON array that is the parameter.
	Among(parameter string) string
}

// A Field is a part of what a skill says, and of another field.
type Field int

const (
	All   Field = iota
	Said        // of itself: name, keywords, namespace and description
	Named       // name and keywords
)

// Fields are the words of a skill.
type Fields struct{ Name, Keywords, Namespace, Description, Body []string }

// Terms are the skills that have all words in a field, each as the beginning of one.
type Terms struct {
	Field Field
	Words string // with a space between two
}

func terms(f Field, words ...string) Terms { return Terms{f, text(words)} }

// Schema is what all databases have for searches at a version of the schema, but for the words.
func Schema(version int) []string {
	switch version {
	case 1:
		return []string{
			`CREATE TABLE search_cells (page BIGINT PRIMARY KEY, cells {blob} NOT NULL)`,
			`CREATE TABLE search_values (id BIGINT PRIMARY KEY, kind TEXT NOT NULL, value TEXT NOT NULL, UNIQUE (kind, value))`,
			`CREATE TABLE search_ids (last BIGINT NOT NULL)`,
			`INSERT INTO search_ids (last) VALUES (0)`,
		}
	case 5: // the number of changes was a row of search_cells, which is for bytes
		return []string{
			`ALTER TABLE search_ids ADD COLUMN changes BIGINT NOT NULL DEFAULT 0`,
			`DELETE FROM search_cells WHERE page = -1`,
		}
	case 8:
		return []string{
			`ALTER TABLE search_ids ADD COLUMN mark BIGINT NOT NULL DEFAULT 0`,
			`CREATE TABLE search_changes (slot BIGINT PRIMARY KEY, change BIGINT NOT NULL, mark BIGINT NOT NULL, skill BIGINT NOT NULL)`,
		}
	}
	return nil
}

// Put makes a skill findable, as [meta.Dialect] says of Index.
func Put(ctx context.Context, q meta.Querier, db Database, id int64, doc meta.Document) (int64, error) {
	if id != 0 {
		if err := db.Remove(ctx, q, id); err != nil {
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
	if err := db.Put(ctx, q, id, fields(doc.Name, doc.Keywords, doc.Namespace, doc.Description, doc.Text)); err != nil {
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

// Remove takes back what [Put] did.
func Remove(ctx context.Context, q meta.Querier, db Database, id int64) error {
	if err := db.Remove(ctx, q, id); err != nil {
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
	if _, err := q.ExecContext(ctx, `INSERT INTO search_values (id, kind, value) VALUES ((SELECT coalesce(max(id), 0) + 1 FROM search_values), $1, $2)`, kind, value); err != nil {
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
