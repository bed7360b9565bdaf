package prose

import "strings"

// maxLoopWords bounds the words between "each" and the step. More are a sentence.
const maxLoopWords = 10

// loop cuts "for each X: B" and "for every X, do B": the variable, the collection and the step. It is false unless both are certain.
func loop(text string, below bool) (v, in, body string, ok bool) {
	lower := strings.ToLower(text[:min(len(text), 10)])
	rest := ""
	switch {
	case strings.HasPrefix(lower, "for each "):
		rest = text[len("for each "):]
	case strings.HasPrefix(lower, "for every "):
		rest = text[len("for every "):]
	default:
		return "", "", "", false
	}
	if below {
		if v, in, ok := each(rest); ok {
			return v, in, "", true
		}
	}
	at, width, colon := conditionEnd(rest)
	if at <= 0 {
		return "", "", "", false
	}
	what, body := strings.TrimSpace(rest[:at]), strings.TrimSpace(rest[at+width:])
	v = variable(what)
	switch {
	case v == "", body == "" && !below, colon && runsOver(what):
	case !wholeText(what), sentenceEnds(what) > 0, strings.ContainsAny(what, "<>|→—;*"), strings.Contains(what, " each "), strings.Contains(what, " every "):
	case sentenceEnds(body) > 0, goesOn(body), jumps(body), secondClause(body):
	default:
		return v, "every " + what, body, true
	}
	return "", "", "", false
}

// variable is the name for one of what a loop is over: the noun before the first word that only tells which ones, "" where it is none.
func variable(what string) string {
	words := strings.Fields(what)
	if len(words) > maxLoopWords {
		return ""
	}
	for i, w := range words {
		if i > 0 && tells()[strings.ToLower(w)] {
			words = words[:i]
			break
		}
	}
	if len(words) == 0 || len(words) > 3 {
		return ""
	}
	name := strings.ReplaceAll(strings.ToLower(strings.Trim(words[len(words)-1], "`\"")), "-", "_")
	if !ident(name) || len(name) < 3 || strings.HasSuffix(name, "ed") || strings.HasSuffix(name, "ing") {
		return ""
	}
	return name
}

var tells = wordSet(`in of from that which with where to on under within for at by you the whose without listed found
	except excluding but besides other not outside inside between before after into per via as is are was were has have until since above below`)
