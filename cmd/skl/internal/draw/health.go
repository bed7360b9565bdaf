package draw

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// Check is the result of skl check. What holds is one line.
func Check(k screen.Look, out inspect.Checked) string {
	p := &page{k: k}
	var holds []string
	failed := 0
	wide := 0
	var told []string // what holds and is told all the same
	for _, c := range out.Checks {
		switch {
		case c.Check == "off":
			told = c.Detail
			continue
		case c.OK:
			holds = append(holds, c.Check)
			continue
		}
		failed++
		wide = max(wide, screen.Width(c.Check))
	}
	if failed == 0 {
		p.both([]screen.Span{k.Mark(screen.Done), bold(" check holds"), screen.T(": " + strings.Join(holds, ", "))})
		p.told("off", told)
		return p.text()
	}
	right := ""
	if len(holds) > 0 {
		right = strings.Join(holds, ", ") + map[bool]string{true: " holds", false: " hold"}[len(holds) == 1]
	}
	p.both([]screen.Span{k.Mark(screen.Failed), bold(" check failed"), screen.T(fmt.Sprintf(": %d of %d", failed, failed+len(holds)))}, screen.T(right))
	mark := screen.Width(k.Sign(screen.Failed))
	for _, c := range out.Checks {
		if c.OK {
			continue
		}
		hang := mark + 1 + wide + 2
		for i, d := range c.Detail {
			if i == 0 {
				p.prose(hang, k.Mark(screen.Failed), screen.T(" "), bold(pad(c.Check, wide)), screen.T("  "+d))
			} else {
				p.prose(hang, screen.T(strings.Repeat(" ", hang)+d))
			}
		}
		for _, m := range c.Mend {
			p.prose(hang+6, screen.T(strings.Repeat(" ", hang)), dim("mend"), screen.T("  "), screen.Span{Style: screen.Cyan, Text: m})
		}
	}
	p.told("off", told)
	return p.text()
}

// told are lines beside a verdict that do not bear on it.
func (p *page) told(word string, lines []string) {
	for _, line := range lines {
		p.prose(2+len(word)+2, screen.T("  "), dim(word), screen.T("  "+line))
	}
}

// Doctor is what doctor found, gravest first; what is fine is counted, unless the look lists all.
func Doctor(k screen.Look, items []inspect.Finding) string {
	p := &page{k: k}
	count := map[string]int{}
	wide := 0
	for _, i := range items {
		count[i.Level]++
		if i.Level != "ok" || k.All {
			wide = max(wide, screen.Width(i.Area))
		}
	}
	var sum []string
	if n := count["problem"]; n > 0 {
		sum = append(sum, fmt.Sprintf("%d to mend", n))
	}
	if n := count["note"]; n > 0 {
		sum = append(sum, fmt.Sprintf("%d to know", n))
	}
	fine := fmt.Sprintf("%d fine", count["ok"])
	if !k.All && count["ok"] > 0 {
		fine += " (-v)"
	}
	said := map[string]bool{}
	p.line(bold(strings.Join(append(sum, fine), ", ")))
	for _, level := range []struct {
		name string
		sign screen.Sign
	}{{"problem", screen.Failed}, {"note", screen.Attention}, {"ok", screen.Done}} {
		if level.name == "ok" && !k.All {
			continue
		}
		mark := k.Mark(level.sign)
		hang := screen.Width(mark.Text) + 1 + wide + 2
		for _, i := range items {
			if i.Level != level.name {
				continue
			}
			p.prose(hang, mark, screen.T(" "), bold(pad(i.Area, wide)), screen.T("  "+i.Detail))
			if i.Mend != "" && !said[i.Mend] {
				said[i.Mend] = true
				p.prose(hang+6, screen.T(strings.Repeat(" ", hang)), dim("mend"), screen.T("  "), screen.Span{Style: screen.Cyan, Text: i.Mend})
			}
		}
	}
	return p.text()
}

// Lint is findings with the line of the file that each is about; mend is the command that mends fixes of
// them, and read returns the lines of a file, nil if it cannot be read.
func Lint(k screen.Look, findings []diag.Finding, skills, fixes int, mend string, read func(file string) []string) string {
	p := &page{k: k}
	var files []string
	byFile := map[string][]diag.Finding{}
	total := map[diag.Severity]int{}
	for _, f := range findings {
		if byFile[f.File] == nil {
			files = append(files, f.File)
		}
		byFile[f.File] = append(byFile[f.File], f)
		total[f.Severity]++
	}
	for _, file := range files {
		p.both([]screen.Span{bold(k.CutMiddle(diag.Printable(file), max(k.Width-16, 24)))}, screen.T(severities(byFile[file])))
		lines := read(file)
		for _, f := range byFile[file] {
			p.finding(f, lines)
		}
	}
	if len(findings) == 0 {
		p.line(k.Mark(screen.Done), screen.T(" "+diag.Count(skills, "skill")+", nothing to mend"))
		return p.text()
	}
	if len(files) > 1 {
		p.line(screen.T(fmt.Sprintf("%s: %s, %s", diag.Count(skills, "skill"), diag.Count(total[diag.SeverityError], "error"), diag.Count(total[diag.SeverityWarning], "warning"))))
	}
	if fixes > 0 {
		p.b.WriteString(k.Lines(screen.Line{Wrap: true, Unbroken: true, Hang: 6, Left: []screen.Span{dim("next"), screen.T("  "), {Style: screen.Cyan, Text: mend},
			screen.T(fmt.Sprintf(" mends %d of %d", fixes, len(findings)))}}))
	}
	return p.text()
}

func severities(findings []diag.Finding) string {
	count := map[diag.Severity]int{}
	for _, f := range findings {
		count[f.Severity]++
	}
	var out []string
	for _, s := range []diag.Severity{diag.SeverityError, diag.SeverityWarning} {
		if count[s] > 0 {
			out = append(out, diag.Count(count[s], string(s)))
		}
	}
	if len(out) == 0 {
		return diag.Count(len(findings), "note")
	}
	return strings.Join(out, ", ")
}

// finding is a line of a file with what is wrong below it.
func (p *page) finding(f diag.Finding, lines []string) {
	style := screen.Yellow
	if f.Severity == diag.SeverityError {
		style = screen.Red
	}
	indent := 0
	if f.Line > 0 && f.Line <= len(lines) {
		text := lines[f.Line-1]
		before := ""
		if f.Column > 1 && f.Column <= len(text)+1 {
			before = text[:f.Column-1]
		}
		indent = screen.Width(diag.Printable(before))
		if room := p.k.Width - 12; room > 0 && indent > room/2 {
			indent = 0 // the place is beyond what is shown, or leaves no room
		}
		p.line(dim(fmt.Sprintf("%4d | ", f.Line)), screen.T(text))
	}
	hang := 7 + indent
	spans := []screen.Span{dim("     | "), screen.T(strings.Repeat(" ", indent))}
	if indent > 0 || f.Column == 1 {
		spans = append(spans, screen.Span{Style: style, Text: "^ "})
		hang += 2
	}
	spans = append(spans, screen.Span{Style: style, Text: string(f.Severity) + ":"}, screen.T(" "+oneLine(f.Message)+"   "), dim(f.Rule))
	p.prose(hang, spans...)
	if f.Fix != nil {
		p.prose(hang, dim("     | "), screen.T(strings.Repeat(" ", hang-7)+"fix: "+oneLine(f.Fix.Note)))
	}
}
