package audit

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// ordinary are the programs that are no permission: shell words, coreutils and what filters text.
var ordinary = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, word := range strings.Fields(`
		: [ [[ alias bg bind break caller cd compgen complete compopt continue declare dirs disown echo enable exit export false fc fg getopts hash help history jobs let local
		logout mapfile popd printf pushd pwd read readarray readonly return set shift shopt suspend test times trap true type typeset ulimit umask unalias unset wait which
		b2sum base32 base64 basename basenc cat chgrp chmod chown cksum comm cp csplit cut date dd df dir dircolors dirname du expand expr factor fmt fold groups head hostid
		hostname id install join link ln logname ls md5sum mkdir mkfifo mknod mktemp mv nl nproc numfmt od paste pathchk pinky pr printenv ptx readlink realpath rm rmdir seq
		sha1sum sha224sum sha256sum sha384sum sha512sum shred shuf sleep sort split stat stty sum sync tac tail tee touch tr truncate tsort tty uname unexpand uniq unlink
		users vdir wc who whoami yes
		awk gawk mawk nawk bc cmp column diff diff3 ed egrep file fgrep find getconf grep iconv less more patch rev sed strings tree xxd hexdump jq rg fd shasum md5 locate
		clear tput reset man getopt tar gzip gunzip zcat zip unzip bzip2 xz ps command builtin then else fi done esac`) {
		m[word] = true
	}
	return m
})

// wrappers start the program that follows their options; the number is how many operands come before it.
var wrappers = sync.OnceValue(func() map[string]int {
	return map[string]int{"sudo": 0, "doas": 0, "env": 0, "nohup": 0, "time": 0, "timeout": 1, "nice": 0, "ionice": 0, "exec": 0, "command": 0, "builtin": 0, "xargs": 0, "parallel": 0,
		"watch": 0, "setsid": 0, "stdbuf": 0, "unbuffer": 0, "caffeinate": 0, "chronic": 0, "retry": 0, "strace": 0, "busybox": 0, "toybox": 0, "fakeroot": 0, "torify": 0, "tsocks": 0, "proxychains4": 0, "eatmydata": 0, "setpriv": 0, "faketime": 1, "gtimeout": 1, "flock": 1, "chroot": 1, "taskset": 1, "chrt": 1, "systemd-run": 0, "xvfb-run": 0, "unshare": 0, "nsenter": 0, "ltrace": 0, "proxychains": 0, "torsocks": 0, "pkexec": 0, "runuser": 0}
})

// valued are options of wrappers that have a value of their own.
var valued = sync.OnceValue(func() []string {
	return strings.Fields("-u -g -n -I -P -L -s -d -i -k --signal -C -D -h -p -o -e -E --user --group --kill-after --max-args --max-procs -w --timeout")
})

// fetchers speak to the hosts that their arguments name. Those with true fetch something whatever they are given.
var fetchers = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"curl": true, "wget": true, "http": true, "https": true, "xh": true, "aria2c": true, "lynx": true, "w3m": true, "nc": true, "ncat": true, "netcat": true, "telnet": true,
		"ssh": true, "scp": true, "sftp": true, "ftp": true, "lftp": true, "rsync": false, "socat": true, "ping": true, "dig": true, "nslookup": true, "host": true, "websocat": true, "grpcurl": true,
		"git": false, "openssl": false, "psql": false, "mysql": false, "redis-cli": false, "mongosh": false, "nmap": true, "iwr": true, "invoke-webrequest": true, "invoke-restmethod": true, "irm": true, "start-bitstransfer": true}
})

// managers are package managers and the words after which packages are named.
var managers = sync.OnceValue(func() map[string][]string {
	return listsOf(`
	pip install download
	pipx install run inject
	uvx
	npm install i add exec ci
	npx
	bunx
	pnpx
	pnpm add install i dlx
	yarn add dlx
	bun add install x
	gem install
	cargo install add
	brew install tap
	apt install
	apt-get install
	apk add
	dnf install
	yum install
	pacman -S -Sy
	zypper install
	snap install
	flatpak install
	choco install
	winget install
	scoop install
	conda install
	mamba install
	poetry add
	composer require
	luarocks install
	nix-env -iA -i
	easy_install
	dotnet tool package
	docker pull run
	podman pull run
	go install get run
	uv add pip
	deno install
	install-module
	install-package
	install-script
	code --install-extension
	helm install
`)
})

