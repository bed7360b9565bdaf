package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/diag"
)

// manyColumns is the number of agents up to which each has a column below 120 columns.
const manyColumns = 3

// List is skl list: skills by source; version and trust stand at a row only where they differ from the heading.
// Several agents share a table.
func List(k screen.Look, records []roots.Record) string {
	p := &page{k: k}
	if len(records) == 0 {
		return ""
	}
	where := map[string]int{}
	looks := 0
	for _, r := range records {
		where[r.Scope]++
		if note(r) != "" {
			looks++
		}
	}
	var counts []string
	for _, s := range []struct{ scope, at string }{{"project", "here"}, {"user", "in ~"}, {"managed", "managed"}, {"session", "given"}, {"package", "in packages"}, {"system", "with skl"}} {
		if n := where[s.scope]; n > 0 {
			text := fmt.Sprintf("%d %s", n, s.at)
			if len(counts) == 0 {
				text = diag.Count(n, "skill") + " " + s.at
			}
			counts = append(counts, text)
		}
	}
	head := strings.Join(counts, ", ")
	if uses := records[0].Hosts; len(uses) == 1 {
		head += " " + k.Sign(screen.Dot) + " " + hosts.NameOf(uses[0].Host)
	}
	right := screen.Span{}
	if looks > 0 {
		right = screen.T(fmt.Sprintf("%d need%s a look: ", looks, map[bool]string{true: "s"}[looks == 1]) + k.Sign(screen.Attention))
	}
	p.both([]screen.Span{bold(head)}, right)
	if len(records[0].Hosts) > 1 {
		p.group(records)
		return p.text()
	}
	for _, group := range bySource(records) {
		p.group(group)
	}
	return p.text()
}

// From is where a release comes from, in the words of a reader: source is one of a lock, and url its address there.
func From(source, url string) string {
	_, place, ok := strings.Cut(url, "://")
	if !ok {
		place = url
	}
	if at := strings.LastIndexByte(place, '@'); at >= 0 && at < strings.IndexByte(place+"/", '/') {
		place = place[at+1:]
	}
	place = strings.TrimSuffix(strings.TrimSuffix(place, "/"), ".git")
	switch {
	case source == "embedded":
		return "skl itself"
	case source == "local" && place == "":
		return "a folder"
	case source == "registry" && place != "":
		return "registry " + place
	case place != "":
		return place
	}
	return source
}

// bySource groups records, those of one source together, in the order of their names.
func bySource(records []roots.Record) (out [][]roots.Record) {
	var order []string
	groups := map[string][]roots.Record{}
	for _, r := range records {
		key := r.Source
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], r)
	}
	for _, key := range order {
		out = append(out, groups[key])
	}
	return out
}

// note is the first thing about a copy that wants a look.
func note(r roots.Record) string {
	for _, w := range r.Warnings {
		switch w.Code {
		case "W_ALIAS", "W_DUPLICATE_IDENTICAL", "W_SHADOWED", "W_OFF": // the last is told at the end
		default:
			return w.Message
		}
	}
	if r.Signature != nil && r.Signature.State == "failed" {
		return "its signature is not good: skl verify " + r.Name
	}
	for _, c := range r.Copies {
		switch c.State {
		case roots.CopyEdited:
			return "a copy that an agent loads was edited: " + c.Path
		case roots.CopyOther:
			return "a copy that an agent loads is of another release: " + c.Path
		}
	}
	if r.State != roots.Active {
		return r.State
	}
	for _, w := range r.Warnings {
		if w.Code == "W_OFF" {
			return w.Message
		}
	}
	return ""
}

