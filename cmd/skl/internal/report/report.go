// Package report is what commands say, as a value: the result for programs, and for people lines, tables, remarks and what to type
// next, in order. A report is put together without knowing who reads it; Write renders it for one of three: --json, a pipe, a terminal.
//
// The words for the result of a use case are in one file here where a terminal shows it otherwise than a pipe does:
// what draw lays out, and beside it the lines that are never cut.
package report

import (
	"errors"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

// A Report is what one command says.
type Report struct {
	Result any         // what --json prints; nil leaves it to End, which is then printed as an error
	Text   func(*Text) // says the same to people, and is not called for --json; nil says nothing
	Beside func(*Text) // remarks for every reader, programs too, before all else; nil: none
	End    error       // how the command ends after that; nil: well
	// Streamed is a result on one line, for a program that goes on reading.
	Streamed bool
	// Candidates are what Text lists and the error of --json holds, where there is no Result.
	Candidates []string
}

// Verdict is the report of what either holds or ends with end.
func Verdict(result any, holds bool, end error, text func(*Text)) Report {
	r := Report{Result: result, Text: text}
	if !holds {
		r.End = end
	}
	return r
}

// A Text is what people read, in order.
type Text struct {
	Parts []Part
	All   bool // the reader wants what is else summed up (--verbose)
}

// A Kind says where a part goes, and when.
type Kind uint8

const (
	Line   Kind = iota // a line of the result
	Rows               // a table of the result, its first row the heads
	Raw                // bytes of the result, as they are
	Folded             // the same, for people: a terminal folds its long lines
	Drawn              // what draw laid out for a terminal
	Either             // Screen on a terminal, Plain elsewhere
	Aside              // beside the result: Draw where errors go to a terminal, Plain elsewhere
	Help               // a page of help, Raw
	Note               // beside the result, unless --quiet
	Detail             // the same, with --verbose
	Hint               // what to type next, unless --quiet
	Warn               // beside the result, always
)

// A Part is one thing that a report says. Kind tells which of the other fields it has.
type Part struct {
	Kind   Kind
	Format string // of Line and the remarks. The format is ours; Args are made printable where they are shown.
	Args   []any  // a screen.Sign is shown as its mark, a screen.Span in its style
	Rows   [][]string
	Raw    []byte
	Draw   func(screen.Look) string
	Paged  bool // what is higher than the terminal goes through the pager
	Screen func(*Text)
	Plain  func(*Text)
}

// Shown marks an error that a result has told, so that only its class is left to report.
type Shown struct{ Err error }

// Unmet is the error of a check that its result told: exit 3.
//
//go:noinline
func Unmet(code string) error { return Shown{diag.New(diag.Unmet, code, "a check did not hold")} }

// Refused is the same for a refusal: exit 4.
func Refused(code string) error { return Shown{diag.New(diag.Refused, code, "refused")} }

func (s Shown) Error() string { return s.Err.Error() }
func (s Shown) Unwrap() error { return s.Err }

// Print adds a line of the result.
func (t *Text) Print(format string, args ...any) { t.say(Line, format, args) }

// Note adds a remark beside the result.
func (t *Text) Note(format string, args ...any) { t.say(Note, format, args) }

// Detail adds a remark for --verbose.
func (t *Text) Detail(format string, args ...any) { t.say(Detail, format, args) }

// Hint adds what to type next.
func (t *Text) Hint(format string, args ...any) { t.say(Hint, format, args) }

// Warn adds a remark that --quiet does not silence.
func (t *Text) Warn(format string, args ...any) { t.say(Warn, format, args) }

func (t *Text) say(kind Kind, format string, args []any) {
	t.Parts = append(t.Parts, Part{Kind: kind, Format: format, Args: args})
}

// Rows adds a table. The first row is the heads; a table without another says nothing.
func (t *Text) Rows(rows [][]string) { t.Parts = append(t.Parts, Part{Kind: Rows, Rows: rows}) }

// Raw adds bytes, which only a terminal shows otherwise than they are.
func (t *Text) Raw(data []byte) { t.Parts = append(t.Parts, Part{Kind: Raw, Raw: data}) }

// Folded is Raw for text that people read, such as a file.
func (t *Text) Folded(data []byte) { t.Parts = append(t.Parts, Part{Kind: Folded, Raw: data}) }

// Draw adds what draw laid out, in Either.
func (t *Text) Draw(draw func(screen.Look) string) {
	t.Parts = append(t.Parts, Part{Kind: Drawn, Draw: draw})
}

// Either adds what a terminal shows, and what stands there elsewhere.
func (t *Text) Either(screen, plain func(*Text)) {
	t.Parts = append(t.Parts, Part{Kind: Either, Screen: screen, Plain: plain})
}

// Page is Either with one thing drawn.
func (t *Text) Page(draw func(screen.Look) string, plain func(*Text)) {
	t.Either(func(t *Text) { t.Draw(draw) }, plain)
}

// Paged is Page for what may be higher than a terminal.
func (t *Text) Paged(draw func(screen.Look) string, plain func(*Text)) {
	t.Either(func(t *Text) { t.Parts = append(t.Parts, Part{Kind: Drawn, Draw: draw, Paged: true}) }, plain)
}

// Aside adds a remark that a terminal shows laid out. A nil plain says nothing elsewhere.
func (t *Text) Aside(draw func(screen.Look) string, plain func(*Text)) {
	t.Parts = append(t.Parts, Part{Kind: Aside, Draw: draw, Plain: plain})
}

// Help adds a page of help.
func (t *Text) Help(text string) { t.Parts = append(t.Parts, Part{Kind: Help, Raw: []byte(text)}) }

// Write renders the report for the reader that u writes to, and returns how the command ends.
func (r Report) Write(u *ui.UI) error {
	say(u, r.Beside)
	if u.JSON {
		return r.JSON(u)
	}
	say(u, r.Text)
	return r.End
}

// JSON is Write for a program.
func (r Report) JSON(u *ui.UI) error {
	if r.Result == nil {
		if e, ok := errors.AsType[*diag.Error](r.End); ok && r.Candidates != nil {
			e.Candidates = r.Candidates
		}
		return r.End
	}
	show := u.Result
	if r.Streamed {
		show = u.Stream
	}
	if err := show(r.Result); err != nil || r.End == nil {
		return err
	}
	return Shown{r.End}
}

// say writes a text, if there is any.
func say(u *ui.UI, text func(*Text)) {
	if text == nil {
		return
	}
	t := Text{All: u.Verbose}
	text(&t)
	t.write(u)
}

func (t *Text) write(u *ui.UI) {
	for _, p := range t.Parts {
		switch p.Kind {
		case Line:
			u.Print(p.Format, marked(u.Look(), p.Args)...)
		case Note:
			u.Note(p.Format, p.Args...)
		case Detail:
			u.Detail(p.Format, p.Args...)
		case Hint:
			u.Hint(p.Format, p.Args...)
		case Warn:
			u.Warn(p.Format, p.Args...)
		case Rows:
			u.Rows(p.Rows)
		case Raw:
			u.Raw(p.Raw)
		case Folded:
			u.Folded(p.Raw)
		case Either:
			if u.Screen {
				say(u, p.Screen)
			} else {
				say(u, p.Plain)
			}
		case Aside:
			if u.ErrScreen {
				u.Show(p.Draw(u.ErrLook()))
			} else {
				say(u, p.Plain)
			}
		case Help:
			u.Help(string(p.Raw))
		case Drawn:
			if page := ui.Painted(p.Draw(u.Look())); p.Paged {
				u.Paged(page)
			} else {
				u.Page(page)
			}
		}
	}
}

// marked are args with the signs and styles that the look can show.
func marked(k screen.Look, args []any) []any {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case screen.Sign:
			out[i] = ui.Painted(k.Paint(k.Mark(v)))
		case screen.Span:
			out[i] = ui.Painted(k.Paint(v))
		default:
			out[i] = a
		}
	}
	return out
}
