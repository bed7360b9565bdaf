package check

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// SharedOp is the rule of Shared, which compares skills and so is not among Rules.
const SharedOp = "CNP-O12"

// SharedRule describes SharedOp.
func SharedRule() skill.RuleDoc {
	return skill.RuleDoc{ID: SharedOp, Severity: hint, Text: "the same op is in more than two of the skills that are checked together"}
}

// sharedLimit is in how many skills an op may be before it is worth a skill of its own.
const sharedLimit = 2

// Shared reports ops that more than two of skills define alike: the same name and body, layout and blanks aside. The
// result has the findings of each skill, in the order of skills.
func Shared(skills []*tree.Skill) [][]diag.Finding {
	in := map[string][]int{} // by op and body: indices into skills
	key := func(op *tree.Op) string {
		body := strings.Join(strings.Fields(op.Prose), " ")
		if op.Tree != nil {
			body += "\n" + strings.Join(strings.Fields(tree.Print(&tree.Tree{Nodes: op.Tree.Nodes, Bullet: "*"})), " ")
		}
		return fmt.Sprintf("%s %x", op.Name, sha256.Sum256([]byte(body)))
	}
	for i, s := range skills {
		for _, op := range s.Ops {
			if k := key(op); op.Kind != tree.EmptyBody && !slices.Contains(in[k], i) {
				in[k] = append(in[k], i)
			}
		}
	}
	out := make([][]diag.Finding, len(skills))
	for i, s := range skills {
		for _, op := range s.Ops {
			if n := len(in[key(op)]); n > sharedLimit && op.Kind != tree.EmptyBody {
				out[i] = append(out[i], diag.Finding{File: op.Pos.File, Line: op.Pos.Line, Column: op.Pos.Column, Rule: SharedOp, Severity: hint,
					Message: fmt.Sprintf("%s is the same in %d skills: a skill of its own could hold it for all", op.Name, n)})
			}
		}
	}
	return out
}
