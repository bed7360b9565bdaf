package meta

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// tables are all tables whose rows are the same in every database, and in every place of blobs.
var tables = []string{
	"settings", "namespaces", "grants", "tokens", "accounts", "used", "blobs", "links", "uploads", "manifests", "edges", "tags",
	"releases", "skills", "downloads", "events", "log_records", "log_hashes", "advisories", "search_values", "search_ids",
}

// Tables are the names of the tables that [Copy] copies.
func Tables() []string { return slices.Clone(tables) }

// Copy copies the registry from one database to another, of any dialect: what is there is replaced, but for what is of the place. It returns
// the number of rows, and tells copied of those until then, unless that is nil.
func Copy(ctx context.Context, to, from *Tx, copied func(rows int64)) (rows int64, err error) {
	if err := sameSchema(ctx, to, from); err != nil {
		return 0, err
	}
	for _, table := range tables {
		n := int64(0)
		if _, err := to.exec(ctx, `DELETE FROM `+ofRegistry(table)); err != nil {
			return rows, err
		}
		if err := copyTable(ctx, to, from, table, func(more int) {
			n += int64(more)
			if copied != nil {
				copied(rows + n)
			}
		}); err != nil {
			return rows, fmt.Errorf("table %s: %w", table, err)
		}
		have, err := one(ctx, to, column[int64], `SELECT count(*) FROM `+ofRegistry(table))
		if err == nil && have != n {
			err = fmt.Errorf("table %s: %d rows were copied, and it has %d", table, n, have)
		}
		if err != nil {
			return rows, err
		}
		rows += n
	}
	return rows, to.d.Err(to.d.Copied(ctx, to.q))
}

// sameSchema refuses to copy between schemas: what one has and the other has not would be lost.
func sameSchema(ctx context.Context, to, from *Tx) error {
	a, err := from.Schema(ctx)
	if err != nil {
		return err
	}
	b, err := to.Schema(ctx)
	switch {
	case err != nil || a.Version == b.Version:
		return err
	case a.Version > b.Version:
		return diag.New(diag.Refused, CodeNewer, "the data has schema %d, and this skl makes databases of schema %d", a.Version, b.Version).Hint("use the skl that wrote it")
	}
	return diag.New(diag.Refused, "older_database", "the data has schema %d, and that at the new place is %d", a.Version, b.Version).
		Hint("run skl registry migrate --schema once no process of an earlier version serves it")
}

// Vacant reports whether the database holds no registry.
func (tx *Tx) Vacant(ctx context.Context) (bool, error) {
	for _, table := range tables {
		if strings.HasPrefix(table, "search_") { // made with the schema
			continue
		}
		if n, err := one(ctx, tx, column[int64], `SELECT count(*) FROM (SELECT 1 FROM `+ofRegistry(table)+` LIMIT 1) AS first`); err != nil || n > 0 {
			return false, err
		}
	}
	// Not even one that served, and where nothing happened.
	n, err := one(ctx, tx, column[int64], `SELECT count(*) FROM settings WHERE key LIKE '`+SettingSecret+`%'`)
	return n == 0, err
}

// ofRegistry is a table with the condition that leaves out what is of the place.
func ofRegistry(table string) string {
	if table == "settings" {
		return table + ` WHERE NOT ` + ofPlace
	}
	return table
}

// copiedRows and copiedBytes bound what one statement writes.
const (
	copiedRows  = 128
	copiedBytes = 1 << 20
)

// copyTable copies the rows of a table, many in one statement, and says how many more there are.
func copyTable(ctx context.Context, to, from *Tx, table string, more func(rows int)) error {
	rows, err := from.q.QueryContext(ctx, `SELECT * FROM `+ofRegistry(table))
	if err != nil {
		return from.d.Err(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	width := len(columns)
	into, prefix := make([]any, width), `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) VALUES `
	var pending []any // values of rows that are not written yet
	bytes := 0
	write := func() error {
		for len(pending) > 0 {
			// Numbers of rows that are powers of two are few different statements.
			n := 1 << (bits.Len(uint(len(pending)/width)) - 1)
			if _, err := to.exec(ctx, prefix+places(n, width), pending[:n*width]...); err != nil {
				return err
			}
			pending = pending[n*width:]
			more(n)
		}
		bytes = 0
		return nil
	}
	for rows.Next() {
		values := make([]any, width)
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		for i, v := range values {
			switch v := v.(type) {
			case nil: // so SQLite's driver reads an empty BLOB; nothing in a table is NULL
				values[i] = []byte{}
			case []byte:
				values[i] = notNil(v)
				bytes += len(v)
			case string:
				bytes += len(v)
			}
		}
		if pending = append(pending, values...); len(pending) == copiedRows*width || bytes >= copiedBytes {
			if err := write(); err != nil {
				return err
			}
		}
	}
	if err := from.d.Err(rows.Err()); err != nil {
		return err
	}
	return write()
}

// places are the parameters of so many rows: "($1, $2), ($3, $4)".
func places(rows, width int) string {
	var b strings.Builder
	for i := range rows * width {
		switch {
		case i == 0:
			b.WriteString("(")
		case i%width == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", i+1)
	}
	return b.String() + ")"
}
