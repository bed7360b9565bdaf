package scope

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// CheckLocal refuses a skl.toml that takes a folder from outside of the repository, or asks an address of this
// machine or its network that the configuration does not name, in a project that this user does not trust yet:
// it would copy the user's own files into the project, and find out what listens here. A path that seems to be
// inside and leads out by a link is refused in every project.
func (sc *Scope) CheckLocal(f *Files) error {
	for _, s := range f.Manifest.Skills {
		if err := sc.checkWritten(f.ManifestPath, s.Name, s.Ref); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(f.Manifest.Markets)) {
		if err := sc.checkWritten(f.ManifestPath, "market "+name, f.Manifest.Markets[name]); err != nil {
			return err
		}
	}
	return nil // a local entry of the lock has to agree with skl.toml: see resolver.Agree
}

// checkWritten is CheckLocal for one ref that a skl.toml gives to a name.
func (sc *Scope) checkWritten(file, name, text string) error {
	if sc.Kind != hosts.Project {
		return nil
	}
	r, err := ref.Parse(text)
	if err != nil || r.Kind != ref.Local && !sc.leadsInward(r) {
		return nil
	}
	trusted, err := sc.Trusted()
	if err != nil {
		return err
	}
	if r.Kind != ref.Local {
		if trusted {
			return nil
		}
		return diag.New(diag.Refused, "E_LOCAL_OUTSIDE", "%s: %s takes %s, which is on this machine or its network", sc.Short(file), name, r).
			Hint("if you trust whoever wrote that: skl trust allow")
	}
	top := sc.gitTop()
	written := Absolute(sc.Base, filepath.FromSlash(r.Path))
	real := Resolved(written)
	if Holds(top, real) || trusted && !Below(top, written) {
		return nil
	}
	e := diag.New(diag.Refused, "E_LOCAL_OUTSIDE", "%s: %s takes %s, which is outside of %s", sc.Short(file), name, real, sc.Short(top))
	if Below(top, written) {
		return e.Hint("%s is a link: name the folder itself", sc.Short(written))
	}
	return e.Hint("if you trust whoever wrote that: skl trust allow")
}

// CheckNeed refuses a need of a release, which its author chose and nobody here, that asks an address of this machine or of its network that the
// configuration does not name, unless the release itself is from there: at is its URL, "" for one of a folder, which counts as the project's own word.
func (sc *Scope) CheckNeed(by, at string, n *resolver.Need) error {
	r := n.Want.Ref
	if !sc.leadsInward(r) {
		return nil
	}
	if at == "" { // a folder of whoever wrote the project
		if trusted, err := sc.Trusted(); err != nil || trusted {
			return err
		}
	}
	host := func(text string) string {
		u, err := url.Parse(text)
		if err != nil {
			return ""
		}
		return u.Host
	}
	to := r.Host
	if r.Kind == ref.Git {
		to = host(r.URL)
	}
	if to != "" && to == host(at) {
		return nil
	}
	return diag.New(diag.Refused, "E_LOCAL_OUTSIDE", "%s needs %s (%s), which is on this machine or its network", by, r, n.File).
		Hint("if that is yours: skl install %s", diag.Quote(r.String()))
}

// leadsInward reports whether r names an address of this machine or of its network that the configuration
// does not name.
func (sc *Scope) leadsInward(r ref.Ref) bool {
	host := r.Host
	switch r.Kind {
	case ref.Git:
		if !ref.InwardURL(r.URL) {
			return false
		}
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme == "file" {
			return !slices.ContainsFunc(slices.Collect(maps.Values(sc.Config.Forges)), func(forge string) bool {
				return strings.HasPrefix(r.URL, strings.TrimSuffix(forge, "/")+"/")
			})
		}
		host = u.Host
	case ref.OCI:
	default:
		return false
	}
	name, _, _ := strings.Cut(host, ":")
	if slices.ContainsFunc(sc.Config.Signers, func(s config.Signer) bool { return strings.HasPrefix(s.Namespace, host+"/") }) {
		return false
	}
	return ref.Inward(host) && !sc.HTTP.Known[strings.ToLower(host)] && !sc.HTTP.Known[strings.ToLower(name)]
}

// TypedPath is a path of skl.toml as a person types it in the working directory; what is far from there is absolute.
func (sc *Scope) TypedPath(refPath string) string {
	at := Absolute(sc.Base, filepath.FromSlash(refPath))
	rel, err := filepath.Rel(sc.Cwd, at)
	text := filepath.ToSlash(rel)
	switch {
	case err != nil || text == "../.." || strings.HasPrefix(text, "../../"):
		return filepath.ToSlash(at)
	case text == "." || text == ".." || strings.HasPrefix(text, "../"):
		return text
	}
	return "./" + text
}

// TypedRef is a local ref of skl.toml as a person types it in the working directory; others are what they are.
func (sc *Scope) TypedRef(r ref.Ref) ref.Ref {
	if r.Kind != ref.Local {
		return r
	}
	typed, err := ref.Parse(sc.TypedPath(r.Path))
	if err != nil {
		return r
	}
	typed.Skill = r.Skill
	return typed
}
