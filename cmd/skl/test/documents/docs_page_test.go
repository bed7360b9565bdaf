package documents

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// A docPage is README.md or a guide, cut into its fenced blocks.
type docPage struct {
	name, path string
	lines      []string
	blocks     []*docBlock
	scripted   bool     // testdata/docs has a script for it
	started    bool     // and that script was run
	screens    []string // of TestScreens: each command and what a terminal shows of it
}

// A docBlock is one fenced block of a page.
type docBlock struct {
	section string // heading above it
	lang    string // what follows the fence: console, sh, toml, …
	line    int    // of the fence, counted from 1
	lines   []string
	skip    string // reason of "<!-- not run: reason -->" above it, "" if there is none
	used    bool   // a script ran it, or took it as a file
	now     []string
}

// notRun marks a block that no test can run.
var notRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)

// parsePage reads a page.
func parsePage(name, path string) (*docPage, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	p := &docPage{name: name, path: path, lines: strings.Split(string(data), "\n")}
	section := ""
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		if strings.HasPrefix(line, "#") {
			section = strings.TrimLeft(line, "# ")
		}
		lang, fenced := strings.CutPrefix(line, "```")
		if !fenced {
			continue
		}
		b := &docBlock{section: section, lang: lang, line: i + 1}
		if i > 0 {
			if m := notRun.FindStringSubmatch(p.lines[i-1]); m != nil {
				b.skip = m[1]
			}
		}
		for i++; i < len(p.lines) && p.lines[i] != "```"; i++ {
			b.lines = append(b.lines, p.lines[i])
		}
		if i == len(p.lines) {
			return nil, fmt.Errorf("%s:%d: the block has no end", path, b.line)
		}
		if !strings.Contains(" console sh toml markdown json yaml text ", " "+lang+" ") {
			return nil, fmt.Errorf("%s:%d: a block says what it is (console, sh, toml, markdown, json, yaml or text), this one says %q", path, b.line, lang)
		}
		p.blocks = append(p.blocks, b)
	}
	return p, nil
}

// commands reports whether the block is something that people type.
func (b *docBlock) commands() bool { return b.lang == "console" || b.lang == "sh" }

// A docStep is a command of a block and what it shows.
type docStep struct {
	command string // as it stands there, its lines joined
	exit    int    // "# exit 3" behind the command
	shown   []string
	lines   []string // the lines of the command
}

var exitComment = regexp.MustCompile(`\s# exit (\d+)$`)

