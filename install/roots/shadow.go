package roots

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// shadow decides for each name which copy is active, and reports collisions.
// Records are sorted by name and strength.
func shadow(cfg Config, records []*Record) {
	for group := range groups(records, byName) {
		decide(cfg, group)
		warnCasefold(group)
	}
	warnConfusable(records)
}

func byName(r *Record) string { return r.key }

func byOwnName(r *Record) string { return r.ownKey }

// groups yields the runs of records that have one name.
func groups(records []*Record, name func(*Record) string) func(func([]*Record) bool) {
	return func(yield func([]*Record) bool) {
		for len(records) > 0 {
			n := 1
			for n < len(records) && name(records[n]) == name(records[0]) {
				n++
			}
			if !yield(records[:n:n]) {
				return
			}
			records = records[n:]
		}
	}
}

// decide finds the active copy of a name. The first usable one wins. A stronger copy
// that cannot be used hides nothing, except one that the administrator enforces.
func decide(cfg Config, group []*Record) {
	var winner *Record
	var passed []string
	for _, r := range group {
		switch {
		case r.State != Active:
			if winner == nil && r.Priority < bandSession {
				winner = r
			} else if winner == nil && r.State != Untrusted {
				passed = append(passed, r.Qualified+" ("+r.State+")")
			}
		case winner == nil:
			winner = r
			if len(passed) > 0 {
				r.warn("W_WEAKER_USED", "used because a stronger copy cannot be: "+strings.Join(passed, ", "))
			}
		default:
			r.State = Shadowed
			r.ShadowedBy = &winner.Qualified
			winner.Shadows = append(winner.Shadows, r.Qualified)
			cfg.compare(winner, r)
		}
	}
}

// compare reports what it means that winner hides loser.
func (c Config) compare(winner, loser *Record) {
	if winner.Digest != "" && winner.Digest == loser.Digest {
		loser.warn("W_DUPLICATE_IDENTICAL", "same content as "+winner.Qualified+", which is used")
		return
	}
	if !c.acknowledged("W_SHADOWED", winner, loser) {
		loser.warn("W_SHADOWED", "hidden by "+winner.Qualified+", which differs")
	}
	if why := downgrade(winner, loser); why != "" && !c.acknowledged("W_TRUST_DOWNGRADE", winner, loser) {
		winner.conflict("W_TRUST_DOWNGRADE", why+", and hides "+loser.Qualified, loser)
	}
}

// conflict is a warning about winner that an Ack can silence.
func (r *Record) conflict(code, message string, loser *Record) {
	r.warn(code, message)
	r.open = append(r.open, Ack{code, r.Name, bundle.Digest(r.Digest), bundle.Digest(loser.Digest)})
}

// Open returns the acknowledgements that would silence r's conflicts. A copy that
// has no digest, because it cannot be a bundle, cannot be acknowledged.
func (r Record) Open() []Ack {
	return slices.DeleteFunc(slices.Clone(r.open), func(a Ack) bool { return a.Winner == "" || a.Loser == "" })
}

func (c Config) acknowledged(code string, winner, loser *Record) bool {
	if winner.Digest == "" || loser.Digest == "" {
		return false
	}
	return slices.ContainsFunc(c.Acks, func(a Ack) bool {
		return a.Code == code && skill.NameKey(a.Name) == winner.key && a.Winner == bundle.Digest(winner.Digest) && a.Loser == bundle.Digest(loser.Digest)
	})
}

// downgrade says in what way winner's provenance is weaker than loser's, or "".
// A receipt counts while the files agree with it.
func downgrade(winner, loser *Record) string {
	switch {
	case !loser.pinned():
		return ""
	case !winner.pinned():
		return "it has no receipt, or was edited since it was installed"
	case loser.signed() && !winner.signed():
		return "it is not signed, the copy below it is"
	case loser.verified() && !winner.verified():
		return "its signature was not verified here, that of the copy below it was"
	case winner.found.source != loser.found.source || winner.found.url != loser.found.url:
		return "it comes from another source, " + diag.Printable(winner.found.url)
	}
	return ""
}

// pinned reports whether the copy is what its receipt names, and nothing else.
func (r *Record) pinned() bool {
	return r.found.receiptTree != "" && r.found.receiptTree == r.found.tree && !r.found.isMore
}

func (r *Record) verified() bool { return r.Signature != nil && r.Signature.State == "verified" }

func (r *Record) signed() bool {
	return r.Signature != nil && r.Signature.Signer != "" && r.Signature.State != "failed" && r.Signature.State != "unsigned"
}

func warnCasefold(group []*Record) {
	for _, r := range group[1:] {
		if r.Name != group[0].Name {
			r.warn("W_CASEFOLD", "spelled like "+diag.Printable(group[0].Name)+" ("+group[0].Qualified+") but for case or form; they count as one name")
		}
	}
}

