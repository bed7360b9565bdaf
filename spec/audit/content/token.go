package content

import (
	"bytes"
	"html"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// classes are the classes of a token, as bits.
type classes [6]uint64

//go:noinline
func (c *classes) put(n int) { c[n>>6] |= 1 << (n & 63) }

//go:noinline
func (c classes) has(n int) bool { return c[n>>6]&(1<<(n&63)) != 0 }

//go:noinline
func (c *classes) or(d classes) {
	for i := range d {
		c[i] |= d[i]
	}
}

func (c classes) any(d classes) bool {
	return c[0]&d[0]|c[1]&d[1]|c[2]&d[2]|c[3]&d[3]|c[4]&d[4]|c[5]&d[5] != 0
}

//go:noinline
func (c classes) none() bool { return c == classes{} }

// noClasses are those of a word that the rules do not know.
var noClasses classes

// A token is a word, a path, an address or an option in prose.
type token struct {
	classes
	from, to int32 // bytes of the text
	flags    flags
}

type flags uint8

const (
	quoted flags = 1 << iota // between quotes, or in code
	comma                    // a comma stands before it
	clause                   // a bracket stands before it
	stop                     // a colon, a semicolon, a dash or the line of a table stands before it
	aside                    // in a comment of HTML
)

const (
	maxSentence = 400 // tokens that are judged together
	keepTokens  = 80  // of these that are judged with the next
)

// A reader cuts prose into sentences of tokens.
type reader struct {
	set   *ruleSet
	src   []byte
	toks  []token
	flags flags // of the next token
	quote byte  // that is open
	code  bool  // in inline code
	aside bool  // in a comment
	base  flags
	end   func([]token) // is told each sentence
	buf   []byte
}

// wordChar tells the bytes that words are made of: 1 letters, 2 other parts of words, 4 bytes that need a closer look.
var wordChar = func() (t [256]byte) {
	for c := range 256 {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '\'':
			t[c] = 1
		case '0' <= c && c <= '9':
			t[c] = 2
		case c >= utf8.RuneSelf, strings.IndexByte("~$/._-@&\\%", byte(c)) >= 0:
			t[c] = 4
		}
	}
	return t
}()

// row reads src[from:to], which has no line break.
func (r *reader) row(from, to int) {
	src := r.src
	for i := from; i < to; {
		c := src[i]
		kind := wordChar[c]
		if kind == 0 || c == '\'' {
			if n := r.punctuation(i, to); n > 0 {
				i += n
				continue
			}
			i++
			continue
		}
		start := i
		if kind == 1 {
			for i++; i < to && wordChar[src[i]] == 1; i++ {
			}
			if i == to || wordChar[src[i]] == 0 && src[i] != '*' && src[i] != '<' && src[i] != ':' && !(src[i] == '+' || src[i] == '#') || src[i] == '.' && (i+1 == to || src[i+1] == ' ') {
				r.word(src[start:i], start, i)
				continue
			}
			if src[i] == ':' && (i+2 >= to || src[i+1] != '/') {
				r.word(src[start:i], start, i)
				continue
			}
		}
		i = r.chunk(start, to)
	}
}

// punctuation reads a byte that starts no word, and returns how many bytes it takes, 0 for one.
func (r *reader) punctuation(i, to int) int {
	rest := r.src[i:to]
	switch rest[0] {
	case ',':
		r.flags |= comma
	case ':':
		if !r.code { // in code it stands between a key and its value
			r.flags |= stop
		}
	case ';', '|':
		r.flags |= stop
	case '(', ')', '{', '}', '[', ']':
		r.flags |= clause
	case '!', '?':
		if len(rest) == 1 || rest[1] == ' ' || rest[1] == '\t' {
			r.flush()
		}
	case '"':
		if r.quote == '"' {
			r.quote = 0
		} else if r.quote == 0 {
			r.quote = '"'
		}
	case '\'':
		if before := i == 0 || r.src[i-1] == ' ' || r.src[i-1] == '(' || r.src[i-1] == '\t' || r.src[i-1] == ':'; before && r.quote == 0 && bytes.IndexByte(rest[1:], '\'') > 0 {
			r.quote = '\''
		} else if r.quote == '\'' {
			r.quote = 0
		}
	case '`':
		r.code = !r.code
	case '<':
		if bytes.HasPrefix(rest, []byte("<!--")) {
			r.flush()
			r.aside = true
			return 4
		}
		if n := tag(rest); n > 0 {
			return n
		}
	case '>':
		if i >= 2 && r.src[i-1] == '-' && r.src[i-2] == '-' && r.aside {
			r.flush()
			r.aside = false
		}
	}
	return 0
}

