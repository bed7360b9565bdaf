package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A selection is one skill that the command line names, ready for the manifest.
type selection struct {
	named   resolver.Named
	entry   manifest.Skill
	found   source.Found
	binding string // of the namespace, to be recorded
}

// parseArgs splits arguments into refs and the names of skills in the one ref.
func parseArgs(args, flagged []string) (refs []ref.Ref, names []string, err error) {
	names = append(names, flagged...)
	var words []string
	for _, arg := range args {
		if isWord(arg) {
			words = append(words, arg)
			continue
		}
		r, err := ref.Parse(arg)
		if err != nil {
			return nil, nil, err
		}
		refs = append(refs, r)
	}
	if len(words) > 0 && len(refs) == 0 {
		return nil, words, nil
	}
	names = append(names, words...)
	if len(names) > 0 && len(refs) > 1 {
		return nil, nil, diag.New(diag.Misuse, "names_of_several", "%s: names of skills need exactly one reference, not %d", strings.Join(names, ", "), len(refs)).
			Hint("write owner/repo/skill for each")
	}
	return refs, names, nil
}

func isWord(arg string) bool { return !strings.ContainsAny(arg, "/:\\@#.") }

// pick resolves one ref and chooses its skills: the ones that are named, all of them, the only
// one, or those a person picks. pin writes exact versions.
func (w *world) pick(ctx context.Context, rs *resolver.Resolver, r ref.Ref, names []string, all, pin bool) ([]selection, error) {
	o, err := rs.Open(ctx, resolver.Want{Ref: r})
	if err != nil {
		return nil, err
	}
	found, err := o.Skills(ctx, names)
	if err != nil {
		return nil, err
	}
	if len(found) > 1 && len(names) == 0 && !all && o.Want.Ref.Kind != ref.Market {
		if found, err = w.choose(r, found); err != nil {
			return nil, err
		}
	}
	var out []selection
	for _, f := range found {
		if f.Invalid != nil && all {
			w.ui.Warn("%s is left out: %s", f.Lock.Path, f.Invalid)
			continue
		}
		if f.Invalid != nil {
			return nil, fmt.Errorf("%s: %w", f.Lock.Path, f.Invalid)
		}
		if err := checkName(f); err != nil {
			return nil, err
		}
		out = append(out, w.selected(o, f, len(found), pin))
	}
	return out, nil
}

// checkName refuses names that cannot be a directory everywhere.
func checkName(f source.Found) error {
	err := skill.CheckName(f.Lock.Name, f.Lock.Name)
	if err == nil {
		err = bundle.CheckPath(f.Lock.Name)
	}
	if err == nil {
		err = bundle.CheckPortable(f.Lock.Name)
	}
	if err == nil {
		return nil
	}
	return diag.New(diag.Refused, "E_NAME_PATH", "the skill in %s is called %q, which cannot be a directory: %w", f.Lock.Path, f.Lock.Name, err).
		Hint("its author has to change name: in its SKILL.md")
}

// selected builds the manifest entry of one found skill.
func (w *world) selected(o *resolver.Opened, f source.Found, of int, pin bool) selection {
	asked := o.Want.Ref
	version, kind := resolver.Written(o.Kind, asked.Version, f.Lock.Version, f.Lock.Commit, pin)
	if pin && asked.Kind == ref.OCI && kind != lock.Range {
		// A tag can move; the digest is part of the ref.
		asked.Digest, version, kind = f.Lock.Manifest, "", ""
	}
	if o.Place.Commit != "" || asked.Kind == ref.Local {
		version, kind = "", ""
	}
	r := narrow(asked.WithoutVersion(), f, of)
	entry := manifest.Skill{Name: f.Lock.Name, Ref: r.String()}
	switch kind {
	case lock.Range:
		entry.Version = version
	case lock.Tag:
		entry.Tag = version
	case lock.Branch:
		entry.Branch = version
	case lock.Commit:
		entry.Commit = version
	}
	want := r
	want.Version = version
	f.Lock.Ref = want.String()
	f.Lock.RefKind = o.Kind
	if kind != "" {
		f.Lock.RefKind = kind
	}
	return selection{named: resolver.Named{Name: f.Lock.Name, Want: resolver.Want{Ref: want, Kind: kind}}, entry: entry, found: f, binding: o.Place.Binding}
}

