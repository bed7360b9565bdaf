package audit

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// A role is what a text is to the program that gets it: as an option, an operand, a variable or a setting.
type role uint8

const (
	asLine    role = iota + 1 // a line of shell
	asAction                  // the same behind "exec="
	asCode                    // a file of code, or a library
	asFlags                   // options of an interpreter, which may load a file
	asFolders                 // a list of folders in which programs or libraries are looked for
	asHosts                   // addresses
	asMapped                  // HOST:PORT:HOST:PORT of curl
	asListed                  // a file that names addresses
	asSetting                 // NAME=VALUE or NAME VALUE, a setting of the program
	asInput                   // a file that is read
	asOutput                  // a file that is written
	asFile                    // a file of code of a language that is not read
	asEditor                  // commands of vi
	asOther                   // code of a language that is not read
	asPrompt                  // a text in which a shell runs what is between $( and )
)

// rolesOf reads "NAME ROLE word word …" lines into the role of each word of a name.
func rolesOf(table string) map[string]map[string]role {
	kinds := strings.Fields("none line action code flags folders hosts mapped listed setting input output file editor other prompt")
	m := map[string]map[string]role{}
	for text := range strings.Lines(table) {
		fields := strings.Fields(text)
		if len(fields) == 0 {
			continue
		}
		if m[fields[0]] == nil {
			m[fields[0]] = map[string]role{}
		}
		for _, word := range fields[2:] {
			m[fields[0]][word] = role(slices.Index(kinds, fields[1]))
		}
	}
	return m
}

// options are the options of programs whose value acts. "git rebase" is the program git with the command rebase.
var options = sync.OnceValue(func() map[string]map[string]role {
	return rolesOf(`
	tar line -I --use-compress-program --to-command -F --info-script --new-volume-script --rsh-command --rmt-command
	tar action --checkpoint-action
	sort line --compress-program
	split line --filter
	zip line -TT --unzip-command
	rsync line -e --rsh --rsync-path
	scp line -S
	scp setting -o
	sftp line -S -D
	sftp setting -o
	ssh setting -o
	ssh hosts -J
	ssh file -F
	ssh code -I
	scp file -F
	sftp file -F
	git setting -c
	git line --upload-pack --receive-pack --exec --extcmd --open-files-in-pager --tree-filter --index-filter --msg-filter --env-filter --commit-filter --parent-filter --tag-name-filter --setup --sendmail-cmd --to-cmd --cc-cmd
	git code --exec-path --template
	git hosts --smtp-server
	git-rebase line -x
	git-difftool line -x
	git-clone line -u
	git-clone setting --config
	man line -P --pager -H --html
	mapfile line -C
	readarray line -C
	complete line -C
	compgen line -C
	hash line -p
	enable code -f
	su line -c --command
	runuser line -c --command
	flock line -c --command
	script line -c --command
	nc line -e -c
	ncat line -e -c --exec --sh-exec
	ncat code --lua-exec
	ncat hosts --proxy
	netcat line -e -c
	nix-shell line --run --command
	nix line --command
	wget code --config
	wget listed -i --input-file
	wget setting -e --execute
	curl listed -K --config
	curl hosts -x --proxy --preproxy --socks4 --socks4a --socks5 --socks5-hostname --doh-url --proxy1.0
	curl mapped --connect-to --resolve
	pip hosts -i --index-url --extra-index-url --proxy -f --find-links
	uv hosts --index-url --extra-index-url --default-index --index --find-links
	uvx hosts --index-url --extra-index-url --default-index --index --find-links
	pipx hosts --index-url -i
	npm hosts --registry --proxy --https-proxy
	npm line --script-shell --node-options --git --editor
	npx hosts --registry
	npx line -c --call --script-shell
	pnpm hosts --registry
	yarn hosts --registry
	bun hosts --registry
	gem hosts --source -s
	cargo hosts --index
	cargo setting --config
	node code -r --require --import --loader --experimental-loader
	gdb file -x --command
	gdb other -ex -iex --eval-command
	vim editor -c --cmd
	vim file -S -s -u
	emacs other --eval --execute -eval
	emacs file -l --load --script -q
	strace action -o
	openssl code -engine -provider
	find output -fprint -fprint0 -fprintf -fls
	find input -files0-from
	awk file -f --file
	awk code -l --load -i --include
	sed file -f --file
	make line SHELL
	`)
})

