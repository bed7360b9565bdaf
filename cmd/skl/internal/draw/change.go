package draw

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// An Added is a skill that was installed, in the words of a reader.
type Added struct {
	Name, Version, Source string
	Files                 int
	Bytes                 int64
	Signed                string // signed by whom, or "unsigned"
	Root                  string // where its copy lies
	Links                 []string
	Copies                bool     // at the places of Links are copies
	Asks                  []string // permissions that were not accepted before
}

// Before is what an install is about to add: each of a few skills, or sums of many and what is unusual among them.
func Before(k screen.Look, added []Added, size func(int64) string) string {
	p := &page{k: k}
	if len(added) >= fewAdded {
		p.sums(p.k.Mark(screen.Ask), added, size)
		for _, a := range added {
			if len(a.Asks) > 0 {
				p.prose(4, k.Mark(screen.Attention), screen.T(" "), bold(a.Name), screen.T("  "), red(strings.Join(a.Asks, "; ")))
			}
		}
		return p.text()
	}
	for _, a := range added {
		p.prose(2, bold(strings.TrimSpace(a.Name+" "+screen.Version(a.Version))), screen.T("   from "+a.Source+", "+a.Signed))
		p.prose(2, screen.T("  "+diag.Count(a.Files, "file")+", "+size(a.Bytes)))
		for _, line := range a.Asks {
			p.prose(4, screen.T("  "), red(line))
		}
	}
	return p.text()
}

// An Updated is a skill that moved from one version to another.
type Updated struct {
	Name, From, To string
	Content        string   // what changed in its files
	Asks           []string // what it asks for anew, "+ …", and no longer, "- …"
}

// Update is a release that replaced another: what it asks for besides comes first, and is red.
func Update(k screen.Look, u Updated) string {
	p := &page{k: k}
	mark := k.Mark(screen.Done)
	if len(u.Asks) > 0 && u.Asks[0][0] == '+' {
		mark = k.Mark(screen.Attention)
	}
	p.prose(4, mark, screen.T(" "), bold(u.Name), screen.T(" "+screen.Version(u.From)+" "+k.Sign(screen.Arrow)+" "), bold(screen.Version(u.To)), screen.T("   "+strings.Trim(u.Content, " ,")))
	p.asks(u.Asks)
	return p.text()
}

// A Sequel is what stands below changes: what agents make of them, the usual last, and how to go on or back.
type Sequel struct {
	Notes  []string
	Usual  string
	Commit []string // what git add takes
	Undo   string   // a command
}

// Next is a sequel that stands alone.
func Next(k screen.Look, s Sequel) string {
	p := &page{k: k}
	p.sequel(s)
	return p.text()
}

func (p *page) sequel(s Sequel) {
	for _, n := range s.Notes {
		p.prose(2, p.k.Mark(screen.Attention), screen.T(" "+n))
	}
	if !p.k.Quiet && s.Usual != "" {
		p.prose(2, screen.T("  "+s.Usual))
	}
	next := step{label: "next"}
	if len(s.Commit) > 0 {
		next.command = "git add " + diag.Words(s.Commit)
	}
	p.steps(next, step{"undo", s.Undo})
}

// asks is what is asked for anew, red, and no longer.
func (p *page) asks(lines []string) {
	for _, line := range lines {
		if line[0] == '+' {
			p.prose(6, screen.T("    "), red(line))
		} else {
			p.prose(6, screen.T("    "), dim(line))
		}
	}
}

// fewAdded is the number of added skills below which each has a line; -v lists them all.
const fewAdded = 5

