package scope

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
)

// HostEnv is what the table of agents needs to know of this machine.
func (sc *Scope) HostEnv() hosts.Env {
	return hosts.Env{Home: sc.Home, Project: sc.Project, Cwd: sc.Cwd, Getenv: sc.Getenv, Stat: os.Stat, ReadFile: durable.ReadFile}
}

// UnknownHost refuses an id that the table of agents does not have.
func UnknownHost(id string) error {
	return diag.New(diag.Misuse, "unknown_host", "unknown agent host %q", id).Meant(hosts.Suggest(id)...).Hint("skl doctor --hosts lists all agents")
}

// CheckHosts refuses agents of skl.toml and of the configuration that skl does not know.
func (sc *Scope) CheckHosts(m *manifest.Manifest) error {
	for _, id := range m.Targets.Hosts {
		if _, ok := hosts.Find(id); !ok {
			return diag.Located(UnknownHost(id), m.WhereHost(id))
		}
	}
	for _, s := range m.Skills {
		for _, id := range s.Hosts {
			if _, ok := hosts.Find(id); !ok {
				return diag.Located(UnknownHost(id), m.WhereHost(id))
			}
		}
	}
	for _, id := range sc.Config.Hosts {
		if _, ok := hosts.Find(id); !ok {
			return diag.Prefixed(UnknownHost(id), "config.toml, [hosts] enabled")
		}
	}
	return nil
}

// ExpandHosts checks ids that a person gave. "*" stands for all agents that are known.
func ExpandHosts(ids []string) ([]string, error) {
	if slices.Contains(ids, "*") {
		return HostIDs(), nil
	}
	for _, id := range ids {
		if _, ok := hosts.Find(id); !ok {
			return nil, UnknownHost(id)
		}
	}
	return ids, nil
}

// HostIDs are the ids of all agents that are known.
func HostIDs() (ids []string) {
	for _, h := range hosts.All() {
		ids = append(ids, h.ID)
	}
	return ids
}

// ReadsScope reports whether the agent reads skills of this scope. Those of the machine are read by skl alone.
func (sc *Scope) ReadsScope(h hosts.Host) bool { return !sc.managed && h.HasSkills(sc.Kind) }

// canLink reports whether symbolic links can be made; on Windows that is a privilege. It looks at what it made: there are
// systems that say yes and make nothing.
func (sc *Scope) canLink() bool {
	if runtime.GOOS != "windows" {
		return true
	}
	dir, err := os.MkdirTemp("", "skl-link-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	if os.Mkdir(filepath.Join(dir, "target"), 0o700) != nil || os.Symlink("target", filepath.Join(dir, "link")) != nil {
		return false
	}
	text, err := os.Readlink(filepath.Join(dir, "link"))
	info, statErr := os.Stat(filepath.Join(dir, "link"))
	return err == nil && text == "target" && statErr == nil && info.IsDir()
}

// canJoin reports whether junctions can be made where the scope's links will be, by making one there and looking at it.
func (sc *Scope) canJoin() bool {
	if runtime.GOOS != "windows" {
		return false
	}
	base := sc.Base
	for !Exists(base) && filepath.Dir(base) != base {
		base = filepath.Dir(base)
	}
	dir, err := sc.Site.Dir.MkdirTemp(base, ".skl-link-")
	if err != nil {
		return false
	}
	defer sc.Site.Dir.RemoveAll(dir)
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if sc.Site.Dir.Mkdir(target, 0o700) != nil || sc.Site.Dir.Junction(target, link) != nil {
		return false
	}
	info, err := sc.Site.Dir.Stat(link)
	return err == nil && info.IsDir()
}

