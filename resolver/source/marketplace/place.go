package marketplace

import (
	"encoding/json"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
)

// A Source says where a plugin is. Either Ref is zero, and the plugin is in the
// repository of its marketplace, or it is of kind Forge or Git.
type Source struct {
	Ref    ref.Ref    // repository, directory and version of a plugin that is elsewhere
	Path   string     // directory of one that is beside its marketplace; "" is the root
	Commit ref.Commit // pinned by the marketplace; "" if it is not
}

// A Place is where a plugin's root directory is.
type Place struct {
	Ref    ref.Ref    // Git, Forge or Local; Path is the plugin's root
	Commit ref.Commit // the only commit that may be used; "" if Ref.Version decides
}

// Check compares what was fetched with what the marketplace pins. Its error is of
// class Refused and has code E_COMMIT.
func (p Place) Check(commit ref.Commit) error {
	if p.Commit == "" || p.Commit == commit {
		return nil
	}
	return diag.New(diag.Refused, source.CodeCommit, "%s is commit %s, and its marketplace pins %s", p.Ref.WithoutVersion(), commit, p.Commit)
}

// Place says where p is, for a marketplace that was read at base (of kind Git, Forge or
// Local; its Path is the directory that holds the marketplace) and, unless base is a folder, at
// commit. A plugin beside its marketplace is taken from that same commit. A ref that is inward may be named only by a
// marketplace that is so itself.
func (p Plugin) Place(base ref.Ref, commit ref.Commit, inward func(ref.Ref) bool) (Place, error) {
	if p.Invalid != nil {
		return Place{}, p.Invalid
	}
	r := p.Source.Ref
	if r != (ref.Ref{}) {
		scheme, _, _ := strings.Cut(r.URL, "://")
		baseScheme, _, _ := strings.Cut(base.URL, "://")
		// A forge is where the configuration says; an address that the marketplace writes itself leads inward from inward only.
		deeper := r.Kind == ref.Git && inward(r) && !(base.Kind == ref.Git && ref.InwardURL(base.URL))
		if base.Kind != ref.Local && (deeper || (scheme == "file" || scheme == "http") && scheme != baseScheme) {
			return Place{}, invalid("plugin %s is at %s, where a marketplace from elsewhere cannot lead", p.Name, r.URL)
		}
		return Place{Ref: r, Commit: p.Source.Commit}, nil
	}
	r, r.Version, r.Skill = base, "", ""
	switch {
	case base.Kind != ref.Local:
		r.Path = join(base.Path, p.Source.Path)
		r.Version = string(commit)
	case p.Source.Path != "":
		r.Path = strings.TrimSuffix(base.Path, "/") + "/" + p.Source.Path
	}
	return Place{Ref: r, Commit: commit}, nil
}

// parseSource reads the "source" of a plugin. root is the marketplace's pluginRoot, which
// bare names are below; a path with "./" starts at the root of the repository.
func parseSource(src json.RawMessage, root string) (Source, error) {
	if s := str(src); s != "" {
		if s == "." || strings.HasPrefix(s, "./") {
			root = ""
		}
		dir, err := inside(root, s)
		return Source{Path: dir}, err
	}
	fields, err := object(src)
	if err != nil {
		return Source{}, invalid("source is neither a path nor an object")
	}
	var repository ref.Ref
	switch kind := str(fields["source"]); kind {
	case "local":
		dir, err := inside("", str(fields["path"]))
		return Source{Path: dir}, err
	case "github":
		repository, err = github(str(fields["repo"]))
	case "url", "git-subdir":
		repository, err = clone(str(fields["url"]))
	case "npm", "archive", "command", "pip":
		return Source{}, diag.New(diag.Failed, "unsupported_source", "sources of kind %s are not supported", kind)
	default:
		return Source{}, diag.New(diag.Failed, "unsupported_source", "source is of an unknown kind %q", kind)
	}
	if err != nil {
		return Source{}, err
	}
	return pinned(repository, fields)
}

// pinned adds directory, version and commit to a repository.
func pinned(r ref.Ref, fields map[string]json.RawMessage) (Source, error) {
	dir, err := inside("", str(fields["path"]))
	if err != nil {
		return Source{}, err
	}
	sha := str(fields["sha"])
	commit, ok := ref.ParseCommit(sha)
	if sha != "" && !ok {
		return Source{}, invalid("sha %q is not a full commit id", sha)
	}
	r.Path, r.Version = dir, str(fields["ref"])
	if commit != "" {
		r.Version = string(commit)
	}
	checked, err := ref.Parse(r.String())
	if err != nil || checked != r {
		return Source{}, invalid("ref %q is not a tag, branch or commit", r.Version)
	}
	return Source{Ref: r, Commit: commit}, nil
}

// github is a repository that is written owner/repo.
func github(s string) (ref.Ref, error) {
	r, err := ref.Parse("github:" + s)
	if err != nil || r != (ref.Ref{Kind: ref.Forge, Host: "github", Owner: r.Owner, Repo: r.Repo}) || strings.Contains(r.Owner, "/") {
		return ref.Ref{}, invalid("repo %q is not owner/repo", s)
	}
	return r, nil
}

// clone is a clone URL, git@host:path, or owner/repo for GitHub.
func clone(s string) (ref.Ref, error) {
	text := s
	if user, rest, ok := strings.Cut(s, "@"); ok && !strings.Contains(s, "://") {
		host, path, _ := strings.Cut(rest, ":")
		text = "ssh://" + user + "@" + host + "/" + path
	} else if !strings.Contains(s, "://") {
		return github(s)
	}
	if err := ref.CheckGitURL(text); err != nil {
		return ref.Ref{}, invalid("url %q: %w", s, err)
	}
	r, err := ref.Parse("git+" + text)
	if err != nil || r != (ref.Ref{Kind: ref.Git, URL: text}) {
		return ref.Ref{}, invalid("url %q is not the address of a repository", s)
	}
	return r, nil
}
