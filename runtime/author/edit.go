package author

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// Edits are a model's answer to a wish: places by their anchors and the text for them, never a whole file that is there.
type Edits struct {
	Edits     []Splice  `json:"edits"`
	NewFiles  []NewText `json:"new_files"`
	Deleted   []Removal `json:"deleted_files"`
	Questions []string  `json:"questions"`
}

// A Splice changes lines of one file.
type Splice struct {
	File string `json:"file"`
	How  string `json:"how"`  // replace, delete, before, after
	From string `json:"from"` // anchor of the first line
	To   string `json:"to"`   // of the last; "" is From
	Text string `json:"text"`
	Why  string `json:"why"`
}

// A NewText is a file that is not there.
type NewText struct {
	Path string `json:"path"`
	Text string `json:"text"`
	Why  string `json:"why"`
}

// A Removal is a file that goes.
type Removal struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// A Wrong is why an answer is none, for the model that gave it.
type Wrong struct{ Why string }

func (w *Wrong) Error() string { return w.Why }

func wrong(format string, args ...any) error {
	return &Wrong{diag.Brief(diag.Printable(fmt.Sprintf(format, args...)), 1000)}
}

// ParseEdits reads an answer. Its error is a [*Wrong].
func ParseEdits(answer []byte) (*Edits, error) { return parse[Edits](answer) }

// parse reads an answer that may have no other keys.
func parse[T any](answer []byte) (*T, error) {
	var out T
	d := json.NewDecoder(bytes.NewReader(answer))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return nil, wrong("the answer is not the object that was asked for: %v", err)
	}
	return &out, nil
}

// Asks is the error of an answer that holds nothing but questions.
type Asks struct{ Questions []string }

func (a *Asks) Error() string { return strings.Join(a.Questions, "\n") }

// Empty reports whether nothing would change.
func (e *Edits) Empty() bool { return len(e.Edits)+len(e.NewFiles)+len(e.Deleted) == 0 }

// Apply makes the edits in a draft. Anchors are those of the draft as it is; everything outside of the named lines keeps its bytes. Its
// error is a [*Wrong] where the answer is at fault.
func (e *Edits) Apply(d *Draft) error {
	if e.Empty() && len(e.Questions) > 0 {
		return &Asks{e.Questions}
	}
	if e.Empty() {
		return wrong("the answer changes nothing; if the wish is not clear, say so in questions")
	}
	var files []string
	byFile := map[string][]Splice{}
	for _, s := range e.Edits {
		if byFile[s.File] == nil {
			files = append(files, s.File)
		}
		byFile[s.File] = append(byFile[s.File], s)
	}
	for _, file := range files {
		was, err := d.now(file)
		if err != nil {
			return asWrong(err)
		}
		if was == nil {
			return wrong("there is no file %s; a new one belongs into new_files", file)
		}
		now, why, err := splice(file, string(was), byFile[file])
		if err != nil {
			return err
		}
		if err := d.putText(file, now, why); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, f := range e.NewFiles {
		if seen[f.Path] {
			return wrong("there are two new files %s", f.Path)
		}
		seen[f.Path] = true
		if was, err := d.now(f.Path); err != nil || was != nil {
			if err == nil {
				err = wrong("%s is there; change its lines", f.Path)
			}
			return asWrong(err)
		}
		if err := d.putText(f.Path, ended(f.Text), f.Why); err != nil {
			return err
		}
	}
	for _, f := range e.Deleted {
		if byFile[f.Path] != nil || seen[f.Path] {
			return wrong("%s is both changed and deleted, or made", f.Path)
		}
		if err := d.Remove(f.Path, f.Why); err != nil {
			return asWrong(err)
		}
	}
	return nil
}

// asWrong is a refusal of a draft as the fault of an answer; other errors stay.
func asWrong(err error) error {
	if diag.ClassOf(err) == diag.Refused {
		return wrong("%v", err)
	}
	return err
}

// putText is Put for what a model wrote.
func (d *Draft) putText(name, text, why string) error {
	if strings.ContainsRune(text, 0) {
		return wrong("%s would be no text: it has a NUL", diag.Printable(name))
	}
	if err := d.Put(name, []byte(text), why); err != nil {
		return asWrong(err)
	}
	return nil
}

// ended is a text with a line end at its end.
func ended(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		s += "\n"
	}
	return s
}

// A span of lines, from the first up to the one behind the last, that gets other text.
type span struct {
	from, to int
	text     []string
}

// splice makes the changes of one file.
func splice(file, was string, list []Splice) (now, why string, err error) {
	t := split(was)
	var spans []span
	var reasons []string
	for _, s := range list {
		x, err := t.span(file, s)
		if err != nil {
			return "", "", err
		}
		spans = append(spans, x)
		if s.Why != "" && !slices.Contains(reasons, s.Why) {
			reasons = append(reasons, s.Why)
		}
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, x := range spans {
		if x.from < at {
			return "", "", wrong("two edits of %s overlap at line %d", file, x.from+1)
		}
		t.copy(&b, at, x.from)
		if b.Len() > 0 && len(x.text) > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteString(t.eol) // behind a last line without an end
		}
		for i, line := range x.text {
			b.WriteString(line)
			if last := i == len(x.text)-1 && x.to == len(t.lines); !last || x.to == 0 || t.ends[x.to-1] != "" {
				b.WriteString(t.eol)
			}
		}
		at = x.to
	}
	t.copy(&b, at, len(t.lines))
	return b.String(), diag.Brief(diag.Printable(strings.Join(reasons, "; ")), 500), nil
}

// copy writes lines as they are.
func (t text) copy(b *strings.Builder, from, to int) {
	for i := from; i < to; i++ {
		b.WriteString(t.lines[i] + t.ends[i])
	}
}

// span finds the lines that a splice means.
func (t text) span(file string, s Splice) (span, error) {
	first, err := t.line(file, s.From)
	if err != nil {
		return span{}, err
	}
	last := first
	if s.To != "" && s.To != s.From {
		if last, err = t.line(file, s.To); err != nil {
			return span{}, err
		}
	}
	if last < first {
		return span{}, wrong("%s: %s comes before %s", file, s.To, s.From)
	}
	var lines []string
	if s.Text != "" || s.How == "before" || s.How == "after" {
		lines = strings.Split(strings.TrimSuffix(strings.ReplaceAll(s.Text, "\r\n", "\n"), "\n"), "\n")
	}
	switch s.How {
	case "replace":
		return span{first, last + 1, lines}, nil
	case "delete":
		if s.Text != "" {
			return span{}, wrong("%s: an edit that deletes has a text; it would replace then", file)
		}
		return span{first, last + 1, nil}, nil
	case "before":
		return span{first, first, lines}, nil
	case "after":
		return span{last + 1, last + 1, lines}, nil
	}
	return span{}, wrong("%s: %q is not replace, delete, before or after", file, s.How)
}

// line is the index of the line that an anchor names.
func (t text) line(file, at string) (int, error) {
	number, _, _ := strings.Cut(at, ":")
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || n < 1 || n > len(t.lines):
		return 0, wrong("%s has no line %q", file, at)
	case anchor(n, t.lines[n-1]) != at:
		return 0, wrong("line %d of %s is %s, not %s", n, file, anchor(n, t.lines[n-1]), at)
	}
	return n - 1, nil
}
