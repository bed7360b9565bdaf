package ui

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// manyOptions is the number above which groups start closed and typing filters at once.
const manyOptions = 40

// A picker is the state of a choice on a terminal: pure, from key to key. pickerview.go draws it.
type picker struct {
	choice  ask.Choice
	options []pickable
	groups  []*pickGroup // in the order of their first options
	chosen  []bool       // stays when a filter hides the option

	filter    string
	filtering bool // keys go to the filter
	rows      []pickRow
	matches   []int // options that the filter lets through, best first
	cursor    int   // in rows
	page      int   // rows of a page, as drawn last
	preview   bool
	paned     bool           // the pane is shown, as drawn last
	later     map[int]*later // what was computed of options
	reading   bool           // that of the cursor takes a while
	keysShown bool
	told      string // said once, until the next key
}

// A pickable is an option as it is matched.
type pickable struct {
	ask.Option
	text  string // name, group and description, in lower case
	group *pickGroup
}

type pickGroup struct {
	name     string
	open     bool
	fixed    bool // a heading: never closed
	total    int
	matching int
}

// A pickRow is a group, or the option of that index.
type pickRow struct {
	group  *pickGroup // nil for an option
	option int
}

func newPicker(c ask.Choice) *picker {
	p := &picker{choice: c, chosen: make([]bool, len(c.Options)), preview: true, page: 10, later: map[int]*later{}}
	byName := map[string]*pickGroup{}
	for i, o := range c.Options {
		g := byName[o.Group]
		if g == nil {
			fixed := slices.Contains(c.Headings, o.Group)
			g = &pickGroup{name: o.Group, fixed: fixed, open: fixed || len(c.Headings) == 0 && len(c.Options) <= manyOptions}
			byName[o.Group] = g
			p.groups = append(p.groups, g)
		}
		g.total++
		p.options = append(p.options, pickable{Option: o, group: g, text: strings.ToLower(o.Label + " " + o.Title + " " + o.Group + " " + o.Detail)})
		p.chosen[i] = o.Default
	}
	if len(p.groups) == 1 {
		p.groups[0].open = true
	}
	p.filtering = len(c.Options) > manyOptions && len(c.Headings) == 0
	p.arrange()
	return p
}

// filterWords are the words that an option has to hold.
func filterWords(filter string) []string { return strings.Fields(strings.ToLower(filter)) }

// rank says how well an option matches: 0 its name starts with the first word, 1 its name holds it, 2 another text does;
// -1 it does not match.
func (o pickable) rank(words []string) int {
	for _, w := range words {
		if !strings.Contains(o.text, w) {
			return -1
		}
	}
	name := strings.ToLower(o.Shown())
	switch {
	case len(words) == 0 || strings.HasPrefix(name, words[0]) || strings.HasPrefix(strings.ToLower(o.Label), words[0]):
		return 0
	case strings.Contains(name, words[0]):
		return 1
	}
	return 2
}

// arrange computes what matches and the rows of it. The cursor stays on its row, if that is still there.
func (p *picker) arrange() {
	was, had := p.current()
	words := filterWords(p.filter)
	best := map[*pickGroup]int{}
	ranks := map[int]int{}
	p.matches = p.matches[:0]
	for _, g := range p.groups {
		g.matching = 0
		best[g] = 3
	}
	for i, o := range p.options {
		r := o.rank(words)
		if r < 0 {
			continue
		}
		p.matches = append(p.matches, i)
		ranks[i] = r
		o.group.matching++
		best[o.group] = min(best[o.group], r)
	}
	order.Stable(p.matches, func(a, b int) int { return cmp.Compare(ranks[a], ranks[b]) })
	groups := slices.Clone(p.groups)
	order.Stable(groups, func(a, b *pickGroup) int { return cmp.Compare(best[a], best[b]) })
	p.rows = p.rows[:0]
	for _, g := range groups {
		if g.matching == 0 {
			continue
		}
		if len(p.groups) > 1 {
			p.rows = append(p.rows, pickRow{group: g})
		}
		for _, i := range p.matches {
			if g.open && p.options[i].group == g {
				p.rows = append(p.rows, pickRow{option: i})
			}
		}
	}
	p.cursor = 0
	if had {
		if i := slices.Index(p.rows, was); i >= 0 {
			p.cursor = i
		}
	}
	p.settle(1)
}

// current is the row of the cursor.
func (p *picker) current() (pickRow, bool) {
	if p.cursor < 0 || p.cursor >= len(p.rows) {
		return pickRow{}, false
	}
	return p.rows[p.cursor], true
}

// settle keeps the cursor on a row, and off headings, in the direction by or else the other one.
func (p *picker) settle(by int) {
	p.cursor = max(0, min(p.cursor, len(p.rows)-1))
	heading := func(i int) bool { return i >= 0 && i < len(p.rows) && p.rows[i].group != nil && p.rows[i].group.fixed }
	for _, step := range []int{by, -by} {
		i := p.cursor
		for heading(i) {
			i += step
		}
		if i >= 0 && i < len(p.rows) {
			p.cursor = i
			return
		}
	}
}

