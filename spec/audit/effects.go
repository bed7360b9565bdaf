package audit

import (
	"slices"
	"strings"
	"sync"
)

// An effect is what a call of a name does.
type effect uint8

const (
	doesShell   effect = iota + 1 // its first argument is a line of shell
	doesExec                      // its arguments are a program's words, or its first is a list of them, or a line
	doesExec2                     // the same behind a first argument
	doesCode                      // its first argument is code
	doesDynamic                   // nobody can tell
	doesNet                       // an argument is an address
	doesHost                      // an argument is a host, or a pair of host and port
	doesEnv                       // its first argument is the name of a variable
	doesEnvAll                    // all variables
	doesRead                      // its first argument is a path
	doesWrite                     // the same
	doesOpen                      // its first argument is a path, the second says how
	doesCopy                      // reads the first, writes the second
	doesModule                    // its first argument names a module
	doesService                   // speaks to a host that an argument names, or to one that it knows
	doesExpand                    // its first argument mentions variables: $NAME
)

// effectsOf reads "EFFECT name name …" lines; the effects are in the order of their constants.
func effectsOf(table string) map[string]effect {
	return tableOf[effect](strings.Fields("none shell exec exec2 code dynamic net host env all read write open copy module service expand"), table)
}

// tableOf reads "KIND name name …" lines; the number of a kind is its place in kinds.
func tableOf[T ~uint8](kinds []string, table string) map[string]T {
	m := map[string]T{}
	for line := range strings.Lines(table) {
		if fields := strings.Fields(line); len(fields) > 0 {
			for _, word := range fields[1:] {
				m[word] = T(slices.Index(kinds, fields[0]))
			}
		}
	}
	return m
}

