package meta

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Version is the version of the schema that this program writes.
func Version() int { return len(steps()) }

// A Schema says how far the schema of a database has come.
type Schema struct {
	Version int      `json:"version"` // 0 of an empty database
	Known   int      `json:"known"`   // the newest that this program knows
	From    int      `json:"from"`    // version of the oldest program that works with it
	Next    int      `json:"next"`    // that it can have now: Version if nothing is to be done
	Waits   []string `json:"waits"`   // names of processes of earlier versions, that serve and would not go on with the one after Next

	need int // the oldest that this program works with
}

// CodeNewer is the code of the error of a database that this program is too old for.
const CodeNewer = "newer_database"

// Migrate brings the database behind q to the newest schema that all who serve it go on with, in q's transaction; one that is empty to
// the version first, unless that is 0. If there is an older one it tells upgrading before, as that may take minutes. That may refuse: then the schema stays, if this program works with it, and else its
// error is the end. Errors: newer_database for one that this program is too old for, older_replicas while processes
// serve that would not go on with the oldest that it works with.
func Migrate(ctx context.Context, q Querier, d Dialect, first int, upgrading func(Schema) error) error {
	return migrate(ctx, q, d, first, upgrading, steps())
}

func migrate(ctx context.Context, q Querier, d Dialect, first int, upgrading func(Schema) error, steps []step) error {
	tx := NewTx(q, d)
	if _, err := tx.exec(ctx, `CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value `+d.SQL("{blob}")+` NOT NULL)`); err != nil {
		return err
	}
	s, err := tx.schema(ctx, steps)
	if err != nil || s.Version >= s.Known {
		return err
	}
	if s.Version == 0 && first > s.Known {
		return newer(first, s.Known)
	}
	if s.Version == 0 && first > 0 {
		s.Next = first
	}
	if s.Next < s.need && len(s.Waits) > 0 {
		e := diag.New(diag.Refused, "older_replicas", "the database has schema %d and needs %d, which what serves now does not go on with: %s", s.Version, s.need, diag.Printable(strings.Join(s.Waits, ", "))).
			Hint("try again when those of an earlier version are stopped; what was killed counts for half a minute").
			Hint("or replace them by a version between, one by one, and then by this one")
		e.Retryable = true
		return e
	}
	if upgrading != nil {
		if err := upgrading(s); err != nil && s.Version >= s.need {
			return nil
		} else if err != nil {
			return err
		}
	}
	for v := s.Version + 1; v <= s.Next; v++ {
		for statement := range strings.SplitSeq(steps[v-1].sql, ";\n") {
			if strings.TrimSpace(statement) == "" {
				continue
			}
			if _, err := tx.exec(ctx, d.SQL(statement)); err != nil {
				return err
			}
		}
		for _, statement := range d.Schema(v) {
			if _, err := tx.exec(ctx, d.SQL(statement)); err != nil {
				return err
			}
		}
		if err := d.Upgrade(ctx, tx.q, v); err != nil {
			return d.Err(err)
		}
	}
	if s.Next == s.Version {
		return nil
	}
	from := 0
	for v := range s.Next {
		from = max(from, steps[v].oldest(v+1))
	}
	if err := tx.putNumber(ctx, settingCompatible, from); err != nil {
		return err
	}
	return tx.putNumber(ctx, settingSchema, s.Next)
}

// oldest is the version of the oldest program that goes on with the step to a version.
func (s step) oldest(version int) int {
	if s.from > 0 {
		return s.from
	}
	return version
}

// Schema returns how far the schema has come, and the error newer_database if this program is too old for it.
func (tx *Tx) Schema(ctx context.Context) (Schema, error) { return tx.schema(ctx, steps()) }

func (tx *Tx) schema(ctx context.Context, steps []step) (s Schema, err error) {
	s.Known, s.need = len(steps), len(steps)
	for s.need > 0 && steps[s.need-1].late {
		s.need--
	}
	if s.Version, err = tx.number(ctx, settingSchema, 0); err != nil {
		return s, err
	}
	if s.From, err = tx.number(ctx, settingCompatible, s.Version); err != nil { // the versions that did not say it knew only their own
		return s, err
	}
	if s.From > s.Known {
		return s, newer(s.From, s.Known)
	}
	for s.Next = s.Version; s.Next < s.Known; s.Next++ {
		if s.Waits, err = tx.older(ctx, s.Version, steps[s.Next].oldest(s.Next+1)); err != nil || len(s.Waits) > 0 {
			return s, err
		}
	}
	return s, nil
}

// newer is the error of a database that only programs from a version on work with.
func newer(from, known int) error {
	e := diag.New(diag.Refused, CodeNewer, "the database is for versions of skl that know schema %d, and this one knows schemas up to %d", from, known).
		Hint("use the newer skl that upgraded it, or one between")
	e.Retryable = true // another process may be of that version
	return e
}

// leaseVersion is the schema from which on leases say of which version their holder is.
const leaseVersion = 10

// older lists the names of processes that serve now and whose version is less than limit.
func (tx *Tx) older(ctx context.Context, version, limit int) (names []string, err error) {
	switch {
	case version < 7: // there are no leases
		return nil, nil
	case version < leaseVersion && version >= limit: // all are of that version
		return nil, nil
	}
	condition := ``
	if version >= leaseVersion {
		condition = ` AND version < ` + strconv.Itoa(limit)
	}
	return tx.serving(ctx, condition)
}

// number reads a setting that is a number; otherwise if there is none.
func (tx *Tx) number(ctx context.Context, key string, otherwise int) (int, error) {
	text, err := tx.Setting(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return otherwise, nil
	}
	if err != nil {
		return 0, err
	}
	return parseNumber(key, text)
}

func parseNumber(key string, text []byte) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 {
		return 0, diag.New(diag.Failed, "corrupt", "the database's setting %q is not a number: %q", key, text)
	}
	return n, nil
}

func (tx *Tx) putNumber(ctx context.Context, key string, n int) error {
	return tx.PutSetting(ctx, key, []byte(strconv.Itoa(n)))
}
