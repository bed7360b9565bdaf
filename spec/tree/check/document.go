package check

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

const (
	maxBodyLines  = 60 // without frontmatter and guard
	maxBlockLines = 5
)

// document checks the sections and the text of the entry file.
func (c *checker) document() {
	s := c.skill
	if s.Tree == nil {
		steps := false
		for _, sec := range s.Sections {
			if sec.Title == "Steps" {
				steps = true
				c.report(Steps, sec.Pos, "the section \"## Steps\" is not run: a tree stands below \"## Tree\"")
			}
		}
		if !steps {
			c.report(NoTree, tree.Pos{File: s.File}, "the skill is written for a runtime, and has no section \"## Tree\"")
		}
		return
	}
	if s.File != skill.FileName && !strings.EqualFold(s.File, skill.FileName) {
		c.report(AgentFile, tree.Pos{File: s.File}, "the entry file of a skill is called SKILL.md")
	}
	c.sections()
	f := c.source(s.File)
	if f == nil {
		return
	}
	first := c.bodyLine()
	kinds := f.kinds(first)
	c.inline(f, kinds, first)
	lines := 0
	for n := first; n <= f.lines(); n++ {
		if g := s.Guard; g != nil && g.Pos.Line <= n && n <= g.Last || n == f.lines() && kinds[n] == emptyLine {
			continue
		}
		lines++
	}
	if lines > maxBodyLines {
		c.report(LongBody, tree.Pos{File: s.File, Line: first}, "the body has "+count(lines, "line")+", and each is read whenever the skill is loaded: move ops and data to files")
	}
}

// order is the place of a known section, 0 for others.
func order(title string) int {
	switch {
	case title == "Agent":
		return 1
	case title == "Tree":
		return 2
	case title == "Rules":
		return 3
	case strings.HasPrefix(title, "Response"):
		return 4
	}
	return 0
}

func (c *checker) sections() {
	last, disordered := 0, false
	var seen [5]bool
	for _, sec := range c.skill.Sections {
		k := order(sec.Title)
		seen[k] = true
		switch {
		case k == 0:
			c.report(SectionName, sec.Pos, "the section "+diag.Clip(sec.Title, 60)+" is not Agent, Tree, Rules or Response: it is prose for the model")
		case k < last && !disordered:
			disordered = true
			c.report(SectionName, sec.Pos, "sections stand in the order Agent, Tree, Rules, Response")
		}
		last = max(last, k)
	}
	at := tree.Pos{File: c.skill.File, Line: c.skill.Tree.First}
	if !seen[3] {
		last := c.skill.Tree.Last
		for _, sec := range c.skill.Sections {
			if sec.Title == "Tree" {
				last = sec.Last
			}
		}
		c.report(NoSections, at, "the section \"## Rules\" is missing").Fix = c.sectionFix("## Rules", last)
	}
	if !seen[4] {
		c.report(NoSections, at, "the section \"## Response\" is missing").Fix = c.sectionFix("## Response", 1<<30)
	}
}

// inline looks for data and code in the text of the entry file.
func (c *checker) inline(f *source, kinds []lineKind, first int) {
	t := c.skill.Tree
	inTree := func(n int) bool { return t.First <= n && n <= t.Last }
	table, run := false, 0
	block := func(n int) {
		if run > maxBlockLines {
			c.report(LongBlock, tree.Pos{File: f.name, Line: n - run}, "a paragraph of "+count(run, "line")+": write it as a list, or move it to a file")
		}
		run = 0
	}
	for n := first; n <= f.lines(); n++ {
		line, _ := f.line(n)
		text := strings.TrimSpace(line)
		if kinds[n] != plainLine || inTree(n) || isItem(text) || line != strings.TrimLeft(line, " \t") {
			block(n)
		} else {
			run++
		}
		if inTree(n) {
			table = false
			continue
		}
		at := tree.Pos{File: f.name, Line: n, Column: 1}
		switch kinds[n] {
		case openLine:
			end := n + 1
			for end <= f.lines() && kinds[end] == codeLine {
				end++
			}
			what := "a block of code"
			if info := strings.TrimLeft(text, "`~"); info != "" {
				what = "a block of " + diag.Clip(strings.TrimSpace(info), 60)
			}
			c.report(InlineData, at, what+" stands in SKILL.md: move it to a file, and read it where it is used")
			if end-n-1 > maxBlockLines {
				c.report(LongBlock, at, "a block of "+count(end-n-1, "line")+" is read whenever the skill is loaded")
			}
			n = end
		case plainLine:
			isTable := strings.HasPrefix(text, "|")
			if next, _ := f.line(n + 1); isTable && !table && n < f.lines() && isDelimiter(next) {
				c.report(InlineData, at, "a table stands in SKILL.md: move it to a file of constants")
			}
			if text == "{" || strings.HasPrefix(text, `{"`) || text == "[{" {
				c.report(InlineData, at, "JSON stands in SKILL.md: move it to a file")
			}
			table = isTable
		default:
			table = false
		}
	}
	block(f.lines() + 1)
}

// isDelimiter reports whether a line is the second one of a table.
func isDelimiter(line string) bool {
	line = strings.TrimSpace(line)
	return strings.Contains(line, "--") && strings.Contains(line, "|") && strings.Trim(line, "|-: \t") == ""
}

// isItem reports whether a line belongs to a list.
func isItem(text string) bool {
	if len(text) > 1 && strings.IndexByte("-*+", text[0]) >= 0 && text[1] == ' ' {
		return true
	}
	n := 0
	for n < len(text) && '0' <= text[n] && text[n] <= '9' {
		n++
	}
	return n > 0 && n < len(text) && (text[n] == '.' || text[n] == ')')
}
