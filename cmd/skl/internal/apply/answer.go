package apply

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/plan"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// answer finds out what a plan asks for and adds it to the facts. in is the plan as far as it got. An error is one that no skill is the
// reason of.
func (j *job) answer(ctx context.Context, in *plan.Intent, q *plan.Questions) error {
	j.answerChoices(ctx, in, q.Choose)
	j.answerVersions(ctx, in, q.Versions)
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := j.answerComparisons(ctx, in, q.Compare); err != nil {
		return err
	}
	if len(q.Read) == 0 {
		return nil
	}
	if err := j.prepare(ctx, in); err != nil {
		return err
	}
	if err := j.withdrawn(ctx, in, q.Read); err != nil {
		return err
	}
	return j.read(ctx, in, q.Read)
}

// answerChoices asks places for releases.
func (j *job) answerChoices(ctx context.Context, in *plan.Intent, list []plan.Choice) {
	if len(list) == 0 {
		return
	}
	rs := j.a.Scope.Resolver(in.Manifest)
	wants, renew := make([]resolver.Named, len(list)), map[string]bool{}
	for i := range list {
		wants[i], renew[list[i].Want.Name] = list[i].Want, list[i].Renew
	}
	found := rs.Releases(ctx, wants, j.files.Lock, func(name string) bool { return renew[name] }, j.req.plan.Dropped)
	if ctx.Err() != nil {
		return // what came of it says nothing of the places
	}
	for i := range list {
		j.facts.Releases[list[i].Key] = found[i]
	}
}

// answerVersions asks places for all their versions.
func (j *job) answerVersions(ctx context.Context, in *plan.Intent, list []plan.Listing) {
	rs := j.a.Scope.Resolver(in.Manifest)
	found := make([]plan.Versions, len(list))
	var g errgroup.Group
	g.SetLimit(8)
	for i := range list {
		g.Go(func() error {
			is, out := &list[i], &found[i]
			o, err := rs.Open(ctx, is.Want)
			if err == nil {
				out.List, err = o.Versions(ctx)
			}
			if out.Err = err; err == nil {
				out.Namespace, out.Binding = is.Want.Ref.Namespace(), o.Place.Binding
			}
			return nil
		})
	}
	if g.Wait(); ctx.Err() != nil {
		return
	}
	for i := range list {
		j.facts.Versions[list[i].Key] = found[i]
	}
}

// answerComparisons asks for the tags of entries that stay. One that moved is refused, unless a person accepts that. A place that does
// not answer is told, and its entry stays.
func (j *job) answerComparisons(ctx context.Context, in *plan.Intent, list []plan.Comparison) error {
	rs := j.a.Scope.Resolver(in.Manifest)
	now, errs := make([]*lock.Skill, len(list)), make([]error, len(list))
	var g errgroup.Group
	g.SetLimit(8)
	for i := range list {
		if j.a.Scope.Offline() || !j.asks(in, &list[i].Skill) {
			errs[i] = errUnasked
			continue
		}
		g.Go(func() error {
			now[i], errs[i] = rs.Compare(ctx, &list[i].Want, &list[i].Skill)
			return nil
		})
	}
	g.Wait()
	unasked := 0
	for i, err := range errs {
		blocked := errors.Is(err, diag.Code(source.CodeBlocked)) || errors.Is(err, diag.Code(source.CodeYanked)) // a matter of its own, which is told where it counts
		s := &list[i].Skill
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == errUnasked:
			unasked++
		case err != nil && diag.ClassOf(err) == diag.Refused && !blocked:
			return err
		case err != nil:
			unasked++
			j.a.Scope.Tell.Warn("%s %s was not compared with the tags of %s: %s", s.Name, s.Version, diag.Printable(s.URL), err)
		}
		j.facts.Compared[s.Name] = now[i]
	}
	if j.compared = j.compared && unasked == 0; unasked > 0 && j.req.mode == locks && j.a.Scope.Offline() {
		j.a.Scope.Tell.Warn("offline: not compared with their sources: %s", diag.Count(unasked, "skill"))
	}
	return nil
}

// errUnasked is that of an entry whose place was not asked.
var errUnasked = errors.New("not asked")

// asks reports whether the place of an entry that stays is asked for its tags. An install asks a place that it asks anyway: for another of its
// skills, or for its files.
func (j *job) asks(in *plan.Intent, s *lock.Skill) bool {
	if j.req.mode == locks {
		return true
	}
	for _, name := range in.Anew {
		if other := in.Entry(name); other != nil && other.Source == s.Source && other.URL == s.URL {
			return true
		}
	}
	at, _ := j.a.Scope.Site.Place(s.Name)
	return !j.a.Scope.Site.Dir.Exists(at) && !j.a.Scope.Store().Has(s.Tree)
}

