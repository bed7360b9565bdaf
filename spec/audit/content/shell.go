package content

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/skl-project/skl/spec/audit"
)

const (
	shellFences list = " bash sh shell zsh console ksh dash shell-session terminal "
	shellFiles  list = " .sh .bash .zsh .ksh "
	wrappers    list = " sudo doas env nohup time command exec timeout nice setsid builtin stdbuf ionice "
	valued      list = " -u -g -n -I -i -P -L -s -d -E " // options of wrappers that take a value
	passers     list = " cat echo printf base64 base32 xxd od hexdump gzip gunzip bzip2 xz zstd tar zip gpg openssl head tail tr sed awk cut paste tee jq grep sort rev fold split dd strings uuencode cp mv ln install 7z age "
	posters     list = " curl wget http https xh aria2c iwr irm invoke-webrequest invoke-restmethod "
	pourers     list = " nc ncat netcat socat telnet ssh mail mailx mutt sendmail websocat http https xh lftp ftp sftp "
	copiers     list = " scp rsync sftp rclone gsutil s3cmd aws gcloud "
	givers      list = " mc az wormhole croc ftp-upload ncftpput gh glab lftp "
	resolvers   list = " dig nslookup host drill kdig ping ping6 getent traceroute whois "
)

// Limits of what is followed in shell.
const (
	maxShellDepth   = 500
	maxShellText    = 4096 // bytes of a word
	maxShellRetries = 8    // of a part that is no shell in places
	maxShellPart    = 1 << 16
)

// A stream is what comes out of a command, or is in a file or a variable.
type stream struct {
	secret string // the file of credentials that it is from
	hosts  []hostClass
	text   string // the command that fetched it
}

func (a stream) and(b stream) stream {
	if a.secret == "" {
		a.secret = b.secret
	}
	if a.text == "" {
		a.hosts, a.text = b.hosts, b.text
	}
	return a
}

// A tracer follows streams through a text of shell, in the order of its statements.
type tracer struct {
	*scan
	base, line int  // before the first line of the text, and of the statement
	prose      bool // it stands in Markdown
	depth      int
	vars       map[string]word
	files      map[string]stream
}

// A word is an argument: its text, in which what is not known is a NUL, and what is in it.
type word struct {
	text string
	stream
}

// pipelines follows what shell reads and fetches through pipes, files and variables to where it is sent or run.
func (s *scan) pipelines(f audit.File) {
	s.path = f.Path
	switch ext := extension(f.Path); {
	case len(f.Data) > audit.MaxFileBytes && ext != ".md":
	case shellFiles.has(ext), ext == "" && bytes.HasPrefix(f.Data, []byte("#!")) && bytes.Contains(f.Data[:min(len(f.Data), 60)], []byte("sh\n")):
		s.follow(f.Data, 0, false)
	case ext == ".md" || ext == ".mdx" || ext == ".markdown":
		fence, start, number, at, opened := "", 0, 0, 0, 0
		shell := false
		for line := range bytes.Lines(f.Data) {
			number++
			at += len(line)
			row := bytes.TrimLeft(line, " \t>")
			switch {
			case fence == "" && (bytes.HasPrefix(row, []byte("```")) || bytes.HasPrefix(row, []byte("~~~"))):
				n := len(row) - len(bytes.TrimLeft(row, string(row[:1])))
				info, _, _ := strings.Cut(strings.TrimLeft(strings.ToLower(string(bytes.TrimSpace(row[n:min(len(row), n+40)]))), "{. "), " ")
				fence, start, shell = string(row[:n]), at, info == "" || shellFences.has(info)
				opened = number
			case fence != "" && bytes.HasPrefix(row, []byte(fence)) && len(bytes.Trim(row, fence[:1]+" \r\n")) == 0:
				if shell {
					s.follow(f.Data[start:at-len(line)], opened, true)
				}
				fence = ""
			}
		}
	}
}