// runners are programs, the language that they run, and the options before a text of it; without one they take a file.
var runners = sync.OnceValue(func() map[string][]string {
	return listsOf(`
	bash shell -c -lc -ic -ec -xc -exc -euc
	sh shell -c -lc -ec
	zsh shell -c -lc
	dash shell -c
	ksh shell -c
	python3 python -c
	node script -e --eval -p --print -pe
	bun script -e
	deno script eval
	pwsh powershell -c -command
	ruby opaque -e
	perl opaque -e -E -ne -pe -ane -i
	php opaque -r
	osascript opaque -e
	rscript opaque -e
	lua opaque -e
`)
})

// listsOf reads "NAME word word …" lines; a name without words has nil.
func listsOf(table string) map[string][]string {
	m := map[string][]string{}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 1 {
			m[fields[0]] = fields[1:]
		} else if len(fields) > 0 {
			m[fields[0]] = nil
		}
	}
	return m
}

// recipes are the programs that take a file of commands after -f.
var recipes = sync.OnceValue(func() map[string]lang {
	return map[string]lang{"make": recipe, "gmake": recipe, "just": justfile, "docker": image, "podman": image, "buildah": image}
})

// called is the name of a program: without its directory, its version and ".exe".
func called(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	lower := strings.ToLower(name)
	for _, end := range []string{".exe", ".cmd", ".bat"} {
		if strings.HasSuffix(lower, end) {
			name, lower = name[:len(name)-len(end)], lower[:len(lower)-len(end)]
		}
	}
	switch prefix := strings.TrimRight(lower, "0123456789."); prefix {
	case "python":
		return "python3"
	case "pip", "node", "perl", "ruby", "php", "lua", "pypy":
		return prefix
	}
	switch lower {
	case "nodejs":
		return "node"
	case "powershell":
		return "pwsh"
	case "rscript":
		return "Rscript"
	case "":
		return name
	}
	return name
}

// exec notes that a program is started. Words is its name and arguments, stdin what it reads, if that is known.
func (a *auditor) exec(words []value, stdin value, line int, prose bool) {
	if len(words) == 0 {
		return
	}
	for _, name := range words[0].or() {
		a.start(name, words[1:], stdin, line, prose)
	}
}