// calls are the effects of calls, by language. They are made when they are first needed: no start of skl pays for them.
var calls = sync.OnceValue(func() map[lang]map[string]effect {
	return map[lang]map[string]effect{
		python: effectsOf(`
		shell os.system os.popen commands.getoutput commands.getstatusoutput subprocess.getoutput subprocess.getstatusoutput asyncio.create_subprocess_shell popen2.popen2 get_ipython().system get_ipython().getoutput
		exec subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen asyncio.create_subprocess_exec asyncio.subprocess.create_subprocess_exec os.execv os.execvp os.execve os.execl os.execlp os.execvpe os.posix_spawn os.posix_spawnp pexpect.spawn pexpect.run pty.spawn sh.Command plumbum.local
		exec2 os.spawnv os.spawnvp os.spawnl os.spawnlp
		code eval exec compile execfile code.interact timeit.timeit
		dynamic pickle.Unpickler pickle.Unpickler().load _pickle.load _pickle.loads cPickle.load cPickle.loads shelve.open shelve.DbfilenameShelf marshal.load dill.load dill.load_session dill.load_module cloudpickle.load joblib.load pandas.read_pickle pd.read_pickle torch.load jsonpickle.decode jsonpickle.loads yaml.unsafe_load yaml.unsafe_load_all yaml.UnsafeLoader keras.models.load_model tensorflow.keras.models.load_model sklearn.externals.joblib.load _posixsubprocess.fork_exec
		dynamic pickle.loads pickle.load marshal.loads ctypes.CDLL ctypes.cdll.LoadLibrary runpy.run_path imp.load_source types.FunctionType dill.loads cloudpickle.loads importlib.util.spec_from_file_location types.CodeType get_ipython().run_line_magic get_ipython().run_cell_magic get_ipython().run_cell get_ipython().magic
		net requests.get requests.post requests.put requests.delete requests.patch requests.head requests.options requests.request requests.Session().get requests.Session().post requests.Session().put requests.Session().request requests.Session().delete requests.session().get requests.session().post httpx.get httpx.post httpx.put httpx.delete httpx.patch httpx.request httpx.stream httpx.Client().get httpx.Client().post httpx.AsyncClient().get httpx.AsyncClient().post
		net urllib.request.urlopen urllib.request.urlretrieve urllib.request.Request urlopen urllib2.urlopen urllib3.PoolManager().request urllib.urlopen aiohttp.ClientSession().get aiohttp.ClientSession().post aiohttp.request websocket.create_connection websockets.connect websocket.WebSocketApp wget.download xmlrpc.client.ServerProxy
		host http.client.HTTPSConnection http.client.HTTPConnection socket.create_connection socket.socket().connect socket.socket().connect_ex socket.socket().sendto socket.gethostbyname socket.getaddrinfo smtplib.SMTP smtplib.SMTP_SSL ftplib.FTP ftplib.FTP_TLS imaplib.IMAP4_SSL imaplib.IMAP4 telnetlib.Telnet poplib.POP3_SSL paramiko.SSHClient().connect asyncio.open_connection asyncssh.connect
		env os.getenv os.environ.get os.environ.pop os.environ.setdefault os.getenvb environs.Env().str decouple.config
		expand os.path.expandvars
		all os.environ.items os.environ.copy os.environ.keys os.environ.values
		open open io.open codecs.open gzip.open os.open zipfile.ZipFile tarfile.open
		read os.listdir os.walk os.scandir glob.glob glob.iglob np.load numpy.load pandas.read_csv pd.read_csv sqlite3.connect
		write os.remove os.unlink os.rmdir os.makedirs os.mkdir os.removedirs shutil.rmtree os.chmod os.truncate os.symlink
		copy shutil.copy shutil.copy2 shutil.copyfile shutil.copytree shutil.move os.rename os.replace
		service boto3.client boto3.resource boto3.Session boto3.session.Session psycopg2.connect psycopg.connect asyncpg.connect asyncpg.create_pool pymysql.connect mysql.connector.connect MySQLdb.connect pymongo.MongoClient motor.motor_asyncio.AsyncIOMotorClient redis.Redis redis.StrictRedis redis.from_url redis.Redis.from_url redis.asyncio.Redis paramiko.Transport grpc.insecure_channel grpc.secure_channel grpc.aio.insecure_channel grpc.aio.secure_channel
		module __import__ importlib.import_module import_module`),
		script: effectsOf(`
		shell child_process.exec child_process.execSync shelljs.exec shell.exec execaCommand execa.command util.promisify(child_process.exec)
		exec child_process.spawn child_process.spawnSync child_process.execFile child_process.execFileSync execa execa.execa execa.execaSync cross-spawn Bun.spawn Bun.spawnSync Deno.Command Deno.run cross-spawn.sync cross-spawn.spawn execa.sync
		code eval Function vm.runInThisContext vm.runInNewContext vm.runInContext vm.Script vm.compileFunction Function.constructor
		dynamic process.binding process.dlopen Worker worker_threads.Worker WebAssembly.instantiate WebAssembly.compile child_process.fork v8.deserialize
		net fetch node-fetch axios axios.get axios.post axios.put axios.delete axios.patch axios.request axios.create axios.default.get axios.create().get axios.create().post got got.get got.post http.get https.get http.request https.request http2.connect undici.request undici.fetch WebSocket ws ws.WebSocket XMLHttpRequest().open EventSource navigator.sendBeacon superagent.get superagent.post request request.get request.post ky ky.get ky.post cross-fetch $.ajax $.get $.post io socket.io-client
		host net.connect net.createConnection tls.connect net.Socket().connect dns.lookup dns.resolve dns.resolveTxt
		env Deno.env.get Bun.env.get env.get
		all Deno.env.toObject
		read fs.readFile fs.readFileSync fs.createReadStream fs.readdir fs.readdirSync fs.readlink fs.open fs.openSync Deno.readTextFile Deno.readFile Bun.file fs.existsSyncX fs-extra.readFile fs-extra.readJson fs-extra.readFileSync
		write fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.mkdir fs.mkdirSync fs.rm fs.rmSync fs.unlink fs.unlinkSync fs.rmdir fs.rmdirSync fs.chmod fs.chmodSync fs.truncate fs.symlink fs.symlinkSync Deno.writeTextFile Deno.writeFile Bun.write Deno.remove fs-extra.writeFile fs-extra.outputFile fs-extra.remove fs-extra.ensureDir
		copy fs.copyFile fs.copyFileSync fs.cp fs.cpSync fs.rename fs.renameSync fs-extra.copy fs-extra.move
		service pg.Client pg.Pool mysql.createConnection mysql.createPool mysql2.createConnection mysql2.createPool mysql2/promise.createConnection mongodb.MongoClient mongoose.connect ioredis ioredis.Redis redis.createClient nodemailer.createTransport
		module require import`),
		golang: effectsOf(`
		exec exec.Command syscall.Exec os.StartProcess execabs.Command
		exec2 exec.CommandContext
		dynamic plugin.Open reflect.MakeFunc syscall.NewLazyDLL
		net http.Get http.Post http.Head http.PostForm http.NewRequest http.NewRequestWithContext http.Client.Get http.Client.Post http.Client.Head http.Client.PostForm websocket.Dialer.Dial websocket.Dialer.DialContext websocket.DefaultDialer.DialContext websocket.Dial websocket.DefaultDialer.Dial http.DefaultClient.Get http.DefaultClient.Post
		host net.Dial net.DialTimeout tls.Dial net.LookupHost net.LookupTXT net.LookupIP smtp.SendMail smtp.Dial net.ResolveTCPAddr net.ResolveUDPAddr net.ResolveIPAddr net.DialTCP net.DialUDP net.DialIP net.Dialer.Dial net.Dialer.DialContext tls.Dialer.Dial tls.Dialer.DialContext tls.DialWithDialer net.LookupAddr net.LookupMX net.LookupCNAME net.LookupNS net.LookupSRV net.Resolver.LookupHost net.Resolver.LookupTXT net.Resolver.LookupIPAddr net.DefaultResolver.LookupHost net.DefaultResolver.LookupTXT rpc.DialHTTP ssh.Dial rpc.Dial grpc.Dial grpc.NewClient
		env os.Getenv os.LookupEnv syscall.Getenv
		all os.Environ syscall.Environ
		expand os.ExpandEnv os.Expand
		read os.Open os.ReadFile os.ReadDir ioutil.ReadFile filepath.Walk filepath.WalkDir filepath.Glob ioutil.ReadDir
		write os.Create os.WriteFile os.Mkdir os.MkdirAll os.Remove os.RemoveAll os.Chmod ioutil.WriteFile os.Symlink os.Truncate os.OpenFile
		copy os.Rename os.Link`),
	}
})