// follow reads a text of shell that stands behind a number of lines.
func (s *scan) follow(src []byte, base int, prose bool) {
	if !worth(src) {
		return
	}
	if prose && bytes.Contains(src, []byte("$ ")) {
		src = bytes.ReplaceAll(append([]byte("\n"), src...), []byte("\n$ "), []byte("\n"))[1:]
	}
	t := &tracer{scan: s, base: base, prose: prose, vars: map[string]word{"HOME": {text: "~"}}, files: map[string]stream{}}
	for len(src) > 0 {
		part := src
		if len(part) > maxShellPart {
			part = part[:bytes.LastIndexByte(part[:maxShellPart], '\n')+1]
		}
		if len(part) == 0 { // one line of data, behind which there is more to read
			i := bytes.IndexByte(src, '\n')
			if i < 0 {
				return
			}
			src = src[i+1:]
			t.base, base = base+1, base+1
			continue
		}
		src = src[len(part):]
		lines := bytes.Count(part, []byte("\n"))
		t.part(part)
		t.base, base = base+lines, base+lines
	}
}

// part reads a part of a text. What is no shell in it is left out.
func (t *tracer) part(src []byte) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for range maxShellRetries {
		last, failed := 0, false
		for n, err := range parser.StmtsSeq(bytes.NewReader(src)) {
			if failed = failed || err != nil; failed {
				continue // the parser may go on behind an error, and must not be left there
			}
			last = int(n.End().Line())
			t.stmt(n, stream{})
		}
		if !failed {
			return
		}
		for range max(last, 1) { // behind what was read, or the line that is no shell
			_, rest, ok := bytes.Cut(src, []byte("\n"))
			if !ok {
				return
			}
			src = rest
			t.base++
		}
	}
}

// telling are parts of a text of shell that fetches something, of one that runs something, and of one that reads a file of credentials.
var telling = sync.OnceValue(func() (t struct{ fetch, run, key [][]byte }) {
	parts := func(list ...string) (out [][]byte) {
		for _, p := range list {
			out = append(out, []byte(p))
		}
		return out
	}
	t.fetch = parts("curl", "wget", "aria2c")
	t.run = parts("chmod", "install -m", "bash", "zsh", "sh ", "sh\n", "sh\"", "eval", "source ", "\n. ", "; . ", "& . ", "python", "node ", "perl", "ruby", "php", "deno", "bun ", "pwsh")
	t.key = append(parts("credentials", ".ssh", "okens.json", ".vault-token", "_history", ".config/", "keychain", ".npmrc", ".pypirc", "wallet", "logins.json", "key4.db", "auth.json"), secretParts...)
	return t
})

// worth reports whether there may be something to follow in a text.
func worth(src []byte) bool {
	has := func(list [][]byte) bool {
		return slices.ContainsFunc(list, func(part []byte) bool { return bytes.Contains(src, part) })
	}
	t := telling()
	return has(t.key) || has(t.fetch) && has(t.run)
}

func (t *tracer) stmts(list []*syntax.Stmt, in stream) (out stream) {
	for _, n := range list {
		out = out.and(t.stmt(n, in))
	}
	return out
}

// stmt is what a statement prints that is given in.
func (t *tracer) stmt(n *syntax.Stmt, in stream) (out stream) {
	if n == nil || t.depth > maxShellDepth {
		return stream{}
	}
	t.depth++
	defer func() { t.depth-- }()
	var to []word
	for _, r := range n.Redirs {
		switch r.Op {
		case syntax.RdrIn, syntax.RdrInOut:
			w := t.word(r.Word)
			in = w.stream.and(t.file(w.text))
		case syntax.Hdoc, syntax.DashHdoc:
			in = t.puts(t.word(r.Hdoc))
		case syntax.WordHdoc:
			in = t.puts(t.word(r.Word))
		case syntax.DplIn, syntax.DplOut:
		default:
			to = append(to, t.word(r.Word))
		}
	}
	out = t.cmd(n.Cmd, in)
	t.line = t.base + int(n.Pos().Line())
	for _, w := range to {
		if strings.HasPrefix(w.text, "/dev/tcp/") || strings.HasPrefix(w.text, "/dev/udp/") {
			host, _, _ := strings.Cut(w.text[9:], "/")
			t.sent(out, host, "… > "+w.text)
		} else if !strings.HasPrefix(w.text, "/dev/") {
			t.files[fileBase(w.text)] = out
		}
	}
	if len(to) > 0 {
		return stream{}
	}
	return out
}

// puts is what stands in a text for sftp and its like: the file that a line of it puts.
func (t *tracer) puts(w word) stream {
	fields := strings.Fields(w.text[:min(len(w.text), maxShellText)])
	for i, f := range fields {
		if i > 0 && (fields[i-1] == "put" || fields[i-1] == "-r") {
			w.stream = w.stream.and(t.file(f))
		}
	}
	return w.stream
}