// start is exec for one name.
func (a *auditor) start(name string, args []value, stdin value, line int, prose bool) {
	if name == ":" {
		return
	}
	name = strings.Trim(name, "\"'")
	if fields := strings.Fields(name); len(fields) > 1 {
		var words []value
		for _, f := range fields {
			words = append(words, value{f})
		}
		a.exec(append(words, args...), stdin, line, prose)
		return
	}
	base := called(name)
	if a.told != nil {
		a.tell(append([]value{{base}}, args...), nil, line, prose)
	}
	switch {
	case base == "":
		return
	case strings.IndexByte(base, hole) >= 0:
		if !prose {
			a.add(Dynamic, "", line)
		}
		return
	case strings.ContainsAny(name, "/\\") && a.owns(name) != "":
		a.ask(a.owns(name), itself)
		return
	case base == ":", base == "." && len(args) == 0, base == "..", base[0] == '-', prose && !isProgram(base):
		return
	case prose && (len(args) > 0 && args[0].or()[0] == "=" || has(spokenWords, strings.ToLower(base))): // a setting, a sentence
		return
	case !looksLike(base):
		if !prose {
			a.add(Dynamic, "", line) // a pattern of names, or a text that is no shell
		}
		return
	}
	lower := strings.ToLower(base)
	if skip, ok := wrappers()[lower]; ok {
		if !ordinary()[base] && base != "time" && base != "exec" && base != "env" && base != "nohup" && base != "timeout" && base != "nice" && base != "xargs" {
			a.add(Run, base, line)
		}
		rest, split := unwrap(args, skip, lower), false
		a.acts(lower, args[:min(len(args), len(args)-len(rest)+2)], line, prose)
		for _, v := range args[:len(args)-len(rest)] {
			for _, word := range v.or() {
				if name, val, ok := strings.Cut(word, "="); ok && (lower == "env" || lower == "sudo" || lower == "doas") {
					a.set("env", name, value{val}, line, prose)
				}
				for _, option := range []string{"-S", "--split-string="} {
					if text, ok := strings.CutPrefix(word, option); ok && lower == "env" && text != "" {
						split = true
						a.lineOf(text, line, prose)
					}
				}
			}
		}
		if lower == "xargs" || lower == "parallel" {
			rest = given(rest, signOf(lower, args[:len(args)-len(rest)]))
		}
		if lower == "watch" || lower == "parallel" { // they join their words and give them to a shell
			if v := join(rest, " "); len(rest) > 0 && v.known() {
				rest = nil
				for _, s := range v {
					a.lineOf(s, line, prose)
				}
			}
		}
		a.exec(rest, stdin, line, prose)
		if lower == "env" && !split && len(unwrap(args, 0, lower)) == 0 {
			a.add(Env, "*", line)
		}
		return
	}
	switch lower {
	case "eval":
		a.text(shell, join(args, " "), line)
		return
	case ".", "source":
		if len(args) > 0 && stdin != nil && has(" /dev/stdin /dev/fd/0 ", args[0].or()[0]) {
			a.text(shell, stdin, line)
		} else if len(args) > 0 {
			a.runFile(shell, args[0], line, prose)
		}
		return
	case "invoke-expression", "iex":
		a.text(powershell, either(join(args, " "), nil), line)
		return
	}
	r, runs := runners()[lower]
	if !ordinary()[base] && lower != "echo" {
		if strings.Contains(name, "/") && !strings.HasPrefix(name, "/") && strings.IndexByte(name, hole) < 0 && !runs && !strings.HasPrefix(name, "~") {
			base = path.Clean(name) // a program of the project
		}
		a.add(Run, base, line)
	}
	if runs {
		a.interpret(langOf(r[0]), r[1:], args, stdin, line, prose)
	}
	if lower == "python3" {
		a.runsModule(args, line, prose)
	}
	if l, ok := recipes()[lower]; ok && (l != image || slices.ContainsFunc(args, func(v value) bool { return slices.Contains(v, "build") })) {
		for i, v := range args {
			option, file, joined := strings.Cut(v.or()[0], "=")
			if !joined && len(option) > 2 && strings.HasPrefix(option, "-f") {
				option, file, joined = "-f", option[2:], true
			}
			if !joined && i+1 < len(args) {
				file = args[i+1].or()[0]
			}
			if has(" -f --file --makefile --justfile ", option) {
				a.runFile(l, value{file}, line, prose)
			}
		}
	}
	a.acts(lower, args, line, prose)
	a.fetches(lower, args, line, prose)
	a.installs(lower, args, line)
	a.touches(lower, args, line)
	a.queries(lower, args, stdin, line, prose)
	a.edits(lower, args, stdin, line, prose)
	a.each1(lower, args, line, prose)
	if !prose {
		a.opens(lower, args, line)
	}
	switch lower {
	case "trap":
		for len(args) > 0 && strings.HasPrefix(args[0].or()[0], "-") && len(args[0].or()[0]) > 1 {
			args = args[1:]
		}
		if len(args) > 1 && args[0].or()[0] != "-" {
			a.inScript(args[0], line, prose)
		}
	case "alias":
		for _, v := range args {
			for _, word := range v.or() {
				if name, val, ok := strings.Cut(word, "="); ok && name != "" && name[0] != '-' {
					a.inScript(value{val}, line, prose)
				}
			}
		}
	case "bind":
		for _, v := range args {
			for _, word := range v.or() {
				if _, val, ok := strings.Cut(word, "\":"); ok && slices.ContainsFunc(args, func(v value) bool { return v.or()[0] == "-x" }) {
					a.inScript(value{strings.Trim(val, " \"'")}, line, prose)
				}
			}
		}
	case "find":
		for i := 0; i < len(args); i++ {
			if !has(" -exec -execdir -ok -okdir ", args[i].or()[0]) {
				continue
			}
			from := i + 1
			for i++; i < len(args) && !has(" ; /; + ", args[i].or()[0]); i++ {
			}
			if a.finds == maxNested { // each reads the words of those in it
				a.add(Dynamic, "", line)
				return
			}
			a.finds++
			a.exec(given(args[from:min(i, len(args))], "{}"), nil, line, prose)
			a.finds--
		}
	case "printenv":
		for _, v := range args {
			for _, name := range v {
				a.env(strings.Trim(name, "-0"), line)
			}
		}
		if len(args) == 0 {
			a.add(Env, "*", line)
		}
	case "sed", "awk", "gawk", "mawk", "nawk", "gsed", "jq", "gojq", "yq":
		a.filters(lower, args, line, prose)
	case "envsubst":
		a.substituted(args, line)
	case "socat":
		a.socat(args, line, prose)
	case "set":
		if len(args) == 0 && !prose {
			a.add(Env, "*", line)
		}
	case "compgen":
		if len(args) == 1 && has(" -e -v -A ", args[0].or()[0]) {
			a.add(Env, "*", line)
		}
	}
}

