// Package glob matches paths with patterns: those of searches ([Parse]) and those of permissions ([Exact]), which
// are the same language, read more strictly.
package glob

import (
	"cmp"
	"fmt"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// MaxBytes is the size of the longest glob.
const MaxBytes = 1 << 10

// A Glob matches whole paths. It may be used concurrently.
type Glob struct {
	source string
	prog   *program // nil matches every path
}

// Parse reads a glob; its semantics are in the comment of [Glob.Match]. "" is the zero Glob. The code of its error is
// "glob_pattern"; it says where, in bytes from 1.
func Parse(s string) (Glob, error) {
	if s == "" {
		return Glob{}, nil
	}
	return parse(s, false)
}

// Exact reads a glob that means no more than it says, for what may be read or written:
//
//   - It counts from the root also without "/": "*.go" has main.go only.
//   - It does not have what is below a directory that it names.
//   - "**" stands for directories as a whole name only; within one it is "*". At the end, "a/**" has a itself too.
//
// An empty one is an error, and so is one with "***", also where braces make that.
func Exact(s string) (Glob, error) {
	if s == "" {
		return Glob{}, diag.New(diag.Misuse, "glob_pattern", "the glob is empty")
	}
	texts, ok := alternatives(s)
	if len(s) > MaxBytes || !ok {
		return Glob{}, diag.New(diag.Misuse, "glob_pattern", "the glob %q has more than %d bytes, or %d alternatives, or a brace without its other half",
			diag.Clip(s, 60), MaxBytes, maxAlternatives)
	}
	whole := Glob{source: s}
	for _, text := range texts {
		for strings.HasSuffix(text, "/") || strings.HasSuffix(text, "/.") { // a directory, written with its slash
			text = strings.TrimSuffix(strings.TrimSuffix(text, "."), "/")
		}
		g, err := parse(cmp.Or(text, "."), true)
		if err != nil {
			return Glob{}, err
		}
		g.prog.next, whole.prog = whole.prog, g.prog
	}
	return whole, nil
}

const maxAlternatives = 64 // of an exact glob

// alternatives writes out what the braces of s mean. It is false if a brace has no other half.
func alternatives(s string) ([]string, bool) {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		return []string{s}, !strings.Contains(s, "}")
	}
	depth, start := 0, open+1
	var items []string
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				items = append(items, s[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			var out []string
			for _, item := range append(items, s[start:i]) {
				more, ok := alternatives(s[:open] + item + s[i+1:])
				if out = append(out, more...); !ok || len(out) > maxAlternatives {
					return nil, false
				}
			}
			return out, true
		}
	}
	return nil, false
}

func parse(s string, exact bool) (Glob, error) {
	prog, at, why, hint := compile(s, exact)
	if why == "" {
		return Glob{source: s, prog: prog}, nil
	}
	place := ""
	if at >= 0 {
		place = fmt.Sprintf(" at byte %d", at+1)
	}
	err := diag.New(diag.Misuse, "glob_pattern", "the glob %q %s%s", diag.Clip(s, 60), why, place)
	if hint != "" {
		err.Hint("%s", hint)
	}
	return Glob{}, err
}

// Match says whether g matches the path, which is relative and has slashes. The zero Glob matches every path.
//
//   - "*" stands for any characters but "/", "?" for one of them; "**" also for "/". "**/" stands for any directories,
//     also for none: "src/**/*.ts" has src/a.ts. A "." at the start of a name is a character as others.
//   - "[a-z]" and "[!a-z]" stand for one character but "/", and for themselves as they are spelled, since
//     frameworks name files so: app/[id]/page.tsx finds itself.
//   - "{a,b}" stands for either; braces nest, and may hold "/" and wildcards.
//   - "\" takes the meaning from one of * ? [ ] { } , ! ^ - and \.
//   - A glob without "/" matches at any depth, as in .gitignore: "*.go" has cmd/main.go. With one it counts from the root;
//     "/" or "./" at the start does only that.
//   - A glob that ends in "/" has everything below. So has one without *, ? and [ after its last "/": "src/auth" is the
//     file or the directory.
//   - Upper and lower case differ.
//
// It takes time linear in the length of the path, whatever the glob.
func (g Glob) Match(path string) bool {
	p := g.prog
	if p == nil {
		return true
	}
	for ; p != nil; p = p.next {
		if p.matches(path) {
			return true
		}
	}
	return false
}

