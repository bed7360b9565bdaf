package sqlite

import (
	"context"
	"strings"

	"github.com/skl-project/skl/registry/meta"
)

type dialect struct{}

// SQL implements [meta.Dialect].
func (dialect) SQL(statement string) string {
	return strings.NewReplacer("{blob}", "BLOB", "{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT", "{clustered}", "WITHOUT ROWID",
		"id BIGINT PRIMARY KEY", "id INTEGER PRIMARY KEY").Replace(statement)
}

// Schema implements [meta.Dialect].
func (dialect) Schema(version int) []string { return nil }

func (dialect) Index(ctx context.Context, q meta.Querier, d meta.Document) (id int64, err error) {
	rows, err := q.QueryContext(ctx, `SELECT coalesce(max(id), 0) + 1 FROM skills`)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	rows.Next()
	err = rows.Scan(&id)
	return id, err
}

func (dialect) Unindex(ctx context.Context, q meta.Querier, id int64) error { return nil }
func (dialect) Search(ctx context.Context, q meta.Querier, s meta.Search) (meta.Hits, error) {
	return meta.Hits{}, nil
}