// methods are the effects of methods of paths and connections, whatever these are.
var methods = sync.OnceValue(func() map[string]effect {
	return map[string]effect{"read_text": doesRead, "read_bytes": doesRead, "iterdir": doesRead, "glob": doesRead, "rglob": doesRead, "write_text": doesWrite, "write_bytes": doesWrite, "mkdir": doesWrite, "unlink": doesWrite, "rmdir": doesWrite, "touch": doesWrite, "chmod": doesWrite, "symlink_to": doesWrite}
})

// effects notes what the calls do, and the variables that are read.
func (p *program) effects() {
	for i := range p.toks {
		switch t := p.toks[i]; t.kind {
		case '(':
			p.effectOf(i)
		case '{':
			p.addressOf(i)
			if p.l == golang && p.is(i-1, "Cmd") && p.kind(i-2) == '.' && p.names[p.toks[i-3].text] == "exec" {
				p.commandOf(i)
			}
		case 'a':
			p.mention(i)
			if p.kind(i-1) != '.' {
				p.environment(i)
			} else if p.l == golang && t.text == "Path" && p.is(i+1, "=") && p.kind(i-2) == 'a' && strings.HasPrefix(p.variable(p.toks[i-2].text, 0).name, "exec.Command") {
				p.exec([]value{p.eval(span{i + 2, p.end(i + 2)}, 0).v.or()}, nil, int(t.line), false)
			}
		case 's':
			p.mention(i)
			p.inString(i)
		}
	}
}

// commandOf is an exec.Cmd whose fields are written between brackets.
func (p *program) commandOf(open int) {
	var name value
	var args []value
	for k := open + 1; k < p.mate[open]; k++ {
		if p.kind(k) != ':' || p.around[k] != open {
			continue
		}
		switch r := p.eval(span{k + 1, p.end(k + 1)}, 0); {
		case p.is(k-1, "Path"):
			name = r.v.or()
		case p.is(k-1, "Args") && len(r.list) > 0:
			args = r.list[1:]
		}
	}
	if name != nil {
		p.exec(append([]value{name}, args...), nil, int(p.toks[open].line), false)
	}
}

// inString reads the calls and variables in the substitutions of a string.
func (p *program) inString(i int) {
	t := p.toks[i]
	if p.l == script && p.kind(i-1) == 'a' && (p.is(i-1, "$") || p.is(i-1, "sh")) && p.kind(i-2) != '.' { // zx: $`command`
		p.text(shell, p.str(t, 0), int(t.line))
	}
	for _, s := range t.subs {
		if len(s.expr) < 3 || p.depth >= maxNested+2 {
			continue
		}
		sub := newProgram(p.auditor, p.l, s.expr)
		sub.names = p.names
		p.depth++
		sub.effects()
		p.depth--
		p.network = p.network || sub.network
	}
}

