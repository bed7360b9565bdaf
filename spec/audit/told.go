package audit

import (
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Texts that programs take as commands, from an option, from their input or as a text of the shell itself.

// databases are the programs that take a text of SQL in which a line may start a program, and the options before one. The first operand of
// those with true is a file, and what follows it is such a text.
const databases = " sqlite3 sqlite duckdb psql mysql mariadb usql sqlcmd pgcli mycli litecli "

// queries reads the SQL that a program is given.
func (a *auditor) queries(program string, args []value, stdin value, line int, prose bool) {
	if !has(databases, program) {
		return
	}
	texts := append(value{}, stdin...)
	operands := 0
	for i, v := range args {
		word := v.or()[0]
		name, val, joined := strings.Cut(word, "=")
		switch option := strings.HasPrefix(word, "-"); {
		case joined && has(" --command --execute -cmd ", name):
			texts = append(texts, val)
		case i > 0 && has(" -c -e --command --execute -cmd --cmd -q -Q -s ", args[i-1].or()[0]), has(" sqlite3 sqlite duckdb ", program) && !option && operands > 0:
			texts = append(texts, v.or()...)
		case !option:
			operands++
		}
	}
	for _, s := range texts {
		if s = strings.ReplaceAll(s, holeText, "${1}"); strings.TrimSpace(s) != "" && !(prose && s == "${1}") {
			a.database(s, line)
		}
	}
}

// bang is a line of ed or ex that a shell runs, or whose text it prints.
var bang = pattern{text: `(?m)^[\s:0-9,.$%;+-]*(?:[gv]/[^/\n]*/)?(?:r|w|e|E|read|write|edit|w!)?\s*!(.*)$`}

// edits reads the commands that an editor of lines takes from its input.
func (a *auditor) edits(program string, args []value, stdin value, line int, prose bool) {
	if !has(" ed ex red vi vim nvim view ", program) {
		return
	}
	for _, s := range stdin {
		if strings.IndexByte(s, hole) == 0 && !prose {
			a.add(Dynamic, "", line)
		}
		for _, m := range bang.get().FindAllStringSubmatch(s, maxAsked) {
			a.lineOf(m[1], line, prose)
		}
	}
	if program == "ed" {
		for _, v := range args {
			if cmd, ok := strings.CutPrefix(v.or()[0], "!"); ok {
				a.lineOf(cmd, line, prose)
			}
		}
	}
}

// each1 is what fd starts for each file that it finds.
func (a *auditor) each1(program string, args []value, line int, prose bool) {
	if program != "fd" && program != "fdfind" {
		return
	}
	for i, v := range args {
		if has(" -x -X --exec --exec-batch ", v.or()[0]) {
			if a.finds < maxNested {
				a.finds++
				a.exec(given(args[i+1:], "{}"), nil, line, prose)
				a.finds--
			} else {
				a.add(Dynamic, "", line)
			}
			return
		}
	}
}

// given are the words of a program that gets more of them from its input or from what was found, at the places of a sign or behind them.
// Only where a host may be among them does that matter.
func given(words []value, sign string) []value {
	if len(words) == 0 || !fetchers()[strings.ToLower(called(words[0].or()[0]))] {
		return words
	}
	out, put := slices.Clone(words), false
	for i, v := range out {
		if sign != "" && slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, sign) }) {
			out[i] = v.each(func(s string) (string, bool) { return strings.ReplaceAll(s, sign, holeText), true })
			put = true
		}
	}
	if !put {
		out = append(out, unknown)
	}
	return out
}

// signOf is the sign that xargs or parallel replaces, "" for none.
func signOf(wrapper string, options []value) string {
	sign := ""
	if wrapper == "parallel" {
		sign = "{}"
	}
	for i, v := range options {
		word := v.or()[0]
		switch rest, ok := strings.CutPrefix(word, "-I"); {
		case ok && rest != "":
			return rest
		case ok && i+1 < len(options):
			return options[i+1].or()[0]
		case word == "-i" || word == "--replace":
			sign = "{}"
		}
		if rest, ok := strings.CutPrefix(word, "--replace="); ok {
			return rest
		}
	}
	return sign
}

// subscript is the name of an element, whose subscript a shell evaluates wherever it takes a name or a number.
var subscript = pattern{text: "^[A-Za-z_]\\w*\\[(?s:[^\\]]*?(?:\\$\\(|`).*)"}

// element notes what runs when a text is taken for a name or a number.
func (s *shellText) element(v value, line int, named bool) {
	for _, text := range v {
		if subscript.get().MatchString(text) {
			s.acting(asPrompt, "", value{text}, line, s.prose)
		} else if i := strings.IndexByte(text, hole); named && i >= 0 && !s.prose && (i == 0 || strings.IndexByte(text[:i], '[') > 0) {
			s.add(Dynamic, "", line)
		}
	}
}