// After is what was installed: a line for each skill, or sums of many. agents names the agents that a folder with links is
// for; size writes a number of bytes.
func After(k screen.Look, added []Added, s Sequel, agents func(dir string) []string, size func(int64) string) string {
	p := &page{k: k}
	if len(added) == 0 {
		return ""
	}
	if len(added) < fewAdded || k.All {
		for _, a := range added {
			p.prose(2, k.Mark(screen.Done), screen.T(" "), bold(strings.TrimSpace(a.Name+" "+screen.Version(a.Version))), screen.T(" in "+a.Root+a.linked(agents)))
			p.prose(4, screen.T("  "), dim(strings.Join([]string{diag.Count(a.Files, "file"), size(a.Bytes), a.Signed}, ", ")))
		}
	} else {
		p.sums(k.Mark(screen.Done), added, size)
		seen := map[string]bool{}
		var places []string
		for _, a := range added {
			if place := a.Root + a.linked(agents); !seen[place] {
				seen[place], places = true, append(places, place)
			}
		}
		p.prose(2, screen.T("  "+strings.Join(places, "; ")+"; -v lists them"))
	}
	p.sequel(s)
	return p.text()
}

// sums is a line about many skills.
func (p *page) sums(mark screen.Span, added []Added, size func(int64) string) {
	var bytes int64
	shared := func(of func(Added) string) string {
		first := of(added[0])
		if slices.ContainsFunc(added, func(a Added) bool { return of(a) != first }) {
			return ""
		}
		return first
	}
	for _, a := range added {
		bytes += a.Bytes
	}
	left := []screen.Span{mark, screen.T(" "), bold(diag.Count(len(added), "skill"))}
	if source := shared(func(a Added) string { return a.Source }); source != "" {
		left = append(left, screen.T(" from "+source))
	}
	if version := shared(func(a Added) string { return a.Version }); version != "" {
		left = append(left, screen.T(" "+screen.Version(version)))
	}
	left = append(left, screen.T(", "+size(bytes)))
	if signed := shared(func(a Added) string { return a.Signed }); signed != "" {
		left = append(left, screen.T(", "+signed))
	}
	p.prose(2, left...)
}

// linked says for which agents there are links or copies.
func (a *Added) linked(agents func(string) []string) string {
	var names, dirs []string
	for _, dir := range a.Links {
		if of := agents(dir); len(of) > 0 {
			names = append(names, of...)
		} else {
			dirs = append(dirs, dir)
		}
	}
	text := ""
	if len(names) > 0 {
		text += map[bool]string{false: ", linked for ", true: ", copied for "}[a.Copies] + strings.Join(names, ", ")
	}
	if len(dirs) > 0 {
		text += map[bool]string{false: ", links in ", true: ", copies in "}[a.Copies] + strings.Join(dirs, ", ")
	}
	return text
}

// Diff is the head, and each file with its hunks, unless only the sums are wanted.
func Diff(k screen.Look, d inspect.Diff, stat bool) string {
	p := &page{k: k}
	if len(d.Files) == 0 {
		p.prose(2, k.Mark(screen.Done), screen.T(" "), bold(d.Name), screen.T(fmt.Sprintf(": no differences between %s and %s", screen.Version(d.From), screen.Version(d.To))))
		return p.text()
	}
	add, remove, wide := 0, 0, 0
	for _, f := range d.Files {
		add, remove = add+f.Add, remove+f.Remove
		wide = max(wide, screen.Width(diag.Printable(f.Path)))
	}
	p.both([]screen.Span{bold(d.Name), screen.T(" " + screen.Version(d.From) + " " + k.Sign(screen.Arrow) + " " + screen.Version(d.To))},
		bold(fmt.Sprintf("%s +%d -%d", diag.Count(len(d.Files), "file"), add, remove)))
	var asks []string
	for _, c := range d.Permissions {
		asks = append(asks, c.String())
	}
	p.asks(asks)
	wide = min(wide, max(k.Width-24, 24))
	for _, f := range d.Files {
		p.line(bold(pad(k.CutMiddle(diag.Printable(f.Path), wide), wide)), dim("  "+f.Change), screen.T(fmt.Sprintf("  +%d -%d", f.Add, f.Remove)))
		if stat {
			continue
		}
		for line := range strings.Lines(f.Text) {
			p.hunk(strings.TrimRight(line, "\r\n"))
		}
	}
	return p.text()
}