// start is where the chain of names, calls and indices that ends before i starts.
func (p *program) start(i int) int {
	for n := 0; n < 48; n++ {
		k := p.behind(i)
		if k < 0 || p.kind(i-1) == 'n' && p.kind(i) != '.' {
			return i
		}
		switch p.kind(k) {
		case ')', ']':
			if p.mate[k] < 0 {
				return i
			}
			i = p.mate[k]
			if b := p.kind(i - 1); b != 'a' && b != ')' && b != ']' && b != '.' || p.kind(i-1) == 'a' && keyword(p.toks[i-1].text) {
				return i
			}
			if p.kind(i-1) == '.' { // ?.( and ?.[
				i--
			}
		case 'a', 's':
			if keyword(p.toks[k].text) && p.kind(k) == 'a' && p.kind(k-1) != '.' {
				return i
			}
			i = k
			if p.kind(p.behind(i)) != '.' {
				return i
			}
			i = p.behind(i)
		default:
			return i
		}
	}
	return i
}

func keyword(s string) bool {
	return slices.Contains([]string{"return", "await", "new", "if", "elif", "while", "for", "in", "of", "and", "or", "not", "else", "yield", "typeof", "case", "switch", "func", "function", "def", "class", "with", "assert", "go", "defer", "range", "async", "print", "throw", "raise", "is", "catch", "except", "lambda", "from"}, s) && s != "print"
}

// effectOf notes what the call whose bracket is open does.
func (p *program) effectOf(open int) {
	k := open - 1
	if p.mate[open] < 0 || p.kind(k) != 'a' && p.kind(k) != ')' && p.kind(k) != ']' && p.kind(k) != '.' || p.kind(k) == 'a' && (keyword(p.toks[k].text) || p.is(k-1, "def") || p.is(k-1, "func") || p.is(k-1, "function")) {
		if p.kind(k) != 'a' || p.toks[k].text != "import" {
			return
		}
	}
	line := int(p.toks[open].line)
	if p.kind(k) == 'a' && p.kind(k-1) == '.' { // a method
		if e, ok := methods()[p.toks[k].text]; ok {
			from := p.start(k - 1)
			r := p.primary(from, k-1, 0)
			if r.v != nil || p.l == python && r.name == "" {
				p.paths1(e, r.v.or(), line)
				return
			}
		}
	}
	from := p.start(open)
	r := p.primary(from, open, 0)
	name := canonical(r.name)
	if _, known := calls()[p.l][name]; !known && p.kind(k) == ')' && p.is(from, "getattr") {
		if args := p.args(from + 1); len(args) > 1 && args[1].to-args[1].from > 1 {
			p.add(Dynamic, "", line) // a member whose name is put together, of what is not known
			return
		}
	}
	if r.name == "" {
		if p.kind(k) == 'a' && p.kind(k-1) == '.' {
			p.guess(p.toks[k].text, open, line)
		}
		return
	}
	if p.called(name, open, line) {
		return
	}
	base := name
	if i := strings.IndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	if (strings.HasSuffix(name, ".*") || name == "*" || strings.HasPrefix(name, "*.")) && p.kind(k) != 'a' {
		if p.modules(base) || global()[strings.TrimSuffix(name, ".*")] || base == "*" || p.kind(k) == ')' {
			p.add(Dynamic, "", line)
		}
		return
	}
	e, ok := p.effectNamed(name)
	if !ok && p.kind(k) == 'a' && p.kind(k-1) == '.' && strings.Contains(name, "()") {
		p.guess(p.toks[k].text, open, line)
		return
	}
	switch {
	case ok:
		p.does(e, name, p.args(open), open, line)
	case name == "getattr":
		p.member1(r, from, open)
	case p.kind(k) == 'a' && p.kind(k-1) == '.' && has(" connect connect_ex sendto Dial DialContext DialTimeout ", p.toks[k].text):
		p.guess(p.toks[k].text, open, line)
	}
}

// member1 notes a member that getattr gives and that is passed on, if it runs something.
func (p *program) member1(r result, from, open int) {
	end := p.mate[open] + 1
	if p.kind(end) == '(' || p.kind(end) == '.' || p.named(from, end) {
		return
	}
	if e, ok := p.effectNamed(canonical(p.call(r, open, 0).name)); ok && e.runs() {
		p.add(Dynamic, "", int(p.toks[open].line))
	}
}

