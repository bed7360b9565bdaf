package content

import (
	"bytes"
	"math/bits"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A phrase is what a sentence says if it has its items in order. As text:
//
//	phrase = [ severity ":" ] [ "<!--" ] item { item }               ; with "<!--" it counts in a comment of HTML
//	item   = [ "+" | "-" | "*" | "=" ] class { "|" class } [ "&" class ] [ "/" gap ] ; within gap words of the item before, 6 if it is not said
//	       | "!" class                                      ; the sentence has no such word
//	       | "^" class                                      ; nor is it the word behind the item before
//
// An item with "+" is something that the reader may be told to do, with "-" something that it is told not to do, with "*" a verb that
// stands where orders start, with "=" anything but what it is told not to do. A class in lower case is a word.
type phrase struct {
	rule     *Rule
	severity Severity
	fact     string // it is no finding, but a fact for near
	aside    bool   // it is looked for in comments of HTML alone
	items    []item
	needs    []classes // of the items, each of which the sentence has
	veto     classes
}

type item struct {
	classes
	polarity int8 // 2 is where orders start, 1 is told to do, -1 is told not to do, 0 either
	free     bool // it is not what the reader is told not to do
	gap      int
	also     classes // of which it has one too, if there are any
	before   classes // that the next word does not have
}

// near is a finding where a fact follows another within some words.
type near struct {
	rule          *Rule
	severity      Severity
	first, second string
	words         int
}

func (s *ruleSet) readPhrase(r *Rule, fact, text string) phrase {
	p := phrase{rule: r, severity: r.Severity, fact: fact}
	if severity, rest, ok := strings.Cut(text, ": "); ok {
		p.severity, text = Severity(severity), rest
	}
	text, p.aside = strings.CutPrefix(text, "<!-- ")
	for _, word := range strings.Fields(text) {
		it := item{gap: 6}
		if n, gap, ok := strings.Cut(word, "/"); ok {
			word = n
			it.gap, _ = strconv.Atoi(gap)
		}
		veto, behind := false, false
		switch word[0] {
		case '^':
			behind, word = true, word[1:]
		case '+':
			it.polarity, word = 1, word[1:]
		case '-':
			it.polarity, word = -1, word[1:]
		case '*':
			it.polarity, word = 2, word[1:]
		case '=':
			it.free, word = true, word[1:]
		case '!':
			veto, word = true, word[1:]
		}
		if first, also, ok := strings.Cut(word, "&"); ok {
			word = first
			it.also.put(s.classOf(also))
		}
		var words []string // of the item, which are one class
		for _, name := range strings.Split(word, "|") {
			if name == strings.ToLower(name) {
				words = append(words, name)
				continue
			}
			if _, ok := s.names[name]; !ok {
				panic("content: " + r.ID + " has no class " + name)
			}
			it.put(s.names[name])
		}
		if len(words) > 0 {
			class := s.classOf("'" + strings.Join(words, "|"))
			for _, w := range words {
				s.join(w, class)
			}
			it.put(class)
		}
		if veto {
			p.veto.or(it.classes)
			continue
		}
		if behind {
			p.items[len(p.items)-1].before.or(it.classes)
			continue
		}
		p.items, p.needs = append(p.items, it), append(p.needs, it.classes)
	}
	return p
}

// rarest is the classes of the item that fewest words have.
func (p *phrase) rarest(s *ruleSet) (out classes) {
	least := 0
	for i, need := range p.needs {
		n := 0
		for _, set := range s.sets {
			if set.any(need) {
				n++
			}
		}
		if i == 0 || n < least {
			out, least = need, n
		}
	}
	return out
}

func readNear(r *Rule, text string) near {
	n := near{rule: r, severity: r.Severity}
	if severity, rest, ok := strings.Cut(text, ": "); ok {
		n.severity, text = Severity(severity), rest
	}
	words := strings.Fields(text)
	n.first, n.second = words[0], words[1]
	n.words, _ = strconv.Atoi(words[2])
	return n
}

// A place is where the sentences are that are read.
type place struct {
	not     bool // below a line that says what not to do
	discuss bool // in a section about attacks
	test    bool // in a folder of tests
	remark  bool // in a comment of code
}

// A speech is the prose of one text, as it is read.
type speech struct {
	*scan
	reader
	place
	section  int // level of the heading that discusses, 0 for none
	words    int // so far
	facts    map[string]fact
	polarity []int8
	lines    cursor
	lead     bool // the last sentence ended a line with a colon
	foreign  bool // there are words of the stems in tongues.txt
}

type fact struct{ word, from, to int }

// says reads what a text tells.
func (s *scan) says(name string, text []byte) {
	p := &speech{scan: s, facts: map[string]fact{}, lines: cursor{text: text, number: 1}}
	p.reader = reader{set: s.rules, src: text, end: p.sentence}
	for _, dir := range strings.Split(strings.ToLower(path.Dir(name)), "/") {
		p.test = p.test || tests.has(dir)
	}
	if remarked.has(strings.ToLower(path.Ext(name))) {
		p.remarks()
		p.flush()
		return
	}
	p.blocks()
	p.flush()
	for i := 0; i < len(text) && !p.foreign; i++ {
		p.foreign = text[i] >= 0x80
	}
	if p.foreign {
		s.tongues(text)
	}
}

const (
	tests    list = " test tests testdata fixtures evals eval __tests__ " // folders
	remarked list = " .py .sh .js .ts .go .rb .bash .mjs .cjs .tsx .jsx .ps1 .rs .java .c .h .cpp .cs .php .pl .lua .r .swift .kt .css .scss .sql .bat .zsh .fish .psm1 .vbs .tcl .scala .dart "
)

// codes are the languages of fences that hold code.
const codes list = " bash sh shell zsh console powershell pwsh ps1 python py python3 js javascript ts typescript jsx tsx go golang rust java c cpp c++ csharp cs c# ruby rb php perl lua r swift kotlin scala sql css scss html xml svg json json5 jsonc yaml yml toml ini diff mermaid dockerfile docker makefile make cmake hcl terraform bicep graphql proto dart elixir erlang haskell clojure vue svelte svg latex tex vb vbnet fsharp julia matlab groovy gradle http nginx kql dax razor cypher solidity zig nix "

// blocks reads Markdown, and all text that is no code.
func (p *speech) blocks() {
	src := p.src
	fence, code := "", false
	listNot := false
	for from := 0; from < len(src); {
		to := from + bytes.IndexByte(src[from:], '\n')
		next := to + 1
		if to < from {
			to, next = len(src), len(src)
		}
		start := from
		for start < to && (src[start] == ' ' || src[start] == '\t' || src[start] == '>') {
			start++
		}
		row := src[start:to]
		if n := len(row); n > 0 && row[n-1] == '\r' {
			row, to = row[:n-1], to-1
		}
		from = next
		switch {
		case len(row) == 0:
			p.flush()
			p.quote, p.code = 0, false
			continue
		case fence != "":
			if row[0] == fence[0] && bytes.HasPrefix(row, []byte(fence)) && len(bytes.Trim(row, fence[:1]+" ")) == 0 {
				fence, code, p.base = "", false, 0
				p.flush()
				p.quote, p.code = 0, false
				continue
			}
			if code {
				p.remark1(row, start, to)
				continue
			}
		case row[0] == '`' && bytes.HasPrefix(row, []byte("```")), row[0] == '~' && bytes.HasPrefix(row, []byte("~~~")):
			n := len(row) - len(bytes.TrimLeft(row, string(row[:1])))
			info := strings.ToLower(strings.TrimSpace(string(row[n:min(len(row), n+60)])))
			if row[0] != '`' || strings.IndexByte(info, '`') < 0 {
				p.flush()
				fence = string(row[:n])
				info, _, _ = strings.Cut(strings.TrimLeft(info, "{. "), " ")
				info, _, _ = strings.Cut(info, "{")
				code = codes.has(info)
				p.quote, p.code = 0, false
				if !code {
					p.base = quoted
				}
				continue
			}
		case row[0] == '#':
			level := len(row) - len(bytes.TrimLeft(row, "#"))
			p.flush()
			p.not, listNot, p.lead = false, false, false
			if p.section >= level {
				p.section, p.discuss = 0, false
			}
			p.heading(start+level, to, level)
			continue
		case bullet(row) > 0:
			n := bullet(row)
			p.flush()
			if p.lead { // the line before says what the list is of
				p.lead = false
				listNot = p.not
			}
			p.not = listNot
			start += n
		case row[0] == '|':
			p.flush()
		case bytes.HasPrefix(row, []byte("[//]: #")), bytes.HasPrefix(row, []byte("[comment]: #")):
			p.unshown(start, to)
			continue
		default:
			if p.lead || listNot && src[max(start-1, 0)] == '\n' {
				p.lead, p.not, listNot = false, false, false
			}
		}
		p.quote1()
		p.row(start, to)
		if fence == "" && p.ends(row) {
			p.leadIn()
		}
	}
}

// unshown reads a definition of a link that nothing uses, which stands for a comment.
func (p *speech) unshown(from, to int) {
	p.flush()
	p.reader.aside = true
	p.row(from+bytes.IndexByte(p.src[from:to], '#'), to)
	p.flush()
	p.reader.aside, p.quote = false, 0
}

// quote1 ends a quotation of single quotes with its line.
func (p *speech) quote1() {
	if p.quote == '\'' {
		p.quote = 0
	}
}

// bullet is the length of the mark of a list item, 0 if row is none.
func bullet(row []byte) int {
	if len(row) > 1 && (row[0] == '-' || row[0] == '*' || row[0] == '+') && row[1] == ' ' {
		return 2
	}
	i := 0
	for i < len(row) && i < 4 && '0' <= row[i] && row[i] <= '9' {
		i++
	}
	if i > 0 && i+1 < len(row) && (row[i] == '.' || row[i] == ')') && row[i+1] == ' ' {
		return i + 2
	}
	return 0
}

// ends reports whether a line ends with a colon.
func (p *speech) ends(row []byte) bool {
	row = bytes.TrimRight(row, " *_")
	return len(row) > 0 && row[len(row)-1] == ':'
}

// leadIn is a line before a list, whose negation is that of the items.
func (p *speech) leadIn() {
	p.not = false
	for i := len(p.toks) - 1; i >= 0 && i > len(p.toks)-14; i-- {
		if p.toks[i].has(p.set.class.not) {
			p.not = true
		}
	}
	p.lead = true
	p.flushAs()
}

// flushAs ends the sentence before a list, which is not itself below it.
func (p *speech) flushAs() {
	not := p.not
	p.not = false
	p.flush()
	p.not = not
}

// heading reads a heading: what it says is said, and is what its section is about.
func (p *speech) heading(from, to, level int) {
	var c classes
	end := p.reader.end
	p.reader.end = func(toks []token) {
		for _, t := range toks {
			c.or(t.classes)
		}
		end(toks)
	}
	p.row(from, to)
	p.flush()
	p.reader.end = end
	if c.has(p.set.class.discuss) && p.section == 0 {
		p.section, p.discuss = level, true
	}
	if c.has(p.set.class.not) {
		p.not, p.lead = true, true
	}
}

// remarks reads the comments of code.
func (p *speech) remarks() {
	src := p.src
	end := "" // of the comment of several lines that is open
	for from := 0; from < len(src); {
		to := from + bytes.IndexByte(src[from:], '\n')
		next := to + 1
		if to < from {
			to, next = len(src), len(src)
		}
		start := from
		for start < to && (src[start] == ' ' || src[start] == '\t') {
			start++
		}
		row := src[start:to]
		switch {
		case end == "":
			p.remark1(row, start, to)
			for _, mark := range [][2]string{{`"""`, `"""`}, {"'''", "'''"}, {"/*", "*/"}, {"=begin", "=end"}, {"<#", "#>"}} {
				if rest, ok := bytes.CutPrefix(row, []byte(mark[0])); ok && !bytes.Contains(rest, []byte(mark[1])) {
					end = mark[1]
				}
			}
		case bytes.Contains(row, []byte(end)):
			end = ""
			p.flush()
		case len(row) == 0:
			p.flush()
		default:
			p.remark = true
			p.quote1()
			p.row(start, to)
			p.remark = false
		}
		from = next
	}
}

// remark1 reads a line of code if it is a comment.
func (p *speech) remark1(row []byte, start, to int) {
	n := 0
	for n < len(row) && n < 4 && strings.IndexByte("#/*-;%\"!<", row[n]) >= 0 {
		n++
	}
	if n == 0 || row[0] == '-' && n < 2 || row[0] == '/' && n < 2 || row[0] == '"' && n < 3 || row[0] == '<' && !bytes.HasPrefix(row, []byte("<!--")) {
		p.flush()
		p.quote, p.code = 0, false
		return
	}
	remark := p.remark
	p.remark = true
	p.quote1()
	p.row(start+n, to)
	p.flush()
	p.remark = remark
}

// sentence judges the tokens of a sentence.
func (p *speech) sentence(toks []token) {
	var all classes
	for i := range toks {
		for k, part := range &toks[i].classes {
			all[k] |= part
		}
	}
	p.words += len(toks)
	p.foreign = p.foreign || all.has(p.set.class.foreign)
	var possible classes // phrases, of which the sentence has the rarest item
	for part, left := range all {
		for left &= p.set.rare[part]; left != 0; left &= left - 1 {
			possible.or(p.set.index[part<<6+bits.TrailingZeros64(left)])
		}
	}
	judged := false
	for part, left := range possible {
		for ; left != 0; left &= left - 1 {
			f := &p.set.phrases[part<<6+bits.TrailingZeros64(left)]
			if all.any(f.veto) || f.aside && toks[0].flags&aside == 0 || slices.ContainsFunc(f.needs, func(c classes) bool { return !all.any(c) }) {
				continue
			}
			if !judged {
				p.judge(toks)
				judged = true
			}
			if first, last, ok := f.match(toks, p.polarity); ok {
				p.said(f, toks, first, last)
			}
		}
	}
}

// judge computes for each token whether the reader is told to do it, and that where orders start (2) or elsewhere (1), is told not to do
// it (-1), or only told of it (0).
func (p *speech) judge(toks []token) {
	c := &p.set.class
	p.polarity = p.polarity[:0]
	until, who, tells, cond := 0, 0, 0, -9
	bracket, outside := -1, 0 // where a bracket opened, and how far the negation before it reached
	told := false             // the clause has no subject, or the reader is it
	for i := range toks {
		t := &toks[i]
		if t.flags&clause != 0 {
			switch closed := p.closes(toks, i); {
			case closed && bracket >= 0: // a negation goes on behind an aside
				until, who, bracket = outside+i-bracket, 0, -1
			case !closed && t.flags&quoted != 0 && i < until: // and is that of the examples in it
				bracket, outside = i, until
				until = i + 10
			default:
				bracket, outside = i, until
				until, who, tells = 0, 0, 0
			}
		} else if t.flags&quoted != 0 && bracket >= 0 && i > 0 && p.polarity[i-1] < 0 {
			until = max(until, i+2)
		}
		if t.flags&stop != 0 {
			until, who, tells = 0, 0, 0
		}
		if t.flags&(comma|clause|stop) != 0 {
			cond = -9
		}
		if t.has(c.cond) {
			cond = i
		}
		if t.flags&comma != 0 {
			who, tells = 0, 0
			if t.has(c.goes) || t.has(c.you) {
				until = 0
			}
		}
		switch {
		case i == 0 || t.flags&(clause|stop) != 0:
			told = !t.has(c.subject)
		case t.has(c.bind) || t.has(c.you) || t.has(c.agent):
			told = true
		}
		switch {
		case t.has(c.not):
			real := true
			for k := i + 1; k < len(toks) && k <= i+2; k++ {
				real = real && !toks[k].has(c.fake)
			}
			switch {
			case !real:
			case cond >= 0 && (t.has(c.cant) || i <= cond+3 && (toks[cond+1].has(c.you) || toks[cond+1].has(c.subject))): // if you do not
				tells = i + 10
			case t.has(c.isnt) || i > 0 && toks[i-1].has(c.is) && !(i+1 < len(toks) && toks[i+1].has(c.may)):
				tells = i + 10
			default:
				until = i + 10
			}
		case t.has(c.who):
			who = i + 6
		case t.has(c.you) || t.has(c.agent):
			who = 0
		}
		switch {
		case i < until || p.not:
			p.polarity = append(p.polarity, -1)
		case i < who && !t.has(c.who) || i < tells:
			p.polarity = append(p.polarity, 0)
		case i == 0 || t.flags&(clause|stop|comma) != 0 || t.flags&quoted != 0 && toks[i-1].flags&quoted == 0 || p.leads(toks, i, told):
			p.polarity = append(p.polarity, 2)
		default:
			p.polarity = append(p.polarity, 1)
		}
	}
}

// closes reports whether the bracket before a token closes an aside.
func (p *speech) closes(toks []token, i int) bool {
	from := 0
	if i > 0 {
		from = int(toks[i-1].to)
	}
	to := int(toks[i].from)
	return from < to && bytes.IndexByte(p.src[from:to], ')') >= 0 && bytes.IndexByte(p.src[from:to], '(') < 0
}

// leads reports whether an order may start behind the token before i: "please", "then", "you must", an adverb, and in a clause that tells
// the reader something "and".
func (p *speech) leads(toks []token, i int, told bool) bool {
	c, before := &p.set.class, &toks[i-1]
	switch {
	case before.has(c.lead), before.has(c.agent):
		return true
	case before.has(c.and):
		return told
	case before.has(c.to):
		return i == 1 || toks[i-2].has(c.must) || toks[i-2].has(c.agent)
	}
	word := p.src[before.from:before.to]
	return len(word) > 4 && bytes.HasSuffix(word, []byte("ly")) && (i == 1 || before.flags&(clause|stop|comma) != 0 || p.leads(toks, i-1, told))
}

// match finds the items of a phrase in order, each as near to the one before as there is.
func (f *phrase) match(toks []token, polarity []int8) (first, last int, ok bool) {
	var latest, began [12]int
	n := len(f.items)
	for k := range n {
		latest[k] = -1
	}
	for i := range toks {
		if toks[i].flags&stop != 0 {
			for k := range n {
				latest[k] = -1
			}
		}
		for k := n - 1; k >= 0; k-- {
			it := &f.items[k]
			if !toks[i].any(it.classes) || it.polarity > 0 && polarity[i] < it.polarity || it.polarity < 0 && polarity[i] >= 0 || it.free && polarity[i] < 0 || i+1 < len(toks) && toks[i+1].any(it.before) || !it.also.none() && !toks[i].any(it.also) {
				continue
			}
			switch {
			case k == 0:
				latest[0], began[0] = i, i
			case latest[k-1] >= 0 && latest[k-1] < i && i-latest[k-1] <= it.gap:
				latest[k], began[k] = i, began[k-1]
			default:
				continue
			}
			if k == n-1 {
				return began[k], i, true
			}
		}
	}
	return 0, 0, false
}

// said notes what a sentence says, as far as its place lets it.
func (p *speech) said(f *phrase, toks []token, first, last int) {
	severity := f.severity
	inQuotes, aboutAttacks, example := true, p.discuss, false
	for i := range toks {
		t := &toks[i]
		if i >= first && i <= last && t.flags&quoted == 0 {
			inQuotes = false
		}
		aboutAttacks = aboutAttacks || t.has(p.set.class.discuss)
		example = example || t.has(p.set.class.eg)
	}
	switch {
	case inQuotes && aboutAttacks:
		severity = severity.lower(3)
	case aboutAttacks && example:
		severity = severity.lower(2)
	case aboutAttacks || inQuotes && example:
		severity = severity.lower(1)
	}
	if f.rule.ID == "AUD-OVERRIDE" && p.placed(toks[first:], last-first) {
		severity = severity.lower(2)
	}
	if p.test || p.remark && !toks[0].has(p.set.class.agent) { // a comment that speaks to an agent is no comment
		severity = severity.lower(1)
	}
	from, to := int(toks[first].from), int(toks[last].to)
	if f.fact != "" {
		p.fact(f.fact, from, to, severity)
		return
	}
	p.note(f.rule, severity, from, max(int(toks[0].from), from-maxEvidence/2), min(int(toks[len(toks)-1].to), to+maxEvidence/4))
}

// placed reports whether the word at i, which ends what is overridden, is said to be in a file, in a version or of a tool: "the earlier
// rules in the config file". What is all there is, the agent's own or what an agent is told stays what it is.
func (p *speech) placed(toks []token, i int) bool {
	c := &p.set.class
	for _, t := range toks[:i] {
		if t.has(c.own) {
			return false
		}
	}
	i++
	if i < len(toks) && toks[i].has(c.found) {
		i++
	}
	if i >= len(toks) || !toks[i].has(c.in) {
		return false
	}
	artefact := false
	for k := i; k < len(toks) && k < i+12; k++ {
		t := &toks[k]
		switch {
		case t.flags&(stop|comma|clause) != 0:
			return artefact
		case t.has(c.agent), t.has(c.memfile), t.has(c.toldfile), t.has(c.myfile), t.has(c.system), t.has(c.own) && !artefact:
			return false
		}
		artefact = artefact || k < i+7 && (t.has(c.artefact) || fileName(p.src[t.from:t.to]))
	}
	return artefact
}

// fileName reports whether a word is the name of a file or the number of a version.
func fileName(w []byte) bool {
	w = bytes.Trim(w, "`\"'*_,;:.!?")
	i := bytes.LastIndexByte(w, '.')
	if i >= 0 && i+1 < len(w) && len(w) > 3 && (i == 0 || len(w)-i < 7) {
		return true
	}
	w = bytes.TrimPrefix(w, []byte("v"))
	return len(w) > 0 && w[0] >= '0' && w[0] <= '9'
}

// note is a finding at a byte of the text, which the bytes between from and to show.
func (p *speech) note(r *Rule, severity Severity, at, from, to int) {
	line, column := p.position(at)
	p.scan.add(r.ID, severity, line, column, r.About, strings.ToValidUTF8(string(p.src[from:min(max(to, from), from+4*maxEvidence)]), ""))
}

// maxColumn is the last column that is told.
const maxColumn = 4096

// position is the line and column of a byte. Bytes come nearly in order: what lies before is counted again.
func (p *speech) position(at int) (line, column int) {
	start := max(at-maxColumn, 0)
	column = at - start - bytes.LastIndexByte(p.src[start:at], '\n')
	if column > maxColumn {
		column = 0
	}
	return p.lines.line(at), column
}

// fact notes a fact, and the findings that it makes together with those before.
func (p *speech) fact(name string, from, to int, severity Severity) {
	for _, n := range p.set.near {
		if n.second != name {
			continue
		}
		if before, ok := p.facts[n.first]; ok && p.words-before.word <= n.words && before.from < to {
			worst := n.severity
			if !severity.AtLeast(worst) {
				worst = severity
			}
			p.spans = p.citedAt(p.lines.line(before.from)) > 0 && p.citedAt(p.lines.line(from)) == 0
			p.note(n.rule, worst, before.from, before.from, to)
			p.spans = false
		}
	}
	p.facts[name] = fact{p.words, from, to}
}