// group is the copies of one source.
func (p *page) group(records []roots.Record) {
	source := cmp.Or(records[0].Source, "not from skl")
	version, shared := records[0].Version, len(records) > 1
	for _, r := range records {
		shared = shared && r.Version == version
	}
	head := []screen.Span{dim(source)}
	if shared && version != "" {
		head = append(head, dim("  "+screen.Version(version)))
	}
	if len(records[0].Hosts) < 2 {
		p.line(head...)
	} else {
		shared = !slices.ContainsFunc(records, func(r roots.Record) bool { return r.Version != "" })
	}
	columns := []screen.Column{{Tight: true}, {Head: "NAME", Kind: screen.Name}}
	if !shared {
		columns = append(columns, screen.Column{Head: "VERSION"})
	}
	signed := slices.ContainsFunc(records, func(r roots.Record) bool { return r.Signature != nil && r.Signature.State != "unsigned" })
	if signed {
		columns = append(columns, screen.Column{Head: "SIGNED"})
	}
	uses := records[0].Hosts
	each := len(uses) > 1 && (len(uses) <= manyColumns || p.k.Width >= 120) && p.columnsFit(records)
	switch {
	case each:
		for _, h := range uses {
			columns = append(columns, screen.Column{Head: hosts.NameOf(h.Host), Kind: screen.Text})
		}
	case len(uses) > 1:
		columns = append(columns, screen.Column{Head: "AGENTS"})
	}
	columns = append(columns, screen.Column{Head: "NOTE", Kind: screen.Text})
	t := screen.Table{Columns: columns}
	for _, r := range records {
		mark := screen.T(" ")
		about := dim(oneLine(r.Description))
		if n := note(r); n != "" {
			mark, about = p.k.Mark(screen.Attention), yellow(oneLine(n))
		}
		row := []screen.Span{mark, bold(r.Name)}
		if !shared {
			row = append(row, screen.T(cmp.Or(screen.Version(r.Version), "-")))
		}
		if signed {
			state := "-"
			if r.Signature != nil {
				state = r.Signature.State
			}
			row = append(row, screen.T(state))
		}
		loads, unclear := 0, ""
		for _, h := range r.Hosts {
			if len(h.Unclear) > 0 {
				unclear = "?"
			}
			if h.IsUsed() {
				loads++
			}
			if each {
				use := screen.T(h.Word())
				if inspect.LoadedHidden(r, h.Host) {
					use = bold("LOADS")
				}
				row = append(row, use)
			}
		}
		if len(uses) > 1 && !each {
			row = append(row, screen.T(fmt.Sprintf("%d of %d%s", loads, len(r.Hosts), unclear)))
		}
		t.Rows = append(t.Rows, append(row, about))
	}
	t.Bare = len(uses) < 2
	p.table(t)
}

// leastNote is what has to be left for a note beside the columns of agents.
const leastNote = 24

// columnsFit reports whether each agent can have a column, and a note its place.
func (p *page) columnsFit(records []roots.Record) bool {
	name, version, agents := 0, 0, 0
	for _, r := range records {
		name, version = max(name, screen.Width(diag.Printable(r.Name))), max(version, screen.Width(diag.Printable(screen.Version(r.Version))))
	}
	for _, h := range records[0].Hosts {
		agents += 2 + max(screen.Width(hosts.NameOf(h.Host)), len("untrusted"))
	}
	return 2+min(name, 24)+2+version+agents+2+leastNote < p.k.Width
}

// Shadowed is skl list --shadowed: names with several copies, and which of them each agent loads.
func Shadowed(k screen.Look, records []roots.Record, short func(string) string) string {
	p := &page{k: k}
	byName := map[string][]roots.Record{}
	var order []string
	for _, r := range records {
		if byName[r.Name] == nil {
			order = append(order, r.Name)
		}
		byName[r.Name] = append(byName[r.Name], r)
	}
	listed := false
	for _, name := range order {
		copies := byName[name]
		if len(copies) < 2 {
			continue
		}
		same := !slices.ContainsFunc(copies, func(r roots.Record) bool { return r.Digest != copies[0].Digest })
		p.line(bold(name), screen.T(fmt.Sprintf("   %d copies, ", len(copies))+map[bool]string{true: "all the same", false: "they differ"}[same]))
		wide, wideVersion := 0, 0
		for _, r := range copies {
			wide, wideVersion = max(wide, screen.Width(copyAt(r, short))), max(wideVersion, screen.Width(diag.Printable(cmp.Or(screen.Version(r.Version), "unknown"))))
		}
		wide = min(wide, max(k.Width*45/100, 24))
		for _, r := range copies {
			uses, lists := usesOf(r)
			listed = listed || lists
			version := pad(diag.Printable(cmp.Or(screen.Version(r.Version), "unknown")), wideVersion)
			p.prose(6+wide+wideVersion, screen.T("  "+pad(k.CutMiddle(copyAt(r, short), wide), wide)), screen.T("  "+version+"  "), uses)
		}
	}
	if listed {
		p.prose(0, dim("listed: the model sees it, the name as a command runs the copy that loads"))
	}
	return p.text()
}

// copyAt is where a copy lies.
func copyAt(r roots.Record, short func(string) string) string {
	at := diag.Printable(short(r.Path))
	if r.Source == "" && r.Scope != "system" {
		at += " (not skl)"
	}
	return at
}

// usesOf says what agents do with a copy.
func usesOf(r roots.Record) (screen.Span, bool) {
	by := map[string][]string{}
	for _, h := range r.Hosts {
		by[h.Use] = append(by[h.Use], hosts.NameOf(h.Host))
	}
	var parts []string
	style := screen.Plain
	for _, use := range []string{"loads", "listed", "cut", "dropped", "unstable", "untrusted", "off", "hidden", "unread"} {
		if len(by[use]) == 0 {
			continue
		}
		word := use + " in "
		if use == "loads" && r.State != roots.Active {
			word, style = "LOADS in ", screen.Bold
		}
		if use == "unread" && len(parts) > 0 {
			continue // the usual
		}
		parts = append(parts, word+strings.Join(by[use], ", "))
	}
	return screen.Span{Style: style, Text: strings.Join(parts, "; ")}, len(by["listed"]) > 0
}

