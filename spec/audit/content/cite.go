package content

import (
	"bytes"
	"slices"

	"github.com/skl-project/skl/spec/audit"
)

// A cite is a fence, a list or a quotation of Markdown that shows what an attack looks like, from its first line to its last.
type cite struct {
	first, last int
	lower       int // by how many its findings are lower
}

// citable are the rules whose findings are lower in a cite.
const citable list = " AUD-OVERRIDE AUD-CONCEAL AUD-EXFILTRATE AUD-FETCH-RUN AUD-REVERSE-SHELL AUD-DECODE-RUN AUD-DESTROY AUD-PERSIST AUD-AGENT-CONFIG AUD-SAFETY-OFF AUD-REMOTE-ORDERS AUD-DROP-HOST "

// cited is the severity of a finding of the file that is read, which is lower where the line is cited.
func (s *scan) cited(rule string, severity Severity, line int) Severity {
	if s.line > 0 || s.spans || severity == Refuse || !citable.has(rule) {
		return severity
	}
	return severity.lower(s.citedAt(line))
}

// citedAt is by how many the findings of a line of the file that is read are lower.
func (s *scan) citedAt(line int) int {
	text, ok := s.markdown[s.path]
	if !ok {
		return 0
	}
	list, ok := s.cites[s.path]
	if !ok {
		list = s.readCites(text)
		s.cites[s.path] = list
	}
	i, _ := slices.BinarySearchFunc(list, line, func(c cite, line int) int { return c.last - line })
	if i < len(list) && list[i].first <= line {
		return list[i].lower
	}
	return 0
}

// markdowns are the texts of the files of Markdown.
func markdowns(files []audit.File) map[string][]byte {
	out := map[string][]byte{}
	for _, f := range files {
		switch extension(f.Path) {
		case ".md", ".mdx", ".markdown":
			out[f.Path] = f.Data
		}
	}
	return out
}

// maxIntro is how many bytes of a paragraph before a block say what it is.
const maxIntro = 1500

// A citer reads what stands before the blocks of a text.
type citer struct {
	*scan
	out     []cite
	section int    // level of the heading that is about attacks, 0 for none
	intro   []byte // the paragraph before
	ended   bool   // a blank line or a block was behind it
	block   bool   // the last of out is just before the paragraph
}

// readCites finds the cites of a text.
func (s *scan) readCites(text []byte) []cite {
	c := &citer{scan: s}
	fence, open, number := "", -1, 0 // open is the list or quotation, as the first byte of its lines
	for line := range bytes.Lines(text) {
		number++
		row := bytes.TrimSpace(line)
		bare := bytes.TrimLeft(row, "> \t")
		mark := bytes.HasPrefix(row, []byte(">")) || bullet(row) > 0
		switch {
		case fence != "":
			if bytes.HasPrefix(bare, []byte(fence)) && len(bytes.Trim(bare, fence[:1]+" ")) == 0 {
				fence, c.intro, c.ended = "", nil, true
			} else if n := len(c.out); c.block {
				c.out[n-1].last = number
			}
		case bytes.HasPrefix(bare, []byte("```")) || bytes.HasPrefix(bare, []byte("~~~")):
			fence, open = string(bare[:len(bare)-len(bytes.TrimLeft(bare, string(bare[:1])))]), -1
			c.start(number)
		case len(row) == 0:
			c.ended = true
		case row[0] == '#':
			c.paragraph()
			c.heading(row)
			c.intro, c.ended, c.block, open = nil, true, false, -1
		case mark && open >= 0 && c.block:
			c.out[len(c.out)-1].last = number
		case mark && bytes.HasSuffix(c.intro, []byte(":")):
			open = int(row[0])
			c.start(number)
			if c.intro = nil; c.block {
				c.out[len(c.out)-1].last = number
			}
		default:
			if c.ended {
				c.paragraph()
				c.intro, c.ended = nil, false
			}
			open = -1
			if len(c.intro) < maxIntro {
				c.intro = append(append(c.intro, '\n'), row[:min(len(row), maxIntro)]...)
			}
		}
	}
	c.paragraph()
	return c.out
}

// heading reads a heading, whose section may be about attacks.
func (c *citer) heading(row []byte) {
	level := len(row) - len(bytes.TrimLeft(row, "#"))
	if c.section >= level {
		c.section = 0
	}
	if c.section == 0 && c.judge(row[:min(len(row), maxIntro)]).attack {
		c.section = level
	}
}

// paragraph ends a paragraph: if it tells to run the block before it, that is no cite.
func (c *citer) paragraph() {
	if c.block && len(c.intro) > 0 && !bytes.HasSuffix(c.intro, []byte(":")) && c.judge(c.intro).orders {
		c.out = c.out[:len(c.out)-1]
	}
	c.block = c.block && len(c.intro) == 0
}

// start begins a block on a line, which is a cite if the paragraph before it says so, or if its section is about attacks.
func (c *citer) start(line int) {
	g := c.judge(c.intro)
	c.paragraph()
	lower := 0
	switch {
	case g.orders:
	case g.attack && (g.shows || g.actor), g.rejects && g.textual && g.says:
		lower = 2
	case c.section > 0:
		lower = 1
	}
	if c.block = lower > 0; c.block {
		c.out = append(c.out, cite{line, line, lower})
	}
}

// A gist is what a paragraph is about.
type gist struct{ attack, actor, shows, rejects, textual, says, orders bool }

// judge reads a paragraph.
func (c *citer) judge(text []byte) (g gist) {
	k, n := &c.rules.class, c.rules.names
	p := &speech{scan: c.scan, facts: map[string]fact{}}
	refused, such := false, false
	p.reader = reader{set: c.rules, src: text, end: func(toks []token) {
		p.judge(toks)
		assault := slices.ContainsFunc(toks, func(t token) bool { return t.has(n["ASSAULT"]) })
		for i := range toks {
			if i+1 < len(toks) && toks[i+1].has(k.not) { // do not
				continue
			}
			t, polarity := &toks[i], p.polarity[i]
			g.attack = g.attack || t.has(n["ASSAULT"])
			g.actor = g.actor || t.has(n["ASSAILANT"])
			g.shows = g.shows || t.has(n["SHOWN"])
			g.says = g.says || t.has(n["SAYING"])
			such = such || t.has(n["SUCH"])
			g.textual = g.textual || t.has(n["READABLE"])
			g.rejects = g.rejects || t.has(n["REJECT"]) && (polarity >= 0 || t.has(k.not))
			refused = refused || polarity < 0 && t.has(n["COMPLY"])
			g.orders = g.orders || polarity == 2 && (t.has(n["TRYOUT"]) || t.has(n["EXECUTE"])) || polarity == 1 && t.has(n["EXECUTE"]) && !assault
		}
	}}
	at := 0
	for line := range bytes.Lines(text) {
		p.quote1()
		p.row(at, at+len(bytes.TrimRight(line, "\r\n")))
		at += len(line)
	}
	p.flush()
	g.rejects = g.rejects || refused
	g.says = g.says || such && g.textual
	return g
}
