package scope

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/skl-project/skl/install/durable"
)

var errDamaged = errors.New("it is damaged")

// ReadState reads a JSON file of the user's state into v, which holds what a file that is not there means. A pipe or a device
// is an error, and nothing waits for it.
func ReadState(path string, v any) error {
	text, err := durable.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if json.Unmarshal(text, v) != nil {
		return errDamaged // the words of a parser are about our types
	}
	return nil
}

// ChangeState writes what change returns to path, a JSON file of the user's state; nil leaves it as it is. No other skl of
// this user changes its state meanwhile, so change reads the file again.
func (sc *Scope) ChangeState(path string, change func() (any, error)) error {
	if err := sc.MkdirPrivate(sc.Dirs.State); err != nil {
		return err
	}
	unlock, err := durable.Lock(context.Background(), sc.Dirs.State, nil)
	if err != nil {
		return err
	}
	defer unlock()
	v, err := change()
	if err != nil || v == nil {
		return err
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(path, append(text, '\n'), 0o600)
}