// called notes a call of what runs something by its method call, apply or bind, and of a method of a module whose name is not known.
func (p *program) called(name string, open, line int) bool {
	if rest, ok := strings.CutPrefix(name, "*."); ok {
		if acting()[p.l][rest] {
			p.add(Dynamic, "", line)
		}
		return false
	}
	of, how, _ := cutLast(name)
	if p.l != script || !has(" call apply bind ", how) {
		return false
	}
	e, ok := p.effectNamed(of)
	if !ok || !e.runs() {
		return false
	}
	if args := p.args(open); how == "call" && len(args) > 1 {
		p.does(e, of, args[1:], open, line)
	} else {
		p.add(Dynamic, "", line)
	}
	return true
}

// cutLast is a dotted name without its last word, and that word.
func cutLast(name string) (of, last string, ok bool) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 {
		return "", name, false
	}
	return name[:i], name[i+1:], true
}

// addressOf is an address of Go whose IP is written between brackets.
func (p *program) addressOf(open int) {
	if p.l != golang || p.kind(open-1) != 'a' || !has(" UDPAddr TCPAddr IPAddr ", p.toks[open-1].text) || p.kind(open-2) != '.' {
		return
	}
	for k := open + 1; k < p.mate[open]; k++ {
		if p.kind(k) != ':' || p.around[k] != open || !p.is(k-1, "IP") {
			continue
		}
		for _, s := range p.eval(span{k + 1, p.end(k + 1)}, 0).v.or() {
			if !p.net(s, true, int(p.toks[k].line)) {
				p.add(Net, holeText, int(p.toks[k].line))
			}
		}
	}
}

