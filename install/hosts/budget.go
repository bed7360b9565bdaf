package hosts

import (
	"cmp"
	"fmt"
	"math"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// Use states of a copy that a host loads and tells its model less of than it says.
const (
	Cut     = "cut"     // the model is told its name, and some of its description or nothing
	Dropped = "dropped" // the model is not even told its name
)

// A Budget is how much a host tells its model of the skills that it loads, at the start of a session. A host that is not known to have one tells
// everything.
type Budget struct {
	Limit int    `json:"limit"`           // in Unit
	Unit  string `json:"unit"`            // "characters" or "tokens"
	Model string `json:"model,omitempty"` // whose window it is a part of, as the settings name it; "" where it depends on none, or none is named
	By    string `json:"by,omitempty"`    // the setting or the variable that decides it; "" is the host's own default
	About bool   `json:"about,omitempty"` // it is inferred, such as of a model that was not measured

	most    int // characters of one description
	noOwn   bool
	file    string // of settings, in which the limit is moved; "" where a variable decides
	home    string // of Codex: where the skills are that come with it
	measure func(Budget, []tell) (told []Told, need int)
	raise   func(b Budget, need int) (setting, file string)
}

// Told is how much a model is told of one copy, in characters as the host counts them.
type Told struct {
	Chars int  `json:"chars"` // of its description
	Of    int  `json:"of"`    // its whole description, as far as the host takes it
	Named bool `json:"named"` // the model is told its name
}

// Whole reports whether the model is told everything.
func (t Told) Whole() bool { return t.Named && t.Chars == t.Of }

// A tell is one skill of a list.
type tell struct {
	name, description string // as the host writes them
	root, rel         string // the directory of the host, and its SKILL.md below that
	user              bool   // it is of the user's directories
}

// Budget is how much the host tells its model; nil where that is not known to be limited.
func (r Reader) Budget() *Budget { return r.off.budget }

// Tell returns how much the host tells its model of each copy, nil of those that it tells it nothing of anyway and of all if it has no budget; and the
// limit at which it would tell everything. uses is what Use returned for copies.
func (r Reader) Tell(copies []Copy, uses []string) (out []*Told, need int) {
	out = make([]*Told, len(copies))
	b := r.Budget()
	if b == nil {
		return out, 0
	}
	type entry struct {
		tell
		of, rank int
	}
	var list []entry
	for i, c := range copies {
		if uses[i] != Loads && uses[i] != Listed && uses[i] != Unstable || c.Withheld && slices.Contains(r.host.Honours, "disable-model-invocation") {
			continue
		}
		s := r.find(c)
		if r.kinds[s.rank].own {
			continue // it is among those that come with the host
		}
		e := entry{tell{name: c.Name, description: c.Description, root: r.kinds[s.rank].dir, rel: path.Join(s.first, "SKILL.md"), user: r.kinds[s.rank].user}, i, 0}
		if r.host.ByDir || e.name == "" {
			e.name = path.Base(s.first)
		}
		if e.user != (r.host.ID == "claude-code") {
			e.rank = 1
		}
		if r.host.ID == "claude-code" && c.WhenToUse != "" {
			e.description += " - " + c.WhenToUse
		}
		list = append(list, e)
	}
	slices.SortStableFunc(list, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), strings.Compare(a.name, b.name), strings.Compare(a.rel, b.rel))
	})
	tells := make([]tell, len(list))
	for i, e := range list {
		tells[i] = e.tell
	}
	all, need := b.measure(*b, tells)
	for i, told := range all {
		out[list[i].of] = &told
	}
	return out, need
}

// units is the length of a text in JavaScript.
func units(s string) int {
	n := 0
	for _, r := range s {
		n += max(utf16.RuneLen(r), 1)
	}
	return n
}

