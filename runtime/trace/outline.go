package trace

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// An outline turns the events of a run into lines that read as the tree does: a node stands above what it has
// done. A node without visits below it is one line when it ended; one that has them is a line when the first
// of them begins, and another only if it failed. The lines of each child of PARALLEL stay together: they come when the child is done.
type outline struct {
	open []*visit // in the order they began
	halt halt
}

// A halt knows whether a run was halted already. END with a message ends a run as its skill means it, and what stands around the step that halted
// has not failed itself.
type halt bool

// sign is the symbol and the tone of a node that ended.
func (h *halt) sign(e run.Event) (string, tone) {
	if e.Status != run.Halted {
		return symbol(e.Status), toneOf(e.Status)
	}
	before := bool(*h)
	if *h = true; before || e.Type == tree.End.String() {
		return symbol(run.Ended), usual
	}
	return symbol(e.Status), bad
}

// A visit is a node that was begun and has not ended.
type visit struct {
	path, text string
	agent      bool // the call of a subagent, or EXPLORE
	parallel   bool
	unit       bool   // a child of PARALLEL
	told       bool   // its line was given out, because something below it began
	said       string // what was decided, and by whom
	value, by  string // the same, apart
	detail     string
	since      time.Time
	after      []line // what follows its line
	held       []line // of a unit: until it is done
}

// A line is text for the person, printable.
type line struct {
	text  string // gives way where the screen is too narrow
	tail  string
	value string // of tail: what came of it
	right string // of tail: who decided, and how long it took
	tone  tone
	whole bool // may be longer than the screen is wide
}

type tone uint8

const (
	usual tone = iota
	faint
	warned
	bad
)

const (
	textColumns = 100 // of a node's text in a line
	maxIndent   = 20  // levels
)

func indent(path string) string { return strings.Repeat("  ", min(depth(path), maxIndent)) }

// find gives the visit at path, nil if none is open.
func (o *outline) find(path string) *visit {
	for i := len(o.open) - 1; i >= 0; i-- {
		if o.open[i].path == path {
			return o.open[i]
		}
	}
	return nil
}

// around gives the open visits around path, the innermost first.
func (o *outline) around(path string) []*visit {
	var out []*visit
	for p := range above(path) {
		if v := o.find(p); v != nil {
			out = append(out, v)
		}
	}
	return out
}

// give hands lines of the visit at path out, or to the unit that it is in.
func (o *outline) give(path string, lines []line) []line {
	for _, v := range append([]*visit{o.find(path)}, o.around(path)...) {
		if v != nil && v.unit {
			v.held = append(v.held, lines...)
			return nil
		}
	}
	return lines
}

// event gives the lines that e adds to what is shown.
func (o *outline) event(e run.Event) []line {
	in := indent(e.Path)
	switch e.Kind {
	case run.NodeStarted:
		return o.begin(e)
	case run.NodeDone:
		return o.end(e)
	case run.NodeSkipped:
		return o.skip(e)
	case run.Decided, run.Answered:
		text := "  = " + plain(e.Value, 60)
		if e.Kind == run.Decided && e.Type == "FOR_EACH" {
			text = "  " + plain(e.Value, 20) + "×"
		}
		text += " (" + how(e.How) + ")"
		if v := o.find(e.Path); v != nil && !v.told {
			v.said, v.value, v.by = text, strings.TrimSuffix(text, " ("+how(e.How)+")"), who(e.How)
			return nil
		}
		return o.give(e.Path, []line{{text: in + strings.TrimPrefix(text, "  "), tone: faint}})
	case run.ToolReplied:
		if e.Status == run.OK {
			return nil
		}
		return o.sub(e.Path, line{text: in + "  " + toolSaid(e), tone: toneOf(e.Status)})
	case run.PlanShown:
		var lines []line
		for _, row := range planRows(e, in+"  ") {
			lines = append(lines, line{text: row, whole: true})
		}
		return o.sub(e.Path, lines...)
	case run.Checked:
		return o.sub(e.Path, line{text: in + "  " + symbol(e.Status) + " " + cut(e.Text, textColumns) + reason(e), tone: toneOf(e.Status)})
	case run.Warned:
		return o.sub(e.Path, line{text: "warning: " + cut(e.Text, 300), tone: warned, whole: true})
	case run.Output:
		var lines []line
		for _, text := range paragraphs(e.Text) {
			lines = append(lines, line{text: in + "  " + text, whole: true})
		}
		return o.sub(e.Path, lines...)
	case run.RunSuspended, run.RunEnded:
		return o.rest()
	}
	return nil
}

// toolSaid is why a tool did not do what it was called for. Its text may begin with the same word as its status.
func toolSaid(e run.Event) string {
	status := string(e.Status)
	return cut(e.Name, 40) + ": " + status + ": " + cut(strings.TrimPrefix(e.Text, status+": "), 80)
}

