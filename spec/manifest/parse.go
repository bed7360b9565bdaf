package manifest

import (
	"errors"
	"strings"

	"github.com/Masterminds/semver/v3"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
)

// Parse reads src, the content of file, which is named in errors.
func Parse(src []byte, file string) (*Manifest, error) {
	if line := conflict.Line(src); line > 0 {
		return nil, diag.New(diag.Failed, CodeConflict, "the file holds the markers of an unfinished merge").At(diag.Position{File: file, Line: line}).Hint("skl lock")
	}
	r, err := tomledit.Open(src, file, code, MaxBytes)
	if err != nil {
		return nil, hinted(err)
	}
	out, failed := read(r)
	return out, hinted(failed)
}

// hinted is err with the way to the rules, unless it has a hint of its own.
func hinted(err error) error {
	if e, ok := diag.Own(err); ok && len(e.Hints) == 0 {
		return e.Hint("skl help guide install shows how skl.toml is written")
	}
	return err
}

const code = "manifest_invalid"

// CodeConflict is the code of a file with the markers of a merge.
const CodeConflict = "manifest_conflict"

// read makes a Manifest of what r reads.
func read(r *tomledit.Reader) (*Manifest, error) {
	p := parser{Reader: r, m: &Manifest{Namespaces: map[string]string{}, Markets: map[string]string{}, file: r.File, doc: r.Doc}, names: map[string]string{}}
	for _, f := range r.Doc.Root.Fields {
		switch f.Key {
		case "skills":
			p.Table(f, p.skill)
		case "targets":
			p.Table(f, p.target)
		case "namespace":
			p.Table(f, p.namespace)
		case "market":
			p.Table(f, p.market)
		case "ack":
			p.acks(f)
		case "package":
			p.Table(f, p.pack)
		case "roots":
			p.Table(f, func(f tomledit.Field) { p.Search(f, &p.m.Roots.Before, &p.m.Roots.After) })
		default:
			p.Unknown(f, "skills", "targets", "namespace", "market", "ack", "package", "roots")
		}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	p.m.Warnings = p.Warnings
	return p.m, nil
}

// A parser puts what its Reader reads into m.
type parser struct {
	*tomledit.Reader
	m     *Manifest
	names map[string]string // of skills, by the folded one
}

func (p *parser) skill(entry tomledit.Field) {
	s := Skill{Name: entry.Key}
	if !tomledit.Directory(s.Name) {
		p.Fail(entry.Value, "%q is not a skill name", s.Name)
	}
	key := bundle.Fold(s.Name)
	if other, ok := p.names[key]; ok {
		p.Fail(entry.Value, "%s", bundle.OneName(other, s.Name))
	}
	p.names[key] = s.Name
	if entry.Value.Kind != tomledit.Table {
		e := p.Fail(entry.Value, "skill %s is %s, not a table", s.Name, entry.Value.Kind)
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
		case "skill":
			if s.Skill = p.Formed(f, tomledit.Visible); s.Skill == s.Name {
				s.Skill = ""
			}
		case "version":
			s.Version = p.Text(f)
			if _, err := semver.NewConstraint(s.Version); err != nil {
				p.Fail(f.Value, "version %q of skill %s is not a range of versions", s.Version, s.Name)
			}
		case "branch":
			s.Branch = p.revision(f)
		case "tag":
			s.Tag = p.revision(f)
		case "commit":
			text := p.Text(f)
			commit, ok := ref.ParseCommit(text)
			if !ok {
				p.Fail(f.Value, "commit %q of skill %s is not a full commit id", text, s.Name)
			}
			s.Commit = commit
		case "hosts":
			s.Hosts = p.hosts(f)
		case "root":
			s.Root = p.Root(f)
		case "hold":
			s.Hold = p.Truth(f)
		case "hold_reason":
			s.HoldReason = p.Text(f)
		default:
			p.Unknown(f, "ref", "skill", "version", "branch", "tag", "commit", "hosts", "root", "hold", "hold_reason")
		}
		switch f.Key {
		case "version", "branch", "tag", "commit":
			versions = append(versions, f.Key)
		}
	}
	if s.Ref == "" {
		p.Lacks(entry.Value, "skill %s has no ref", s.Name)
	}
	if len(versions) > 1 {
		p.Fail(entry.Value, "skill %s has both %s and %s", s.Name, versions[0], versions[1])
	}
	p.m.Skills = append(p.m.Skills, s)
}

func (p *parser) ref(f tomledit.Field) string {
	s := p.Text(f)
	r, err := ref.Parse(s)
	switch {
	case err != nil:
		e := p.Fail(f.Value, "%w", err)
		if cause, ok := errors.AsType[*diag.Error](err); ok {
			e.Hints = cause.Hints
		}
	case r.Version != "":
		p.Fail(f.Value, "ref %q holds a version, which has a key of its own", s).
			Hint("write ref = %q and version, branch, tag or commit = %q", r.WithoutVersion(), r.Version)
	}
	return s
}

