package cli

import (
	"github.com/skl-project/skl/cmd/skl/internal/report"
)

// show says a result, unless it could not be had: for people in the words of text.
func (w *world) show(v any, err error, text func(*report.Text)) error {
	if err != nil {
		return err
	}
	return report.Report{Result: v, Text: text}.Write(w.ui)
}

// verdict is show for a check; one that does not hold ends with exit 3 and code.
func (w *world) verdict(v any, holds bool, code string, text func(*report.Text)) error {
	return report.Verdict(v, holds, report.Unmet(code), text).Write(w.ui)
}
