package cli

import (
	"github.com/skl-project/skl/cmd/skl/internal/ui"
)

// result prints v as JSON, unless it could not be had.
func (w *world) result(v any, err error) error {
	if err != nil {
		return err
	}
	return w.ui.Result(v)
}

// show prints a result, unless it could not be had: as JSON if that is wanted, else in the words of text.
func (w *world) show(v any, err error, text func()) error {
	if err != nil || w.ui.JSON {
		return w.result(v, err)
	}
	text()
	return nil
}

// mark stands before what is right, or not.
func (w *world) mark(ok bool) ui.Painted {
	if !ok {
		return "✗"
	}
	return ui.Painted(w.ui.Done())
}

// verdict is show for a check; one that does not hold ends with exit 3 and code.
func (w *world) verdict(v any, holds bool, code string, text func()) error {
	if err := w.show(v, nil, text); err != nil || holds {
		return err
	}
	return unmet(code)
}
