package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A Finding is one thing that was looked at.
type Finding struct {
	Area   string `json:"area"`
	Level  string `json:"level"` // ok, note, problem
	Detail string `json:"detail"`
	Mend   string `json:"mend,omitempty"` // command
}

// A KnownHost is an agent that skl knows.
type KnownHost struct {
	ID      string `json:"id"` // what --host takes
	Name    string `json:"name"`
	Project string `json:"project"`        // where its skills are written in a project
	User    string `json:"user,omitempty"` // and for the user; "" if it has none
	Found   bool   `json:"found"`          // it left traces here
}

// KnownHosts lists all agents, in the order in which choices are shown.
func (in *Inspector) KnownHosts() []KnownHost {
	env := in.Applier.Scope.HostEnv()
	found := hosts.Detect(env)
	var out []KnownHost
	for _, h := range hosts.All() {
		k := KnownHost{ID: h.ID, Name: h.Name, Project: h.ProjectWrite}
		if h.UserWrite != "" {
			k.User = in.Applier.Scope.Short(env.Expand(h.UserWrite))
		}
		k.Found = slices.ContainsFunc(found, func(d hosts.Detected) bool { return d.Host.ID == h.ID })
		out = append(out, k)
	}
	return out
}

// Doctor looks at the environment, the agents and the copies they load. With fix it mends links, copies and line endings,
// removes links of skl's own that lead nowhere, and settles an interrupted install.
func (in *Inspector) Doctor(ctx context.Context, fix bool) ([]Finding, error) {
	d := &doctor{Inspector: in}
	if err := install.CheckRoots(&in.Applier.Scope.Site); err != nil {
		return nil, err
	}
	if fix {
		end, err := in.Applier.Scope.Begin(ctx, false)
		if err != nil {
			return nil, err
		}
		defer end()
	}
	d.environment(ctx)
	d.agents()
	if fix {
		mended, err := in.Applier.Mend(ctx)
		if err != nil {
			return nil, err
		}
		for _, path := range mended {
			d.say("link", "ok", "", "mended %s", in.Applier.Scope.Short(path))
		}
	}
	if err := d.links(fix); err != nil {
		return nil, err
	}
	l, err := in.Applier.Scope.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	if err := d.places(ctx, l); err != nil {
		return nil, err
	}
	d.copies(l)
	taken, err := in.Applier.TakenBack(ctx, apply.Look, in.Applier.ReleasesOf(l.Skills))
	if err != nil {
		return nil, err
	}
	for _, w := range taken {
		level, mend := "note", "skl update "+w.Name
		if w.State == wire.Blocked {
			level, mend = "problem", "skl remove "+w.Name
		}
		d.say("release", level, mend, "%s", w.Sentence())
	}
	return d.items, nil
}

// A doctor collects findings.
type doctor struct {
	*Inspector
	items []Finding
}

//go:noinline
func (d *doctor) say(area, level, mend, format string, args ...any) {
	d.items = append(d.items, Finding{area, level, fmt.Sprintf(format, args...), mend})
}

func (d *doctor) environment(ctx context.Context) {
	_, _ = d.Applier.Scope.Load() // says what root under [targets] is; its errors are told below
	d.say("skl", "ok", "", "version %s, scope %s, root %s", d.Version, d.Applier.Scope.Kind, d.Applier.Scope.Short(d.Applier.Scope.Site.Home("")))
	if path, err := exec.LookPath("git"); err == nil {
		d.say("git", "ok", "", "%s, used where a server needs it", path)
	} else {
		d.say("git", "note", "", "not found: ssh and old servers are reached by skl's own means")
	}
	m, ok, err := d.Applier.MergeDriver()
	if err != nil {
		d.say("git", "note", "", "whether git merges the files of skl by skl is not known: %s", diag.Brief(diag.Printable(err.Error()), 200))
	}
	if ok && m.Wanted && !m.Set {
		why := "this clone has no such driver"
		if m.Other != "" {
			why = "the driver of this clone is another: " + diag.Brief(diag.Printable(m.Other), 200)
		}
		d.say("git", "note", "skl init --merge-driver", ".gitattributes wants skl to merge its files, and %s", why)
	}
	if d.Applier.Scope.Offline() {
		d.say("network", "note", "", "offline: only caches and local sources are used")
	}
	urls := []string{"https://github.com"}
	for _, u := range d.Applier.Scope.Config.Forges {
		urls = append(urls, u)
	}
	for _, r := range d.Applier.Scope.Config.Registries {
		urls = append(urls, r.URL)
	}
	slices.Sort(urls)
	for _, base := range slices.Compact(urls) {
		d.credential(ctx, base)
	}
	if d.Applier.Scope.Site.Interrupted() {
		d.say("install", "problem", "skl install"+d.scopeFlag(), "an earlier install was interrupted")
	}
	for _, name := range []string{"SKL_CONFIG", "SKL_CACHE_DIR", "SKL_DATA_DIR", "SKL_STATE_DIR", "SKL_SKILLS_PATH", "SKL_OFFLINE"} {
		if v := d.Applier.Scope.Getenv(name); v != "" {
			d.say("variable", "note", "", "%s=%s", name, v)
		}
	}
}

