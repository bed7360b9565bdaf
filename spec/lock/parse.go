package lock

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
)

// MaxBytes is the largest skl.lock that is read; 5,000 entries need less than 8 MiB.
const MaxBytes = 32 << 20

// Parse reads src, the content of file, which is named in errors.
// Every name, digest, commit and path it returns has the right shape: a name is one
// path element that starts with neither "." nor "-", a path is relative, without "..".
func Parse(src []byte, file string) (*Lock, error) {
	if len(src) > MaxBytes {
		return nil, diag.New(diag.Failed, "lock_corrupt", "the file has more than %d bytes", MaxBytes).At(diag.Position{File: file})
	}
	if line := conflict(src); line > 0 {
		e := diag.New(diag.Failed, "lock_conflict", "the file holds the markers of an unfinished merge")
		return nil, e.At(diag.Position{File: file, Line: line}).Hint("skl lock")
	}
	p := parser{file: file}
	var err error
	if p.doc, err = tomledit.Parse(src); err != nil {
		where := diag.Position{File: file}
		if e, ok := errors.AsType[*tomledit.Error](err); ok {
			where.Line, where.Column = e.Line, e.Column
			err = errors.New(e.Message)
		}
		return nil, hints(diag.New(diag.Failed, "lock_corrupt", "the file is not a lock: %w", err).At(where), file)
	}
	root := p.doc.Root
	if n, ok := root.Get("version").Int(); !ok {
		p.fail(root.Get("version"), "the file is not a lock: it has no version")
	} else if n != Version {
		p.fail(root.Get("version"), "the lock has version %d; this skl reads version %d", n, Version)
		p.err.Code = "lock_version"
		p.err.Hints = []string{"a newer skl wrote it: update skl"}
	}
	l := &Lock{}
	unknown := fields{}
	for _, f := range root.Fields {
		switch {
		case f.Key == "version" || p.err != nil:
		case f.Key == "skill":
			p.skills(l, f.Value)
		default:
			unknown.add(f)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	l.unknown = unknown.String()
	return l, nil
}

// conflict returns the line of the first merge marker, 0 if there is none.
func conflict(src []byte) int {
	line := 0
	if !bytes.Contains(src, []byte("<<<<<<< ")) && !bytes.Contains(src, []byte(">>>>>>> ")) {
		return 0
	}
	for text := range bytes.Lines(src) {
		line++
		if bytes.HasPrefix(text, []byte("<<<<<<< ")) || bytes.HasPrefix(text, []byte(">>>>>>> ")) {
			return line
		}
	}
	return 0
}

func hints(e *diag.Error, file string) *diag.Error {
	return e.Hint("git checkout -- %s", file).Hint("or remove it and choose every release anew: skl lock")
}

// A parser keeps the first error; what it reads after that is not used.
type parser struct {
	doc  *tomledit.Doc
	file string
	err  *diag.Error
}

func (p *parser) fail(at *tomledit.Value, format string, args ...any) {
	if p.err != nil {
		return
	}
	where := diag.Position{File: p.file, Line: 1, Column: 1}
	if at != nil {
		where.Line, where.Column = p.doc.Position(at.Offset)
	}
	p.err = hints(diag.New(diag.Failed, "lock_corrupt", format, args...).At(where), p.file)
}

func (p *parser) skills(l *Lock, list *tomledit.Value) {
	if list.Kind != tomledit.Array {
		p.fail(list, "skill is %s; it is a list of [[skill]] tables", list.Kind)
		return
	}
	l.Skills = make([]Skill, 0, len(list.Items))
	names := make(map[string]bool, len(list.Items))
	for _, item := range list.Items {
		if item.Kind != tomledit.Table {
			p.fail(item, "skill holds %s; it is a list of [[skill]] tables", item.Kind)
			return
		}
		s := p.skill(item)
		if names[s.Name] {
			p.fail(item, "%q is locked twice", s.Name)
		}
		names[s.Name] = true
		l.Skills = append(l.Skills, s)
	}
	slices.SortFunc(l.Skills, func(a, b Skill) int { return strings.Compare(a.Name, b.Name) })
}

func (p *parser) skill(table *tomledit.Value) Skill {
	var s Skill
	unknown := fields{}
	for _, f := range table.Fields {
		v := f.Value
		switch f.Key {
		case "name":
			s.Name = p.checked(v, f.Key, isName)
		case "ref":
			s.Ref = p.str(v, f.Key)
		case "source":
			s.Source = p.str(v, f.Key)
		case "url":
			s.URL = p.checked(v, f.Key, isURL)
		case "path":
			s.Path = p.checked(v, f.Key, isPath)
		case "ref_kind":
			s.RefKind = RefKind(p.str(v, f.Key))
		case "version":
			s.Version = p.str(v, f.Key)
		case "commit":
			s.Commit = pinned(p, v, f.Key, ref.ParseCommit)
		case "manifest":
			s.Manifest = pinned(p, v, f.Key, ref.ParseDigest)
		case "artifact":
			s.Artifact = pinned(p, v, f.Key, ref.ParseDigest)
		case "tree":
			s.Tree = pinned(p, v, f.Key, parseTree)
		case "files":
			s.Files = int(p.number(v, f.Key))
		case "bytes":
			s.Bytes = p.number(v, f.Key)
		case "requires":
			s.Requires = p.list(v, f.Key)
		case "required_by":
			s.RequiredBy = p.list(v, f.Key)
		case "permissions":
			s.Permissions = p.list(v, f.Key)
		case "generated_from":
			s.GeneratedFrom = p.stringMap(v, f.Key)
		case "unsigned":
			s.Unsigned = p.boolean(v, f.Key)
		case "signer":
			s.Signer, s.unknownSigner = p.signer(v)
		case "log":
			s.Log, s.unknownLog = p.log(v)
		default:
			unknown.add(f)
		}
	}
	if s.Name == "" {
		p.fail(table, "a skill has no name")
	}
	s.unknown = unknown.String()
	s.Requires, s.RequiredBy, s.Permissions = set(s.Requires), set(s.RequiredBy), set(s.Permissions)
	return s
}

func (p *parser) signer(table *tomledit.Value) (*Signer, string) {
	var s Signer
	unknown := fields{}
	if table.Kind != tomledit.Table {
		p.fail(table, "signer is %s, not a table", table.Kind)
	}
	for _, f := range table.Fields {
		switch f.Key {
		case "issuer":
			s.Issuer = p.str(f.Value, f.Key)
		case "identity":
			s.Identity = p.str(f.Value, f.Key)
		case "repository":
			s.Repository = p.str(f.Value, f.Key)
		case "ref":
			s.Ref = p.str(f.Value, f.Key)
		case "runner":
			s.Runner = p.str(f.Value, f.Key)
		case "key":
			s.Key = p.str(f.Value, f.Key)
		default:
			unknown.add(f)
		}
	}
	return &s, unknown.String()
}

func (p *parser) log(table *tomledit.Value) (*Log, string) {
	var l Log
	unknown := fields{}
	if table.Kind != tomledit.Table {
		p.fail(table, "log is %s, not a table", table.Kind)
	}
	for _, f := range table.Fields {
		switch f.Key {
		case "origin":
			l.Origin = p.str(f.Value, f.Key)
		case "index":
			l.Index = p.number(f.Value, f.Key)
		case "entry":
			l.Entry = p.str(f.Value, f.Key)
		case "checkpoint":
			l.Checkpoint = p.checked(f.Value, f.Key, isNote)
		case "proof":
			l.Proof = p.list(f.Value, f.Key)
		default:
			unknown.add(f)
		}
	}
	return &l, unknown.String()
}

func (p *parser) str(v *tomledit.Value, key string) string {
	return p.checked(v, key, isVisible)
}

// checked is the string v if ok holds for it; empty strings are what a missing field is.
func (p *parser) checked(v *tomledit.Value, key string, ok func(string) bool) string {
	switch {
	case v.Kind != tomledit.String:
		p.fail(v, "%s is %s, not a string", key, v.Kind)
	case v.Text != "" && !ok(v.Text):
		p.fail(v, "%s %q does not have the form of one", key, v.Text)
	}
	return v.Text
}

// pinned is the pin that v holds, read by parse; an empty string is what a missing field is.
func pinned[T ~string](p *parser, v *tomledit.Value, key string, parse func(string) (T, bool)) (pin T) {
	p.checked(v, key, func(s string) (ok bool) {
		pin, ok = parse(s)
		return ok
	})
	return pin
}

func parseTree(s string) (bundle.Digest, bool) {
	d, err := bundle.ParseDigest(s)
	return d, err == nil
}

func (p *parser) number(v *tomledit.Value, key string) int64 {
	n, ok := v.Int()
	if !ok || n < 0 {
		p.fail(v, "%s is not a whole number from 0 on", key)
	}
	return n
}

func (p *parser) boolean(v *tomledit.Value, key string) bool {
	if v.Kind != tomledit.Bool {
		p.fail(v, "%s is %s, not true or false", key, v.Kind)
	}
	return v.Text == "true"
}

func (p *parser) list(v *tomledit.Value, key string) []string {
	list, ok := v.Strings()
	if !ok {
		p.fail(v, "%s is not a list of strings", key)
	}
	for _, s := range list {
		if !isVisible(s) {
			p.fail(v, "%s holds %q, which is not visible text", key, s)
		}
	}
	return list
}

func (p *parser) stringMap(v *tomledit.Value, key string) map[string]string {
	if v.Kind != tomledit.Table {
		p.fail(v, "%s is %s, not a table", key, v.Kind)
		return nil
	}
	m := make(map[string]string, len(v.Fields))
	for _, f := range v.Fields {
		if f.Value.Kind != tomledit.String {
			p.fail(f.Value, "%s.%s is %s, not a string", key, f.Key, f.Value.Kind)
		}
		m[f.Key] = f.Value.Text
	}
	return m
}

// fields collects what this version does not know, as lines of TOML.
type fields []string

func (u *fields) add(f tomledit.Field) {
	*u = append(*u, tomledit.QuoteKey(f.Key)+" = "+f.Value.Inline()+"\n")
}

// String is the sorted lines.
func (u fields) String() string {
	slices.Sort(u)
	return strings.Join(u, "")
}

// isVisible reports whether s is one line of text without control or invisible characters.
func isVisible(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return diag.Printable(s) == s
		}
	}
	return true
}

// isNote reports whether s is lines of visible text, as a signed note is.
func isNote(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if !isVisible(line) {
			return false
		}
	}
	return true
}

// isName is what is safe as a directory of a root. Stricter rules are the
// skill specification's; a lock may name what an older one allowed.
func isName(s string) bool {
	return len(s) <= 255 && s[0] != '.' && s[0] != '-' && !strings.ContainsAny(s, `/\:`) && isVisible(s)
}

func isURL(s string) bool { return s[0] != '-' && isVisible(s) }

func isPath(s string) bool {
	for e := range strings.SplitSeq(s, "/") {
		if e == "" || e == "." || e == ".." || e[0] == '-' {
			return false
		}
	}
	return !strings.ContainsAny(s, `\:`) && isVisible(s)
}
