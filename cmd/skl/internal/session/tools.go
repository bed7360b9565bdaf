package session

import (
	"cmp"
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// A Bounds says where and how what a run calls is confined.
type Bounds struct {
	Work    string   // the directory to work in
	Dir     string   // of the run, for what programs planted and had undone, and for long results of calls; "" keeps neither
	Sandbox string   // auto, strict or off
	Limit   []string // effects and tools that may be granted at most; nil is no limit
	// Consent asks the person for what nobody agreed to yet; nil asks nobody.
	Consent func(context.Context, tool.Ask) (tool.Answer, error)
	// Lacking is told which tools cannot work here; nil tells the person.
	Lacking func(text string)
}

// Dispatcher is what the leaves and scripts of r may call. It is the one way to it: nothing of a skill is executed before a
// person agreed that it is.
func (rs *Runs) Dispatcher(r *Runnable, leave Leave, b Bounds) (*tool.Dispatcher, error) {
	if leave.digest == "" || leave.digest != r.Plan.Digest {
		return nil, diag.New(diag.Refused, CodeNotAllowed, "nobody agreed to a run of %s as it is", r.Name)
	}
	return rs.dispatcher(r, leave, b)
}

// dispatcher is Dispatcher for what calls nothing, too.
func (rs *Runs) dispatcher(r *Runnable, leave Leave, b Bounds) (*tool.Dispatcher, error) {
	given, err := parseGrant(leave.allow)
	if err != nil {
		return nil, err
	}
	configured, err := parseGrant(rs.Scope.Config.Allowed(r.Name, r.Plan.Digest))
	if err != nil {
		return nil, err
	}
	given.By, configured.By = run.LeaveAllow, run.LeaveConfig
	var limit *tool.Grant
	if b.Limit != nil {
		l, err := parseGrant(b.Limit)
		if err != nil {
			return nil, err
		}
		limit = &l
	}
	floor, err := sandboxFloor(b.Sandbox)
	if err != nil {
		return nil, err
	}
	searched, err := rs.Scope.Searched()
	if err != nil {
		return nil, err
	}
	remembered := consentStore{
		allowed:  func() ([]string, error) { return rs.allowed(r, leave.apart) },
		remember: func(effect string) error { return rs.remember(r, leave.apart, effect) },
	}
	cfg := tool.Config{
		Skill: r.Name, Digest: r.Plan.Digest, WorkDir: b.Work, Aside: b.Dir, Protected: append(searched, rs.Scope.Dirs.Data, rs.Scope.Dirs.Cache), Keys: rs.Scope.Keys(), Agents: hosts.Configuration(), Grants: []tool.Grant{given, configured}, Limit: limit, Hosts: rs.Scope.Config.Run.Hosts,
		Consent: b.Consent, Remembered: remembered, Exec: sandbox.Run, Probe: sandbox.Probe, Floor: floor, Off: b.Sandbox == "off",
		Path: rs.Scope.Getenv("PATH"), Home: rs.Scope.Home, Client: rs.Scope.HTTP,
	}
	if !strings.HasPrefix(r.Dir, "skl:") {
		cfg.SkillDir = r.Dir
	}
	if rs.Own != nil {
		cfg.Own = rs.Own(r.bundled(), b.Dir)
	}
	if b.Dir != "" {
		cfg.Results = filepath.Join(b.Dir, "results")
	}
	cfg.Policy, cfg.SideEffects = r.Skill.Doc.Tools, r.Skill.Doc.SideEffects
	if r.Plan.Whole != nil {
		files, _ := r.Plan.Files()
		cfg.Finalize, cfg.OwnFiles = true, len(files) > 0
	}
	tell := b.Lacking
	if tell == nil {
		tell = func(text string) { rs.Scope.Tell.Warn("%s", text) }
	}
	cfg.Lacking = func(lacks []tool.Lack) {
		for _, text := range r.lacking(lacks) {
			tell(text)
		}
	}
	if err := rs.addServers(&cfg); err != nil {
		return nil, err
	}
	return tool.New(cfg)
}

// lacking says which tools a model is not shown. Of names that nothing answers to it tells for a skill without a tree alone, whose
// model works with what the skill names.
func (r *Runnable) lacking(lacks []tool.Lack) (out []string) {
	var unknown, hidden []string
	for _, l := range lacks {
		if l.Unknown {
			unknown = append(unknown, l.Tool)
			continue
		}
		hidden = append(hidden, l.Tool+" ("+l.Why+")")
	}
	say := func(what string, names []string) {
		if len(names) > 0 {
			out = append(out, r.Name+" "+what+": "+diag.Brief(diag.Printable(strings.Join(names, ", ")), 600))
		}
	}
	if r.Plan.Whole != nil {
		say("names tools that are not here", unknown)
	}
	say("does without tools that cannot work here", hidden)
	return out
}

// parseGrant reads --allow, which may also hold the consent to run the skill at all.
func parseGrant(allow []string) (tool.Grant, error) {
	return tool.ParseGrant(strings.Join(slices.DeleteFunc(slices.Clone(allow), func(s string) bool { return s == AllowRun }), ","))
}

// CheckLimits refuses permissions and a confinement that no run could have, before there is one.
func (rs *Runs) CheckLimits(allow []string, how string) error {
	if _, err := sandboxFloor(rs.Confinement(how)); err != nil {
		return err
	}
	_, err := parseGrant(allow)
	return err
}

// EffectsOf are the effects that allow names, or that the tools have that it names. Its error is that of what --allow does not take.
func EffectsOf(allow []string) ([]tool.Effect, error) {
	grant, err := parseGrant(allow)
	return grant.Needs(), err
}

// sandboxFloor is the least confinement that --sandbox accepts.
func sandboxFloor(how string) (sandbox.Tier, error) {
	switch how {
	case "auto", "off":
		return sandbox.None, nil
	case "strict":
		return sandbox.Tier1, nil
	}
	return sandbox.None, diag.New(diag.Misuse, "usage", "--sandbox %q is not auto, strict or off", how)
}

// addServers adds the MCP servers of the configuration.
func (rs *Runs) addServers(cfg *tool.Config) error {
	for name, m := range rs.Scope.Config.MCP {
		s := tool.Server{Name: name, Command: m.Command, URL: m.URL}
		for _, variable := range m.Env {
			s.Env = append(s.Env, variable+"="+rs.Scope.Getenv(variable))
		}
		if m.KeyEnv != "" {
			key := rs.Scope.Getenv(m.KeyEnv)
			if key == "" {
				return diag.New(diag.Misuse, "credential", "the variable %s, which holds the token of the MCP server %s, is not set", m.KeyEnv, name)
			}
			s.Header = http.Header{"Authorization": {"Bearer " + key}}
		}
		cfg.Servers = append(cfg.Servers, s)
	}
	sort.Slice(cfg.Servers, func(i, j int) bool { return cfg.Servers[i].Name < cfg.Servers[j].Name })
	return nil
}

// Confinement is how scripts and commands are to be confined: auto, strict or off.
func (rs *Runs) Confinement(how string) string {
	return cmp.Or(how, rs.Scope.Config.Run.Sandbox, "auto")
}
