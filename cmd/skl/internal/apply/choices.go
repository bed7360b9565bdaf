package apply

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/ref"
)

// skillChoice asks which skills of r are wanted. Its groups are plugins, else the top folders in which the skills differ. Files
// of a skill are read when somebody looks at it.
func (a *Applier) skillChoice(r ref.Ref, found []source.Found, passed []source.Passed) ask.Choice {
	shared := sharedFolders(found)
	options := make([]ask.Option, len(found))
	for i, f := range found {
		o := ask.Option{Label: f.Lock.Name, Detail: f.Description, Group: f.Plugin, Version: f.Lock.Version, Preview: []string{strings.Join(strings.Fields(f.Description), " ")}}
		if sameName(found, f) != nil {
			o.Detail = f.Lock.Path + "  " + f.Description
		}
		if o.Group == "" {
			o.Group = topFolder(f.Lock.Path, shared)
		}
		if f.Lock.Path != "" {
			o.Preview = append(o.Preview, "path      "+f.Lock.Path)
		}
		for _, other := range f.Also {
			o.Preview = append(o.Preview, "not taken "+other.Lock.Path)
		}
		o.Later = func(ctx context.Context) ([]string, error) { return a.preview(ctx, r, f) }
		switch err := source.CheckName(f.Lock.Name); {
		case f.Invalid != nil:
			o.Later = nil
			o.Detail = "cannot be installed: " + f.Invalid.Error()
			o.Preview = append(o.Preview, o.Detail)
		case err != nil:
			o.Detail = "needs another name (--as): " + err.Error()
			o.Preview = append(o.Preview, o.Detail)
		}
		options[i] = o
	}
	note := ""
	if n := len(passed); n > 0 {
		note = fmt.Sprintf("%d more cannot be taken: skl install -l %s", n, r)
	}
	return ask.Choice{Question: fmt.Sprintf("Which skills of %s?", r), Note: note, Options: options, Same: func(picked []int) string {
		if len(picked) == len(found) {
			return command("skl install %s --all", r.String())
		}
		line := command("skl install %s", r.String())
		for _, i := range picked {
			line += command("skl install -s %s", found[i].Lock.Name)[len("skl install"):]
		}
		return line
	}}
}

// command is a command line to type, with arguments quoted where a shell needs it.
func command(format string, args ...any) string {
	return fmt.Sprintf(format, diag.ForShell(format, args)...)
}

// sharedFolders is the number of folders with which the paths of all skills begin.
func sharedFolders(found []source.Found) int {
	var shared []string
	for i, f := range found {
		parts := strings.Split(path.Dir(f.Lock.Path), "/")
		if i == 0 {
			shared = parts
		}
		n := 0
		for n < min(len(shared), len(parts)) && shared[n] == parts[n] {
			n++
		}
		shared = shared[:n]
	}
	return len(shared)
}

// topFolder is the first folder of a skill's path below those that all share, "" if there is none.
func topFolder(name string, shared int) string {
	parts := strings.Split(path.Dir(name), "/")
	if len(parts) <= shared {
		return ""
	}
	return parts[shared]
}

const foundHere = "found here"

// hostRow is one row of the choice of agents: those that read one folder share it.
type hostRow struct {
	ids, names []string
	canonical  string // the folder of the real copy
	link       string // that of the link, "" if the agents read the real copy
	evidence   []string
	found      bool // left traces that count for this scope
}