// variables are the variables of the environment whose value acts, and settings those of programs that take some, in
// lower case. A setting that ends in "." stands for all that begin so, one that begins with "." for all that end so.
var variables = sync.OnceValue(func() map[string]map[string]role {
	return rolesOf(`
	env line GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS SSH_ASKPASS SUDO_ASKPASS PAGER MANPAGER SYSTEMD_PAGER SYSTEMD_EDITOR
	env line EDITOR VISUAL FCEDIT BROWSER LESSOPEN LESSCLOSE RSYNC_RSH RSYNC_CONNECT_PROG CVS_RSH SVN_SSH SVN_EDITOR HGEDITOR KUBE_EDITOR GH_EDITOR GH_PAGER GH_BROWSER AWS_PAGER PROMPT_COMMAND
	env line CC CXX CPP LD RUSTC RUSTC_WRAPPER
	env code BASH_ENV ENV LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PYTHONSTARTUP PYTHONHOME ZDOTDIR OPENSSL_CONF GCONV_PATH GIT_EXEC_PATH GIT_TEMPLATE_DIR GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM INPUTRC PERL5DB
	env flags NODE_OPTIONS PERL5OPT RUBYOPT JAVA_TOOL_OPTIONS _JAVA_OPTIONS JDK_JAVA_OPTIONS GIT_CONFIG_PARAMETERS
	env prompt PS0 PS1 PS2 PS4 PROMPT RPROMPT
	env folders PATH PYTHONPATH NODE_PATH PERL5LIB PERLLIB RUBYLIB CLASSPATH LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FRAMEWORK_PATH
	env hosts HTTP_PROXY HTTPS_PROXY ALL_PROXY FTP_PROXY PIP_INDEX_URL PIP_EXTRA_INDEX_URL PIP_PROXY UV_INDEX_URL UV_EXTRA_INDEX_URL UV_DEFAULT_INDEX UV_INDEX NPM_CONFIG_REGISTRY GOPROXY DOCKER_HOST HF_ENDPOINT
	git line core.sshcommand core.pager core.editor core.askpass core.gitproxy core.fsmonitor core.alternaterefscommand diff.external sequence.editor gpg.program uploadpack.packobjectshook pager. .cmd .textconv .clean .smudge .process .program .driver .command .helper .uploadpack .receivepack .packobjectshook
	git code core.hookspath init.templatedir include.path core.attributesfile .vcs protocol.ext.allow
	git hosts .proxy .url .pushurl
	ssh line proxycommand localcommand knownhostscommand
	ssh code pkcs11provider securitykeyprovider include
	ssh hosts proxyjump hostname
	wget hosts http_proxy https_proxy ftp_proxy
	wget line use_askpass
	cargo line .linker .runner .rustc .rustc-wrapper
	`)
})

// programs that have settings of another.
func settingsOf(program string) string {
	if program == "scp" || program == "sftp" {
		return "ssh"
	}
	return program
}

// roleOf is the role of a setting.
func roleOf(program, name string) role {
	table := variables()[program]
	name = strings.ToLower(name)
	if r, ok := table[name]; ok {
		return r
	}
	if i := strings.IndexByte(name, '.'); i > 0 {
		if r, ok := table[name[:i+1]]; ok {
			return r
		}
		return table[name[strings.LastIndexByte(name, '.'):]]
	}
	return 0
}

// acts notes what the values of a program's options do.
func (a *auditor) acts(program string, args []value, at int, prose bool) {
	switch program {
	case "gawk", "mawk", "nawk":
		program = "awk"
	case "vi", "nvim", "view", "gvim", "ex", "vimdiff", "gsed", "gtar":
		program = map[string]string{"gsed": "sed", "gtar": "tar"}[program]
		if program == "" {
			program = "vim"
		}
	}
	tables := []map[string]role{options()[program]}
	if program == "git" {
		for i, v := range args {
			if word := v.or()[0]; word == "config" {
				a.configures(args[i+1:], at, prose)
				break
			} else if table := options()["git-"+word]; table != nil {
				tables = append(tables, table)
				break
			}
		}
	}
	started := false // by git: what follows is read once
	for i, v := range args {
		if started || !has(" git vim less make gmake ", program) {
			break
		}
		word := v.or()[0]
		switch {
		case program == "git" && has(" run foreach ", word) && i > 0 && has(" bisect submodule ", args[i-1].or()[0]) && i+1 < len(args):
			started = true
			for _, s := range join(args[i+1:], " ") {
				a.lineOf(s, at, prose)
			}
		case program == "git" && strings.HasPrefix(word, "ext::"):
			a.lineOf(word[len("ext::"):], at, prose)
		case (program == "vim" || program == "less") && strings.HasPrefix(word, "+"):
			a.acting(asEditor, program, value{word[1:]}, at, prose)
		}
		if name, val, ok := strings.Cut(word, "="); ok && (program == "make" || program == "gmake") {
			a.set("env", name, value{val}, at, prose)
		}
	}
	for _, table := range tables {
		for i, v := range args {
			if table == nil || strings.HasPrefix(v.or()[0], "--") && len(v.or()[0]) == 2 {
				break
			}
			for _, word := range v.or() {
				r, val, next := optionIn(table, word)
				switch {
				case r == 0:
				case !next:
					a.acting(r, program, value{val}, at, prose)
				case i+1 < len(args):
					a.acting(r, program, args[i+1], at, prose)
				}
			}
		}
	}
}

