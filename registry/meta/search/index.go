// Package search finds skills in a registry's database: it indexes their words, filters, counts, relaxes and ranks, the same in all of
// them.
//
//   - "search_skills" has what searches know of a skill, its entry: its words, with the field that each is in, and its cell.
//   - "search_postings" has the skills that have a word, in blocks; see [changeBlock]. Blocks lie one after the other, so that what new skills
//     change lies together. Words that begin with one or two given letters are a word of their own.
//   - "search_cells" has the values by which searches filter and count, as a column store: eight bytes for each skill, for its
//     namespace, license, and whether it is signed.
//   - "search_fresh" has the skills of which postings and cells do not say yet what their entries say, at most 512: to change those for one
//     skill is a few hundred rows, for many skills it is little more. Searches look at the entries of these.
//
// So a search reads some blocks and the cells, and no row per match; that keeps it in milliseconds also for words that all of 300,000
// skills have. Long lists and the cells stay in memory, in a [Cache].
package search

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

// A Database is what databases do differently for searches.
type Database interface {
	// IDs turns a query for ids into one for a single text of them, as bytes: numbers and commas.
	IDs(query string) string
	// Among is a table j of numbers, "value", in the order of the JSON array that is the parameter.
	Among(parameter string) string
	// Texts is Among for texts.
	Texts(parameter string) string
	// Pairs is a table j of texts and bytes, "word" and "bytes", in the order of the JSON array of pairs that is the parameter, with the bytes as
	// hexadecimal digits.
	Pairs(parameter string) string
}

// Schema is what all databases have for searches at a version of the schema.
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
	case 9: // words were in an index of the database's own; see [Upgrade]
		return []string{
			`DROP TABLE search_changes`,
			`DROP TABLE IF EXISTS search`,
			`DROP TABLE IF EXISTS search_name`,
			`ALTER TABLE search_ids ADD COLUMN base BIGINT NOT NULL DEFAULT 0`,
			`ALTER TABLE search_ids ADD COLUMN fresh BIGINT NOT NULL DEFAULT 0`,
			`CREATE TABLE search_skills (id BIGINT PRIMARY KEY, entry {blob} NOT NULL)`,
			`CREATE TABLE search_fresh (id BIGINT PRIMARY KEY, was {blob} NOT NULL)`,
			`CREATE TABLE search_postings (block BIGINT NOT NULL, word TEXT NOT NULL, skills {blob} NOT NULL, PRIMARY KEY (block, word)) {clustered}`,
		}
	}
	return nil
}

// Tables are the names of the tables of the index that [meta.Copy] does not copy: what they say is made anew.
func Tables() []string {
	return []string{"search_skills", "search_postings", "search_cells", "search_fresh"}
}

// Upgrade follows [Schema]: what was in an index of the database's own is indexed anew.
func Upgrade(ctx context.Context, q meta.Querier, db Database, version int) error {
	if version != 9 {
		return nil
	}
	return Rebuild(ctx, q, db)
}

// Put makes a skill findable, as [meta.Dialect] says of Index.
func Put(ctx context.Context, q meta.Querier, db Database, id int64, doc meta.Document) (int64, error) {
	if id == 0 {
		if _, err := q.ExecContext(ctx, `UPDATE search_ids SET last = last + 1`); err != nil {
			return 0, err
		}
		var err error
		if id, err = number(ctx, q, `SELECT last FROM search_ids`); err != nil {
			return 0, err
		}
	}
	e, err := read(ctx, q, doc)
	if err != nil {
		return 0, err
	}
	return id, put(ctx, q, db, id, e)
}

// Remove takes back what [Put] did.
func Remove(ctx context.Context, q meta.Querier, db Database, id int64) error {
	return put(ctx, q, db, id, entry{})
}

// read makes the entry of a skill.
func read(ctx context.Context, q meta.Querier, doc meta.Document) (entry, error) {
	c := cell{signed: doc.Signed}
	var err error
	if c.namespace, err = intern(ctx, q, "namespace", doc.Namespace); err != nil {
		return entry{}, err
	}
	if c.license, err = intern(ctx, q, "license", doc.License); err != nil {
		return entry{}, err
	}
	return newEntry(c, Words(doc.Name+" "+strings.Join(doc.Keywords, " ")), Words(doc.Namespace+" "+doc.Description), Words(doc.Text)), nil
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
