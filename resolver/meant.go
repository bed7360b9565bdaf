package resolver

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// meant reads the version of o's ref, which nothing is called, as people paste it, and returns what that opens: a short commit, a
// branch whose name goes on in the path, or the name of a skill. err, the error of the version, is returned where it is none of
// them. What a manifest says is not read so: it has its kind.
func (o *Opened) meant(ctx context.Context, releases []source.Release, err error) (*Opened, error) {
	e, ok := diag.Own(err)
	w := o.Want
	if !ok || e.Code != source.CodeNoVersion || w.Kind != "" || w.Ref.Version == "" {
		return nil, err
	}
	if again, ok := slashedRef(releases, w.Ref); ok {
		w.Ref = again
		return o.rs.Open(ctx, w)
	}
	v := w.Ref.Version
	short := isHex(v) && len(v) >= shortestCommit && len(v) < 40 && o.Place.Ref.Kind == ref.Git
	likely := len(v) >= 7 // else it is rather a skill, such as "face"
	if short && likely {
		if opened, cerr := o.shortCommit(ctx, v); opened != nil || cerr != nil {
			return opened, cerr
		}
	}
	if opened, ok := o.skillBehindAt(ctx); ok {
		return opened, nil
	}
	if short && !likely {
		if opened, cerr := o.shortCommit(ctx, v); opened != nil || cerr != nil {
			return opened, cerr
		}
	}
	return nil, err
}

// shortestCommit is how many digits of a commit git takes at the least.
const shortestCommit = 4

// shortCommit opens the one commit whose id starts with digits. Both results are nil if there is none.
func (o *Opened) shortCommit(ctx context.Context, digits string) (*Opened, error) {
	src, ok := o.src.(source.Abbreviator)
	if !ok {
		return nil, nil
	}
	found, err := src.Commits(ctx, o.Place.Ref, digits)
	if err != nil {
		e, ok := diag.Own(diag.Prefixed(err, "looking for the commit "+digits))
		if !ok {
			return nil, err
		}
		return nil, e.Hint("name the commit by all 40 digits")
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		w := o.Want
		w.Ref.Version = string(found[0])
		return o.rs.Open(ctx, w)
	}
	e := diag.New(diag.Misuse, "ambiguous_commit", "%d commits start with %s", len(found), digits)
	for _, c := range found {
		e.Candidates = append(e.Candidates, string(c))
	}
	return nil, e.Hint("name one by more digits")
}

// slashedRef finds the branch or tag whose name goes on in the path: a pasted URL does not say where the one ends and the other
// begins. The longest name counts.
func slashedRef(releases []source.Release, r ref.Ref) (ref.Ref, bool) {
	if r.Kind != ref.Forge && r.Kind != ref.Git || r.Path == "" {
		return ref.Ref{}, false
	}
	whole, best := r.Version+"/"+r.Path+"/", ""
	for _, release := range releases {
		if len(release.Name) > max(len(best), len(r.Version)) && strings.HasPrefix(whole, release.Name+"/") {
			best = release.Name
		}
	}
	if best == "" {
		return ref.Ref{}, false
	}
	r.Version, r.Path = best, strings.Trim(strings.TrimPrefix(whole, best), "/")
	return r, true
}

// skillBehindAt opens owner/repo@skill, where the repository has such a skill.
func (o *Opened) skillBehindAt(ctx context.Context) (*Opened, bool) {
	r := o.Want.Ref
	name := r.Version
	if !slices.Contains([]ref.Kind{ref.Name, ref.Forge, ref.Git}, r.Kind) || o.Place.Ref.Kind != ref.Git || r.Path != "" || r.Skill != "" || skill.CheckName(name, name) != nil {
		return nil, false
	}
	r.Version, r.Skill = "", name
	if r.Kind == ref.Name {
		r.Skill, r.Path = "", name
	}
	opened, err := o.rs.Open(ctx, Want{Ref: r})
	if err != nil {
		return nil, false
	}
	if _, err := opened.Skills(ctx, []string{name}); err != nil {
		if e, ok := diag.Own(err); !ok || e.Code != source.CodeAmbiguous {
			return nil, false
		}
	}
	return opened, true
}
