package content

import (
	"bytes"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/audit"
)

const (
	fetchers  list = " curl wget iwr irm invoke-webrequest invoke-restmethod fetch aria2c http https xh lynx nc ncat start-bitstransfer "
	runners   list = " sh bash zsh dash ksh ash fish python3 node deno bun perl ruby php pwsh osascript eval source . iex invoke-expression lua tclsh start-process saps "
	senders   list = " curl wget nc ncat netcat socat scp sftp ftp rsync iwr irm invoke-webrequest invoke-restmethod http https xh mail sendmail telnet websocat "
	dumps     list = " env printenv set export declare history fc "
	codeFlags list = " -c -e -lc -ec -r -m --eval -command --version -ne -pe -n -p -V --help -h "
)

// trace judges the commands that audit has read.
func (s *scan) trace(commands []audit.Command) {
	got := map[[2]string]download{} // what was downloaded, by file and name
	bad := map[string]download{}    // by name, from a host that nobody answers for
	gives, takes := s.pipes(commands)
	var last audit.Command // that fetched something
	for _, c := range commands {
		s.path = c.File
		switch strings.ToLower(path.Ext(c.File)) {
		case ".md", ".mdx", ".markdown":
			c.Prose = true
		}
		name := strings.ToLower(c.Words[0])
		line := strings.Join(c.Words, " ")
		args := c.Words[1:]
		if len(c.Input) > 0 {
			if slices.ContainsFunc(c.Words, takes.names) && slices.ContainsFunc(slices.Concat(c.Input...), gives.names) {
				s.add("AUD-EXFILTRATE", High, c.Line, 0, "hands what one script reads from a file of credentials to one that sends it", line)
			}
			s.fed(c, name, args)
			continue
		}
		s.registry(c, name, args, line)
		s.publishes(c, name, args)
		if senders.has(name) && !c.Prose && s.hooks[c.File] {
			for _, h := range s.hostsIn(args) {
				if !h.class.has(s.rules.class.place) && !h.class.has(s.rules.class.known) {
					s.add("AUD-PERSIST", High, c.Line, 0, "speaks to "+h.name+" at each event of a hook", line)
				}
			}
		}
		if fetchers.has(name) {
			for _, out := range outputs(name, args) {
				d := download{c.Line, line, s.hostsIn(args)}
				got[[2]string{c.File, out}] = d
				for _, h := range d.hosts {
					if h.class.has(s.rules.class.ip) || h.class.has(s.rules.class.drop) {
						bad[out] = d
					}
				}
			}
			s.sends(c, name, args, nil)
			last = c
		}
		if name == "invoke-expression" && last.File == c.File && last.Line <= c.Line && c.Line-last.Line < 4 {
			s.fetchRun(s.hostsIn(last.Words[1:]), c.Line, c.Prose, strings.Join(last.Words, " ")+" | "+line)
		}
		run := path.Base(name)
		if runners.has(name) && len(args) > 0 {
			for _, a := range args {
				if !strings.HasPrefix(a, "-") {
					run = fileBase(a)
					break
				}
			}
		}
		if d, ok := got[[2]string{c.File, run}]; ok && c.Line >= d.line && c.Line-d.line < 40 && (run != "" && !fetchers.has(name)) && name != "tar" && name != "unzip" && (runners.has(name) || name == run) {
			s.fetchRun(d.hosts, c.Line, c.Prose, d.text+"; "+line)
		}
		if d, ok := bad[run]; ok && run != "" && !fetchers.has(name) && (runners.has(name) || name == run) && !c.Prose {
			s.fetchRun(d.hosts, c.Line, c.Prose, d.text+"; "+line)
		}
		s.command(c, name, args, line)
	}
}

// scriptNames are the names of scripts of a skill.
type scriptNames map[string]bool

// names reports whether a word is the path of one of them.
func (s scriptNames) names(word string) bool { return s[fileBase(word)] }

// pipes are the scripts that print a file of credentials, and those that send what they are given.
func (s *scan) pipes(commands []audit.Command) (gives, takes scriptNames) {
	gives, takes = scriptNames{}, scriptNames{}
	for _, c := range commands {
		name, args := strings.ToLower(c.Words[0]), c.Words[1:]
		switch {
		case len(c.Input) > 0 || strings.HasSuffix(strings.ToLower(c.File), ".md"):
		case senders.has(name) && slices.ContainsFunc(args, func(a string) bool { return strings.HasSuffix(a, "@-") }):
			takes[fileBase(c.File)] = true
		case (name == "cat" || name == "base64" || name == "tar" || name == "gzip" || name == "xxd") && slices.ContainsFunc(args, s.isSecret):
			gives[fileBase(c.File)] = true
		}
	}
	return gives, takes
}

type download struct {
	line  int
	text  string
	hosts []hostClass
}

// outputs are the names that a fetcher writes, in lower case.
func outputs(name string, args []string) (out []string) {
	remote := name == "wget"
	for i, a := range args {
		switch {
		case (a == "-o" || a == "--output" || a == "-O" && name == "wget" || a == "-OutFile" || a == "-outfile") && i+1 < len(args):
			return []string{fileBase(args[i+1])}
		case strings.HasPrefix(a, "-") && strings.Contains(a, "O"):
			remote = true
		}
	}
	if remote {
		for _, a := range args {
			if strings.Contains(a, "/") && !strings.HasPrefix(a, "-") {
				out = append(out, fileBase(a))
			}
		}
	}
	return out
}

