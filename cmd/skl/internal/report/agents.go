package report

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
)

// ungated says which limits of skills agents do not keep, and where that was asked for how a person keeps these skills from them.
func (d *Desk) ungated(t *Text, all []apply.Ungated) {
	offered, seen := false, map[string]bool{}
	for _, u := range all {
		about := u.Name + "\x00" + strings.Join(u.Limits, ", ")
		if !seen[about] {
			seen[about] = true
			var ids []string
			for _, o := range all {
				if o.Name+"\x00"+strings.Join(o.Limits, ", ") == about && !slices.Contains(ids, o.Host) {
					ids = append(ids, o.Host)
				}
			}
			t.Warn("%s sets %s, which these agents do not keep: %s", u.Name, strings.Join(u.Limits, ", "), strings.Join(ids, ", "))
		}
		offered = offered || u.Setting != nil || u.Convert != "" || u.Leave != nil
	}
	for _, u := range all {
		d.gate(t, u)
	}
	if len(all) > 0 && !offered {
		t.Hint("skl install --gate says how to keep it from them")
	}
}

// gate says how a person keeps a skill from an agent.
func (d *Desk) gate(t *Text, u apply.Ungated) {
	if u.Convert != "" {
		t.Note("%s: skl convert %s --to %s -o DIR writes it with the keys that %s keeps", u.Host, diag.Quote(d.Scope.Short(u.Path)), u.Convert, u.Host)
	}
	if u.Leave != nil {
		how := "in place of"
		if u.Leave.Over == 0 {
			how = "added as"
		}
		t.Note("%s: no link, with this %s line %d of skl.toml", u.Host, how, u.Leave.Line)
		for _, line := range u.Leave.Lines {
			t.Note("  %s", line)
		}
	}
	switch {
	case u.Setting == nil:
	case u.Setting.File == "":
		t.Note("%s: %s", u.Host, u.Setting.Text)
	default:
		t.Note("%s: in %s", u.Host, u.Setting.File)
		for line := range strings.SplitSeq(u.Setting.Text, "\n") {
			t.Note("  %s", line)
		}
	}
}

// usesOf says which agents load what was installed: first of those that do not, then the usual.
func (d *Desk) usesOf(c install.Changes) (notes []string, usual string) {
	named, loaded := false, false
	var names []string
	for _, change := range c.List {
		for _, h := range change.Hosts {
			named = true
			if name := d.Scope.OtherName(h.Host, change.Root); name != "" && !slices.Contains(names, d.Scope.Short(name)) {
				names = append(names, d.Scope.Short(name))
			}
			switch {
			case len(h.Unclear) > 0 && h.IsUsed():
				notes = append(notes, "whether "+h.Host+" loads "+change.Name+" is not known: "+d.Scope.Short(h.Unclear[0])+" could not be read")
			case h.IsUsed():
				loaded = true
			case h.Off != nil:
				notes = append(notes, h.Host+" is told not to load "+change.Name+", in "+d.Scope.Short(h.Off.File))
			default:
				notes = append(notes, h.Host+" "+doesWith(h.Use, change.Name))
			}
		}
	}
	switch {
	case loaded:
		usual = "agents load it from their next start; skl list shows which copy each one loads"
	case !named && !slices.ContainsFunc(c.List, func(c install.Change) bool { return d.Scope.IsRead(c.Root) }):
		usual = "no agent reads " + d.rootsOf(c.List) + ": add --host AGENT for those that are to load it"
	case !named:
		usual = "agents that read " + d.rootsOf(c.List) + " load it from their next start; for others add --host AGENT"
	}
	if len(names) > 0 {
		usual += "; no links in " + strings.Join(names, ", ") + ", which is " + d.rootsOf(c.List) + " by another name"
	}
	return notes, usual
}

// doesWith says in words why an agent does not load a skill.
func doesWith(use, name string) string {
	switch use {
	case "hidden":
		return "loads another copy of " + name + "; skl list --shadowed shows them"
	case "unstable":
		return "loads this copy of " + name + " or another, not always the same; skl list --shadowed shows them"
	case "untrusted":
		return "loads " + name + " only when it is told to trust this folder"
	}
	return "does not read " + name
}

// rootsOf are the roots that changes are made in, as a person reads them.
func (d *Desk) rootsOf(changes []install.Change) string {
	var dirs []string
	for _, c := range changes {
		if dir := d.Scope.Short(c.Root); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{d.Scope.Short(d.Scope.Site.Home(""))}
	}
	slices.Sort(dirs)
	return strings.Join(dirs, ", ")
}
