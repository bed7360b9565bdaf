package origin

import (
	"net/url"
	"strings"
)

// netrcFor returns the credential that a netrc file has for u, zero if it has none.
//
// A machine is "host" or "host:port". A bare host stands for https at any port, as a
// certificate proves the host, and for http at its own port only. The first entry that
// fits and has a password decides. "default" is not used: it would show a password to
// everybody. Macros are skipped.
func netrcFor(text []byte, u *url.URL) Credential {
	full, bare := strings.ToLower(u.Host), strings.ToLower(u.Hostname())
	for _, m := range parseNetrc(text) {
		name := strings.ToLower(m.name)
		fits := name == full || name == Host(u) || name == bare && u.Scheme == "https"
		if fits && m.password != "" {
			return Credential{User: m.login, Secret: m.password}
		}
	}
	return Credential{}
}

// A machine is one entry of a netrc file; the name of "default" is empty.
type machine struct{ name, login, password string }

// parseNetrc reads what it understands and passes over the rest, as every reader
// of netrc files does.
func parseNetrc(text []byte) []machine {
	var list []machine
	inMacro := false
	for line := range strings.Lines(string(text)) {
		if inMacro {
			inMacro = strings.TrimSpace(line) != ""
			continue
		}
		tokens := netrcTokens(line)
		for i := 0; i < len(tokens); i++ {
			value := ""
			if i+1 < len(tokens) {
				value = tokens[i+1]
			}
			switch tokens[i] {
			case "default":
				list = append(list, machine{})
				continue
			case "machine":
				list = append(list, machine{name: value})
			case "macdef":
				inMacro = true
			case "login", "password", "account":
				if n := len(list); n > 0 && tokens[i] == "login" {
					list[n-1].login = value
				} else if n > 0 && tokens[i] == "password" {
					list[n-1].password = value
				}
			default:
				continue
			}
			i++
		}
	}
	return list
}

// netrcTokens splits a line at white space. A token may be in double quotes, where a
// backslash keeps the next character; one that starts with "#" ends the line.
func netrcTokens(line string) []string {
	var tokens []string
	for rest := strings.TrimSpace(line); rest != "" && rest[0] != '#'; rest = strings.TrimSpace(rest) {
		if rest[0] != '"' {
			end := strings.IndexAny(rest, " \t\r\n\v\f")
			if end < 0 {
				end = len(rest)
			}
			tokens = append(tokens, rest[:end])
			rest = rest[end:]
			continue
		}
		var b strings.Builder
		i := 1
		for ; i < len(rest) && rest[i] != '"'; i++ {
			if rest[i] == '\\' && i+1 < len(rest) {
				i++
			}
			b.WriteByte(rest[i])
		}
		tokens = append(tokens, b.String())
		rest = rest[min(i+1, len(rest)):]
	}
	return tokens
}