// tag is the length of the name of a tag of HTML, which is no word; its attributes are read.
func tag(s []byte) int {
	i := 1
	if i < len(s) && s[i] == '/' {
		i++
	}
	from := i
	for i < len(s) && i < 20 && (wordChar[s[i]] == 1 || wordChar[s[i]] == 2) {
		i++
	}
	if i == from || i == len(s) || s[i] != '>' && s[i] != ' ' && s[i] != '/' {
		return 0
	}
	if s[i] == '>' {
		i++
	}
	return i
}

// add notes a token.
func (r *reader) add(c *classes, from, to int) {
	f := r.flags | r.base
	if r.quote != 0 || r.code {
		f |= quoted
	}
	if r.aside {
		f |= aside
	}
	r.toks = append(r.toks, token{*c, int32(from), int32(to), f})
	r.flags = 0
	if len(r.toks) >= maxSentence {
		r.end(r.toks)
		r.toks = append(r.toks[:0], r.toks[len(r.toks)-keepTokens:]...)
	}
}

// flush ends a sentence.
func (r *reader) flush() {
	if len(r.toks) > 0 {
		r.end(r.toks)
		r.toks = r.toks[:0]
	}
	r.flags = 0
}

// word looks a word of letters up.
func (r *reader) word(w []byte, from, to int) {
	for len(w) > 0 && w[len(w)-1] == '\'' {
		if r.quote == '\'' {
			defer func() { r.quote = 0 }()
		}
		w = w[:len(w)-1]
	}
	if len(w) > 24 || len(w) == 0 {
		r.add(&noClasses, from, to)
		return
	}
	r.buf = r.buf[:0]
	for _, c := range w {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		r.buf = append(r.buf, c)
	}
	r.add(r.look(r.buf), from, to)
	if n := len(r.src); to < n && r.src[to] == '.' && (to+1 == n || r.src[to+1] == ' ' || r.src[to+1] == '\n' || r.src[to+1] == '\r') {
		r.flush()
	}
}

func (r *reader) look(w []byte) *classes {
	if i, ok := r.set.words[string(w)]; ok {
		return &r.set.sets[i]
	}
	if i := bytes.IndexByte(w, '\''); i > 0 { // user's, you're
		if bytes.HasSuffix(w, []byte("n't")) {
			var c classes
			c.put(r.set.class.not)
			return &c
		}
		if i, ok := r.set.words[string(w[:i])]; ok {
			return &r.set.sets[i]
		}
	}
	return &noClasses
}

// chunk reads what is more than letters, up to a blank or a bracket, and returns where it ends.
func (r *reader) chunk(from, to int) int {
	i, slow := from, false
	for i < to {
		c := r.src[i]
		if c <= ' ' || c == '"' || c == '`' || c == '|' || c == ')' || c == '(' || c == ']' || c == '[' || c == '{' || c == '}' || c == ',' || c == ';' && !slow || c == '>' || c == '=' {
			break
		}
		if c == '<' {
			n := 0
			if bytes.HasPrefix(r.src[i:to], []byte("<!--")) {
				if end := bytes.Index(r.src[i:to], []byte("-->")); end > 0 && end < 200 {
					n = end + 3
				}
			} else if n = tag(r.src[i:to]); n > 0 && r.src[i+n-1] != '>' {
				n = 0
			}
			if n == 0 {
				break
			}
			slow = true
			i += n
			continue
		}
		if c == '&' || c == '\\' || c == '*' || c >= utf8.RuneSelf {
			slow = true
			if c >= utf8.RuneSelf {
				if q, _ := utf8.DecodeRune(r.src[i:to]); q == '“' || q == '”' || q == '‘' || q == '…' || q == '—' || q == '–' || q == '　' || unicode.Is(unicode.Zs, q) {
					break
				}
			}
		}
		i++
	}
	if i == from { // a quote or a dash
		q, w := utf8.DecodeRune(r.src[i:to])
		switch q {
		case '“':
			r.quote = 1
		case '”':
			r.quote = 0
		case '—', '–':
			r.flags |= stop
		}
		if w == 0 {
			w = 1
		}
		return i + w
	}
	text := r.src[from:i]
	if r.code && bytes.IndexByte(text, '`') > 0 {
		r.code = false
	}
	if slow {
		text = normal(text)
	}
	ends := len(text) > 0 && text[len(text)-1] == '.'
	if len(bytes.Trim(text, "-")) == 0 {
		r.flags |= stop
		return i
	}
	text = bytes.Trim(text, "*_.:!?'&~#+\\")
	if r.src[from] == '.' || r.src[from] == '~' || r.src[from] == '_' {
		text = append([]byte{r.src[from]}, text...)
	}
	r.thing(text, from, i)
	if ends && (i == to || r.src[i] == ' ') {
		r.flush()
	}
	return i
}

