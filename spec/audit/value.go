package audit

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A value is what an expression may be: a few texts, in which hole stands for what is not known. Nil is not known at all.
type value []string

const (
	hole     = 0
	holeText = "\x00"
	maxAlts  = 12       // texts of a value
	maxText  = 32 << 10 // bytes of one text
)

var unknown = value{holeText}

//go:noinline
func (v value) or() value {
	if len(v) == 0 {
		return unknown
	}
	return v
}

// known reports whether no part of any text is missing.
//
//go:noinline
func (v value) known() bool {
	return len(v) > 0 && !slices.ContainsFunc(v, func(s string) bool { return strings.IndexByte(s, hole) >= 0 })
}

// cat is the texts of v followed by those of w.
func cat(v, w value) value {
	v, w = v.or(), w.or()
	if len(v)*len(w) > maxAlts {
		v, w = v[:1], w[:min(len(w), maxAlts-1)]
		w = append(slices.Clone(w), holeText)
	}
	out := make(value, 0, len(v)*len(w))
	for _, a := range v {
		for _, b := range w {
			if len(a)+len(b) > maxText {
				a, b = "", holeText
			}
			if a != "" && a[len(a)-1] == hole && b != "" && b[0] == hole {
				b = b[1:]
			}
			out = append(out, a+b)
		}
	}
	return out
}

// either is the texts of both.
//
//go:noinline
func either(v, w value) value {
	for _, s := range w {
		if len(v) >= maxAlts {
			return append(v[:maxAlts-1:maxAlts-1], holeText)
		}
		if !slices.Contains(v, s) {
			v = append(v, s)
		}
	}
	return v
}

// each applies f to the texts without a hole; the others are unknown.
func (v value) each(f func(string) (string, bool)) value {
	out := make(value, 0, len(v))
	for _, s := range v.or() {
		t, ok := holeText, false
		if strings.IndexByte(s, hole) < 0 {
			if t, ok = f(s); !ok || len(t) > maxText {
				t = holeText
			}
		}
		out = either(out, value{t})
	}
	return out
}

// standard has the letters of base64 for those that URLs use.
var standard = strings.NewReplacer("-", "+", "_", "/")

func decodeBase64(s string) (string, bool) {
	s = strings.TrimRight(strings.Join(strings.Fields(s), ""), "=")
	s = standard.Replace(s)
	b, err := base64.RawStdEncoding.DecodeString(s)
	return string(b), err == nil
}

func decodeHex(s string) (string, bool) {
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	return string(b), err == nil
}

func reverse(s string) (string, bool) {
	b := []rune(s)
	slices.Reverse(b)
	return string(b), true
}

func rot13(s string) (string, bool) {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return 'a' + (r-'a'+13)%26
		case 'A' <= r && r <= 'Z':
			return 'A' + (r-'A'+13)%26
		}
		return r
	}, s), true
}

// unescape resolves the escapes that the languages have in common: \n \t \xHH \uHHHH \u{H…} \UHHHHHHHH \NNN.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		number := func(base, from, n int) {
			end := min(from+n, len(s))
			for end > from {
				if r, err := strconv.ParseUint(s[from:end], base, 32); err == nil {
					if n == 2 || base == 8 {
						b.WriteByte(byte(r))
					} else {
						b.WriteRune(rune(r))
					}
					i = end - 1
					return
				}
				end--
			}
		}
		switch c := s[i]; c {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'x':
			number(16, i+1, 2)
		case 'u':
			if i+1 < len(s) && s[i+1] == '{' {
				end := strings.IndexByte(s[i:], '}')
				if end > 0 {
					to := i + end
					number(16, i+2, end-2)
					i = to
				}
			} else {
				number(16, i+1, 4)
			}
		case 'U':
			number(16, i+1, 8)
		case '0', '1', '2', '3', '4', '5', '6', '7':
			number(8, i, 3)
		case '\n':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hosts are the hosts that a text names as an address: a URL, user@host:path, host:port. Bare also takes host.domain and
// host.domain/path.
func host(s string, bare bool) (name string, ok bool) {
	s = strings.TrimSpace(s)
	scheme, rest, isURL := strings.Cut(s, "://")
	if isURL {
		if scheme = strings.ToLower(scheme[strings.LastIndexAny(scheme, "+=@\"' \t(")+1:]); scheme == "" || strings.ContainsAny(scheme, "/\x00.") && scheme != holeText || scheme == "file" || scheme == "data" {
			return "", false
		}
		s = rest
	} else if !bare {
		return "", false
	}
	after := ""
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s, after = s[:i], s[i:]
	}
	if i := strings.IndexAny(s, "\\ \t\r\n\"'`<>,;|"); i >= 0 { // the address ends in a text, or what fetches it reads on
		if goesOn(s[i], s[i+1:], after) {
			return holeText, isURL
		}
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") {
		inner, port, closed := strings.Cut(s[1:], "]")
		if !closed || port != "" && port[0] != ':' {
			return holeText, isURL
		}
		s = inner
	} else {
		s, _, _ = strings.Cut(s, ":")
	}
	s = strings.ToLower(strings.TrimSuffix(s, "."))
	if strings.IndexByte(s, hole) >= 0 {
		return holeText, isURL
	}
	if s == "" || strings.ContainsAny(s, "{}$()[]*%!&=+~^") {
		return holeText, isURL && s != ""
	}
	if !isURL && s != "localhost" {
		dot := strings.LastIndexByte(s, '.')
		if dot <= 0 || dot == len(s)-1 || len(s)-dot > 8 || strings.Contains(s, "..") {
			return "", false
		}
	}
	return s, true
}

