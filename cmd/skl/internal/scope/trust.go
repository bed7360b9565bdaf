package scope

import (
	"path/filepath"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

// trustFile is which projects this user trusts, by real path.
type trustFile struct {
	Version  int               `json:"v"`
	Projects map[string]bool   `json:"projects"`         // true: trusted; false: denied, whatever is installed there
	Owners   map[string]string `json:"owners,omitempty"` // of trusted projects that belong to someone else: who that was
}

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
	return t, nil
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
		if have, ok := t.Projects[dir]; ok && have == allow && t.Owners[dir] == owner {
			return nil, nil
		}
		t.Projects[dir] = allow
		if delete(t.Owners, dir); owner != "" {
			t.Owners[dir] = owner
		}
		return t, nil
	})
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
