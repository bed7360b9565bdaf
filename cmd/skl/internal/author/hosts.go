package author

import (
	"bytes"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"

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

	// A name with dots before a port or a path, behind a program that goes there, or behind a word that says so.
	bareHost = sync.OnceValue(func() *regexp.Regexp {
		const name = `((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]{1,24})`
		const before = `(?:^|[^a-z0-9_./@:~+$-])`
		const quote = "[`\"'(<]?"
		return regexp.MustCompile(`(?im)` + before + name + `(?::[0-9]{2,5}\b|/)|` +
			before + `(?:curl|wget|ping|ssh|telnet|nc|dig|nslookup)[ \t]+(?:[^ \t\n|;&]+[ \t]+){0,8}?` + quote + name + `(?:[^a-z0-9_/.-]|\.?$)|` +
			before + `(?:fetch|download|visit|browse)[ \t]+(?:(?:to|from|the|page|site|file|it|at|off)[ \t]+){0,4}` + quote + name + `\b`)
	})
)

// urls are the hosts of the addresses in a skill, those without a scheme as well.
func urls(t trees.Tree) map[string]bool {
	out := map[string]bool{}
	for _, f := range t {
		if f.Kind == bundle.Link {
			continue
		}
		for _, m := range address().FindAllSubmatch(f.Data, -1) {
			host := strings.ToLower(string(m[1]))
			if i := strings.LastIndexByte(host, '@'); i >= 0 {
				host = host[i+1:]
			}
			if host = strings.TrimRight(host, ".,;:!*_"); host != "" {
				out[diag.Clip(diag.Printable(host), 255)] = true
			}
		}
		own := bytes.ReplaceAll(f.Data, []byte(check.CanonicalCompatibility), nil) // who agreed to skl knows where it is from
		for _, m := range bareHost().FindAllSubmatch(own, -1) {
			host, said := strings.ToLower(string(m[1])+string(m[2])), strings.ToLower(string(m[3]))
			if isHost(host) || isHost(said) && !slices.Contains(endsOfFiles, said[strings.LastIndexByte(said, '.')+1:]) {
				out[host+said] = true
			}
		}
	}
	return out
}

// endsOfFiles are top-level domains by which more files are meant than machines.
var endsOfFiles = []string{"md", "py", "rs", "sh", "pl", "cc", "so", "ps", "zip", "app", "st", "in"}

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