// goesOn reports whether a host may go on behind a byte that is in no name of a host: resolvers take "good.example,x.evil.example", and
// all before "@" is no host. Another address may follow.
func goesOn(end byte, rest, after string) bool {
	if strings.IndexByte(rest, '@') >= 0 {
		return true
	}
	if end == ' ' || end == '\\' || rest == "" || rest[0] != '.' && rest[0] != '-' && (!wordByte(rest[0]) || rest[0] == '$') {
		return false
	}
	scheme, isURL := strings.CutSuffix(rest, ":")
	return !isURL || !strings.HasPrefix(after, "//") || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz") != ""
}

// namespaces are hosts of names that nobody fetches.
var namespaces = []string{"www.w3.org", "schemas.openxmlformats.org", "schemas.microsoft.com", "schemas.android.com", "json-schema.org", "purl.org", "xmlns.com", "ns.adobe.com", "json.schemastore.org", "schemas.xmlsoap.org"}

// net notes the host of an address, and reports whether there is one.
func (a *auditor) net(s string, bare bool, line int) bool {
	h, ok := host(s, bare)
	if !ok || slices.Contains(namespaces, h) {
		return ok
	}
	a.add(Net, h, line)
	return true
}

// env notes the variable of a name.
func (a *auditor) env(name string, line int) {
	upper := strings.ToUpper(name)
	for _, word := range usual() {
		if upper == word || strings.HasSuffix(word, "_") && strings.HasPrefix(upper, word) {
			return
		}
	}
	a.add(Env, name, line)
}

// usual are the variables that every program may read; a name that ends in "_" is a prefix.
var usual = sync.OnceValue(func() []string {
	return strings.Fields(`HOME PATH PWD OLDPWD USER USERNAME LOGNAME SHELL TERM COLORTERM LANG LANGUAGE LC_ TMPDIR TMP TEMP HOSTNAME COLUMNS LINES EDITOR VISUAL PAGER NO_COLOR
	FORCE_COLOR CI DEBUG VERBOSE XDG_ RANDOM SECONDS IFS PS1 PS2 PS4 BASH BASH_ BASHPID UID EUID PPID FUNCNAME LINENO OPTARG OPTIND OPTERR REPLY PIPESTATUS SHLVL OSTYPE MACHTYPE HOSTTYPE
	DISPLAY PYTHONPATH PYTHONUNBUFFERED NODE_ENV VIRTUAL_ENV ARGUMENTS CLAUDE_PLUGIN_ROOT CLAUDE_SKILL_DIR CLAUDE_PROJECT_DIR CLAUDE_SESSION_ID CLAUDE_PLUGIN_DATA SKILL_DIR SKILL_ROOT SKILL_PATH APPDATA LOCALAPPDATA
	USERPROFILE PROGRAMFILES PROGRAMFILES(X86) PROGRAMDATA WINDIR SYSTEMROOT COMSPEC PSSCRIPTROOT PSMODULEPATH GITHUB_OUTPUT GITHUB_ENV GITHUB_STEP_SUMMARY GITHUB_WORKSPACE`)
})
