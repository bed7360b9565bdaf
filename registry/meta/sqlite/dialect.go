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
	if version != 1 {
		return search.Schema(version)
	}
	return append(search.Schema(version),
		`CREATE VIRTUAL TABLE search USING fts5 (name, keywords, namespace, description, body, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')`,
		`CREATE VIRTUAL TABLE search_name USING fts5 (name, keywords, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = 'unicode61 remove_diacritics 2')`,
	)
}

// Now implements [meta.Dialect].
func (dialect) Now() string { return `CAST(unixepoch('now', 'subsec') * 1000000 AS INTEGER)` }

// Index implements [meta.Dialect].
func (dialect) Index(ctx context.Context, q meta.Querier, id int64, doc meta.Document) (int64, error) {
	return search.Put(ctx, q, words{}, id, doc)
}

// Unindex implements [meta.Dialect].
func (dialect) Unindex(ctx context.Context, q meta.Querier, id int64) error {
	return search.Remove(ctx, q, words{}, id)
}

// Search implements [meta.Dialect].
func (d dialect) Search(ctx context.Context, q meta.Querier, s meta.Search) (meta.Hits, error) {
	return d.cache.Search(ctx, q, words{}, s)
}

// Among implements [meta.Dialect].
func (dialect) Among(parameter string) string { return words{}.Among(parameter) }

// Copied implements [meta.Dialect].
func (dialect) Copied(ctx context.Context, q meta.Querier) error {
	return search.Refill(ctx, q, words{})
}