// fileBase is the name of a file at the end of a path of any system, in lower case.
func fileBase(p string) string { return path.Base(strings.ToLower(strings.ReplaceAll(p, `\`, "/"))) }

// A hostClass is what is known of a host that is spoken to.
type hostClass struct {
	name  string
	class classes
	plain bool // http
}

// hostsIn are the hosts that words name.
func (s *scan) hostsIn(list []string) (out []hostClass) {
	for _, w := range list {
		lower := strings.ToLower(strings.Trim(w, "\"'`<>()"))
		scheme, rest, ok := strings.Cut(lower, "://")
		if !ok {
			if rest = lower; strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, ".") || strings.HasPrefix(rest, "/") || strings.HasPrefix(rest, "~") || !strings.Contains(rest, ".") || strings.ContainsAny(rest, " =@\x00") {
				continue
			}
			if first, _, _ := strings.Cut(rest, "/"); strings.LastIndexByte(first, '.') <= 0 || len(path.Ext(first)) < 3 && !numeric(first) || first == rest && !numeric(first) && s.rules.thing(rest).none() {
				continue
			}
			scheme = "https"
		}
		host, _, _ := strings.Cut(rest, "/")
		out = append(out, hostClass{host, s.rules.address(rest), scheme == "http"})
	}
	return out
}

// fetchRun is code from hosts that is run.
func (s *scan) fetchRun(hosts []hostClass, line int, prose bool, text string) {
	severity, what := High, "runs what it fetches from a host that the text does not name"
	if len(hosts) == 0 && prose {
		severity = Low
	}
	k := s.rules.class
	for _, h := range hosts {
		severity, what = High, "runs what it fetches from "+h.name
		switch {
		case h.class.has(k.drop):
			severity, what = High, "runs what it fetches from "+h.name+", where anybody can put something"
		case h.class.has(k.ip):
			severity, what = High, "runs what it fetches from a host without a name, "+h.name
		case h.class.has(k.known), h.class.has(k.place):
			severity = Low
		case h.plain:
			severity, what = High, "runs what it fetches from "+h.name+" without encryption"
		case prose, h.class.has(s.rules.names["FORGE"]), s.isAbout(h.name):
			severity = Medium
		}
	}
	if slices.ContainsFunc(s.decoded, func(how string) bool { return how != "archive" }) {
		severity = High
	}
	s.add("AUD-FETCH-RUN", severity, line, 0, what, text)
}

// isAbout reports whether a skill says that it is about whose host that is: it names the domain in its first lines.
func (s *scan) isAbout(host string) bool {
	parts := strings.Split(host, ".")
	if len(parts) < 2 {
		return false
	}
	label := parts[len(parts)-2]
	return len(label) > 3 && strings.Contains(s.about, label)
}

// fed judges a command that takes the output of others.
func (s *scan) fed(c audit.Command, name string, args []string) {
	text := ""
	var from []string
	fetch, decode := false, false
	for _, in := range c.Input {
		n := strings.ToLower(in[0])
		text += strings.Join(in, " ") + " | "
		from = append(from, in[1:]...)
		fetch = fetch || fetchers.has(n)
		decode = decode || n == "base64" && slices.ContainsFunc(in[1:], func(a string) bool { return strings.HasPrefix(a, "-") && strings.ContainsAny(a, "dD") }) ||
			n == "openssl" && slices.Contains(in, "-d") || n == "xxd" && slices.ContainsFunc(in[1:], func(a string) bool { return strings.HasPrefix(a, "-") && strings.Contains(a, "r") }) || n == "uudecode" || n == "certutil" && slices.Contains(in, "-decode")
	}
	text += strings.Join(c.Words, " ")
	if runners.has(name) && !reads(args) {
		switch {
		case decode:
			s.add("AUD-DECODE-RUN", High, c.Line, 0, "runs what it decodes", text)
		case fetch:
			s.fetchRun(s.hostsIn(from), c.Line, c.Prose, text)
		}
	}
	if senders.has(name) {
		s.sends(c, name, args, c.Input)
	}
	if name == "crontab" {
		for _, in := range c.Input {
			for _, word := range strings.Fields(strings.Join(in, " ")) {
				if fetchers.has(strings.ToLower(word)) {
					s.add("AUD-PERSIST", High, c.Line, 0, "fetches something at set times from now on", text)
				}
			}
		}
	}
	s.publishes(c, name, args)
}

// publishes judges a command that shows everybody what it is given: a gist, a commit.
func (s *scan) publishes(c audit.Command, name string, args []string) {
	if !(name == "gh" || name == "glab") || !slices.ContainsFunc(args, func(a string) bool { return a == "gist" || a == "snippet" }) {
		if name != "git" || len(args) == 0 || args[0] != "commit" && args[0] != "tag" && args[0] != "notes" {
			return
		}
		args = nil
	}
	for _, in := range c.Input {
		args = append(args, in[1:]...)
	}
	for _, a := range args {
		if s.isSecret(a) {
			s.add("AUD-EXFILTRATE", High, c.Line, 0, "publishes "+a, strings.Join(c.Words, " "))
		}
	}
}

// registry judges where packages are taken from.
func (s *scan) registry(c audit.Command, name string, args []string, text string) {
	const (
		installers list = " pip pipx uv uvx npm npx pnpm yarn bun bunx gem cargo poetry python3 "
		options    list = " --index-url --extra-index-url -i --index --default-index --registry --find-links --source registry global.index-url global.extra-index-url "
	)
	if !installers.has(name) {
		return
	}
	for i, a := range args {
		key, value, ok := strings.Cut(a, "=")
		if !ok && i+1 < len(args) {
			value = args[i+1]
		}
		if options.has(key) {
			s.source(value, c.Line, c.Prose, text)
		}
	}
}

// source judges an address that packages are taken from.
func (s *scan) source(url string, line int, prose bool, text string) {
	for _, h := range s.hostsIn([]string{url}) {
		switch {
		case h.class.has(s.rules.class.known), h.class.has(s.rules.class.place):
		case h.plain, h.class.has(s.rules.class.ip), h.class.has(s.rules.class.drop):
			s.add("AUD-FETCH-RUN", High, line, 0, "takes packages from "+h.name, text)
		case prose:
			s.add("AUD-FETCH-RUN", Low, line, 0, "takes packages from "+h.name, text)
		default:
			s.add("AUD-FETCH-RUN", Medium, line, 0, "takes packages from "+h.name, text)
		}
	}
}

// sources judges the lines of a file that says where packages are taken from.
func (s *scan) sources(name string, text []byte) {
	const files list = " .npmrc .yarnrc .yarnrc.yml pip.conf pip.ini "
	if base := strings.ToLower(path.Base(name)); !files.has(base) && !(strings.HasPrefix(base, "requirements") && path.Ext(base) == ".txt") {
		return
	}
	number := 0
	for line := range strings.Lines(string(text)) {
		number++
		line = strings.TrimSpace(line)
		key, _, _ := strings.Cut(strings.ToLower(line), "http")
		if strings.Contains(key, "index-url") || strings.Contains(key, "registry") || strings.Contains(key, "find-links") || strings.HasPrefix(key, "-i ") || strings.HasPrefix(key, "-f ") {
			if url, _, _ := strings.Cut(line[len(key):], " "); key[0] != '#' {
				s.source(url, number, false, line)
			}
		}
	}
}

// links finds links and pictures whose address takes a value along: who shows the text sends it.
func (s *scan) links(text []byte) {
	c := cursor{text: text, number: 1}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte("](http"))
		if i < 0 {
			return
		}
		at += i + 2
		url := string(text[at:min(at+1000, len(text))])
		if end := strings.IndexByte(url, ')'); end >= 0 {
			url = url[:end]
		}
		url, _, _ = strings.Cut(url, "\n\n")
		_, address, _ := strings.Cut(url, "://")
		query := strings.IndexAny(address, "?{$<")
		if query < 0 || !strings.ContainsAny(address[query:], "{$<") || s.rules.address(strings.ToLower(address[:query])).has(s.rules.class.known) {
			continue
		}
		for _, word := range strings.FieldsFunc(address[query:], func(r rune) bool { return strings.ContainsRune(" ?&={}$(<>%", r) }) {
			if s.isSecret(word) || strings.HasPrefix(word, ".env") || word == strings.ToUpper(word) && strings.Contains(word, "_") && (audit.Permission{Kind: audit.Env, Arg: word}).Escalates() {
				s.add("AUD-EXFILTRATE", High, c.line(at), 0, "a link that takes "+word+" along", url)
			}
		}
	}
}

