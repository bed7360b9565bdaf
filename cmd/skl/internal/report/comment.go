package report

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/spec/diag"
)

// maxComment bounds a comment, in bytes: forges take 65,536 characters.
const maxComment = 60_000

// leastComment is what one skill may take, in bytes.
const leastComment = 2000

// commentMark opens a comment, so that what posts it finds the one to replace.
const commentMark = "<!-- skl.lock compared -->"

// comment is how two locks differ as a comment for a pull request, in Markdown: first what wants a yes and the lines that say yes. Whatever comes
// from a release stands in code, so that it is no markup and calls nobody.
func comment(out inspect.LocksDiff) string {
	c := &commentary{base: out.Base}
	open, asks := 0, 0
	for _, d := range out.Skills {
		asks += min(len(d.Asks), 1)
		for _, k := range d.Asks {
			if k.Accepted == nil {
				open++
			}
		}
	}
	c.line(commentMark)
	switch n := len(out.Skills); {
	case n == 0:
		c.line("### No skill changed since %s", code(out.Base))
		return c.String()
	case open > 0:
		c.line("### %s changed, %s to accept", diag.Count(n, "skill"), diag.Count(open, "item"))
	case asks > 0:
		c.line("### %s changed, what is newly asked for is accepted", diag.Count(n, "skill"))
	default:
		c.line("### %s changed, nothing to accept", diag.Count(n, "skill"))
	}
	for i := range out.Skills {
		left := len(out.Skills) - i
		room := max((maxComment-c.Len())/left, leastComment) // none takes the place of the others
		if c.Len()+room > maxComment {
			c.line("\n**%s are not shown.** %s lists them.", diag.Count(left, "more skill"), code(diag.Words([]string{"skl", "diff", "--base", out.Base})))
			break
		}
		c.skill(&out.Skills[i], room)
	}
	if open > 0 {
		c.line("\n%s fails until each thing is accepted on this branch, with a reason, and skl.toml is committed. It lists them all.",
			code(diag.Words([]string{"skl", "check", "--base", out.Base})))
	}
	return c.String()
}

// A commentary is a comment that is written.
type commentary struct {
	strings.Builder
	base string
}

func (c *commentary) line(format string, args ...any) { fmt.Fprintf(c, format+"\n", args...) }

// skill writes what is about one skill, in about so many bytes, and says what it leaves out.
func (c *commentary) skill(d *apply.LockDiff, room int) {
	end := c.Len() + room
	versions := d.Change
	if d.Change == "changed" {
		if versions = OrDash(d.From) + " → " + OrDash(d.To); d.From == d.To {
			versions = d.To
		}
	} else if v := d.To + map[bool]string{true: d.From}[d.Change == "removed"]; v != "" {
		versions += " " + v
	}
	if d.Was != "" {
		versions += ", was " + code(strings.TrimSpace(d.Was+" "+d.From))
	}
	quiet := ""
	if len(d.Permissions)+len(d.Findings) == 0 && d.Downgrade == "" && d.Change != "removed" {
		quiet = map[bool]string{true: ", asks for nothing new", false: ", asks for nothing"}[d.Change == "changed"]
	}
	c.line("\n#### %s %s%s", code(d.Name), versions, quiet)
	if d.Downgrade != "" {
		c.line("\n**Trusted less:** %s", code(d.Downgrade))
	}
	if len(d.Asks) > 0 {
		c.line("\n| newly asks for | where | accepted |\n|---|---|---|")
	}
	var accept []string
	asked, size := map[string]bool{}, 0
	for i, k := range d.Asks {
		asked[k.Permission] = true
		yes := "**no**"
		if k.Accepted != nil {
			yes = cell(apply.Recorded(*k.Accepted))
		}
		row := fmt.Sprintf("| %s | %s | %s |", cell(k.Permission), cell(strings.Join(k.Places, ", ")), yes)
		if i > 0 && c.Len()+size+len(row)+len(k.Accept) > end-leastComment/2 {
			c.line("| **%d more are not shown** | | |", len(d.Asks)-i)
			for _, k := range d.Asks[i:] {
				asked[k.Permission] = true
			}
			break
		}
		c.line("%s", row)
		if k.Accepted == nil {
			accept, size = append(accept, k.Accept), size+len(k.Accept)+1
		}
	}
	if len(accept) > 0 {
		fence := strings.Repeat("`", max(longest(strings.Join(accept, "\n"))+1, 3))
		c.line("\nTo accept:\n\n%s\n%s\n%[1]s", fence, strings.Join(accept, "\n"))
	}
	var gone, quietly []string
	for _, line := range append(append([]string{}, d.Permissions...), d.Findings...) {
		sign, rest, _ := strings.Cut(line, " ")
		what, _, _ := strings.Cut(rest, "  ")
		switch {
		case sign == "-":
			gone = append(gone, code(what))
		case sign == "+" && asked[what]:
		case sign == "?":
			c.line("\n**Not known:** its files cannot be had, so nobody can say what it asks for")
		default:
			quietly = append(quietly, code(strings.TrimSuffix(rest, "  (not asked about)")))
		}
	}
	c.list(map[bool]string{true: "Also asks for", false: "Asks for"}[len(d.Asks) > 0], quietly, end)
	c.list("No longer asked for", gone, end)
}

// list writes a list on one line, up to an end.
func (c *commentary) list(head string, all []string, end int) {
	if len(all) == 0 {
		return
	}
	size := 0
	for i, one := range all {
		if size += len(one) + 2; i > 0 && c.Len()+size > end {
			all = append(all[:i:i], fmt.Sprintf("%d more", len(all)-i))
			break
		}
	}
	c.line("\n%s: %s", head, strings.Join(all, ", "))
}

// code is text as code on one line of Markdown.
func code(text string) string {
	text = diag.Printable(text)
	ticks := strings.Repeat("`", longest(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// cell is text as code in a cell of a table, where a bar ends the cell even in code.
func cell(text string) string {
	if text == "" {
		return "-"
	}
	return strings.ReplaceAll(code(text), "|", `\|`)
}

// longest is the length of the longest run of backticks.
func longest(text string) (n int) {
	run := 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		n = max(n, run)
	}
	return n
}
