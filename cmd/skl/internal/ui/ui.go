// Package ui is the only place that prints. It turns results, errors and
// progress into text for people or JSON for programs.
//
// Results go to Out, everything else to Err, each line of it starting with
// "skl: ". Whatever came from outside passes diag.Printable here, so no name or
// message can move the cursor or change a colour.
package ui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/skl-project/skl/spec/diag"
)

// A UI prints for one command. Its fields are set before first use; its methods may
// be called concurrently.
type UI struct {
	In       io.Reader
	Out, Err io.Writer
	JSON     bool // results are one JSON value on Out
	Quiet    bool // no notes and no progress
	Verbose  bool // details that are otherwise left out
	Color    bool // Out and Err take colours
	Terminal bool // In and Err are a terminal: questions can be asked, progress shown
	Screen   bool // Out is a terminal
	Yes      bool // questions of choice are answered with their default
	// Interrupt ends waiting for an answer when it is closed. Nil never does.
	Interrupt <-chan struct{}

	mu       sync.Mutex // guards progress and lines
	progress string     // what the progress line shows, "" if there is none
	drawn    time.Time
	lines    *bufio.Reader
}

// Print writes a line of a result. Args are made printable, the format is not.
func (u *UI) Print(format string, args ...any) {
	u.clear()
	fmt.Fprintf(u.Out, format+"\n", clean(args)...)
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
	io.WriteString(u.Out, string(text))
}

// Width is the number of columns of the terminal that Out is, 80 if it is none.
func (u *UI) Width() int {
	if f, ok := u.Out.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return 80
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
	u.clear()
	fmt.Fprintf(u.Err, "skl: "+format+"\n", clean(args)...)
}

// Detail is a Note for --verbose.
func (u *UI) Detail(format string, args ...any) {
	if u.Verbose {
		u.Note(format, args...)
	}
}

// Hint tells what to type next.
func (u *UI) Hint(format string, args ...any) {
	u.Note("hint: "+format, diag.ForShell(format, args)...)
}

// Warn is a Note that --quiet does not silence.
func (u *UI) Warn(format string, args ...any) {
	u.clear()
	fmt.Fprintf(u.Err, "skl: "+u.paint(yellow, "warning:")+" "+format+"\n", clean(args)...)
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

// escaped writes what a terminal would obey, and JSON lets through, as \u escapes:
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
	if len(rows) < 2 {
		return
	}
	u.clear()
	var width []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(width) {
				width = append(width, 0)
			}
			width[i] = max(width[i], utf8.RuneCountInString(diag.Printable(cell)))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			cell = diag.Printable(cell)
			line += cell
			if i < len(row)-1 {
				line += strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	io.WriteString(u.Out, b.String())
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
func ErrorOf(err error) ErrorResult {
	e := asError(err)
	return ErrorResult{jsonError{
		Code: e.Code, Message: err.Error(), Where: jsonPlace(e.Where), Retryable: e.Retryable,
		Hints: append([]string{}, e.Hints...), Candidates: append([]string{}, e.Candidates...),
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
		u.Result(ErrorOf(err))
		return
	}
	u.clear()
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(u.Err, "skl: %s\n", diag.Printable(line))
	}
	var detailed interface{ Detail() string }
	if u.Verbose && errors.As(err, &detailed) {
		fmt.Fprintf(u.Err, "skl:   %s\n", diag.Printable(detailed.Detail()))
	}
	for _, c := range e.Candidates {
		fmt.Fprintf(u.Err, "skl:   %s\n", diag.Printable(c))
	}
	for _, h := range e.Hints {
		fmt.Fprintf(u.Err, "skl: hint: %s\n", diag.Printable(h))
	}
}

// Progress shows one changing line on a terminal, at most ten times a second.
func (u *UI) Progress(e diag.Event) {
	if !u.Terminal || u.Quiet || u.JSON {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if time.Since(u.drawn) < 100*time.Millisecond {
		return
	}
	u.drawn = time.Now()
	line := e.Stage + " " + diag.Printable(e.Name)
	switch {
	case e.Total > 0:
		line += fmt.Sprintf(" %d of %d", e.Done, e.Total)
	case e.Done > 0:
		line += " " + Size(e.Done)
	}
	u.progress = line
	fmt.Fprintf(u.Err, "\r\x1b[K%s", line)
}

// clear takes the progress line away before something else is printed.
func (u *UI) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.progress != "" {
		io.WriteString(u.Err, "\r\x1b[K")
		u.progress = ""
	}
}

const (
	bold   = "1"
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

// Done is the mark in front of something that was carried out.
func (u *UI) Done() string { return u.paint(green, "✓") }

// Bold emphasises s where colours are allowed. S is printable text of our own.
func (u *UI) Bold(s string) string { return u.paint(bold, s) }

// Red and Green paint lines of a diff.
func (u *UI) Red(s string) Painted   { return Painted(u.paint(red, diag.Printable(s))) }
func (u *UI) Green(s string) Painted { return Painted(u.paint(green, diag.Printable(s))) }

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

// Size writes a number of bytes for people: 59 kB, 1.4 MB.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
