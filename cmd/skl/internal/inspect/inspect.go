// Package inspect looks at what is there: the copies of all roots and the one that each agent loads, one skill in full,
// and whether manifest, lock, disk and agents agree. Nothing is changed, but for two requests: Move puts a copy aside or
// back, and Doctor mends links when asked to.
package inspect

import (
	"context"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
)

// An Inspector looks at a scope.
type Inspector struct {
	Applier *apply.Applier
	Version string // of skl, for Doctor

	// Gone are the places at which the skill in a folder, made of a package, names what the package does not have any more. Nil knows of none.
	Gone func(ctx context.Context, dir string) []string
}

// active is the index of the copy that wins among found, -1 if there is none.
func active(found []roots.Record) int {
	return slices.IndexFunc(found, func(r roots.Record) bool { return r.State == roots.Active })
}

// use is what a host does with a copy, "" if the host was not looked at.
func use(r roots.Record, host string) string {
	for _, h := range r.Hosts {
		if h.Host == host {
			return h.Chosen()
		}
	}
	return ""
}

// LoadedHidden reports whether a host loads a copy that is not the active one.
func LoadedHidden(r roots.Record, host string) bool {
	return use(r, host) == hosts.Loads && r.State != roots.Active
}
