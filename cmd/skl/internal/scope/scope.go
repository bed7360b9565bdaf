// Package scope opens the place that a use case works in: its directories, configuration, manifest and lock, whom the
// user trusts, and the sources that skills come from. It knows no flags and no terminal: what a person should know goes to
// a [Teller].
package scope

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/resolver/source/embedded"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/resolver/source/local"
	"github.com/skl-project/skl/resolver/source/oci"
	"github.com/skl-project/skl/resolver/source/registry"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// dirs are the directories of skl itself (design: Files).
type dirs struct{ Config, Data, Cache, State string }

// Options say where to work.
type Options struct {
	Dir        string // the working directory of the process
	Project    string // work there instead, "" is Dir
	Scope      string // project, user or managed; "" is project where there is one, else user
	Config     string // the user's configuration, "" is where the rules put it
	Offline    bool
	ExtraRoots []string // searched for skills besides the rest, relative to Dir
	UserAgent  string
	Getenv     func(string) string
	Environ    []string // of the programs that are started, as os.Environ returns it; nil is this process's

	Tell     Teller
	Progress diag.Progress
}

// A Teller takes what a person should know beside a result. Its methods may be called concurrently.
type Teller interface {
	Note(format string, args ...any)   // what happened
	Detail(format string, args ...any) // a note for who wants to know more
	Warn(format string, args ...any)   // what may be wrong
	Hint(format string, args ...any)   // what to type next
}

// A Scope is where a use case works: the directories, the configuration, and the sources that it wires. Opening one
// reads nothing but the configuration.
type Scope struct {
	options    Options
	Tell       Teller
	Progress   diag.Progress
	Getenv     func(string) string
	Environ    []string // of the programs that are started
	WorkingDir string   // the working directory of the process

	Home          string
	Cwd           string // Options.Project, else the working directory
	Project       string // top directory of the project, "" if there is none
	Kind          hosts.Scope
	managed       bool         // the machine's directory
	Base          string       // directory of skl.toml and skl.lock
	Root          string       // canonical root
	Site          install.Site // how the scope's files are read and written
	Foreign       error        // why nothing of the project may be used; nil if it may
	Dirs          dirs
	Machine       string   // the administrator's directory of configuration and skills; "" if it is not used
	given         []string // those of dirs that a variable names, which may hold more than skl's
	Config        *config.Config
	machineConfig *config.Config // the administrator's part of it, nil if there is none
	named         string         // address of the registry that the command line names: see Named

	// Signed and Gate are those of roots.Config: the verdict on a copy's signature by the scope's lock, and what a skill needs and
	// is not here.
	Signed func(l *lock.Lock) func(name string, r roots.Receipt) roots.Signature
	Gate   func(needs []skill.Dependency, dir string) string

	HTTP      *origin.Client // of all sources and commands, so that an answer to a 401 is remembered once
	Git       *git.Source
	Local     *local.Source
	typed     *local.Source // of paths that are typed, not read in skl.toml
	OCI       *oci.Source
	Registry  *registry.Source
	embedded  *embedded.Source
	tags      *tags
	unvouched sync.Map            // by skill: the reference of an entry that nobody could compare with its source
	only      map[string][]string // by skill: the agents that get it, where skl.toml says that
	told      map[string]bool     // findings of configuration files
	Tracker   *files.Tracker      // says what git tracks
	untold    sync.Once           // that Tracker cannot
}

