// Package diag holds what skl says about problems and progress, as data:
// errors with a code and a class, findings with a place, hints apart from
// the sentence they belong to, and events of long work.
//
// It prints nothing. cmd/skl/internal/ui turns these values into text,
// JSON or SARIF; libraries only make them.
package diag

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
)

// Class says how a program should react to an error. It decides the exit
// status of the command (cli.md, table of exits).
type Class int

const (
	Failed     Class = 1 // a source says no, network, disk, bug
	Misuse     Class = 2 // unknown command, flag or name, ambiguous ref; nothing was changed
	Unmet      Class = 3 // a check did not hold: stale lock, drift, findings
	Refused    Class = 4 // policy, signature, digest, permission; nothing was changed
	NeedsInput Class = 5 // a question nobody can be asked
)

// Position is a place in a file. Line and Column count from 1, columns in
// bytes; 0 means unknown.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String is "file", "file:3" or "file:3:7", and empty for the zero Position.
func (p Position) String() string {
	switch {
	case p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// An Error is one problem: a sentence that names the thing and the place, and
// apart from it what a program or a reader needs to go on. The sentence is
// lower case without a final period, and holds no hint.
type Error struct {
	Class      Class
	Code       string // stable, lower_snake or a finding's rule id; listed by "skl help errors"
	Message    string
	Hints      []string // each a command to type or a question
	Where      Position
	Candidates []string // names that could have been meant, best first
	Retryable  bool     // the same call may succeed later
	Err        error    // cause, may be nil; not part of the sentence
}

// New returns an Error whose sentence is built from format and args.
// A %w verb keeps its operand as the cause.
func New(class Class, code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Class: class, Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Hint adds a hint and returns e. A hint is a command to type, so operands are quoted for a shell
// where it would take a part of them for more than a word: see [ForShell].
func (e *Error) Hint(format string, args ...any) *Error {
	e.Hints = append(e.Hints, fmt.Sprintf(format, ForShell(format, args)...))
	return e
}

// commands are the programs that hints name.
var commands = []string{"skl", "git", "npm", "docker", "chmod", "chown", "rm", "mv", "export"}

// special are the characters by which a text runs something, or goes on as another command.
const special = "$`;&|<>\\\"\n\r"

// ForShell returns args with each text that could run something, or go on as another
// command, in single quotes, if format is a command to type. Names and paths come from bundles and
// clones. The format "%s" alone stands for a whole hint, which has its quotes already.
func ForShell(format string, args []any) []any {
	if !slices.ContainsFunc(commands, func(c string) bool { return strings.Contains(format, c+" ") }) {
		return args
	}
	out := slices.Clone(args)
	for i, a := range out {
		var text string
		switch a := a.(type) {
		case string:
			text = a
		case fmt.Stringer:
			text = a.String()
		}
		if strings.ContainsAny(text, special) && !quoted(text) {
			out[i] = "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
		}
	}
	return out
}

// quoted reports whether all of s that means something to a shell is in single quotes, or is a quote behind a backslash, as [Quote] writes them.
func quoted(s string) bool {
	for s != "" {
		i := strings.IndexAny(s, special+"'")
		switch {
		case i < 0:
			return true
		case strings.HasPrefix(s[i:], `\'`):
			s = s[i+2:]
		case s[i] == '\'':
			_, rest, closed := strings.Cut(s[i+1:], "'")
			if !closed {
				return false
			}
			s = rest
		default:
			return false
		}
	}
	return true
}

// Own returns an Error with the sentence of err that shares nothing with it, so that it can be changed: errors of
// others cannot, they may be kept or told more than once. It is a copy of err, or of the first Error in its chain. ok is
// false if there is none.
func Own(err error) (e *Error, ok bool) {
	first, ok := errors.AsType[*Error](err)
	if !ok {
		return nil, false
	}
	own := *first
	own.Hints, own.Candidates = slices.Clone(first.Hints), slices.Clone(first.Candidates)
	if err != error(first) {
		own.Message, own.Err, own.Where = err.Error(), err, Position{}
	}
	return &own, true
}

// Prefixed returns err with more before its sentence, as "prefix: sentence", and all else that it says. An err without an Error in
// its chain, such as nil, is returned as it is.
func Prefixed(err error, prefix string) error {
	e, ok := Own(err)
	if !ok {
		return err
	}
	e.Message = prefix + ": " + e.Message
	return e
}

// Located returns err with the place p, unless it says its place itself. An err without an Error in its chain, such as nil, is
// returned as it is.
func Located(err error, p Position) error {
	if e, ok := errors.AsType[*Error](err); !ok || e.Where != (Position{}) {
		return err
	}
	e, _ := Own(err)
	return e.At(p)
}

// At sets the place and returns e.
func (e *Error) At(p Position) *Error { e.Where = p; return e }

// Meant sets the candidates and returns e.
func (e *Error) Meant(names ...string) *Error { e.Candidates = names; return e }

// Error is the sentence, preceded by the place when there is one.
func (e *Error) Error() string {
	if p := e.Where.String(); p != "" {
		return p + ": " + e.Message
	}
	return e.Message
}

// LogValue is the sentence, and the cause where the sentence does not tell it: a log is for those who run the program.
func (e *Error) LogValue() slog.Value {
	text := e.Error()
	if e.Err != nil && !strings.Contains(text, e.Err.Error()) {
		text += ": " + e.Err.Error()
	}
	return slog.StringValue(text)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is compares codes, so that a code is an error's identity also across a wire.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Message == ""
}

// Code returns a target for [errors.Is] that matches every Error with code.
//
//go:noinline
func Code(code string) error { return &Error{Code: code} }

// ClassOf returns the class of err: that of the first Error in its chain,
// else Failed. It is 0 for nil.
func ClassOf(err error) Class {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Class
	}
	return Failed
}

// An Event is one step of long work, for a progress display.
type Event struct {
	Stage string // a verb: "resolve", "fetch", "verify", "install"
	Name  string // the thing worked on: a skill, a repository
	Done  int64  // bytes or items so far
	Total int64  // 0 means unknown
	Of    int    // of how many things like it this is one; 0 if it is alone, or a part of another's work
	Over  bool   // the thing is done; meant where Done and Total do not say it
}

// Progress receives events, possibly from several goroutines at once.
// A nil Progress drops them.
type Progress func(Event)

// Send calls p unless it is nil.
func (p Progress) Send(e Event) {
	if p != nil {
		p(e)
	}
}