// normal undoes what makes a word look different from itself, or another like it: emphasis, tags and comments within it, entities,
// compatibility forms, letters of other scripts, and characters without width.
func normal(s []byte) []byte {
	if bytes.IndexByte(s, '&') >= 0 {
		s = []byte(html.UnescapeString(string(s)))
	}
	out := make([]byte, 0, len(s))
	foreign := false
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '<':
			if end := bytes.IndexByte(s[i:], '>'); end > 0 {
				i += end + 1
				continue
			}
		case c == '*', c == '\\' && i+1 < len(s) && strings.IndexByte("_*~`&<>#-.", s[i+1]) >= 0:
			i++
			continue
		case c >= utf8.RuneSelf:
			foreign = true
		}
		out = append(out, c)
		i++
	}
	if !foreign {
		return out
	}
	folded := norm.NFKC.Bytes(out)
	out = folded[:0:0]
	for len(folded) > 0 {
		q, w := utf8.DecodeRune(folded)
		folded = folded[w:]
		switch {
		case q == 0x2019 || q == 0x2018:
			q = '\''
		case q == 0x2010 || q == 0x2011:
			q = '-'
		case unicode.Is(unicode.Cf, q) || unicode.Is(unicode.Mn, q) && q < 0x0400 || q >= 0xfe00 && q <= 0xfe0f:
			continue
		default:
			q = latin(q)
		}
		out = utf8.AppendRune(out, q)
	}
	return out
}

// lookalikes are letters of Cyrillic, Greek and others, each before the Latin one that it looks like.
const lookalikes = "аaвbсcԁdеeһhіiјjкkӏlмmнhоoрpԛqгrѕsтtυuνvԝwхxуyАaВbСcЕeНhІiЈjКkМmОoРpЅsТtХxУyαaβbεeηnιiκkνvοoρpτtυuχxγyωwΑaΒbΕeΖzΗhΙiΚkΜmΝnΟoΡpΤtΥyΧxɑaɡgıiłløoſsԍgꞓcƅbԝwոnսuօoհh"

var latins = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	list := []rune(lookalikes)
	for i := 0; i+1 < len(list); i += 2 {
		m[list[i]] = list[i+1]
	}
	return m
})

func latin(q rune) rune {
	if l, ok := latins()[q]; ok {
		return l
	}
	return q
}

// thing reads an address, a path, a name or an option; what is only words with something between them is words.
func (r *reader) thing(s []byte, from, to int) {
	if len(s) == 0 {
		return
	}
	lower := bytes.ToLower(s[:min(len(s), 2048)])
	if i := bytes.Index(lower, []byte("://")); i >= 0 && i < 12 {
		c := r.set.address(string(lower[i+3:]))
		c.put(r.set.class.url)
		r.add(&c, from, to)
		return
	}
	if c := r.set.thing(string(lower)); !c.none() {
		r.add(&c, from, to)
		return
	}
	if c := r.look(lower); !c.none() {
		r.add(c, from, to)
		return
	}
	if bytes.HasPrefix(lower, []byte("--")) && bytes.IndexByte(lower[2:], '-') > 0 { // an option is no order
		var c classes
		c.put(r.set.class.option)
		r.add(&c, from, to)
		return
	}
	words := false
	for start := 0; start <= len(lower); {
		end := start
		for end < len(lower) && wordChar[lower[end]] == 1 {
			end++
		}
		if end > start {
			words = true
			r.word(lower[start:end], from, min(from+end, to))
		}
		start = end + 1
	}
	if !words {
		r.add(&noClasses, from, to)
	}
}

