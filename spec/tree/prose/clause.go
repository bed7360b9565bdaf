package prose

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// A clause is an item that begins with a condition, cut where that ends.
type clause struct{ cond, body, other string }

// maxCondition bounds a condition in bytes. One that is longer is a paragraph.
const maxCondition = 300

// cutClause cuts what follows "if": "A: B", "A, do B", "A then do B", "A → B", each perhaps with ". Otherwise, C" behind it.
// It is false unless the cut is certain, for a step in the condition would never be done. below tells that steps hang below.
func cutClause(s string, below bool) (clause, bool) {
	s, other := cutOtherwise(s)
	at, width, colon := conditionEnd(s)
	if at <= 0 {
		return clause{}, false
	}
	c := clause{strings.TrimSpace(s[:at]), strings.TrimSpace(s[at+width:]), other}
	if then, ok := cutWord(c.body, "then"); ok {
		c.body = strings.TrimLeft(then, ", ")
	}
	switch {
	case c.body == "" && !below, other != "" && (c.body == "" || below || sentenceEnds(other) > 0):
	case len(c.cond) > maxCondition, !wholeText(c.cond), elliptic(c.cond, colon), sentenceEnds(c.cond) > 0:
	case strings.ContainsAny(c.cond, "<>|→;—"):
	case colon && (runsOver(c.cond) || strings.Contains(strings.ToLower(c.cond), " then ") || !ordered(c.body)):
	case !colon && orderBehindVerb(c.cond), secondClause(c.body), otherCase(c.body), below && ofList(c.cond):
	case !colon && sentenceEnds(c.body) > 0, goesOn(c.body), jumps(c.body):
	default:
		return c, true
	}
	return clause{}, false
}

// conditionEnd finds where a condition ends: the offset and length of the mark, and whether that is a colon; -1 where nobody can tell.
func conditionEnd(s string) (at, width int, colon bool) {
	end := outside(s, ':')
	head := s
	if end >= 0 {
		head = s[:end]
	}
	commas := places(head)
	if len(commas) == 0 {
		if end >= 0 {
			return end, 1, true
		}
		for _, mark := range [...]string{" → ", " then ", " — "} {
			if i := strings.Index(s, mark); i > 0 && strings.Count(s, mark) == 1 && (mark == " → " || imperative(s[i+len(mark):])) && !strings.ContainsAny(s[:i], "—→;") {
				return i, len(mark), false
			}
		}
		return -1, 0, false
	}
	first := commas[0]
	rest := strings.TrimSpace(s[first+1:])
	then, isThen := cutWord(rest, "then")
	if !imperative(rest) && !(isThen && (imperative(then) || len(commas) == 1)) {
		return -1, 0, false
	}
	if len(commas) > 1 && (!finite(head[:first]) || inList(head, commas)) {
		return -1, 0, false
	}
	return first, 1, false
}

// places are the commas outside of quotes and brackets.
func places(s string) (out []int) {
	for at := 0; len(out) < 32; {
		i := outside(s[at:], ',')
		if i < 0 {
			break
		}
		out = append(out, at+i)
		at += i + 1
	}
	return out
}

// inList reports whether parts between commas may be a list that the condition belongs to: "open, read only, or locked".
func inList(s string, commas []int) bool {
	for i, at := range commas {
		rest := strings.TrimSpace(s[at+1:])
		if _, or := cutWord(rest, "or"); or {
			return true
		}
		if _, and := cutWord(rest, "and"); and && i+1 < len(commas) {
			return true
		}
	}
	return false
}

// cutWord is s without word, in any case, and the blank behind it.
func cutWord(s, word string) (string, bool) {
	if len(s) <= len(word) || !strings.EqualFold(s[:len(word)], word) || s[len(word)] != ' ' && s[len(word)] != ',' {
		return s, false
	}
	return strings.TrimLeft(s[len(word):], ", "), true
}

// wordsIn are the words of s in lower case, without marks around them.
func wordsIn(s string) []string {
	words := strings.Fields(strings.ToLower(s))
	for i, w := range words {
		words[i] = strings.Trim(w, "*_`\"'“”‘’().,:;!?")
	}
	return words
}

// imperative reports whether a text begins as an order does.
func imperative(s string) bool {
	words := wordsIn(s[:min(len(s), 120)])
	for len(words) > 1 && adverbs()[words[0]] {
		words = words[1:]
	}
	return len(words) > 0 && orders()[words[0]] && !strings.HasPrefix(s, "`")
}

