package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/embedded"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/local"
	"github.com/skl-project/skl/resolver/source/oci"
	"github.com/skl-project/skl/resolver/source/registry"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// dirs are the directories of skl itself (design: Files).
type dirs struct{ config, data, cache, state string }

// A world is where a command works: the scope, its files, and the wiring of
// the libraries. Opening one reads nothing but the configuration.
type world struct {
	ui  *ui.UI
	env env
	cli *cli.Context

	home    string
	cwd     string // where --project points, else the working directory
	project string // top directory of the project, "" if there is none
	scope   hosts.Scope
	managed bool         // scope managed: the machine's directory
	base    string       // directory of skl.toml and skl.lock
	root    string       // canonical root
	here    install.Site // how the scope's files are read and written
	foreign error        // why nothing of the project may be used; nil if it may
	dirs    dirs
	given   []string // those of dirs that a variable names, which may hold more than skl's
	config  *config.Config

	web      *origin.Client // of all sources and commands, so that an answer to a 401 is remembered once
	git      *git.Source
	local    *local.Source
	oci      *oci.Source
	registry *registry.Source
	embedded *embedded.Source
	trusts   trusts
	tags     *tags
}

func newWorld(e env, u *ui.UI, c *cli.Context) (*world, error) {
	w := &world{ui: u, env: e, cli: c, cwd: e.cwd, home: e.getenv("HOME")}
	if home, err := os.UserHomeDir(); w.home == "" && err == nil {
		w.home = home
	}
	if w.home != "" {
		if real, err := filepath.EvalSymlinks(w.home); err == nil {
			w.home = real
		}
	}
	if dir := c.String("project"); dir != "" {
		w.cwd = absolute(e.cwd, dir)
		if info, err := os.Stat(w.cwd); err != nil || !info.IsDir() {
			return nil, diag.New(diag.Misuse, "no_such_directory", "--project: %s is not a directory", dir)
		}
	}
	if real, err := filepath.EvalSymlinks(w.cwd); err == nil {
		w.cwd = real
	}
	w.project, _ = roots.Project(w.cwd, w.home)
	w.setDirs()
	if err := w.setScope(); err != nil {
		return nil, err
	}
	if err := w.setSite(); err != nil {
		return nil, err
	}
	if err := w.readConfig(); err != nil {
		return nil, err
	}
	w.wire()
	return w, nil
}

func absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// setDirs follows the XDG rules; on Windows the same variables fall back to the user's AppData.
func (w *world) setDirs() {
	pick := func(own, xdg string, def ...string) string {
		if dir := w.env.getenv(own); own != "" && dir != "" {
			w.given = append(w.given, absolute(w.env.cwd, dir))
			return w.given[len(w.given)-1]
		}
		if dir := w.env.getenv(xdg); filepath.IsAbs(dir) {
			return filepath.Join(dir, "skl")
		}
		return filepath.Join(append(append([]string{w.home}, def...), "skl")...)
	}
	w.dirs = dirs{
		config: pick("", "XDG_CONFIG_HOME", ".config"),
		data:   pick("SKL_DATA_DIR", "XDG_DATA_HOME", ".local", "share"),
		cache:  pick("SKL_CACHE_DIR", "XDG_CACHE_HOME", ".cache"),
		state:  pick("SKL_STATE_DIR", "XDG_STATE_HOME", ".local", "state"),
	}
	if roaming, local := w.env.getenv("APPDATA"), w.env.getenv("LOCALAPPDATA"); roaming != "" && local != "" && filepath.Separator == '\\' {
		w.dirs = dirs{filepath.Join(roaming, "skl"), filepath.Join(local, "skl", "data"), filepath.Join(local, "skl", "cache"), filepath.Join(local, "skl", "state")}
	}
}

