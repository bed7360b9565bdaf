package tomledit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/rootpath"
	"github.com/skl-project/skl/spec/spell"
)

// A Reader makes values of the fields of one file, for the packages that know what the file means. It keeps the first
// error; what is read after that is not used. It is not safe for concurrent use.
type Reader struct {
	File     string // as errors name it
	Code     string // of errors
	Doc      *Doc
	Warnings []diag.Finding // keys that are not known, each with the rule unknown_key

	err *diag.Error
}

// Open parses src, the content of file, of which at most max bytes are read. Its error has class Failed and code.
func Open(src []byte, file, code string, max int) (*Reader, *diag.Error) {
	if len(src) > max {
		return nil, diag.New(diag.Failed, code, "the file has more than %d bytes", max).At(diag.Position{File: file})
	}
	if why := diag.Encoding(src); why != "" {
		return nil, diag.New(diag.Failed, code, "the file %s", why).At(diag.Position{File: file, Line: 1, Column: 1}).Hint(diag.EncodingHint)
	}
	doc, err := Parse(src)
	if err != nil {
		where := diag.Position{File: file}
		if e, ok := errors.AsType[*Error](err); ok {
			where.Line, where.Column = e.Line, e.Column
			err = errors.New(e.Message)
		}
		return nil, diag.New(diag.Failed, code, "%w", err).At(where)
	}
	return NewReader(doc, file, code), nil
}

// NewReader returns a Reader of doc.
func NewReader(doc *Doc, file, code string) *Reader { return &Reader{File: file, Code: code, Doc: doc} }

// Err is the first error, or nil.
func (r *Reader) Err() *diag.Error { return r.err }

// Fail records an error at v, or at the start of the file if v is nil, and returns it: for hints, or another code.
func (r *Reader) Fail(v *Value, format string, args ...any) *diag.Error {
	where := diag.Position{File: r.File, Line: 1, Column: 1}
	if v != nil {
		where.Line, where.Column = r.Doc.Position(v.Offset)
	}
	e := diag.New(diag.Failed, r.Code, format, args...).At(where)
	if r.err == nil {
		r.err = e
	}
	return e
}

// Unknown warns of a key, or a table, that has no meaning; known are those that stand where it does.
func (r *Reader) Unknown(f Field, known ...string) {
	line, column := r.Doc.Position(f.Value.Offset)
	what := "key " + QuoteKey(f.Key)
	if f.Value.Kind == Table {
		what = "table [" + QuoteKey(f.Key) + "]"
	}
	message := what + " is not known and has no effect"
	if near := spell.Nearest(f.Key, known, 1); len(near) > 0 {
		message += "; did you mean " + near[0] + "?"
	}
	r.Warnings = append(r.Warnings, diag.Finding{File: r.File, Line: line, Column: column,
		Rule: "unknown_key", Severity: diag.SeverityWarning, Message: message})
}

// Lacks is Fail for the table v, from which something is missing. A key of it that is not known may be what is missing, misspelt, so
// the error is then about that key, at its place.
func (r *Reader) Lacks(v *Value, format string, args ...any) *diag.Error {
	for _, f := range v.Fields {
		line, column := r.Doc.Position(f.Value.Offset)
		for _, w := range r.Warnings {
			if w.Line == line && w.Column == column {
				return r.Fail(f.Value, "%s: %s", strings.Replace(w.Message, " and has no effect", "", 1), fmt.Sprintf(format, args...))
			}
		}
	}
	return r.Fail(v, format, args...)
}

// Table calls each for the fields of f, which is a table.
func (r *Reader) Table(f Field, each func(Field)) {
	if f.Value.Kind != Table {
		r.Fail(f.Value, "%s is %s, not a table", f.Key, f.Value.Kind)
	}
	for _, f := range f.Value.Fields {
		each(f)
	}
}

// Text is the string of f: one line of visible text.
func (r *Reader) Text(f Field) string {
	switch {
	case f.Value.Kind != String:
		r.Fail(f.Value, "%s is %s, not a string", f.Key, f.Value.Kind)
	case !Visible(f.Value.Text):
		r.Fail(f.Value, "%s holds control or invisible characters", f.Key)
	}
	return f.Value.Text
}

// Formed is the string of f if ok holds for it. An empty one is what a missing field is.
func (r *Reader) Formed(f Field, ok func(string) bool) string {
	switch {
	case f.Value.Kind != String:
		r.Fail(f.Value, "%s is %s, not a string", f.Key, f.Value.Kind)
	case f.Value.Text != "" && !ok(f.Value.Text):
		r.Fail(f.Value, "%s %q does not have the form of one", f.Key, f.Value.Text)
	}
	return f.Value.Text
}

// Day is the day of f, which is written as a TOML date: its first moment in UTC, and its text.
func (r *Reader) Day(f Field) (t time.Time, text string) {
	t, err := time.Parse(time.DateOnly, f.Value.Text)
	if err != nil || f.Value.Kind != Other {
		r.Fail(f.Value, "%s is not a day: write it without quotes, as 2027-01-31", f.Key)
	}
	return t, f.Value.Text
}

// Truth is the boolean of f.
func (r *Reader) Truth(f Field) bool {
	if f.Value.Kind != Bool {
		r.Fail(f.Value, "%s is %s, not true or false", f.Key, f.Value.Kind)
	}
	return f.Value.Text == "true"
}

// Number is the integer of f, 0 or more.
func (r *Reader) Number(f Field) int64 {
	n, ok := f.Value.Int()
	if !ok || n < 0 {
		r.Fail(f.Value, "%s is not a whole number from 0 on", f.Key)
	}
	return n
}

// Texts is the list of strings of f, each of visible text.
func (r *Reader) Texts(f Field) []string {
	list, ok := f.Value.Strings()
	if !ok {
		r.Fail(f.Value, "%s is not a list of strings", f.Key)
	}
	for _, s := range list {
		if !Visible(s) {
			r.Fail(f.Value, "%s holds %q, which is not visible text", f.Key, s)
		}
	}
	return slices.Clone(list)
}

// Root is the path of a root that f holds: see [rootpath.Check].
func (r *Reader) Root(f Field) string {
	s := r.Text(f)
	if err := rootpath.Check(s); err != nil {
		r.Fail(f.Value, "%s %q cannot hold skills: %w", f.Key, s, err)
	}
	return s
}

// Search reads a field of [roots]: which roots are searched before or after those of a scope. A list that is there is not nil.
func (r *Reader) Search(f Field, before, after *[]string) {
	into := before
	switch f.Key {
	case "before":
	case "after":
		into = after
	default:
		r.Unknown(f, "before", "after")
		return
	}
	list, ok := f.Value.Strings()
	if !ok {
		r.Fail(f.Value, "%s is not a list of strings", f.Key)
		return
	}
	for i, s := range list {
		if err := rootpath.Check(s); err != nil {
			r.Fail(f.Value.Items[i], "%q cannot hold skills: %w", s, err)
		}
	}
	*into = append([]string{}, list...)
}

// Visible reports whether s is one line of text without control or invisible characters.
func Visible(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return diag.Printable(s) == s
		}
	}
	return true
}

// Directory reports whether s is safe as the name of a directory of a root. Stricter rules are the skill
// specification's; a lock may name what an older one allowed.
func Directory(s string) bool {
	return s != "" && len(s) <= 255 && s[0] != '.' && s[0] != '-' && !strings.ContainsAny(s, `/\:`) && Visible(s)
}
