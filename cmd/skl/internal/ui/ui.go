// Package ui is the only place that prints. It turns results, errors and
// progress into text for people or JSON for programs.
//
// Results go to Out, everything else to Err, each line of it starting with
// "skl: ". All text from outside passes diag.Printable here, so no name or
// message can move the cursor or change a colour.
package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// A UI prints for one command. Its fields are set before first use; its methods may
// be called concurrently.
type UI struct {
	In        io.Reader
	Out, Err  io.Writer
	JSON      bool          // results are one JSON value on Out
	Quiet     bool          // no notes and no progress
	Verbose   bool          // details that are otherwise left out
	Color     bool          // Out takes colours
	ErrColor  bool          // Err does
	Signs     screen.Signs  // which signs Out can show
	ErrSigns  screen.Signs  // which ones Err can
	Terminal  bool          // In and Err are a terminal: questions can be asked, progress shown
	Screen    bool          // Out is a terminal
	ErrScreen bool          // Err is one
	Still     bool          // nothing moves or is drawn again
	Typed     *screen.Typed // what was typed, which hints repeat
	Pager     []string      // the program that long results are read with, and its arguments; nil: none
	Yes       bool          // questions of choice are answered with their default
	// Interrupt ends waiting for an answer when it is closed. Nil never does.
	Interrupt <-chan struct{}

	progress progress
	muted    muted
	lines    *bufio.Reader
	ahead    []byte                     // typed behind the key that answered a question
	keyboard keyboard                   // instead of In, in tests
	sized    func() (width, height int) // instead of the size of the terminal, in tests
}

// Look is what Out can show.
func (u *UI) Look() screen.Look {
	k := screen.Look{Color: u.Color, Signs: u.Signs, Quiet: u.Quiet, All: u.Verbose}
	if u.Screen {
		k.Width = u.Width()
	}
	return k
}

// ErrLook is what Err can show.
func (u *UI) ErrLook() screen.Look { return u.errLook() }

// errLook is what Err can show.
func (u *UI) errLook() screen.Look {
	k := screen.Look{Color: u.ErrColor, Signs: u.ErrSigns, Quiet: u.Quiet, All: u.Verbose}
	if u.ErrScreen {
		k.Width, _ = u.size(u.Err)
	}
	return k
}

func (u *UI) height() int {
	_, h := u.size(u.Err)
	return h
}

// size is that of the terminal w, 80 by 24 if it is not known.
func (u *UI) size(w io.Writer) (width, height int) {
	if u.sized != nil {
		return u.sized()
	}
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if width, height, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			if height <= 0 {
				height = 24
			}
			return width, height
		}
	}
	return 80, 24
}

// Lines writes lines of a result as the look of Out shows them.
func (u *UI) Lines(lines ...screen.Line) {
	u.clear()
	io.WriteString(u.Out, u.Look().Lines(lines...))
}

// Table writes a table of a result.
func (u *UI) Table(t screen.Table) {
	u.clear()
	io.WriteString(u.Out, u.Look().Table(t))
}

// Print writes a line of a result. Args are made printable, the format is not.
func (u *UI) Print(format string, args ...any) {
	u.clear()
	io.WriteString(u.Out, flow(u.Look(), fmt.Sprintf(format, clean(args)...), 2))
}

// flow wraps painted text at words, its rows below the first indented by hang columns more than the first. Where nothing
// is wrapped it is left as it is.
func flow(look screen.Look, text string, hang int) string {
	if look.Width == 0 {
		return text + "\n"
	}
	var b strings.Builder
	for _, line := range strings.Split(text, "\n") {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		b.WriteString(look.Lines(screen.Line{Left: screen.Parse(line), Wrap: true, Unbroken: true, Hang: indent + hang}))
	}
	return b.String()
}

// tell writes a line to Err: "skl: ", a label and text. On a terminal it is wrapped, and what is to be typed stays whole.
func (u *UI) tell(label, style, text string) {
	if u.muted.holds(func() { u.tell(label, style, text) }) {
		return
	}
	u.clear()
	look := u.errLook()
	head := "skl: "
	if u.ErrColor {
		head = "\x1b[2mskl:\x1b[0m "
	}
	if label != "" {
		head += u.paintErr(style, label) + " "
	}
	io.WriteString(u.Err, flow(look, head+text, len("skl: ")))
}

// Raw writes bytes of a result: a file, a completion script. Programs get them as they are. On a terminal, what it
// would obey is made printable; line ends and tabs stay.
func (u *UI) Raw(data []byte) {
	u.clear()
	if u.Screen {
		data = []byte(onScreen(string(data)))
	}
	u.Out.Write(data)
}

// Page writes text that was laid out for the terminal, with colours of ours. Its text must be printable already.
func (u *UI) Page(text Painted) {
	u.clear()
	io.WriteString(u.Out, u.Typed.Steps(string(text)))
}

// Width is the number of columns of the terminal that Out is, 80 if it is none.
func (u *UI) Width() int {
	width, _ := u.size(u.Out)
	return width
}