// private makes dir, which is one of w.dirs or below it, for nobody but this user, and takes the rights of others
// from what is there.
func (w *world) private(dir string) error {
	for _, top := range []string{w.dirs.config, w.dirs.data, w.dirs.cache, w.dirs.state} {
		if dir != top && !strings.HasPrefix(dir, top+string(filepath.Separator)) {
			continue
		}
		if err := w.narrow(top); err != nil {
			return err
		}
		if !slices.Contains(w.given, dir) {
			return durable.MkdirPrivate(dir)
		}
	}
	if w.managed && dir == managedBase {
		return os.MkdirAll(dir, 0o755) // for everybody on the machine
	}
	return os.MkdirAll(dir, durable.Private)
}

// narrow takes the rights of others from one of w.dirs. One that a variable names may be more than skl's.
func (w *world) narrow(top string) error {
	if slices.Contains(w.given, top) {
		return nil
	}
	return durable.Narrow(top)
}

// Managed places, which the administrator owns.
const (
	managedBase  = "/etc/skl"
	managedRoot  = "/etc/skl/skills"
	enforcedRoot = "/etc/skl/enforced/skills"
)

func (w *world) setScope() error {
	scope := w.cli.String("scope")
	if w.cli.Bool("global") {
		scope = "user"
	}
	if scope == "" {
		scope = "project"
		if w.project == "" {
			scope = "user"
		}
	}
	switch scope {
	case "managed":
		w.managed, w.scope, w.base, w.root = true, hosts.User, managedBase, managedRoot
	case "user":
		if w.home == "" {
			return diag.New(diag.Failed, "no_home", "HOME is not set, so there is no user scope")
		}
		w.scope, w.base, w.root = hosts.User, w.dirs.config, filepath.Join(w.home, filepath.FromSlash(hosts.Canonical))
	default:
		w.scope = hosts.Project
		if w.project == "" {
			w.project = w.cwd
		}
		w.base, w.root = w.project, filepath.Join(w.project, filepath.FromSlash(hosts.Canonical))
	}
	return nil
}

// setSite says what the scope's files are reached through: in a project nothing leads out
// of it; in the user's own directories links are the user's.
func (w *world) setSite() (err error) {
	if err := w.checkOwner(); err != nil {
		return err
	}
	if w.scope == hosts.Project {
		w.here, err = install.Confine(w.project, w.root, w.dirs.state)
		return err
	}
	w.here = install.Site{Base: w.linkBase(), Root: w.root, Dir: within.Anywhere(), Places: []string{w.base, w.root, roots.Aside(w.root)}, State: w.dirs.state}
	if w.managed {
		w.here.Places = []string{managedBase}
		return nil
	}
	for _, h := range hosts.All() {
		if _, link := hosts.WriteDirs(h, w.hostEnv(), w.scope); link != "" && !contains(w.here.Places, link) {
			w.here.Places = append(w.here.Places, link)
		}
	}
	return nil
}

// checkOwner finds out whether the project around belongs to someone else. Then nothing of it is
// used: whatever reads its files is refused, and in other scopes it counts as no project.
func (w *world) checkOwner() error {
	w.foreign = nil
	if w.project == "" {
		return nil
	}
	err := install.CheckOwner(w.project)
	if err == nil {
		return nil
	}
	t, trustErr := w.readTrust()
	if trustErr != nil {
		return trustErr
	}
	if owner, err := install.Owner(w.project); err == nil && t.Projects[w.project] && t.Owners[w.project] == owner {
		return nil
	}
	if w.scope == hosts.Project {
		w.foreign = err
		return nil
	}
	w.ui.Warn("%s; the skills of that project are left out", err)
	w.project = ""
	return nil
}

// linkBase is what links in receipts are relative to.
func (w *world) linkBase() string {
	if w.managed {
		return managedBase
	}
	if w.scope == hosts.User {
		return w.home
	}
	return w.project
}

func (w *world) configPath() string {
	for _, path := range []string{w.cli.String("config"), w.env.getenv("SKL_CONFIG")} {
		if path != "" {
			return absolute(w.env.cwd, path)
		}
	}
	return filepath.Join(w.dirs.config, "config.toml")
}