func (p *picker) move(by int) {
	p.cursor += by
	p.settle(map[bool]int{true: 1, false: -1}[by > 0])
}

// picked are the chosen options, in ascending order.
func (p *picker) picked() (out []int) {
	for i, yes := range p.chosen {
		if yes {
			out = append(out, i)
		}
	}
	return out
}

// An outcome is what a key leads to.
type outcome uint8

const (
	goesOn outcome = iota
	accepted
	left // nothing changes
	stopped
	paused
)

// press is the effect of a key.
func (p *picker) press(k key) outcome {
	p.told = ""
	if p.keysShown {
		p.keysShown = false
		if k.kind != keyStop && k.kind != keyPause {
			return goesOn
		}
	}
	switch k.kind {
	case keyStop:
		return stopped
	case keyPause:
		return paused
	case keyEscape:
		return p.escape()
	case keyUp:
		p.filtering = false
		p.move(-1)
	case keyDown:
		if !p.filtering {
			p.move(1)
		}
		p.filtering = false
	case keyPageUp:
		p.move(-p.page)
	case keyPageDown:
		p.move(p.page)
	case keyHome:
		p.cursor = 0
		p.settle(1)
	case keyEnd:
		p.cursor = len(p.rows) - 1
		p.settle(-1)
	case keyTab:
		p.toggle()
	case keyEnter:
		return p.enter()
	case keyLeft, keyRight:
		p.fold(k.kind == keyRight)
	case keyBackspace, keyErase:
		p.erase(k.kind == keyErase)
	case keyChar:
		if p.filtering {
			if utf8.RuneCountInString(p.filter) < 100 {
				p.setFilter(p.filter + k.char)
			}
			return goesOn
		}
		p.command(k.char)
	}
	return goesOn
}

// escape clears the filter, then leaves.
func (p *picker) escape() outcome {
	if p.filter == "" && !(p.filtering && len(p.choice.Options) <= manyOptions) {
		return left
	}
	p.filtering = false
	p.setFilter("")
	return goesOn
}

func (p *picker) enter() outcome {
	if p.filtering {
		p.filtering = false
		return goesOn
	}
	if len(p.picked()) == 0 {
		p.told = "nothing is chosen yet: space chooses, esc leaves"
		return goesOn
	}
	return accepted
}

// command is the effect of a character outside the filter.
func (p *picker) command(char string) {
	switch char {
	case "k":
		p.move(-1)
	case "j":
		p.move(1)
	case "g":
		p.press(key{kind: keyHome})
	case "G":
		p.press(key{kind: keyEnd})
	case "h", "l":
		p.fold(char == "l")
	case " ":
		p.toggle()
	case "a":
		p.all(p.matches)
	case "/":
		p.filtering = true
	case "p":
		p.preview = !p.preview
	case "?":
		p.keysShown = true
	}
}

// setFilter narrows to what matches: while there is a filter, groups with matches are open.
func (p *picker) setFilter(filter string) {
	p.filter = filter
	for _, g := range p.groups {
		g.open = filter != "" || g.fixed || len(p.groups) == 1 || len(p.choice.Headings) == 0 && len(p.choice.Options) <= manyOptions
	}
	p.cursor = 0
	p.rows = p.rows[:0]
	p.arrange()
	if len(filterWords(filter)) > 0 { // the best match is at hand
		for i, r := range p.rows {
			if r.group == nil {
				p.cursor = i
				break
			}
		}
	}
}

func (p *picker) erase(all bool) {
	if !p.filtering || p.filter == "" {
		return
	}
	keep := ""
	if !all {
		var clusters []string
		for g := uniseg.NewGraphemes(p.filter); g.Next(); {
			clusters = append(clusters, g.Str())
		}
		keep = strings.Join(clusters[:len(clusters)-1], "")
	}
	p.setFilter(keep)
}

// toggle chooses the option of the cursor or drops it; of a group, all its rows.
func (p *picker) toggle() {
	row, ok := p.current()
	switch {
	case !ok:
	case row.group == nil:
		p.chosen[row.option] = !p.chosen[row.option]
	default:
		var of []int
		for _, i := range p.matches {
			if p.options[i].group == row.group {
				of = append(of, i)
			}
		}
		p.all(of)
	}
}

// all chooses all of some options, or none of them if all are chosen.
func (p *picker) all(of []int) {
	every := !slices.ContainsFunc(of, func(i int) bool { return !p.chosen[i] })
	for _, i := range of {
		p.chosen[i] = !every
	}
}

// fold opens or closes the group of the cursor.
func (p *picker) fold(open bool) {
	row, ok := p.current()
	if !ok {
		return
	}
	g := row.group
	if g == nil {
		g = p.options[row.option].group
		if open || g.fixed || len(p.groups) == 1 {
			return
		}
		p.cursor = slices.IndexFunc(p.rows, func(r pickRow) bool { return r.group == g })
	}
	g.open = open || g.fixed
	p.filtering = false
	p.arrange()
}

// summary is the choice in a few words, for the line that stays.
func (p *picker) summary() string {
	var names []string
	for _, i := range p.picked() {
		names = append(names, p.options[i].Shown())
	}
	return diag.Printable(strings.Join(names, ", "))
}
