package cond

import "strings"

// test reads one test of the grammar; nil if text is none.
func test(text string) Expr {
	if opt := optionText(text); opt != text {
		return AnswerIs{text, opt}
	}
	if e := fileTest(text); e != nil {
		return e
	}
	o, rest := head(text)
	if o.Kind == Word && isPath(o.Text) && rest != "" && strings.ContainsAny(rest[:1], "=!<>") {
		return relation(text, o, rest) // before an operator also "a" or "user" is a name, and no word of a sentence
	}
	if !o.reference() {
		if o.Kind == Bool && rest == "" {
			return Ref{text, o}
		}
		return greater(text)
	}
	if o.Kind == Path && text[0] != '`' && isFileName(o.Text) {
		return nil // what is inside a file is for a model to read
	}
	if rest == "" {
		return Ref{text, o}
	}
	if e := presence(text, o, rest); e != nil {
		return e
	}
	if e := valid(text, o, rest); e != nil {
		return e
	}
	if e := greater(text); e != nil {
		return e
	}
	return relation(text, o, rest)
}

// optionText removes "user chose" and the quotes of what follows.
func optionText(text string) string {
	rest, ok := strings.CutPrefix(text, "user ")
	if !ok {
		return text
	}
	for _, verb := range [...]string{"chose ", "selected ", "answered "} {
		if opt, ok := strings.CutPrefix(rest, verb); ok && opt != "" {
			if q := opt[0]; len(opt) > 2 && (q == '"' || q == '`' || q == '\'') && strings.IndexByte(opt[1:], q) == len(opt)-2 {
				opt = opt[1 : len(opt)-1]
			}
			return opt
		}
	}
	return text
}

// presence reads the tests that have no right side.
func presence(text string, o Operand, rest string) Expr {
	verb, is := strings.CutPrefix(rest, "is ")
	verb, not := strings.CutPrefix(verb, "not ")
	switch verb {
	case "empty", "missing or empty", "empty or missing":
		if is {
			return Empty{text, o, false, not}
		}
	case "missing", "null":
		if is {
			return Empty{text, o, true, not}
		}
	case "non-empty":
		if is {
			return Empty{text, o, false, !not}
		}
	case "found", "provided", "present", "set":
		return Present{text, o, verb == "found", not}
	case "exists", "does not exist":
		// A value that is surely a reference exists when it is bound; a word could be a file.
		if !is && !not && o.sure() {
			return Present{text, o, false, verb != "exists"}
		}
	case "failed", "succeeded":
		if o.Kind != Arguments {
			return Outcome{text, o, verb == "failed", not}
		}
	}
	return nil
}

// valid reads "is [not] [a] valid semver …". What follows may only name the thing again.
func valid(text string, o Operand, rest string) Expr {
	verb, ok := strings.CutPrefix(rest, "is ")
	if !ok {
		return nil
	}
	verb, not := strings.CutPrefix(verb, "not ")
	verb = strings.TrimPrefix(verb, "a ")
	verb, ok = strings.CutPrefix(verb, "valid ")
	if !ok {
		return nil
	}
	form, tail, _ := strings.Cut(verb, " ")
	if form != "semver" && form != "kebab-case" {
		return nil
	}
	for tail != "" && tail[0] != '(' {
		var word string
		word, tail, _ = strings.Cut(tail, " ")
		switch word {
		case "string", "version", "number", "name", "skill", "identifier", "value", "format", "text", "word":
		default:
			return nil
		}
	}
	if tail != "" && strings.IndexByte(tail, ')') != len(tail)-1 {
		return nil
	}
	return Valid{text, o, form, not}
}

// greater reads "x is [not] greater than y", where both sides may be phrases for one name.
func greater(text string) Expr {
	left, right, ok := strings.Cut(text, " greater than ")
	if !ok {
		return nil
	}
	left, not := strings.CutSuffix(left, " not")
	left, ok = strings.CutSuffix(left, " is")
	if !ok {
		return nil
	}
	l, okL := side(left)
	r, okR := side(right)
	if !okL || !okR {
		return nil
	}
	return Greater{text, l, r, not}
}

