package apply

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// A LockRequest asks for a new skl.lock, and nothing else.
type LockRequest struct {
	Upgrade []string // names whose release is chosen anew
	Accept  []string // permissions
	Reason  string   // why they are accepted
	DryRun  bool
}

// Lock writes skl.lock from skl.toml. Of files with the markers of a merge it makes one of both sides, and says what it took.
func (a *Applier) Lock(ctx context.Context, r LockRequest) (_ Result, err error) {
	defer unknownFirst(r.Accept, &err)
	if err := acceptable(r.Accept, r.Reason); err != nil {
		return Result{}, err
	}
	end, err := a.Scope.Begin(ctx, r.DryRun)
	if err != nil {
		return Result{}, err
	}
	defer end()
	upgrades := func(name string) bool { return slices.Contains(r.Upgrade, name) }
	f, err := a.Scope.LoadUnmerged(a.pickSide, upgrades)
	if err != nil {
		return Result{}, err
	}
	if err := a.Scope.CheckLocal(f); err != nil {
		return Result{}, err
	}
	for _, name := range r.Upgrade {
		if !f.Has(name) {
			return Result{}, a.Scope.NotInManifest(name, f)
		}
	}
	a.Scope.AcceptMoved(slices.Contains(r.Accept, resolver.AcceptMoved), r.Upgrade)
	j := a.newJob(f, &request{mode: locks, dry: r.DryRun, agreed: Agreed{Accept: r.Accept, Reason: r.Reason}, plan: plan.Request{Renews: upgrades, Compares: true}})
	if f.HasManifest {
		j.base.Manifest = f.Manifest.Bytes() // as it was merged
	}
	result, err := j.run(ctx)
	if err != nil {
		return Result{}, err
	}
	if conflict.Line(f.ManifestText) > 0 {
		result.Remarks.Resolved = append(result.Remarks.Resolved, f.ManifestPath)
	}
	if conflict.Line(f.LockText) > 0 {
		result.Remarks.Resolved = append(result.Remarks.Resolved, f.LockPath)
	}
	if len(result.Remarks.Resolved) > 0 {
		result.Remarks.Merged = mergedAs(f.Merged, result.Lock)
		result.Remarks.Next = a.afterMerge(f)
	}
	return result, nil
}

// afterMerge are the commands that end a merge which git left to skl: one that brings the skills to the lock, and one that tells git of all
// that the two wrote.
func (a *Applier) afterMerge(f *scope.Files) []string {
	if a.Scope.Kind != hosts.Project {
		return []string{"skl ci --scope " + string(a.Scope.Kind)}
	}
	places := map[string]string{} // by path
	if vendor := f.Manifest.Targets.Vendor; vendor == nil || *vendor {
		places = a.committed(func(string) bool { return true }).root
		receipts, bad := a.Scope.Site.Receipts()
		for _, err := range bad { // those that git left to skl ci
			e, ok := diag.Own(err)
			if !ok || e.Code != roots.CodeConflict {
				continue
			}
			root := filepath.Dir(filepath.Dir(e.Where.File))
			ours, theirs, err := roots.UnmergedReceipt(root, strings.TrimSuffix(filepath.Base(e.Where.File), ".json"))
			if rel, rerr := filepath.Rel(a.Scope.Project, root); err == nil && rerr == nil && filepath.IsLocal(rel) {
				places[filepath.ToSlash(rel)] = filepath.ToSlash(rel)
				receipts = append(receipts, ours, theirs)
			}
		}
		for i := range receipts {
			for _, link := range receipts[i].Links {
				places[link] = path.Dir(link)
			}
		}
	}
	next := []string{"skl ci"}
	if add := a.addable(places); len(add) > 0 {
		next = append(next, "git add "+diag.Words(add))
	}
	return next
}

// pickSide asks which side of an entry of skl.toml is meant.
func (a *Applier) pickSide(c manifest.Clash) (manifest.Side, error) {
	say := func(text string) string {
		if text == "" {
			return "nothing"
		}
		return diag.Brief(text, 300)
	}
	where := a.Scope.Short(filepath.Join(a.Scope.Base, "skl.toml"))
	question := fmt.Sprintf("%s: %s: ours is %s, theirs is %s. Which?", where, diag.Printable(c.Entry), say(c.Ours), say(c.Theirs))
	oneSide := c.Unknown && (c.Ours == "" || c.Theirs == "") // removed here, or added there: nobody knows
	if oneSide {
		question = "Nothing says what both sides come from. " + question
	}
	answer, err := a.Ask.Letters(question, []ask.Letter{{Key: "o", Word: "ours"}, {Key: "t", Word: "theirs"}}, "")
	switch {
	case errors.Is(err, ask.ErrNobody):
		e := diag.New(diag.Unmet, manifest.CodeConflict, "%s is %s in ours, and %s in theirs", diag.Printable(c.Entry), say(c.Ours), say(c.Theirs)).
			At(diag.Position{File: where, Line: c.Line})
		if oneSide {
			e.Message += ", and nothing says whether one added it or the other removed it"
			e = e.Hint("in an unfinished merge git knows that: git checkout --merge -- %s", diag.Quote(where)) // which brings the stages back
		}
		return "", e.Hint("write the same of it on both sides in %s, then: skl lock", where)
	case err != nil:
		return "", err
	case answer == "t":
		return manifest.Theirs, nil
	}
	return manifest.Ours, nil
}

// mergedAs is what was decided of two sides, with the versions that the lock has in the end. What nothing needs is left out.
func mergedAs(all []scope.Merged, l *lock.Lock) (out []scope.Merged) {
	for _, m := range all {
		if m.File == "skl.lock" {
			s, ok := l.Skill(m.Entry)
			if !ok {
				continue
			}
			if s.Version != m.Value {
				m.From, m.Value = "anew", s.Version
			}
		}
		out = append(out, m)
	}
	return out
}