func (w *world) readConfig() error {
	var files [2]*config.Config
	for i, path := range []string{filepath.Join(managedBase, "config.toml"), w.configPath()} {
		src, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) && (i == 0 || w.cli.String("config") == "") {
			continue
		}
		if err != nil {
			return diag.New(diag.Misuse, "config_unreadable", "reading configuration: %w", err)
		}
		if files[i], err = config.Parse(src, path); err != nil {
			return err
		}
	}
	w.config = config.Merge(files[0], files[1])
	return nil
}

func (w *world) offline() bool {
	v := w.env.getenv("SKL_OFFLINE")
	return w.cli.Bool("offline") || v != "" && v != "0" && v != "false"
}

// wire gives the sources what they need of the process.
func (w *world) wire() {
	w.web = w.newHTTP()
	w.tags = &tags{path: filepath.Join(w.dirs.state, "tags.json"), warn: w.ui.Warn}
	w.git = &git.Source{HTTP: w.web, CacheDir: w.dirs.cache, Offline: w.offline(), Environ: os.Environ(), Progress: w.ui.Progress}
	w.local = &local.Source{Dir: w.base}
	w.embedded = &embedded.Source{FS: skills.FS()}
	w.oci = &oci.Source{Client: w.web, CacheDir: w.dirs.cache, Progress: w.ui.Progress, Warn: func(place, text string) { w.ui.Warn("%s: %s", place, text) }}
	w.registry = &registry.Source{HTTP: w.web, Cache: w.dirs.cache, State: w.dirs.state, LogKey: w.configuredLog, Progress: w.ui.Progress, Warn: func(text string) { w.ui.Warn("%s", text) }}
}

// configuredLog is the configured key of the log of the registry at an address.
func (w *world) configuredLog(url string) string {
	for _, r := range w.config.Registries {
		if c, err := client.New(nil, r.URL); err == nil && c.URL() == url && r.Log != "" {
			return r.Log
		}
	}
	return ""
}

// newHTTP is a client by the configuration.
func (w *world) newHTTP() *origin.Client {
	store := w.credentials()
	c := &origin.Client{Offline: w.offline(), UserAgent: "skl/" + version, Getenv: w.env.getenv, Insecure: map[string]bool{}, CAs: map[string][]byte{}}
	c.Credential = func(ctx context.Context, o string) (origin.Credential, error) {
		cred, _, err := store.Lookup(ctx, o)
		return cred, err
	}
	c.Known = map[string]bool{}
	for _, r := range w.config.Registries {
		if u, err := url.Parse(r.URL); err == nil {
			c.Known[origin.Host(u)] = true
		}
	}
	for _, address := range w.config.Forges {
		if u, err := url.Parse(address); err == nil {
			c.Known[origin.Host(u)] = true
		}
	}
	for host, o := range w.config.Origins {
		c.Insecure[host], c.Known[host] = o.Insecure, true
		if o.CA != "" {
			if pem, err := os.ReadFile(o.CA); err == nil {
				c.CAs[host] = pem
			}
		}
	}
	return c
}

// files are the manifest and lock of the scope.
type files struct {
	manifest     *manifest.Manifest
	lock         *lock.Lock
	manifestText []byte // as read
	lockText     []byte
	hasManifest  bool
	hasLock      bool
	manifestPath string
	lockPath     string
}

// accessible refuses a scope whose files are someone else's, or whose root leads out of it.
func (w *world) accessible() error {
	if w.foreign != nil {
		return w.foreign
	}
	return w.inside(w.root)
}

// load reads skl.toml and skl.lock. Files that are not there are empty ones.
// A lock that cannot be read gives an error and everything else.
func (w *world) load() (*files, error) {
	if err := w.accessible(); err != nil {
		return nil, err
	}
	f := &files{manifestPath: filepath.Join(w.base, "skl.toml"), lockPath: filepath.Join(w.base, "skl.lock")}
	src, err := w.here.Dir.ReadFile(f.manifestPath, manifest.MaxBytes)
	switch {
	case err == nil:
		f.hasManifest, f.manifestText = true, src
		if f.manifest, err = manifest.Parse(src, w.short(f.manifestPath)); err != nil {
			return nil, err
		}
	case errors.Is(err, fs.ErrNotExist):
		f.manifest = manifest.New()
	default:
		return nil, err
	}
	src, err = w.here.Dir.ReadFile(f.lockPath, lock.MaxBytes)
	switch {
	case err == nil:
		f.hasLock, f.lockText = true, src
		f.lock, err = lock.Parse(src, w.short(f.lockPath))
	case errors.Is(err, fs.ErrNotExist):
		f.lock, err = &lock.Lock{}, nil
	}
	return f, err
}