// sub gives lines that belong below that of a visit.
func (o *outline) sub(path string, lines ...line) []line {
	if v := o.find(path); v != nil && !v.told {
		v.after = append(v.after, lines...)
		return nil
	}
	return o.give(path, lines)
}

func (o *outline) begin(e run.Event) []line {
	out := o.tell(e.Path)
	v := &visit{path: e.Path, text: e.Text, agent: e.Type == "EXPLORE" || e.Type == "call" && strings.HasPrefix(e.Text, "**"), parallel: e.Type == "PARALLEL", since: time.Now()}
	if around := o.around(e.Path); len(around) > 0 {
		rest, ok := strings.CutPrefix(e.Path, around[0].path+"/")
		v.unit = around[0].parallel && ok && !strings.ContainsAny(rest, "/>[")
	}
	if old := o.find(e.Path); old != nil {
		o.drop(old)
	}
	o.open = append(o.open, v)
	return out
}

// tell gives the lines of the visits around path that have none yet.
func (o *outline) tell(path string) []line {
	var out []line
	for _, v := range slices.Backward(o.around(path)) {
		if v.told {
			continue
		}
		v.told = true
		lines := append([]line{{text: indent(v.path) + v.sign() + " " + cut(v.text, textColumns), tail: v.said, value: v.value, right: v.by}}, v.after...)
		v.after = nil
		out = append(out, o.give(v.path, lines)...)
	}
	return out
}

// sign stands before a visit that has others below it.
func (v *visit) sign() string {
	if v.agent {
		return "⟳"
	}
	return "▸"
}

func (o *outline) drop(v *visit) {
	if i := slices.Index(o.open, v); i >= 0 {
		o.open = slices.Delete(o.open, i, i+1)
	}
}

func (o *outline) end(e run.Event) []line {
	v := o.find(e.Path)
	if v == nil { // it failed before it was begun
		v = &visit{path: e.Path, text: e.Text}
	}
	sign, tone := o.halt.sign(e)
	var lines []line
	if !v.told || tone != usual {
		lines = append(lines, line{text: indent(e.Path) + sign + " " + cut(e.Text, textColumns), tail: v.said + outcome(e), value: v.value + amiss(e), right: strings.TrimSpace(v.by + took(e)), tone: tone})
	}
	return o.leave(v, append(lines, v.after...))
}

func (o *outline) skip(e run.Event) []line {
	v := o.find(e.Path)
	if v == nil {
		return nil // a branch that nobody looked at
	}
	return o.leave(v, append([]line{{text: indent(e.Path) + "⊘ " + cut(e.Text, textColumns), tail: v.said, value: v.value, right: v.by, tone: faint}}, v.after...))
}

// leave ends a visit and gives its last lines, and all lines of a unit.
func (o *outline) leave(v *visit, lines []line) []line {
	o.drop(v)
	if v.unit {
		lines = append(v.held, lines...)
	}
	return o.give(v.path, lines)
}

// rest gives what is still held back when a run stops: where it stands, and what the units have done.
func (o *outline) rest() []line {
	var out []line
	for _, v := range slices.Clone(o.open) {
		out = append(out, v.held...)
		if !v.told {
			out = append(out, line{text: indent(v.path) + "⏸ " + cut(v.text, textColumns), tail: v.said, value: v.value, right: v.by})
			out = append(out, v.after...)
		}
	}
	o.open = nil
	return out
}

// how is who decided, in words.
func how(h string) string {
	if h == "cache" {
		return "model, before"
	}
	return cut(h, 20)
}

// who is how, in a word beside a line.
func who(h string) string {
	if h == "person" {
		return "you"
	}
	return how(h)
}

// amiss is how a node ended, if not well.
func amiss(e run.Event) string {
	if toneOf(e.Status) != usual {
		return "  " + string(e.Status)
	}
	return ""
}

// took is how long a node took, if that is worth a word.
func took(e run.Event) string {
	switch {
	case e.Took >= time.Second:
		return fmt.Sprintf("%4d s", int(e.Took.Round(time.Second).Seconds()))
	case e.Took >= 100*time.Millisecond:
		return fmt.Sprintf("%4.1f s", e.Took.Seconds())
	}
	return ""
}

// outcome is what follows a node's text: how it ended if not well, and how long it took.
func outcome(e run.Event) string {
	out := ""
	if toneOf(e.Status) != usual {
		out = "  " + string(e.Status)
	}
	if e.Took >= 100*time.Millisecond {
		out += "  " + e.Took.Round(100*time.Millisecond).String()
	}
	return out
}

func toneOf(s run.Status) tone {
	switch s {
	case run.Failed, run.Halted, run.Fail, run.Denied, run.Errored:
		return bad
	}
	return usual
}

// reason is why an item of a checklist does not hold.
func reason(e run.Event) string {
	var said struct {
		Reason string `json:"reason"`
	}
	if e.Status != run.Fail || json.Unmarshal(e.Value, &said) != nil || said.Reason == "" {
		return ""
	}
	return ": " + cut(said.Reason, 120)
}
