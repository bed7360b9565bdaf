package sqlite

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/meta/search"
)

// A dialect is SQLite's share of the work of [meta.Tx].
type dialect struct{ cache *search.Cache }

// SQL implements [meta.Dialect].
func (dialect) SQL(statement string) string {
	return strings.NewReplacer(
		"{blob}", "BLOB",
		"{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT",
		"{clustered}", "WITHOUT ROWID",
		" BIGINT PRIMARY KEY", " INTEGER PRIMARY KEY", // the only spelling that makes it the row's own number
	).Replace(statement)
}

// Schema implements [meta.Dialect].
func (dialect) Schema(version int) []string {
	return search.Schema(version)
}

// Upgrade implements [meta.Dialect].
func (d dialect) Upgrade(ctx context.Context, q meta.Querier, version int) error {
	return search.Upgrade(ctx, q, d, version)
}

// Now implements [meta.Dialect].
func (dialect) Now() string { return `CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)` }

// Index implements [meta.Dialect].
func (d dialect) Index(ctx context.Context, q meta.Querier, id int64, doc meta.Document) (int64, error) {
	return search.Put(ctx, q, d, id, doc)
}

// Unindex implements [meta.Dialect].
func (d dialect) Unindex(ctx context.Context, q meta.Querier, id int64) error {
	return search.Remove(ctx, q, d, id)
}

// Search implements [meta.Dialect].
func (d dialect) Search(ctx context.Context, q meta.Querier, s meta.Search) (meta.Hits, error) {
	return d.cache.Search(ctx, q, d, s)
}

// IDs implements [search.Database]. The driver copies a blob once.
func (dialect) IDs(query string) string {
	return `SELECT CAST(group_concat(id) AS BLOB) FROM (` + query + `)`
}

// Among implements [meta.Dialect].
func (dialect) Among(parameter string) string { return `json_each(` + parameter + `) AS j` }

// Texts implements [search.Database].
func (d dialect) Texts(parameter string) string { return d.Among(parameter) }

// Pairs implements [search.Database].
func (dialect) Pairs(parameter string) string {
	return `(SELECT value ->> 0 AS word, unhex(value ->> 1) AS bytes FROM json_each(` + parameter + `)) AS j`
}

// Copied implements [meta.Dialect].
func (d dialect) Copied(ctx context.Context, q meta.Querier) error {
	return search.Rebuild(ctx, q, d)
}