// isProgram reports whether a word of prose may be the name of a program, and not of a file or a command of PowerShell.
func isProgram(s string) bool {
	switch path.Ext(s) {
	case ".md", ".html", ".json", ".txt", ".yaml", ".yml", ".toml":
		return false
	}
	if first, rest, ok := strings.Cut(s, "-"); ok && first != "" && first[0] >= 'A' && first[0] <= 'Z' && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z' {
		return false
	}
	if strings.Contains(s, "__") {
		return false
	}
	if s != ":" && (!looksLike(s) || strings.Trim(s, "_0123456789.") == "") {
		return false
	}
	for i := range len(s) {
		if !wordByte(s[i]) && strings.IndexByte("-.+", s[i]) < 0 || s[i] >= 0x80 || s[i] == '$' {
			return false
		}
	}
	return true
}

// unwrap is the words behind a wrapper's options, and the operands before the program.
func unwrap(args []value, skip int, wrapper string) []value {
	for len(args) > 0 {
		word := args[0].or()[0]
		switch {
		case strings.HasPrefix(word, "-"):
			if slices.Contains(valued(), word) && len(args) > 1 && !(wrapper == "env" && word == "-i") && !(wrapper == "sudo" && (word == "-E" || word == "-n" || word == "-i" || word == "-s")) && !(wrapper == "time" || wrapper == "command") && !(wrapper == "xargs" && word == "-i") && !(wrapper == "flock" && !has(" -w -E --timeout ", word)) {
				args = args[1:]
			}
		case strings.Contains(word, "=") && (wrapper == "env" || wrapper == "sudo"):
		case skip > 0:
			skip--
		default:
			return args
		}
		args = args[1:]
	}
	return nil
}

// letters are those that a shell's options are.
const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// interpret is an interpreter with a text, a file or its input to run.
func (a *auditor) interpret(l lang, options []string, args []value, stdin value, line int, prose bool) {
	skip := -1
	for i, v := range args {
		if i == skip {
			continue
		}
		for _, word := range v.or() {
			switch {
			case l == shell && len(word) > 1 && (word[0] == '-' || word[0] == '+') && word[1] != '-' && strings.ContainsAny(word, "coO") && strings.Trim(word[1:], letters) == "":
				if strings.ContainsAny(word, "oO") { // the name of an option follows
					skip = i + 1
				}
				if at := i + 1 + strings.Count(strings.ToLower(word), "o"); strings.IndexByte(word, 'c') >= 0 {
					if at < len(args) {
						a.text(l, args[at], line)
					}
					return
				}
			case slices.Contains(options, word), l == powershell && slices.Contains(options, strings.ToLower(word)):
				if i+1 < len(args) {
					a.text(l, args[i+1], line)
				}
				return
			case l == powershell && len(word) > 2 && strings.HasPrefix("-encodedcommand", strings.ToLower(word)):
				if i+1 < len(args) {
					a.text(l, args[i+1].each(func(s string) (string, bool) {
						s, ok := decodeBase64(s)
						return strings.ReplaceAll(s, holeText, ""), ok
					}), line)
				}
				return
			case word == "run" && l == script: // of deno and bun
			case word == "-m" || word == "--version" || word == "-V" || word == "--check" || word == "--help":
				return
			case l == shell && word == "-s", word == "-" || word == "/dev/stdin":
				a.text(l, stdin, line)
				return
			case !strings.HasPrefix(word, "-") && !(l == powershell && strings.EqualFold(word, "bypass")):
				a.runFile(l, v, line, prose)
				return
			}
		}
	}
	if stdin != nil {
		a.text(l, stdin, line)
	}
}

