package roots

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/hosts"
)

// Bands of priority: a smaller number is stronger. The roots of one band have
// consecutive numbers in the order in which they are searched.
const (
	bandEnforced = 0
	bandSession  = 100
	bandProject  = 200
	bandUser     = 300
	bandManaged  = 500
	bandSystem   = 600
)

// Scopes of a root.
const (
	ScopeManaged = "managed"
	ScopeSession = "session"
	ScopeProject = "project"
	ScopeUser    = "user"
	ScopePackage = "package"
	ScopeSystem  = "system"
)

// States of a root.
const (
	RootOK         = "ok"
	RootMissing    = "missing"
	RootAlias      = "alias"      // another root is the same directory
	RootUntrusted  = "untrusted"  // listed, not used
	RootUnreadable = "unreadable" // it is there and cannot be searched
)

// A Root is a directory that is searched for skills.
type Root struct {
	ID           string `json:"id"` // the scope; for all but its first root followed by ":" and a path
	Path         string `json:"path"`
	Scope        string `json:"scope"`
	Priority     int    `json:"priority"`
	TrustCeiling string `json:"trust_ceiling"`
	State        string `json:"state"`
	Host         string `json:"host"` // the agent host whose own directory it is, or ""
}

// A place is a Root and what the search needs of it.
type place struct {
	Root
	index   int      // 0 is the strongest
	real    string   // path without links; "" if it is not searched
	aliases []string // other roots that are the same directory
	isWhole bool     // a SKILL.md is directly in it
	escapes bool     // a project's root that links out of the project
}

// A roster collects the roots in order.
type roster struct {
	cfg     Config
	project string // real path of the project
	places  []*place
	next    map[int]int       // by band: how many roots there are
	byReal  map[string]*place // first root of each real path
	byPath  map[string]bool
}

// expand returns all roots of cfg, strongest first.
func expand(cfg Config) []*place {
	r := &roster{cfg: cfg, next: make(map[int]int), byReal: make(map[string]*place), byPath: make(map[string]bool)}
	if real, err := filepath.EvalSymlinks(cfg.Project); err == nil {
		r.project = real
	}
	r.add(bandEnforced, ScopeManaged, cfg.EnforcedDir, "")
	for _, dir := range cfg.ExtraRoots {
		if dir != "" && !filepath.IsAbs(dir) {
			dir = filepath.Join(cfg.Cwd, dir)
		}
		r.add(bandSession, ScopeSession, dir, "")
	}
	r.addProject()
	r.addUser()
	r.add(bandManaged, ScopeManaged, cfg.ManagedDir, "")
	if cfg.System != nil {
		r.places = append(r.places, &place{index: len(r.places), Root: Root{ID: ScopeSystem, Path: "skl:", Scope: ScopeSystem, Priority: bandSystem, TrustCeiling: ScopeManaged, State: RootOK}})
	}
	r.settleEscapes()
	return r.places
}

// Paths are the roots that are searched, also those that are not there.
func (c Config) Paths() []string {
	c.System = nil
	var out []string
	for _, p := range expand(c) {
		out = append(out, p.Path)
	}
	return out
}

// addProject adds the roots of the working directory, then those of each
// parent up to the project's top.
func (r *roster) addProject() {
	if r.cfg.Project == "" {
		return
	}
	type dir struct{ path, host string }
	dirs := []dir{{hosts.Canonical, ""}, {".corteza/skills", ""}, {".claude/skills", "claude-code"}, {".github/skills", "github-copilot"}}
	for _, h := range r.enabled() {
		for _, read := range h.ProjectReads {
			if !slices.ContainsFunc(dirs, func(d dir) bool { return d.path == read }) {
				dirs = append(dirs, dir{read, h.ID})
			}
		}
	}
	r.addAll(bandProject, ScopeProject, r.cfg.ProjectSearch.Before)
	for _, level := range hosts.Levels(r.cfg.Project, r.cfg.Cwd) {
		if level == r.cfg.Home {
			continue // what is there is the user's
		}
		for i, d := range dirs {
			r.add(bandProject, ScopeProject, filepath.Join(level, filepath.FromSlash(d.path)), d.host)
			if i > 0 || level != r.cfg.Project {
				continue
			}
			for _, own := range r.cfg.ProjectSearch.Own {
				agents := slices.ContainsFunc(dirs, func(d dir) bool { return own == filepath.Join(level, filepath.FromSlash(d.path)) })
				if !agents { // it has its place below, and the name of its agent
					r.add(bandProject, ScopeProject, own, "")
				}
			}
		}
	}
	r.addAll(bandProject, ScopeProject, r.cfg.ProjectSearch.After)
}

func (r *roster) addAll(band int, scope string, dirs []string) {
	for _, dir := range dirs {
		r.add(band, scope, dir, "")
	}
}