// revision is a branch or tag: what a ref may hold behind "@".
func (p *parser) revision(f tomledit.Field) string {
	s := p.Text(f)
	if r, err := ref.Parse("o/r@" + s); err != nil || r.Version != s {
		p.Fail(f.Value, "%q is not a %s", s, f.Key)
	}
	return s
}

func (p *parser) target(f tomledit.Field) {
	switch f.Key {
	case "hosts":
		p.m.Targets.Hosts = p.hosts(f)
	case "links":
		switch p.m.Targets.Links = p.Text(f); p.m.Targets.Links {
		case "auto", "symlink", "junction", "copy":
		default:
			p.Fail(f.Value, "links is %q; it is one of auto, symlink, junction, copy", f.Value.Text)
		}
	case "root":
		p.m.Targets.Root = p.Root(f)
	case "vendor":
		vendor := p.Truth(f)
		p.m.Targets.Vendor = &vendor
	default:
		p.Unknown(f, "hosts", "links", "root", "vendor")
	}
}

// hosts is a list of agents; one that is there is not nil.
func (p *parser) hosts(f tomledit.Field) []string {
	hosts, ok := f.Value.Strings()
	if !ok {
		p.Fail(f.Value, "hosts is not a list of strings")
	}
	for i, host := range hosts {
		if !tomledit.Directory(host) {
			p.Fail(f.Value.Items[i], "%q is not the name of a host", host)
		}
	}
	return append([]string{}, hosts...)
}

func (p *parser) namespace(f tomledit.Field) {
	binding := p.Text(f)
	kind, name, _ := strings.Cut(binding, ":")
	if r, err := ref.Parse(f.Key + "/" + kind + "/" + name); err != nil || r.Kind != ref.Name || r.Owner != f.Key || kind == "" || name == "" {
		p.Fail(f.Value, "namespace %q is bound to %q, which is not registry:NAME, forge:NAME or market:NAME", f.Key, binding)
	}
	p.m.Namespaces[f.Key] = binding
}

func (p *parser) market(entry tomledit.Field) {
	if r, err := ref.Parse("market:" + entry.Key + "/x"); err != nil || r.Host != entry.Key {
		p.Fail(entry.Value, "%q cannot be the name of a market: names use letters, digits, \".\", \"_\" and \"-\"", entry.Key)
	}
	text := ""
	p.Table(entry, func(f tomledit.Field) {
		if f.Key != "ref" {
			p.Unknown(f, "ref")
			return
		}
		text = p.Text(f)
		if r, err := ref.Parse(text); err != nil {
			p.Fail(f.Value, "%w", err)
		} else if r.Kind == ref.Market {
			p.Fail(f.Value, "ref %q of market %s is a marketplace itself", text, entry.Key)
		}
	})
	if text == "" {
		p.Lacks(entry.Value, "market %s has no ref", entry.Key)
	}
	p.m.Markets[entry.Key] = text
}

func (p *parser) acks(list tomledit.Field) {
	if list.Value.Kind != tomledit.Array {
		p.Fail(list.Value, "ack is %s, not a list of [[ack]] tables", list.Value.Kind)
	}
	for _, item := range list.Value.Items {
		var a Ack
		for _, f := range item.Fields {
			switch f.Key {
			case "code":
				a.Code = p.Text(f)
			case "name":
				a.Name = p.Text(f)
			case "winner":
				a.Winner = p.Text(f)
			case "loser":
				a.Loser = p.Text(f)
			case "version":
				a.Version = p.Text(f)
			case "by":
				a.By = p.Text(f)
			case "on":
				_, a.On = p.Day(f)
			case "reason":
				a.Reason = p.Text(f)
			default:
				p.Unknown(f, "code", "name", "winner", "loser", "version", "by", "on", "reason")
			}
		}
		if a.Code == "" || a.Name == "" {
			p.Lacks(item, "an [[ack]] needs code and name")
		}
		p.m.Acks = append(p.m.Acks, a)
	}
}

func (p *parser) pack(f tomledit.Field) {
	switch f.Key {
	case "name":
		s := p.Text(f)
		if r, err := ref.Parse(s); err != nil || r != (ref.Ref{Kind: ref.Name, Owner: r.Owner, Repo: r.Repo}) {
			p.Fail(f.Value, "package name %q is not namespace/name", s)
		}
		p.m.Package.Name = s
	case "version":
		s := p.Text(f)
		if _, err := semver.StrictNewVersion(s); err != nil {
			p.Fail(f.Value, "package version %q is not a semantic version", s)
		}
		p.m.Package.Version = s
	default:
		p.Unknown(f, "name", "version")
	}
}
