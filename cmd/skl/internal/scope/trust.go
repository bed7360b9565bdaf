package scope

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

// trustFile is which projects this user trusts, by real path.
type trustFile struct {
	Version  int               `json:"v"`
	Projects map[string]bool   `json:"projects"`         // true: trusted; false: denied, whatever is installed there
	Links    map[string]string `json:"links,omitempty"`  // that this user made in a project to a folder outside of it: the folders' real paths
	Owners   map[string]string `json:"owners,omitempty"` // of trusted projects that belong to someone else: who that was

	Since map[string]time.Time `json:"since,omitempty"` // of trusted projects: when that was decided
}

//go:noinline
func (sc *Scope) trustPath() string { return filepath.Join(sc.Dirs.State, "trust.json") }

// ReadTrust reads which projects this user trusts.
func (sc *Scope) ReadTrust() (trustFile, error) {
	t := trustFile{Version: 1, Projects: map[string]bool{}, Owners: map[string]string{}}
	if err := ReadState(sc.trustPath(), &t); err != nil || t.Version != 1 {
		return trustFile{}, diag.New(diag.Failed, "trust_corrupt", "%s cannot be read", sc.trustPath()).Hint("move it away; projects are then untrusted again")
	}
	if t.Projects == nil {
		t.Projects = map[string]bool{}
	}
	if t.Owners == nil {
		t.Owners = map[string]string{}
	}
	if t.Since == nil {
		t.Since = map[string]time.Time{}
	}
	return t, nil
}

// A Trusted is what this user decided about a project.
type Trusted struct {
	Dir     string `json:"dir"`
	Trusted bool   `json:"trusted"` // false: denied
}

// Decisions are those about all projects, sorted by their directories.
func (sc *Scope) Decisions() ([]Trusted, error) {
	t, err := sc.ReadTrust()
	if err != nil {
		return nil, err
	}
	out := []Trusted{}
	for _, dir := range slices.Sorted(maps.Keys(t.Projects)) {
		out = append(out, Trusted{dir, t.Projects[dir]})
	}
	return out, nil
}

// Decide records whether this user trusts the project in a directory; "" is the project around. A dry run only finds it.
func (sc *Scope) Decide(named string, allow, dry bool) (Trusted, error) {
	dir := sc.Project
	if named != "" {
		real, err := filepath.EvalSymlinks(Absolute(sc.Cwd, named))
		info, serr := os.Stat(real)
		if err != nil || serr != nil || !info.IsDir() {
			return Trusted{}, diag.New(diag.Misuse, "no_such_directory", "%s is not a directory", named)
		}
		dir = real
	}
	if dir == "" {
		return Trusted{}, diag.New(diag.Misuse, "no_project", "this is not a project: there is neither skl.toml nor .git here or above").Hint("skl trust allow DIR")
	}
	if !dry {
		if err := sc.SetTrust(dir, allow); err != nil {
			return Trusted{}, err
		}
	}
	return Trusted{dir, allow}, nil
}

// SetTrust changes the record of one project, alone among all skls of this user.
func (sc *Scope) SetTrust(dir string, allow bool) error {
	return sc.ChangeState(sc.trustPath(), func() (any, error) {
		t, err := sc.ReadTrust()
		if err != nil {
			return nil, err
		}
		owner := ""
		if allow && install.CheckOwner(dir) != nil {
			if owner, err = install.Owner(dir); err != nil {
				return nil, err
			}
		}
		if have, ok := t.Projects[dir]; ok && have == allow && t.Owners[dir] == owner && allow == !t.Since[dir].IsZero() {
			return nil, nil
		}
		t.Projects[dir] = allow
		if delete(t.Since, dir); allow {
			t.Since[dir] = time.Now().UTC()
		}
		if delete(t.Owners, dir); owner != "" {
			t.Owners[dir] = owner
		}
		return t, nil
	})
}

// RecordLinks remembers links of this user to a folder outside of the project, by their paths; "" forgets them.
func (sc *Scope) RecordLinks(paths []string, folder string) error {
	if t, err := sc.ReadTrust(); err != nil || folder == "" && len(t.Links) == 0 {
		return err
	}
	return sc.ChangeState(sc.trustPath(), func() (any, error) {
		t, err := sc.ReadTrust()
		if err != nil {
			return nil, err
		}
		if t.Links == nil {
			t.Links = map[string]string{}
		}
		for _, path := range paths {
			if delete(t.Links, path); folder != "" {
				t.Links[path] = folder
			}
		}
		return t, nil
	})
}

// LinkedFolders are what RecordLinks remembers: folders by the path of the link.
//
//go:noinline
func (sc *Scope) LinkedFolders() (map[string]string, error) {
	t, err := sc.ReadTrust()
	return t.Links, err
}

// Trusted reports whether this user trusts the project. What lies outside a
// project needs no trust.
func (sc *Scope) Trusted() (bool, error) {
	if sc.Project == "" {
		return true, nil
	}
	t, err := sc.ReadTrust()
	return t.Projects[sc.Project], err
}

// TrustedAt reports whether this user trusts the project that a directory is in, by the record alone: the directory itself or one above it.
func (sc *Scope) TrustedAt(dir string) bool {
	t, err := sc.ReadTrust()
	for at := Resolved(dir); err == nil; at = filepath.Dir(at) {
		if yes, decided := t.Projects[at]; decided {
			return yes
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return false
}

// trustedSince is when this user trusted the project; not known for one that is not trusted.
func (sc *Scope) trustedSince() (since time.Time, known bool) {
	t, err := sc.ReadTrust()
	since, known = t.Since[sc.Project]
	return since, known && err == nil && t.Projects[sc.Project]
}

// TrustProject records that this user installed here. A denied project stays denied.
func (sc *Scope) TrustProject() error {
	if sc.Kind != hosts.Project {
		return nil
	}
	t, err := sc.ReadTrust()
	if err != nil {
		return err
	}
	if _, decided := t.Projects[sc.Project]; decided {
		return nil
	}
	return sc.SetTrust(sc.Project, true)
}