func (r *roster) addUser() {
	if r.cfg.Home == "" {
		return
	}
	env := r.cfg.env()
	r.addAll(bandUser, ScopeUser, r.cfg.UserSearch.Before)
	r.add(bandUser, ScopeUser, filepath.Join(r.cfg.Home, filepath.FromSlash(hosts.Canonical)), "")
	corteza, _ := hosts.Find("corteza")
	claude, _ := hosts.Find("claude-code")
	type dir struct{ path, host string }
	var dirs []dir
	for _, h := range append([]hosts.Host{corteza, claude}, r.enabled()...) {
		for _, read := range h.UserReads {
			dirs = append(dirs, dir{env.Expand(read), h.ID})
		}
	}
	for _, own := range r.cfg.UserSearch.Own {
		if !slices.ContainsFunc(dirs, func(d dir) bool { return d.path == own }) {
			r.add(bandUser, ScopeUser, own, "")
		}
	}
	for _, d := range dirs {
		r.add(bandUser, ScopeUser, d.path, d.host)
	}
	r.addAll(bandUser, ScopeUser, r.cfg.UserSearch.After)
}

// enabled returns the hosts of the configuration in the order of their ids.
func (r *roster) enabled() []hosts.Host {
	var list []hosts.Host
	for _, id := range slices.Sorted(slices.Values(r.cfg.Hosts)) {
		if h, ok := hosts.Find(id); ok {
			list = append(list, h)
		}
	}
	return list
}

// add appends the root at path, unless it is there already.
func (r *roster) add(band int, scope, path, host string) {
	if path == "" || r.byPath[filepath.Clean(path)] {
		return
	}
	path = filepath.Clean(path)
	r.byPath[path] = true
	p := &place{index: len(r.places), Root: Root{
		ID: r.id(band, scope, path), Path: path, Scope: scope, Priority: band + min(r.next[band], 99), TrustCeiling: ceiling(scope), Host: host,
	}}
	r.next[band]++
	r.places = append(r.places, p)
	p.State, p.real = examine(path)
	switch {
	case p.real == "":
	case scope == ScopeProject && !inside(r.project, p.real):
		p.escapes = true
	case r.byReal[p.real] != nil:
		r.alias(p)
	default:
		r.byReal[p.real] = p
		if scope == ScopeProject && !r.cfg.ProjectTrusted {
			p.State = RootUntrusted
		}
	}
}

// alias makes one of p and the earlier root of the same directory an alias of
// the other: p, unless the user's p is a link into a project without trust.
func (r *roster) alias(p *place) {
	first, second := r.byReal[p.real], p
	if first.State == RootUntrusted && p.Scope != ScopeProject {
		first, second = p, first
		r.byReal[p.real] = p
	}
	first.aliases = append(append(first.aliases, second.Path), second.aliases...)
	second.State, second.real, second.aliases = RootAlias, "", nil
}

// settleEscapes looks again at the project's roots that link out of it: to
// another root they are an alias, elsewhere they are not followed.
func (r *roster) settleEscapes() {
	for _, p := range r.places {
		switch {
		case !p.escapes:
		case r.byReal[p.real] != nil:
			r.alias(p)
		default:
			p.State, p.real = RootUntrusted, ""
		}
	}
}

// examine returns the state of the directory at path and its real path.
func examine(path string) (state, real string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return RootMissing, ""
	case err != nil || !info.IsDir():
		return RootUnreadable, ""
	}
	real, err = filepath.EvalSymlinks(path)
	if err != nil {
		return RootUnreadable, ""
	}
	return RootOK, real
}

// id names a root by what stays the same: its scope, and for all but the
// scope's own directory the path.
func (r *roster) id(band int, scope, path string) string {
	canonical := filepath.FromSlash(hosts.Canonical)
	switch {
	case band == bandManaged,
		scope == ScopeProject && path == filepath.Join(r.cfg.Project, canonical),
		scope == ScopeUser && path == filepath.Join(r.cfg.Home, canonical):
		return scope
	}
	return scope + ":" + r.cfg.show(scope, path)
}

// show shortens path: relative to the project for what is in it, with "~" for
// the home directory elsewhere; slash-separated.
func (c Config) show(scope, path string) string {
	if rel, ok := strings.CutPrefix(path, c.Project+string(filepath.Separator)); ok && scope == ScopeProject {
		return filepath.ToSlash(rel)
	}
	if rel, ok := strings.CutPrefix(path, c.Home+string(filepath.Separator)); ok && c.Home != "" {
		return "~/" + filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

func ceiling(scope string) string {
	switch scope {
	case ScopeSession:
		return "local"
	case ScopeSystem:
		return ScopeManaged
	}
	return scope
}
