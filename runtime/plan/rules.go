package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// rules runs the checks of spec/tree/check on every skill that is reached, and takes over what they find in reachable
// bodies. What binding decides by itself, with the other skills at hand, is not asked twice: in ops that nothing calls it
// decides nothing.
func (b *binder) rules() {
	skills := []*tree.Skill{b.Skill}
	for _, c := range b.queue {
		if !slices.Contains(skills, c.Skill) {
			skills = append(skills, c.Skill)
		}
	}
	for _, s := range skills {
		where := b.regions(s)
		for _, f := range check.CheckWith(s, func(op string) bool { return b.lookup(s, op).Op != nil }) {
			in := where.at(f.File, f.Line)
			if decided(f.Rule) && in != unreached || s != b.Skill && in != reached {
				continue
			}
			stops := in != unreached && (check.Blocking(f) || !b.opt.NoLint && f.Severity == diag.SeverityError && inTree(s, f, in))
			f.File = b.place(s, f.File)
			switch {
			case stops:
				b.found = append(b.found, f)
			case f.Severity == diag.SeverityInfo:
			default:
				f.Severity = diag.SeverityWarning
				b.warned = append(b.warned, f)
			}
		}
	}
}

// decided reports whether binding finds what rule is about: calls and their form, files, sections and schemas.
func decided(rule string) bool {
	switch rule {
	case check.UnknownOp, check.Arity, check.BoldUnmarked, check.PlainMarked, check.OutputMissing, check.InputMissing, check.BadSchema, check.SampleSchema, check.FileMissing, check.VerifyMissing, check.PathEscapes, check.SectionMissing, check.AgentSchema:
		return true
	}
	return false
}

// inTree reports whether f is about a step of the tree, or about an op that is reached: not about the sections, the frontmatter
// and the guard, which decide nothing in a run.
func inTree(s *tree.Skill, f diag.Finding, in region) bool {
	if f.Rule != check.HostPath && !strings.Contains("TXOMC", strings.TrimPrefix(f.Rule, "CNP-")[:1]) {
		return false
	}
	return in == reached || s.Tree != nil && f.File == s.File && s.Tree.First <= f.Line && f.Line <= s.Tree.Last
}

// A region says whether a line is in an op that the plan reaches.
type region uint8

const (
	elsewhere region = iota // in no op
	reached
	unreached
)

type span struct {
	first, last int
	region
}

// regions are the ops of a skill by file, in the order of lines.
type regions map[string][]span

func (b *binder) regions(s *tree.Skill) regions {
	r := regions{}
	for _, op := range s.Ops {
		in := unreached
		if b.queued[op] {
			in = reached
		}
		r[op.Pos.File] = append(r[op.Pos.File], span{op.Pos.Line, op.Last, in})
	}
	for _, spans := range r {
		order.Stable(spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	}
	return r
}

// at finds the last op that begins at or before line.
func (r regions) at(file string, line int) region {
	spans := r[file]
	i, _ := slices.BinarySearchFunc(spans, line+1, func(s span, line int) int { return cmp.Compare(s.first, line) })
	if i == 0 || line > spans[i-1].last {
		return elsewhere
	}
	return spans[i-1].region
}