// reads reports whether a runner with these arguments takes what comes in as data.
func reads(args []string) bool {
	for i, a := range args {
		switch {
		case codeFlags.has(a) || codeFlags.has(strings.ToLower(a)):
			return i+1 >= len(args) || a == "-m" || args[i+1] != "" && strings.IndexByte(args[i+1], 0) < 0
		case strings.HasPrefix(a, "-"):
			if a == "-s" || a == "-" {
				return false
			}
		case strings.IndexByte(a, 0) >= 0, strings.HasPrefix(a, "/dev/"):
			return false
		default:
			return true
		}
	}
	return false
}

// sends judges a command that speaks to a host: a credential that it takes along, and who it speaks to.
func (s *scan) sends(c audit.Command, name string, args []string, input [][]string) {
	hosts := s.hostsIn(args)
	secret := ""
	for i, a := range args {
		file := ""
		switch {
		case strings.Contains(a, "@"):
			file = a[strings.IndexByte(a, '@')+1:]
			if strings.Contains(file, "@") || name == "scp" || name == "rsync" || name == "sftp" {
				file = ""
			}
		case i > 0 && (args[i-1] == "-T" || args[i-1] == "--upload-file" || args[i-1] == "--post-file" || args[i-1] == "-InFile"):
			file = a
		case strings.HasPrefix(a, "--post-file="):
			file = a[12:]
		case name == "scp" || name == "rsync":
			if (i == 0 || args[i-1] != "-i" && args[i-1] != "-e") && !strings.Contains(a, ":") {
				file = a
			}
		}
		if s.isSecret(file) {
			secret = file
		}
	}
	for _, in := range input {
		n := strings.ToLower(in[0])
		if dumps.has(n) && len(in) == 1 || n == "cat" && len(in) > 1 && in[1] == "/proc/self/environ" {
			secret = "all variables"
		}
		if n == "ssh" || n == "ssh-add" || n == "ssh-keygen" {
			continue
		}
		for _, a := range in[1:] {
			if s.isSecret(a) {
				secret = a
			}
		}
	}
	if secret == "" {
		return
	}
	to := "a host"
	severity := High
	for _, h := range hosts {
		to = h.name
		if c.Prose && h.class.has(s.rules.class.place) {
			severity = Medium
		}
	}
	s.add("AUD-EXFILTRATE", severity, c.Line, 0, "sends "+secret+" to "+to, strings.Join(c.Words, " "))
}