func (p *program) matches(path string) bool {
	if !strings.HasPrefix(path, p.head) || !strings.HasSuffix(path, p.tail) {
		return false
	}
	if len(p.accept) == 1 {
		return p.matchSmall(path[len(p.head):])
	}
	return p.match(path[len(p.head):])
}

// String returns what was parsed.
func (g Glob) String() string { return g.source }

// Prefix returns a directory that every path that g matches lies in, with a slash at its end, or "".
func (g Glob) Prefix() string {
	if g.prog == nil || g.prog.next != nil {
		return ""
	}
	return g.prog.head[:strings.LastIndexByte(g.prog.head, '/')+1]
}

// Everything says whether g is written so that it matches every path.
func (g Glob) Everything() bool {
	return g.prog == nil || g.source == "**" || g.source == "**/*" || g.source == "*"
}

// A program is a glob as an automaton. Its states are the places of the glob that take a character; a set of
// them is a bit set, so that a match never goes back.
type program struct {
	next   *program // another one that may match as well
	head   string   // every match begins with it
	tail   string   // and ends with it
	states []state
	follow [][]uint64 // by state: the states that can be next
	start  []uint64   // after head
	accept []uint64   // the one state that takes nothing
	ascii  []uint64   // by character below 128, the states that take it; nil if there are more than 64 states
}

// Values of state.take: the runes that a state consumes.
const (
	takeRune = iota
	takeName // all but "/"
	takeAny
	takeClass
	takeNothing
)

type state struct {
	take  uint8
	r     rune
	class *class
}

// A class is what stands in brackets.
type class struct {
	not    bool
	ranges [][2]rune
}

func (s *state) takes(r rune) bool {
	switch s.take {
	case takeRune:
		return s.r == r
	case takeName:
		return r != '/'
	case takeAny:
		return true
	case takeClass:
		if r == '/' {
			return false
		}
		for _, c := range s.class.ranges {
			if c[0] <= r && r <= c[1] {
				return !s.class.not
			}
		}
		return s.class.not
	}
	return false
}

// matchSmall is match for at most 64 states, as nearly all globs have.
func (p *program) matchSmall(rest string) bool {
	now := p.start[0]
	for _, r := range rest {
		var next uint64
		set := now
		if r < utf8.RuneSelf {
			set &= p.ascii[r]
		}
		for ; set != 0; set &= set - 1 {
			if i := bits.TrailingZeros64(set); r < utf8.RuneSelf || p.states[i].takes(r) {
				next |= p.follow[i][0]
			}
		}
		if next == 0 {
			return false
		}
		now = next
	}
	return now&p.accept[0] != 0
}

func (p *program) match(rest string) bool {
	words := len(p.accept)
	space := make([]uint64, 2*words)
	now, next := space[:words], space[words:]
	copy(now, p.start)
	for _, r := range rest {
		if !p.step(now, next, r) {
			return false
		}
		now, next = next, now
	}
	for w := range now {
		if now[w]&p.accept[w] != 0 {
			return true
		}
	}
	return false
}

// step sets next to the states after r, and says whether there are any.
func (p *program) step(now, next []uint64, r rune) bool {
	clear(next)
	some := false
	for w, set := range now {
		for ; set != 0; set &= set - 1 {
			i := w*64 + bits.TrailingZeros64(set)
			if !p.states[i].takes(r) {
				continue
			}
			some = true
			for k, f := range p.follow[i] {
				next[k] |= f
			}
		}
	}
	return some
}

// An inst is a step of a glob: it takes a character, or goes on at x, and also at y if that is not negative.
type inst struct {
	state
	empty bool
	x, y  int
}

// A globber compiles a glob. At the first error it keeps why and at.
type globber struct {
	src   string
	exact bool
	pos   int
	insts []inst
	depth int // of braces

	plain   bool   // everything so far stands for itself
	head    []byte // while plain
	literal []byte // what stands for itself at the end of what was read
	wild    bool   // there is a wildcard after the last "/" outside of braces

	at        int
	why, hint string
}