// changed reports whether the files are not as they were when f was loaded.
func (w *world) changed(f *files) bool {
	m, merr := w.here.Dir.ReadFile(f.manifestPath, manifest.MaxBytes)
	l, lerr := w.here.Dir.ReadFile(f.lockPath, lock.MaxBytes)
	return (merr == nil) != f.hasManifest || (lerr == nil) != f.hasLock || !bytes.Equal(m, f.manifestText) || !bytes.Equal(l, f.lockText)
}

// begin takes the lock of the scope for a command that writes, and settles an
// install that was interrupted. The returned func gives the lock back. A dry run takes no
// lock and settles nothing, so it refuses if there is something to settle.
func (w *world) begin(ctx context.Context, dry bool) (end func(), err error) {
	if dry {
		return func() {}, w.settled()
	}
	if err := w.accessible(); err != nil {
		return nil, err
	}
	if w.scope == hosts.User {
		if err := w.private(w.base); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{w.dirs.data, w.dirs.cache, w.dirs.state} {
		if err := w.narrow(dir); err != nil {
			return nil, err
		}
	}
	end, err = durable.Lock(ctx, w.base, func() { w.ui.Note("waiting for another skl in %s", w.short(w.base)) })
	if err != nil {
		return nil, err
	}
	outcome, err := w.recover()
	if err != nil {
		end()
		return nil, err
	}
	if outcome.Result != install.Clean {
		w.ui.Note("an interrupted install was %s", string(outcome.Result))
		for _, path := range outcome.Kept {
			w.ui.Note("edited since: kept in %s", w.short(path))
		}
	}
	return end, nil
}

// edit is begin and then load: what a command needs that changes the files.
func (w *world) edit(ctx context.Context, dry bool) (f *files, end func(), err error) {
	if end, err = w.begin(ctx, dry); err != nil {
		return nil, nil, err
	}
	if f, err = w.load(); err == nil {
		err = w.checkLocal(f)
	}
	if err != nil {
		end()
		return nil, nil, err
	}
	return f, end, nil
}

// checkLocal refuses a skl.toml that takes a folder from outside of the repository, or asks an address of this
// machine or its network that the configuration does not name, in a project that this user does not trust yet:
// it would copy the user's own files into the project, and find out what listens here. A path that seems to be
// inside and leads out by a link is refused in every project.
func (w *world) checkLocal(f *files) error {
	if w.scope != hosts.Project {
		return nil
	}
	trusted, err := w.trusted()
	if err != nil {
		return err
	}
	top := w.gitTop()
	for _, s := range f.manifest.Skills {
		r, err := ref.Parse(s.Ref)
		if err == nil && !trusted && w.leadsInward(r) {
			return diag.New(diag.Refused, "E_LOCAL_OUTSIDE", "%s: %s takes %s, which is on this machine or its network", w.short(f.manifestPath), s.Name, r).
				Hint("if you trust whoever wrote that: skl trust allow")
		}
		if err != nil || r.Kind != ref.Local {
			continue
		}
		written := absolute(w.base, filepath.FromSlash(r.Path))
		real := resolved(written)
		if holds(top, real) || trusted && !below(top, written) {
			continue
		}
		e := diag.New(diag.Refused, "E_LOCAL_OUTSIDE", "%s: %s takes %s, which is outside of %s", w.short(f.manifestPath), s.Name, real, w.short(top))
		if below(top, written) {
			return e.Hint("%s is a link: name the folder itself", w.short(written))
		}
		return e.Hint("if you trust whoever wrote that: skl trust allow")
	}
	return nil // a local entry of the lock has to agree with skl.toml: see resolver.Agree
}

// leadsInward reports whether r names an address of this machine or of its network that the configuration
// does not name.
func (w *world) leadsInward(r ref.Ref) bool {
	host := r.Host
	switch r.Kind {
	case ref.Git:
		if !ref.InwardURL(r.URL) {
			return false
		}
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme == "file" {
			return !slices.ContainsFunc(slices.Collect(maps.Values(w.config.Forges)), func(forge string) bool {
				return strings.HasPrefix(r.URL, strings.TrimSuffix(forge, "/")+"/")
			})
		}
		host = u.Host
	case ref.OCI:
	default:
		return false
	}
	name, _, _ := strings.Cut(host, ":")
	if slices.ContainsFunc(w.config.Signers, func(s config.Signer) bool { return strings.HasPrefix(s.Namespace, host+"/") }) {
		return false
	}
	return ref.Inward(host) && !w.web.Known[strings.ToLower(host)] && !w.web.Known[strings.ToLower(name)]
}

// below reports whether path, as it is written, is dir or in it.
func below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// gitTop is the top of the repository that the project lies in, or the project itself.
func (w *world) gitTop() string {
	for dir := w.project; dir != w.home && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if exists(filepath.Join(dir, ".git")) {
			return dir
		}
	}
	return w.project
}

