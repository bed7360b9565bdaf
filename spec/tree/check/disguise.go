package check

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

var (
	markup   = regexp.MustCompile(`</?[A-Za-z]+/?>`)
	checkbox = regexp.MustCompile(`^\W*\[[ xX]?\]`)
	entities = strings.NewReplacer("&nbsp;", " ", "&gt;", ">", "&lt;", "<", "&amp;", "&")
)

// bare is a text without what hides its first word: characters that nobody sees, markup, and signs in front of it.
func bare(text string) string {
	text = markup.ReplaceAllString(entities.Replace(visible(text)), "")
	text = checkbox.ReplaceAllString(text, "")
	return strings.TrimLeftFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
}

// visible is a text without characters that nobody sees, and with plain blanks.
func visible(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case diag.Invisible(r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		}
		return r
	}, text)
}

// leads are words in front of a primitive that change nothing of what it says.
var leads = []string{"and", "else", "finally", "just", "not", "now", "so", "then"}

// disguised is the primitive in capitals that a text seems to begin with and does not: behind a sign, parted by a blank, with a letter that looks
// like another. It is tree.Prose if there is none.
func disguised(text string) tree.Kind {
	plain := bare(text)
	words := strings.FieldsFunc(plain, func(r rune) bool { return !unicode.IsLetter(r) && r != '_' })
	if len(words) == 0 {
		return tree.Prose
	}
	if k := looksLike(words[0]); k != tree.Prose && plain != text {
		return k
	} else if k != tree.Prose {
		if _, is := tree.Primitive(words[0]); !is {
			return k // letters of another script
		}
	}
	if len(words) > 1 && isCapital(words[0]) && isCapital(words[1]) && strings.HasPrefix(plain, words[0]+" "+words[1]) {
		if k, is := tree.Primitive(words[0] + words[1]); is {
			return k
		}
	}
	if len(words) == 2 && slices.Contains(leads, strings.ToLower(words[0])) && words[1] != "IF" {
		return looksLike(words[1])
	}
	return tree.Prose
}

// looksLike is the primitive that a word in capitals is taken for, tree.Prose if it is taken for none.
func looksLike(word string) tree.Kind {
	if len(word) < 2 || !isCapital(word) {
		return tree.Prose
	}
	if k, is := tree.Primitive(word); is {
		return k
	}
	if strings.IndexFunc(word, func(r rune) bool { return r > unicode.MaxASCII }) < 0 {
		return tree.Prose
	}
	for k := tree.If; k <= tree.Verify; k++ {
		if skill.Skeleton(word) == skill.Skeleton(k.String()) {
			return k
		}
	}
	return tree.Prose
}

func isCapital(word string) bool {
	return strings.ToUpper(word) == word && strings.ToLower(word) != word
}

// signs are what is typed for an operator of conditions, and the operator.
var signs = strings.NewReplacer("===", "==", "!==", "!=", "≠", "!=", "<>", "!=", "=~", "==", ":=", "==", " eq ", " equals ", " ne ", " is not ", "“", `"`, "”", `"`, "„", `"`, "‘", "'", "’", "'",
	"{", "", "}", "", "$", "")

// nearCondition reports a condition that a model would decide only for a sign in it which is no operator, and a SWITCH on what is no name.
func (c *checker) nearCondition(n *tree.Node) bool {
	switch n.Kind {
	case tree.If, tree.ElseIf:
		if strings.Contains(blank(n.Cond, "\"'`"), `"`) {
			c.report(NearStep, n.Pos, "a quote of the condition has no end: write "+word(n)+" << name == \"text\"")
			return true
		}
		if !cond.Model(cond.Parse(n.Cond)) {
			return false
		}
	case tree.Switch:
		if !cond.ParseExpression(n.Cond).Natural || !strings.HasPrefix(n.Cond, "$") && !strings.HasPrefix(n.Cond, "{") {
			return false
		}
		c.report(NearStep, n.Pos, "no value is called "+diag.Clip(n.Cond, 40)+", so that a model would choose: write $ARGUMENTS, or the name of a value")
		return true
	case tree.Case:
		return c.nearCase(n)
	default:
		return false
	}
	meant := signs.Replace(n.Cond)
	if cond.Model(cond.Parse(meant)) {
		meant = signs.Replace(strings.ReplaceAll(n.Cond, " eq ", " is "))
	}
	if meant == n.Cond || cond.Model(cond.Parse(meant)) {
		return false
	}
	c.report(NearStep, n.Pos, "the condition holds text that is neither an operator nor a value, so a model would decide: write "+word(n)+" << "+diag.Clip(meant, 80))
	return true
}

// nearCase reports a CASE that no value equals: with half a quote, a quote of another kind, an operator or a step in it.
func (c *checker) nearCase(n *tree.Node) bool {
	free := blank(n.Cond, "\"'`")
	switch {
	case strings.ContainsAny(free, "\"“”„") || strings.HasPrefix(free, "'") || strings.HasPrefix(free, "‘"):
		c.report(NearStep, n.Pos, "the case has a quote without its end, or one of another kind, so nothing equals it: write CASE << \"text\"")
	case strings.ContainsAny(free, "|<>‹›«»"):
		c.report(NearStep, n.Pos, "the case holds a sign that is not part of its value, so nothing equals it: write CASE << value, and the step on a line of its own")
	default:
		return false
	}
	return true
}
