package ship

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A destination is where a skill is published: a registry of skl's own kind, or any OCI registry.
type destination struct {
	shown  string         // for people
	rest   *client.Client // nil for other OCI registries
	oci    *client.OCI
	host   string
	prefix string // before the namespace, on other OCI registries
}

// destination finds out what --to means; named says that the command line has it.
func (s *Shipper) destination(ctx context.Context, to string, named bool) (*destination, error) {
	d := &destination{oci: client.NewOCI(s.Scope.HTTP)}
	d.oci.Progress = s.Scope.Progress
	d.oci.Warn = func(text string) { s.Scope.Tell.Warn("%s", text) }
	if host, ok := strings.CutPrefix(to, "oci://"); ok {
		d.host, d.prefix, _ = strings.Cut(strings.TrimSuffix(host, "/"), "/")
		d.shown = to
		return d, nil
	}
	if to == "" {
		name, _, ok := s.Scope.Config.DefaultRegistry()
		if !ok {
			return nil, diag.New(diag.Misuse, "no_registry", "there is no default registry to publish to").
				Hint("skl login URL --default").Hint("or name one: --to NAME, --to URL, --to oci://HOST")
		}
		to = name
	}
	base, err := s.Scope.SiteURL(to)
	if err != nil {
		return nil, err
	}
	if named {
		s.Scope.Named(base)
	}
	if d.rest, err = client.New(s.Scope.HTTP, base); err != nil {
		return nil, err
	}
	d.shown, d.host = base, d.rest.Host()
	return d, nil
}

// leads reports whether a name of the namespace means the registry at base, where people type it here.
func (s *Shipper) leads(namespace, base string) bool {
	f, err := s.Scope.Load()
	if err != nil {
		return false
	}
	names := s.Scope.Resolver(f.Manifest)
	name := names.Asked(namespace) // which has it, if that is where it is published
	if name == "" {
		binding, err := names.Recorded(namespace)
		if name, _ = strings.CutPrefix(binding, "registry:"); err != nil || name == binding {
			return false
		}
	}
	url, err := s.Scope.SiteURL(name)
	return err == nil && url == base
}

func (d *destination) target(namespace, name string) client.Target {
	repo := namespace + "/" + name
	if d.prefix != "" {
		repo = d.prefix + "/" + repo
	}
	return client.Target{Host: d.host, Repo: repo}
}

// published finds where a release is that a person names with a version: acme/pdf@1.4.2, or an OCI ref with a
// tag or digest.
func (s *Shipper) published(ctx context.Context, arg, to string) (*destination, client.Target, string, error) {
	fail := func(err error) (*destination, client.Target, string, error) { return nil, client.Target{}, "", err }
	r, err := ref.Parse(arg)
	if err != nil {
		return fail(err)
	}
	version := r.Version
	if r.Digest != "" {
		version = string(r.Digest)
	}
	if version == "" || r.Kind != ref.Name && r.Kind != ref.OCI || r.Kind == ref.Name && r.Path != "" {
		return fail(diag.New(diag.Misuse, "invalid_ref", "%s does not name one published release", arg).Hint("write NS/NAME@VERSION, or oci://HOST/NS/NAME:TAG"))
	}
	if r.Kind == ref.OCI {
		d, err := s.destination(ctx, "oci://"+r.Host, false)
		return d, client.Target{Host: r.Host, Repo: r.Repository()}, version, err
	}
	named := to != ""
	if !named {
		if to, err = s.ownerRegistry(ctx, r); err != nil {
			return fail(err)
		}
	}
	d, err := s.destination(ctx, to, named)
	if err != nil {
		return fail(err)
	}
	return d, d.target(r.Owner, r.Repo), strings.TrimPrefix(version, "="), nil
}

// ownerRegistry is the registry that owns the namespace of a name.
func (s *Shipper) ownerRegistry(ctx context.Context, r ref.Ref) (string, error) {
	f, err := s.Scope.Load()
	if err != nil {
		return "", err
	}
	place, err := s.Scope.Resolver(f.Manifest).Locate(ctx, r)
	if err != nil {
		return "", err
	}
	name, ok := strings.CutPrefix(place.Binding, "registry:")
	if !ok {
		return "", diag.New(diag.Misuse, "no_registry", "namespace %s is not on a registry of yours, but %s", r.Owner, place.Binding).Hint("name the registry: --to NAME or URL")
	}
	return name, nil
}

func notFound(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && slices.Contains([]string{"not_found", "oci_not_found", "unknown_manifest", "unknown_version", "unknown_skill"}, e.Code)
}
