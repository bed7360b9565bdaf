package apply

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/skill"
)

// An Ungated is a skill that limits itself and an agent that shows it to its model and does not keep these limits.
type Ungated struct {
	Name    string         `json:"name"`
	Host    string         `json:"host"`
	Limits  []string       `json:"limits"` // "model_invocation: user-only", "tools.allow"
	Reason  string         `json:"reason"`
	Setting *hosts.Setting `json:"setting,omitempty"` // what keeps the skill from the agent's model; only where it was asked for, and is known
	Convert string         `json:"convert,omitempty"` // --to of skl convert, where the agent's own keys say as much
	Path    string         `json:"path,omitempty"`    // of the copy, for that command
	Leave   *Leave         `json:"leave,omitempty"`   // how skl.toml leaves the agent out of the skill, where others keep its limits
}

// A Leave are the keys of a skill's entry in skl.toml that leave an agent out.
type Leave struct {
	Hosts []string `json:"hosts"`          // those that keep its limits
	Root  string   `json:"root,omitempty"` // a root that the agent does not read, if it reads the one that the skill is in
	Lines []string `json:"lines"`          // what then stands in skl.toml, as this one is written
	Line  int      `json:"line"`           // where, from 1
	Over  int      `json:"over"`           // how many lines of it they replace
}

// apart is a root that no agent reads by itself.
const apart = "tools/skills"

// leave says how skl.toml leaves an agent out of a skill: nil if no agent would be left, or if it would see the links of another.
func (a *Applier) leave(r roots.Record, host string, installedFor []string) *Leave {
	var keep []string
	for _, id := range installedFor {
		if !slices.ContainsFunc(r.Hosts, func(h roots.HostUse) bool { return h.Host == id && len(h.Ungated) > 0 }) {
			keep = append(keep, id)
		}
	}
	switch {
	case len(keep) == 0 || a.Scope.Kind != hosts.Project:
		return nil
	case !a.Scope.Sees(host, a.Scope.Site.Home(r.Name), keep):
		return &Leave{Hosts: keep}
	case !a.Scope.Sees(host, filepath.Join(a.Scope.Project, filepath.FromSlash(apart)), keep):
		return &Leave{Hosts: keep, Root: apart}
	}
	return nil
}

// ungated lists what agents do not keep of the limits of skills: those that are new here, or with offer all of the scope, and
// what a person could do about it. It changes nothing.
func (a *Applier) ungated(ctx context.Context, changes install.Changes, offer bool) ([]Ungated, error) {
	fresh := func(name string) bool {
		return offer || slices.ContainsFunc(changes.List, func(c install.Change) bool {
			return c.Name == name && (c.Action == install.Add || c.Action == install.Update)
		})
	}
	if !offer && !slices.ContainsFunc(changes.List, func(c install.Change) bool { return fresh(c.Name) }) {
		return nil, nil
	}
	l, err := a.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	f, err := a.Scope.Load()
	if err != nil {
		return nil, err
	}
	var out []Ungated
	for _, r := range l.Skills {
		own := filepath.Dir(r.Path) == a.Scope.Site.Home(r.Name) || r.CopyOf != ""
		if !own || r.Scope != string(a.Scope.Kind) || !fresh(filepath.Base(r.Path)) && !fresh(r.Name) {
			continue
		}
		for _, use := range r.Hosts {
			if len(use.Ungated) > 0 {
				u := ungatedBy(r, use, offer)
				if offer {
					if u.Leave = a.leave(r, u.Host, f.Manifest.Targets.Hosts); u.Leave != nil && !u.Leave.write(f.Manifest, r.Name) {
						u.Leave = nil
					}
				}
				out = append(out, u)
			}
		}
	}
	return out, nil
}

func ungatedBy(r roots.Record, use roots.HostUse, offer bool) Ungated {
	u := Ungated{Name: r.Name, Host: use.Host, Limits: use.Ungated, Reason: use.Reason}
	h, _ := hosts.Find(use.Host)
	if !offer {
		return u
	}
	people := !slices.Contains(use.Ungated, "model_invocation: "+string(skill.Disabled))
	if s, ok := h.KeepFrom(r.Name, r.Path, people); ok {
		u.Setting = &s
	}
	to := map[string]string{"claude-code": "claude", "github-copilot": "copilot", "codex": "codex"}[use.Host]
	if h.Expresses(use.Ungated) {
		u.Convert, u.Path = to, r.Path
	}
	return u
}

// write fills in what stands in skl.toml with l. It is false where the skill has no entry there.
func (l *Leave) write(m *manifest.Manifest, name string) bool {
	next, err := manifest.Parse(m.Bytes(), "")
	if err != nil {
		return false
	}
	s, ok := next.Skill(name)
	s.Hosts, s.Root = l.Hosts, cmp.Or(l.Root, s.Root)
	if !ok || next.SetSkill(name, s) != nil {
		return false
	}
	old, now := strings.Split(string(m.Bytes()), "\n"), strings.Split(string(next.Bytes()), "\n")
	for l.Line = 1; len(old) > 0 && len(now) > 0 && old[0] == now[0]; l.Line++ {
		old, now = old[1:], now[1:]
	}
	for len(old) > 0 && len(now) > 0 && old[len(old)-1] == now[len(now)-1] {
		old, now = old[:len(old)-1], now[:len(now)-1]
	}
	l.Lines, l.Over = now, len(old)
	return len(now) > 0
}
