package scope

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
	"github.com/skl-project/skl/spec/ref"
)

// Policy is all rules that are in force here, the strongest file first: of the machine, of organisations, of the user and of the
// project. Files are read each time, so that a server that runs for long follows them. A file that cannot be read or is
// not understood, and an organisation's that cannot be had, is an error of class Refused.
func (sc *Scope) Policy(ctx context.Context) (*policy.Policy, error) {
	p := &policy.Policy{}
	add := func(path string, tier policy.Tier, src []byte, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return diag.New(diag.Refused, "policy_unreadable", "the policy %s cannot be read, so it refuses everything: %w", sc.Short(path), err)
		}
		f, err := policy.Parse(src, sc.Short(path), tier)
		if err == nil {
			err = f.Current(time.Now())
		}
		if err == nil {
			p.Files = append(p.Files, f)
		}
		return err
	}
	if path := sc.InMachine(policy.FileName); path != "" {
		src, err := durable.ReadFile(path)
		if err := add(path, policy.Machine, src, err); err != nil {
			return nil, err
		}
	}
	for _, o := range sc.Config.Organisations {
		f, err := sc.organisation(ctx, o)
		if err != nil {
			return nil, err
		}
		p.Files = append(p.Files, f)
	}
	path := filepath.Join(sc.Dirs.Config, policy.FileName)
	src, err := durable.ReadFile(path)
	if err := add(path, policy.User, src, err); err != nil {
		return nil, err
	}
	if sc.Kind != hosts.Project || sc.Foreign != nil {
		return p, nil
	}
	path = filepath.Join(sc.Base, policy.FileName)
	src, err = sc.Site.Dir.ReadFile(path, policy.MaxBytes)
	if err := add(path, policy.Project, src, err); err != nil {
		return nil, err
	}
	return p, nil
}

// PolicyPath is the file of the scope's own rules, whether it is there or not.
//
//go:noinline
func (sc *Scope) PolicyPath() string { return filepath.Join(sc.Base, policy.FileName) }

// addresses collects the names and addresses of a skill.
type addresses struct {
	sc *Scope
	to *policy.Subject
}

// name adds a name: owner/what, or what alone.
func (a addresses) name(owner, what string) {
	if n := strings.Trim(owner+"/"+what, "/"); !slices.Contains(a.to.Names, n) {
		a.to.Names = append(a.to.Names, n)
	}
}

// at adds an address.
func (a addresses) at(of policy.Tier, text string) {
	a.to.Addresses = append(a.to.Addresses, policy.Address{Text: text, Of: of})
}

// machine is the administrator's configuration, an empty one if there is none.
func (a addresses) machine() *config.Config {
	if a.sc.machineConfig != nil {
		return a.sc.machineConfig
	}
	return &config.Config{}
}

// tier is whose word a name is.
func tier(ofMachine bool) policy.Tier {
	if ofMachine {
		return policy.Machine
	}
	return policy.User
}

// Addresses fills in what s is called and where it comes from, by an entry whose url is known to be that of its ref's owner.
func Addresses(sc *Scope, s *lock.Skill, out *policy.Subject) {
	a := addresses{sc, out}
	r, err := ref.Parse(s.Ref)
	a.name("", s.Called())
	if err == nil && r.Kind == ref.Name {
		a.name(r.Owner, s.Called())
	}
	out.Sure = slices.Clone(out.Names)
	switch s.Source {
	case "registry":
		full := s.RegistryName()
		a.name("", full)
		a.name(path.Dir(full), s.Called())
		out.Registry = s.URL
		for id, reg := range sc.Config.Registries {
			if c, err := client.New(nil, reg.URL); err == nil && c.URL() == s.URL {
				a.at(tier(a.machine().Registries[id].URL == reg.URL), "registry:"+id+"/"+full)
			}
		}
		a.at(policy.Machine, s.URL+"/"+full)
	case "git":
		a.git(s)
	case "oci":
		if u, err := url.Parse(s.URL); err == nil {
			a.name(path.Dir(u.Path), path.Base(u.Path))
			a.name(path.Dir(u.Path), s.Called())
			out.Registry = u.Scheme + "://" + u.Host
		}
		a.at(policy.Machine, s.URL)
	case "embedded":
		a.at(policy.Machine, "skl:"+s.Called())
		out.Comes = true
	default:
		a.at(policy.Machine, strings.TrimSuffix(s.Source+":"+strings.TrimSuffix(s.URL, "/")+"/"+s.Path, "/"))
	}
	if err == nil && r.Kind == ref.Market {
		of := policy.Project
		if known := sc.Config.Markets[r.Host]; known != "" {
			of = tier(a.machine().Markets[r.Host] == known)
		}
		a.at(of, "market:"+r.Host+"/"+r.Owner+"/"+s.Called())
	}
}

