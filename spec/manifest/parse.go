package manifest

import (
	"errors"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
)

// Parse reads src, the content of file, which is named in errors.
func Parse(src []byte, file string) (*Manifest, error) {
	if len(src) > MaxBytes {
		return nil, diag.New(diag.Failed, "manifest_invalid", "the file has more than %d bytes", MaxBytes).At(diag.Position{File: file})
	}
	doc, err := tomledit.Parse(src)
	if err != nil {
		where := diag.Position{File: file}
		if e, ok := errors.AsType[*tomledit.Error](err); ok {
			where.Line, where.Column = e.Line, e.Column
			err = errors.New(e.Message)
		}
		return nil, diag.New(diag.Failed, "manifest_invalid", "%w", err).At(where)
	}
	return read(doc, file)
}

// read makes a Manifest of doc.
func read(doc *tomledit.Doc, file string) (*Manifest, error) {
	p := parser{m: &Manifest{Namespaces: map[string]string{}, file: file, doc: doc}}
	for _, f := range doc.Root.Fields {
		switch f.Key {
		case "skills":
			p.table(f, p.skill)
		case "targets":
			p.table(f, p.target)
		case "namespace":
			p.table(f, p.namespace)
		case "ack":
			p.acks(f)
		case "package":
			p.table(f, p.pack)
		default:
			p.unknown(f.Value, f.Key)
		}
	}
	if p.err != nil {
		return nil, p.err
	}
	return p.m, nil
}

// A parser keeps the first error; what it reads after that is not used.
type parser struct {
	m   *Manifest
	err *diag.Error
}

func (m *Manifest) at(v *tomledit.Value) diag.Position {
	line, column := m.doc.Position(v.Offset)
	return diag.Position{File: m.file, Line: line, Column: column}
}

// fail records an error and returns it, for hints.
func (p *parser) fail(at *tomledit.Value, format string, args ...any) *diag.Error {
	e := diag.New(diag.Failed, "manifest_invalid", format, args...).At(p.m.at(at))
	if p.err == nil {
		p.err = e
	}
	return e
}

func (p *parser) unknown(at *tomledit.Value, key string) {
	where := p.m.at(at)
	p.m.Warnings = append(p.m.Warnings, diag.Finding{File: where.File, Line: where.Line, Column: where.Column,
		Rule: "unknown_key", Severity: diag.SeverityWarning, Message: "key " + tomledit.QuoteKey(key) + " is not known and has no effect"})
}

func (p *parser) table(f tomledit.Field, each func(tomledit.Field)) {
	if f.Value.Kind != tomledit.Table {
		p.fail(f.Value, "%s is %s, not a table", f.Key, f.Value.Kind)
	}
	for _, f := range f.Value.Fields {
		each(f)
	}
}

// str is the string of f, which is one line of visible text.
func (p *parser) str(f tomledit.Field) string {
	switch {
	case f.Value.Kind != tomledit.String:
		p.fail(f.Value, "%s is %s, not a string", f.Key, f.Value.Kind)
	case diag.Printable(f.Value.Text) != f.Value.Text:
		p.fail(f.Value, "%s holds control or invisible characters", f.Key)
	}
	return f.Value.Text
}

func (p *parser) boolean(f tomledit.Field) bool {
	if f.Value.Kind != tomledit.Bool {
		p.fail(f.Value, "%s is %s, not true or false", f.Key, f.Value.Kind)
	}
	return f.Value.Text == "true"
}

func (p *parser) skill(entry tomledit.Field) {
	s := Skill{Name: entry.Key}
	if !isName(s.Name) {
		p.fail(entry.Value, "%q is not a skill name", s.Name)
	}
	if entry.Value.Kind != tomledit.Table {
		e := p.fail(entry.Value, "skill %s is %s, not a table", s.Name, entry.Value.Kind)
		if r, err := ref.Parse(entry.Value.Str()); err == nil {
			e.Hint("write %s = { ref = %q }", tomledit.QuoteKey(s.Name), r.WithoutVersion())
		}
		return
	}
	var versions []string
	for _, f := range entry.Value.Fields {
		switch f.Key {
		case "ref":
			s.Ref = p.ref(f)
		case "version":
			s.Version = p.str(f)
			if _, err := semver.NewConstraint(s.Version); err != nil {
				p.fail(f.Value, "version %q of skill %s is not a range of versions", s.Version, s.Name)
			}
		case "branch":
			s.Branch = p.revision(f)
		case "tag":
			s.Tag = p.revision(f)
		case "commit":
			text := p.str(f)
			commit, ok := ref.ParseCommit(text)
			if !ok {
				p.fail(f.Value, "commit %q of skill %s is not a full commit id", text, s.Name)
			}
			s.Commit = commit
		case "hold":
			s.Hold = p.boolean(f)
		case "hold_reason":
			s.HoldReason = p.str(f)
		default:
			p.unknown(f.Value, f.Key)
		}
		switch f.Key {
		case "version", "branch", "tag", "commit":
			versions = append(versions, f.Key)
		}
	}
	if s.Ref == "" {
		p.fail(entry.Value, "skill %s has no ref", s.Name)
	}
	if len(versions) > 1 {
		p.fail(entry.Value, "skill %s has both %s and %s", s.Name, versions[0], versions[1])
	}
	p.m.Skills = append(p.m.Skills, s)
}