// runFile is a file that is run: one of the skill, which is read as l whatever its name says, one of the project, or dynamic-exec.
func (a *auditor) runFile(l lang, v value, line int, prose bool) {
	for _, name := range v.or() {
		own := a.owns(name)
		switch {
		case own != "":
			a.ask(own, l)
		case prose:
		case strings.IndexByte(name, hole) >= 0 && !strings.HasPrefix(name, "./") || strings.HasPrefix(name, "/dev/fd") || strings.HasPrefix(name, "/tmp/"):
			a.add(Dynamic, "", line)
		default:
			a.use(Reads, name, line)
		}
	}
}

// text is code that a constant holds, or does not.
func (a *auditor) text(l lang, v value, line int) {
	if l == opaque || !v.known() {
		a.add(Dynamic, "", line)
		return
	}
	for _, src := range v {
		a.code(l, src, line)
	}
}

// join is words with sep between them.
func join(list []value, sep string) value {
	out := value{""}
	for i, v := range list {
		if i > 0 {
			out = cat(out, value{sep})
		}
		out = cat(out, v)
	}
	return out
}

// fetches notes the hosts that a program's arguments name.
func (a *auditor) fetches(program string, args []value, line int, prose bool) {
	always, fetches := fetchers()[program]
	found, missing := false, false
	roles := options()[program]
	operand := "" // the first word that is no option nor seems to be the value of one
	remote := program == "git" && len(args) > 0 && has(" clone fetch pull push remote ls-remote submodule ", args[0].or()[0])
	var before string
	for _, v := range args {
		for _, word := range v.or() {
			option := strings.HasPrefix(word, "-")
			if !fetches {
				if h, ok := host(word, false); ok && h != holeText && !ordinary()[program] {
					a.net(word, false, line)
				}
				continue
			}
			if key, val, ok := strings.Cut(word, "="); ok && option && key != "" && program != "ssh" {
				word, option = val, false
			}
			bare := always && !option && roles[before] == 0 && !slices.Contains(strings.Fields("-H --header -o --output -d --data -X --request -A --user-agent -F --form -u --user -b -c -T -w -e --data-raw --data-binary -i -p -l --max-time -m -outfile -headers -body -method -contenttype"), strings.ToLower(before)) &&
				!slices.Contains(strings.Fields("-H --header -o --output -d --data -X -A -F -u -T -w -O"), before)
			if program == "git" || program == "rsync" || program == "scp" {
				bare = strings.Contains(word, "@") && strings.Contains(word, ":") || strings.HasPrefix(word, "rsync://")
				if !bare && (program != "git" || remote) {
					if h, _, ok := strings.Cut(word, ":"); ok && !option && len(h) > 1 && !strings.Contains(word, "://") && !strings.Contains(word, "::") && !strings.ContainsAny(h, "/\x00") {
						if _, dotted := host(h, true); dotted || !prose && label(h) {
							a.add(Net, strings.ToLower(h), line)
							found = true
						}
					}
				}
			}
			if bare && operand == "" && !strings.HasPrefix(before, "-") {
				operand = word
			}
			if program == "openssl" {
				bare = before == "-connect"
			}
			if (program == "curl" || program == "wget") && before != "" && (before == "-d" || before == "--data" || before == "-F" || before == "--data-binary" || before == "--post-file" || before == "-T") {
				if i := strings.IndexByte(word, '@'); i >= 0 {
					a.use(Reads, word[i+1:], line)
				} else if before == "-T" || before == "--post-file" {
					a.use(Reads, word, line)
				}
			}
			if (program == "curl" || program == "wget") && (before == "-o" || before == "-O" && program == "wget" || before == "--output") {
				a.use(Writes, word, line)
			}
			switch {
			case option:
			case a.net(word, bare, line):
				found = true
				if before == "-x" || before == "--proxy" {
					found = false
				}
			case bare && strings.IndexByte(word, hole) >= 0:
				missing = true
			case bare && has(" curl wget ", program) && numeric(word) && !strings.HasPrefix(before, "--"):
				word, _, _ = strings.Cut(word, "/")
				a.add(Net, word, line)
				found = true
			case program == "ssh" && bare && !prose && !found && word != "" && !strings.ContainsAny(word, " /="):
				a.add(Net, strings.ToLower(word[strings.LastIndexByte(word, '@')+1:]), line)
				found = true
			}
			before = word
			if option {
				if before = v.or()[0]; (program == "curl" || program == "wget") && len(before) > 2 && before[1] != '-' {
					before = "-" + before[len(before)-1:] // of several options in one word the last may have a value
				}
			}
		}
	}
	switch {
	case !always || found || prose:
	case missing:
		a.add(Net, holeText, line)
	case has(" curl wget nc ncat netcat telnet ping ftp nmap ", program):
		name, _, _ := strings.Cut(operand, "/")
		if name, _, _ = strings.Cut(name, ":"); label(name) && strings.Trim(name, "0123456789") != "" {
			a.add(Net, strings.ToLower(name), line)
		}
	}
}