// modules reports whether base is a module whose members act.
func (p *program) modules(base string) bool {
	prefix := base + "."
	for name := range calls()[p.l] {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// guess is the call of a method of something that is not known, whose name says enough.
func (p *program) guess(name string, open, line int) {
	switch name {
	case "get", "post", "put", "patch", "delete", "request", "connect", "urlopen", "open", "fetch", "Get", "Post", "goto", "navigate":
		for _, a := range p.args(open) {
			for _, s := range p.eval(a.span, 1).v {
				if h, ok := host(s, false); ok && h != holeText {
					p.network = true
					p.net(s, false, line)
				}
			}
		}
	case "constructor":
		p.add(Dynamic, "", line)
	case "Dial", "DialContext", "DialTimeout":
		p.speaks(doesHost, p.args(open), line)
	}
	if args := p.args(open); p.l == python && has(" connect connect_ex sendto ", name) && len(args) > 0 { // of a socket, if there is a pair
		if at := args[len(args)-1].span; p.kind(p.skip(at.from)) == '(' && len(p.args(p.skip(at.from))) == 2 && p.mate[p.skip(at.from)] >= at.to-1 {
			p.network = true
			p.speaks(doesHost, args[len(args)-1:], line)
		}
	}
}

// paths1 notes paths that are used.
func (p *program) paths1(e effect, v value, line int) {
	k := Reads
	if e == doesWrite {
		k = Writes
	}
	for _, s := range v {
		p.use(k, s, line)
	}
}

// does notes an effect.
func (p *program) does(e effect, name string, args []arg, open, line int) {
	arg := func(n int) result {
		if n >= len(args) {
			return result{}
		}
		return p.eval(args[n].span, 0)
	}
	if strings.HasSuffix(name, ".sendto") && len(args) > 1 { // the address is its last
		args = args[len(args)-1:]
	}
	for _, a := range args {
		if name == "numpy.load" && a.name == "allow_pickle" && !p.is(a.from, "False") {
			p.add(Dynamic, "", line)
		}
	}
	for i, a := range args { // what keyword arguments stand for
		if a.name == "args" || a.name == "url" || a.name == "file" || a.name == "cmd" || a.name == "host" {
			args[0], args[i] = args[i], args[0]
		}
	}
	switch e {
	case doesShell:
		if len(args) > 0 {
			p.text2(arg(0).v.or(), line)
		}
	case doesExec, doesExec2:
		if e == doesExec2 && len(args) > 0 {
			args = args[1:]
		}
		p.runs(name, args, open, line)
	case doesCode:
		v := arg(0).v
		if name == "Function" && len(args) > 0 {
			v = arg(len(args) - 1).v
		}
		if len(args) == 0 {
			return
		}
		p.add(Dynamic, "", line)
		if v.known() {
			p.text(p.l, v, line)
		}
	case doesDynamic:
		p.add(Dynamic, "", line)
	case doesModule:
		if len(args) == 0 {
			return
		}
		v := arg(0).v.or()
		for _, m := range v {
			if i := strings.IndexByte(m, hole); i == 0 || i > 0 && !strings.HasPrefix(m, ".") {
				p.add(Dynamic, "", line)
			} else if i < 0 {
				p.module(m)
				p.net(m, false, line)
				p.required(m, line)
			}
		}
	case doesNet, doesHost:
		p.network = true
		p.speaks(e, args, line)
	case doesService:
		p.network = true
		p.service(args, line)
	case doesEnv:
		for _, s := range arg(0).v.or() {
			p.env(s, line)
		}
	case doesExpand:
		for _, s := range arg(0).v.or() {
			for _, m := range mentioned.get().FindAllStringSubmatch(s, -1) {
				p.env(m[1], line)
			}
			if strings.IndexByte(s, hole) >= 0 {
				p.add(Env, "*", line)
			}
		}
	case doesEnvAll:
		if name != "os.environ.copy" {
			p.add(Env, "*", line)
		}
	case doesRead, doesWrite:
		if name == "os.OpenFile" {
			name = ""
		}
		if len(args) > 0 {
			p.paths1(e, arg(0).v.or(), line)
		}
	case doesOpen:
		if len(args) == 0 {
			return
		}
		e = doesRead
		for i, a := range args {
			if i == 1 || a.name == "mode" {
				if mode := arg(i).v; len(mode) > 0 && strings.ContainsAny(mode[0], "wax+") {
					e = doesWrite
				}
			}
		}
		p.paths1(e, arg(0).v.or(), line)
	case doesCopy:
		p.paths1(doesRead, arg(0).v.or(), line)
		p.paths1(doesWrite, arg(1).v.or(), line)
	}
}

// runs is a program that is started with a list of words or with words.
func (p *program) runs(name string, args []arg, open, line int) {
	if len(args) == 0 {
		return
	}
	asShell := false
	for _, a := range args {
		if a.name == "shell" && !p.is(a.from, "False") {
			asShell = true
		}
	}
	for i := p.args(open); len(i) > 0 && p.l == script; i = nil {
		last := i[len(i)-1]
		for k := last.from; k < last.to && k < last.from+200; k++ {
			if p.is(k, "shell") && p.is(k+1, ":") && !p.is(k+2, "false") {
				asShell = true
			}
		}
	}
	first := p.eval(args[0].span, 0)
	if p.l == script && p.kind(p.skip(args[0].from)) == '{' { // Deno.run({cmd: […]})
		first = p.variable(".cmd", 0)
	}
	if first.list != nil {
		if asShell {
			p.text(shell, join(first.list, " "), line)
			return
		}
		if len(first.list) == 0 {
			return
		}
		p.exec(first.list, nil, line, false)
		return
	}
	if p.l == python && (len(args) == 1 || args[1].name != "") || asShell {
		v := first.v.or()
		if name := v[0]; strings.IndexByte(name, hole) == 0 || strings.IndexByte(name, hole) > 0 && !strings.Contains(name, " ") {
			p.exec([]value{v}, nil, line, false)
			return
		}
		p.text2(v, line)
		return
	}
	words := []value{first.v.or()}
	if p.l == python && strings.HasPrefix(name, "os.") && len(args) > 1 {
		args = args[1:]
	}
	for _, a := range args[1:] {
		if a.name != "" {
			continue
		}
		one := p.eval(a.span, 0)
		switch {
		case one.list != nil:
			words = append(words, one.list...)
			if p.l == script {
				p.exec(words, nil, line, false)
				return
			}
		case p.l == script && p.kind(p.skip(a.from)) == '{':
			if k := p.variable(".args", 0); k.list != nil {
				words = append(words, k.list...)
			}
		case p.l == golang && p.is(a.to-1, "..."):
			words = append(words, unknown)
		default:
			words = append(words, one.v.or())
		}
	}
	p.exec(words, nil, line, false)
}

// text2 is a line of shell with holes: what is known of it is read.
func (p *program) text2(v value, line int) {
	for _, s := range v {
		if strings.Trim(s, holeText+" ") == "" {
			p.add(Dynamic, "", line)
			continue
		}
		p.code(shell, strings.ReplaceAll(s, holeText, "${1}"), line)
	}
}

// speaks notes the hosts that a call's arguments name.
func (p *program) speaks(e effect, args []arg, line int) {
	found, missing := false, len(args) == 0
	try := func(s string, bare bool) {
		if h, ok := host(s, bare); ok {
			if h != holeText {
				found = true
			}
			p.net(s, bare, line)
			found = true
		} else if strings.IndexByte(s, hole) == 0 {
			missing = true
		}
	}
	for i, a := range args {
		if a.name != "" && a.name != "url" && a.name != "host" && a.name != "base_url" || i > 3 {
			continue
		}
		from := p.skip(a.from)
		if p.kind(from) == '{' && p.mate[from] > 0 {
			for k := from + 1; k < p.mate[from]; k++ {
				if p.kind(k) == ':' && p.around[k] == from && p.kind(k-1) == 'a' && slices.Contains([]string{"hostname", "host", "url", "baseURL", "uri", "servername", "baseUrl", "prefixUrl"}, p.toks[k-1].text) {
					for _, s := range p.eval(span{k + 1, p.end(k + 1)}, 0).v.or() {
						try(s, true)
					}
				}
			}
			continue
		}
		if p.kind(from) == '(' && e == doesHost {
			if pair := p.args(from); len(pair) > 0 {
				for _, s := range p.eval(pair[0].span, 0).v.or() {
					try(s, true)
				}
			}
			continue
		}
		r := p.eval(a.span, 0)
		if r.name != "" && r.v == nil {
			missing = missing || i == 0 || p.l == golang
			continue
		}
		for _, s := range r.v.or() {
			if strings.IndexByte(s, hole) == 0 && (i > 0 || e == doesHost && found) && !(p.l == golang) {
				continue
			}
			try(s, e == doesHost && strings.ContainsAny(s, ".:"))
			if e == doesHost && s == "localhost" {
				found = true
			}
		}
	}
	if !found && missing {
		p.add(Net, holeText, line)
	}
}

// service notes the hosts to which a client of a database or a service is told to speak, or any.
func (p *program) service(args []arg, line int) {
	found := false
	named := func(v value) {
		for _, s := range v {
			if _, rest, ok := strings.Cut(s, "host="); ok && !strings.Contains(s, "://") {
				s, _, _ = strings.Cut(strings.TrimLeft(rest, "'\""), " ")
				s = "//" + s
				found = p.net("tcp:"+strings.TrimRight(s, "'\""), false, line) || found
			} else if strings.Contains(s, "://") || strings.ContainsAny(s, ".:") {
				found = p.net(s, true, line) || found
			}
		}
	}
	for _, a := range args {
		from := p.skip(a.from)
		switch {
		case p.kind(from) == '{' && p.mate[from] > 0:
			for k := from + 1; k < p.mate[from]; k++ {
				if p.kind(k) == ':' && p.around[k] == from && slices.Contains([]string{"host", "hostname", "url", "uri", "connectionString"}, p.toks[k-1].text) {
					named(p.eval(span{k + 1, p.end(k + 1)}, 0).v)
				}
			}
		case slices.Contains([]string{"", "host", "hostname", "url", "dsn", "uri", "target", "endpoint_url"}, a.name):
			named(p.eval(a.span, 0).v)
		}
	}
	if !found {
		p.add(Net, holeText, line)
	}
}

// environment notes a variable of the environment that is read at i, where a chain of names starts.
func (p *program) environment(i int) {
	t := p.toks[i].text
	if p.l == golang || t == "import" && p.kind(i+1) != '.' {
		return
	}
	if _, imported := p.names[t]; !imported {
		if _, set := p.vars[t]; set {
			if r, ok := p.memo[t]; ok && r.name == "" {
				return
			}
		} else if t != "process" && t != "os" && t != "Bun" && t != "Deno" && t != "import" && !global()[t] {
			return
		}
	}
	name := canonical(p.word(t, 0).name)
	if t == "import" {
		name = "import"
	}
	for n := 0; n < 4; n++ {
		switch name {
		case "os.environ", "process.env", "Bun.env", "import.meta.env", "meta.env", "environ":
			if p.kind(i-1) == 'a' && (p.is(i-1, "import") || p.is(i-1, "as")) || p.kind(i-1) == ',' && p.kind(i+1) == 'n' && p.l == python {
				return
			}
			p.variables(i+1, int(p.toks[i].line))
			return
		}
		switch {
		case p.kind(i+1) == '.' && p.kind(i+2) == 'a':
			name = canonical(name + "." + p.toks[i+2].text)
			if name == "env" && t == "import" {
				name = "import.meta.env"
			}
			i += 2
		case p.kind(i+1) == '[' && p.mate[i+1] > 0:
			key := p.eval(span{i + 2, p.mate[i+1]}, 0).v
			if !key.known() {
				return
			}
			name = canonical(name + "." + key[0])
			i = p.mate[i+1]
		default:
			return
		}
	}
}

// variables notes which variable of the environment is meant by what follows it at i.
func (p *program) variables(i, line int) {
	at := i
	if p.kind(i) == '.' && p.kind(i+1) == '[' {
		at++
	}
	switch {
	case p.kind(at) == '[' && p.mate[at] > 0:
		after := p.mate[at] + 1
		if p.kind(after) == '=' && p.is(after, "=") {
			return // it is set
		}
		for _, s := range p.eval(span{at + 1, p.mate[at]}, 0).v.or() {
			p.env(s, line)
		}
	case p.kind(i) == '.' && p.kind(i+1) == 'a':
		if p.l == python {
			if m := p.toks[i+1].text; (m == "items" || m == "values" || m == "keys") && p.kind(i+2) == '(' {
				return // a call, see effectOf
			}
			return
		}
		if p.is(i+2, "=") {
			return
		}
		p.env(p.toks[i+1].text, line)
	case p.l == python && (p.is(i-2, "in") || p.is(i-4, "in")):
		before := i - 2
		for before > 0 && !p.is(before, "in") {
			before--
		}
		if p.kind(before-1) == 's' {
			p.env(p.toks[before-1].text, line)
		} else if !p.is(before-1, "not") {
			p.add(Env, "*", line)
		}
	default:
		// All of it: printed, sent, copied. A program that is started gets it in any case.
		for back := i - 1; back > 0 && back > i-6; back-- {
			if p.is(back, "env") && (p.is(back+1, "=") || p.is(back+1, ":")) || p.is(back, "...") || p.kind(back) == '}' && p.is(back+1, "=") || p.kind(back) == '*' {
				return
			}
		}
		if p.is(i-1, "env") && p.is(i-2, ".") && p.is(i-4, ":") {
			return
		}
		if k := i - 1; p.kind(i) == 'n' || p.kind(i) == ';' {
			for k > 0 && p.kind(k) != '=' && p.kind(k) != 'n' {
				k--
			}
			if p.kind(k) == '=' {
				return // an alias, which is followed
			}
		}
		p.add(Env, "*", line)
	}
}

// quiet are the calls whose strings are for people.
var quiet = []string{"print", "log", "error", "warn", "info", "debug", "Println", "Printf", "Fprintf", "Fprintln", "Errorf", "Error", "add_argument", "ArgumentParser", "exit", "Fatal", "Fatalf", "describe", "it", "test", "Exception", "ValueError", "RuntimeError", "SystemExit", "fail", "echo", "write", "trace"}

// addresses notes the hosts of the URLs that stand in a text which speaks to the network, except in what it tells people.
func (p *program) addresses() {
	for i, t := range p.toks {
		if t.kind != 's' || !strings.Contains(t.text, "://") {
			continue
		}
		scheme, _, _ := strings.Cut(t.text, "://")
		if !slices.Contains([]string{"http", "https", "ws", "wss", "ftp", "tcp"}, strings.ToLower(scheme)) || strings.ContainsAny(t.text, " \n") {
			continue
		}
		if p.kind(i-1) == 'n' && p.kind(i+1) == 'n' && p.around[i] < 0 || i == 0 {
			continue // a docstring
		}
		if open := p.around[i]; open > 0 && p.kind(open) == '(' && p.kind(open-1) == 'a' && slices.Contains(quiet, p.toks[open-1].text) {
			continue
		}
		if p.is(i-2, "help") || p.is(i-2, "epilog") || p.is(i-2, "description") || p.is(i-2, "User-Agent") || p.is(i-2, "Referer") || p.kind(i-2) == 's' && (p.toks[i-2].text == "User-Agent" || p.toks[i-2].text == "Referer" || p.toks[i-2].text == "HTTP-Referer") {
			continue
		}
		if h, ok := host(t.text, false); ok && h != holeText {
			p.net(t.text, false, int(t.line))
		}
	}
}

// inlineDependencies notes the packages that a Python script's metadata block asks for (PEP 723).
func (a *auditor) inlineDependencies(src string, line int) {
	i := strings.Index(src, "# /// script")
	if i < 0 || i > 4096 {
		return
	}
	line += strings.Count(src[:i], "\n")
	in := false
	for text := range strings.Lines(src[i:]) {
		text = strings.TrimSpace(strings.TrimPrefix(text, "#"))
		if text == "///" {
			return
		}
		if strings.HasPrefix(text, "dependencies") {
			in = true
		}
		for n, word := range strings.Split(text, `"`) {
			if in && n%2 == 1 {
				a.pack("pip", word, line)
			}
		}
		if in && strings.Contains(text, "]") {
			in = false
		}
		line++
	}
}