// optionIn is the role of the option that a word is, and its value if that is of the same word. A long option may be
// shortened, and short ones be joined.
func optionIn(table map[string]role, word string) (r role, val string, next bool) {
	if len(word) < 2 || word[0] != '-' && word[0] != '+' && strings.IndexByte(word, '=') < 0 {
		return 0, "", false
	}
	name, val, joined := strings.Cut(word, "=")
	if r, ok := table[name]; ok {
		return r, val, !joined
	}
	if strings.HasPrefix(word, "--") {
		least := ""
		for full := range table {
			if len(name) > 5 && strings.HasPrefix(full, name) && (least == "" || full < least) {
				least = full
			}
		}
		return table[least], val, !joined
	}
	if r, ok := table[word[:2]]; ok && len(word) > 2 {
		return r, word[2:], false
	}
	r = table["-"+word[len(word)-1:]]
	return r, "", true
}

// configures is git config with a name and a value.
func (a *auditor) configures(args []value, at int, prose bool) {
	for i, v := range args {
		if name := v.or()[0]; !strings.HasPrefix(name, "-") && strings.IndexByte(name, '.') > 0 && i+1 < len(args) {
			a.set("git", name, args[i+1], at, prose)
			return
		}
	}
}

// set notes what a setting of a program does, or a variable of "env".
func (a *auditor) set(program, name string, v value, at int, prose bool) {
	if program == "git" && strings.HasPrefix(strings.ToLower(name), "alias.") || strings.HasSuffix(strings.ToLower(name), ".helper") {
		for _, s := range v.or() {
			switch shellOf, ok := strings.CutPrefix(s, "!"); {
			case ok:
				a.acting(asLine, program, value{shellOf}, at, prose)
			case strings.HasPrefix(s, "/") || strings.IndexByte(s, hole) == 0 && !strings.HasPrefix(name, "alias."):
				a.acting(asLine, program, value{s}, at, prose)
			}
		}
		return
	}
	if program == "env" {
		a.acting(variableRole(name), program, v, at, prose)
		return
	}
	a.acting(roleOf(program, name), program, v, at, prose)
}

// variableRole is the role of a variable of the environment.
func variableRole(name string) role {
	if r, ok := variables()["env"][name]; ok {
		return r
	}
	if strings.HasSuffix(name, "_proxy") || strings.HasPrefix(name, "npm_config_") {
		return variables()["env"][strings.ToUpper(name)]
	}
	if strings.HasPrefix(name, "GIT_CONFIG_KEY_") {
		return asCode
	}
	return 0
}