func (t *tracer) cmd(n syntax.Command, in stream) (out stream) {
	switch n := n.(type) {
	case *syntax.CallExpr:
		t.assign(n.Assigns)
		var words []word
		for _, a := range n.Args {
			words = append(words, t.word(a))
		}
		t.line = t.base + int(n.Pos().Line())
		return t.call(words, in)
	case *syntax.DeclClause:
		t.assign(n.Args)
	case *syntax.BinaryCmd:
		if n.Op == syntax.Pipe || n.Op == syntax.PipeAll {
			return t.stmt(n.Y, t.stmt(n.X, in))
		}
		out = t.stmt(n.X, in)
		return out.and(t.stmt(n.Y, in))
	case *syntax.Block:
		return t.stmts(n.Stmts, in)
	case *syntax.Subshell:
		return t.stmts(n.Stmts, in)
	case *syntax.FuncDecl:
		t.stmt(n.Body, in)
	case *syntax.TimeClause:
		return t.stmt(n.Stmt, in)
	case *syntax.IfClause:
		for ; n != nil && t.depth < maxShellDepth; n = n.Else {
			out = out.and(t.stmts(n.Cond, in)).and(t.stmts(n.Then, in))
		}
	case *syntax.WhileClause:
		t.stmts(n.Cond, in)
		return t.stmts(n.Do, in)
	case *syntax.ForClause:
		if loop, ok := n.Loop.(*syntax.WordIter); ok && loop.Name != nil {
			all := word{text: "\x00" + loop.Name.Value}
			for _, i := range loop.Items {
				w := t.word(i)
				all.stream = all.stream.and(w.stream)
			}
			t.vars[loop.Name.Value] = all
		}
		return t.stmts(n.Do, in)
	case *syntax.CaseClause:
		for _, item := range n.Items {
			out = out.and(t.stmts(item.Stmts, in))
		}
	}
	return out
}

func (t *tracer) assign(list []*syntax.Assign) {
	for _, a := range list {
		if a.Name == nil || a.Value == nil {
			continue
		}
		w := t.word(a.Value)
		if strings.IndexByte(w.text, 0) >= 0 || len(w.text) > maxShellText { // it is itself, whatever its value is
			w.text = "\x00" + a.Name.Value
		}
		t.vars[a.Name.Value] = w
	}
}

// word reads a word, and runs what is in it.
func (t *tracer) word(w *syntax.Word) (out word) {
	if w == nil {
		return out
	}
	var b strings.Builder
	var parts func([]syntax.WordPart)
	parts = func(list []syntax.WordPart) {
		for _, p := range list {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(p.Value)
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				parts(p.Parts)
			case *syntax.ParamExp:
				v := word{text: "\x00"}
				if p.Param != nil {
					if known, ok := t.vars[p.Param.Value]; ok {
						v = known
					}
				}
				if b.Len() < maxShellText {
					b.WriteString(v.text)
				}
				out.stream = out.stream.and(v.stream)
			case *syntax.CmdSubst:
				out.stream = out.stream.and(t.stmts(p.Stmts, stream{}))
				b.WriteByte(0)
			case *syntax.ProcSubst:
				out.stream = out.stream.and(t.stmts(p.Stmts, stream{}))
				b.WriteByte(0)
			default:
				b.WriteByte(0)
			}
		}
	}
	parts(w.Parts)
	out.text = b.String()
	return out
}

// file is what is in a file.
func (t *tracer) file(p string) stream {
	if p = strings.TrimRight(p, "/"); t.isSecret(p) {
		return stream{secret: p}
	}
	return t.files[fileBase(p)]
}