// Info is what a person needs to decide.
func Info(k screen.Look, out inspect.Skill, size string, short func(string) string) string {
	p := &page{k: k}
	state := "not installed"
	if len(out.Copies) > 0 {
		state = "installed"
	}
	p.both([]screen.Span{bold(strings.TrimSpace(out.Name + " " + screen.Version(out.Version))), screen.T("   " + out.Source)}, screen.T(state))
	p.prose(0, screen.T(oneLine(out.Description)))
	p.b.WriteByte('\n')
	fact := func(label, value string, style screen.Style) {
		if value != "" {
			p.prose(13, screen.T("  "), dim(fmt.Sprintf("%-11s", label)), screen.Span{Style: style, Text: value})
		}
	}
	path := func(label, value string) {
		if value != "" {
			p.line(screen.T("  "), dim(fmt.Sprintf("%-11s", label)), screen.T(k.CutMiddle(diag.Printable(value), max(k.Width-15, 24))))
		}
	}
	fact("signed by", out.Signed, screen.Plain)
	fact("findings", out.FindingsLine(), map[bool]screen.Style{true: screen.Red}[out.Audit != nil && out.Audit.Refuse+out.Audit.High > 0])
	for i, line := range out.Asks {
		label := "asks for"
		if i > 0 {
			label = ""
		}
		fact(label, line, screen.Plain)
	}
	fact("effects", strings.Join(out.SideEffects, ", "), screen.Plain)
	for _, c := range out.LoadCommands {
		fact("runs", c+" when an agent loads it", screen.Red)
	}
	scripts := ""
	if n := len(out.Scripts); n > 0 {
		scripts = ", " + diag.Count(n, "script")
	}
	if out.Costs.Used > 0 {
		fact("costs", fmt.Sprintf("%s tokens always, %s when used", thousands(out.Costs.Always), thousands(out.Costs.Used)), screen.Plain)
	}
	fact("holds", diag.Count(out.Files, "file")+", "+size+scripts, screen.Plain)
	fact("licence", out.License, screen.Plain)
	fact("needs", strings.Join(out.Needs, ", "), screen.Plain)
	for _, t := range out.Terms.Lines() {
		fact(t[0], t[1], screen.Plain)
	}
	fact("versions", versionsOf(out.Versions), screen.Plain)
	fact("agents", loadedBy(out.Agents), screen.Plain)
	for _, line := range inspect.ToldLines(out.Copies) {
		fact("told", line, screen.Plain)
	}
	fact("written for", strings.Join(out.Dialects, ", "), screen.Plain)
	path("from", out.URL)
	path("path", out.Path)
	if out.Commit != "" {
		fact("commit", out.Commit[:min(8, len(out.Commit))], screen.Plain)
	}
	for _, r := range out.Copies {
		path("copy", short(r.Path)+" ["+r.State+"]")
	}
	return p.text()
}

// loadedBy says how many of the agents can load a skill, and which cannot.
func loadedBy(agents []inspect.Agent) string {
	var without []string
	for _, a := range agents {
		if !a.Takes {
			without = append(without, a.Name)
		}
	}
	switch {
	case len(agents) == 0:
		return ""
	case len(without) > 0:
		return fmt.Sprintf("%d of %d of yours can load it, not %s", len(agents)-len(without), len(agents), strings.Join(without, ", "))
	case len(agents) == 1:
		return agents[0].Name + " can load it"
	}
	return fmt.Sprintf("all %d of yours can load it", len(agents))
}

// versionsOf names the newest versions, counts the rest, and names the newest prerelease beyond the stable ones.
func versionsOf(all []string) string {
	var stable []string
	ahead := ""
	for _, v := range all {
		if !strings.Contains(v, "-") {
			stable = append(stable, v)
		} else if len(stable) == 0 && ahead == "" {
			ahead = v
		}
	}
	const shown = 3
	text := strings.Join(stable[:min(len(stable), shown)], ", ")
	if more := len(stable) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if ahead != "" {
		text = strings.TrimSpace(text + " (" + ahead + ")")
	}
	return text
}