// evaluated are the commands that take names or numbers.
const evaluated = " test [ printf unset read let declare typeset local export readonly mapfile readarray wait "

// elements notes the names and numbers among the words of a command.
func (s *shellText) elements(words []value, line int) {
	if name := words[0]; !name.known() || !has(evaluated, name[0]) {
		return
	}
	for i, v := range words[1:] {
		before := words[i].or()[0]
		s.element(v, line, before == "-v" && has(" test [ printf ", words[0][0]))
	}
}

// tests notes the names and numbers of [[ ]].
func (s *shellText) tests(n *syntax.TestClause) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.UnaryTest:
			if w, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) {
				s.element(s.word(w), s.line(w), true)
			}
		case *syntax.BinaryTest:
			switch n.Op {
			case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
				for _, x := range []syntax.TestExpr{n.X, n.Y} {
					if w, ok := x.(*syntax.Word); ok {
						s.element(s.word(w), s.line(w), false)
					}
				}
			}
		case *syntax.TestClause, *syntax.ParenTest:
		default:
			return false
		}
		return true
	})
}

// prompts notes ${NAME@P}, which runs what is between $( and ) in a value.
func (s *shellText) prompts(p *syntax.ParamExp) {
	if p.Exp == nil || p.Exp.Op != syntax.OtherParamOps || p.Exp.Word == nil || p.Exp.Word.Lit() != "P" || s.prose {
		return
	}
	v := value(nil)
	if p.Param != nil && !p.Excl {
		v = s.vars[p.Param.Value]
	}
	if !v.known() {
		s.add(Dynamic, "", s.line(p))
		return
	}
	for _, text := range v {
		s.acting(asPrompt, "", value{unescape(text)}, s.line(p), s.prose)
	}
}

// maxBraces is how many words one is expanded to.
const maxBraces = 64

// braces is the words that a word with {a,b} stands for, or nil if it has none.
func (s *shellText) braces(w *syntax.Word, v value) []value {
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.ParamExp:
		default:
			return nil
		}
	}
	if len(v) != 1 || strings.IndexByte(v[0], '{') < 0 || strings.IndexByte(v[0], ',') < 0 {
		return nil
	}
	list := []string{v[0]}
	for i := 0; i < len(list); {
		text := list[i]
		close := strings.IndexByte(text, '}')
		open := strings.LastIndexByte(text[:max(close, 0)], '{')
		if close < 0 || open < 0 || strings.IndexByte(text[open:close], ',') < 0 {
			i++
			continue
		}
		var each []string
		for _, one := range strings.Split(text[open+1:close], ",") {
			each = append(each, text[:open]+one+text[close+1:])
		}
		if list = slices.Concat(list[:i], each, list[i+1:]); len(list) > maxBraces {
			return nil
		}
	}
	if len(list) == 1 {
		return nil
	}
	out := make([]value, len(list))
	for i, text := range list {
		out[i] = value{text}
	}
	return out
}

// ansi are the escapes of $'…' that other languages do not have.
var ansi = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(`\\`, `\\`, `\e`, `\x1b`, `\E`, `\x1b`, `\a`, `\x07`, `\b`, `\x08`, `\f`, `\x0c`, `\v`, `\x0b`)
})

// inProse is a word of Markdown without its backslashes: before a letter they are those of a path of Windows.
func inProse(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] != '\\':
			b.WriteByte(text[i])
		case i+1 < len(text) && (wordByte(text[i+1]) && text[i+1] != '$' || text[i+1] == '.'):
			b.WriteByte('/')
		}
	}
	return b.String()
}

// looksLike reports whether a name may be that of a program: it begins with a letter, a digit or "_", and has more than signs.
func looksLike(name string) bool {
	if name == ":" || name == "[" || name == "[[" || name == "." {
		return true
	}
	for i := range len(name) {
		if c := name[i]; !wordByte(c) && strings.IndexByte("-.+@", c) < 0 || c == '$' {
			return false
		}
	}
	return name != "" && wordByte(name[0])
}

// spokenWords begin sentences, and name no program that a text would start so.
const spokenWords = " and or the a an but that this these those with for to of is are was it on from by we you they not note see also "

// readers are the programs that print the files which they are given.
const readers = " cat head tail less more tac nl base64 xxd od strings hexdump "

// opens notes the files of a program that prints them, where nobody knows which.
func (a *auditor) opens(program string, args []value, line int) {
	if !has(readers, program) {
		return
	}
	for i, v := range args {
		if strings.IndexByte(v.or()[0], hole) == 0 && (i == 0 || !has(" -n -c -w -N -j -l -s ", args[i-1].or()[0])) {
			a.use(Reads, v.or()[0], line)
		}
	}
}