// Open finds the scope and wires its sources.
func Open(o Options) (*Scope, error) {
	sc := &Scope{told: map[string]bool{}, Tracker: &files.Tracker{Getenv: o.Getenv}, options: o, Tell: o.Tell, Progress: o.Progress, Getenv: o.Getenv, Environ: o.Environ, WorkingDir: o.Dir, Cwd: o.Dir, Home: o.Getenv("HOME")}
	if sc.Environ == nil {
		sc.Environ = os.Environ()
	}
	if sc.Home == "" && runtime.GOOS == "windows" {
		sc.Home = o.Getenv("USERPROFILE")
	}
	if sc.Home != "" {
		if real, err := filepath.EvalSymlinks(sc.Home); err == nil {
			sc.Home = real
		}
	}
	if o.Project != "" {
		sc.Cwd = Absolute(o.Dir, o.Project)
		if info, err := os.Stat(sc.Cwd); err != nil || !info.IsDir() {
			return nil, diag.New(diag.Misuse, "no_such_directory", "--project: %s is not a directory", o.Project)
		}
	}
	if real, err := filepath.EvalSymlinks(sc.Cwd); err == nil {
		sc.Cwd = real
	}
	sc.Project, _ = roots.Project(sc.Cwd, sc.Home)
	if sc.setDirs(); !sc.Dirs.absolute() {
		return nil, diag.New(diag.Failed, "no_home", "HOME is not set, or not an absolute path, so that settings and caches have no place").
			Hint("set HOME, or all of XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_CACHE_HOME and XDG_STATE_HOME")
	}
	if err := sc.setMachine(); err != nil {
		return nil, err
	}
	if err := sc.setScope(); err != nil {
		return nil, err
	}
	if err := sc.setSite(); err != nil {
		return nil, err
	}
	if err := sc.readConfig(); err != nil {
		return nil, err
	}
	sc.wire()
	return sc, nil
}

// ByDefault reports whether the user's own scope was taken for want of a project, and nobody named one.
func (sc *Scope) ByDefault() bool { return sc.options.Scope == "" && sc.Kind == hosts.User }

// MayStart reports whether the working directory may become a project's: a home is none.
func (sc *Scope) MayStart() bool { return sc.Cwd != sc.Home }

// CanonicalIn is the canonical root of a project or a home.
func CanonicalIn(dir string) string { return filepath.Join(dir, filepath.FromSlash(hosts.Canonical)) }

// StartProject makes the working directory a project's, where there was none. It is called before a source was asked.
func (sc *Scope) StartProject() error {
	sc.Kind, sc.Project, sc.Base = hosts.Project, sc.Cwd, sc.Cwd
	sc.Root = CanonicalIn(sc.Cwd)
	if err := sc.setSite(); err != nil {
		return err
	}
	sc.wire()
	return nil
}

// Absolute is path as it is meant in base, cleaned.
func Absolute(base, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(base, path)
}

// setMachine finds the administrator's directory. One that others can write to is not used, and the user is told.
func (sc *Scope) setMachine() error {
	dir, err := install.Machine()
	if err != nil && sc.options.Scope == "managed" {
		return err
	}
	if err != nil {
		sc.Tell.Warn("%v", err)
	}
	sc.Machine = dir
	return nil
}

// InMachine is a place in the administrator's directory, "" if that is not used.
//
//go:noinline
func (sc *Scope) InMachine(name ...string) string {
	if sc.Machine == "" {
		return ""
	}
	return filepath.Join(append([]string{sc.Machine}, name...)...)
}

func (sc *Scope) setScope() error {
	scope := sc.options.Scope
	if scope == "" {
		scope = "project"
		if sc.Project == "" {
			scope = "user"
		}
	}
	switch scope {
	case "managed":
		sc.managed, sc.Kind, sc.Base, sc.Root = true, hosts.User, sc.Machine, sc.InMachine("skills")
	case "user":
		if sc.Home == "" {
			return diag.New(diag.Failed, "no_home", "HOME is not set, so there is no user scope")
		}
		sc.Kind, sc.Base, sc.Root = hosts.User, sc.Dirs.Config, CanonicalIn(sc.Home)
	default:
		sc.Kind = hosts.Project
		if sc.Project == "" {
			sc.Project = sc.Cwd
		}
		sc.Base, sc.Root = sc.Project, CanonicalIn(sc.Project)
	}
	return nil
}

