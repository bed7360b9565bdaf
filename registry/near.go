package registry

import (
	"context"
	"slices"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/spec/diag"
)

// maxNearNames bounds the names that one namespace may have although they look like others.
const maxNearNames = 100

// nameIsFree refuses a name that is new in ns and looks like one of another owner: of any other namespace that who may
// read, for a refusal must not tell what is in the rest. Within a namespace names may be as near as its owner likes, and
// the same name in two namespaces is told apart by them. An admin of the registry allows a name by [meta.Policy.NearNames].
func (g *Registry) nameIsFree(ctx context.Context, tx *meta.Tx, who Caller, ns meta.Namespace, name string) error {
	if g.Open || slices.Contains(ns.Policy.NearNames, name) {
		return nil
	}
	if taken, err := tx.HasName(ctx, ns.Name, name); err != nil || taken {
		return err
	}
	var near []meta.Skill
	err := tx.ListedNames(ctx, func(namespace, other string) {
		if namespace != ns.Name && auth.Near(name, other) {
			near = append(near, meta.Skill{Namespace: namespace, Name: other})
		}
	})
	if err != nil {
		return err
	}
	for _, other := range near {
		a, err := g.access(ctx, tx, who, other.Namespace+"/"+other.Name)
		if err != nil {
			return err
		}
		if a.read {
			return diag.New(diag.Refused, "near_name", "%s/%s is easily taken for %s/%s, which belongs to others", ns.Name, name, other.Namespace, other.Name).
				Hint("choose a name that cannot be mistaken").
				Hint("an admin of the registry can allow it: skl registry namespace set %s --allow-name %s", ns.Name, name)
		}
	}
	return nil
}

// allowNames refuses names of a policy that its namespace did not have before, unless who administers the registry: it is
// the owners of other names who are protected from them. Each one is an event of its own.
func (g *Registry) allowNames(ctx context.Context, tx *meta.Tx, who Caller, before, after meta.Namespace) error {
	if len(after.Policy.NearNames) > maxNearNames {
		return diag.New(diag.Misuse, "invalid_request", "a namespace has at most %d names that look like others", maxNearNames)
	}
	for _, name := range after.Policy.NearNames {
		if slices.Contains(before.Policy.NearNames, name) {
			continue
		}
		if err := g.checkSkillName(after.Name, name); err != nil {
			return err
		}
		if err := g.need(who, auth.Operate, auth.Everywhere); err != nil {
			return err
		}
		if err := g.event(ctx, tx, who, "near-name-allow", after.Name+"/"+name, map[string]string{}); err != nil {
			return err
		}
	}
	return nil
}