// Claude Code, measured with 2.1.330 by the requests of 10 to 400 skills. The list is lines of "- name: description" with line ends between. Its
// own skills come last and are never cut, but for two commands. All names stay; descriptions are taken whole in the order of the list while they fit.
// The budget is a hundredth of the window, at 4 characters a token of the models up to 4.5, whose window has 200,000 tokens, and at 3 of those after,
// with 1,000,000.
const (
	claudeBundled = 6050 // characters of its own skills
	claudeStays   = 275  // of the one of them that stays where the others are switched off
	claudeMost    = 1536 // of a description
)

var (
	claudeCommands = []tell{{name: "init", description: strings.Repeat("x", 59)}, {name: "security-review", description: strings.Repeat("x", 71)}}
	claudeVersion  = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^claude-(?:[a-z]+-)?(\d)(?:-(\d{1,2}))?(?:-|$|\[)`)
	})
)

// claudeWindow is the budget of a model. about is true of one that is between those that were measured.
func claudeWindow(model string) (chars int, about bool) {
	m := claudeVersion().FindStringSubmatch(model)
	if m == nil { // an alias, such as sonnet, is of the newest
		return 30_000, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	switch {
	case major > 4 || major == 4 && minor > 5:
		return 30_000, major == 4 && minor < 8
	case strings.HasSuffix(model, "[1m]"):
		return 40_000, false
	}
	return 8_000, major < 4 || minor < 5
}

func claudeTells(b Budget, list []tell) (out []Told, need int) {
	cost, all := -1, slices.Clone(list) // the first has no line end before it
	if b.noOwn {
		cost += 1 + claudeStays
	} else {
		cost += 1 + claudeBundled
		all = append(all, claudeCommands...)
	}
	out = make([]Told, len(all))
	escape := strings.NewReplacer("<", "&lt;", ">", "&gt;")
	for i, s := range all {
		d := strings.TrimSpace(s.description)
		for strings.Contains(d, "\n\n") {
			d = strings.ReplaceAll(d, "\n\n", "\n")
		}
		d = escape.Replace(strings.ReplaceAll(d, "\n", " "))
		out[i] = Told{Of: min(units(d), b.most), Named: true}
		cost += units(s.name) + len("\n- ")
		if need += out[i].Of; out[i].Of > 0 {
			need += len(": ")
		}
	}
	need += cost
	for i, t := range out {
		if add := t.Of + len(": "); t.Of > 0 && cost+add <= b.Limit {
			out[i].Chars, cost = t.Of, cost+add
		}
	}
	return out[:len(list)], need
}

// GitHub Copilot, measured with 1.0.102. Blocks of XML with a line end behind each are taken in the order of the list until one does not fit; of the rest
// the model is told the names. Its own skills come last.
const copilotLimit = 15_000

func copilotTells(b Budget, list []tell) (out []Told, need int) {
	out = make([]Told, len(list))
	escape := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")
	full := false
	for i, s := range list {
		place := "project"
		if s.user {
			place = "user"
		}
		d := escape.Replace(s.description)
		out[i] = Told{Of: units(d), Named: true}
		need += units("<skill>\n  <name>" + escape.Replace(s.name) + "</name>\n  <description>" + d + "</description>\n  <location>" + place + "</location>\n</skill>\n")
		if full = full || need > b.Limit; !full {
			out[i].Chars = out[i].Of
		}
	}
	return out, need
}

// Codex, measured with 0.169.0 and read in codex-rs/core-skills: a 50th of the window, in tokens of four bytes, which each line rounds up. If not all
// fits, descriptions get one character in turn; if not even the names fit, those that do not are left out. Its own skills come first.
const (
	codexWindow = 272_000
	codexMost   = 1024 // characters of a description
)

var codexOwn = []tell{
	{name: "imagegen", description: strings.Repeat("x", 570)}, {name: "openai-docs", description: strings.Repeat("x", 624)},
	{name: "skill-creator", description: strings.Repeat("x", 106)}, {name: "skill-installer", description: strings.Repeat("x", 225)},
}

// A codexLine is a skill in Codex's list: bytes without a description, and of the first runes of that.
type codexLine struct {
	least int
	ends  []int // ends[n] is the bytes of n characters
}

// tokens are those of the line with n characters of the description.
func (l codexLine) tokens(n int) int {
	bytes := l.least
	if n > 0 {
		bytes += 1 + l.ends[n]
	}
	return (bytes + 3) / 4
}

func codexTells(b Budget, list []tell) (out []Told, need int) {
	all := list
	if !b.noOwn {
		own := slices.Clone(codexOwn)
		for i := range own {
			own[i].root, own[i].rel = b.home, own[i].name+"/SKILL.md"
		}
		all = append(own, list...)
	}
	lines := make([]codexLine, len(all))
	least := 0
	limit := b.Limit - codexRoots(all)
	for i, s := range all {
		d := strings.Join(strings.Fields(strings.ToValidUTF8(s.description, "\ufffd")), " ")
		l := codexLine{least: len("- " + s.name + ": (file: r0/" + s.rel + ")\n"), ends: make([]int, 1, min(len(d), b.most)+1)}
		for at, r := range d {
			if len(l.ends) > b.most {
				break
			}
			l.ends = append(l.ends, at+utf8.RuneLen(r))
		}
		lines[i] = l
		need, least = need+l.tokens(len(l.ends)-1), least+l.tokens(0)
	}
	out = make([]Told, len(all))
	for i, l := range lines {
		out[i] = Told{Of: len(l.ends) - 1, Named: true}
		if need <= limit {
			out[i].Chars = out[i].Of
		}
	}
	switch {
	case need <= limit:
	case least <= limit:
		shareOut(lines, out, limit-least)
	default:
		used := 0
		for i, l := range lines {
			if out[i].Named = used+l.tokens(0) <= limit; out[i].Named {
				used += l.tokens(0)
			}
		}
	}
	return out[len(all)-len(list):], need + b.Limit - limit
}

// codexRoots are the tokens that the table of the directories takes from the list: what is longer than the text that stands there without one.
func codexRoots(all []tell) int {
	const spared = 142 // bytes
	seen, bytes := map[string]bool{}, 0
	for _, s := range all {
		if !seen[s.root] {
			seen[s.root] = true
			bytes += len("- `r0` = ``\n") + len(s.root)
		}
	}
	return max(bytes-spared+3, 0) / 4
}

// shareOut gives each description a character in turn while the tokens last.
func shareOut(lines []codexLine, out []Told, tokens int) {
	for given := true; given; {
		given = false
		for i, l := range lines {
			if out[i].Chars == out[i].Of {
				continue
			}
			if more := l.tokens(out[i].Chars+1) - l.tokens(out[i].Chars); more <= tokens {
				out[i].Chars, tokens, given = out[i].Chars+1, tokens-more, true
			}
		}
	}
}

// Raise is the setting with which the host would tell its model everything that needs the limit need, and the absolute path of the file that it stands
// in, "" of a variable of the environment; the setting is "" where none is known, or where the host takes none so high.
func (b Budget) Raise(need int) (setting, file string) { return b.raise(b, need) }

func claudeRaise(b Budget, need int) (setting, file string) {
	window, _ := claudeWindow(b.Model)
	switch fraction := math.Ceil(float64(need)/float64(window)*10) / 1000; {
	case b.By == "SLASH_COMMAND_TOOL_CHAR_BUDGET":
		return fmt.Sprintf("%s=%d", b.By, need), b.file
	case fraction > 1:
		return "", ""
	default:
		return fmt.Sprintf(`"skillListingBudgetFraction": %v`, fraction), b.file
	}
}

func codexRaise(b Budget, need int) (setting, file string) {
	return fmt.Sprintf("max_context_tokens = %d under [skills]", need), b.file
}

func noRaise(Budget, int) (setting, file string) { return "", "" }