// acting notes what a text does that has a role.
func (a *auditor) acting(r role, program string, v value, at int, prose bool) {
	for _, s := range v.or() {
		switch r {
		case asLine:
			if s != "true" && s != "false" && s != "none" && s != "1" && s != "0" {
				a.lineOf(strings.TrimPrefix(s, "!"), at, prose)
			}
		case asAction:
			if cmd, ok := strings.CutPrefix(s, "exec="); ok {
				a.lineOf(cmd, at, prose)
			} else if cmd, ok := strings.CutPrefix(s, "|"); ok {
				a.lineOf(cmd, at, prose)
			}
		case asCode:
			a.loads(s, at, prose)
		case asFlags:
			if loading.get().MatchString(s) || strings.IndexByte(s, hole) == 0 && !prose {
				a.add(Dynamic, "", at)
			}
		case asFolders:
			a.searches(s, at, prose)
		case asHosts:
			for _, h := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '|' }) {
				if strings.IndexByte(h, hole) == 0 && prose || strings.HasPrefix(h, "unix:") || h == "direct" || h == "off" {
					continue
				}
				if _, after, ok := strings.Cut(h, "="); ok && !strings.Contains(h, "://") {
					h = after
				}
				a.speaksTo(h, at)
			}
		case asMapped:
			if parts := strings.Split(s, ":"); len(parts) > 2 {
				a.speaksTo(parts[2], at)
			} else {
				a.add(Net, holeText, at)
			}
		case asListed:
			a.use(Reads, s, at)
			a.add(Net, holeText, at)
		case asSetting:
			if i := strings.IndexAny(s, "= "); i > 0 {
				a.set(settingsOf(program), strings.TrimSpace(s[:i]), value{strings.TrimSpace(s[i+1:])}, at, prose)
			}
		case asFile:
			a.runFile(opaque, value{s}, at, prose)
		case asEditor:
			if i := strings.IndexByte(s, '!'); i >= 0 {
				a.lineOf(s[i+1:], at, prose)
			}
			if strings.Contains(s, "system(") || editing.get().MatchString(s) {
				a.add(Dynamic, "", at)
			}
		case asPrompt:
			if strings.Contains(s, "$(") || strings.IndexByte(s, '`') >= 0 {
				a.lineOf(": \""+s+"\"", at, prose)
			}
		case asOther:
			a.add(Dynamic, "", at)
		case asInput:
			a.use(Reads, s, at)
		case asOutput:
			a.use(Writes, s, at)
		}
	}
}

// loading are options that make an interpreter load a file or run a text.
var loading = pattern{text: `(?:^|[\s'"])(?:-r|--?require|--import|--loader|--experimental-loader|--inspect|-[MmIeE]|-javaagent|-agentlib|-agentpath|-Xbootclasspath|--env-file|@)`}

// editing are commands of vi that run code.
var editing = pattern{text: `(?:^|[:|\s])(?:so|source|lua|luafile|py|py3|python3?|perl|ruby|exe|execute)\b`}

// lineOf reads a line of shell that may have holes. In prose a line that is all hole is a placeholder.
func (a *auditor) lineOf(s string, at int, prose bool) {
	if strings.Trim(s, holeText+" ") == "" {
		if !prose && strings.TrimSpace(s) != "" {
			a.add(Dynamic, "", at)
		}
		return
	}
	a.code(shell, strings.ReplaceAll(s, holeText, "${1}"), at)
}

// loads notes a file of code that a program loads, which is not read.
func (a *auditor) loads(s string, at int, prose bool) {
	switch {
	case s == "" || s == "/dev/null" || prose && strings.IndexByte(s, hole) >= 0 || !strings.ContainsAny(s, "/.~\x00"):
	case a.owns(s) != "":
		if _, known := languages()[strings.TrimPrefix(path.Ext(s), ".")]; !known {
			a.ask(a.owns(s), opaque)
		}
	default:
		a.add(Dynamic, "", at)
	}
}

// speaksTo notes an address of any form: a URL, a host with or without a port.
func (a *auditor) speaksTo(s string, at int) {
	if s == "" || a.net(s, true, at) {
		return
	}
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		rest = s
	}
	name, _, _ := strings.Cut(rest[strings.LastIndexByte(rest, '@')+1:], ":")
	if name, _, _ = strings.Cut(name, "/"); label(name) {
		a.add(Net, strings.ToLower(name), at)
	} else if !strings.HasPrefix(s, "/") && !strings.HasPrefix(s, ".") {
		a.add(Net, holeText, at)
	}
}

// label reports whether a word is a host without a domain.
func label(s string) bool {
	return s != "" && s[0] != '-' && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-") == ""
}

// searches notes that programs or libraries are first looked for in a folder of which nobody knows what is in it.
func (a *auditor) searches(list string, at int, prose bool) {
	for _, dir := range strings.Split(list, ":") {
		switch {
		case strings.Trim(dir, "$") == "": // what it was
			return
		case strings.IndexByte(dir, hole) >= 0 && prose, !strings.ContainsAny(dir, "/~\x00"):
		case strings.IndexByte(dir, hole) == 0:
			a.add(Dynamic, "", at)
		case dir[0] != '/' && dir[0] != '~':
		case installed.get().MatchString(dir), prose && strings.HasPrefix(dir, "~/"):
		default:
			a.add(Dynamic, "", at)
		}
	}
}

// installed are folders of what was installed.
var installed = pattern{text: `^(?:/(?:usr|bin|sbin|opt|snap|nix|lib|Library|System|Applications|home/linuxbrew)(?:/|$)|~/(?:\.[\w-]+/|go/|Library/)(?:[^/]+/)*(?:bin|lib|shims|current|scripts)/?$|~/bin/?$)`}
