package audit

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// postfix is what the members, calls and indices between i and to make of an operand.
func (p *program) postfix(r result, i, to, depth int) result {
	for i < to {
		switch p.kind(i) {
		case 'n':
			i++
			continue
		case '.':
			i = p.skip(i + 1)
			if i >= to || p.kind(i) != 'a' {
				if p.kind(i) == '(' || p.kind(i) == '[' {
					continue // ?.( and ?.[
				}
				return result{}
			}
			name := p.toks[i].text
			i++
			if p.kind(i) == '(' && i < to && p.mate[i] > 0 {
				r = p.method(r, name, i, depth)
				i = p.mate[i] + 1
				continue
			}
			r = p.member(r, name, depth)
			continue
		case '(':
			if p.mate[i] < 0 {
				return result{}
			}
			r = p.call(r, i, depth)
			i = p.mate[i] + 1
			continue
		case '[':
			if p.mate[i] < 0 {
				return result{}
			}
			r = p.index(r, i, depth)
			i = p.mate[i] + 1
			continue
		case '{': // a composite of Go
			if p.l == golang && has(composites, r.name) && p.mate[i] > 0 {
				i = p.mate[i] + 1
				continue
			}
			if p.mate[i] > 0 {
				return result{}
			}
		case '!':
			i++
			continue
		case 'a':
			if p.l == script && (p.is(i, "as") || p.is(i, "satisfies")) {
				return r
			}
		}
		return result{}
	}
	return r
}

// composites are types of Go whose values speak to the network.
const composites = " net.Dialer tls.Dialer net.ListenConfig net.Resolver websocket.Dialer http.Client "

// member is a member of a value or of something imported.
func (p *program) member(r result, name string, depth int) result {
	if p.l == python && (name == "__call__" || name == "__dict__") {
		return r
	}
	if r.name != "" && (r.name != "this" && r.name != "self" || p.vars["."+name] == nil) {
		return result{name: r.name + "." + name}
	}
	return p.variable("."+name, depth+1)
}

func (p *program) index(r result, open, depth int) result {
	in := span{open + 1, p.mate[open]}
	if p.is(open+1, ":") && p.is(open+2, ":") && p.is(open+3, "-") && p.is(open+4, "1") {
		return result{v: r.v.each(reverse)}
	}
	key := p.eval(in, depth+1).v
	if r.name == "sys.modules" {
		if key.known() && len(key) == 1 {
			return result{name: key[0]}
		}
		return result{name: "*"}
	}
	if n := len(r.list); n > 0 && key.known() {
		if k, err := strconv.Atoi(key[0]); err == nil && k >= 0 && k < n {
			return result{v: r.list[k]}
		}
	}
	if !key.known() || len(key) > 1 {
		return result{v: r.v, name: sub(r.name)}
	}
	if r.name != "" {
		return result{name: r.name + "." + key[0]}
	}
	return p.variable("."+key[0], depth+1)
}

// sub is the name of an unknown member.
func sub(name string) string {
	if name == "" {
		return ""
	}
	return name + ".*"
}

// text1 is the value of the nth argument of the call at open.
func (p *program) text1(open, n, depth int) value {
	return p.argument(open, n, depth).v.or()
}

func (p *program) argument(open, n, depth int) result {
	args := p.args(open)
	if n >= len(args) {
		return result{}
	}
	return p.eval(args[n].span, depth+1)
}

// global are the objects whose members are the names of the language.
var global = sync.OnceValue(func() map[string]bool {
	return map[string]bool{"globalThis": true, "window": true, "global": true, "self": true, "builtins": true, "__builtins__": true, "globals()": true, "locals()": true, "vars()": true}
})