// Installer works on the scope's root with links for these hosts.
func (sc *Scope) Installer(hostIDs []string, links string) (*install.Installer, error) {
	wanted := links
	switch links {
	case "junction":
		if !sc.canJoin() {
			return nil, diag.New(diag.Misuse, "unknown_links", "links = \"junction\": junctions cannot be made here; they are for local disks of Windows").Hint("in skl.toml under [targets]: links = \"auto\"")
		}
	case "symlink":
		if !sc.canLink() {
			return nil, diag.New(diag.Misuse, "unknown_links", "links = \"symlink\": symbolic links cannot be made here; Windows allows them in Developer Mode").Hint("in skl.toml under [targets]: links = \"auto\"")
		}
	case "", "auto":
		switch {
		case sc.canJoin():
			links = "junction"
		case runtime.GOOS == "windows": // a symbolic link there is of a directory only where that already is
			links = "copy"
		}
	}
	in := &install.Installer{Site: sc.Site, Store: sc.Store(), Fetch: sc.Fetch, Progress: sc.Progress, Copy: links == "copy", Junction: links == "junction", Exact: wanted != "" && wanted != "auto"}
	if err := sc.inside(sc.Root); err != nil {
		return nil, err
	}
	var err error
	if in.Links, err = sc.linkDirs(hostIDs, sc.Root); err != nil {
		return nil, err
	}
	in.LinksOf = map[string][]string{}
	for _, root := range sc.Site.Roots {
		if in.LinksOf[root], err = sc.linkDirs(hostIDs, root); err != nil {
			return nil, err
		}
	}
	in.LinksFor = map[string][]string{}
	for name, ids := range sc.only {
		if in.LinksFor[name], err = sc.linkDirs(ids, sc.Site.Home(name)); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Overseen are the agents that read the root of a skill although the hosts of its entry leave them out.
func (sc *Scope) Overseen(m *manifest.Manifest, s manifest.Skill) (ids []string) {
	for _, id := range m.Targets.Hosts {
		if s.Hosts != nil && !slices.Contains(s.Hosts, id) && sc.Sees(id, sc.Site.Home(s.Name), s.Hosts) {
			ids = append(ids, id)
		}
	}
	return ids
}

// IsRead reports whether there is an agent that reads a root without any link.
func (sc *Scope) IsRead(root string) bool {
	return slices.ContainsFunc(hosts.All(), func(h hosts.Host) bool { return sc.Sees(h.ID, root, nil) })
}

// Sees reports whether the agent called id reads a skill in root, or one of the links to it that the agents in linked get.
func (sc *Scope) Sees(id, root string, linked []string) bool {
	h, ok := hosts.Find(id)
	if !ok || !sc.ReadsScope(h) {
		return false
	}
	links, _ := sc.linkDirs(linked, root) // what cannot be linked is not read
	return sc.readsAny(h, append(links, root))
}

// linkDirs are the directories that get a link to each skill in root, so that these agents find it. One that reads the link of
// another needs none of its own.
func (sc *Scope) linkDirs(hostIDs []string, root string) (dirs []string, err error) {
	add := func(link string) error {
		if within.Same(link, root) || slices.ContainsFunc(dirs, func(known string) bool { return within.Same(link, known) }) {
			return nil // the host reads the root itself, perhaps through a link that someone made
		}
		if err := sc.inside(link); err != nil {
			return err
		}
		dirs = append(dirs, link)
		return nil
	}
	var general []hosts.Host // those that read the canonical root, where root is another
	for _, id := range hostIDs {
		h, ok := hosts.Find(id)
		if !ok {
			return nil, UnknownHost(id)
		}
		if !sc.ReadsScope(h) || root != sc.Root && sc.readsAny(h, []string{root}) {
			continue
		}
		_, link := hosts.WriteDirs(h, sc.HostEnv(), sc.Kind)
		if link == "" {
			general = append(general, h)
		} else if err := add(link); err != nil {
			return nil, err
		}
	}
	for _, h := range general {
		if root != sc.Root && !sc.readsAny(h, dirs) {
			if err := add(sc.Root); err != nil {
				return nil, err
			}
		}
	}
	return dirs, nil
}

// OtherName is the directory that an agent reads, if it is root by another name: nothing is linked for that agent. It is "" for any other.
func (sc *Scope) OtherName(id, root string) string {
	h, ok := hosts.Find(id)
	if !ok || !sc.ReadsScope(h) {
		return ""
	}
	_, link := hosts.WriteDirs(h, sc.HostEnv(), sc.Kind)
	if link == "" || link == root || !within.Same(link, root) {
		return ""
	}
	return link
}

// readsAny reports whether the agent finds skills of the scope in one of dirs.
func (sc *Scope) readsAny(h hosts.Host, dirs []string) bool {
	return slices.ContainsFunc(sc.hostReads(h), func(read string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return within.Same(dir, read) })
	})
}

// hostReads are the directories in which an agent finds skills of the scope.
func (sc *Scope) hostReads(h hosts.Host) (dirs []string) {
	env := sc.HostEnv()
	if sc.Kind == hosts.User {
		for _, read := range h.UserReads {
			dirs = append(dirs, env.Expand(read))
		}
		return dirs
	}
	for _, read := range h.ProjectReads {
		dirs = append(dirs, filepath.Join(sc.Project, filepath.FromSlash(read)))
	}
	return dirs
}

// EnabledHosts are those of the manifest and the configuration, then the detected ones.
func (sc *Scope) EnabledHosts(f *Files) []string {
	var ids []string
	add := func(list []string) {
		for _, id := range list {
			if _, ok := hosts.Find(id); ok && !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if f.Manifest != nil {
		add(f.Manifest.Targets.Hosts)
	}
	add(sc.Config.Hosts)
	for _, d := range hosts.Detect(sc.HostEnv()) {
		add([]string{d.Host.ID})
	}
	return ids
}

// FoundHosts are the ids of the hosts that left traces in the project, else on the machine.
func (sc *Scope) FoundHosts() []string {
	var project, user []string
	for _, d := range hosts.Detect(sc.HostEnv()) {
		if d.Evidence != "" {
			project = append(project, d.Host.ID)
		}
		if d.User != "" {
			user = append(user, d.Host.ID)
		}
	}
	if sc.Kind == hosts.Project && len(project) > 0 {
		return project
	}
	return user
}

// Store is where unpacked releases are kept.
//
//go:noinline
func (sc *Scope) Store() *store.Store { return &store.Store{Dir: filepath.Join(sc.Dirs.Data, "store")} }
