package admin

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// An Advisories is warnings about releases, as OSV has them.
type Advisories struct {
	Advisories []wire.Advisory `json:"advisories"`
}

// A NewAdvisory is what a warning says, without the name of the skill.
type NewAdvisory = wire.NewAdvisory

// An AdvisoryRequest warns of releases of a skill.
type AdvisoryRequest struct {
	Site   Site
	Skill  string // NAMESPACE/NAME, or with @VERSION for one
	New    NewAdvisory
	DryRun bool
}

// AddAdvisory publishes a warning, in the log and in the feed of the registry.
func (a *Admin) AddAdvisory(ctx context.Context, r AdvisoryRequest) (Advisories, error) {
	skill, version, one := strings.Cut(r.Skill, "@")
	namespace, name, ok := strings.Cut(skill, "/")
	if one && version != "" && r.New.Versions == "" {
		r.New.Versions = "=" + version
	}
	if !ok || name == "" || one && r.New.Versions != "="+version {
		return Advisories{}, diag.New(diag.Misuse, "usage", "name NAMESPACE/NAME with --versions or --digest, or NAMESPACE/NAME@VERSION").
			Hint("skl registry advisory add acme/pdf --versions '<1.4.3' --severity high --summary 'sends forms elsewhere'")
	}
	r.New.Name = name
	if r.DryRun {
		out, err := a.Advisories(ctx, r.Site, namespace)
		out.Advisories = []wire.Advisory{{ID: r.New.ID, Summary: r.New.Summary, Own: wire.Advised{Severity: r.New.Severity, Versions: r.New.Versions, Digests: r.New.Digests, Fixed: r.New.Fixed, Of: []string{}}}}
		return out, err
	}
	return a.advisories(ctx, r.Site, namespace, http.MethodPost, r.New)
}

// WithdrawAdvisory takes a warning back. It stays in the feed, marked.
func (a *Admin) WithdrawAdvisory(ctx context.Context, at Site, namespace, id, reason string, dry bool) (Advisories, error) {
	if !dry {
		return a.advisories(ctx, at, namespace, http.MethodPost, wire.AdvisoryChange{Reason: reason}, id, "withdraw")
	}
	out, err := a.Advisories(ctx, at, namespace)
	out.Advisories = slices.DeleteFunc(out.Advisories, func(one wire.Advisory) bool { return one.ID != id })
	if err == nil && len(out.Advisories) == 0 {
		err = diag.New(diag.Misuse, "not_found", "there is no advisory %s in namespace %s", id, namespace).Hint("skl registry advisory list %s", namespace)
	}
	return out, err
}

// Advisories lists those of a namespace.
func (a *Admin) Advisories(ctx context.Context, at Site, namespace string) (Advisories, error) {
	return a.advisories(ctx, at, namespace, http.MethodGet, nil)
}

// advisories is one request about them.
func (a *Admin) advisories(ctx context.Context, at Site, namespace, method string, body any, more ...string) (Advisories, error) {
	return on(ctx, a, at, func(s *site) (Advisories, error) {
		page := wire.Page[wire.Advisory]{Items: []wire.Advisory{}}
		err := s.client.Call(ctx, method, body, &page, append([]string{"namespaces", namespace, "advisories"}, more...)...)
		return Advisories{page.Items}, err
	})
}