// finite reports whether a condition has a verb that no order has the form of, so that an order behind it is no part of it.
func finite(cond string) bool {
	found := false
	for _, w := range wordsIn(cond) {
		if bare()[w] {
			return false
		}
		found = found || thirdPerson()[w]
	}
	return found
}

// runsOver reports whether an order stands in what a colon ends: "the file exists use this form".
func runsOver(cond string) bool {
	words := wordsIn(cond)
	switch words[len(words)-1] {
	case "following", "these", "this", "below", "either", "as":
		return true
	}
	for i := 2; i < len(words); i++ {
		if orders()[words[i]] && !before()[words[i-1]] {
			return true
		}
	}
	return false
}

// elliptic reports whether a condition says nothing by itself: "needed", "so", "not found".
func elliptic(cond string, colon bool) bool {
	words := wordsIn(cond)
	switch {
	case len(words) == 0, len(words) == 1 && (!colon || hints()[words[0]]):
		return true
	}
	switch words[0] {
	case "so", "neither", "not", "in", "on", "at", "and", "or", "as", "needed", "necessary", "possible", "applicable":
		return true
	}
	return false
}

// wholeText reports whether quotes, code and brackets are closed where a text ends.
func wholeText(s string) bool {
	depth := 0
	for _, r := range s {
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		if depth < 0 {
			return false
		}
	}
	return depth == 0 && strings.Count(s, "`")%2 == 0 && strings.Count(s, `"`)%2 == 0 && strings.Count(s, "**")%2 == 0
}

// sentenceEnds counts the ends of sentences inside a text, outside of code and quotes.
func sentenceEnds(s string) (n int) {
	for at := 0; at < len(s); {
		i := strings.IndexAny(s[at:], ".!?")
		if i < 0 {
			return n
		}
		at += i + 1
		rest := strings.TrimLeft(s[at:], "*_\"”)")
		next := strings.TrimLeft(rest, " *_`\"“(")
		if len(next) == len(rest) || next == "" || !strings.ContainsAny(rest[:1], " ") {
			continue
		}
		if r := rune(next[0]); unicode.IsUpper(r) || r >= 0x80 || rest[1] == '`' {
			n++
		}
	}
	return n
}

// goesOn reports whether a text has a second branch, or a sentence that is for every case.
func goesOn(body string) bool {
	for _, w := range wordsIn(body) {
		if w == "otherwise" || w == "else" {
			return true
		}
	}
	for _, w := range [...]string{". Then ", ". Next", ". Finally", ". After", ". If ", ". When ", ". Unless "} {
		if strings.Contains(body, w) {
			return true
		}
	}
	return false
}

// ordered reports whether what follows a colon is a step, and not what the condition names: "the log says error: disk full, clean up".
func ordered(body string) bool {
	if body == "" || len(places(body)) == 0 && outside(body, ':') < 0 || imperative(body) {
		return true
	}
	first := strings.TrimLeft(body, "*_\"“(")
	return first != "" && (first[0] >= 'A' && first[0] <= 'Z' || first[0] == '`')
}

// orderBehindVerb reports whether a condition goes on with an order: "the token is expired renew it".
func orderBehindVerb(cond string) bool {
	verb := false
	words := wordsIn(unquoted(cond))
	for i, w := range words {
		if verb && (orders()[w] || moreOrders()[w]) && !before()[words[i-1]] && !thirdPerson()[words[i-1]] {
			return true
		}
		verb = verb || thirdPerson()[w]
	}
	return false
}

// unquoted is a text without what stands in quotes, code and brackets.
func unquoted(s string) string {
	var w strings.Builder
	inside := rune(0)
	for _, c := range s {
		switch {
		case inside != 0:
			if c == inside {
				inside = 0
			}
		case c == '"' || c == '`':
			inside = c
		case c == '“':
			inside = '”'
		case c == '(':
			inside = ')'
		default:
			w.WriteRune(c)
		}
	}
	return w.String()
}

// secondClause reports whether a text has a part that is for another case, or for every case.
func secondClause(body string) bool {
	for _, mark := range [...]string{";", ", but ", ", and if ", ", or if "} {
		rest := body
		for {
			_, after, ok := strings.Cut(rest, mark)
			if !ok {
				break
			}
			rest = after
			words := wordsIn(after[:min(len(after), 80)])
			if len(words) == 0 {
				continue
			}
			switch words[0] {
			case "if", "for", "when", "unless", "in", "always", "never", "also", "finally", "then", "either", "on", "with", "without":
				return true
			}
			if mark != ";" || imperative(strings.TrimSpace(after)) {
				return true
			}
		}
	}
	return false
}