// canonical is a dotted name without what only says where it comes from.
func canonical(name string) string {
	name = strings.TrimPrefix(name, "node:")
	if first, rest, ok := strings.Cut(name, "."); ok && global()[first] {
		name = rest
	}
	name = strings.ReplaceAll(name, ".promises.", ".")
	name = strings.ReplaceAll(name, "fs/promises.", "fs.")
	name = strings.TrimPrefix(name, "import.meta.")
	for _, module := range []string{"posix.", "nt."} { // what os is made of
		if rest, ok := strings.CutPrefix(name, module); ok {
			name = "os." + rest
		}
	}
	switch name {
	case "process.mainModule.require", "module.require", "require.main.require", "process.getBuiltinModule", "module.parent.require", "module.constructor._load", "module._load", "Module._load", "module.Module._load", "createRequire()", "module.createRequire()":
		return "require"
	}
	return strings.TrimSuffix(name, ".default")
}

// call is what a call of a name gives, where that is a constant, a path or a module.
func (p *program) call(r result, open, depth int) result {
	if r.name == "" {
		return result{}
	}
	arg := func(n int) value { return p.text1(open, n, depth) }
	name := canonical(r.name)
	switch name {
	case "str", "String", "Path", "pathlib.Path", "pathlib.PurePath", "os.path.expanduser", "os.path.abspath", "os.path.realpath", "os.path.normpath", "shlex.quote", "quote", "encodeURI", "URL", "url.URL", "bytes", "bytearray", "string", "filepath.Abs", "filepath.Clean", "os.ExpandEnv", "fileURLToPath", "url.fileURLToPath", "filepath.FromSlash", "url.Parse", "urllib.request.Request", "Request", "decodeURIComponent", "unescape", "tuple", "list":
		one := p.argument(open, 0, depth)
		if name == "Path" || name == "pathlib.Path" {
			return result{v: p.paths(open, depth)}
		}
		if (name == "bytes" || name == "bytearray") && one.list != nil {
			return result{v: bytesOf(one.list)}
		}
		if len(p.args(open)) == 0 {
			return result{v: value{""}}
		}
		if name == "decodeURIComponent" || name == "unescape" {
			return result{v: one.v.each(func(s string) (string, bool) { return decodeHex(strings.ReplaceAll(s, "%", "")) })}
		}
		return result{v: one.v.or(), list: one.list}
	case "os.path.join", "path.join", "path.resolve", "filepath.Join", "posixpath.join", "path.posix.join", "pathlib.Path.joinpath":
		return result{v: p.paths(open, depth)}
	case "os.path.dirname", "path.dirname", "filepath.Dir":
		return result{v: arg(0).each(func(s string) (string, bool) {
			if i := strings.LastIndexByte(s, '/'); i > 0 {
				return s[:i], true
			}
			return ".", true
		})}
	case "Path.home", "pathlib.Path.home", "os.homedir", "homedir":
		return result{v: value{"~"}}
	case "os.UserHomeDir":
		return result{v: value{"~"}}
	case "Path.cwd", "pathlib.Path.cwd", "os.getcwd", "process.cwd", "os.Getwd", "Deno.cwd":
		return result{v: value{"."}}
	case "tempfile.mkdtemp", "tempfile.gettempdir", "tempfile.mkstemp", "tempfile.NamedTemporaryFile", "tempfile.TemporaryDirectory", "tempfile.mktemp", "os.tmpdir", "os.TempDir", "os.MkdirTemp", "fs.mkdtempSync", "fs.mkdtemp", "os.CreateTemp", "tmpdir":
		return result{v: value{"/tmp/x"}}
	case "base64.b64decode", "atob", "base64.urlsafe_b64decode", "base64.standard_b64decode", "base64.StdEncoding.DecodeString", "base64.URLEncoding.DecodeString", "base64.RawStdEncoding.DecodeString", "base64.decodebytes":
		return result{v: arg(0).each(decodeBase64)}
	case "base64.b16decode", "bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify", "hex.DecodeString", "binascii.a2b_hex":
		return result{v: arg(0).each(decodeHex)}
	case "binascii.a2b_base64":
		return result{v: arg(0).each(decodeBase64)}
	case "Buffer.from", "codecs.decode":
		switch enc := p.text1(open, 1, depth)[0]; enc {
		case "base64", "base64url":
			return result{v: arg(0).each(decodeBase64)}
		case "hex":
			return result{v: arg(0).each(decodeHex)}
		case "rot13", "rot_13":
			return result{v: arg(0).each(rot13)}
		}
		if one := p.argument(open, 0, depth); one.list != nil {
			return result{v: bytesOf(one.list)}
		}
		return result{v: arg(0)}
	case "chr", "String.fromCharCode", "String.fromCodePoint", "rune":
		var list []value
		for _, a := range p.args(open) {
			one := p.eval(a.span, depth+1)
			if one.list != nil {
				list = append(list, one.list...)
			} else {
				list = append(list, one.v.or())
			}
		}
		return result{v: bytesOf(list)}
	case "strings.Join":
		one := p.argument(open, 0, depth)
		return result{v: joined(one, arg(1))}
	case "strings.ReplaceAll", "strings.Replace":
		from, with := arg(1), arg(2)
		if from.known() && with.known() {
			return result{v: arg(0).each(func(s string) (string, bool) { return replaced(s, from[0], with[0]) })}
		}
		return result{}
	case "strings.ToLower":
		return result{v: arg(0).each(func(s string) (string, bool) { return strings.ToLower(s), true })}
	case "fmt.Sprintf", "util.format":
		var args []value
		for i, a := range p.args(open) {
			if i > 0 {
				args = append(args, p.eval(a.span, depth+1).v.or())
			}
		}
		return result{v: sprintf(arg(0), args)}
	case "fmt.Sprint":
		return result{v: arg(0)}
	case "urljoin", "urllib.parse.urljoin":
		return result{v: cat(arg(0), unknown)}
	case "os.getenv", "os.environ.get", "os.Getenv", "environ.get", "Deno.env.get":
		if len(p.args(open)) > 1 {
			return result{v: either(arg(1), unknown)}
		}
		return result{}
	case "filter", "map", "sorted", "reversed", "set":
		return result{}
	case "require", "__import__", "importlib.import_module", "import_module", "import":
		if m := arg(0); m.known() {
			return result{name: strings.TrimPrefix(m[0], "node:")}
		}
		return result{name: "*"}
	case "getattr", "Reflect.get":
		of, m := p.argument(open, 0, depth), arg(1)
		if m.known() && of.name != "" {
			return result{name: canonical(of.name + "." + m[0])}
		}
		return result{name: sub(of.name)}
	case "sys.modules.get":
		if m := arg(0); m.known() {
			return result{name: m[0]}
		}
		return result{name: "*"}
	case "promisify", "util.promisify", "new":
		if one := p.argument(open, 0, depth); one.name != "" {
			return result{name: one.name}
		}
	case "net.ParseIP":
		return result{v: arg(0)}
	case "globals", "locals", "vars":
		if one := p.argument(open, 0, depth); name == "vars" && one.name != "" {
			return result{name: one.name}
		}
		return result{name: name + "()"}
	case "operator.attrgetter", "operator.methodcaller":
		return result{name: "*"}
	}
	return result{name: name + "()"}
}

