package session

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// A Preview is everything that a run could do.
type Preview struct {
	Skill   string        `json:"skill"`
	Digest  string        `json:"digest"`
	Summary string        `json:"summary"` // what it could do at most, in a sentence
	Effects []plan.Effect `json:"effects"`
	Tools   []Tool        `json:"tools"`
	Needs   []string      `json:"needs"` // what --allow has to name so that the run need not ask or wait, as far as that is known
	Sandbox Box           `json:"sandbox"`

	canonical map[string]string // of the tools that ops call, by the name they have there
	unknown   error             // of the first that nothing can answer to
}

// A Tool is one that a run could call.
type Tool struct {
	Tool    string `json:"tool"`
	Effect  string `json:"effect"`
	Allowed bool   `json:"allowed"`
	Asks    bool   `json:"asks"` // its effect needs leave that nobody gave yet
	Only    string `json:"only,omitempty"`
	Why     string `json:"why,omitempty"`
}

// A Box is how scripts and commands are confined here.
type Box struct {
	Tier     string   `json:"tier"`
	Enforced []string `json:"enforced"`
	Missing  []string `json:"missing"`
}

// Preview walks the plan of r without running anything or asking anybody.
func (rs *Runs) Preview(r *Runnable, q Request) (Preview, error) {
	if err := answerable(r, q.Answers); err != nil {
		return Preview{}, err
	}
	if err := rs.fits(r, q.Args); err != nil {
		return Preview{}, err
	}
	out, err := rs.preview(r, q)
	if err != nil {
		return Preview{}, err
	}
	known, err := rs.mayRun(r, q)
	if err != nil {
		return Preview{}, err
	}
	if !known {
		out.Needs = append(out.Needs, AllowRun)
	}
	wants, err := rs.wants(r, q, out)
	out.Needs = append(out.Needs, split(names(wants))...)
	out.Summary = out.summary()
	return out, err
}

func (rs *Runs) preview(r *Runnable, q Request) (Preview, error) {
	d, err := rs.dispatcher(r, Leave{allow: q.Allow, apart: q.Tests != nil}, Bounds{Work: rs.Scope.Cwd, Sandbox: rs.Confinement(q.Sandbox)})
	if err != nil {
		return Preview{}, err
	}
	defer d.Close()
	box := sandbox.Probe()
	out := Preview{Skill: r.Name, Digest: r.Plan.Digest, Effects: r.Plan.Effects(q.Args), Tools: []Tool{}, Needs: []string{},
		Sandbox: Box{box.Tier.String(), append([]string{}, box.Enforced...), append([]string{}, box.Missing...)}}
	for _, t := range d.Could() {
		out.Tools = append(out.Tools, Tool{t.Tool, string(t.Effect), t.Allowed, t.Asks, t.Only, t.Why})
	}
	out.name(d)
	out.Summary = out.summary()
	return out, nil
}

// name finds the tools that ops call. One that nothing can answer to is listed with the others, and why.
func (p *Preview) name(d *tool.Dispatcher) {
	p.canonical = map[string]string{}
	for _, e := range p.Effects {
		if _, seen := p.canonical[e.What]; seen || e.Kind != "tool" {
			continue
		}
		name, err := d.Named(e.What)
		if p.canonical[e.What] = name; err == nil {
			continue
		}
		p.Tools = append(p.Tools, Tool{Tool: diag.Printable(e.What), Why: err.Error()})
		if p.unknown == nil {
			p.unknown = diag.New(diag.Refused, tool.CodeUnknown, "%s: the op %s calls a tool that cannot be found: %w", e.Node, e.Mode, err)
		}
	}
}

const fewFiles = 3 // that a sentence names; of tools, too

// called are the tools that ops call, for a sentence; "" if there are none. acts says that one of them may change something.
func (p Preview) called() (names string, acts bool) {
	var all []string
	for _, e := range p.Effects {
		if e.Kind != "tool" || slices.Contains(all, e.What) {
			continue
		}
		all = append(all, e.What)
		acts = acts || slices.ContainsFunc(p.Tools, func(t Tool) bool { return t.Tool == p.canonical[e.What] && t.Effect != string(tool.None) })
	}
	switch {
	case len(all) == 0:
		return "", false
	case len(all) > fewFiles:
		return diag.Count(len(all), "tool"), acts
	case len(all) == 1:
		return "the tool " + all[0], acts
	}
	return "the tools " + strings.Join(all, ", "), acts
}

// summary says what could happen in one run, in a few sentences. Its numbers are of steps: how often a model is called for one, nobody knows before.
func (p Preview) summary() string {
	count, written := map[string]int{}, []string(nil)
	var loops, unknown bool
	for _, e := range p.Effects {
		count[e.Kind]++
		loops = loops || strings.Contains(e.Path, "[*]")
		unknown = unknown || e.Kind == "note"
		if e.Kind == "file" && e.Mode == "write" && !slices.Contains(written, e.What) {
			written = append(written, e.What)
		}
	}
	var parts []string
	add := func(verb, none string, n int, noun string) {
		if n == 0 {
			parts = append(parts, none)
			return
		}
		parts = append(parts, verb+" "+diag.Count(n, noun))
	}
	add("asks you", "asks nothing", count["ask"], "question")
	add("runs", "runs no script", count["command"], "script")
	called, acts := p.called()
	if called != "" {
		parts = append(parts, "calls "+called)
	}
	switch {
	case len(written) == 0 && acts:
		parts = append(parts, "writes no file besides")
	case len(written) == 0:
		parts = append(parts, "writes no file")
	case len(written) > fewFiles:
		parts = append(parts, "writes "+diag.Count(len(written), "file"))
	default:
		parts = append(parts, "writes "+strings.Join(written, ", "))
	}
	add("has a model fill", "calls no model", count["model"], "step")
	begin := "At most, the run "
	if loops {
		begin = "At most, with each loop counted once, the run "
	}
	text := begin + strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1] + "."
	if count["model"] > 0 {
		text += " For such a step the model is called once or more, and may use the tools below"
		if slices.ContainsFunc(p.Tools, func(t Tool) bool { return t.Allowed && t.Asks }) {
			text += "; those that ask need your leave"
		}
		text += "."
	}
	if len(p.Needs) > 0 {
		text += " It first asks for leave: " + strings.Join(p.Needs, ", ") + "."
	}
	if unknown {
		text += " Not all of it can be foreseen."
	}
	return diag.Printable(text)
}