// credential says which credential a server gets, never the secret.
func (d *doctor) credential(ctx context.Context, base string) {
	scheme, rest, _ := strings.Cut(base, "://")
	host, _, _ := strings.Cut(rest, "/")
	if scheme == "file" {
		return // a forge in a folder of this machine knows no credentials
	}
	store := d.Applier.Scope.Credentials()
	_, from, err := store.Lookup(ctx, scheme+"://"+host)
	u, bad := url.Parse(scheme + "://" + host)
	switch {
	case err != nil:
		mend := ""
		if e, ok := errors.AsType[*diag.Error](err); ok && len(e.Hints) > 0 {
			mend = e.Hints[0]
		}
		d.say("login", "problem", mend, "%s: %s", host, diag.Printable(err.Error()))
	case bad == nil && store.Formerly(u) != "":
		d.say("login", "problem", "set "+origin.VariableName(u)+" instead", "%s: %s is not used for it, because other hosts are spelled the same", host, store.Formerly(u))
	case from == "":
		d.say("login", "note", "", "%s: no credential, public content only (set %s, use a git credential helper, or skl login)", host, origin.VariableName(u))
	default:
		d.say("login", "ok", "", "%s: credential from %s", host, from)
	}
}

// noAgents says that no agent was found, and whether skl.toml names some.
func (d *doctor) noAgents() {
	if f, err := d.Applier.Scope.Load(); err == nil && len(f.Manifest.Targets.Hosts) > 0 {
		d.say("agents", "note", "", "none found in this project or on this machine; skl.toml names %s", strings.Join(f.Manifest.Targets.Hosts, ", "))
		return
	}
	d.say("agents", "note", "skl init --host claude-code", "none found in this project or on this machine")
}

func (d *doctor) agents() {
	found := hosts.Detect(d.Applier.Scope.HostEnv())
	if len(found) == 0 {
		d.noAgents()
	}
	for _, f := range found {
		where := f.Evidence
		if where == "" {
			where = d.Applier.Scope.Short(f.User)
		}
		canonical, link := hosts.WriteDirs(f.Host, d.Applier.Scope.HostEnv(), d.Applier.Scope.Kind)
		dir := "reads " + d.Applier.Scope.Short(canonical)
		switch {
		case !d.Applier.Scope.ReadsScope(f.Host):
			dir = "reads no skills of this scope"
		case d.Applier.Scope.OtherName(f.Host.ID, canonical) != "":
			dir += ", which is " + d.Applier.Scope.Short(link) + " by another name"
		case link != "":
			dir = "gets links in " + d.Applier.Scope.Short(link)
		}
		d.say("agent", "ok", "", "%s (%s): %s", f.Host.ID, where, dir)
		d.folderTrust(f.Host)
	}
}

// folderTrust says what the agent itself thinks of the project, which is apart from skl's trust.
func (d *doctor) folderTrust(h hosts.Host) {
	trust := h.FolderTrust(d.Applier.Scope.HostEnv())
	switch {
	case d.Applier.Scope.Kind != hosts.Project || trust == hosts.TrustNone || trust == hosts.TrustGiven:
	case trust == hosts.TrustUnknown:
		d.say("agent", "note", "", "%s: its files that say whether it trusts this folder cannot be read", h.ID)
	case h.Trust:
		d.say("agent", "note", "", "%s reads no skills here until it is told to trust this folder; start it here once", h.ID)
	case trust == hosts.TrustDenied:
		d.say("agent", "note", "", "%s is not told to trust this folder: it asks at its next start, or for each command", h.ID)
	}
}

// links finds links in the hosts' directories that lead nowhere.
func (d *doctor) links(fix bool) error {
	linked, err := d.Applier.Scope.LinkedFolders()
	if err != nil {
		return err
	}
	f, err := d.Applier.Scope.Load()
	if err != nil {
		return err
	}
	locked := f.Lock
	seen := map[string]bool{}
	for _, h := range hosts.All() {
		_, dir := hosts.WriteDirs(h, d.Applier.Scope.HostEnv(), d.Applier.Scope.Kind)
		if dir == "" || seen[dir] {
			continue
		}
		seen[dir] = true
		entries, err := d.Applier.Scope.Site.Dir.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(dir, e.Name())
			if e.Type()&(os.ModeSymlink|os.ModeIrregular) == 0 {
				continue
			}
			switch _, err := d.Applier.Scope.Site.Dir.Stat(path); {
			case err == nil, linked[path] != "" && scope.Resolved(path) == linked[path]:
				continue
			case errors.Is(err, diag.Code("E_ROOT_ESCAPE")):
				d.say("link", "problem", "", "%s", err)
				continue
			}
			text, err := d.Applier.Scope.Site.Dir.Readlink(path)
			if err != nil {
				return err
			}
			if _, wanted := locked.Skill(e.Name()); wanted {
				continue // the skill is what is missing, or the link, and that is said of them
			}
			ours := filepath.Dir(install.Target(path, text)) == scope.Resolved(d.Applier.Scope.Root)
			if fix && ours {
				if err := d.Applier.Scope.Site.Dir.Remove(path); err != nil {
					return err
				}
				d.say("link", "ok", "", "removed %s, which led nowhere", d.Applier.Scope.Short(path))
				continue
			}
			mend := ""
			if ours {
				mend = "skl doctor" + d.scopeFlag() + " --fix"
			}
			d.say("link", "problem", mend, "%s leads to %s, which is not there", d.Applier.Scope.Short(path), text)
		}
	}
	return nil
}