// narrow makes r name the one skill f of its place.
func narrow(r ref.Ref, f source.Found, of int) ref.Ref {
	last := r.Path[strings.LastIndexByte(r.Path, '/')+1:]
	if f.Lock.Path == "" || of == 1 && (last == f.Lock.Name || r.Skill == f.Lock.Name || r.Path != "" && r.Path == f.Lock.Path) {
		return r
	}
	switch {
	case r.Kind == ref.Name && r.Path == "", r.Kind == ref.Market && r.Path == "":
		r.Path = f.Lock.Name
	case r.Kind == ref.Name && !strings.Contains(r.Path, "/"):
		r.Path = f.Lock.Path
	default:
		r.Skill = f.Lock.Name
	}
	return r
}

// choose asks which of several skills are wanted; where nobody can be asked it lists them (exit 2).
func (w *world) choose(r ref.Ref, found []source.Found) ([]source.Found, error) {
	options := make([]ui.Option, len(found))
	for i, f := range found {
		options[i] = ui.Option{Label: f.Lock.Name, Detail: cut(f.Description, 60)}
	}
	picked, err := w.ui.Choose(fmt.Sprintf("%s holds %d skills; which ones?", r, len(found)), options)
	if err == nil {
		out := make([]source.Found, len(picked))
		for i, n := range picked {
			out[i] = found[n]
		}
		return out, nil
	}
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	if !w.ui.JSON {
		w.printFound(found)
	}
	e := diag.New(diag.Misuse, "ambiguous_ref", "%s holds %d skills; name the ones you want", r, len(found)).
		Hint("skl install %s %s", r, found[0].Lock.Name).Hint("skl install %s --all", r)
	if w.ui.JSON {
		for _, f := range found {
			e.Candidates = append(e.Candidates, f.Lock.Name)
		}
	}
	return nil, e
}

func (w *world) printFound(found []source.Found) {
	rows := [][]string{{"NAME", "PATH", "VERSION", "DESCRIPTION"}}
	for _, f := range found {
		version := f.Lock.Version
		if f.Invalid != nil {
			version = "invalid"
		}
		rows = append(rows, []string{f.Lock.Name, orDash(f.Lock.Path), version, cut(f.Description, 60)})
	}
	w.ui.Rows(rows)
}

// cut shortens s to n runes.
func cut(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// wants is what a manifest asks for, in its order.
func wants(m *manifest.Manifest) ([]resolver.Named, error) {
	var out []resolver.Named
	for _, s := range m.Skills {
		r, err := ref.Parse(s.Ref)
		if err != nil {
			return nil, err
		}
		n := resolver.Named{Name: s.Name, Where: m.Where(s.Name)}
		for _, v := range []struct {
			text string
			kind lock.RefKind
		}{{s.Version, lock.Range}, {s.Branch, lock.Branch}, {s.Tag, lock.Tag}, {s.Commit, lock.Commit}} {
			if v.text != "" {
				r.Version, n.Kind = v.text, v.kind
			}
		}
		n.Ref = r
		out = append(out, n)
	}
	return out, nil
}

// oneWord refuses single words where a reference is meant, with what they could mean.
func (w *world) oneWord(words []string, f *files) error {
	var names []string
	for _, s := range f.lock.Skills {
		names = append(names, s.Ref)
	}
	e := diag.New(diag.Misuse, "not_a_ref", "%q is one word, and a reference is owner/name, a URL or ./path", words[0])
	e.Candidates = spell.Nearest(words[0], names, 5)
	if s, ok := f.lock.Skill(words[0]); ok {
		e.Candidates = slices.Insert(slices.DeleteFunc(e.Candidates, func(c string) bool { return c == s.Ref }), 0, s.Ref)
		return e.Hint("it is installed; skl update %s chooses a newer release", words[0])
	}
	return e.Hint("skl install OWNER/REPO %s", words[0])
}
