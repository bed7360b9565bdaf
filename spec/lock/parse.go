package lock

import (
	"bytes"
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/conflict"
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
	if line := conflict.Line(src); line > 0 {
		e := diag.New(diag.Failed, "lock_conflict", "the file holds the markers of an unfinished merge")
		return nil, e.At(diag.Position{File: file, Line: line}).Hint("skl lock")
	}
	r, err := tomledit.Open(src, file, "lock_corrupt", MaxBytes)
	if err != nil {
		if err.Where.Line > 0 && diag.Encoding(src) == "" {
			err.Message = "the file is not a lock: " + err.Message
		}
		return nil, hints(err, file)
	}
	p := parser{r, src}
	root := p.Doc.Root
	if n, ok := root.Get("version").Int(); !ok {
		p.Fail(root.Get("version"), "the file is not a lock: it has no version")
	} else if n != Version {
		e := p.Fail(root.Get("version"), "the lock has version %d; this skl reads version %d", n, Version).Hint("a newer skl wrote it: update skl")
		e.Code = "lock_version"
		return nil, e
	}
	l := &Lock{}
	unknown := fields{}
	for _, f := range root.Fields {
		switch {
		case f.Key == "version" || p.Err() != nil:
		case f.Key == "skill":
			p.skills(l, f.Value)
		default:
			unknown.add(f)
		}
	}
	if err := p.Err(); err != nil {
		return nil, hints(err, file)
	}
	l.unknown = unknown.String()
	return l, nil
}

// ParseSides reads both sides of a merge of file, and what both come from: nil where nobody knows that, or it is no lock.
func ParseSides(sides *conflict.Sides, file string) (base, ours, theirs *Lock, err error) {
	read := func(text []byte, side string) (*Lock, error) {
		l, err := Parse(text, file)
		if e, ok := diag.Own(err); ok { // its lines are not those of the file
			e.Message = side + ": " + e.Message
			return nil, e.At(diag.Position{File: file, Line: sides.Line})
		}
		return l, err
	}
	if ours, err = read(sides.Ours, "ours"); err != nil {
		return nil, nil, nil, err
	}
	if theirs, err = read(sides.Theirs, "theirs"); err != nil {
		return nil, nil, nil, err
	}
	if ours.unknown != "" && theirs.unknown != "" && ours.unknown != theirs.unknown {
		return nil, nil, nil, diag.New(diag.Failed, "lock_conflict", "the two sides differ in what this skl does not know").At(diag.Position{File: file, Line: sides.Line}).
			Hint("a newer skl wrote it: update skl")
	}
	ours.unknown, theirs.unknown = cmp.Or(ours.unknown, theirs.unknown), cmp.Or(theirs.unknown, ours.unknown)
	if sides.Base != nil {
		if base, err = Parse(sides.Base, file); err != nil {
			base = nil
		}
	}
	return base, ours, theirs, nil
}

func hints(e *diag.Error, file string) *diag.Error {
	return e.Hint("git checkout -- %s", diag.Quote(file)).Hint("to choose every release anew: rm %s && skl lock", diag.Quote(file))
}

// A parser reads entries.
type parser struct {
	*tomledit.Reader
	src []byte
}

func (p *parser) skills(l *Lock, list *tomledit.Value) {
	if list.Kind != tomledit.Array {
		p.Fail(list, "skill is %s; it is a list of [[skill]] tables", list.Kind)
		return
	}
	l.Skills = make([]Skill, 0, len(list.Items))
	names := make(map[string]string, len(list.Items))
	line, from := 1, 0 // counted on from entry to entry: a lock may have thousands
	for _, item := range list.Items {
		if item.Kind != tomledit.Table {
			p.Fail(item, "skill holds %s; it is a list of [[skill]] tables", item.Kind)
			return
		}
		s := p.skill(item)
		if item.Offset > from {
			line, from = line+bytes.Count(p.src[from:item.Offset], []byte("\n")), item.Offset
		}
		s.at = diag.Position{File: p.File, Line: line}
		switch other, ok := names[bundle.Fold(s.Name)]; {
		case other == s.Name && ok:
			p.Fail(item, "%q is locked twice", s.Name)
		case ok:
			p.Fail(item, "%s", bundle.OneName(other, s.Name))
		}
		names[bundle.Fold(s.Name)] = s.Name
		l.Skills = append(l.Skills, s)
	}
	sort.Slice(l.Skills, func(i, j int) bool { return l.Skills[i].Name < l.Skills[j].Name })
}