// places reports links and copies that are not as they should be, and agents that see nothing of a skill.
func (d *doctor) places(ctx context.Context, l roots.Listing) error {
	f, err := d.Applier.Scope.Load()
	if err != nil {
		return err
	}
	if what, mends := d.gone(f); what != "" {
		d.say("lock", "problem", mends[0], "%s", what)
	}
	bad, err := d.badPlaces(f)
	if err != nil {
		return err
	}
	for i := range bad {
		p := &bad[i]
		mend := d.mendPlace(p)
		if p.Mendable() {
			mend = "skl doctor" + d.scopeFlag() + " --fix"
		}
		d.say("link", "problem", mend, "%s %s", d.Applier.Scope.Short(p.At()), p.Why)
	}
	receipts, unreadable, err := d.Applier.Receipts()
	if err != nil {
		return err
	}
	for _, b := range unreadable {
		d.say("skill", "problem", apply.MendOf(d.Applier, b.State(), b.Name, false, ""), "%s", diag.Clip(b.Err.Error(), 400))
	}
	for _, r := range receipts {
		at, _ := d.Applier.Scope.Site.Place(r.Name)
		switch {
		case !scope.Exists(at):
			d.say("skill", "problem", "skl install"+d.scopeFlag(), "%s is not there", d.Applier.Scope.Short(at))
		case !scope.Exists(filepath.Join(at, skill.FileName)):
			d.say("skill", "problem", d.putBack(ctx, r), "%s is no longer a folder with a SKILL.md", d.Applier.Scope.Short(at))
		}
	}
	for _, name := range uninstalled(f.Lock, receipts, unreadable) {
		d.say("skill", "problem", "skl install"+d.scopeFlag(), "%s is in skl.lock, and was not installed here", name)
	}
	for _, b := range d.blind(f, l) {
		if !slices.ContainsFunc(bad, func(p install.Place) bool { return slices.Contains(b.Skills, p.Name) }) {
			d.say("agent", "problem", "skl list --host "+b.Host.ID, "%s", b)
		}
	}
	return nil
}

// putBack is what restores a skill whose SKILL.md is gone.
func (d *doctor) putBack(ctx context.Context, r roots.Receipt) string {
	drifts, err := d.Applier.Scope.Site.CheckAll(ctx, []roots.Receipt{r}, true)
	if err == nil && !drifts[0].Edited() {
		return "skl install" + d.scopeFlag()
	}
	return "skl install" + d.scopeFlag() + " --force puts it back, after a backup"
}

// copies reports where agents would load different content, and line endings.
func (d *doctor) copies(l roots.Listing) {
	for _, x := range l.Warnings {
		if x.Code == "W_SETTINGS" {
			d.say("agent", "note", "", "%s", x.Message)
			continue
		}
		d.say("roots", "problem", "", "%s", x.Message)
	}
	for _, r := range l.Skills {
		for _, x := range r.Warnings {
			switch x.Code {
			case "W_UNGATED", "W_OFF":
				d.say("copy", "note", Mend(x.Code, r, false), "%s: %s [%s]", r.Qualified, x.Message, x.Code)
			case "W_HOST_DIVERGENCE", "W_TRUST_DOWNGRADE", "E_DRIFT", "E_RESIDUE", "E_INCOMPLETE", "E_FORM", "E_MODE", "E_EOL", "E_LINK", "W_SYMLINK_ESCAPE", "W_NESTED", "E_YAML", "E_NO_DESCRIPTION":
				d.say("copy", "problem", Mend(x.Code, r, false), "%s: %s [%s]", r.Qualified, x.Message, x.Code)
			}
		}
	}
	for _, b := range l.Budgets {
		if !b.Fits() {
			d.say("budget", "note", d.budgetMend(b), "%s", BudgetLine(b))
		}
	}
	if len(l.Skills) > 0 {
		d.say("copies", "ok", "", "%d skills in %d roots", len(l.Skills), len(l.Roots))
	}
}
