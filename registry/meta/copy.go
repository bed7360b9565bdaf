package meta

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// tables are all tables whose rows are the same in every database, and in every place of blobs.
var tables = []string{
	"settings", "namespaces", "grants", "tokens", "accounts", "used", "blobs", "links", "uploads", "manifests", "edges", "tags",
	"releases", "skills", "downloads", "events", "log_records", "log_hashes", "advisories", "search_values", "search_ids",
}

// Tables are the names of the tables that [Copy] copies.
func Tables() []string { return slices.Clone(tables) }

// Copy copies everything from one database to another that [Migrate] just made, of any dialect: what is there is replaced.
func Copy(ctx context.Context, to, from *Tx) error {
	for _, table := range tables {
		if _, err := to.exec(ctx, `DELETE FROM `+table); err != nil {
			return err
		}
		if err := copyTable(ctx, to, from, table); err != nil {
			return fmt.Errorf("table %s: %w", table, err)
		}
	}
	return to.d.Err(to.d.Copied(ctx, to.q))
}

func copyTable(ctx context.Context, to, from *Tx, table string) error {
	rows, err := from.q.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return from.d.Err(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into, places := make([]any, len(columns)), make([]any, len(columns)), make([]string, len(columns))
	for i := range columns {
		into[i], places[i] = &values[i], fmt.Sprintf("$%d", i+1)
	}
	insert := `INSERT INTO ` + table + ` (` + strings.Join(columns, ", ") + `) VALUES (` + strings.Join(places, ", ") + `)`
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if _, err := to.exec(ctx, insert, values...); err != nil {
			return err
		}
	}
	return from.d.Err(rows.Err())
}
