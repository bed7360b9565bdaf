package apply

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// Codes of releases that an audit finds something in.
const (
	codeContentRefused = "content_refused" // structural: nobody can accept it
	codeContentHigh    = "content_findings"
)

// files are the files of the release s, if they are on this machine.
func (in *installer) files(s lock.Skill, h install.Have) (list []audit.File, ok bool, err error) {
	if list, ok, err = in.kept(s, h); ok || err != nil {
		return list, ok, err
	}
	list = in.peeked.files[s.Name]
	return audit.Linked(list, in.peeked.links[s.Name]), list != nil, nil
}

// kept is files of a release that was there before: what was fetched now is of another one.
func (in *installer) kept(s lock.Skill, h install.Have) ([]audit.File, bool, error) {
	var fsys fs.FS
	switch {
	case in.Store.Has(s.Tree):
		fsys = in.Store.FS(s.Tree)
	case h.Holds(s.Tree):
		fsys = scope.FilesIn(h.Path)
	default:
		return nil, false, nil
	}
	t, err := trees.Read(fsys)
	return t.AuditFiles(), err == nil, err
}

// findings audits a release that was chosen anew. What is structural is refused. Other findings of High are wishes where the release
// that is here has not the same, and the lock says that they were accepted.
func (in *installer) findings(s *lock.Skill, old lock.Skill, h install.Have) ([]Wish, error) {
	list, ok, err := in.files(*s, h)
	if err != nil || !ok {
		return nil, err
	}
	found := content.Scan(list).Findings
	known := map[string]bool{}
	if was, ok, err := in.kept(old, h); old.Name != "" && ok && err == nil {
		for _, f := range content.Scan(was).Findings {
			known[f.Fingerprint()] = true
		}
	}
	return highWishes(s, found, func(f content.Finding) bool {
		return known[f.Fingerprint()] && slices.Contains(old.Findings, f.Rule)
	})
}

// highWishes notes the findings of High in s, and returns those that were not accepted before as wishes. What is structural is refused.
func highWishes(s *lock.Skill, found []content.Finding, accepted func(content.Finding) bool) ([]Wish, error) {
	s.Findings = nil
	lines := map[string][]string{}
	for _, f := range found {
		at := diag.Position{File: diag.Printable(f.File), Line: f.Line}.String()
		switch {
		case f.Severity == content.Refuse:
			return nil, contentRefusal(s.Name, f)
		case f.Severity != content.High:
			continue
		}
		s.Findings = append(s.Findings, f.Rule)
		if accepted(f) {
			continue
		}
		line := fmt.Sprintf("%s: %s: %s", at, f.Message, f.Text)
		if f.Allowed != "" {
			line += " (its publisher says: " + f.Allowed + ")"
		}
		lines[f.Rule] = append(lines[f.Rule], line)
	}
	slices.Sort(s.Findings)
	s.Findings = slices.Compact(s.Findings)
	var wishes []Wish
	for _, rule := range s.Findings {
		if lines[rule] != nil {
			wishes = append(wishes, Wish{Skill: s.Name, Permission: rule, Lines: lines[rule]})
		}
	}
	return wishes, nil
}

// locked audits a release of a lock that is not installed here yet, or not completely. Whoever wrote the lock says there what was accepted.
func (in *installer) locked(s lock.Skill, h install.Have) error {
	if h.Present && !h.Lacks {
		return nil
	}
	list, ok, err := in.files(s, h)
	if err != nil || !ok {
		return err
	}
	for _, f := range content.Scan(list).Findings {
		switch {
		case f.Severity == content.Refuse:
			return contentRefusal(s.Name, f)
		case f.Severity == content.High && !slices.Contains(s.Findings, f.Rule):
			at := diag.Position{File: f.File, Line: f.Line}.String()
			return diag.New(diag.Refused, codeContentHigh, "an audit of %s found %s (%s: %s: %s), which skl.lock does not say was accepted", s.Name, f.Rule, diag.Printable(at), f.Message, f.Text).
				Hint("read the files. To accept it: skl lock --upgrade %s --accept %s", s.Name, f.Rule).Hint("skl audit --explain %s", f.Rule)
		}
	}
	return nil
}

// contentRefusal is the refusal of a release for a structural finding.
func contentRefusal(name string, f content.Finding) *diag.Error {
	at := diag.Position{File: f.File, Line: f.Line}.String()
	return diag.New(diag.Refused, codeContentRefused, "%s: %s: %s", name, diag.Printable(at), f.Message).
		Hint("to read about it, and the way out: skl audit --explain %s", f.Rule)
}

// isFinding reports whether a wish is about a finding, and not a permission.
func (w Wish) isFinding() bool { return strings.HasPrefix(w.Permission, "AUD-") }

// findingsRefusal is the refusal of a skill for its findings alone. What was accepted already is repeated by the hint.
func findingsRefusal(wishes []Wish, accepted []string) *diag.Error {
	perms, lines := slices.Clone(accepted), []string(nil)
	for _, w := range wishes {
		perms = append(perms, w.Permission)
		lines = append(lines, w.Permission+" ("+w.Lines[0]+")")
	}
	return diag.New(diag.Refused, codeContentHigh, "an audit of %s found %s", wishes[0].Skill, strings.Join(lines, ", ")).
		Hint("read the files. To install it all the same: add --accept %s", diag.Quote(strings.Join(perms, ","))).
		Hint("skl audit --explain %s", wishes[0].Permission)
}

// lockFindings is how the accepted findings of two entries differ: "+ RULE  FILE:LINE  what it is" for one that is newly accepted, also of a
// rule that was accepted before elsewhere, and "- RULE  …".
func (a *Applier) lockFindings(ctx context.Context, old, now *lock.Skill) (out []string) {
	if len(old.Findings)+len(now.Findings) == 0 {
		return nil
	}
	was, is := a.acceptedFindings(ctx, old), a.acceptedFindings(ctx, now)
	for sign, pair := range map[string][2]map[string]string{"+ ": {is, was}, "- ": {was, is}} {
		for key, line := range pair[0] {
			if pair[1][key] == "" {
				out = append(out, sign+line)
			}
		}
	}
	slices.Sort(out)
	return out
}

// acceptedFindings are lines about the findings that s says were accepted, by what they are but for their line.
func (a *Applier) acceptedFindings(ctx context.Context, s *lock.Skill) map[string]string {
	out := map[string]string{}
	if len(s.Findings) == 0 {
		return out
	}
	t, err := trees.Release(ctx, a.Scope, *s)
	left := slices.Clone(s.Findings)
	for _, f := range t.Findings() {
		if at := slices.Index(s.Findings, f.Rule); at >= 0 && f.Severity == content.High {
			out[f.Fingerprint()] = f.Rule + "  " + diag.Printable(diag.Position{File: f.File, Line: f.Line}.String()) + "  " + f.Message
			left[at] = ""
		}
	}
	why := "  accepted, and nothing here is found by it"
	if err != nil {
		why = "  its files cannot be had"
	}
	for _, rule := range left {
		if rule != "" {
			out[rule] = rule + why
		}
	}
	return out
}