// onScreen makes each line of text printable.
func onScreen(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ended := strings.CutSuffix(line, "\n")
		if ended {
			line = strings.TrimSuffix(line, "\r")
		}
		for i, part := range strings.Split(line, "\t") {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(diag.Printable(part))
		}
		if ended {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// Note tells the reader something beside the result.
func (u *UI) Note(format string, args ...any) {
	if u.Quiet {
		return
	}
	u.tell("", "", fmt.Sprintf(format, clean(args)...))
}

// Detail is a Note for --verbose.
func (u *UI) Detail(format string, args ...any) {
	if u.Verbose {
		u.Note(format, args...)
	}
}

// Hint tells what to type next.
func (u *UI) Hint(format string, args ...any) {
	if u.Quiet {
		return
	}
	text := u.Typed.Retyped(fmt.Sprintf(format, clean(diag.ForShell(format, args))...))
	u.tell("hint:", dim, text)
}

// Warn is a Note that --quiet does not silence.
func (u *UI) Warn(format string, args ...any) {
	u.tell("warning:", yellow, fmt.Sprintf(format, clean(args)...))
}

// Result prints v as JSON. It is called instead of Print if u.JSON is set.
func (u *UI) Result(v any) error {
	u.clear()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(u.Out, escaped(b.String()))
	return err
}

// Stream prints v as JSON on one line, for programs that read a stream.
func (u *UI) Stream(v any) error {
	text, err := json.Marshal(v)
	if err == nil {
		u.Raw([]byte(escaped(string(text)) + "\n"))
	}
	return err
}

// escaped writes what a terminal would obey, and JSON lets through, as \u escapes of JSON:
// DEL, the second range of control characters, and what reorders or hides text.
func escaped(text string) string {
	var b strings.Builder
	from := 0
	for i, r := range text {
		if r < 0x7f || r == utf8.RuneError || diag.Printable(string(r)) == string(r) {
			continue
		}
		b.WriteString(text[from:i])
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
		from = i + utf8.RuneLen(r)
	}
	return b.String() + text[from:]
}

// Rows prints a table. The first row is the header, in upper case by convention; cells
// are aligned, the last column is not padded. Empty tables print nothing.
func (u *UI) Rows(rows [][]string) {
	if len(rows) > 1 {
		u.Table(tableOf(rows))
	}
}

// ShowRows is Rows for what stands beside a question, not in the result.
func (u *UI) ShowRows(rows [][]string) {
	if len(rows) > 1 {
		u.Show(u.errLook().Table(tableOf(rows)))
	}
}

func tableOf(rows [][]string) screen.Table {
	t := screen.Table{}
	for i, head := range rows[0] {
		c := screen.Column{Head: head}
		for _, row := range rows[1:] {
			if i >= len(row) {
				continue
			}
			switch {
			case i == 0:
				c.Kind = screen.Name
			case strings.Contains(row[i], " "):
				c.Kind = screen.Text
			case strings.Contains(row[i], "/") && c.Kind != screen.Text:
				c.Kind = screen.Path
			}
		}
		t.Columns = append(t.Columns, c)
	}
	for _, row := range rows[1:] {
		var cells []screen.Span
		for _, cell := range row {
			cells = append(cells, screen.T(cell))
		}
		t.Rows = append(t.Rows, cells)
	}
	return t
}

// An ErrorResult is what --json prints in place of a result.
type ErrorResult struct {
	Error jsonError `json:"error"`
}

type jsonError struct {
	Code       string    `json:"code"`
	Message    string    `json:"message"`
	Hints      []string  `json:"hints"`
	Where      jsonPlace `json:"where"`
	Retryable  bool      `json:"retryable"`
	Candidates []string  `json:"candidates"`
}

// A jsonPlace is a diag.Position with all its fields, also those that are not known.
type jsonPlace struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// ErrorOf is err as --json shows it.
func (u *UI) ErrorOf(err error) ErrorResult {
	e := asError(err)
	hints := []string{}
	for _, h := range e.Hints { // a line may hold two commands
		hints = append(hints, strings.Split(u.Typed.Retyped(h), "    ")...)
	}
	return ErrorResult{jsonError{
		Code: e.Code, Message: err.Error(), Where: jsonPlace(e.Where), Retryable: e.Retryable,
		Hints: hints, Candidates: append([]string{}, e.Candidates...),
	}}
}

func asError(err error) *diag.Error {
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return e
	}
	return &diag.Error{Code: "failed"}
}

// Error prints err with its hints and candidates.
func (u *UI) Error(err error) {
	e := asError(err)
	if u.JSON {
		u.Result(u.ErrorOf(err))
		return
	}
	for _, line := range strings.Split(err.Error(), "\n") {
		u.tell("", "", diag.Printable(line))
	}
	var detailed interface{ Detail() string }
	if u.Verbose && errors.As(err, &detailed) {
		u.tell("", "", "  "+diag.Printable(detailed.Detail()))
	}
	for _, c := range e.Candidates {
		u.tell("", "", "  "+diag.Printable(c))
	}
	for _, h := range e.Hints {
		h = u.Typed.Retyped(h)
		u.tell("hint:", dim, diag.Printable(h))
	}
}

const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (u *UI) paint(code, s string) string {
	if !u.Color {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (u *UI) paintErr(code, s string) string {
	if !u.ErrColor || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Bold emphasises s where colours are allowed. S is printable text of our own.
func (u *UI) Bold(s string) string { return u.paint(bold, s) }

// Painted is text that was made printable and may hold colours of ours.
type Painted string

func clean(args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case Painted:
			out[i] = string(v)
		case string:
			out[i] = diag.Printable(v)
		case error:
			out[i] = diag.Printable(v.Error())
		case []string:
			out[i] = diag.Printable(strings.Join(v, ", "))
		case fmt.Stringer:
			out[i] = diag.Printable(v.String())
		case []byte:
			out[i] = diag.Printable(string(v))
		default:
			out[i] = plain(a)
		}
	}
	return out
}

// plain makes text of another type printable: a bundle.Digest, a list of names, a struct.
func plain(a any) any {
	switch v := reflect.ValueOf(a); v.Kind() {
	case reflect.String:
		return diag.Printable(v.String())
	case reflect.Slice, reflect.Array, reflect.Map, reflect.Struct, reflect.Pointer:
		return diag.Printable(fmt.Sprint(a))
	}
	return a
}