// call is what a program prints.
func (t *tracer) call(words []word, in stream) (out stream) {
	words, in, each := unwrapped(words, in)
	if len(words) == 0 {
		return in
	}
	name, args := strings.ToLower(path.Base(words[0].text)), words[1:]
	line := make([]string, len(words))
	for i, w := range words {
		line[i] = w.text
	}
	text := strings.Join(line, " ")
	t.runsWhat(words, in, text)
	t.sendsWhat(name, args, in, each, text)
	switch {
	case name == "read" && len(args) > 0:
		t.vars[args[len(args)-1].text] = word{"\x00", in}
	case posters.has(name):
		got := stream{hosts: t.hostsIn(line[1:]), text: text}
		if file := saved(name, line[1:]); file != "" {
			t.files[fileBase(file)] = got
			return stream{}
		}
		return got
	case passers.has(name):
		out = in
		for _, a := range args {
			out = out.and(a.stream).and(t.file(a.text[strings.LastIndexByte(a.text, '=')+1:]))
		}
		if out.secret == "" && out.text == "" || name == "echo" || name == "printf" || name == "cat" {
			return out
		}
		for _, a := range args { // one of these is where it writes
			if file := a.text[strings.LastIndexByte(a.text, '=')+1:]; file != "" && file[0] != '-' && !t.isSecret(file) {
				t.files[fileBase(file)] = out
			}
		}
	}
	return out
}

// unwrapped is a command without the programs that only start it. Those of xargs have what comes in as arguments.
func unwrapped(words []word, in stream) (rest []word, input stream, each stream) {
	for len(words) > 0 {
		name := strings.ToLower(path.Base(words[0].text))
		if name != "xargs" && !wrappers.has(name) {
			break
		}
		if name == "xargs" {
			each, in = in, stream{}
		}
		words = words[1:]
		for len(words) > 0 {
			w := words[0].text
			if strings.HasPrefix(w, "-") && valued.has(w) && !(w == "-E" && name == "sudo") && len(words) > 1 {
				words = words[1:]
			} else if !strings.HasPrefix(w, "-") && !(name == "env" && strings.Contains(w, "=")) && !(name == "timeout" && w != "" && w[0] >= '0' && w[0] <= '9') {
				break
			}
			words = words[1:]
		}
	}
	return words, in, each
}

// saved is the file that a fetcher writes, "" for none.
func saved(name string, args []string) string {
	remote := name == "wget" || name == "aria2c"
	short := byte('o')
	if name == "wget" {
		short = 'O'
	}
	for i, a := range args {
		key, value, ok := strings.Cut(a, "=")
		switch {
		case key == "--output" || key == "--output-document" || strings.EqualFold(key, "-OutFile") || key == "--out":
			if !ok && i+1 < len(args) {
				value = args[i+1]
			}
		case len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, short) > 0:
			if value = a[strings.IndexByte(a, short)+1:]; value == "" && i+1 < len(args) {
				value = args[i+1]
			}
		default:
			remote = remote || a == "--remote-name" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.IndexByte(a, 'O') > 0
			continue
		}
		if value == "-" || value == "/dev/stdout" {
			return ""
		}
		return value
	}
	if remote {
		for _, a := range args {
			if strings.Contains(a, "://") {
				return path.Base(a)
			}
		}
	}
	return ""
}

// runsWhat judges a command that runs what was fetched: a file, a text, or what comes in.
func (t *tracer) runsWhat(words []word, in stream, text string) {
	name, args := strings.ToLower(path.Base(words[0].text)), words[1:]
	run := words[0].stream
	if strings.ContainsAny(words[0].text, "/\x00") {
		run = run.and(t.files[fileBase(words[0].text)])
	}
	if runners.has(name) {
		file := false
		for i, a := range args {
			if name == "eval" || i > 0 && (args[i-1].text == "-c" || args[i-1].text == "-e") {
				run, file = run.and(a.stream), true
				if secret := readsSecret([]byte(a.text)); secret != "" && (strings.Contains(a.text, "://") || strings.Contains(a.text, "socket")) {
					t.sent(stream{secret: secret}, "", text)
				}
				break
			}
			if a.text == "-m" || a.text == "-p" || a.text == "-n" || a.text == "-ne" || a.text == "-pe" {
				file = true
				break
			}
			if a.text != "" && a.text[0] != '-' {
				run, file = run.and(a.stream).and(t.files[fileBase(a.text)]), true
				break
			}
		}
		if !file {
			run = run.and(in)
		}
	}
	if run.text != "" && len(run.hosts) > 0 {
		t.fetchRun(run.hosts, t.line, t.prose, run.text+"; "+text)
	}
}