// thousands is a number of tokens: 96, 2.1k, 31k.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// Search is the answer to skl search; the words are bold where they occur.
func Search(k screen.Look, words string, out search.Skills) string {
	p := &page{k: k}
	sum := number(len(out.Skills)) + " of " + number(max(out.Total, len(out.Skills))) + " skills"
	if out.NoGoodMatch {
		sum = "no good match; the nearest are:"
	}
	p.both([]screen.Span{bold(sum)}, screen.Span{Style: screen.Cyan, Text: words})
	t := screen.Table{Bare: true, Columns: []screen.Column{{Tight: true}, {Head: "NAME", Kind: screen.Name}, {Head: "VERSION"}, {Head: "FROM"}, {Head: "DESCRIPTION", Kind: screen.Text}}}
	for _, s := range out.Skills {
		mark := screen.T(" ")
		if s.Installed {
			mark = k.Mark(screen.Done)
		}
		name := cmp.Or(s.Ref, s.Name)
		t.Rows = append(t.Rows, []screen.Span{mark, bold(name), screen.T(screen.Version(s.Version)), dim(s.From(true)), screen.T(oneLine(s.Description))})
	}
	p.table(t)
	if note := out.PublicNote(); note != "" {
		p.prose(0, dim(note))
	}
	if i := slices.IndexFunc(out.Skills, func(s search.Skill) bool { return !s.Installed }); i >= 0 {
		p.steps(step{"next", "skl info " + out.Skills[i].Ref}, step{"or", "skl install " + out.Skills[i].Ref})
	}
	return p.text()
}

// Outdated is what could move; of is the number of skills that were looked at.
func Outdated(k screen.Look, list []apply.Outdated, of int) string {
	p := &page{k: k}
	beyond := 0
	moves := 0
	type note struct {
		mark screen.Span
		text string
	}
	var held []note
	t := screen.Table{Columns: []screen.Column{{Head: "NAME", Kind: screen.Name}, {Head: "NOW"}, {Head: "WITHIN"}, {Head: "LATEST"}, {Head: "FROM", Kind: screen.Path}}}
	gone := 0
	for _, s := range list {
		if s.Gone != "" {
			within := yellow("gone")
			switch s.Wanted { // else it is gone from what is beyond only
			case "":
				gone++
			case s.Locked:
				within, gone = dim(screen.Version(s.Wanted)), gone+1
			default:
				within, moves = bold(screen.Version(s.Wanted)), moves+1
			}
			t.Rows = append(t.Rows, []screen.Span{bold(s.Name), screen.T(cmp.Or(screen.Version(s.Locked), "-")), within, yellow("gone"), dim(s.Ref)})
			held = append(held, note{k.Mark(screen.Attention), fmt.Sprintf("%s is gone upstream %s", s.Name, s.Gone)})
			continue
		}
		if word, why := s.Trouble(); why != "" {
			gone++
			latest := word
			if s.Latest != "" && s.Latest != s.Locked {
				latest = screen.Version(s.Latest) + ", " + word
			}
			t.Rows = append(t.Rows, []screen.Span{bold(s.Name), screen.T(cmp.Or(screen.Version(s.Locked), "-")), red(word), red(latest), dim(s.Ref)})
			held = append(held, note{k.Mark(screen.Failed), why})
			for _, h := range s.Hints {
				held = append(held, note{screen.T(" "), h})
			}
			continue
		}
		if s.Yanked != "" {
			held = append(held, note{k.Mark(screen.Attention), s.Yanked})
		}
		if s.Held != "" {
			held = append(held, note{k.Mark(screen.Attention), fmt.Sprintf("held: %s %s (%q)", s.Name, screen.Version(s.Locked), s.Held)})
		}
		within := screen.Span{Style: screen.Bold, Text: screen.Version(s.Wanted)}
		switch {
		case s.Changed:
			moves++
			held = append(held, note{k.Mark(screen.Attention), fmt.Sprintf("%s has other files now under version %s", s.Name, cmp.Or(screen.Version(s.Locked), "-"))})
		case s.Wanted == s.Locked:
			within, beyond = dim(screen.Version(s.Wanted)), beyond+1
		default:
			moves++
		}
		latest := screen.Span{Style: screen.Bold, Text: screen.Version(s.Latest)}
		if s.Latest == s.Locked {
			latest.Style = screen.Dim
		}
		t.Rows = append(t.Rows, []screen.Span{bold(s.Name), screen.T(cmp.Or(screen.Version(s.Locked), "-")), within, latest, dim(s.Ref)})
	}
	sum := fmt.Sprintf("%d of %d can move", len(list)-gone, of)
	if beyond > 0 {
		sum += fmt.Sprintf(", %d only with --latest", beyond)
	}
	p.line(bold(sum))
	p.table(t)
	for _, h := range held {
		p.prose(2, h.mark, screen.T(" "+h.text))
	}
	steps := []step{}
	if moves > 0 {
		steps = append(steps, step{"next", "skl update"})
	}
	if beyond > 0 {
		steps = append(steps, step{map[bool]string{true: "or", false: "next"}[moves > 0], "skl update --latest"})
	}
	p.steps(steps...)
	return p.text()
}