// otherCase reports whether a text has words for another case than the one that it is the step of, or for every case.
func otherCase(body string) bool {
	words := wordsIn(unquoted(body))
	behind := func(i int, of ...string) bool { return i > 0 && slices.Contains(of, words[i-1]) }
	for i, w := range words {
		switch w {
		case "regardless", "whichever", "whenever", "anyway", "unless":
			return true
		case "if", "when": // "check if it is there" is a step
			if !behind(i, "check", "see", "ask", "verify", "know", "determine", "decide", "confirm", "tell", "find", "note") {
				return true
			}
		case "always":
			if i > 0 {
				return true
			}
		case "case", "cases":
			if behind(i, "either", "both", "any", "every", "all", "each", "other", "that", "which", "another") {
				return true
			}
		case "way", "ways":
			if behind(i, "either", "both") {
				return true
			}
		case "event":
			if behind(i, "any") {
				return true
			}
		case "default":
			if behind(i, "by") || i > 1 && words[i-1] == "the" && (words[i-2] == "being" || words[i-2] == "is" || words[i-2] == "as") {
				return true
			}
		}
	}
	for _, mark := range [...]string{", for ", "; for ", " and for "} {
		if _, rest, ok := strings.Cut(body, mark); ok && !strings.HasPrefix(rest, "example") && !strings.HasPrefix(rest, "instance") {
			return true
		}
	}
	return false
}

// ofList reports whether a condition speaks of what stands below it: "one of these holds". That is a list of conditions then.
func ofList(cond string) bool {
	for _, w := range wordsIn(cond) {
		switch w {
		case "these", "following", "below", "conditions", "criteria", "statements":
			return true
		}
	}
	return false
}

// states reports whether a text says that something is so, as an entry of a list of conditions does: "the tests fail".
func states(text string) bool {
	words := wordsIn(text)
	if len(words) < 2 || imperative(text) {
		return false
	}
	switch words[0] {
	case "the", "a", "an", "it", "its", "there", "no", "any", "all", "you", "they", "this", "that", "some", "every", "each":
		return true
	}
	return thirdPerson()[words[1]]
}