// sendsWhat judges a command that takes a file of credentials to another machine.
func (t *tracer) sendsWhat(name string, args []word, in, each stream, text string) {
	switch {
	case posters.has(name):
		t.posts(name, args, in, each, text)
	case resolvers.has(name):
		for _, a := range args {
			each = each.and(a.stream)
		}
		t.sent(each, "", text)
		return
	case copiers.has(name):
		t.copies(name, args, text)
	case givers.has(name):
		give := each
		for _, a := range args {
			give = give.and(a.stream).and(t.file(a.text))
		}
		if give.secret != "" && givesAway(name, args) {
			t.sent(give.and(in), "", text)
		} else if givesAway(name, args) {
			t.sent(in, "", text)
		}
	}
	if pourers.has(name) || name == "openssl" && len(args) > 0 && args[0].text == "s_client" {
		host := ""
		for _, a := range args {
			if strings.Contains(a.text, ".") && host == "" {
				_, host, _ = strings.Cut("@"+a.text, "@")
			}
		}
		t.sent(in, host, text)
	}
}

// givesAway reports whether a client of a service is told to put something there.
func givesAway(name string, args []word) bool {
	return !(name == "gh" || name == "glab" || name == "az" || name == "mc" || name == "wormhole" || name == "croc") || slices.ContainsFunc(args, func(a word) bool {
		switch a.text {
		case "gist", "snippet", "upload", "upload-batch", "cp", "mirror", "put", "send", "pipe":
			return true
		}
		return false
	})
}

// posts judges a client of HTTP: a file that it uploads, and what is in its arguments but for those that log in.
func (t *tracer) posts(name string, args []word, in, each stream, text string) {
	give, host := each, ""
	for i, a := range args {
		before := ""
		if i > 0 {
			before = args[i-1].text
		}
		key, value, _ := strings.Cut(a.text, "=")
		lower := strings.ToLower(a.text)
		switch {
		case before == "-u" || before == "--user" || before == "-b" || before == "--oauth2-bearer" || strings.HasPrefix(a.text, "--header") && strings.Contains(lower, "auth"):
		case (before == "-H" || before == "--header") && (strings.Contains(lower, "auth") || strings.Contains(lower, "token") || strings.Contains(lower, "key")):
		case before == "-T" || before == "--upload-file" || before == "--post-file" || before == "--body-file":
			give = give.and(a.stream).and(t.file(a.text))
			if a.text == "-" || a.text == "." {
				give = give.and(in)
			}
		case key == "--upload-file" || key == "--post-file" || key == "--body-file":
			give = give.and(t.file(value))
		case strings.Contains(a.text, "://"):
			_, host, _ = strings.Cut(a.text, "://")
			give = give.and(a.stream)
		default:
			give = give.and(a.stream)
			if _, file, ok := strings.Cut(a.text, "@"); ok {
				file, _, _ = strings.Cut(file, ";")
				if give = give.and(t.file(file)); file == "-" || file == "/dev/stdin" {
					give = give.and(in)
				}
			}
		}
	}
	t.sent(give, host, text)
}

// copies judges a program that copies files to the last of its arguments, if that is on another machine.
func (t *tracer) copies(name string, args []word, text string) {
	var give stream
	to := ""
	for i, a := range args {
		if strings.HasPrefix(a.text, "-") {
			continue
		}
		if i > 0 {
			switch args[i-1].text {
			case "-i", "-e", "-F", "-o", "-S", "-J", "-P", "-p", "--rsh", "--config", "--exclude", "--include", "--exclude-from", "--profile", "--password-file":
				continue
			}
		}
		if to != "" && !strings.Contains(to, ":") {
			give = give.and(t.file(to))
		}
		to = a.text
	}
	if colon := strings.IndexByte(to, ':'); colon > 1 && strings.IndexByte(to[:colon], '/') < 0 {
		host := to[:colon]
		if strings.HasPrefix(to[colon:], "://") {
			host = to[colon+3:]
		}
		_, at, ok := strings.Cut(host, "@")
		if ok {
			host = at
		}
		if name != "scp" && name != "rsync" && name != "sftp" {
			host = ""
		}
		t.sent(give, host, text)
	}
}

// sent notes that a stream goes to a host, "" for one that is not known, if credentials are in it.
func (t *tracer) sent(what stream, host, text string) {
	if what.secret == "" {
		return
	}
	severity, to := High, "a host"
	if host, _, _ = strings.Cut(strings.ToLower(host), "/"); host != "" {
		to = host
		if t.prose && t.rules.address(host).has(t.rules.class.place) {
			severity = Medium
		}
	}
	t.add("AUD-EXFILTRATE", severity, t.line, 0, "sends "+what.secret+" to "+to, text)
}