// isSecret reports whether a path is that of a file with credentials.
func (s *scan) isSecret(p string) bool {
	if p == "" || strings.HasSuffix(p, ".pub") || strings.Contains(p, "known_hosts") || strings.HasSuffix(p, ".ssh/config") {
		return false
	}
	return strings.ContainsAny(p, "/.~_") && s.rules.thing(strings.ToLower(p)).has(s.rules.class.keyfile)
}

// A program is a command that a rule finds: its names, and what its arguments have. As text:
//
//	program  = "run" severity [ "~" ] names { need } ":" message  ; "~" is one lower in Markdown
//	names    = name { "|" name }                                  ; "*" is any, and the rest of a name
//	need     = [ "!" ] part { "|" part }                          ; an argument has one of the parts, or with "!" none is it
//	part     = [ "=" ] text | "?"                                 ; with "=" it is the argument; "?" is one that is computed
type program struct {
	rule     *Rule
	severity Severity
	lower    bool
	names    []string
	needs    []string
	message  string
}

func readProgram(r *Rule, text string) program {
	text, message, _ := strings.Cut(text, " : ")
	words := strings.Fields(text)
	severity, lower := strings.CutSuffix(words[0], "~")
	return program{r, Severity(severity), lower, strings.Split(words[1], "|"), words[2:], message}
}

// is reports whether a command is one of p.
func (p *program) is(name string, args []string) bool {
	named := false
	for _, n := range p.names {
		start, any := strings.CutSuffix(n, "*")
		named = named || n == name || any && strings.HasPrefix(name, start)
	}
	if !named {
		return false
	}
	for _, need := range p.needs {
		need, not := strings.CutPrefix(need, "!")
		has := false
		for _, part := range strings.Split(need, "|") {
			whole, equal := strings.CutPrefix(part, "=")
			for _, a := range args {
				if a = strings.ToLower(a); (equal || not) && a == whole || !equal && !not && strings.Contains(a, part) || part == "?" && strings.IndexByte(a, 0) >= 0 {
					has = true
				}
			}
		}
		if has == not {
			return false
		}
	}
	return len(args) > 0
}

// command judges one command by itself.
func (s *scan) command(c audit.Command, name string, args []string, line string) {
	for i := range s.rules.programs {
		if p := &s.rules.programs[i]; p.is(name, args) {
			severity := p.severity
			if name == "git" && ownHooks(args) {
				severity = Medium
			}
			if c.Prose && p.lower {
				severity = severity.lower(1)
			}
			s.add(p.rule.ID, severity, c.Line, 0, p.message, line)
		}
	}
}

// ownHooks reports whether git is told to take hooks from a folder of the repository that it works in, for that repository alone.
func ownHooks(args []string) bool {
	n := len(args)
	if n < 2 || !strings.EqualFold(args[n-2], "core.hookspath") || slices.Contains(args, "--global") || slices.Contains(args, "--system") {
		return false
	}
	dir := args[n-1]
	return dir != "" && !strings.ContainsAny(dir[:1], "/~$") && !strings.Contains(dir, "..") && strings.IndexByte(dir, 0) < 0
}

// flows judges what scripts do with what they read.
func (s *scan) flows(files []audit.File) {
	for _, f := range files {
		switch strings.ToLower(path.Ext(f.Path)) {
		case ".md", ".mdx", ".markdown":
			s.path = f.Path
			if bytes.Contains(f.Data, []byte("/dev/tcp/")) {
				s.shells(f, bytes.Split(f.Data, []byte("\n")))
			}
			continue
		case ".txt", ".json", ".yaml", ".yml", ".toml":
			continue
		}
		s.flow(f, f.Path)
	}
}

