package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxAsk   = 4 << 10 // bytes
	maxTerms = 128     // of a question
)

// A Question is what was asked, as terms.
type Question struct {
	Kind    Kind
	Terms   []Term   // at most 128, each once, in the order they were first written, a whole before those of its parts that are new
	Words   []Word   // what was written, in order: the same terms
	Names   []string // words that were written as identifiers (inner capitals, underscores, digits), as they were, and single quoted or lone words
	Options []string // of a question of the kind Config that has at most two words besides those that frame it, these, as they were
	Joined  []string // keys that 2 to 6 words would have if they were written as one identifier: all, without Stop words, and these without a final s
}

// A Term of a question.
type Term struct {
	Text string
	Stop bool // a word of the kind that says little, such as "the"; it does not need to match
	Part bool // it is a part of an identifier that is also there as a whole
}

// A Word of a question is an identifier, or a pair of neighbours in a script without spaces.
type Word struct {
	Text  string   // its term
	Parts []string // the terms of its parts, if it has several
	Stop  bool     // as of a Term, but of this place alone
}

// Ask makes a Question of text of at most 4 KiB; what is beyond is ignored.
//
// Words that only frame a question, such as "where is the function that", are Stop terms, unless there are no others
// or they are quoted. Of a qualified name ("http.Server", "Map::insert") the last identifier is in Names, and so are
// file names and words with hyphens, as they were.
func Ask(text string) Question {
	if len(text) > maxAsk {
		text = text[:maxAsk]
		for len(text) > 0 && !utf8.RuneStart(text[len(text)-1]) {
			text = text[:len(text)-1]
		}
		text = text[:max(0, len(text)-1)] // the character that the cut may have divided
	}
	words := askWords(text)
	a := asker{at: map[string]int{}, framed: isFramed(words)}
	a.q.Kind = kindOf(words)
	a.named = slices.ContainsFunc(words, func(w askWord) bool { return isIdentifier(w.text) || isVariable(w.text) })
	for i, w := range words {
		a.word(w, i == 0 && len(words) > 2)
	}
	if len(words) == 1 {
		a.name(words[0].text)
	}
	a.join(words)
	if a.q.Kind == Config {
		for _, w := range words {
			if name := strings.TrimLeft(w.text, "-"); name != "" && (w.quoted || !a.isStop(strings.ToLower(name), false)) {
				a.q.Options = append(a.q.Options, name)
			}
		}
		if len(a.q.Options) > 2 {
			a.q.Options = nil
		}
	}
	for _, t := range a.q.Terms {
		if !t.Stop {
			return a.q
		}
	}
	for i := range a.q.Terms {
		a.q.Terms[i].Stop = false
	}
	for i := range a.q.Words {
		a.q.Words[i].Stop = false
	}
	return a.q
}

// Content returns the terms that are not Stop.
func (q Question) Content() []Term {
	var content []Term
	for _, t := range q.Terms {
		if !t.Stop {
			content = append(content, t)
		}
	}
	return content
}

// An askWord is a word as it was written, without the punctuation around it.
type askWord struct {
	text   string
	quoted bool // with others or alone
	name   bool // quoted alone, or with () behind it
}

