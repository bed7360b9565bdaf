package apply

import (
	"context"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// Passed is what looks like a skill at a place, and is none to skl.
type Passed = source.Passed

// A Holding is a skill that a reference holds.
type Holding struct {
	source.Found
	Held *Held // why an install of all of them leaves it out, as far as that is known without its files; nil if it does not
}

// Holdings lists the skills of one reference, all paths of a name, and what is passed over there. It changes nothing.
func (a *Applier) Holdings(ctx context.Context, r ref.Ref) ([]Holding, []source.Passed, error) {
	f, err := a.Scope.Load()
	if err != nil {
		return nil, nil, err
	}
	r = a.Rebase(r)
	rs := a.Scope.Resolver(f.Manifest)
	o, err := rs.Open(ctx, resolver.Want{Ref: r, Retry: func(r ref.Ref) string { return "skl install -l " + diag.Quote(a.typed(r).String()) }})
	if err != nil {
		return nil, nil, err
	}
	offered, err := o.Skills(ctx, nil)
	if err != nil {
		return nil, nil, err
	}
	passed, err := a.passed(ctx, o, offered)
	if err != nil {
		return nil, nil, err
	}
	p := &picker{a: a, files: f}
	return p.holdings(ctx, rs, o, r, offered), passed, nil
}

// holdings are the skills of one reference, with what an install of all of them would do.
func (p *picker) holdings(ctx context.Context, rs *resolver.Resolver, o *resolver.Opened, r ref.Ref, offered []source.Found) (out []Holding) {
	all := &picker{a: p.a, files: p.files, ask: &InstallRequest{All: true}, root: p.root}
	all.offer(offered)
	for i := range offered {
		f := &offered[i]
		same := sameName(offered, *f)
		err := all.fit(*f, r, same)
		if err == nil {
			e := selected(o, *f, len(offered), false, same != nil || f.Broken() != nil)
			err = all.add(ctx, rs, r, &e)
		}
		out = append(out, held(*f, err))
		for _, other := range f.Also {
			if other.Invalid != nil {
				out = append(out, held(other, other.Invalid))
				continue
			}
			out = append(out, held(other, diag.New(diag.Misuse, source.CodeAmbiguous, "%s has its name, and comes first", diag.Printable(f.Lock.Path)).
				Hint("skl install %s", p.a.typed(byPath(r, other)))))
		}
	}
	return out
}

func held(f source.Found, err error) Holding {
	if err == nil {
		return Holding{Found: f}
	}
	h := troubled(f.Lock.Name, f.Lock.Path, err)
	return Holding{f, &h}
}

// alsoThere is passed; that it cannot be had is told, and ends nothing.
func (a *Applier) alsoThere(ctx context.Context, o *resolver.Opened, listed []source.Found) []source.Passed {
	passed, err := a.passed(ctx, o, listed)
	if err != nil {
		a.Scope.Tell.Warn("other skills there could not be listed: %s", diag.Brief(diag.Printable(err.Error()), 300))
	}
	return passed
}

// passed is what discovery passes over at the place of a reference that names no skill of it.
func (a *Applier) passed(ctx context.Context, o *resolver.Opened, listed []source.Found) ([]source.Passed, error) {
	if o.Place.Ref.Skill != "" || o.Place.Word != "" {
		return nil, nil
	}
	return o.Passed(ctx, listed)
}