// numeric reports whether a word may be the address of a host as one number.
func numeric(s string) bool {
	s, _, _ = strings.Cut(s, "/")
	return strings.HasPrefix(s, "0x") && len(s) > 6 || len(s) > 7 && strings.Trim(s, "0123456789") == ""
}

// installs notes the packages that a package manager is told to install.
func (a *auditor) installs(program string, args []value, line int) {
	verbs, ok := managers()[program]
	if !ok {
		return
	}
	verb := ""
	if verbs != nil {
		i := slices.IndexFunc(args, func(v value) bool {
			return slices.ContainsFunc(verbs, func(verb string) bool { return slices.Contains(v, verb) })
		})
		if i < 0 || i > 2 {
			return
		}
		verb = args[i].or()[0]
		args = args[i+1:]
		if program == "uv" && verb == "pip" {
			a.installs("pip", args, line)
			return
		}
		if program == "dotnet" && len(args) > 0 {
			args = args[1:]
		}
	}
	one := verbs == nil || verb == "run" && program == "go" || program == "docker" || program == "podman" || program == "helm" || program == "pipx"
	manager := map[string]string{"pipx": "pip", "uvx": "pip", "uv": "pip", "poetry": "pip", "easy_install": "pip", "npx": "npm", "pnpm": "npm", "pnpx": "npm", "yarn": "npm", "bun": "npm", "bunx": "npm", "apt-get": "apt", "podman": "docker",
		"install-module": "psgallery", "install-package": "psgallery", "install-script": "psgallery"}[program]
	if manager == "" {
		manager = program
	}
	for i := 0; i < len(args); i++ {
		word := args[i].or()[0]
		switch {
		case strings.HasPrefix(word, "-"):
			next := ""
			if i+1 < len(args) {
				next = args[i+1].or()[0]
			}
			switch word {
			case "-r", "--requirement", "-c", "-e", "--editable":
				if own := a.owns(next); own != "" && manager == "pip" && (word == "-r" || word == "--requirement") {
					a.ask(own, listing)
				}
				if next != "" && !strings.Contains(next, "://") {
					i++
				}
			case "-p", "--package", "--from", "-Name":
				if manager == "docker" {
					i++
					break
				}
				if next != "" && !strings.HasPrefix(next, "-") {
					a.pack(manager, next, line)
					i++
				}
				if one {
					return
				}
			case "-t", "--target", "--prefix", "-v", "--volume", "--name", "-w", "--workdir", "--network", "--entrypoint", "-i", "--index-url", "--extra-index-url", "-Scope", "--version", "-u", "--user-id", "--python", "--registry", "--platform", "--id", "--source", "--env":
				if !strings.Contains(word, "=") && !(manager == "pip" && word == "-v") && !(manager == "docker" && word == "-i" || word == "-t") && word != "--user" {
					i++
				}
			}
		case strings.ContainsAny(word, "./") && a.owns(word) != "" && manager != "docker":
			a.ask(a.owns(word), opaque) // an archive of a package, which holds code
		case program == "go" && verb == "run" && strings.IndexByte(word, '@') < 0:
			return // of the project
		case word == "." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "/") || strings.HasPrefix(word, "../") || word == "&&" || word == "":
		case strings.IndexByte(word, hole) == 0:
			a.pack(manager, holeText, line)
		default:
			a.pack(manager, word, line)
			if one {
				return
			}
		}
	}
}