// flow judges the flows of one file; findings are at the file called at.
func (s *scan) flow(f audit.File, at string) {
	s.path = at
	lines := bytes.Split(f.Data, []byte("\n"))
	secret, whole, sinks, runs := map[int]string{}, map[int]string{}, map[int]string{}, map[int]string{}
	for _, found := range s.asks {
		p := found.Permission
		for _, place := range found.Places {
			if place.File != f.Path {
				continue
			}
			switch p.Kind {
			case audit.Reads:
				if s.isSecret(p.Arg) {
					secret[place.Line] = p.Arg
				}
			case audit.Env:
				if p.Arg == "*" && isWhole(row(lines, place.Line)) {
					whole[place.Line] = "all variables"
				}
			case audit.Net:
				sinks[place.Line] = p.Arg
				s.collector(p.Arg, place.Line)
			case audit.Dynamic:
				runs[place.Line] = "code"
			case audit.Writes:
				s.writes(p.Arg, place.Line)
			}
		}
	}
	s.shells(f, lines)
	unread := others.has(extension(f.Path))
	for i, l := range lines {
		if what := readsSecret(l); what != "" && secret[i+1] == "" {
			secret[i+1] = what
		}
		if bytes.Contains(l, []byte("with hidden answer")) {
			secret[i+1] = "a password that it asks for"
		}
		if host := requested(l); host != "" && sinks[i+1] == "" {
			sinks[i+1] = host
		}
		if unread {
			if delete(runs, i+1); runsText(l) {
				runs[i+1] = "code"
			}
		}
		if runs[i+1] != "" && decodes(l) {
			s.add("AUD-DECODE-RUN", High, i+1, 0, "runs what it decodes", string(l[:min(len(l), 4*maxEvidence)]))
		}
	}
	if len(sinks) == 0 {
		for _, line := range slices.Sorted(maps.Keys(secret)) {
			what := secret[line]
			s.add("AUD-SECRET-FILE", s.rules.severity("AUD-SECRET-FILE"), line, 0, "reads "+what, row(lines, line))
		}
		return
	}
	shell := bytes.HasPrefix(f.Data, []byte("#!/bin/")) || bytes.HasPrefix(f.Data, []byte("#!/usr/bin/env bash")) || path.Ext(f.Path) == ".sh" || path.Ext(f.Path) == ".bash"
	for _, flow := range tainted(lines, secret, sinks, false) {
		if shell && flow.from == flow.to && !sentences(lines[flow.to-1]) {
			continue // commands are judged by their words
		}
		s.add("AUD-EXFILTRATE", s.toHost(sinks[flow.sink]), flow.to, 0, "sends what it reads from "+secret[flow.from]+" to "+hostName(sinks[flow.sink]), row(lines, flow.to))
	}
	for _, flow := range tainted(lines, whole, sinks, true) {
		s.add("AUD-EXFILTRATE", s.toHost(sinks[flow.sink]), flow.to, 0, "sends all variables of the environment to "+hostName(sinks[flow.sink]), row(lines, flow.to))
	}
	fetched := maps.Clone(sinks)
	for line, host := range sinks {
		if host != "*" && !fetches(lines[line-1]) {
			delete(fetched, line) // it only names an address
		}
	}
	for _, flow := range tainted(lines, fetched, runs, false) {
		host := sinks[flow.from]
		hosts := s.hostsIn([]string{"https://" + host})
		if host == "*" {
			hosts = nil
		}
		s.fetchRun(hosts, flow.to, false, row(lines, flow.to))
	}
	for _, line := range slices.Sorted(maps.Keys(secret)) {
		what := secret[line]
		s.add("AUD-SECRET-FILE", s.rules.severity("AUD-SECRET-FILE"), line, 0, "reads "+what+", in a file that speaks to the network", row(lines, line))
	}
}

// Parts of the names of files with credentials, and of calls that read files, where the start of a path is computed.
var (
	secretParts = [][]byte{[]byte("/.ssh/"), []byte(".ssh/id_"), []byte("id_rsa"), []byte("id_ed25519"), []byte(".aws/credentials"), []byte(".netrc"), []byte("/.npmrc"), []byte(".git-credentials"), []byte(".docker/config.json"), []byte(".kube/config"), []byte("/etc/shadow"), []byte(".gnupg"), []byte("wallet.dat")}
	readParts   = [][]byte{[]byte("open("), []byte("readFile"), []byte("ReadFile"), []byte("read_text"), []byte("read_bytes"), []byte("ReadStream"), []byte("Get-Content"), []byte("ReadAllText"), []byte("File.read"), []byte("IO.read"), []byte("file_get_contents"), []byte("read_to_string"), []byte("slurp")}
)

// readsSecret is the part of a path of credentials that a line of code reads, "" if it reads none.
func readsSecret(l []byte) string {
	if len(l) > 4096 {
		l = l[:4096]
	}
	// A path of credentials that is put together is read where it is used.
	joined := bytes.IndexByte(l, '=') > 0 && (bytes.Contains(l, []byte("getenv(")) || bytes.Contains(l, []byte("ENV[")))
	for _, part := range secretParts {
		if joined && bytes.Contains(l, part) && !bytes.Contains(l, []byte(".pub")) {
			return string(part)
		}
		if bytes.Contains(l, part) && !bytes.Contains(l, []byte(".pub")) && !bytes.Contains(l, []byte("known_hosts")) {
			for _, read := range readParts {
				if bytes.Contains(l, read) {
					return string(part)
				}
			}
		}
	}
	return ""
}

// isWhole reports whether a line takes the whole environment as a value, and does not only hand it on or read one variable of it.
func isWhole(line string) bool {
	lower := oneVariable.Replace(strings.ToLower(line))
	for _, part := range []string{"environ", ".env", "printenv", "$(env)", "`env`", "env |", "stringify(", "dumps(", "urlencode(", "entries(", "b64encode(", "urlsearchparams("} {
		if strings.Contains(lower, part) {
			return true
		}
	}
	return false
}

// oneVariable takes out what reads or sets one variable of the environment, whose name is computed.
var oneVariable = strings.NewReplacer("environ.get(", "(", "environ[", "[", "environ.setdefault(", "(", "environ.pop(", "(", "process.env[", "[", "import.meta.env[", "[")

// others are the ends of scripts in languages that package audit does not read.
const others list = " .rb .php .pl .pm .lua .applescript .scpt "