// compile reads a glob. If why is not empty, it says what is wrong at the offset at, -1 for the whole.
func compile(s string, exact bool) (p *program, at int, why, hint string) {
	if at, why, hint := refuse(s, exact); why != "" {
		return nil, at, why, hint
	}
	g := &globber{src: s, exact: exact, plain: true}
	g.pos = skipDots(s, 0)
	if exact && (g.pos == len(s) || s == ".") { // the root itself, not what is in it
		g.src, g.pos = ".", 0
	}
	rooted := exact || g.pos > 0 || strings.Contains(s, "/")
	if !exact && (g.pos == len(s) || s == ".") {
		return nil, 0, "", ""
	}
	if !rooted {
		g.directories()
	}
	g.sequence()
	if g.why == "" && g.pos < len(s) {
		g.fail(g.pos, "has a } without its {", `write \} for the character`)
	}
	if g.why != "" {
		return nil, g.at, g.why, g.hint
	}
	p = &program{head: string(g.head), tail: string(g.literal)}
	switch last := s[len(s)-1]; {
	case exact:
	case last == '/' || strings.HasSuffix(s, "/."):
		g.star(takeAny)
		p.tail = ""
	case !g.wild:
		skip := g.split()
		g.take(state{take: takeRune, r: '/'})
		g.star(takeAny)
		g.insts[skip].y = len(g.insts)
		p.tail = ""
	}
	g.take(state{take: takeNothing})
	g.finish(p)
	return p, 0, "", ""
}

// refuse finds what no part of a glob may be.
func refuse(s string, exact bool) (at int, why, hint string) {
	switch i := strings.IndexByte(s, 0); {
	case len(s) > MaxBytes:
		return -1, fmt.Sprintf("has %d bytes, %d are allowed", len(s), MaxBytes), ""
	case !utf8.ValidString(s):
		return -1, "is not UTF-8", ""
	case i >= 0:
		return i, "has a NUL", ""
	case s[0] == '!':
		return 0, "begins with !, but a glob only says what is wanted", `write \! for a name that begins with it`
	case len(s) > 2 && s[1] == ':' && (s[2] == '/' || s[2] == '\\') && (s[0]|0x20) >= 'a' && (s[0]|0x20) <= 'z', strings.HasPrefix(s, `\\`):
		return -1, "is an absolute path", "paths are relative to the root of the repository, and have /"
	}
	for from := 0; from <= len(s) && !exact; { // a path never has "..", so there it is only useless
		n := strings.IndexAny(s[from:], "/{},")
		if n < 0 {
			n = len(s) - from
		}
		if s[from:from+n] == ".." {
			return from, "leads out of the root with ..", "paths are relative to the root of the repository"
		}
		from += n + 1
	}
	return 0, "", ""
}

// skipDots returns the offset after any "/" and "./" at i, which change nothing.
func skipDots(s string, i int) int {
	for i < len(s) {
		switch {
		case s[i] == '/':
			i++
		case strings.HasPrefix(s[i:], "./"):
			i += 2
		case s[i:] == "." && i > 0 && s[i-1] == '/':
			i++
		default:
			return i
		}
	}
	return i
}

func (g *globber) fail(at int, why, hint string) {
	if g.why == "" {
		g.at, g.why, g.hint = at, why, hint
	}
}

func (g *globber) take(s state) { g.insts = append(g.insts, inst{state: s, y: -1}) }

// split appends a step that goes on at the next one and at its y, which is to be set; it returns its index.
func (g *globber) split() int {
	g.insts = append(g.insts, inst{empty: true, x: len(g.insts) + 1, y: -1})
	return len(g.insts) - 1
}

// jump appends a step that goes on at x.
func (g *globber) jump(x int) int {
	g.insts = append(g.insts, inst{empty: true, x: x, y: -1})
	return len(g.insts) - 1
}

// star appends any number of what take takes.
func (g *globber) star(take uint8) {
	s := g.split()
	g.take(state{take: take})
	g.jump(s)
	g.insts[s].y = len(g.insts)
}