// nextSteps are words for steps by their place, behind an order that changes the way.
var nextSteps = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:(?:skip|omit|repeat|redo|rerun|leave out) (?:(?:over|past|all|of|to) )*(?:the |this |that )?(?:next|following|previous|preceding|remaining|rest|last|first|steps?|phases?|loop)\b|(?:exit|leave|break|end|break out of|stop) (?:the|this) loop\b|(?:next|another) iteration\b|start (?:over|again)\b|begin again\b|restart (?:from|at) )`)
})

// jumps reports whether a text names a step to go on with, which no step of a tree can do.
func jumps(body string) bool {
	lower := strings.ToLower(body)
	if nextSteps().MatchString(body) && !stops(lower) {
		return true
	}
	for _, w := range [...]string{"skip to ", "go to ", "go back", "return to ", "proceed to ", "proceed with ",
		"continue to ", "continue with ", "continue at ", "jump ", "loop back", "move to ", "move on"} {
		if strings.HasPrefix(lower, w) {
			return true
		}
	}
	return false
}

// leads are the words that a condition begins behind, and what it is written as.
var leads = [...]struct{ word, open, end string }{{"if ", "", ""}, {"when ", "", ""}, {"unless ", "NOT (", ")"}}

// conditional cuts an item that begins with a condition. cond is as IF has it.
func conditional(text string, below bool) (clause, bool) {
	lower := strings.ToLower(text[:min(len(text), 8)])
	for _, l := range leads {
		if !strings.HasPrefix(lower, l.word) {
			continue
		}
		c, ok := cutClause(text[len(l.word):], below)
		if !ok && below { // "the log says it is done:" could go on behind another colon, and this is the last one
			c.cond, ok = spoken(text[len(l.word):])
		}
		if !ok || l.word == "when " && !decidable(c.cond) || l.open != "" && strings.ContainsAny(c.cond, "()") {
			return clause{}, false
		}
		c.cond = l.open + c.cond + l.end
		return c, true
	}
	return clause{}, false
}

// spoken is a condition on what something says, of which the colon at the end is the only one.
func spoken(text string) (cond string, ok bool) {
	cond, ok = strings.CutSuffix(text, ":")
	if !ok || strings.ContainsAny(cond, ":,;<>|→—.") {
		return "", false
	}
	for _, w := range wordsIn(cond) {
		switch w {
		case "says", "shows", "reads", "reports", "mentions":
			return cond, wholeText(cond)
		}
	}
	return "", false
}

// decidable reports whether what follows "when" is a state that holds or does not, and not a moment that is waited for.
func decidable(cond string) bool {
	words := wordsIn(cond)
	for _, w := range words {
		switch w {
		case "done", "complete", "completed", "completes", "finished", "finishes", "finish", "ready", "ends", "begins", "starts", "started", "over", "first", "about":
			return false
		}
	}
	return finite(cond) && !strings.HasSuffix(words[0], "ing")
}

// unbold takes the bold of the words that an item begins with: "**If A:** B", "**If A, do B**".
func unbold(text string) string {
	if !strings.HasPrefix(text, "**") {
		return text
	}
	inner, rest, ok := strings.Cut(text[2:], "**")
	if !ok {
		return text
	}
	lower := strings.ToLower(inner)
	for _, w := range [...]string{"if ", "when ", "unless ", "otherwise", "else", "for each ", "for every "} {
		if strings.HasPrefix(lower, w) && strings.Count(inner, "**") == 0 {
			return inner + rest
		}
	}
	return text
}

func wordSet(text string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for _, w := range strings.Fields(text) {
			set[w] = true
		}
		return set
	})
}

var (
	adverbs = wordSet("always never please just immediately first also still simply directly instead only explicitly carefully automatically do not don't")

	// orders begin a step. Those that end a condition as often, such as "open", are left out.
	orders = wordSet(`abort add adjust analyze announce append apply ask assign assume avoid block build call capture change check choose
		clarify clean clone collect combine commit compare compile compute configure confirm consider consult convert copy count create decide declare
		default defer define delegate delete derive describe detect determine disable discard display document download draft drop edit emit enable
		encourage end ensure escalate evaluate execute exit explain expand explore export extract fail fall fetch file fill find fix flag focus follow
		format gather generate get give group guide halt handle help highlight identify ignore implement import include increase inform infer insert
		inspect install invoke investigate keep launch leave let link list load locate log look make map mark match mention merge migrate modify move
		name note notify offer omit output parse pass pause perform pick place plan point prefer prepare present preserve print prompt propose provide
		publish push put query raise read rebuild recommend record redirect reduce refactor refer refuse reject remind remove rename render repeat
		replace reply report request rerun resolve respond restart restore retrieve retry return reuse revert review revise rewrite run save scan search
		see select send set show skip sort specify split start state stop store submit suggest summarize surface switch take tell terminate test treat
		trigger try turn update upgrade upload use validate verify view wait walk warn work wrap write`)

	// moreOrders begin a step where they stand behind a verb, and are too often something else at the start of one.
	moreOrders = wordSet(`renew refresh reset archive back bump cache cancel debug deny deploy diff enter exclude fork grant kill lint lock monitor mount patch pin
		ping print prune pull purge quit rebase recover reload reopen repair resend resume rotate sign squash stash strip sync tag track transfer
		translate trim undo uninstall unlock watch wipe`)

	thirdPerson = wordSet(`is isn't are aren't was were has hasn't exists doesn't fails passes contains includes uses needs wants asks requests requires
		provides returns matches mentions says specifies lacks appears looks shows reports finds remains changes supports depends differs exceeds
		succeeds confirms agrees declines rejects approves chooses selects names spans touches breaks errors gives sees`)

	// bare are words behind which a verb has the form of an order.
	bare = wordSet(`to can could may might must should will would you we they i do does did don't didn't cannot can't won't not users people either both let make
		makes lets helps`)

	// before are words behind which the form of an order is a noun or an infinitive.
	before = wordSet(`to can could may might must should will would you we they i not cannot can't don't doesn't does do did the a an this that these those its
		their your any no every each some of for in on at by with from and or is are was were has have had new existing current more other`)

	// hints are conditions of one word that lean on the step before.
	hints = wordSet(`so neither both not needed necessary possible applicable available required relevant present missing yes no any unsure unclear
		uncertain none appropriate desired true false feasible asked ever`)
)