func askWords(text string) []askWord {
	var words []askWord
	for text != "" {
		r, size := utf8.DecodeRuneInString(text)
		if unicode.IsSpace(r) {
			text = text[size:]
			continue
		}
		if end := closing(r); end != 0 {
			if inside, rest, ok := strings.Cut(text[size:], string(end)); ok && inside != "" && !strings.Contains(inside, "\n") {
				parts := strings.Fields(inside)
				for _, p := range parts {
					words = append(words, askWord{text: p, quoted: true, name: len(parts) == 1})
				}
				text = rest
				continue
			}
		}
		end := strings.IndexFunc(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' || r == '`' })
		switch {
		case end < 0:
			end = len(text)
		case end == 0:
			end = size
		}
		if w := bare(text[:end]); w.text != "" {
			words = append(words, w)
		}
		text = text[end:]
	}
	return words
}

// closing returns the mark that ends what the mark r begins, or 0.
func closing(r rune) rune {
	switch r {
	case '"', '`', '\'':
		return r
	case '“', '„':
		return '”'
	case '‘':
		return '’'
	case '«':
		return '»'
	}
	return 0
}

// bare takes punctuation and the ends of "what's" and "don't" off a word.
func bare(s string) askWord {
	s = strings.TrimRight(s, ",.;:!?")
	call := strings.HasSuffix(s, "()")
	s = strings.TrimFunc(s, func(r rune) bool { return r != '_' && !inWord(r) })
	if i := strings.LastIndexAny(s, "'’"); i > 0 {
		_, size := utf8.DecodeRuneInString(s[i:])
		switch s[i+size:] {
		case "s", "t", "re", "ve", "ll", "d", "m":
			s = s[:i]
		}
	}
	return askWord{text: s, name: call && s != ""}
}

// isFramed says whether the words are a sentence that asks, in which "function" and the like say little.
func isFramed(words []askWord) bool {
	if len(words) < 3 {
		return false
	}
	switch strings.ToLower(words[1].text) {
	case "to", "that", "which", "used", "for":
		switch strings.ToLower(words[0].text) {
		case "function", "method", "code", "helper", "something":
			return !words[0].quoted
		}
	}
	for _, w := range words[:3] {
		switch strings.ToLower(w.text) {
		case "where", "how", "what", "which", "who", "why", "when", "does", "do", "is", "are", "can", "find", "show", "locate", "explain":
			return !w.quoted
		}
	}
	return false
}

type asker struct {
	q      Question
	at     map[string]int // index of a term
	full   bool           // there was a term too much
	framed bool
	named  bool // there is a word that is written like a name of code
}

func (a *asker) word(w askWord, first bool) {
	last, whole := "", joined(w.text)
	if whole != "" {
		a.add(Term{Text: whole})
	}
	for _, run := range runs(w.text) {
		a.terms(run, !w.quoted && a.isStop(strings.ToLower(run), first), whole != "")
		last = run
	}
	if last == "" {
		return
	}
	switch {
	case strings.ContainsAny(w.text, "/-") || strings.Contains(w.text, ".") && isFile(last):
		a.name(w.text)
		if i := strings.LastIndexByte(w.text, '/'); i >= 0 {
			a.name(w.text[i+1:])
		}
	case w.name || isIdentifier(last) || len(last) > 1 && last != w.text:
		a.name(last)
	}
}

// joined returns the term "sha256" for "sha-256", and "" for other words.
func joined(s string) string {
	before, after, ok := strings.Cut(s, "-")
	if !ok || len(before) < 2 || after == "" {
		return ""
	}
	for i := range len(before) {
		if class[before[i]]&(lower|upper) == 0 {
			return ""
		}
	}
	for i := range len(after) {
		if class[after[i]] != digit {
			return ""
		}
	}
	return Key(before + after)
}

// join makes one identifier of all words, one of those that are not Stop, and one of these without plurals and the s of verbs.
func (a *asker) join(words []askWord) {
	var all, said, singular []string
	for _, w := range words {
		for _, run := range runs(w.text) {
			all = append(all, run)
			if low := strings.ToLower(run); w.quoted || !a.isStop(low, false) {
				said = append(said, run)
				singular = append(singular, string(stemPlural([]byte(low))))
			}
		}
	}
	for _, j := range [][]string{all, said, singular} {
		if len(j) < 2 || len(j) > 6 {
			continue
		}
		if key := Key(strings.Join(j, "")); key != "" && !slices.Contains(a.q.Joined, key) {
			a.q.Joined = append(a.q.Joined, key)
		}
	}
}

// runs divides a word where it has something else than letters, digits and underscores.
func runs(w string) []string {
	return strings.FieldsFunc(w, func(r rune) bool { return r != '_' && !inWord(r) })
}

// terms adds the terms of one run, as parts of the word before it if part is set.
func (a *asker) terms(run string, stop, part bool) {
	c := cutters.Get().(*cutter)
	c.yield = func(term []byte) { a.add(Term{Text: string(term), Stop: stop, Part: part || c.part}) }
	c.text([]byte(run))
	c.release()
}

// add adds a term and makes it a word, or a part of the last one.
func (a *asker) add(t Term) {
	i, known := a.at[t.Text]
	if a.full = a.full || !known && len(a.q.Terms) == maxTerms; a.full {
		return
	}
	if known {
		old := &a.q.Terms[i]
		old.Stop, old.Part = old.Stop && t.Stop, old.Part && t.Part
	} else {
		a.at[t.Text] = len(a.q.Terms)
		a.q.Terms = append(a.q.Terms, t)
	}
	// A pair of Chinese characters is a part of nothing that is there as a whole.
	if n := len(a.q.Words); t.Part && t.Text[0] < utf8.RuneSelf {
		a.q.Words[n-1].Parts = append(a.q.Words[n-1].Parts, t.Text)
	} else {
		a.q.Words = append(a.q.Words, Word{Text: t.Text, Stop: t.Stop})
	}
}

func (a *asker) name(s string) {
	if len(runs(s)) > 0 && !slices.Contains(a.q.Names, s) {
		a.q.Names = append(a.q.Names, s)
	}
}

func (a *asker) isStop(w string, first bool) bool {
	switch w {
	case "a", "about", "all", "also", "am", "an", "and", "any", "are", "aren", "as", "at", "be", "because", "been", "being",
		"but", "by", "can", "could", "couldn", "did", "didn", "do", "does", "doesn", "doing", "don", "done", "each", "for",
		"from", "had", "has", "hasn", "have", "haven", "having", "he", "her", "here", "his", "how", "i", "if", "in", "into",
		"is", "isn", "it", "its", "just", "me", "might", "must", "my", "not", "of", "on", "onto", "or", "our", "please", "shall",
		"she", "should", "so", "some", "such", "than", "that", "the", "their", "them", "then", "there", "these", "they",
		"thing", "this", "those", "to", "too", "us", "very", "was", "we", "were", "what", "when", "where", "which", "while",
		"who", "whom", "whose", "why", "will", "with", "won", "would", "you", "your":
		return true
	case "called", "class", "classes", "code", "declared", "defined", "definition", "file", "files", "function", "functions", "happen", "happens",
		"helper", "implementation", "implemented", "located", "logic", "method", "methods", "need", "part", "place", "responsible", "struct", "used", "want":
		return a.framed
	case "find", "show", "locate", "explain":
		return first
	case "option", "options", "setting", "settings", "flag", "flags", "parameter", "variable", "default", "controls":
		return a.q.Kind == Config
	case "config", "configuration", "env", "environment":
		return a.q.Kind == Config && a.named
	case "error", "get", "got":
		return a.q.Kind == Failure
	case "actual", "additional", "behavior", "behaviour", "bug", "description", "expected", "feature", "intended", "issue", "latest", "noticed", "possible",
		"problem", "regression", "report", "reproduce", "request", "result", "seem", "seems", "since", "steps", "unexpected", "upgrade", "upgrading", "version", "workaround":
		return a.q.Kind == Report // what every such text has
	}
	return false
}

// isIdentifier says whether a word is written as those of programs are.
func isIdentifier(s string) bool {
	var letters, small, capitals, others bool
	for i := range len(s) {
		switch k := class[s[i]]; {
		case k == lower:
			letters, small = true, true
		case k == upper:
			capitals = capitals || letters
			letters = true
		case k == digit:
			others = others || letters
		case k == under:
			others = others || i > 0 && i < len(s)-1 || s[0] == '_' && len(s) > 1
		case k == high:
			letters = true
		}
	}
	return letters && (others || capitals && small)
}

// isFile says whether s is what a file name often ends with.
func isFile(s string) bool {
	switch s {
	case "go", "rs", "py", "js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "md", "txt", "json", "yaml", "yml", "toml", "html",
		"css", "sh", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb", "php", "cs", "sql", "xml", "mod", "sum", "lock", "canopy":
		return true
	}
	return false
}