// directories appends any number of directories, each with its slash.
func (g *globber) directories() {
	g.special()
	s := g.split()
	g.star(takeAny)
	g.take(state{take: takeRune, r: '/'})
	g.insts[s].y = len(g.insts)
}

// special notes that what follows does not stand for itself.
func (g *globber) special() { g.plain, g.literal = false, g.literal[:0] }

// rune appends a character that stands for itself.
func (g *globber) rune(r rune) {
	g.take(state{take: takeRune, r: r})
	if g.depth > 0 {
		return
	}
	g.literal = utf8.AppendRune(g.literal, r)
	if g.plain {
		g.head = utf8.AppendRune(g.head, r)
	}
	if r == '/' {
		g.wild = false
	}
}

// sequence reads up to the end, or in braces to what ends an alternative.
func (g *globber) sequence() {
	for g.why == "" && g.pos < len(g.src) {
		switch c, end := g.src[g.pos], g.lastStars(); {
		case end > 0:
			g.special()
			g.wild = true
			g.pos = end
			skip := g.split()
			g.take(state{take: takeRune, r: '/'})
			g.star(takeAny)
			g.insts[skip].y = len(g.insts)
		case c == '*':
			g.stars()
		case c == '?':
			g.special()
			g.wild = true
			g.take(state{take: takeName})
			g.pos++
		case c == '[':
			g.class()
		case c == '{':
			g.braces()
		case c == '}', c == ',' && g.depth > 0:
			return
		case c == '\\':
			g.escape()
		case c == '/':
			g.rune('/')
			g.pos = skipDots(g.src, g.pos)
		default:
			r, n := utf8.DecodeRuneInString(g.src[g.pos:])
			g.rune(r)
			g.pos += n
		}
	}
}

// lastStars returns the offset behind "/**", also "/**/**", if an exact glob ends with that; else 0.
func (g *globber) lastStars() int {
	if !g.exact || g.src[g.pos] != '/' {
		return 0
	}
	i := skipDots(g.src, g.pos)
	for strings.HasPrefix(g.src[i:], "**") {
		if i += len("**"); i < len(g.src) && g.src[i] != '/' {
			return 0
		}
		if i = skipDots(g.src, i); i == len(g.src) {
			return i
		}
	}
	return 0
}

func (g *globber) stars() {
	from := g.pos
	for g.pos < len(g.src) && g.src[g.pos] == '*' {
		g.pos++
	}
	g.special()
	before := "/{,"
	if g.exact {
		before = "/"
	}
	first := from == 0 || strings.IndexByte(before, g.src[from-1]) >= 0
	last := g.pos == len(g.src) || g.src[g.pos] == '/'
	switch {
	case g.pos-from > 2 && g.exact: // as * it would deny less than it may mean, as ** allow more
		g.fail(from, "has more than two * next to each other", "write * for a part of a name, ** for directories")
	case g.pos-from == 1, g.exact && !(first && last):
		g.wild = true
		g.star(takeName)
	case first && g.pos < len(g.src) && g.src[g.pos] == '/':
		g.directories()
		g.wild = g.depth > 0
		g.pos = skipDots(g.src, g.pos)
	default:
		g.wild = true
		g.star(takeAny)
	}
}