// Gained is an update that asks for more than was accepted.
func Gained(k screen.Look, g apply.Gain) string {
	p := &page{k: k}
	p.line(bold(g.Name), screen.T(" "+screen.Version(g.From)+" "+k.Sign(screen.Arrow)+" "+screen.Version(g.To)))
	for _, w := range g.Wishes {
		for i, line := range w.Lines {
			what := "+ " + w.Permission
			if i > 0 {
				what = strings.Repeat(" ", len(what))
			}
			p.prose(min(len(what)+4, max(k.Width/3, 4)), screen.T("  "), red(what), screen.T("  "+line))
		}
	}
	return p.text()
}

// hunk is one line of a difference. It is wrapped, not cut: nothing that changes may hide behind the margin.
func (p *page) hunk(line string) {
	style := screen.Plain
	switch {
	case strings.HasPrefix(line, "+"):
		style = screen.Green
	case strings.HasPrefix(line, "-"):
		style = screen.Red
	case strings.HasPrefix(line, "@@"):
		style = screen.Dim
	}
	p.prose(2, screen.Span{Style: style, Text: strings.ReplaceAll(line, "\t", "    ")})
}

// Locks is how a lock differs from another.
func Locks(k screen.Look, list []apply.LockDiff) string {
	t := screen.Table{Columns: []screen.Column{{Head: "NAME", Kind: screen.Name}, {Head: "CHANGE"}, {Head: "FROM"}, {Head: "TO"}, {Head: "ASKS FOR", Kind: screen.Text}, {Head: "TRUST", Kind: screen.Text}}}
	for _, d := range list {
		t.Rows = append(t.Rows, []screen.Span{bold(d.Name), screen.T(d.Change), screen.T(screen.Version(d.From)), screen.T(screen.Version(d.To)), red(strings.Join(slices.Concat(d.Permissions, d.Findings), "; ")), red(d.Downgrade)})
	}
	return k.Table(t)
}

// A Publishing is what became of a release.
type Publishing struct {
	Name, Version, To, Size string
	Signer, Reason, State   string
	Files                   int
	Entry                   int64 // of the log, -1 for none
	Next                    string
}

// Publish is the steps that ended, and last the state.
func Publish(k screen.Look, out Publishing) string {
	p := &page{k: k}
	p.prose(2, bold(out.Name+" "+out.Version), screen.T(" "+k.Sign(screen.Arrow)+" "+out.To))
	step1 := func(name, about string) {
		p.prose(9, k.Mark(screen.Done), screen.T(" "+pad(name, 6)+" "), screen.T(about))
	}
	if out.Signer != "" {
		step1("sign", out.Signer)
	}
	step1("push", diag.Count(out.Files, "file")+", "+out.Size)
	if out.Entry >= 0 {
		step1("log", "entry "+number(int(out.Entry)))
	}
	if out.Reason != "" {
		p.prose(2, k.Mark(screen.Attention), screen.T(" "+out.State+": "+out.Reason))
	} else {
		p.prose(2, k.Mark(screen.Done), screen.T(" "+out.State))
	}
	p.steps(step{"next", out.Next})
	return p.text()
}

// Held are skills that were not installed, and why; each has what would let it in, if anything does.
func Held(k screen.Look, held []apply.Held) string {
	p := &page{k: k}
	wide := 0
	for _, h := range held {
		wide = max(wide, screen.Width(diag.Printable(cmp.Or(h.Name, h.Path))))
	}
	wide = min(wide, 24)
	p.line(yellow(fmt.Sprintf("held back: %s", diag.Count(len(held), "skill"))))
	mark := screen.Width(k.Sign(screen.Failed))
	for _, h := range held {
		hang := 2 + mark + 1 + wide + 2
		name := k.CutMiddle(diag.Printable(cmp.Or(h.Name, h.Path)), wide)
		p.prose(hang, screen.T("  "), k.Mark(screen.Failed), screen.T(" "), bold(pad(name, wide)), screen.T("  "+oneLine(h.Why)+"   "), dim(h.Code))
		for _, hint := range h.Hints {
			p.prose(hang, screen.T(strings.Repeat(" ", hang)), screen.Span{Style: screen.Cyan, Text: hint})
		}
	}
	return p.text()
}