// warnConfusable reports names that look the same and are not.
func warnConfusable(records []*Record) {
	plain := true
	for _, r := range records {
		plain = plain && isASCII(r.key)
	}
	if plain {
		return
	}
	bySkeleton := make(map[string]*Record)
	for group := range groups(records, byName) {
		looks := skill.Skeleton(group[0].key)
		first, ok := bySkeleton[looks]
		if !ok {
			bySkeleton[looks] = group[0]
			continue
		}
		for _, pair := range [][2]*Record{{group[0], first}, {first, group[0]}} {
			pair[0].warn("W_CONFUSABLE", "looks like "+pair[1].Qualified+", which is another name")
		}
	}
}

// useHosts works out what each host does with each copy, and reports where
// hosts disagree. It returns what it could not find out.
func useHosts(cfg Config, records []*Record) (told []HostBudget, unclear []Warning) {
	env := cfg.env()
	var readers []hosts.Reader
	var all []hosts.Host
	for _, id := range cfg.Hosts {
		if h, ok := hosts.Find(id); ok {
			readers = append(readers, h.Reader(env))
			all = append(all, h)
		}
	}
	if len(readers) == 0 {
		return nil, nil
	}
	copies := make([]hosts.Copy, len(records))
	for i, r := range records {
		copies[i] = r.copy()
		r.Hosts = make([]HostUse, 0, len(readers))
	}
	for n, reader := range readers { // which copies have one name is different from host to host
		for _, u := range reader.Unclear() {
			unclear = append(unclear, Warning{"W_SETTINGS", fmt.Sprintf("%s could not be read, so whether %s loads a skill is not known: %s", cfg.showSettings(u.File), all[n].Name, u.Why)})
		}
		for i, use := range reader.Use(copies) {
			u := HostUse{Host: all[n].ID, Use: use}
			if use == hosts.Off {
				u.Off = reader.Off(copies[i])
			}
			if u.Shown() {
				u.takeGates(all[n], records[i].found.ungated(all[n]))
				for _, file := range reader.Unclear() {
					u.Unclear = append(u.Unclear, file.File)
				}
			}
			records[i].Hosts = append(records[i].Hosts, u)
		}
	}
	offCopies(records)
	warnOff(cfg, records)
	warnUngated(records)
	asCalled := slices.Clone(records) // agents take two skills for one that have one name in their SKILL.md
	slices.SortStableFunc(asCalled, func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.ownKey, b.ownKey), cmp.Compare(a.first.index, b.first.index), cmp.Compare(a.Path, b.Path))
	})
	for group := range groups(asCalled, byOwnName) {
		warnPreferred(cfg, group)
		warnDivergence(cfg, group)
	}
	for n, reader := range readers {
		if b := tellHost(n, all[n], reader, copies, records); b != nil {
			told = append(told, *b)
		}
	}
	return told, unclear
}

// tellHost notes of what the host loads how much its model is told, and sums that up; nil for a host that is not known to tell less than
// everything, or that loads nothing.
func tellHost(n int, h hosts.Host, reader hosts.Reader, copies []hosts.Copy, records []*Record) *HostBudget {
	budget := reader.Budget()
	if budget == nil {
		return nil
	}
	uses := make([]string, len(records))
	for i, r := range records {
		uses[i] = r.Hosts[n].Use
	}
	sum := HostBudget{Host: h.ID, Budget: *budget}
	list, need := reader.Tell(copies, uses)
	sum.Needs = need
	for i, told := range list {
		if told == nil {
			continue
		}
		sum.Skills++
		use := &records[i].Hosts[n]
		use.chosen = use.Use
		switch {
		case told.Whole():
			sum.Whole++
			continue
		case told.Named:
			use.Use = hosts.Cut
			if told.Chars > 0 {
				sum.Cut++
			} else {
				sum.Named++
			}
		default:
			sum.Dropped++
			use.Use = hosts.Dropped
		}
		use.Told = told
	}
	if sum.Skills == 0 {
		return nil
	}
	return &sum
}

// offCopies notes of a skill that a host reads by a copy that skl made of it alone, and is told not to load, that it is off.
func offCopies(records []*Record) {
	for group := range groups(records, byName) {
		for _, c := range group {
			for _, r := range group {
				for n, h := range c.Hosts {
					if c.CopyOf == r.Qualified && h.Use == hosts.Off && r.Hosts[n].Use == hosts.Unread {
						r.Hosts[n] = h
					}
				}
			}
		}
	}
}

// warnOff says by which file each host is told not to load a copy.
func warnOff(cfg Config, records []*Record) {
	for _, r := range records {
		for _, h := range r.Hosts {
			if h.Off == nil {
				continue
			}
			at := diag.Position{File: cfg.showSettings(h.Off.File), Line: h.Off.Line}
			r.warn("W_OFF", h.Host+" is told not to load it, in "+at.String()+": "+h.Off.Text)
		}
	}
}