// pack notes a package, without its version.
func (a *auditor) pack(manager, name string, line int) {
	name = strings.Trim(name, "\"'")
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	if manager == "pip" || manager == "conda" {
		if i := strings.IndexAny(name, "=<>~![; "); i > 0 {
			name = name[:i]
		}
	}
	if manager == "docker" {
		if i := strings.LastIndexByte(name, ':'); i > strings.LastIndexByte(name, '/') {
			name = name[:i]
		}
	}
	if strings.IndexByte(name, hole) >= 0 {
		name = "*"
	}
	if name == "" || strings.ContainsAny(name, "<>{}[]()`…") {
		return
	}
	a.add(Package, manager+":"+name, line)
}

// touches notes the paths that a program's arguments name.
func (a *auditor) touches(program string, args []value, line int) {
	all := slices.Contains([]string{"rm", "mkdir", "touch", "tee", "chmod", "chown", "truncate", "shred", "rmdir", "unlink", "set-content", "add-content", "out-file", "remove-item", "new-item"}, program)
	last := slices.Contains([]string{"cp", "mv", "ln", "install", "rsync", "scp", "copy-item", "move-item", "dd"}, program)
	if program == "sed" {
		all = slices.ContainsFunc(args, func(v value) bool { return strings.HasPrefix(v.or()[0], "-i") })
	}
	if program == "echo" || program == "printf" || program == "test" || program == "[" || program == "git" || program == "cd" || program == "which" {
		return
	}
	if has(" grep egrep fgrep rg sed gsed awk gawk mawk ", program) {
		_, args = operands(program, args)
	}
	if program == "find" {
		all = slices.ContainsFunc(args, func(v value) bool { return slices.Contains(v, "-delete") })
		if i := slices.IndexFunc(args, func(v value) bool { return strings.IndexAny(v.or()[0]+" ", "-(!") == 0 }); i >= 0 {
			args = args[:i]
		}
	}
	reads := a.folder != "" && has(" cat head tail less more grep egrep fgrep rg sed awk gawk sort uniq wc cp mv zip base64 xxd od strings nl tac cut jq cmp diff tee gzip ls find tree ", program)
	if reads && len(args) == 0 && program == "ls" {
		a.use(Reads, ".", line)
	}
	for i, v := range args {
		for _, word := range v.or() {
			if key, val, ok := strings.Cut(word, "="); ok && (strings.HasPrefix(key, "-") || program == "dd") {
				word = val
			}
			looks := word == "/" && has(" find ls du rm chmod chown cp mv tar rsync tree grep rg fd cat ", program) || strings.HasPrefix(word, "~") || absolute(word) && !strings.ContainsAny(word, " ;") || strings.HasPrefix(word, "../") || strings.HasPrefix(word, "$env:")
			write := all || last && i == len(args)-1
			if program == "dd" {
				write = strings.HasPrefix(v.or()[0], "of=")
			}
			switch {
			case strings.HasPrefix(word, "-"):
			case looks && write:
				a.use(Writes, word, line)
			case looks:
				a.use(Reads, word, line)
			case write && word != "" && strings.IndexByte(word, hole) != 0:
				a.use(Writes, word, line)
			case reads && word != "" && strings.IndexByte(word, hole) != 0:
				a.use(Reads, word, line)
			case write && strings.IndexByte(word, hole) == 0:
				a.add(Writes, holeText, line)
			}
		}
	}
}

// absolute reports whether a word is a path from one of the usual directories of a machine. Others with a slash before
// them are more often of a service: gh api /repos.
func absolute(s string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(s, "/"), "/")
	return strings.HasPrefix(s, "/") && slices.Contains([]string{"etc", "var", "usr", "opt", "home", "root", "proc", "sys", "dev", "Users", "Library", "System", "private", "mnt", "media", "bin", "sbin", "lib", "srv", "run", "boot", "Applications", "tmp"}, first)
}
