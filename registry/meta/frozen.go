package meta

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// A Freeze says that a database takes no updates, and why. Programs that move the data of a registry write it.
type Freeze struct {
	State FreezeState `json:"state"`
	Since time.Time   `json:"since"`
	Log   string      `json:"log"` // public key of the registry's log
	// Place is a name of the place that data arrives at, and of the one it was moved to: no other takes what is left to do.
	Place string `json:"place,omitempty"`
}

// A FreezeState is what happens to frozen data.
type FreezeState string

const (
	Moving   FreezeState = "moving"   // it is copied to another place
	Moved    FreezeState = "moved"    // it is used at another place
	Arriving FreezeState = "arriving" // it comes from another place, and is not whole yet
)

// CodeFrozen is the code of the error of an update while the database is frozen.
const CodeFrozen = "frozen"

// Text says it to everybody.
func (f Freeze) Text() string {
	since := f.Since.UTC().Format(time.RFC3339)
	switch f.State {
	case Moving:
		return "the registry takes no changes since " + since + ", while it is moved to another place"
	case Arriving:
		return "the data of a registry arrives here since " + since + ", and is not whole yet"
	}
	return "the registry was moved to another place at " + since + ", and takes no changes here"
}

// err is the error of an update.
func (f Freeze) err() error {
	e := diag.New(diag.Failed, CodeFrozen, "%s", f.Text())
	e.Retryable = f.State == Moving
	switch f.State {
	case Moving:
		return e.Hint("try again in a few minutes")
	case Arriving:
		return e.Hint("whoever moves it runs skl registry migrate once more, if that was interrupted")
	}
	return e.Hint("ask whoever runs it for its address now")
}

// Frozen returns why the database takes no updates; ErrNotFound if it does.
func (tx *Tx) Frozen(ctx context.Context) (f Freeze, err error) {
	text, err := tx.Setting(ctx, settingFrozen)
	if err != nil {
		return f, err
	}
	return parseFreeze(text)
}

func parseFreeze(text []byte) (f Freeze, err error) {
	if err := json.Unmarshal(text, &f); err != nil || f.State == "" {
		return f, diag.New(diag.Failed, "corrupt", "the database's setting %q says nothing that is known", settingFrozen)
	}
	return f, nil
}

// Freeze has the database refuse updates from the next one on, but for those of the program that moves it.
func (tx *Tx) Freeze(ctx context.Context, f Freeze) error {
	text, err := json.Marshal(f)
	if err == nil {
		err = tx.PutSetting(ctx, settingFrozen, text)
	}
	return err
}

// Thaw ends a freeze.
func (tx *Tx) Thaw(ctx context.Context) error {
	_, err := tx.exec(ctx, `DELETE FROM settings WHERE key = $1`, settingFrozen)
	return err
}

// fenceQuery reads the settings that an update heeds.
const fenceQuery = `FROM settings WHERE key IN ('` + settingFrozen + `', '` + settingCompatible + `') ORDER BY key`

// FenceQuery reads what [Fence] takes, where a statement is sent as text: a column of texts.
const FenceQuery = `SELECT key || ' ' || convert_from(value, 'UTF8') ` + fenceQuery

// Fence is the error of every update, by what [FenceQuery] found; nil if there is none.
func Fence(found [][]byte) error {
	for _, setting := range found {
		key, value, _ := bytes.Cut(setting, []byte(" "))
		if err := fence(string(key), value); err != nil {
			return err
		}
	}
	return nil
}

func fence(key string, value []byte) error {
	if key == settingFrozen {
		f, err := parseFreeze(value)
		if err != nil {
			return err
		}
		return f.err()
	}
	from, err := parseNumber(key, value)
	if known := Version(); err == nil && from > known {
		err = newer(from, known)
	}
	return err
}

// MayUpdate is the error of every update of the database behind q, in its transaction: it is frozen, or this program is too old for it
// by now. Else it is nil.
func MayUpdate(ctx context.Context, q Querier, d Dialect) error {
	return NewTx(q, d).each(ctx, func(r row) error {
		var key string
		var value []byte
		if err := r.Scan(&key, &value); err != nil {
			return err
		}
		return fence(key, value)
	}, `SELECT key, value `+fenceQuery)
}
