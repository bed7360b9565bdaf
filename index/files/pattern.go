package files

import "strings"

// A pattern is one line of a .gitignore file.
type pattern struct {
	negate  bool // what matches is not ignored
	dirOnly bool // only directories match
	base    bool // without a slash: it is compared with the last name of a path, in every directory below
	shape   shape
	text    string // of exact and suffix
	steps   []step // of glob
	line    int    // of its file, from 1
	raw     string // the line as it is written, without spaces at the end
}

type shape uint8

const (
	exact  shape = iota // the whole is text
	suffix              // a star, then text
	glob
)

// A step of a glob takes some of a path.
type step struct {
	kind stepKind
	text string   // of literal
	set  *byteSet // of set
}

type stepKind uint8

const (
	literal stepKind = iota
	one              // any byte but a slash
	set              // a byte of a set, never a slash
	star             // any bytes but slashes
	deep             // any bytes
	skip             // nothing, or any bytes up to and with a slash
)

type byteSet [4]uint64

func (b *byteSet) add(c byte)      { b[c>>6] |= 1 << (c & 63) }
func (b *byteSet) has(c byte) bool { return b[c>>6]&(1<<(c&63)) != 0 }

// parsePattern compiles a line, without its end. ok is false for a line that can match nothing: it is empty, a comment or broken.
// With fold it matches lower-cased paths, whatever the case of its own letters.
func parsePattern(line string, fold bool) (p pattern, ok bool) {
	line, _, _ = strings.Cut(line, "\x00")
	if strings.HasPrefix(line, "#") {
		return pattern{}, false
	}
	line = trimSpaces(line)
	p.raw = line
	line, p.negate = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.base = !strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/") // which has anchored it
	if line == "" {
		return pattern{}, false
	}
	if p.steps, ok = parseGlob(line, p.base, fold); !ok {
		return pattern{}, false
	}
	switch s := p.steps; {
	case len(s) == 1 && s[0].kind == literal:
		p.shape, p.text, p.steps = exact, s[0].text, nil
	case p.base && len(s) == 2 && s[0].kind == star && s[1].kind == literal:
		p.shape, p.text, p.steps = suffix, s[1].text, nil
	default:
		p.shape = glob
	}
	return p, true
}

// trimSpaces removes the spaces at the end that no backslash protects.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}

