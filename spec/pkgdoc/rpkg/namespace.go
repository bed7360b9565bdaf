package rpkg

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// A namespace is what the NAMESPACE of a package makes public. Names are sorted and each is there once.
type namespace struct {
	exports  []string
	patterns []string    // regular expressions of further exports
	s3       [][2]string // generic and class
	methods  []string    // generics of S4 with methods
	classes  []string    // of S4
	all      bool        // there is no file that says it
	notes    []pkgdoc.Note
}

// readNamespace reads the file. Directives under a condition count, whatever it is: which holds is known where the package runs.
func readNamespace(src string) *namespace {
	ns := &namespace{}
	ns.block(scan(src), 0)
	for _, list := range []*[]string{&ns.exports, &ns.patterns, &ns.methods, &ns.classes} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	slices.SortFunc(ns.s3, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	ns.s3 = slices.Compact(ns.s3)
	return ns
}

func (ns *namespace) block(tokens []token, depth int) {
	if depth > 20 {
		return
	}
	for _, s := range statements(tokens) {
		s = visible(s)
		switch {
		case s[0].kind == open && s[0].text == "{":
			ns.block(inside(s, 0), depth+1)
		case s[0].text == "if" && len(s) > 1 && s[1].kind == open:
			ns.notes = append(ns.notes, pkgdoc.Note{File: "NAMESPACE", Line: s[0].line, Text: "what is exported under a condition is taken as exported"})
			rest := s[matching(s, 1):]
			if at := slices.IndexFunc(rest, func(t token) bool { return t.text == "else" }); at >= 0 {
				ns.block(rest[at+1:], depth+1)
				rest = rest[:at]
			}
			ns.block(rest, depth+1)
		case len(s) > 1 && s[0].kind == name && s[1].kind == open:
			ns.directive(s[0], inside(s, 1))
		}
	}
}

// inside are the tokens between the bracket at i and the one that closes it.
func inside(tokens []token, i int) []token {
	end := matching(tokens, i)
	if end > i+1 && tokens[end-1].kind == shut {
		return tokens[i+1 : end-1]
	}
	return tokens[i+1 : end]
}

func (ns *namespace) directive(d token, args []token) {
	var words []string
	for _, arg := range arguments(args) {
		words = append(words, namesOf(visible(arg))...)
	}
	switch d.text {
	case "export":
		ns.exports = append(ns.exports, words...)
	case "exportPattern":
		ns.patterns = append(ns.patterns, words...)
	case "exportMethods":
		ns.methods = append(ns.methods, words...)
	case "exportClasses":
		ns.classes = append(ns.classes, words...)
	case "exportClassPattern":
		ns.notes = append(ns.notes, pkgdoc.Note{File: "NAMESPACE", Line: d.line, Text: "classes exported by a pattern are known by their documentation alone"})
	case "S3method":
		if len(words) >= 2 {
			ns.s3 = append(ns.s3, [2]string{words[0], words[1]})
		}
	}
}

// namesOf are the names of one argument: a name, a string, c(…) of them, or name = value.
func namesOf(arg []token) (out []string) {
	if len(arg) > 2 && arg[0].kind == name && arg[1].text == "=" {
		arg = arg[2:]
	}
	if len(arg) > 1 && arg[0].text == "c" && arg[1].kind == open {
		for _, inner := range arguments(inside(arg, 1)) {
			out = append(out, namesOf(visible(inner))...)
		}
		return out
	}
	if len(arg) >= 1 && (arg[0].kind == name || arg[0].kind == str) {
		return []string{arg[0].text}
	}
	if len(arg) >= 1 && arg[0].kind == op { // export(%>%) without quotes
		return []string{arg[0].text}
	}
	return nil
}

// named are those of names that a pattern of exportPattern means. R's regular expressions are read as Go's, which they are nearly always.
func named(pattern string, names []string) (out []string, err error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern %q is not understood", pattern)
	}
	for _, n := range names {
		if re.MatchString(n) {
			out = append(out, n)
		}
	}
	return out, nil
}

// assigned are the names that code assigns at its top level, sorted. Generics and classes of S4 are among them.
func assigned(src string) (out []string) {
	for _, s := range statements(scan(src)) {
		s = visible(s)
		switch {
		case len(s) > 2 && (s[0].kind == name || s[0].kind == str) && s[1].kind == op && (s[1].text == "<-" || s[1].text == "=" || s[1].text == "<<-"):
			for i := 0; i+2 < len(s) && (s[i].kind == name || s[i].kind == str) && (s[i+1].text == "<-" || s[i+1].text == "="); i += 2 { // a <- b <- f
				out = append(out, s[i].text)
			}
		case len(s) > 3 && s[0].kind == name && s[1].kind == open && s[2].kind == str && slices.Contains([]string{"setGeneric", "assign", "delayedAssign", "makeActiveBinding"}, s[0].text):
			out = append(out, s[2].text)
		case len(s) > 2 && s[len(s)-2].text == "->" && s[len(s)-1].kind == name:
			out = append(out, s[len(s)-1].text)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// maxChain bounds the names of one function: a <- b <- c <- function.
const maxChain = 10

// defined adds the functions that code assigns at its top level, and the generics of S4, each as a call of it with its defaults. The last one
// of a name counts, as it does in R.
func defined(src string, out map[string]usage) {
	for _, s := range statements(scan(src)) {
		s = visible(s)
		var names []token
		i := 0
		for ; i+1 < len(s) && (s[i].kind == name || s[i].kind == str) && (s[i+1].text == "<-" || s[i+1].text == "=" || s[i+1].text == "<<-"); i += 2 { // a <- b <- f
			names = append(names, s[i])
		}
		names = names[max(0, len(names)-maxChain):]
		if len(names) == 0 && len(s) > 5 && s[0].text == "setGeneric" && s[1].kind == open && s[2].kind == str {
			names = s[2:3]
			for i = 3; i < min(len(s), 12) && s[i].text != "function"; i++ {
			}
		}
		if len(names) == 0 || i+1 >= len(s) || s[i].text != "function" && s[i].text != `\` || s[i+1].text != "(" {
			continue
		}
		args := source(src, s[i+1:matching(s, i+1)])
		params := paramsOf(src, inside(s, i+1))
		for _, n := range names {
			called := n.text
			if len(scan(called)) != 1 || scan(called)[0].kind != name {
				called = "`" + strings.ReplaceAll(called, "`", "") + "`"
			}
			out[n.text] = usage{name: n.text, text: called + args, call: true, params: params}
		}
	}
}
