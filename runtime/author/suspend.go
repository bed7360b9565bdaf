package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// suspended lists the sentences that are new and may take a rule back which still stands: among rules those that let something be skipped,
// elsewhere, and in a new skill, those that also speak of rules. Whether one does a person has to see.
func suspended(d *Draft, changes []Change) (losses []skill.Loss, err error) {
	before := TextOf(d.Before())
	for _, c := range changes {
		if c.Now == nil || !isText(c.Path) {
			continue
		}
		inRules := rules(c.Path, string(c.Now))
		for _, s := range allSentences(string(c.Now)) {
			if !lets(s.words) || !(inRules(s.line) && !d.IsNew()) && !speaksOfRules(s.words) {
				continue
			}
			if was, err := before.holds(s.words); was || err != nil {
				if err != nil {
					return nil, err
				}
				continue
			}
			at := fmt.Sprintf("%s:%d", c.Path, s.line)
			losses = append(losses, skill.Loss{Code: skill.LossRule, Field: "body", From: at, Severity: diag.SeverityError,
				Text: at + ": " + diag.Brief(diag.Printable(s.text), 200) + ": it is new, and may take a rule back"})
		}
	}
	return losses, nil
}

// letting are words that let something not be done, or not hold.
var letting = [...]string{"ignore", "ignores", "ignored", "ignoring", "skip", "skips", "skipped", "skipping", "optional", "suspend", "suspends", "suspended",
	"waive", "waives", "waived", "override", "overrides", "overridden", "disregard", "bypass", "bypassed", "exempt", "exception", "exceptions", "obsolete",
	"outdated", "deprecated", "advisory", "unnecessary", "lifted", "relaxed", "disabled", "revoked", "void",
	"suggestion", "suggestions", "recommendation", "recommendations", "judgement", "judgment", "discretion", "nonbinding", "hypothetical"}

// lettingPhrases do so as they stand.
var lettingPhrases = [...]string{" not apply ", " never apply ", " never applies ", "n't apply ", "n’t apply ", " no longer ", " not required ", " not needed ", " not necessary ",
	" need not ", " not have to ", "n't have to ", "n’t have to ", " not binding ", " may be broken ", " can be broken ", " not follow ", "n't follow ", "n’t follow ", " not count ",
	" only applies ", " only apply ", " applies only ", " apply only ", " instead of the rule ", " not in force ", " bad rule", " none of them ", " example of ", " examples of "}

// lets reports whether the words of a sentence let something not be done. "Never skip" does not.
func lets(sentence string) bool {
	text := " " + sentence + " "
	if slices.ContainsFunc(lettingPhrases[:], func(p string) bool { return strings.Contains(text, p) }) {
		return true
	}
	all := strings.Fields(sentence)
	for i, word := range all {
		if slices.Contains(letting[:], word) && !slices.ContainsFunc(all[max(i-2, 0):i], denies) {
			return true
		}
	}
	return false
}

// denies reports whether a word says no to what follows it.
func denies(word string) bool {
	switch word {
	case "never", "not", "no", "cannot", "without", "neither", "nor":
		return true
	}
	return strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "n’t")
}

// speaksOfRules reports whether the words of a sentence are about what has to be done or must not be.
func speaksOfRules(sentence string) bool {
	for _, word := range strings.Fields(sentence) {
		switch word {
		case "rule", "rules", "policy", "policies", "restriction", "restrictions", "constraint", "constraints", "guardrail", "guardrails", "prohibition", "prohibitions", "instruction", "instructions":
			return true
		}
	}
	return false
}
