package resource

import (
	"slices"
	"strings"
)

// ParseArguments reads what the preamble of a skill says of $ARGUMENTS: lines "Label: $ARGUMENTS",
// "Label: $ARGUMENTS (default: X)" and "first token is `a`, remainder is `b`". bindings holds a and b,
// and under the key "$ARGUMENTS" the default where args is empty and there is one. understood is false if
// some line that mentions $ARGUMENTS says more than these, which a model has to read. Blockquotes are not read.
func ParseArguments(preamble, args string) (map[string]string, bool) {
	bindings := map[string]string{}
	understood := true
	args = strings.TrimSpace(args)
	var f fence
	for _, line := range lines(preamble) {
		line = strings.TrimSpace(line)
		if f.step(line) || strings.HasPrefix(line, ">") || !strings.Contains(line, argumentsWord) {
			continue
		}
		understood = argumentLine(line, args, bindings) && understood
	}
	return bindings, understood
}

// NamesArgument reports whether a line of the preamble that mentions $ARGUMENTS, or one that follows it without an empty line, has name as a word.
func NamesArgument(preamble, name string) bool {
	var f fence
	after := false
	for _, line := range lines(preamble) {
		line = strings.TrimSpace(line)
		if f.step(line) || strings.HasPrefix(line, ">") {
			continue
		}
		about := strings.Contains(line, argumentsWord)
		if (about || after) && slices.Contains(strings.FieldsFunc(line, func(r rune) bool { return !wordRune(r) }), name) {
			return true
		}
		after = (about || after) && line != ""
	}
	return false
}

// ArgumentName is the name under which a tree reads a property of arguments.schema: spaces and hyphens are underscores.
func ArgumentName(property string) string {
	return strings.NewReplacer(" ", "_", "-", "_").Replace(property)
}

// argumentLine reads one line about $ARGUMENTS into bindings; false if it says more than the known sentences.
func argumentLine(line, args string, bindings map[string]string) bool {
	before, after, _ := strings.Cut(line, argumentsWord)
	if strings.Contains(after, argumentsWord) {
		return false
	}
	before = strings.TrimSuffix(strings.TrimSpace(before), "`")
	after = strings.TrimSpace(strings.TrimPrefix(after, "`"))
	switch {
	case after == "" || after == ".":
		// "$ARGUMENTS" and "Label: $ARGUMENTS"; a sentence that ends so asks for something.
		return strings.TrimSpace(before) == "" || strings.HasSuffix(strings.TrimSpace(before), ":")
	case strings.HasPrefix(after, "(default:") && strings.HasSuffix(after, ")"):
		value := strings.Trim(strings.TrimSpace(after[len("(default:"):len(after)-1]), "`\"")
		if value == "" || strings.ContainsAny(value, "()") {
			return false
		}
		if args == "" {
			bindings[argumentsWord] = value
		}
		return true
	}
	first, rest, ok := firstAndRest(after)
	if !ok {
		return false
	}
	head, tail := args, ""
	if i := strings.IndexAny(args, " \t\n"); i >= 0 {
		head, tail = args[:i], strings.TrimSpace(args[i:])
	}
	bindings[first] = head
	if rest != "" {
		bindings[rest] = tail
	}
	return true
}

// firstAndRest reads "— first token is `a`, remainder is `b`", the second half optional.
func firstAndRest(s string) (first, rest string, ok bool) {
	s = strings.TrimSpace(strings.TrimLeft(s, "—–-: "))
	s = strings.TrimSuffix(s, ".")
	one, two, both := strings.Cut(s, ",")
	if first, ok = tokenName(one, "first token is ", "the first token is "); !ok || !both {
		return first, "", ok
	}
	two = strings.TrimPrefix(strings.TrimSpace(two), "and ")
	rest, ok = tokenName(two, "remainder is ", "the remainder is ", "rest is ", "the rest is ")
	return first, rest, ok && rest != first
}

func tokenName(s string, leads ...string) (string, bool) {
	s = strings.TrimSpace(s)
	for _, lead := range leads {
		if name, ok := strings.CutPrefix(s, lead); ok {
			name = strings.Trim(strings.TrimSpace(name), "`")
			return name, name != "" && identEnd(name, 0, true) == len(name)
		}
	}
	return "", false
}
