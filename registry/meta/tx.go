package meta

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A Tx is what can be asked and changed in a transaction. It must not be used after
// its func returned, nor by two goroutines.
//
// A list with a limit of 0 or less holds at most 10,000 entries.
type Tx struct {
	q Querier
	d Dialect
}

// A Querier runs statements of one transaction, with parameters $1, $2 and so on.
// *sql.Tx and *sql.Conn are Queriers.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// A Dialect is what databases do differently. Text has to compare by bytes in all of them.
type Dialect interface {
	// SQL turns a statement of the schema into the database's: {blob} is the type of
	// bytes, {serial} that of a key that counts by itself, {clustered} follows a table of short rows that
	// are only found by their primary key.
	SQL(statement string) string
	// Schema is what the dialect adds at a version of the schema: full-text search.
	Schema(version int) []string
	// Upgrade does what no statement can, after those of a version.
	Upgrade(ctx context.Context, q Querier, version int) error
	// Index makes a skill findable by what d says, and by that alone. It returns its id, which is greater than 0:
	// a new one for the id 0.
	Index(ctx context.Context, q Querier, id int64, d Document) (int64, error)
	// Unindex takes back what Index did.
	Unindex(ctx context.Context, q Querier, id int64) error
	// Search finds what was indexed. It fills in default values of s itself.
	Search(ctx context.Context, q Querier, s Search) (Hits, error)
	// Now is the database's clock, in microseconds since 1970.
	Now() string
	// Among is a table j of numbers, "value", in the order of the JSON array that is the parameter.
	Among(parameter string) string
	// Texts is Among for text.
	Texts(parameter string) string
	// Copied is called when the rows of all other tables were copied: it makes what the dialect keeps beside them.
	Copied(ctx context.Context, q Querier) error
	// Err gives an error of the database the identity of ErrFull where it is that.
	Err(err error) error
}

// A Document is what search knows of a skill.
type Document struct {
	Skill
	Text string // body, at most 8 KiB
}

// Hits are what a Dialect found.
type Hits struct {
	IDs     []int64   // of one page, best first
	Scores  []float64 // beside IDs
	Total   int
	Facets  map[string]map[string]int
	Relaxed bool // they have only some of the words
}

// NewTx wraps q in a transaction that speaks dialect d. It is for implementations of [Store].
func NewTx(q Querier, d Dialect) *Tx { return &Tx{storable{q}, d} }

// storable is a Querier for text as all databases take it: PostgreSQL knows no NUL, and only valid UTF-8. What is no such text is
// replaced in a column by U+FFFD; the bytes of a skill are kept elsewhere, as they are.
type storable struct{ Querier }

func (p storable) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.Querier.ExecContext(ctx, query, clean(args)...)
}

func (p storable) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.Querier.QueryContext(ctx, query, clean(args)...)
}

func clean(args []any) []any {
	for i, a := range args {
		if text, is := a.(string); is && (strings.IndexByte(text, 0) >= 0 || !utf8.ValidString(text)) {
			args = slices.Clone(args)
			args[i] = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
		}
	}
	return args
}

const defaultLimit = 10_000

func bound(limit int) int {
	if limit <= 0 {
		return defaultLimit
	}
	return limit
}

// exec runs a statement and returns the number of rows that it changed.
func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	r, err := tx.q.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, tx.d.Err(err)
	}
	n, err := r.RowsAffected()
	return n, err
}

// change is exec of a statement that must find its row.
func (tx *Tx) change(ctx context.Context, query string, args ...any) error {
	n, err := tx.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return ErrNotFound
	}
	return err
}

// insert is exec of a statement that does nothing on conflict.
func (tx *Tx) insert(ctx context.Context, query string, args ...any) error {
	n, err := tx.exec(ctx, query, args...)
	if err == nil && n == 0 {
		return ErrExists
	}
	return err
}

// A row is what a scan func reads its columns from.
type row interface{ Scan(dest ...any) error }

// each calls scan for every row of the answer.
func (tx *Tx) each(ctx context.Context, scan func(row) error, query string, args ...any) error {
	rows, err := tx.q.QueryContext(ctx, query, args...)
	if err != nil {
		return tx.d.Err(err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return tx.d.Err(cmp.Or(rows.Err(), rows.Close()))
}

// list returns the rows of the answer as values.
func list[T any](ctx context.Context, tx *Tx, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	var all []T
	err := tx.each(ctx, func(r row) error {
		v, err := scan(r)
		all = append(all, v)
		return err
	}, query, args...)
	if err != nil {
		return nil, err
	}
	return all, nil
}

// one returns the only row of the answer, or ErrNotFound.
func one[T any](ctx context.Context, tx *Tx, scan func(row) (T, error), query string, args ...any) (T, error) {
	var v T
	found := false
	err := tx.each(ctx, func(r row) (err error) {
		v, err = scan(r)
		found = true
		return err
	}, query, args...)
	if err == nil && !found {
		err = ErrNotFound
	}
	if err != nil {
		var zero T
		return zero, err
	}
	return v, nil
}

// column scans a row of one column.
func column[T any](r row) (v T, err error) {
	err = r.Scan(&v)
	return v, err
}

// has reports whether the query "SELECT 1 …" has an answer.
func (tx *Tx) has(ctx context.Context, query string, args ...any) (bool, error) {
	_, err := one(ctx, tx, column[int64], query, args...)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// micros is the stored form of t: microseconds since 1970, and 0 for the zero time.
//
//go:noinline
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// A stamp scans what micros made.
type stamp struct{ t *time.Time }

func (s stamp) Scan(v any) error {
	n, ok := v.(int64)
	switch {
	case !ok:
		return fmt.Errorf("a time is stored as %T", v)
	case n == 0:
		*s.t = time.Time{}
	default:
		*s.t = time.UnixMicro(n).UTC()
	}
	return nil
}

// flag is the stored form of a bool.
func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// encode is the stored form of a value with several parts. Empty values are the empty string.
func encode(v any, empty bool) string {
	if empty {
		return ""
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain structs, maps and slices
	}
	return string(text)
}

// A decoder scans what encode made into v, a pointer.
type decoder struct{ v any }

func (d decoder) Scan(v any) error {
	switch text := v.(type) {
	case string:
		if text != "" {
			return json.Unmarshal([]byte(text), d.v)
		}
	case []byte:
		if len(text) > 0 {
			return json.Unmarshal(text, d.v)
		}
	}
	return nil
}

// notNil keeps nil bytes from being stored as NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// orNil reads back what notNil made.
func orNil(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// cutRepo splits "namespace/name".
func cutRepo(repo string) (namespace, name string) {
	i := strings.LastIndexByte(repo, '/')
	if i < 0 {
		return "", repo
	}
	return repo[:i], repo[i+1:]
}

// Array writes numbers as JSON, for [Dialect.Among].
func Array(ids []int64) string {
	list := []byte{'['}
	for i, id := range ids {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, id, 10)
	}
	return string(append(list, ']'))
}