// git adds the addresses of a clone URL, and of the forge that it is on, whatever protocol it is reached by.
func (a addresses) git(s *lock.Skill) {
	rest := ""
	if s.Path != "" {
		rest = "//" + s.Path
	}
	if u, err := url.Parse(a.sc.Config.Canonical(s.URL)); err == nil {
		place := "/" + strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git")
		a.name(path.Base(path.Dir(place)), path.Base(place))
		a.name(path.Base(path.Dir(place)), s.Called())
		a.name(path.Dir(place), s.Called())
		forges := []string{"github", "gitlab", "codeberg"}
		for name := range a.sc.Config.Forges {
			if !slices.Contains(forges, name) {
				forges = append(forges, name)
			}
		}
		for i, name := range forges {
			own, _ := a.sc.Config.ForgeURL(name, "", "")
			f, err := url.Parse(strings.TrimSuffix(own, "//.git"))
			if err != nil || f.Host == "" || !strings.EqualFold(u.Hostname(), f.Hostname()) {
				continue
			}
			if below, ok := strings.CutPrefix(place, f.Path+"/"); ok {
				a.at(tier(i < 3 || a.machine().Forges[name] == a.sc.Config.Forges[name]), name+":"+below+rest)
			}
		}
	}
	a.at(policy.Machine, "git+"+s.URL+rest)
	if bare, ok := strings.CutSuffix(s.URL, ".git"); ok {
		a.at(policy.Machine, "git+"+bare+rest)
	}
}

// Released is when s was released, as its registry's log or its record says, or its repository; why is set where that is
// not known.
func Released(ctx context.Context, sc *Scope, s *lock.Skill) (at time.Time, why string, err error) {
	pin := string(s.Commit) + string(s.Manifest)
	src, _ := sc.sourceOf(*s)
	d, dated := src.(source.Dater)
	switch {
	case s.Source == "registry" && s.Log != nil:
		if err := sc.Registry.VerifyLog(ctx, *s, false); err != nil {
			return at, "", err
		}
		r, err := tlog.ParseRecord([]byte(s.Log.Entry))
		if err == nil {
			at, err = time.Parse(time.RFC3339, r.At)
		}
		return at, "", err
	case s.Source == "registry":
		at, err = sc.Registry.Published(ctx, *s)
	case !dated || pin == "":
		return at, "a folder has no time of release", nil
	default:
		at, err = d.Made(ctx, s.URL, pin)
	}
	switch {
	case ctx.Err() != nil:
		return at, "", ctx.Err()
	case err != nil:
		return time.Time{}, err.Error(), nil
	}
	return at, "its source says no time", nil
}

// LockIn is the lock in a directory, nil if there is none that can be read.
func LockIn(base string) *lock.Lock {
	if base == "" {
		return nil
	}
	src, err := ReadIn(base, "skl.lock")
	if err != nil {
		return nil
	}
	l, err := lock.Parse(src, "skl.lock")
	if err != nil {
		return nil
	}
	return l
}

// LevelOf is the level of trust that a directory gives what lies in it: that of the scope, if it is this scope's.
func LevelOf(sc *Scope, dir string) string {
	switch {
	case sc.Machine != "" && Holds(sc.Machine, dir):
		return "managed"
	case sc.Project != "" && Holds(sc.Project, dir), sc.Kind == hosts.Project && dir == "":
		return "project"
	}
	return "user"
}

// LockedAs sets s to the entry that a lock has for the copy of a skill in dir: that of the scope whose root dir lies in, if it is for this
// very content. It gives false if there is none.
func LockedAs(sc *Scope, s *lock.Skill, name, dir string, tree bundle.Digest) (ok bool) {
	bases := []string{sc.Base, sc.Dirs.Config, sc.Machine}
	if sc.Project != "" && sc.Foreign == nil && Holds(sc.Project, dir) {
		bases = []string{sc.Base, sc.Project}
	}
	for _, base := range bases {
		l := LockIn(base)
		if l == nil {
			continue // it says nothing: the copy is a folder
		}
		if *s, ok = l.Skill(name); ok && s.Tree == tree {
			return true
		}
	}
	*s = lock.Skill{}
	return false
}
