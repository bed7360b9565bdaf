package run

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// How a leaf goes on that was interrupted after it called tools: a call that waited for a person's leave is made as it was
// recorded; then the model is asked again and told what was called and what that gave, so that nothing is done twice.

// maxHistory is how much of earlier calls a model is told, in bytes; the newest are kept.
const maxHistory = 256 << 10

// goesOn reports whether e is the same leaf as the one that p is of.
func (p *past) goesOn(e effect) bool {
	return e.kind == "model" && p.started.Kind == "model" && p.started.Digest == e.digest
}

// unseen is a call that may have acted and that nobody saw end, nil if there is none.
func (p *past) unseen() *pastTool {
	i := slices.IndexFunc(p.tools, func(t pastTool) bool { return t.started.Acts && t.done == nil })
	if i < 0 {
		return nil
	}
	return &p.tools[i]
}

// calls is how many tools p called, acts how many of the calls may have acted. Nil called none.
func (p *past) calls() int {
	if p == nil {
		return 0
	}
	return len(p.tools)
}

func (p *past) acts() (n int) {
	if p == nil {
		return 0
	}
	for _, t := range p.tools {
		if t.acted() {
			n++
		}
	}
	return n
}

// spentWith is what the turns of p cost, and u.
func (p *past) spentWith(u *model.Usage) *model.Usage {
	if p == nil || len(p.turns) == 0 {
		return u
	}
	sum := p.spent()
	if u != nil {
		sum = sum.Add(*u)
	}
	return &sum
}

func (p *past) spent() (sum model.Usage) {
	for _, t := range p.turns {
		if t.Usage != nil {
			sum = sum.Add(*t.Usage)
		}
	}
	return sum
}

// settle ends the calls that nobody saw end. The result is there if the last word had been said.
func (q request) settle() (final json.RawMessage, err error) {
	for i := range q.e.begun.tools {
		t := &q.e.begun.tools[i]
		if t.done == nil {
			rec := q.unseen(t.started)
			if err := q.s.journal.append(rec, rec.Acts); err != nil {
				return nil, err
			}
			q.replied(rec)
			t.done = &rec
		}
		if t.done.Tool == FinalTool && t.done.Status == OK {
			return finalValue(t.started.Input), nil
		}
	}
	return nil, nil
}

// goOn makes the calls that waited for a person's leave, as they are recorded and before the model is asked for anything, and gives the
// prompt that tells of all calls. Its error is that of a call that waits still, or of what ended the run meanwhile.
func (q request) goOn(ctx context.Context, calls *caller) (string, error) {
	p := q.e.begun
	for i := range p.tools {
		t := &p.tools[i]
		if !t.waits() || q.s.r.Tools == nil {
			continue
		}
		result, rec := calls.perform(ctx, t.started.Call, t.started.Name, t.started.Input)
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		if rec == nil {
			return "", diag.New(diag.Failed, CodeJournal, "%s", result.Text)
		}
		t.done = rec
	}
	var pr prompt
	pr.WriteString(q.Prompt)
	if strings.Contains(q.Prompt, fence) {
		pr.Reset()
		pr.Builder.WriteString(q.Prompt)
		pr.fenced = true
	}
	pr.line("\nThis was begun before and interrupted. Go on from where it stood: what was called then is below, with what it gave. Do not do it again, but make the calls that were not made, if they are still needed.")
	pr.foreign("Calls before the interruption", p.told())
	return pr.String(), nil
}

// unseen is the end of a call that nobody saw: what a person says of it, or that it is not known.
func (q request) unseen(started Record) Record {
	rec := Record{Type: ToolDone, Key: started.Key, Call: started.Call, Name: started.Name, Acts: started.Acts, Status: Errored,
		Text: "interrupted: it is not known whether it took place, and it may be called again"}
	if !started.Acts {
		rec.Text = "interrupted"
	}
	for _, d := range q.s.r.Done {
		if started.Acts && q.e.matches(d.Node) {
			rec.Status, rec.How, rec.Text = OK, byWord, "it took place; what it gave was lost"
			if d.Value != nil {
				rec.Text = *d.Value
			}
		}
	}
	return rec
}

// told are the calls of p as a model reads them.
func (p *past) told() string {
	var rows []string
	for _, t := range p.tools {
		gave := "ok"
		switch t.done.Status {
		case Suspended:
			gave = "not made: it waits for a person's leave"
		case Skipped:
			gave = "not made, and left to you"
		case Denied, Errored:
			gave = string(t.done.Status)
		}
		rows = append(rows, t.started.Name+" "+diag.Clip(string(t.started.Input), maxTold)+"\n→ "+gave+": "+t.done.Text)
	}
	room, from := maxHistory, len(rows)
	for from > 0 && room-len(rows[from-1]) >= 0 {
		from--
		room -= len(rows[from])
	}
	left := ""
	if from > 0 {
		left = diag.Count(from, "earlier call") + " left out\n"
	}
	return left + strings.Join(rows[from:], "\n")
}
