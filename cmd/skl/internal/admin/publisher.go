package admin

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
)

// A Publishers is who publish to a namespace with identity tokens of a CI.
type Publishers struct {
	Publishers []wire.Publisher `json:"publishers"`
}

// A PublisherRequest describes a publisher: a repository of GitHub or of gitlab.com, or the claims of an issuer.
type PublisherRequest struct {
	Site                       Site
	Namespace                  string
	GitHub, GitLab             string   // OWNER/NAME
	Workflow, Environment, Ref string   // of a repository; "" is any
	Issuer                     string   // URL
	Claims                     []string // NAME=PATTERN
	DryRun                     bool
}

// publisher is what the request describes.
func (r PublisherRequest) publisher() (wire.Publisher, error) {
	p := wire.Publisher{Issuer: r.Issuer, Claims: map[string]string{}}
	set := func(name, value string) {
		if value != "" {
			p.Claims[name] = value
		}
	}
	kinds := 0
	for _, s := range []string{r.GitHub, r.GitLab, r.Issuer} {
		if s != "" {
			kinds++
		}
	}
	ask := func(format string, args ...any) (wire.Publisher, error) {
		return wire.Publisher{}, diag.New(diag.Misuse, "usage", format, args...).Hint("skl registry publisher add NAMESPACE --github OWNER/REPO --workflow FILE")
	}
	switch {
	case kinds != 1:
		return ask("a publisher is one of --github OWNER/NAME, --gitlab GROUP/NAME, and --issuer URL with --claim NAME=PATTERN")
	case r.GitHub != "":
		p.Issuer = registry.GitHub
		set("repository", r.GitHub)
		set("ref", r.Ref)
		if r.Workflow != "" {
			set("workflow_ref", r.GitHub+"/.github/workflows/"+r.Workflow+"@*")
		}
	case r.GitLab != "":
		p.Issuer = registry.GitLab
		set("project_path", r.GitLab)
		set("ref_path", r.Ref)
		if r.Workflow != "" {
			set("ci_config_ref_uri", "gitlab.com/"+r.GitLab+"//"+r.Workflow+"@*")
		}
	case r.Workflow != "" || r.Ref != "":
		return ask("--workflow and --ref are of a repository of GitHub or GitLab; of %s say --claim NAME=PATTERN", r.Issuer)
	}
	if repository := r.GitHub + r.GitLab; repository != "" && (!strings.Contains(repository, "/") || strings.HasPrefix(repository, "/")) {
		return ask("%q is not a repository, OWNER/NAME", repository)
	}
	set("environment", r.Environment)
	for _, c := range r.Claims {
		name, value, ok := strings.Cut(c, "=")
		if !ok || name == "" || value == "" {
			return ask("--claim is NAME=PATTERN, not %q", c)
		}
		set(name, value)
	}
	return p, nil
}

// BoundTo is what a token of a publisher has to say, for people.
func BoundTo(p wire.Publisher) string {
	parts := []string{p.Issuer}
	for _, name := range slices.Sorted(maps.Keys(p.Claims)) {
		parts = append(parts, name+"="+p.Claims[name])
	}
	return diag.Printable(strings.Join(parts, " "))
}

// AddPublisher lets a job of a CI publish.
func (a *Admin) AddPublisher(ctx context.Context, r PublisherRequest) (Publishers, error) {
	p, err := r.publisher()
	if err != nil {
		return Publishers{}, err
	}
	out, err := a.publishers(ctx, r.Site, r.Namespace, http.MethodGet, nil) // which says whether the namespace is there
	if err == nil && !r.DryRun {
		out, err = a.publishers(ctx, r.Site, r.Namespace, http.MethodPost, p)
	} else {
		out.Publishers = []wire.Publisher{p}
	}
	return out, err
}

// Publishers lists them.
func (a *Admin) Publishers(ctx context.Context, at Site, namespace string) (Publishers, error) {
	return a.publishers(ctx, at, namespace, http.MethodGet, nil)
}

// RemovePublisher takes it back. It returns the one that was.
func (a *Admin) RemovePublisher(ctx context.Context, at Site, namespace, id string, dry bool) (Publishers, error) {
	out, err := a.Publishers(ctx, at, namespace)
	if err != nil {
		return out, err
	}
	out.Publishers = slices.DeleteFunc(out.Publishers, func(p wire.Publisher) bool { return p.ID != id })
	switch {
	case len(out.Publishers) == 0:
		return out, diag.New(diag.Misuse, "unknown_account", "there is no publisher %s of %s", id, namespace).Hint("skl registry publisher list %s", namespace)
	case !dry:
		_, err = a.publishers(ctx, at, namespace, http.MethodDelete, nil, id)
	}
	return out, err
}

// publishers is one request about them.
func (a *Admin) publishers(ctx context.Context, at Site, namespace, method string, body any, id ...string) (Publishers, error) {
	return on(ctx, a, at, func(s *site) (Publishers, error) {
		page := wire.Page[wire.Publisher]{Items: []wire.Publisher{}}
		out := any(&page)
		if method == http.MethodDelete {
			out = nil
		}
		err := s.client.Call(ctx, method, body, out, append([]string{"namespaces", namespace, "publishers"}, id...)...)
		return Publishers{page.Items}, err
	})
}
