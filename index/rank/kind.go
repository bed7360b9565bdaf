package rank

import (
	"strings"
	"unicode"
)

// A Kind of question. How far a pack can be believed depends on it.
type Kind uint8

const (
	Concept  Kind = iota // words that name nothing: "retry with growing delays"
	Name                 // one or more identifiers and nothing else
	Config               // an option, a flag, an environment variable
	Failure              // the text of an error, or a question about one
	How                  // "how are pages merged"
	Where                // "where is the token checked"
	Function             // "function that parses dates"
	Report               // a text of many words, such as a reported problem or what a change was made for
	kinds
)

var kindNames = [kinds]string{"concept", "name", "config", "error", "how", "where", "function", "report"}

// reportWords is how many words a question has at most; what has more tells a story.
const reportWords = 20

func (k Kind) String() string { return kindNames[k] }

// kindOf says of which kind a question is, by its words alone.
func kindOf(words []askWord) Kind {
	if len(words) == 0 {
		return Concept
	}
	named, option, failure, little := 0, 0, false, false
	for i, w := range words {
		if w.name || isIdentifier(w.text) || strings.ContainsAny(w.text, "./:") {
			named++
		}
		switch strings.ToLower(w.text) {
		case "option", "options", "flag", "flags", "setting", "settings", "config", "env":
			if option++; i == 0 || i == len(words)-1 {
				option++
			}
		case "configuration", "environment", "parameter", "default":
			option++
		case "error", "errors", "failed", "fails", "cannot", "can't", "couldn't", "could", "invalid", "unexpected", "unable", "exception", "panic", "missing", "unsupported", "supported",
			"unknown", "unrecognized", "must", "should", "already", "not", "no", "expected", "required", "requires", "too", "only", "denied", "allowed", "empty", "undefined", "duplicate", "exceeds":
			failure = true
		case "a", "an", "the", "is", "are", "be", "to", "of", "in", "for", "at", "was", "get":
			little = true
		}
		if isVariable(w.text) {
			option += 2
		}
		little = little || w.quoted
	}
	first := strings.ToLower(words[0].text)
	if first == "which" && len(words) > 1 && (words[1].text == "option" || words[1].text == "setting" || words[1].text == "flag") {
		option++
	}
	switch {
	case named == len(words) || len(words) == 1:
		return Name
	case len(words) > reportWords:
		return Report
	case option > 1, option == 1 && named > 0, option == 1 && len(words) <= 6 && first == "what":
		return Config
	case first == "where", first == "which", first == "what", first == "who", first == "find", first == "locate":
		return Where
	case first == "how":
		return How
	case first == "function", first == "method", first == "func", first == "helper", first == "code":
		return Function
	case failure && little, first == "error": // messages are sentences
		return Failure
	case first == "why":
		if len(words) > 3 && strings.EqualFold(words[3].text, "get") { // "why do I get" and a message
			return Failure
		}
		return How
	}
	return Concept
}

// isVariable says whether a word is written like an environment variable.
func isVariable(s string) bool {
	return len(s) > 3 && strings.Contains(s, "_") && strings.ToUpper(s) == s && !strings.ContainsFunc(s, func(r rune) bool { return r != '_' && !unicode.IsUpper(r) && !unicode.IsDigit(r) })
}