func (p *parser) skill(table *tomledit.Value) Skill {
	var s Skill
	unknown := fields{}
	for _, f := range table.Fields {
		v := f.Value
		switch f.Key {
		case "name":
			s.Name = p.Formed(f, tomledit.Directory)
		case "skill":
			s.Skill = p.visible(f)
		case "ref":
			s.Ref = p.visible(f)
		case "source":
			s.Source = p.visible(f)
		case "url":
			s.URL = p.Formed(f, isURL)
		case "path":
			s.Path = p.Formed(f, isPath)
		case "ref_kind":
			s.RefKind = RefKind(p.visible(f))
		case "version":
			s.Version = p.visible(f)
		case "commit":
			s.Commit = pinned(p, f, ref.ParseCommit)
		case "manifest":
			s.Manifest = pinned(p, f, ref.ParseDigest)
		case "moved":
			s.Moved = p.Formed(f, isPin)
		case "artifact":
			s.Artifact = pinned(p, f, ref.ParseDigest)
		case "tree":
			s.Tree = pinned(p, f, parseTree)
		case "files":
			s.Files = int(p.Number(f))
		case "bytes":
			s.Bytes = p.Number(f)
		case "root":
			s.Root = p.Root(f)
		case "requires":
			s.Requires = p.Texts(f)
		case "required_by":
			s.RequiredBy = p.Texts(f)
		case "permissions":
			s.Permissions = p.Texts(f)
		case "findings":
			s.Findings = p.Texts(f)
		case "generated_from":
			s.GeneratedFrom = p.stringMap(v, f.Key)
		case "unsigned":
			s.Unsigned = p.Truth(f)
		case "signer":
			s.Signer, s.unknownSigner = p.signer(v)
		case "log":
			s.Log, s.unknownLog = p.log(v)
		default:
			unknown.add(f)
		}
	}
	if s.Name == "" {
		p.Fail(table, "a skill has no name")
	}
	s.unknown = unknown.String()
	s.Requires, s.RequiredBy, s.Permissions, s.Findings = set(s.Requires), set(s.RequiredBy), set(s.Permissions), set(s.Findings)
	return s
}

func (p *parser) signer(table *tomledit.Value) (*Signer, string) {
	var s Signer
	unknown := fields{}
	if table.Kind != tomledit.Table {
		p.Fail(table, "signer is %s, not a table", table.Kind)
	}
	for _, f := range table.Fields {
		switch f.Key {
		case "kind":
			s.Kind = p.visible(f)
		case "issuer":
			s.Issuer = p.visible(f)
		case "identity":
			s.Identity = p.visible(f)
		case "repository":
			s.Repository = p.visible(f)
		case "ref":
			s.Ref = p.visible(f)
		case "runner":
			s.Runner = p.visible(f)
		case "key":
			s.Key = p.visible(f)
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
		p.Fail(table, "log is %s, not a table", table.Kind)
	}
	for _, f := range table.Fields {
		switch f.Key {
		case "origin":
			l.Origin = p.visible(f)
		case "index":
			l.Index = p.Number(f)
		case "entry":
			l.Entry = p.visible(f)
		case "checkpoint":
			l.Checkpoint = p.Formed(f, isNote)
		case "proof":
			l.Proof = p.Texts(f)
		default:
			unknown.add(f)
		}
	}
	return &l, unknown.String()
}

// visible is the string of f: one line of visible text.
//
//go:noinline
func (p *parser) visible(f tomledit.Field) string { return p.Formed(f, tomledit.Visible) }

// pinned is the pin that f holds, read by parse; an empty string is what a missing field is.
func pinned[T ~string](p *parser, f tomledit.Field, parse func(string) (T, bool)) (pin T) {
	p.Formed(f, func(s string) (ok bool) {
		pin, ok = parse(s)
		return ok
	})
	return pin
}

// isPin reports whether s is a commit or the digest of a manifest.
func isPin(s string) bool {
	_, commit := ref.ParseCommit(s)
	_, digest := ref.ParseDigest(s)
	return commit || digest
}

func parseTree(s string) (bundle.Digest, bool) {
	d, err := bundle.ParseDigest(s)
	return d, err == nil
}

func (p *parser) stringMap(v *tomledit.Value, key string) map[string]string {
	if v.Kind != tomledit.Table {
		p.Fail(v, "%s is %s, not a table", key, v.Kind)
		return nil
	}
	m := make(map[string]string, len(v.Fields))
	for _, f := range v.Fields {
		if f.Value.Kind != tomledit.String {
			p.Fail(f.Value, "%s.%s is %s, not a string", key, f.Key, f.Value.Kind)
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

// isNote reports whether s is lines of visible text, as a signed note is.
func isNote(s string) bool {
	for _, line := range strings.Split(s, "\n") {
		if !tomledit.Visible(line) {
			return false
		}
	}
	return true
}

func isURL(s string) bool { return s[0] != '-' && tomledit.Visible(s) }

func isPath(s string) bool { return CheckPath(s) == nil }

// CodePath is the code of the path of a skill that no lock can hold.
const CodePath = "E_PATH_LOCK"

// CheckPath refuses, with [CodePath], the path of a skill in its source that an entry cannot hold: it means something else on another
// system, to a program that is given it as an argument, or to a reader. "" is the source itself.
func CheckPath(path string) error {
	if path == "" {
		return nil
	}
	why := ""
	switch {
	case !utf8.ValidString(path):
		why = "is not valid UTF-8"
	case !tomledit.Visible(path):
		why = "holds control or invisible characters"
	case strings.ContainsRune(path, ':'):
		why = "holds a colon"
	case strings.ContainsRune(path, '\\'):
		why = "holds a backslash"
	}
	for e := range strings.SplitSeq(path, "/") {
		switch {
		case why != "":
		case e == "" || e == "." || e == "..":
			why = "has an element that names no directory"
		case e[0] == '-':
			why = "has a directory whose name begins with a dash"
		}
	}
	if why == "" {
		return nil
	}
	return diag.New(diag.Refused, CodePath, "the path %q of a skill %s, and skl.lock does not hold such a path", diag.Printable(path), why).
		Hint("its publisher can rename the directory")
}
