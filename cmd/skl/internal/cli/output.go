package cli

// output is the end of most commands: the error of the use case, or its result, as JSON or as text prints it.
func (w *world) output(result any, err error, text func()) error {
	switch {
	case err != nil:
		return err
	case w.ui.JSON:
		return w.ui.Result(result)
	}
	text()
	return nil
}

// table prints rows below a header, and note where there are none.
func (w *world) table(header []string, rows [][]string, note string) {
	if len(rows) == 0 && note != "" {
		w.ui.Note("%s", note)
	}
	w.ui.Rows(append([][]string{header}, rows...))
}
