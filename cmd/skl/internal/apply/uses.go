package apply

import (
	"context"
	"slices"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
)

// noteUses fills in what each agent does with the skills that were added or updated, so that nothing is called installed
// for an agent that does not read it. An agent that reads a copy reads the skill.
// What agents tell their models a part only of is returned.
func (a *Applier) noteUses(ctx context.Context, ids []string, changes install.Changes) (short []roots.HostBudget, err error) {
	fresh := func(c install.Change) bool { return c.Action == install.Add || c.Action == install.Update }
	if len(ids) == 0 || !slices.ContainsFunc(changes.List, fresh) {
		return nil, nil
	}
	l, err := a.Scope.Discover(ctx, ids)
	if err != nil {
		return nil, err
	}
	for i := range changes.List {
		c := &changes.List[i]
		if !fresh(*c) {
			continue
		}
		at, off := a.Scope.Site.Place(c.Name)
		if off {
			continue
		}
		found := l.Lookup(c.Name)
		for _, id := range ids {
			use := roots.HostUse{Host: id, Use: hosts.Unread}
			for _, r := range found {
				if r.Path == at || r.CopyOf != "" && r.Scope == string(a.Scope.Kind) {
					use = better(use, r)
				}
			}
			c.Hosts = append(c.Hosts, use)
		}
	}
	return slices.DeleteFunc(l.Budgets, roots.HostBudget.Fits), nil
}

// better is use, or what the host does with r if that is more.
func better(use roots.HostUse, r roots.Record) roots.HostUse {
	order := []string{hosts.Loads, hosts.Listed, hosts.Cut, hosts.Dropped, hosts.Unstable, hosts.Untrusted, hosts.Off, hosts.Hidden, hosts.Unread}
	for _, h := range r.Hosts {
		if h.Host == use.Host && slices.Index(order, h.Use) < slices.Index(order, use.Use) {
			h.Ungated, h.Reason = nil, ""
			use = h
		}
	}
	return use
}