// escapable are the characters that have a meaning somewhere in a glob.
const escapable = `*?[]{},!^-\`

func (g *globber) escape() {
	if g.pos+1 == len(g.src) || strings.IndexByte(escapable, g.src[g.pos+1]) < 0 {
		g.fail(g.pos, `has a \ before what needs none`, "directories are divided by /")
		return
	}
	g.rune(rune(g.src[g.pos+1]))
	g.pos += 2
}

func (g *globber) class() {
	from := g.pos
	c, end := g.readClass(from + 1)
	if g.why != "" {
		return
	}
	g.special()
	g.wild = true
	spelled := g.src[from:end]
	g.pos = end
	if strings.Contains(spelled, `\`) { // nobody pastes a path with an escape
		g.take(state{take: takeClass, class: c})
		return
	}
	other := g.split()
	g.take(state{take: takeClass, class: c})
	done := g.jump(0)
	g.insts[other].y = len(g.insts)
	for _, r := range spelled {
		g.take(state{take: takeRune, r: r})
	}
	g.insts[done].x = len(g.insts)
}

// readClass reads a class whose "[" stands before i, and returns the offset after its "]".
func (g *globber) readClass(i int) (*class, int) {
	c := &class{}
	open := i - 1
	if i < len(g.src) && (g.src[i] == '!' || g.src[i] == '^') {
		c.not = true
		i++
	}
	if strings.HasPrefix(g.src[i:], "[:") && strings.Contains(g.src[i:], ":]") {
		g.fail(i, "has a class by name", "write its characters, such as [a-zA-Z]")
	}
	next := func() (r rune) {
		if g.src[i] == '\\' && i+1 < len(g.src) {
			i++
		}
		r, n := utf8.DecodeRuneInString(g.src[i:])
		if r == '/' {
			g.fail(i, "has a / in a class", "")
		}
		i += n
		return r
	}
	for first := true; g.why == ""; first = false {
		switch {
		case i >= len(g.src):
			g.fail(open, "has a [ without its ]", `write \[ for the character`)
		case g.src[i] == ']' && !first:
			return c, i + 1
		default:
			low := next()
			high := low
			if i+1 < len(g.src) && g.src[i] == '-' && g.src[i+1] != ']' {
				i++
				high = next()
			}
			// A range in reverse takes nothing: [post-id] is a name that was pasted.
			c.ranges = append(c.ranges, [2]rune{low, high})
		}
	}
	return nil, 0
}

func (g *globber) braces() {
	open := g.pos
	g.special()
	g.depth++
	var done []int
	for {
		g.pos++
		other := g.split()
		g.sequence()
		if g.why != "" {
			return
		}
		if g.pos >= len(g.src) {
			g.fail(open, "has a { without its }", `write \{ for the character`)
			return
		}
		if g.src[g.pos] == '}' {
			g.insts[other].y = -1 // the last alternative has no other
			break
		}
		done = append(done, g.jump(0))
		g.insts[other].y = len(g.insts)
	}
	for _, j := range done {
		g.insts[j].x = len(g.insts)
	}
	g.pos++
	g.depth--
}

// finish makes the automaton of the steps.
func (g *globber) finish(p *program) {
	number := make([]int, len(g.insts)) // of the state
	for i, in := range g.insts {
		number[i] = len(p.states)
		if !in.empty {
			p.states = append(p.states, in.state)
		}
	}
	words := (len(p.states) + 63) / 64
	p.follow = make([][]uint64, 0, len(p.states))
	space := make([]uint64, words*(len(p.states)+4)) // for all the sets below
	newSet := func() []uint64 {
		set := space[:words:words]
		space = space[words:]
		return set
	}
	seen := make([]int, len(g.insts)) // by step, the round it was last seen in
	round := 0
	var stack []int
	reach := func(from int) []uint64 {
		set := newSet()
		round++
		stack = append(stack[:0], from)
		for len(stack) > 0 {
			i := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if seen[i] == round {
				continue
			}
			seen[i] = round
			in := &g.insts[i]
			if !in.empty {
				set[number[i]/64] |= 1 << (number[i] % 64)
				continue
			}
			stack = append(stack, in.x)
			if in.y >= 0 {
				stack = append(stack, in.y)
			}
		}
		return set
	}
	last := len(g.insts) - 1
	for i := range g.insts {
		switch {
		case i == last:
			p.accept = reach(i)
			p.follow = append(p.follow, newSet())
		case !g.insts[i].empty:
			p.follow = append(p.follow, reach(i+1))
		}
	}
	p.start = reach(0)
	next := newSet()
	for _, r := range p.head {
		p.step(p.start, next, r)
		p.start, next = next, p.start
	}
	if words == 1 {
		p.ascii = make([]uint64, utf8.RuneSelf)
		for i := range p.states {
			for r := range p.ascii {
				if p.states[i].takes(rune(r)) {
					p.ascii[r] |= 1 << i
				}
			}
		}
	}
}