// showSettings shortens the path of a host's settings.
func (c Config) showSettings(path string) string { return diag.Printable(c.show(ScopeProject, path)) }

// takeGates says which limits the host does not keep.
func (u *HostUse) takeGates(h hosts.Host, ungated []string) {
	if len(ungated) == 0 {
		return
	}
	u.Ungated, u.Reason = ungated, h.Name+" does not keep "+strings.Join(ungated, ", ")
	if !h.Measured {
		u.Reason = h.Name + " is not known to keep " + strings.Join(ungated, ", ")
	}
}

// warnUngated reports limits of a skill that hosts which show it to their models do not keep.
func warnUngated(records []*Record) {
	for _, r := range records {
		byLimits, order := map[string][]string{}, []string{}
		for _, h := range r.Hosts {
			if limits := strings.Join(h.Ungated, ", "); limits != "" {
				if byLimits[limits] == nil {
					order = append(order, limits)
				}
				byLimits[limits] = append(byLimits[limits], h.Host)
			}
		}
		for _, limits := range order {
			r.warn("W_UNGATED", limits+": not kept by "+strings.Join(byLimits[limits], ", "))
		}
	}
}

// warnPreferred reports that a host loads a copy of weaker provenance where skl
// would not: the one that it takes instead of a pinned copy.
func warnPreferred(cfg Config, group []*Record) {
	for _, winner := range group {
		for _, loser := range group {
			var ids []string
			for n, h := range winner.Hosts {
				if h.Use == hosts.Loads && (loser.Hosts[n].Use == hosts.Hidden || loser.Hosts[n].Use == hosts.Listed) {
					ids = append(ids, h.Host)
				}
			}
			if len(ids) == 0 || loser.ShadowedBy != nil && *loser.ShadowedBy == winner.Qualified || winner.Digest != "" && winner.Digest == loser.Digest {
				continue
			}
			if why := downgrade(winner, loser); why != "" && !cfg.acknowledged("W_TRUST_DOWNGRADE", winner, loser) {
				winner.conflict("W_TRUST_DOWNGRADE", why+", and "+strings.Join(ids, ", ")+" loads it instead of "+loser.Qualified, loser)
			}
		}
	}
}

// copy is r as hosts see it. They know nothing of gates and later formats.
func (r *Record) copy() hosts.Copy {
	c := hosts.Copy{
		Dir: r.Path, Name: r.found.name, Front: r.found.front, Tree: r.Digest,
		Unusable: r.State == Disabled || r.State == Invalid && r.found.front == "",
		Invalid:  r.State == Invalid,
		Linked:   r.isLinked,
		Withheld: r.found.withheld != "",

		Description: cmp.Or(r.found.listed, r.found.description), WhenToUse: r.found.whenToUse,
	}
	for _, s := range r.spots {
		for _, root := range append([]string{s.place.Path}, s.place.aliases...) {
			c.Places = append(c.Places, hosts.Place{Root: root, Rel: s.rel, Whole: s.place.isWhole})
		}
	}
	return c
}

// warnDivergence reports that two hosts load different content for one name.
func warnDivergence(cfg Config, group []*Record) {
	if len(group) == 1 {
		return
	}
	type view struct {
		host   string
		copies []*Record
	}
	var views []view
	for n := range group[0].Hosts {
		v := view{host: group[0].Hosts[n].Host}
		for _, use := range []string{hosts.Loads, hosts.Unstable, hosts.Listed} {
			for _, r := range group {
				if r.Hosts[n].Use == use {
					v.copies = append(v.copies, r)
				}
			}
			if len(v.copies) > 0 {
				views = append(views, v)
				break
			}
		}
	}
	if len(views) < 2 {
		return
	}
	for _, v := range views[1:] {
		a, b := differing(views[0].copies, v.copies)
		if a == nil || cfg.acknowledged("W_HOST_DIVERGENCE", a, b) || cfg.acknowledged("W_HOST_DIVERGENCE", b, a) {
			continue
		}
		strongest(group).warn("W_HOST_DIVERGENCE", views[0].host+" loads "+a.Qualified+", "+v.host+" may load "+b.Qualified+", which differs")
		return
	}
}

// differing returns two copies with different content, one of each list.
func differing(as, bs []*Record) (a, b *Record) {
	for _, a := range as {
		for _, b := range bs {
			if a != b && (a.Digest == "" || a.Digest != b.Digest) {
				return a, b
			}
		}
	}
	return nil, nil
}

// strongest returns the active copy, or the first if none is.
func strongest(group []*Record) *Record {
	for _, r := range group {
		if r.State == Active {
			return r
		}
	}
	return group[0]
}
