package author

import (
	"bytes"
	"iter"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/publicsuffix"

	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/check"
)

var (
	address = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b[a-z][a-z0-9+.-]{1,15}://([^\s/?#"'<>()\[\]{}|\\^` + "`" + `]+)`)
	})

	hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^` + named + `$`) })

	// A name with dots behind a program that goes there, or behind a word that says so.
	goesTo = sync.OnceValue(func() *regexp.Regexp {
		const before = `(?:^|[^a-z0-9_./@:~+$-])`
		const quote = "[`\"'(<]?"
		return regexp.MustCompile(`(?im)` + before + `(?:curl|wget|ping|ssh|telnet|nc|dig|nslookup)[ \t]+(?:[^ \t\n|;&]+[ \t]+){0,8}?` + quote + `(` + named + `)(?:[^a-z0-9_/.-]|\.?$)|` +
			before + `(?:fetch|download|visit|browse)[ \t]+(?:(?:to|from|the|page|site|file|it|at|off)[ \t]+){0,4}` + quote + `(` + named + `)\b`)
	})
)

// going are the words of goesTo: a line without one need not be looked at.
var going = [...]string{"curl", "wget", "ping", "ssh", "telnet", "nc", "dig", "nslookup", "fetch", "download", "visit", "browse"}

// named is what the name of a machine is, with one dot at least.
const named = `(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]{1,24}`

// urls are the hosts of the addresses in a skill, those without a scheme as well.
func urls(t trees.Tree) map[string]bool {
	out := map[string]bool{}
	for _, f := range t {
		if f.Kind == bundle.Link {
			continue
		}
		own := bytes.ReplaceAll(f.Data, []byte(check.CanonicalCompatibility), nil) // who agreed to skl knows where it is from
		for line := range bytes.Lines(own) {
			addHosts(out, line)
		}
	}
	return out
}

// addHosts adds those that a line names.
func addHosts(out map[string]bool, line []byte) {
	if bytes.Contains(line, []byte("://")) {
		for _, m := range address().FindAllSubmatch(line, -1) {
			host := strings.ToLower(string(m[1]))
			if i := strings.LastIndexByte(host, '@'); i >= 0 {
				host = host[i+1:]
			}
			if host = strings.TrimRight(host, ".,;:!*_"); host != "" {
				out[diag.Clip(diag.Printable(host), 255)] = true
			}
		}
	}
	if bytes.IndexByte(line, '.') < 0 {
		return
	}
	for name := range withPath(line) {
		if host := strings.ToLower(name); hostName().MatchString(host) && isHost(host) {
			out[host] = true
		}
	}
	for _, w := range bytes.FieldsFunc(line, between) {
		if host := bareHost(string(w)); host != "" {
			out[host] = true
		}
	}
	lower := strings.ReplaceAll(strings.ToLower(string(line)), "\t", " ")
	if !slices.ContainsFunc(going[:], func(word string) bool { return strings.Contains(lower, word+" ") }) {
		return
	}
	for _, m := range goesTo().FindAllSubmatch(line, -1) {
		host, said := strings.ToLower(string(m[1])), strings.ToLower(string(m[2]))
		if isHost(host) || isHost(said) && !slices.Contains(endsOfFiles, said[strings.LastIndexByte(said, '.')+1:]) {
			out[host+said] = true
		}
	}
}

// between reports whether a character stands between words that may be names of machines.
func between(r rune) bool {
	return r <= ' ' || strings.ContainsRune("`\"'<>(){}|,;*!?“”‘’…", r)
}

// bareHost is the machine that a word is for, without a path or port of it: an address, where mail or a copy goes, a name of three parts or more,
// and one with letters that look like others; "" if it is for none.
func bareHost(word string) string {
	word = strings.Trim(strings.TrimRight(word, ".:"), "/")
	if a, _, ok := strings.Cut(strings.TrimPrefix(word, "["), "]"); ok && strings.HasPrefix(word, "[") {
		if ip, err := netip.ParseAddr(a); err == nil && ip.Is6() {
			return ip.String()
		}
	}
	if ip, err := netip.ParseAddr(word); err == nil && ip.IsValid() {
		return ip.String()
	}
	who, host, at := strings.Cut(word, "@")
	if !at {
		host = word
	}
	host, _, copied := strings.Cut(strings.ToLower(host), ":")
	if strings.ContainsAny(host, "/\\@#=$%&+~_") || at && (who == "" || strings.ContainsAny(who, "/:")) {
		return ""
	}
	end := host[strings.LastIndexByte(host, '.')+1:]
	foreign := strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf && unicode.IsLetter(r) }) || strings.Contains("."+host, ".xn--")
	switch {
	case len(end) == len(host) || end == "" || !isHost(host) || slices.Contains(endsOfFiles, end) && !at:
		return ""
	case foreign:
		return diag.Clip(diag.Printable(host), 255)
	case !hostName().MatchString(host):
		return ""
	case at, copied, strings.Count(host, ".") > 1 && !slices.Contains(endsOfFields, end):
		return host
	}
	return ""
}

// endsOfFields are top-level domains that names of things in programs end with as well.
var endsOfFields = []string{"name", "id", "is", "it", "to", "me", "my", "do", "at", "am", "be", "no", "us", "info", "call", "select", "open", "run", "now", "date", "link", "host", "email", "events", "new", "plus", "page", "map", "read", "press", "show", "style", "data", "security", "directory", "windows", "best", "camera"}

// withPath are the words with dots in a line that stand before a path or a port, and are no part of a path, address or name themselves.
func withPath(line []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(line); {
			from := i
			for i < len(line) && isNamed(line[i]) {
				i++
			}
			if i == from {
				i++
				continue
			}
			word, rest := line[from:i], line[i:]
			if from > 0 && bytes.IndexByte([]byte("_/@:~+$"), line[from-1]) >= 0 || bytes.IndexByte(word, '.') < 0 {
				continue
			}
			port := rest[:len(rest)-len(bytes.TrimLeft(rest, ":0123456789"))]
			if (bytes.HasPrefix(rest, []byte("/")) || len(port) >= 3 && len(port) <= 6) && !yield(string(word)) {
				return
			}
		}
	}
}

// isNamed reports whether names of machines have a byte.
func isNamed(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '.' || c == '-'
}

// endsOfFiles are top-level domains by which more files are meant than machines.
var endsOfFiles = []string{"md", "py", "rs", "sh", "pl", "cc", "so", "ps", "zip", "app", "st", "in", "tf", "mk", "ml", "la"}

// reserved are ends of names that nobody can register and some network may have.
var reserved = []string{"example", "test", "invalid", "local", "internal", "lan", "corp", "home", "onion"}

// isHost reports whether a name with dots is that of a machine, and not of a file or of a thing in a program.
func isHost(name string) bool {
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	end := name[strings.LastIndexByte(name, '.')+1:]
	if slices.Contains(reserved, end) {
		return true
	}
	_, registered := publicsuffix.PublicSuffix(end)
	return registered
}