// address is the classes of an address without its scheme: of its host, and of the file that it names.
func (s *ruleSet) address(rest string) (c classes) {
	host, path, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, "?")
	if i := strings.LastIndexByte(host, '@'); i >= 0 {
		host = host[i+1:]
	}
	name, port, _ := strings.Cut(host, ":")
	c = s.hostOf(name, path)
	if c.none() && numeric(name) {
		c.put(s.class.ip)
	} else if port != "" && port != "443" && port != "80" && port != "8080" && c.none() && strings.Trim(port, "0123456789") == "" && len(port) == 4 && port[0] == '4' {
		c.put(s.class.ip) // 4444 and its like
	}
	if strings.IndexByte(name, '.') < 0 && len(name) > 1 && c.none() && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" {
		c.put(s.class.place) // it is in no public network
	}
	if host == "" || strings.ContainsAny(host, "<>{}$[]") || strings.Contains(host, "your") || strings.Contains(host, "example") {
		c.put(s.class.place)
	}
	path, _, _ = strings.Cut(path, "?")
	path, _, _ = strings.Cut(path, "#")
	c.or(s.ending(path))
	return c
}

// hostOf looks a host and its parents up, with the first element of the path too.
func (s *ruleSet) hostOf(host, path string) (c classes) {
	first, _, _ := strings.Cut(path, "/")
	second, _, _ := strings.Cut(strings.TrimPrefix(path[len(first):], "/"), "/")
	var room [256]byte
	for {
		key := append(append(room[:0], '@'), host...)
		s.named(key, &c)
		if path != "" {
			s.named(append(append(key, '/'), first...), &c)
			s.named(append(append(key, '/'), second...), &c)
		}
		_, parent, ok := strings.Cut(host, ".")
		if !ok || !c.none() {
			return c
		}
		host = parent
	}
}

// numeric reports whether a host is an address of a network that is not a private one.
func numeric(host string) bool {
	if host == "" || strings.Trim(host, "0123456789.") != "" || strings.Count(host, ".") != 3 {
		return len(host) > 8 && strings.Trim(host, "0123456789") == "" || strings.HasPrefix(host, "0x")
	}
	for _, private := range []string{"10.", "127.", "192.168.", "169.254.", "0.0.0.0", "172.16.", "172.17.", "172.18.", "172.19.", "172.2", "172.30.", "172.31.", "100.64.", "192.0.2.", "198.51.100.", "203.0.113.", "1.1.1.1", "8.8.8.8", "8.8.4.4", "1.2.3.4"} {
		if strings.HasPrefix(host, private) {
			return false
		}
	}
	return true
}

// ending is the classes of the extension of a name.
func (s *ruleSet) ending(name string) (c classes) {
	if i := strings.LastIndexByte(name, '.'); i > 0 && len(name)-i < 11 {
		var room [16]byte
		s.named(append(append(room[:0], '@'), name[i:]...), &c)
	}
	return c
}

// named adds the classes of a key to c.
func (s *ruleSet) named(key []byte, c *classes) {
	if i, ok := s.words[string(key)]; ok {
		c.or(s.sets[i])
	}
}

// thing is the classes of a path, a name or an option.
func (s *ruleSet) thing(name string) (c classes) {
	name = strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(name, "-") {
		if i, ok := s.words["@"+name]; ok {
			c.or(s.sets[i])
		}
		return c
	}
	if strings.HasPrefix(name, "~") || strings.HasPrefix(name, "$home") {
		c.put(s.class.homepath)
	}
	var room [256]byte
	before := ""
	for rest := name; ; {
		var one string
		one, rest, _ = strings.Cut(rest, "/")
		if one != "" {
			s.named(append(append(room[:0], '@'), one...), &c)
			if before != "" {
				s.named(append(append(append(append(room[:0], '@'), before...), '/'), one...), &c)
			}
		}
		before = one
		if rest == "" {
			break
		}
	}
	if c.has(s.class.homepath) && c.has(s.class.memfile) && c.has(s.class.myfile) {
		c.put(s.class.owned)
	}
	if !strings.Contains(name, "/") && strings.Contains(name, ".") {
		if d := s.hostOf(name, ""); !d.none() {
			c.or(d)
			c.put(s.class.url)
		}
	}
	c.or(s.ending(name))
	return c
}
