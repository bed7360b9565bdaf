package audit

import (
	"slices"
	"strings"
	"sync"
)

// Filters of text have languages of their own, in which a text starts programs, reads variables, and uses files and hosts.

// filters notes what the text does that a filter is given: the first operand, or the values of its options for one.
func (a *auditor) filters(program string, args []value, line int, prose bool) {
	read := map[string]func(string, int, bool){"sed": a.sed, "gsed": a.sed, "awk": a.awk, "gawk": a.awk, "mawk": a.awk, "nawk": a.awk, "jq": a.jq, "gojq": a.jq, "yq": a.jq}[program]
	if read == nil {
		return
	}
	texts, _ := operands(program, args)
	for _, v := range texts {
		for _, s := range v.or() {
			read(s, line, prose)
		}
	}
}

// operands are the texts that a filter or grep runs, and what follows them: files.
func operands(program string, args []value) (texts, files []value) {
	for i := 0; i < len(args); i++ {
		word := args[i].or()[0]
		option, val, joined := strings.Cut(word, "=")
		switch {
		case option == "--expression" && joined, option == "--source" && joined, option == "--regexp" && joined:
			texts = append(texts, value{val})
		case has(" -e --expression --source --regexp ", word) && program != "jq" && i+1 < len(args), program == "sed" && has(" -ne -Ee -nEe -ie -re -nre ", word) && i+1 < len(args):
			i++
			texts = append(texts, args[i])
		case has(" -f --file --from-file ", word) && i+1 < len(args):
			i++
			texts = append(texts, value{""})
		case has(" -v -F --assign --arg --argjson --slurpfile --rawfile --indent -l -m -A -B -C ", word) && i+1 < len(args) && (word != "-v" && word != "-F" && word != "-l" || strings.HasSuffix(program, "awk")):
			i++
			if has(" --arg --argjson --slurpfile --rawfile ", word) {
				i++
			}
		case len(word) > 1 && word[0] == '-':
		case texts == nil:
			texts = []value{args[i]}
		default:
			files = append(files, args[i])
		}
	}
	return texts, files
}

// sed notes what the commands e, r and w do, and the flags e and w of s.
func (a *auditor) sed(src string, line int, prose bool) {
	last := strings.LastIndexByte(src, ']')
	toEnd := func(i int) int {
		if n := strings.IndexByte(src[i:], '\n'); n >= 0 {
			return i + n
		}
		return len(src)
	}
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '/' || c == '\\' && i+1 < len(src): // an address
			mark := c
			if c == '\\' {
				i++
				mark = src[i]
			}
			i = behindMark(src, i+1, mark, last)
			for i < len(src) && (src[i] == 'I' || src[i] == 'M') {
				i++
			}
			continue
		case strings.IndexByte(" \t\n;{}!,~+$0123456789\x00", c) >= 0:
			i++
			continue
		}
		if strings.IndexByte("syerRwWaic#", src[i]) < 0 {
			i++
			continue
		}
		end, rest := 0, ""
		if src[i] != 's' && src[i] != 'y' {
			end = toEnd(i)
			rest = strings.TrimSpace(src[i+1 : end])
		}
		switch c := src[i]; c {
		case 's', 'y':
			if i+1 >= len(src) {
				return
			}
			mark := src[i+1]
			from := behindMark(src, i+2, mark, last)
			to := behindMark(src, from, mark, last)
			with := strings.TrimSuffix(src[min(from, to):to], string(mark))
			for i = to; i < len(src) && strings.IndexByte("gpiImMe0123456789w", src[i]) >= 0; i++ {
				if c == 'y' || src[i] != 'e' && src[i] != 'w' {
					continue
				}
				if src[i] == 'w' {
					end := toEnd(i)
					a.use(Writes, src[i+1:end], line)
					i = end
					break
				}
				a.add(Dynamic, "", line) // the whole line is run, with what is around the match
				a.lineOf(strings.ReplaceAll(with, "&", holeText), line, prose)
			}
			continue
		case 'e':
			if rest == "" || rest[0] == ';' || rest[0] == '}' {
				a.add(Dynamic, "", line)
			} else {
				a.lineOf(rest, line, prose)
			}
		case 'r', 'R':
			a.use(Reads, rest, line)
		case 'w', 'W':
			a.use(Writes, rest, line)
		}
		i = end
	}
}

// behindMark is the place behind the next mark from i on that no backslash is before, nor brackets are around. The last
// bracket that closes is at last.
func behindMark(s string, i int, mark byte, last int) int {
	for class := false; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '[' && mark == '/':
			class = true
		case s[i] == ']':
			class = false
		case s[i] == mark && !(class && i < last):
			return i + 1
		}
	}
	return len(s)
}

