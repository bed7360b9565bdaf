package apply

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// compare asks for the tags of the entries that the next lock keeps and that ask picks, and refuses those that moved, unless a
// person accepts that: then the next lock has them as they are now. A place that does not answer is told, and its entries stay.
func (j *job) compare(ctx context.Context, ask func(*lock.Skill) bool) error {
	all, err := resolver.Wants(j.files.Manifest)
	if err != nil {
		return err
	}
	j.ask, j.compared = ask, true
	return j.compareOn(ctx, all)
}

// compareOn is compare for some entries.
func (j *job) compareOn(ctx context.Context, all []resolver.Named) error {
	ask := j.ask
	rs := j.Resolver(j.files.Manifest)
	had, now, errs := make([]*lock.Skill, len(all)), make([]*lock.Skill, len(all)), make([]error, len(all))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for i := range all {
		had[i] = j.entry(all[i].Name)
		switch {
		case had[i] == nil || j.chosen(all[i].Name):
		case j.Offline() || !ask(had[i]):
			errs[i] = errUnasked
		default:
			g.Go(func() error {
				now[i], errs[i] = rs.Compare(gctx, &all[i], had[i])
				return nil
			})
		}
	}
	g.Wait()
	unasked := 0
	for i, err := range errs {
		blocked := errors.Is(err, diag.Code(source.CodeBlocked)) // a matter of its own, which is told where it counts
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == errUnasked:
			unasked++
		case err != nil && diag.ClassOf(err) == diag.Refused && !blocked:
			return err
		case err != nil:
			unasked++
			j.Tell.Warn("%s %s was not compared with the tags of %s: %s", had[i].Name, had[i].Version, diag.Printable(had[i].URL), err)
		case now[i] != nil:
			*had[i] = *now[i]
			j.anew = append(j.anew, all[i].Name)
		}
	}
	if j.compared = j.compared && unasked == 0; unasked > 0 && j.lockOnly && j.Offline() {
		j.Tell.Warn("offline: what their sources have now was not compared: %s", diag.Count(unasked, "skill"))
	}
	return nil
}

// errUnasked is that of an entry whose place was not asked.
var errUnasked = errors.New("not asked")

// entry is the entry of name in the next lock, nil if there is none.
func (j *job) entry(name string) *lock.Skill {
	for i := range j.next.Skills {
		if s := &j.next.Skills[i]; s.Name == name {
			return s
		}
	}
	return nil
}

// asks reports whether an install asks the place of s anyway: for another of its skills, or for its files.
func (j *job) asks(s *lock.Skill) bool {
	for _, name := range j.anew {
		if other := j.entry(name); other != nil && other.Source == s.Source && other.URL == s.URL {
			return true
		}
	}
	at, _ := j.Site.Place(s.Name)
	return !j.Site.Dir.Exists(at) && !j.Store().Has(s.Tree)
}