// runsText reports whether a line of such a script runs a text as code or as a command.
func runsText(l []byte) bool {
	for _, part := range []string{"eval(", "eval $", "eval {", "instance_eval", "shell_exec(", "passthru(", "system(", "popen(", "loadstring(", "run script"} {
		if bytes.Contains(l[:min(len(l), 4096)], []byte(part)) {
			return true
		}
	}
	return false
}

// decodes reports whether a line of code calls something that decodes or unpacks.
func decodes(l []byte) bool {
	for _, part := range []string{"b64decode(", "base64_decode(", "atob(", "fromhex(", "unhexlify(", "decompress(", "gzinflate(", "marshal.loads(", "'base64')", "\"base64\")", "decode64("} {
		if bytes.Contains(l[:min(len(l), 1<<16)], []byte(part)) {
			return true
		}
	}
	return false
}

// requested is the host of a request whose options name it: hostname: 'a.dev'.
func requested(l []byte) string {
	_, rest, ok := bytes.Cut(l[:min(len(l), 4096)], []byte("hostname:"))
	if rest = bytes.TrimLeft(rest, " "); !ok || !bytes.Contains(l, []byte("request(")) || len(rest) < 3 || rest[0] != '\'' && rest[0] != '"' {
		return ""
	}
	host, _, _ := bytes.Cut(rest[1:], rest[:1])
	return strings.ToLower(string(host))
}

// toHost is how bad it is to send credentials to a host: not high if it is this machine, or stands for one in documentation.
func (s *scan) toHost(host string) Severity {
	if host != "*" && s.rules.address(host).has(s.rules.class.place) {
		return Medium
	}
	return High
}

// fetches reports whether a line of code calls something that gets data from a host.
func fetches(l []byte) bool {
	l = bytes.ToLower(l[:min(len(l), 4096)])
	for _, part := range []string{"get(", "fetch", "urlopen", "request", "post(", "curl", "wget", "download", "invoke-", "iwr ", "irm ", "webclient", "import(", "open(", "retrieve", "axios", "got(", "http.", "https."} {
		if bytes.Contains(l, []byte(part)) {
			return true
		}
	}
	return false
}

// sentences reports whether a line of shell has several commands.
func sentences(l []byte) bool {
	return bytes.Contains(l, []byte("; ")) || bytes.Contains(l, []byte("&& "))
}

func hostName(arg string) string {
	if arg == "*" {
		return "a host that is computed"
	}
	return arg
}

func row(lines [][]byte, n int) string {
	if n < 1 || n > len(lines) {
		return ""
	}
	return string(lines[n-1])
}

// collector judges a host that a script speaks to.
func (s *scan) collector(host string, line int) {
	c := s.rules.address(host)
	switch {
	case c.has(s.rules.class.drop):
		s.add("AUD-DROP-HOST", High, line, 0, "speaks to "+host+", where anybody can read or put something without a name", host)
	case c.has(s.rules.class.ip):
		s.add("AUD-DROP-HOST", Medium, line, 0, "speaks to a host without a name, "+host, host)
	}
}

// writes judges a path that a script writes.
func (s *scan) writes(p string, line int) {
	if !strings.HasPrefix(p, "~") && !strings.HasPrefix(p, "/") {
		return
	}
	lower := strings.ToLower(p)
	c := s.rules.thing(lower)
	n := s.rules.names
	switch {
	case strings.HasSuffix(lower, "authorized_keys"):
		s.add("AUD-PERSIST", High, line, 0, "lets somebody log in: it writes "+p, p)
	case c.has(n["SETFILE"]) || c.has(n["MYFILE"]) && (strings.Contains(lower, "hook") || strings.Contains(lower, "settings")):
		s.add("AUD-AGENT-CONFIG", High, line, 0, "writes the settings of an agent, "+p, p)
	case c.has(n["MEMFILE"]) && c.has(n["MYFILE"]):
		s.add("AUD-AGENT-CONFIG", High, line, 0, "writes what an agent is told in every session, "+p, p)
	case c.has(n["RCFILE"]):
		s.add("AUD-PERSIST", Medium, line, 0, "writes what runs at each start, "+p, p)
	}
}

// shells finds a shell that is given to another machine.
func (s *scan) shells(f audit.File, lines [][]byte) {
	dup, socket, shell, at := false, false, false, 0
	for n, l := range lines {
		if i := bytes.Index(l, []byte("/dev/tcp/")); i >= 0 && hosted(l[i+9:]) && !bytes.HasPrefix(l[i+9:], []byte("127.0.0.1")) && !bytes.HasPrefix(l[i+9:], []byte("localhost")) && (bytes.Contains(l, []byte("sh -i")) || bytes.Contains(l, []byte("exec ")) || bytes.Contains(l, []byte(">&")) && bytes.Contains(l, []byte("sh"))) {
			severity := High
			if host, _, _ := strings.Cut(strings.ToLower(string(l[i+9:min(len(l), i+99)])), "/"); extension(f.Path) == ".md" && s.rules.address(host).has(s.rules.class.place) {
				severity = Medium // documentation, whose host stands for one
			}
			s.add("AUD-REVERSE-SHELL", severity, n+1, 0, "gives a shell to another machine", string(l))
		}
		if bytes.Contains(l, []byte("dup2(")) {
			dup, at = true, n+1
		}
		socket = socket || bytes.Contains(l, []byte("socket"))
		shell = shell || bytes.Contains(l, []byte("/bin/sh")) || bytes.Contains(l, []byte("/bin/bash")) || bytes.Contains(l, []byte("pty.spawn")) || bytes.Contains(l, []byte("cmd.exe"))
	}
	if dup && socket && shell {
		s.add("AUD-REVERSE-SHELL", High, at, 0, "gives a shell to another machine", row(lines, at))
	}
}