// recover settles an install of this user that was interrupted here. In a project that the user
// denied nothing is settled.
func (w *world) recover() (install.Recovery, error) {
	if w.scope == hosts.Project && w.here.Interrupted() {
		t, err := w.readTrust()
		if err != nil {
			return install.Recovery{}, err
		}
		if trusted, decided := t.Projects[w.project]; decided && !trusted {
			return install.Recovery{}, diag.New(diag.Refused, "E_JOURNAL", "an install in %s was interrupted, and the project is denied since", w.short(w.project)).
				Hint("skl trust allow %s", w.project)
		}
	}
	return install.Recover(w.here)
}

// settled refuses with exit 3 if an interrupted install is found, and with exit 4 if the root
// brings a journal along. Commands that only read call it.
func (w *world) settled() error {
	if err := w.accessible(); err != nil {
		return err
	}
	if err := w.here.CheckPlanted(); err != nil {
		return err
	}
	if w.here.Interrupted() {
		return diag.New(diag.Unmet, "interrupted_install", "an earlier install in %s was interrupted", w.short(w.root)).
			Hint("skl install")
	}
	return nil
}

func (w *world) store() *store.Store { return &store.Store{Dir: filepath.Join(w.dirs.data, "store")} }

// installer works on the scope's root with links for these hosts.
func (w *world) installer(hostIDs []string, links string) (*install.Installer, error) {
	switch links {
	case "junction":
		return nil, diag.New(diag.Misuse, "unknown_links", "links = \"junction\" is not supported by this version of skl").Hint("in skl.toml under [targets]: links = \"copy\"")
	case "", "auto":
		if !w.canLink() {
			links = "copy"
		}
	}
	in := &install.Installer{Site: w.here, Store: w.store(), Fetch: w.fetch, Progress: w.ui.Progress, Copy: links == "copy"}
	if err := w.inside(w.root); err != nil {
		return nil, err
	}
	for _, id := range hostIDs {
		h, ok := hosts.Find(id)
		if !ok {
			return nil, unknownHost(id)
		}
		if w.managed {
			continue // the machine's root is read by skl alone
		}
		_, link := hosts.WriteDirs(h, w.hostEnv(), w.scope)
		if link == "" || contains(in.Links, link) || resolved(link) == resolved(w.root) {
			continue // the host reads the root itself, perhaps through a link that someone made
		}
		if err := w.inside(link); err != nil {
			return nil, err
		}
		in.Links = append(in.Links, link)
	}
	return in, nil
}

// inside refuses to write through a link that leads out of the project: whoever
// made the project's content may have made the link.
func (w *world) inside(dir string) error {
	if w.scope != hosts.Project {
		return nil
	}
	real := resolved(dir)
	if rel, err := filepath.Rel(w.project, real); err != nil || !filepath.IsLocal(rel) {
		return diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s leads out of the project, to %s", w.short(dir), real).
			Hint("remove the link, or install there with --scope user")
	}
	return nil
}