func (p *parser) ref(f tomledit.Field) string {
	s := p.str(f)
	r, err := ref.Parse(s)
	switch {
	case err != nil:
		e := p.fail(f.Value, "%w", err)
		if cause, ok := errors.AsType[*diag.Error](err); ok {
			e.Hints = cause.Hints
		}
	case r.Version != "":
		p.fail(f.Value, "ref %q holds a version, which has a key of its own", s).
			Hint("write ref = %q and version, branch, tag or commit = %q", r.WithoutVersion(), r.Version)
	}
	return s
}

// revision is a branch or tag: what a ref may hold behind "@".
func (p *parser) revision(f tomledit.Field) string {
	s := p.str(f)
	if r, err := ref.Parse("o/r@" + s); err != nil || r.Version != s {
		p.fail(f.Value, "%q is not a %s", s, f.Key)
	}
	return s
}

func (p *parser) target(f tomledit.Field) {
	switch f.Key {
	case "hosts":
		hosts, ok := f.Value.Strings()
		if !ok {
			p.fail(f.Value, "hosts is not a list of strings")
		}
		for i, host := range hosts {
			if !isName(host) {
				p.fail(f.Value.Items[i], "%q is not the name of a host", host)
			}
		}
		p.m.Targets.Hosts = hosts
	case "links":
		switch p.m.Targets.Links = p.str(f); p.m.Targets.Links {
		case "auto", "symlink", "junction", "copy":
		default:
			p.fail(f.Value, "links is %q; it is one of auto, symlink, junction, copy", f.Value.Text)
		}
	case "vendor":
		vendor := p.boolean(f)
		p.m.Targets.Vendor = &vendor
	default:
		p.unknown(f.Value, f.Key)
	}
}

func (p *parser) namespace(f tomledit.Field) {
	binding := p.str(f)
	kind, name, _ := strings.Cut(binding, ":")
	if r, err := ref.Parse(f.Key + "/" + kind + "/" + name); err != nil || r.Kind != ref.Name || r.Owner != f.Key || kind == "" || name == "" {
		p.fail(f.Value, "namespace %q is bound to %q, which is not registry:NAME, forge:NAME or market:NAME", f.Key, binding)
	}
	p.m.Namespaces[f.Key] = binding
}

func (p *parser) acks(list tomledit.Field) {
	if list.Value.Kind != tomledit.Array {
		p.fail(list.Value, "ack is %s, not a list of [[ack]] tables", list.Value.Kind)
	}
	for _, item := range list.Value.Items {
		var a Ack
		for _, f := range item.Fields {
			switch f.Key {
			case "code":
				a.Code = p.str(f)
			case "name":
				a.Name = p.str(f)
			case "winner":
				a.Winner = p.str(f)
			case "loser":
				a.Loser = p.str(f)
			case "reason":
				a.Reason = p.str(f)
			default:
				p.unknown(f.Value, f.Key)
			}
		}
		if a.Code == "" || a.Name == "" {
			p.fail(item, "an [[ack]] needs code and name")
		}
		p.m.Acks = append(p.m.Acks, a)
	}
}

func (p *parser) pack(f tomledit.Field) {
	switch f.Key {
	case "name":
		s := p.str(f)
		if r, err := ref.Parse(s); err != nil || r != (ref.Ref{Kind: ref.Name, Owner: r.Owner, Repo: r.Repo}) {
			p.fail(f.Value, "package name %q is not namespace/name", s)
		}
		p.m.Package.Name = s
	case "version":
		s := p.str(f)
		if _, err := semver.StrictNewVersion(s); err != nil {
			p.fail(f.Value, "package version %q is not a semantic version", s)
		}
		p.m.Package.Version = s
	default:
		p.unknown(f.Value, f.Key)
	}
}

// isName is what is safe as a directory of a root. Stricter rules are the
// skill specification's.
func isName(s string) bool {
	return s != "" && len(s) <= 255 && s[0] != '.' && s[0] != '-' && !strings.ContainsAny(s, `/\:`) && diag.Printable(s) == s
}