// paths joins the arguments of a call as paths.
func (p *program) paths(open, depth int) value {
	v := value{""}
	for i, a := range p.args(open) {
		if a.name != "" || i > 12 {
			continue
		}
		one := p.eval(a.span, depth+1).v.or()
		switch {
		case i == 0 || strings.HasPrefix(one[0], "/") || strings.HasPrefix(one[0], "~"):
			v = one
		default:
			v = cat(cat(v, value{"/"}), one)
		}
	}
	return v
}

// joined is the elements of a list with sep between them.
func joined(list result, sep value) value {
	if list.list == nil {
		if len(list.v) == 1 && sep.known() && sep[0] == "" {
			return list.v
		}
		return unknown
	}
	v := value{""}
	for i, one := range list.list {
		if i > 0 {
			v = cat(v, sep)
		}
		v = cat(v, one)
	}
	return v
}

// method is what a method of a value gives.
func (p *program) method(r result, name string, open, depth int) result {
	if p.l == python && name == "__call__" {
		return p.call(r, open, depth)
	}
	if r.name != "" && (r.v == nil || len(r.v) == 1 && r.v[0] == holeText) && r.list == nil {
		return p.call(result{name: r.name + "." + name}, open, depth)
	}
	arg := func(n int) value { return p.text1(open, n, depth) }
	switch name {
	case "join":
		if r.list != nil { // of JavaScript
			sep := value{","}
			if len(p.args(open)) > 0 {
				sep = arg(0)
			}
			return result{v: joined(r, sep)}
		}
		if p.l == python {
			return result{v: joined(p.argument(open, 0, depth), r.v.or())}
		}
	case "format":
		v := r.v
		args := p.args(open)
		for n, a := range args {
			one := p.eval(a.span, depth+1).v.or()
			for _, hold := range []string{"{}", "{" + strconv.Itoa(n) + "}", "{" + a.name + "}"} {
				if (a.name == "") == (hold != "{"+a.name+"}") || hold == "{}" && a.name == "" {
					v = fill(v, hold, one, hold == "{}")
				}
			}
		}
		return result{v: v}
	case "replace", "replaceAll":
		from, with := arg(0), arg(1)
		if from.known() && with.known() && from[0] != "/regexp/" {
			return result{v: r.v.each(func(s string) (string, bool) { return replaced(s, from[0], with[0]) })}
		}
	case "strip", "trim", "rstrip", "lstrip", "decode", "encode", "toString", "as_posix", "expanduser", "resolve", "absolute", "valueOf", "String", "slice", "concat", "freeze", "unwrap":
		if name == "slice" && len(p.args(open)) > 0 || name == "concat" {
			break
		}
		if enc := arg(0); name == "toString" && len(enc) == 1 && (enc[0] == "base64" || enc[0] == "hex") {
			break
		}
		if enc := arg(0); name == "decode" && enc[0] == "rot13" {
			return result{v: r.v.each(rot13)}
		}
		return result{v: r.v.or(), list: r.list}
	case "lower", "toLowerCase":
		return result{v: r.v.each(func(s string) (string, bool) { return strings.ToLower(s), true })}
	case "upper", "toUpperCase":
		return result{v: r.v.each(func(s string) (string, bool) { return strings.ToUpper(s), true })}
	case "split":
		sep := arg(0)
		if len(r.v) == 1 && r.v.known() && (len(p.args(open)) == 0 || sep.known()) {
			var parts []string
			switch {
			case len(p.args(open)) == 0:
				parts = strings.Fields(r.v[0])
			default:
				parts = strings.Split(r.v[0], sep[0])
			}
			if len(parts) > 512 {
				break
			}
			out := result{list: []value{}}
			for _, s := range parts {
				out.list = append(out.list, value{s})
				out.v = either(out.v, value{s})
			}
			return out
		}
	case "reverse":
		if r.list != nil {
			list := slices.Clone(r.list)
			slices.Reverse(list)
			return result{v: r.v, list: list}
		}
	case "joinpath", "with_name":
		return result{v: cat(cat(r.v, value{"/"}), arg(0))}
	case "parent":
		return r
	}
	return result{}
}

// fill puts a value in the places of a format.
func fill(v value, hold string, with value, once bool) value {
	var out value
	for _, s := range v.or() {
		before, after, ok := strings.Cut(s, hold)
		if !ok {
			out = either(out, value{s})
			continue
		}
		if !once && strings.Count(after, hold) < 4 && strings.Contains(after, hold) {
			out = either(out, cat(cat(value{before}, with), fill(value{after}, hold, with, false)))
			continue
		}
		out = either(out, cat(cat(value{before}, with), value{after}))
	}
	return out
}

// replaced is s with all from replaced, unless that is longer than a text may be.
func replaced(s, from, with string) (string, bool) {
	if from == "" || strings.Count(s, from)*len(with) > maxText {
		return "", false
	}
	return strings.ReplaceAll(s, from, with), true
}