// steps are the commands of the block: in a console block the lines that begin with "$ ", in a sh block
// every line that is no comment.
func (b *docBlock) steps() []docStep {
	var out []docStep
	open := false // the line before ended in a backslash
	for _, line := range b.lines {
		text, prompt := strings.CutPrefix(line, "$ ")
		if b.lang == "sh" {
			text, prompt = line, !open && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#")
		}
		switch {
		case open:
			last := &out[len(out)-1]
			last.command += "\n" + line
			last.lines = append(last.lines, line)
			open = strings.HasSuffix(line, `\`)
		case prompt:
			step := docStep{command: text, lines: []string{line}}
			if m := exitComment.FindStringSubmatch(text); m != nil {
				fmt.Sscan(m[1], &step.exit)
			}
			out = append(out, step)
			open = strings.HasSuffix(line, `\`)
		case b.lang == "console" && len(out) > 0:
			out[len(out)-1].shown = append(out[len(out)-1].shown, line)
		}
	}
	for i := range out {
		shown := out[i].shown
		for len(shown) > 0 && strings.TrimSpace(shown[len(shown)-1]) == "" {
			shown = shown[:len(shown)-1]
		}
		out[i].shown = shown
	}
	return out
}

// named are masks that name a thing: on one page it has one name, and no other thing has it.
var named = []*regexp.Regexp{
	regexp.MustCompile(`SHA256:[A-Za-z0-9+/]{43}`),
	regexp.MustCompile(`(?:^|[^-])sha256:[0-9a-f]{64}`),
	regexp.MustCompile(`\b\d{8}-\d{6}-[0-9a-f]{6}\b`),
	regexp.MustCompile(`\b(?:token|revoke) [0-9a-f]{12}\b`),
}

// masks are what differs between two runs: keys, digests of signed things, times, numbers of runs, tokens of
// a model's questions, the tokens of an index.
var masks = append(slices.Clone(named),
	regexp.MustCompile(`\b20\d\d-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?`),
	regexp.MustCompile(`\b\d+(?:\.\d+)? ?(?:µs|ms|s)\b`),
	regexp.MustCompile(`\b\d+\+\d+ tokens|\b\d+ in, \d+ out`),
	regexp.MustCompile(`(?m)^[0-9a-f]{12}  `), // of a pin: it is of an address
	regexp.MustCompile(`\bskl-registry-[a-z0-9]{8}\b`),
	regexp.MustCompile(`\bskl_[A-Za-z0-9]{20,}`),
	regexp.MustCompile(`\bboundary="[A-Z2-7]{26}"`),
	regexp.MustCompile(`"(?:generation|took_ns|index_size_bytes)": \d+`),
	regexp.MustCompile(`(?:\btwo lines |^ *)[a-z2-7]{16}\b`), // the random mark around data of a prompt
	regexp.MustCompile(`\bof \d+ {2,}\d+ +\d+ kB\b`),         // an index: it holds skl.lock, whose commit is another each time
)

// took is how long something took, at the end of a line; what was quick has none.
var took = regexp.MustCompile(`  \d+(?:\.\d+)? ?m?s$`)

func masked(line string) string {
	line = took.ReplaceAllString(line, "")
	for i, m := range masks {
		line = m.ReplaceAllString(line, fmt.Sprintf("<%d>", i))
	}
	return strings.TrimRight(line, " ")
}

// settled sorts the lines that children of a PARALLEL print when they end: any may be first.
func settled(lines []string) []string {
	out := slices.Clone(lines)
	child := func(i int) bool { return i < len(out) && strings.HasPrefix(out[i], "skl:   ✓ ") }
	for i := 0; i < len(out); i++ {
		end := i
		for child(end) {
			end++
		}
		if end > i {
			slices.Sort(out[i:end])
			i = end
		}
	}
	return out
}

// elided reports whether a page leaves out some of an output.
func elided(shown []string) bool {
	return slices.ContainsFunc(shown, func(line string) bool { return strings.HasSuffix(line, "…") && len(line) < 60 })
}

// sameOutput compares what a page shows with what a command printed. A line "…" stands for any lines, and
// a line that ends in "…" for any line that begins so. It returns the lines of both that stand for each other.
func sameOutput(shown, got []string) (pairs [][2]string, ok bool) {
	if len(shown) == 0 {
		return nil, len(got) == 0
	}
	if shown[0] == "…" {
		for i := 0; i <= len(got); i++ {
			if pairs, ok = sameOutput(shown[1:], got[i:]); ok {
				return pairs, true
			}
		}
		return nil, false
	}
	if len(got) == 0 {
		return nil, false
	}
	if start, cut := strings.CutSuffix(shown[0], "…"); cut {
		ok = strings.HasPrefix(masked(got[0]), masked(start))
	} else {
		ok = masked(shown[0]) == masked(got[0])
	}
	if ok {
		pairs, ok = sameOutput(shown[1:], got[1:])
	}
	return append([][2]string{{shown[0], got[0]}}, pairs...), ok
}

// A names says what the names of a page really are.
type names struct{ real, shown map[string]string }

// known are lines that were printed, with the names that the page gave.
func (n *names) known(lines []string) (out []string) {
	for _, line := range lines {
		for real, name := range n.shown {
			line = strings.ReplaceAll(line, real, name)
		}
		out = append(out, line)
	}
	return out
}

// found are the names of a line, without a sign that a mask takes along.
func found(m *regexp.Regexp, line string) (out []string) {
	for _, name := range m.FindAllString(line, -1) {
		out = append(out, strings.TrimLeftFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	}
	return out
}

// check returns line as a page has to show it if got is printed, and what is wrong with its names.
func (n *names) check(line, got string) (should, wrong string) {
	if n.real == nil {
		n.real, n.shown = map[string]string{}, map[string]string{}
	}
	should = line
	for _, m := range named {
		real := found(m, got)
		for i, name := range found(m, line) {
			if i >= len(real) {
				break
			}
			was, named := n.shown[real[i]]
			other, taken := n.real[name]
			switch {
			case !named && !taken:
				n.shown[real[i]], n.real[name] = name, real[i]
			case named && was != name:
				wrong = fmt.Sprintf("%s is called %s before, and %s here", real[i], was, name)
				should = strings.ReplaceAll(should, name, was)
			case taken && other != real[i]:
				wrong = name + " names two things"
				should = strings.ReplaceAll(should, name, real[i])
				n.shown[real[i]], n.real[real[i]] = real[i], real[i]
			}
		}
	}
	return should, wrong
}

// rewritten is the page with the output that its commands printed, for -update.
func (p *docPage) rewritten() string {
	var out []string
	from := 0
	for _, b := range p.blocks {
		if b.now == nil {
			continue
		}
		out = append(append(out, p.lines[from:b.line]...), b.now...)
		from = b.line + len(b.lines)
	}
	return strings.Join(append(out, p.lines[from:]...), "\n")
}

// A line is the same whether the machine was quick or slow.
func TestMasked(t *testing.T) {
	quick := "✓ Look at it"
	for _, slow := range []string{"✓ Look at it" + strings.Repeat(" ", 40) + "0.1 s", "✓ Look at it  120ms", "✓ Look at it  3s"} {
		if masked(slow) != masked(quick) {
			t.Errorf("%q is %q", slow, masked(slow))
		}
	}
	if masked(quick+"  you") == masked(quick) {
		t.Error("who answered is no time")
	}
}