// hosted reports whether a host may stand at the start of l, and not the end of a pattern or a string.
func hosted(l []byte) bool {
	return len(l) > 0 && (identifier(l[0]) || bytes.IndexByte([]byte("${<%["), l[0]) >= 0 || l[0] == '"' && len(l) > 1 && l[1] == '$')
}

// A taint is a flow from a line to a line, and the sink that it ends in.
type taint struct{ from, to, sink int }

// maxStatement is how many lines a call has.
const maxStatement = 24

// A scope is the body of a function, by the place where it starts. Scope 0 is the file.
type scope struct{ id, indent int }

// A value is a variable of a scope, or with scope 0 one of the file, a function that returns it, or a field, whose name starts with a dot.
type value struct {
	name  string
	scope int
}

// followed is the lines that values are from which are followed.
type followed map[value]int

// maxValues is how many of them there are.
const maxValues = 256

func (v followed) put(name string, scope, from int) {
	if _, ok := v[value{name, scope}]; !ok && len(v) < maxValues {
		v[value{name, scope}] = from
	}
}

// tainted follows values from lines to lines through assignments, by the names of variables, of fields, of functions that return them
// and of parameters that they are given for. A variable of a function is not that of another with its name.
// Bare values are whole: a member of one is another value.
func tainted(lines [][]byte, sources, sinks map[int]string, bare bool) (out []taint) {
	if len(sources) == 0 || len(sinks) == 0 {
		return nil
	}
	names := followed{}
	type function struct {
		id     int
		params []string
	}
	functions := map[string]function{}
	handles := map[string]int{} // that speak to a host, and the line that opened them
	for range 3 {
		within := []scope{{}}
		name, last := "", 0
		sink, left, depth := 0, 0, 0
		for i, l := range lines {
			if len(l) > 4096 {
				l = l[:4096]
			}
			n := i + 1
			if indent := len(l) - len(bytes.TrimLeft(l, " \t")); indent < len(l) {
				for len(within) > 1 && indent <= within[len(within)-1].indent && l[indent] != ')' {
					within = within[:len(within)-1]
				}
				if called := defines(l); called != "" {
					name, last = called, n
					if len(within) < 16 {
						within = append(within, scope{n, indent})
					}
					if len(functions) < maxValues {
						functions[name] = function{last, parameters(l)}
					}
				}
			}
			inner := within[len(within)-1].id
			from, at := 0, 0
			if sources[n] != "" {
				from = n
				if sources[n] != "*" && !bytes.Contains(l, []byte("://")) { // what it reads may be an argument
					at = len(l)
				}
			} else if len(names) > 0 {
				from, at = mentions(l, names, within, bare)
			}
			if sinks[n] != "" {
				sink, left, depth = n, maxStatement, 0
			}
			flows := func(sink int) {
				if !slices.ContainsFunc(out, func(t taint) bool { return t.sink == sink }) && len(out) < maxFindings {
					out = append(out, taint{from, n, sink})
				}
			}
			if sink > 0 {
				if from > 0 && !(from == n && sources[n] != "" && sink == n && sources[n] == sinks[n]) {
					flows(sink)
				}
				depth += bytes.Count(l, []byte("(")) + bytes.Count(l, []byte("{")) - bytes.Count(l, []byte(")")) - bytes.Count(l, []byte("}"))
				if sinks[n] != "" && len(handles) < maxValues {
					for _, h := range assigns(l) {
						handles[h] = n
					}
				}
				if left--; depth <= 0 || left == 0 {
					sink = 0
				}
			}
			if from == 0 {
				continue
			}
			if h, ok := handles[receiver(l)]; ok && from != n {
				flows(h)
			}
			for _, one := range assigns(l) {
				if one != "" && one[0] == '.' {
					names.put(one, 0, from)
				} else {
					names.put(one, inner, from)
				}
			}
			for _, f := range called(l[:at]) {
				if f, ok := functions[f]; ok {
					for _, p := range f.params {
						names.put(p, f.id, from)
					}
				}
			}
			if inner == last && last > 0 && bytes.Contains(l, []byte("return ")) {
				names.put(name, 0, from)
			}
		}
	}
	return out
}

// mentions is the line that a value is from which l has, 0 for none, and where l has it. Within are the scopes of l.
func mentions(l []byte, names followed, within []scope, bare bool) (from, at int) {
	for i := 0; i < len(l); {
		if !identifier(l[i]) {
			i++
			continue
		}
		start := i
		for i < len(l) && identifier(l[i]) {
			i++
		}
		from, ok := names.of(l[:i], start, within)
		if ok && !(bare && !serialised(l[:start])) && !(bare && i < len(l) && (l[i] == '.' || l[i] == '[' || l[i] == '?' || l[i] == ':' || l[i] == '=') || start > 0 && l[start-1] == '.' && bare) {
			return from, start
		}
	}
	return 0, 0
}