// side reads one side of "greater than": an operand, or up to four words.
func side(text string) (Operand, bool) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "the ")
	if o, ok := ParseOperand(text); ok {
		return o, o.Kind != Bool && o.Kind != Null && !keyword(o.Text)
	}
	words := strings.Split(text, " ")
	if len(words) > 4 {
		return Operand{}, false
	}
	for _, w := range words {
		if !isPath(w) || strings.ContainsAny(w, ".[") || keyword(w) {
			return Operand{}, false
		}
	}
	return Operand{Phrase, text}, true
}

// relation reads the tests with a right side.
func relation(text string, left Operand, rest string) Expr {
	for _, op := range [...]string{"==", "!=", "<=", ">=", "=", "<", ">"} {
		after, ok := strings.CutPrefix(rest, op)
		if !ok {
			continue
		}
		right, ok := ParseOperand(after)
		switch {
		case !ok:
			return nil
		case op == "==" || op == "=":
			return Equal{text, left, right, false, false}
		case op == "!=":
			return Equal{text, left, right, true, false}
		case right.Kind == Number || right.sure():
			return Compare{text, left, right, op}
		}
		return nil
	}
	for _, op := range [...]string{"does not equal ", "equals ", "is not ", "is ", "does not contain ", "contains "} {
		after, ok := strings.CutPrefix(rest, op)
		if !ok {
			continue
		}
		not := strings.Contains(op, "not")
		right, ok := ParseOperand(after)
		switch {
		case !ok:
			return nil
		case strings.Contains(op, "contain"):
			if right.Kind != Quoted && !right.sure() {
				return nil
			}
			return Contains{text, left, right, not}
		case right.Kind == Word && keyword(right.Text):
			return nil
		}
		return Equal{text, left, right, not, true}
	}
	return nil
}

// fileTest reads "X exists" and its like.
func fileTest(text string) Expr {
	path, rest, ok := fileHead(text)
	if !ok {
		return nil
	}
	rest, at, hasAt := strings.Cut(rest, " at ")
	e := FileExists{Text: text, Path: path}
	switch rest {
	case "exists", "already exists", "is present", "present":
	case "does not exist", "is not present", "is missing":
		e.Not = true
	default:
		return nil
	}
	if hasAt {
		var ok bool
		if e.At, ok = ParseOperand(at); !ok || !e.At.reference() {
			return nil
		}
		if isFile(path) || isPath(path) && !keyword(path) {
			return e
		}
		return nil
	}
	if !isFile(path) {
		return nil
	}
	return e
}

// fileHead cuts the first word, or what stands in backticks, from text.
func fileHead(text string) (path, rest string, ok bool) {
	if text != "" && text[0] == '`' {
		path, rest, ok = strings.Cut(text[1:], "`")
		if !ok || rest == "" || rest[0] != ' ' {
			return "", "", false
		}
		return path, rest[1:], true
	}
	return strings.Cut(text, " ")
}

// isFile reports whether word can be a relative path of a file: it has a dot or slash, no
// blank or wildcard, and is not surely a binding.
func isFile(word string) bool {
	if !strings.ContainsAny(word, "./") || strings.ContainsAny(word, "*?|\"'`()[],;= \\") {
		return false
	}
	switch {
	case word[0] == '/', strings.HasSuffix(word, "."), strings.HasPrefix(word, "context."), strings.HasPrefix(word, "ctx."):
		return false
	case word[0] == '$' && !strings.HasPrefix(word, "$ARGUMENTS"):
		return false
	}
	return strings.Trim(word, "./") != ""
}

// isFileName reports whether a dotted word is rather the name of a file than a path into a binding.
func isFileName(word string) bool {
	if strings.HasPrefix(word, "context.") || strings.HasPrefix(word, "ctx.") {
		return false
	}
	i := strings.LastIndexByte(word, '.')
	switch strings.ToLower(word[i+1:]) {
	case "md", "txt", "json", "yaml", "yml", "toml", "mod", "sum", "lock", "xml", "csproj", "go", "py", "js", "ts", "sh", "ps1", "cfg", "ini", "html", "css":
		return i > 0
	}
	return false
}