// parseGlob compiles s. base says that it will be compared with single names.
func parseGlob(s string, base, fold bool) (steps []step, ok bool) {
	// Where the first wildcard is two stars in the middle of a name, git lets them cross directories
	// all the same: it has cut off what is before them by then.
	first := strings.IndexAny(s, `*?[\`)
	var text []byte
	flush := func() {
		if len(text) > 0 {
			steps = append(steps, step{kind: literal, text: string(text)})
			text = nil
		}
	}
	for i := 0; i < len(s); {
		c := s[i]
		switch c {
		case '?':
			flush()
			steps = append(steps, step{kind: one})
			i++
		case '*':
			flush()
			begin := i
			for i < len(s) && s[i] == '*' {
				i++
			}
			kind, rest := star, s[i:]
			if !base && i-begin > 1 && (begin == 0 || s[begin-1] == '/' || begin == first) {
				switch {
				case rest == "" || strings.HasPrefix(rest, `\/`):
					kind = deep
				case rest[0] == '/':
					kind = skip
					i++
				}
			}
			steps = append(steps, step{kind: kind})
		case '[':
			flush()
			in, n := parseSet(s[i:], fold)
			if n == 0 {
				return nil, false
			}
			steps = append(steps, step{kind: set, set: in})
			i += n
		case '\\':
			if i++; i == len(s) {
				return nil, false
			}
			c = s[i]
			fallthrough
		default:
			if fold {
				c = lower(c)
			}
			text = append(text, c)
			i++
		}
	}
	flush()
	return steps, true
}

// parseSet reads the set in brackets that s begins with, and returns its length, 0 if it is broken.
func parseSet(s string, fold bool) (*byteSet, int) {
	in := new(byteSet)
	i := 1
	not := i < len(s) && (s[i] == '!' || s[i] == '^')
	if not {
		i++
	}
	last := -1 // the byte that a range may begin with
	for begin := i; ; i++ {
		if i >= len(s) {
			return nil, 0
		}
		c := s[i]
		switch {
		case c == ']' && i > begin:
			if fold {
				foldSet(in)
			}
			if not {
				for k := range in {
					in[k] = ^in[k]
				}
			}
			// A slash is never in a set: it separates names.
			in['/'>>6] &^= 1 << ('/' & 63)
			return in, i + 1
		case c == '-' && last >= 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i == len(s) {
					return nil, 0
				}
			}
			for b := last; b <= int(s[i]); b++ {
				in.add(byte(b))
			}
			last = -1
			continue
		case c == '[' && i+1 < len(s) && s[i+1] == ':':
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return nil, 0
			}
			if name, class := strings.CutSuffix(s[i+2:i+2+end], ":"); class {
				if !addClass(in, name) {
					return nil, 0
				}
				i += 2 + end
				last = -1
				continue
			}
		case c == '\\':
			if i++; i == len(s) {
				return nil, 0
			}
			c = s[i]
		}
		in.add(c)
		last = int(c)
	}
}

// addClass adds the ASCII bytes of a class such as alpha. White space is what git takes for it, without \v and \f.
func addClass(in *byteSet, name string) bool {
	var is func(c byte) bool
	letter := func(c byte) bool { return lower(c) >= 'a' && lower(c) <= 'z' }
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	switch name {
	case "alpha":
		is = letter
	case "digit":
		is = digit
	case "alnum":
		is = func(c byte) bool { return letter(c) || digit(c) }
	case "upper":
		is = func(c byte) bool { return c >= 'A' && c <= 'Z' }
	case "lower":
		is = func(c byte) bool { return c >= 'a' && c <= 'z' }
	case "xdigit":
		is = func(c byte) bool { return digit(c) || lower(c) >= 'a' && lower(c) <= 'f' }
	case "space":
		is = func(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }
	case "blank":
		is = func(c byte) bool { return c == ' ' || c == '\t' }
	case "cntrl":
		is = func(c byte) bool { return c < ' ' || c == 0x7f }
	case "print":
		is = func(c byte) bool { return c >= ' ' && c < 0x7f }
	case "graph":
		is = func(c byte) bool { return c > ' ' && c < 0x7f }
	case "punct":
		is = func(c byte) bool { return c > ' ' && c < 0x7f && !letter(c) && !digit(c) }
	default:
		return false
	}
	for c := range byte(0x80) {
		if is(c) {
			in.add(c)
		}
	}
	return true
}

func foldSet(in *byteSet) {
	for c := byte('A'); c <= 'Z'; c++ {
		if in.has(c) {
			in.add(lower(c))
		}
	}
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// matches compares a pattern with a path relative to its directory, or with the name alone if p.base.
func (p *pattern) matches(s string) bool {
	switch p.shape {
	case exact:
		return s == p.text
	case suffix:
		return strings.HasSuffix(s, p.text)
	}
	return matchSteps(p.steps, s)
}

// matchSteps compares all of s. Where a step fails, the last star takes one byte more; where it cannot, the last step that may cross
// directories does. Earlier ones need not be tried again, since the later took over at the first place that was possible.
func matchSteps(steps []step, s string) bool {
	starStep, starAt := -1, 0
	deepStep, deepAt := -1, 0
	for i, at := 0, 0; ; {
		if i == len(steps) && at == len(s) {
			return true
		}
		if i < len(steps) {
			ok := false
			switch st := &steps[i]; st.kind {
			case literal:
				if ok = strings.HasPrefix(s[at:], st.text); ok {
					at += len(st.text)
				}
			case one:
				if ok = at < len(s) && s[at] != '/'; ok {
					at++
				}
			case set:
				if ok = at < len(s) && st.set.has(s[at]); ok {
					at++
				}
			case star:
				starStep, starAt, ok = i, at, true
			case deep, skip:
				deepStep, deepAt, starStep, ok = i, at, -1, true
			}
			if ok {
				i++
				continue
			}
		}
		switch {
		case starStep >= 0 && starAt < len(s) && s[starAt] != '/':
			starAt++
			i, at = starStep+1, starAt
		case deepStep < 0 || deepAt >= len(s):
			return false
		case steps[deepStep].kind == skip:
			slash := strings.IndexByte(s[deepAt:], '/')
			if slash < 0 {
				return false
			}
			deepAt += slash + 1
			i, at, starStep = deepStep+1, deepAt, -1
		default:
			deepAt++
			i, at, starStep = deepStep+1, deepAt, -1
		}
	}
}