var (
	awkQuoted = pattern{text: `"(?:[^"\\]|\\.)*"|/(?:[^/\\
]|\\.)*/|\|\|`}
	awkTold   = pattern{text: `\bsystem\s*\(\s*"((?:[^"\\]|\\.)*)"\s*(\)?)|"((?:[^"\\]|\\.)*)"\s*\|&?\s*(getline)|[^|]\|&?\s*"((?:[^"\\]|\\.)*)"(\s*(?:$|[;}\n]))?`}
	awkHosts  = pattern{text: `/inet[46]?/\w+/[^/"]*/([^/"]*)`}
	awkFiles  = pattern{text: `([<>])\s*"([^"\n]+)"`}
	awkNamed  = pattern{text: `\bENVIRON\s*\[\s*"(\w+)"\s*\]`}
	jqNamed   = pattern{text: `(?:\$ENV|(?:^|[^.\w"$-])env)\s*(?:\.\s*"?(\w+)|\[\s*"(\w+)"\s*\]|\((\w+)\))|\bstrenv\((\w+)\)|envsubst`}
	jqAll     = pattern{text: `\$ENV\b|(?:^|[^.\w"$-])env(?:\s*(?:[|,)\]}]|$))`}
	mentioned = pattern{text: `\$\{?([A-Za-z_]\w*)`}
)

// awk notes the programs, variables, files and hosts of a program of awk.
func (a *auditor) awk(src string, line int, prose bool) {
	for _, m := range awkTold.get().FindAllStringSubmatch(src, -1) {
		text := unescape(m[1] + m[3] + m[5])
		if m[2]+m[4]+m[6] == "" && !strings.HasSuffix(m[0], ")") { // more is put behind it
			text += holeText
			a.add(Dynamic, "", line)
		}
		if !strings.HasPrefix(text, "/inet") {
			a.lineOf(text, line, prose)
		}
	}
	rest := awkQuoted.get().ReplaceAllString(awkTold.get().ReplaceAllString(src, ""), "")
	if strings.IndexByte(rest, '|') >= 0 || strings.Contains(rest, "system(") {
		a.add(Dynamic, "", line)
	}
	for _, m := range awkHosts.get().FindAllStringSubmatch(src, -1) {
		a.speaksTo(m[1], line)
		if m[1] == "" {
			a.add(Net, holeText, line)
		}
	}
	for _, m := range awkFiles.get().FindAllStringSubmatch(src, -1) {
		if m[1] == "<" {
			a.use(Reads, m[2], line)
		} else if strings.HasPrefix(m[2], "/") && !strings.HasPrefix(m[2], "/inet") {
			a.use(Writes, m[2], line)
		}
	}
	named := awkNamed.get().FindAllStringSubmatch(src, -1)
	for _, m := range named {
		a.env(m[1], line)
	}
	if strings.Count(src, "ENVIRON") > len(named) {
		a.add(Env, "*", line)
	}
}

// jq notes the variables of a program of jq or yq.
func (a *auditor) jq(src string, line int, _ bool) {
	if !strings.Contains(src, "env") && !strings.Contains(src, "ENV") {
		return
	}
	named := jqNamed.get().FindAllStringSubmatch(src, -1)
	for _, m := range named {
		if name := m[1] + m[2] + m[3] + m[4]; name != "" {
			a.env(name, line)
		} else {
			a.add(Env, "*", line)
		}
	}
	if jqAll.get().MatchString(jqNamed.get().ReplaceAllString(src, "")) {
		a.add(Env, "*", line)
	}
}

// substituted notes the variables that envsubst fills in: those that it is given, or all.
func (a *auditor) substituted(args []value, line int) {
	named := false
	for _, v := range args {
		for _, word := range v.or() {
			for _, m := range mentioned.get().FindAllStringSubmatch(word, -1) {
				a.env(m[1], line)
				named = true
			}
		}
	}
	if !named && !slices.ContainsFunc(args, func(v value) bool { return has(" -h -V --help --version ", v.or()[0]) }) {
		a.add(Env, "*", line)
	}
}

// networked are the words of socat before a host.
var networked = sync.OnceValue(func() []string {
	return strings.Fields("tcp tcp4 tcp6 tcp-connect tcp4-connect tcp6-connect udp udp4 udp6 udp-connect udp4-connect udp-sendto udp4-sendto udp-datagram udp4-datagram openssl openssl-connect ssl ssl-connect sctp sctp-connect dccp socks4 socks4a socks5 socks5-connect proxy proxy-connect websocket")
})

// socat notes what its addresses are: hosts, programs, files.
func (a *auditor) socat(args []value, line int, prose bool) {
	for _, v := range args {
		for _, word := range v.or() {
			for _, one := range strings.Split(word, "!!") {
				one, _, _ = strings.Cut(one, ",")
				kind, rest, ok := strings.Cut(one, ":")
				switch kind = strings.ToLower(kind); {
				case !ok:
				case slices.Contains(networked(), kind):
					for range 1 + strings.Count(kind, "proxy") + strings.Count(kind, "socks") { // of these the proxy comes first
						name, after, _ := strings.Cut(rest, ":")
						if strings.Trim(name, "0123456789") != "" || name == "" {
							a.speaksTo(name, line)
						}
						rest = after
					}
				case kind == "exec" || kind == "system" || kind == "shell":
					a.lineOf(strings.Trim(rest, `"'`), line, prose)
				case kind == "open" || kind == "file" || kind == "gopen" || kind == "create":
					a.use(Writes, rest, line)
				}
			}
		}
	}
}
