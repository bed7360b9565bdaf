package prose

import (
	"slices"
	"strings"
)

// persons are whom a question can be for.
var persons = [...]string{"the user", "user", "them", "the person", "the human"}

// addressed cuts "Ask the user" off a question. It is false where another than the person is asked, such as the agent itself.
func addressed(text string) (question string, ok bool) {
	question, ok, _ = addressee(text)
	return question, ok
}

// addressee is addressed, and whether the person is named.
func addressee(text string) (question string, ok, named bool) {
	rest := text[len("ask"):]
	trimmed := strings.TrimLeft(rest, " :")
	if trimmed == rest {
		return "", false, false
	}
	rest = trimmed
	lower := strings.ToLower(rest[:min(len(rest), 16)])
	for _, p := range persons {
		if strings.HasPrefix(lower, p) && len(rest) > len(p) && strings.IndexByte(" :,", rest[len(p)]) >= 0 {
			return strings.TrimLeft(rest[len(p):], " :,"), true, true
		}
	}
	word, _, _ := strings.Cut(lower, " ")
	switch strings.Trim(word, "?") {
	case "which", "what", "whether", "how", "where", "for", "one":
		return rest, true, false
	}
	return rest, strings.ContainsAny(rest[:min(len(rest), 1)], "\"“'") || strings.HasPrefix(rest, "“"), false
}

// limited reports whether a text says when it holds, so that a question in it is not always asked.
func limited(text string) bool {
	for _, w := range wordsIn(text) {
		switch w {
		case "if", "when", "unless", "needed", "necessary", "unclear", "until", "only", "then", "otherwise", "once", "wherever", "whenever":
			return true
		}
	}
	return false
}

// asks reports whether an item is a question that is asked always, and whose end is certain.
func asks(it *item) bool {
	text := strings.TrimSpace(it.text)
	if !strings.HasPrefix(strings.ToLower(text[:min(len(text), 3)]), "ask") {
		return false
	}
	q, ok, named := addressee(text)
	end := strings.IndexByte(text, '?')
	if !ok || end < 0 {
		return false
	}
	if quoted := strings.ContainsAny(q[:min(len(q), 1)], "\"“'") || strings.HasPrefix(q, "“"); !quoted && (limited(text[:end]) || sentenceEnds(text[:end]) > 0) {
		return false
	}
	if strings.Count(text, "?") > 1 || strings.ContainsAny(text[:end], "<>|") {
		return false
	}
	if answersActed(it) {
		return false
	}
	rest := strings.TrimLeft(text[end+1:], `"”'*_. `)
	if given := strings.HasPrefix(rest, "Options:") || choice(rest); !given && (strings.HasPrefix(rest, "(") || !named && len(it.kids) == 0) {
		return false
	}
	return rest == "" || rest[0] == '(' || rest[0] == ';' || rest[0] >= 'A' && rest[0] <= 'Z' && !strings.HasPrefix(rest, "Or ")
}

// answersActed reports whether what stands below a question says what is done in each case, and not what there is to choose.
func answersActed(it *item) bool {
	return slices.ContainsFunc(it.kids, func(k *item) bool {
		return onlyWhere(strings.ToLower(unbold(k.text))) || strings.Contains(k.text, "→") || strings.Contains(k.text, "->")
	})
}

// choice reports whether a text begins with two options or more in brackets.
func choice(rest string) bool {
	list, _, ok := strings.Cut(strings.TrimPrefix(rest, "("), ")")
	if !ok || len(list) == len(rest) || len(list) > 120 {
		return false
	}
	options := strings.FieldsFunc(list, func(r rune) bool { return r == '/' || r == '|' || r == ',' })
	for _, o := range options {
		if words := wordsIn(o); len(words) == 0 || len(words) > 6 || words[0] == "e.g" || words[0] == "i.e" || words[0] == "or" || words[0] == "default" {
			return false
		}
	}
	return len(options) > 1
}

// openQuestion is what an item without a question mark asks: a choice in free text, or consent, which has two options.
func openQuestion(it *item) (question string, options []string, ok bool) {
	text := strings.TrimSuffix(strings.TrimSpace(it.text), ".")
	if len(it.kids) > 0 || !strings.HasPrefix(strings.ToLower(text[:min(len(text), 4)]), "ask ") || len(text) > maxCondition {
		return "", nil, false
	}
	q, ok := addressed(text)
	if !ok || q == "" || limited(q) || sentenceEnds(q) > 0 || !wholeText(q) || strings.ContainsAny(q, "<>|;:—→?") || len(places(q)) > 0 {
		return "", nil, false
	}
	words := wordsIn(q)
	switch words[0] {
	case "which", "what", "whether", "how", "where":
	case "for":
		if len(words) < 2 {
			return "", nil, false
		}
		if words[1] == "help" {
			return "", nil, false
		}
		q = strings.TrimSpace(q[len("for"):])
		for _, w := range words[1:min(len(words), 4)] {
			if w == "approval" || w == "confirmation" || w == "permission" || w == "consent" {
				options = []string{"Yes", "No"}
			}
		}
	default:
		return "", nil, false
	}
	for i, w := range words { // a second order is a step of its own, and one for each of many is a loop
		if w == "and" || i == 1 && (w == "each" || w == "every") || w == "or" && i+1 < len(words) && (orders()[words[i+1]] || words[i+1] == "allow") {
			return "", nil, false
		}
	}
	return strings.ToUpper(q[:1]) + q[1:] + "?", options, true
}
