package ui

import (
	"bytes"
	"io"
)

// Help writes a page of help, which is text of our own. On a terminal, lines that are too long go on below the column in
// which their last part began.
func (u *UI) Help(text string) {
	u.clear()
	io.WriteString(u.Out, u.Look().Columns(u.Look().Drawn(text)))
}

// HelpWriter is Help for those who write in pieces. Only whole lines are written.
func (u *UI) HelpWriter() io.Writer { return &helpWriter{u: u} }

type helpWriter struct {
	u    *UI
	line []byte
}

func (w *helpWriter) Write(p []byte) (int, error) {
	w.line = append(w.line, p...)
	if end := bytes.LastIndexByte(w.line, '\n'); end >= 0 {
		w.u.Help(string(w.line[:end+1]))
		w.line = w.line[end+1:]
	}
	return len(p), nil
}