// setSite says what the scope's files are reached through: in a project nothing leads out
// of it; in the user's own directories links are the user's.
func (sc *Scope) setSite() (err error) {
	if err := sc.checkOwner(); err != nil {
		return err
	}
	if sc.Kind == hosts.Project {
		sc.Site, err = install.Confine(sc.Project, sc.Root, sc.Dirs.State)
		sc.Site.Caches, sc.Site.Own = roots.CachesIn(sc.Dirs.Cache), sc.Own(roots.ScopeProject)
		return err
	}
	sc.Site = install.Site{Base: sc.linkBase(), Root: sc.Root, Dir: within.Anywhere(), Places: []string{sc.Base, sc.Root, roots.Aside(sc.Root)}, State: sc.Dirs.State, Caches: roots.CachesIn(sc.Dirs.Cache), Own: sc.Own(roots.ScopeUser)}
	if sc.managed {
		sc.Site.Places = []string{sc.Machine}
		return nil
	}
	for _, h := range hosts.All() {
		if _, link := hosts.WriteDirs(h, sc.HostEnv(), sc.Kind); link != "" && !slices.Contains(sc.Site.Places, link) {
			sc.Site.Places = append(sc.Site.Places, link)
		}
	}
	return nil
}

// checkOwner finds out whether the project around belongs to someone else. Then nothing of it is
// used: whatever reads its files is refused, and in other scopes it counts as no project.
func (sc *Scope) checkOwner() error {
	sc.Foreign = nil
	if sc.Project == "" {
		return nil
	}
	err := install.CheckOwner(sc.Project)
	if err == nil {
		return nil
	}
	t, trustErr := sc.ReadTrust()
	if trustErr != nil {
		return trustErr
	}
	if owner, err := install.Owner(sc.Project); err == nil && t.Projects[sc.Project] && t.Owners[sc.Project] == owner {
		return nil
	}
	if sc.Kind == hosts.Project {
		sc.Foreign = err
		return nil
	}
	sc.Tell.Warn("%s; the skills of that project are left out", err)
	sc.Project = ""
	return nil
}

// linkBase is what links in receipts are relative to.
func (sc *Scope) linkBase() string {
	if sc.managed {
		return sc.Machine
	}
	if sc.Kind == hosts.User {
		return sc.Home
	}
	return sc.Project
}

// inside refuses to write through a link that leads out of the project: whoever
// made the project's content may have made the link.
func (sc *Scope) inside(dir string) error {
	if sc.Kind != hosts.Project {
		return nil
	}
	real := Resolved(dir)
	if rel, err := filepath.Rel(sc.Project, real); err != nil || !filepath.IsLocal(rel) {
		return diag.New(diag.Refused, "E_ROOT_ESCAPE", "%s leads out of the project, to %s", sc.Short(dir), real).
			Hint("remove the link, or install there with --scope user")
	}
	return nil
}

// Resolved is path with the links of the part that exists followed.
//
//go:noinline
func Resolved(path string) string {
	if real, err := within.Resolve(path); err == nil {
		return real
	}
	return path
}

// Below reports whether path, as it is written, is dir or in it.
func Below(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// gitTop is the top of the repository that the project lies in, or the project itself.
func (sc *Scope) gitTop() string {
	for dir := sc.Project; dir != sc.Home && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if Exists(filepath.Join(dir, ".git")) {
			return dir
		}
	}
	return sc.Project
}

// Short is path as a person would write it from here: below the working directory or home.
func (sc *Scope) Short(path string) string {
	if rel, err := filepath.Rel(sc.WorkingDir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	if rel, err := filepath.Rel(sc.Cwd, path); err == nil && !strings.HasPrefix(rel, "..") && sc.Cwd != sc.WorkingDir {
		return rel
	}
	if sc.Home != "" {
		if rel, err := filepath.Rel(sc.Home, path); err == nil && !strings.HasPrefix(rel, "..") {
			return filepath.Join("~", rel)
		}
	}
	return path
}

// Exists reports whether something is at path, be it a link to nothing.
//
//go:noinline
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// Holds reports whether path is dir or below it, wherever their links lead.
func Holds(dir, path string) bool {
	return Below(Resolved(dir), Resolved(path))
}