// of looks up the name at the end of l, which starts at a byte: a field, or a variable of one of the scopes.
func (v followed) of(l []byte, start int, within []scope) (from int, ok bool) {
	if start > 0 && l[start-1] == '.' {
		if from, ok = v[value{string(l[start-1:]), 0}]; ok {
			return from, true
		}
	}
	for _, s := range within {
		if from, ok = v[value{string(l[start:]), s.id}]; ok {
			return from, true
		}
	}
	return 0, false
}

// called are the names of the functions whose calls open in l.
func called(l []byte) (out []string) {
	for at := 0; len(out) < 16; {
		i := bytes.IndexByte(l[at:], '(')
		if i < 0 {
			return out
		}
		at += i
		if name := lastName(string(l[max(at-80, 0):at])); name != "" {
			out = append(out, name)
		}
		at++
	}
	return out
}

// parameters are the names of the parameters of the function that a line defines.
func parameters(l []byte) (out []string) {
	_, rest, _ := strings.Cut(string(l[:min(len(l), 1000)]), "(")
	for part := range strings.SplitSeq(rest, ",") {
		fields := strings.FieldsFunc(part, func(r rune) bool { return r >= 128 || !identifier(byte(r)) })
		if len(fields) > 0 && len(out) < 16 {
			out = append(out, fields[0])
		}
	}
	return out
}

// receiver is what a line calls a method of that sends what it is given: r in r.write(data).
func receiver(l []byte) string {
	for _, call := range []string{".write(", ".end(", ".send(", ".sendall("} {
		if i := bytes.Index(l, []byte(call)); i > 0 {
			return lastName(string(l[max(i-80, 0):i]))
		}
	}
	return ""
}

// serialised reports whether what follows is no argument, or one of a call that writes it out as a whole.
func serialised(before []byte) bool {
	open := bytes.LastIndexByte(before, '(')
	if open < 0 || bytes.IndexByte(before[open:], ')') >= 0 {
		return true
	}
	switch lastName(string(before[:open])) {
	case "dumps", "stringify", "dict", "str", "list", "entries", "assign", "urlencode", "b64encode", "from", "repr", "bytes", "encode", "btoa", "fromEntries", "items", "post", "put", "request", "fetch", "send", "urlopen", "write", "sendall", "Request", "String", "format", "URLSearchParams":
		return true
	}
	return false
}

func identifier(c byte) bool {
	return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}

// assigns are the names that a line gives a value.
func assigns(l []byte) (out []string) {
	text := string(bytes.TrimSpace(l))
	if i := strings.Index(text, " as "); i > 0 && (strings.HasPrefix(text, "with ") || strings.HasPrefix(text, "async with ")) {
		out = append(out, lastName(strings.TrimRight(text[i:], ": ")))
	}
	if rest, ok := strings.CutPrefix(text, "set "); ok { // AppleScript
		if name, _, ok := strings.Cut(rest, " to "); ok {
			return append(out, lastName(name))
		}
	}
	for _, loop := range []string{"for ", "for (const ", "for (let "} {
		if rest, ok := strings.CutPrefix(text, loop); ok {
			if head, _, ok := strings.Cut(rest, " in "); ok {
				out = append(out, strings.FieldsFunc(head, func(r rune) bool { return !identifier(byte(r)) })...)
			}
			if head, _, ok := strings.Cut(rest, " of "); ok {
				out = append(out, strings.FieldsFunc(head, func(r rune) bool { return !identifier(byte(r)) })...)
			}
		}
	}
	i := strings.IndexByte(text, '=')
	if i <= 0 || i+1 < len(text) && text[i+1] == '=' {
		for _, call := range []string{".append(", ".push(", ".update(", ".add(", ".write("} {
			if k := strings.Index(text, call); k > 0 {
				out = append(out, lastName(text[:k]))
			}
		}
		return out
	}
	left := strings.TrimRight(text[:i], "+:|?!- ")
	if j := strings.IndexAny(left, "(\"'"); j >= 0 {
		return out
	}
	if k := strings.IndexByte(left, ':'); k > 0 { // a type
		left = left[:k]
	}
	if k := strings.IndexByte(left, '['); k > 0 {
		left = left[:k]
	}
	for _, part := range strings.Split(left, ",") {
		if name := lastName(part); name != "" {
			if strings.HasSuffix(strings.TrimSpace(part), "."+name) {
				name = "." + name // a field
			}
			out = append(out, name)
		}
	}
	return out
}

// lastName is the name at the end of a text.
func lastName(s string) string {
	s = strings.TrimRight(s, " \t")
	end := len(s)
	for end > 0 && !identifier(s[end-1]) {
		end--
	}
	start := end
	for start > 0 && identifier(s[start-1]) {
		start--
	}
	return s[start:end]
}

// defines is the function whose body starts behind a line.
func defines(l []byte) string {
	text := string(bytes.TrimSpace(l[:min(len(l), 200)]))
	for _, key := range []string{"def ", "function ", "func ", "async def ", "async function ", "export function ", "export async function "} {
		if rest, ok := strings.CutPrefix(text, key); ok {
			name, _, _ := strings.Cut(rest, "(")
			return lastName(name)
		}
	}
	return ""
}
