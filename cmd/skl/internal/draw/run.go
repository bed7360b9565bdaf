package draw

import (
	"fmt"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// A Waiting is a run that waits for a person.
type Waiting struct {
	Skill, Question string
	Done, Of        int // steps of the tree
	Tokens          int
	Next            string // the command that answers
}

// Suspended is how a run ended that waits for an answer; a quiet look shows nothing.
func Suspended(k screen.Look, w Waiting) string {
	if k.Quiet {
		return ""
	}
	p := &page{k: k}
	left := []screen.Span{k.Mark(screen.Attention), screen.T(" "), bold(w.Skill), screen.T(" waits for you: " + oneLine(w.Question))}
	steps := fmt.Sprintf("%d of %d steps done", w.Done, w.Of)
	spent := thousands(w.Tokens) + " tokens so far; nothing done is done again"
	if wide := screen.Width(diag.Printable(oneLine(w.Question))) + screen.Width(w.Skill) + screen.Width(steps) + 21; k.Width == 0 || wide < k.Width {
		p.both(left, screen.T(steps))
	} else { // a question is not cut
		p.prose(2, left...)
		spent = steps + ", " + spent
	}
	p.prose(2, screen.T("  "+spent))
	p.steps(step{"next", w.Next})
	return p.text()
}