// resolved is path with the links of the part that exists followed.
func resolved(path string) string {
	if real, err := within.Resolve(path); err == nil {
		return real
	}
	return path
}

// canLink reports whether symbolic links can be made; on Windows that is a privilege.
func (w *world) canLink() bool {
	if runtime.GOOS != "windows" {
		return true
	}
	dir, err := os.MkdirTemp("", "skl-link-")
	if err != nil {
		return false
	}
	defer os.RemoveAll(dir)
	return os.Symlink("target", filepath.Join(dir, "link")) == nil
}

func (w *world) hostEnv() hosts.Env {
	return hosts.Env{Home: w.home, Project: w.project, Cwd: w.cwd, Getenv: w.env.getenv, Stat: os.Stat}
}

func unknownHost(id string) error {
	return diag.New(diag.Misuse, "unknown_host", "unknown agent host %q", id).Meant(hosts.Suggest(id)...).Hint("skl doctor shows the agents that are found here")
}

// fetch sends a locked release to its source.
func (w *world) fetch(ctx context.Context, s lock.Skill, sink bundle.Sink) error {
	src, err := w.sourceOf(s)
	if err != nil {
		return err
	}
	return src.Fetch(ctx, s, sink)
}

func (w *world) sourceOf(s lock.Skill) (source.Source, error) {
	switch s.Source {
	case "git":
		return w.git, nil
	case "local":
		return w.local, nil
	case "oci":
		return w.oci, nil
	case "registry":
		return w.registry, nil
	case "embedded":
		return w.embedded, nil
	}
	return nil, diag.New(diag.Failed, "unknown_source", "%s: this skl cannot fetch from source %q", s.Name, s.Source)
}

// prefetch loads what many releases need in few requests.
func (w *world) prefetch(ctx context.Context, in *install.Installer, want []lock.Skill, have map[string]install.Have) error {
	var fromGit []lock.Skill
	for _, s := range want {
		if s.Source == "git" && in.Missing(s, have) {
			fromGit = append(fromGit, s)
		}
	}
	if len(fromGit) < 2 {
		return nil
	}
	return w.git.Prefetch(ctx, fromGit)
}

// resolver finds releases for the scope's manifest.
func (w *world) resolver(m *manifest.Manifest) *resolver.Resolver {
	return &resolver.Resolver{
		Git: w.git, Local: w.local, OCI: w.oci, Registry: w.registry, Embedded: w.embedded, Plugins: plugins{w},
		RegistryURL:     w.registryURL,
		DefaultRegistry: func() string { name, _, _ := w.config.DefaultRegistry(); return name },
		HasNamespace:    w.registry.HasNamespace,
		ForgeURL:        w.config.ForgeURL,
		Market:          w.market,
		Undecided:       w.undecided,
		Tags:            w.tags,
		Untagged:        w.untagged,
		Binding: func(ns string) string {
			if b := w.config.Namespaces[ns]; b != "" {
				return b
			}
			return m.Namespaces[ns]
		},
	}
}

// registryURL is the address of a configured registry.
func (w *world) registryURL(name string) (string, error) {
	r, ok := w.config.Registries[name]
	if !ok {
		return "", diag.New(diag.Misuse, "unknown_registry", "there is no registry %q", name).
			Meant(slices.Sorted(maps.Keys(w.config.Registries))...).Hint("skl login URL --name %s", name)
	}
	return r.URL, nil
}

// short is path as a person would write it from here: below the working directory or home.
func (w *world) short(path string) string {
	if rel, err := filepath.Rel(w.env.cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	if rel, err := filepath.Rel(w.cwd, path); err == nil && !strings.HasPrefix(rel, "..") && w.cwd != w.env.cwd {
		return rel
	}
	if w.home != "" {
		if rel, err := filepath.Rel(w.home, path); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.Join("~", rel)
		}
	}
	return path
}

func contains(list []string, s string) bool {
	for _, have := range list {
		if have == s {
			return true
		}
	}
	return false
}