// withdrawn asks registries whether they took back what is about to be fetched, once for each release. An install that asks for one that is
// blocked, by a reference or for all that is locked, is refused; of others it is said.
func (j *job) withdrawn(ctx context.Context, in *plan.Intent, list []plan.Reading) error {
	if j.req.mode != installs && j.req.mode != locks {
		return nil
	}
	look := &lock.Lock{}
	needed := map[string]bool{}
	for i := range list {
		s := list[i].Skill
		if _, wanted := in.Manifest.Skill(s.Name); !wanted {
			needed[s.Name] = true
		} else if j.req.mode == locks {
			continue
		}
		look.Set(s)
	}
	found, err := j.a.Withdrawals(ctx, Glance, j.a.Releases(look, nil, nil))
	if err != nil {
		return err
	}
	for _, w := range found {
		named := len(j.req.refs) == 0 || slices.ContainsFunc(j.req.refs, func(r ref.Ref) bool { return r.Owner+"/"+r.Repo == w.Of })
		if j.req.mode == installs && !needed[w.Name] && named {
			if err := Blocked([]Withdrawal{w}); err != nil {
				return err
			}
		}
	}
	j.a.WarnBlocked(found)
	return nil
}

// read checks the signatures of releases, fetches what is missing and reads what their files say. What stays as it is, is read where it is
// here.
func (j *job) read(ctx context.Context, in *plan.Intent, list []plan.Reading) error {
	var todo []*plan.Reading
	for i := range list {
		r := &list[i]
		if r.Held && !j.site.in.Missing(r.Skill, j.site.have) {
			err := j.note(r, r.Skill, nil, nil)
			if err != nil {
				return err
			}
			continue
		}
		todo = append(todo, r)
	}
	skills, anew := make([]lock.Skill, len(todo)), map[string]bool{}
	for i, r := range todo {
		skills[i] = r.Skill
		if anew[r.Skill.Name] = r.Anew; r.Anew {
			old, _ := j.files.Lock.Skill(r.Skill.Name)
			if err := j.a.Signatures.Forget(&skills[i], old); err != nil {
				return err
			}
		}
	}
	errs, err := j.a.Signatures.Check(ctx, skills, j.files.Lock, signature.Options{
		AllowUnsigned: j.req.agreed.AllowUnsigned, Accept: j.req.agreed.Accept, Dry: j.req.dry, LockOnly: j.req.mode == locks, Chosen: func(name string) bool { return anew[name] },
	})
	if err != nil {
		return err
	}
	if err := j.a.Scope.Prefetch(ctx, j.site.in.Installer, skills, j.site.have); err != nil && !j.tolerant() {
		return err
	}
	wishes, err := j.a.materialise(ctx, j.site.in, materials{want: skills, errs: errs, old: j.files.Lock, have: j.site.have, dry: j.req.dry, alone: j.tolerant(), chosen: func(name string) bool { return anew[name] }, stays: j.stays(in)})
	if err != nil {
		return err
	}
	for i, r := range todo {
		if err := j.note(r, skills[i], wishes[i], errs[i]); err != nil {
			return err
		}
	}
	return nil
}

// stays says of an entry of the lock whether its name is one in a plan: it is in skl.toml, or was needed by another.
func (j *job) stays(in *plan.Intent) func(*lock.Skill) bool {
	return func(o *lock.Skill) bool {
		_, named := in.Manifest.Skill(o.Name)
		return named || len(o.RequiredBy) > 0
	}
}

// tolerant reports whether what cannot be had of one skill does not stop the others.
func (j *job) tolerant() bool { return j.req.all || j.req.mode == updates }

// note adds to the facts what the files of a release say. One whose files are nowhere needs what skl.lock says of it.
func (j *job) note(r *plan.Reading, s lock.Skill, wishes []Wish, bad error) error {
	if bad == nil {
		front, _, err := j.site.in.front(&s, j.site.have[s.Name])
		if err != nil {
			return err
		}
		all, err := needsIn(front)
		if err != nil {
			all = nil
			j.seen.unread[s.Name] = err
		}
		if front.Text == nil {
			all = plan.LockedNeeds(j.files.Lock, &s)
		}
		j.facts.Needs[r.NeedsKey()] = all
	}
	j.facts.Read[r.Key()] = plan.Bundle{Skill: s, Err: bad}
	j.seen.wishes[r.Key()] = wishes
	return nil
}

const mostPeeked = 16 // releases that are fetched to see what would help in a conflict

// explained is err; of needs that do not fit together, with what was found to help.
func (j *job) explained(ctx context.Context, err error) error {
	c, ok := errors.AsType[*plan.Conflict](err)
	if !ok {
		return err
	}
	left := mostPeeked
	return c.Explain(ctx, func(ctx context.Context, in *plan.Intent, q *plan.Questions) bool { return j.peek(ctx, in, q, &left) })
}

// peek answers questions for an explanation: files are read and not kept. It reports false where something cannot be found out, or no more than
// left releases would be fetched.
func (j *job) peek(ctx context.Context, in *plan.Intent, q *plan.Questions, left *int) bool {
	j.answerChoices(ctx, in, q.Choose)
	j.answerVersions(ctx, in, q.Versions)
	for i := range q.Read {
		r := &q.Read[i]
		if *left--; *left < 0 {
			return false
		}
		t, err := trees.Release(ctx, j.a.Scope, r.Skill)
		if err != nil {
			return false
		}
		front := Front{Text: t["SKILL.md"].Data, Sidecar: t.Sidecar(), Manifest: t[resolver.OwnManifest].Data, APM: t[resolver.APMManifest].Data}
		if j.facts.Needs[r.NeedsKey()], err = needsIn(front); err != nil {
			return false
		}
	}
	return ctx.Err() == nil
}