// hostRows are the rows for all agents: those that left traces first, agents with one folder together.
func (a *Applier) hostRows() (rows []hostRow, traces int) {
	found := a.Scope.FoundHosts()
	seen := map[string]hosts.Detected{}
	for _, d := range hosts.Detect(a.Scope.HostEnv()) {
		seen[d.Host.ID] = d
	}
	row := func(h hosts.Host) hostRow {
		canonical, link := hosts.WriteDirs(h, a.Scope.HostEnv(), a.Scope.Kind)
		return hostRow{ids: []string{h.ID}, names: []string{h.Name}, canonical: canonical, link: link, evidence: a.evidence(seen[h.ID]), found: slices.Contains(found, h.ID)}
	}
	var others []hostRow
	for _, h := range hosts.All() {
		if a.readsNothing(h.ID) {
			continue
		}
		r := row(h)
		if len(r.evidence) == 0 {
			others = append(others, r)
			continue
		}
		i := slices.IndexFunc(rows, func(o hostRow) bool { return r.link == o.link && r.canonical == o.canonical && r.found == o.found })
		if i < 0 {
			rows = append(rows, r)
			continue
		}
		rows[i].ids, rows[i].names = append(rows[i].ids, h.ID), append(rows[i].names, h.Name)
		for _, e := range r.evidence {
			if !slices.Contains(rows[i].evidence, e) {
				rows[i].evidence = append(rows[i].evidence, e)
			}
		}
	}
	order.Stable(rows, func(a, b hostRow) int {
		return map[bool]int{a.found: -1}[true] + map[bool]int{b.found: 1}[true]
	})
	return append(rows, others...), len(rows)
}

// evidence says by what an agent was found.
func (a *Applier) evidence(d hosts.Detected) (out []string) {
	if d.User != "" {
		out = append(out, a.Scope.Short(d.User))
	}
	if d.Evidence != "" {
		out = append(out, d.Evidence+" here")
	}
	return out
}

// hostChoice asks for which agents skills are installed; rows[i] is what option i stands for.
func (a *Applier) hostChoice() (c ask.Choice, rows []hostRow) {
	rows, traces := a.hostRows()
	often := "none was found; often used"
	c = ask.Choice{Question: "Install for which agents?", Note: "kept in skl.toml", Headings: []string{foundHere, often}}
	rest := len(rows) - traces
	if traces == 0 {
		rest -= min(len(usual), rest)
		order.Stable(rows, func(a, b hostRow) int { return placeOf(a) - placeOf(b) })
	}
	for i, r := range rows {
		dir := r.canonical
		if r.link != "" {
			dir = r.link
		}
		o := ask.Option{Label: strings.Join(r.ids, ","), Title: strings.Join(r.names, ", "), Where: a.Scope.Short(dir), Detail: strings.Join(r.evidence, ", "), Default: r.found}
		switch {
		case i < traces:
			o.Group = foundHere
			if !r.found {
				o.Detail += " only, never used here"
			}
		case traces == 0 && i < len(usual):
			o.Group = often
		default:
			o.Group = fmt.Sprintf("%d more: / to find one", rest)
		}
		c.Options = append(c.Options, o)
	}
	c.Foot = func(picked []int) string { return a.copies(rows, picked) }
	c.Same = func(picked []int) string {
		line := "skl install"
		for _, i := range picked {
			for _, id := range rows[i].ids {
				line += " --host " + id
			}
		}
		return line
	}
	return c, rows
}

// usual are the agents that are offered first where none left traces.
var usual = []string{"claude-code", "github-copilot", "codex", "cursor", "opencode", "gemini-cli"}

func placeOf(r hostRow) int {
	if i := slices.Index(usual, r.ids[0]); i >= 0 {
		return i
	}
	return len(usual)
}

// copies says where copies and links of a choice go.
func (a *Applier) copies(rows []hostRow, picked []int) string {
	var links []string
	canonical := ""
	for _, i := range picked {
		canonical = a.Scope.Short(rows[i].canonical)
		if link := rows[i].link; link != "" && !slices.Contains(links, a.Scope.Short(link)) {
			links = append(links, a.Scope.Short(link))
		}
	}
	switch {
	case canonical == "":
		return ""
	case len(links) == 0:
		return "one copy in " + canonical
	case len(links) == 1:
		return "one copy in " + canonical + ", a link in " + links[0]
	}
	return fmt.Sprintf("one copy in %s, links in %s", canonical, strings.Join(links, ", "))
}

// AgentsOf are the names of the agents for which links lie in dir, as Short writes it.
func (a *Applier) AgentsOf(dir string) (names []string) {
	for _, h := range hosts.All() {
		if _, link := hosts.WriteDirs(h, a.Scope.HostEnv(), a.Scope.Kind); link != "" && a.Scope.Short(link) == dir {
			names = append(names, h.Name)
		}
	}
	return names
}
