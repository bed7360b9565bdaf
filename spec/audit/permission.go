package audit

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

// A Kind says what a permission is about.
type Kind string

const (
	Run     Kind = "run"          // starts a program: run:python3
	Net     Kind = "net"          // speaks to a host: net:api.ocr.example
	Env     Kind = "env"          // reads an environment variable: env:OCR_KEY; env:* is all, or one that is computed
	Reads   Kind = "read"         // reads a path outside the skill and the project: read:~/.ssh
	Writes  Kind = "write"        // writes a path: write:. is the project
	Package Kind = "pkg"          // installs or needs a package: pkg:pip:requests
	Tool    Kind = "tool"         // wants a tool of the agent without being asked: tool:Bash(git:*)
	Allow   Kind = "allow"        // tools.allow: limits the tools to those; allow:- is none
	Deny    Kind = "deny"         // tools.deny
	Effect  Kind = "effect"       // side_effects: limits the effects to those
	Hook    Kind = "hook"         // runs commands on an event: hook:PreToolUse
	Agent   Kind = "agent"        // starts another agent
	Load    Kind = "load-command" // runs commands when an agent loads it
	Dynamic Kind = "dynamic-exec" // runs what cannot be told from its files
)

// kinds in the order in which they are shown.
var kinds = []Kind{Load, Dynamic, Run, Net, Env, Reads, Writes, Package, Hook, Agent, Tool, Allow, Deny, Effect}

// argument reports whether permissions of the kind have one.
func (k Kind) argument() bool { return k != Agent && k != Load && k != Dynamic }

// dynamic reports whether the kind has "*" for an argument that is not known.
func (k Kind) dynamic() bool {
	return k == Net || k == Env || k == Reads || k == Writes || k == Package
}

// takes reports whether a text may be an argument of the kind. One that is too long, or that is no word where a name is wanted, is what
// a scanner made of a text that it did not understand.
func (k Kind) takes(arg string) bool {
	switch k {
	case Run, Net, Env, Package:
		return len(arg) <= maxArg && !strings.ContainsAny(arg, "$(){}`;|&<>\"\n\r\t")
	case Reads, Writes:
		return len(arg) <= maxArg
	}
	return true
}

// A Permission is one thing that a release asks for. It is comparable.
type Permission struct {
	Kind Kind
	Arg  string // "" for kinds without one
}

// String is the text form: Parse(p.String()) is p for all that Parse and Read return.
func (p Permission) String() string {
	if p.Arg == "" {
		return string(p.Kind)
	}
	var b strings.Builder
	b.WriteString(string(p.Kind))
	b.WriteByte(':')
	for i := range len(p.Arg) {
		if c := p.Arg[i]; plain(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func plain(c byte) bool { return c > ' ' && c < 0x7f && strings.IndexByte(",%\"'`\\", c) < 0 }

// maxArg is the length of an argument in bytes.
const maxArg = 256

// clip is s, or of one that is too long its start and a digest, so that no two are the same.
func clip(s string) string {
	if len(s) <= maxArg {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return strings.ToValidUTF8(s[:maxArg-17], "") + fmt.Sprintf("-%x", sum[:8])
}

// Kinds are all there are, in the order in which they are shown.
func Kinds() []Kind { return slices.Clone(kinds) }

// Parse reads the text form of a permission; ok is false for any other text.
func Parse(s string) (p Permission, ok bool) {
	kind, arg, has := strings.Cut(s, ":")
	p.Kind = Kind(kind)
	if !slices.Contains(kinds, p.Kind) || has != p.Kind.argument() || has && arg == "" {
		return Permission{}, false
	}
	var b strings.Builder
	for i := 0; i < len(arg); i++ {
		c := arg[i]
		if c == '%' {
			if i+2 >= len(arg) {
				return Permission{}, false
			}
			hi, lo := strings.IndexByte("0123456789ABCDEF", arg[i+1]), strings.IndexByte("0123456789ABCDEF", arg[i+2])
			if hi < 0 || lo < 0 || plain(byte(hi<<4|lo)) {
				return Permission{}, false
			}
			b.WriteByte(byte(hi<<4 | lo))
			i += 2
		} else if plain(c) {
			b.WriteByte(c)
		} else {
			return Permission{}, false
		}
	}
	if b.Len() > maxArg {
		return Permission{}, false
	}
	p.Arg = b.String()
	return p, true
}

func (p Permission) compare(q Permission) int {
	return cmp.Or(cmp.Compare(slices.Index(kinds, p.Kind), slices.Index(kinds, q.Kind)), strings.Compare(p.Arg, q.Arg))
}

// A Set is permissions in order, without repetitions.
type Set []Permission

// Texts is the text forms.
func (s Set) Texts() []string {
	out := make([]string, len(s))
	for i, p := range s {
		out[i] = p.String()
	}
	return out
}

// has reports whether s holds p.
func (s Set) has(p Permission) bool { return slices.Contains(s, p) }

func (s Set) any(k Kind) bool {
	return slices.ContainsFunc(s, func(p Permission) bool { return p.Kind == k })
}

// A Change is a permission that is newly asked for, or no longer.
type Change struct {
	Permission Permission
	Gone       bool
	Escalates  bool // needs consent
}

// Compare lists how next differs from old, in order. Of the limits, allow, deny and effect, less is more: that a
// limit is lifted is the change allow:* or effect:*, and that a tool is no longer denied is allow:TOOL.
func Compare(old, next Set) []Change {
	var out []Change
	gained := func(p Permission, escalates bool) {
		out = append(out, Change{Permission: p, Escalates: escalates})
	}
	for _, p := range next {
		switch {
		case old.has(p):
		case p.Kind == Deny:
			gained(p, false)
		case p.Kind == Allow || p.Kind == Effect:
			gained(p, old.any(p.Kind) && p != Permission{Allow, "-"} && p != Permission{Effect, "none"})
		default:
			gained(p, p.Escalates())
		}
	}
	for _, k := range []Kind{Allow, Effect} {
		if old.any(k) && !next.any(k) {
			gained(Permission{k, "*"}, true)
		}
	}
	for _, p := range old {
		if next.has(p) {
			continue
		}
		out = append(out, Change{Permission: p, Gone: true})
		if p.Kind == Deny {
			gained(Permission{Allow, p.Arg}, true)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		if out[i].Gone != out[j].Gone {
			return out[j].Gone
		}
		return out[i].Permission.compare(out[j].Permission) < 0
	})
	return slices.Compact(out)
}

// shown are the permissions that need no consent: tools that only read, the project, this machine, and files that are
// named when a script is run.
var shown = sync.OnceValue(func() map[Permission]bool {
	return map[Permission]bool{
		{Writes, "."}: true, {Net, "localhost"}: true, {Net, "127.0.0.1"}: true, {Net, "::1"}: true, {Net, "0.0.0.0"}: true,
		{Tool, "Read"}: true, {Tool, "Glob"}: true, {Tool, "Grep"}: true, {Tool, "LS"}: true, {Tool, "TodoWrite"}: true,
		{Tool, "AskUserQuestion"}: true, {Reads, "*"}: true,
	}
})

// Escalates reports whether a release that asks for p newly needs consent. Environment variables do if their name
// is that of a secret. Limits are no such permission: [Compare] judges them.
func (p Permission) Escalates() bool {
	switch p.Kind {
	case Env:
		return secret(p.Arg)
	case Allow, Deny, Effect:
		return false
	}
	return !shown()[p]
}

// credentialed are words of names whose values are credentials, lead to them, or hold one beside an address.
const credentialed = " SK PEM CERT CERTS NETRC KUBECONFIG SSH GPG PGP VAULT KEYCHAIN KEYRING SESSIONID BEARER SIGNING REDIS MONGO MONGODB POSTGRES POSTGRESQL MYSQL AMQP SMTP IMAP LDAP "

// secret reports whether the name of a variable may be that of a credential.
func secret(name string) bool {
	if name == "*" {
		return true
	}
	name = strings.ToUpper(name)
	if name == "PWD" || name == "OLDPWD" { // directories
		return false
	}
	for _, word := range strings.FieldsFunc(name, func(c rune) bool { return c < 'A' || c > 'Z' }) {
		if has(credentialed, word) {
			return true
		}
	}
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASS", "PWD", "PAT", "CRED", "AUTH", "COOKIE", "PRIVATE", "DSN", "CONNECTION", "WEBHOOK", "JWT", "DATABASE"} {
		for at := 0; ; {
			i := strings.Index(name[at:], word)
			if i < 0 {
				break
			}
			at += i + len(word)
			if word != "PAT" && word != "PWD" || (i == 0 || name[at-len(word)-1] == '_') && (at == len(name) || name[at] == '_') {
				return true
			}
		}
	}
	return false
}

// Locked is the form of a set in skl.lock: its text forms behind the version of the rules. Sets of load-command alone,
// and empty ones, are written as before there were rules.
func Locked(s Set) []string {
	if len(s) == 0 {
		return nil
	}
	texts := s.Texts()
	if len(s) == 1 && s[0].Kind == Load {
		return texts
	}
	return append([]string{mark}, texts...)
}

// Marked reports whether a list of skl.lock says by which rules it was found.
func Marked(list []string) bool {
	return slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, "rules=") })
}

var mark = fmt.Sprintf("rules=%d", Rules)

// FromLock reads what skl.lock holds. Computed is false where that is not what these rules found: the lock is older than
// they are, or of other rules, or was written by hand. Then the set is load-command at most. Texts that are no permission
// are left out.
func FromLock(list []string) (s Set, computed bool) {
	computed = slices.Contains(list, mark)
	for _, text := range list {
		if p, ok := Parse(text); ok && (computed || p.Kind == Load) {
			s = append(s, p)
		}
	}
	sort.Slice(s, func(i, j int) bool { return s[i].compare(s[j]) < 0 })
	return slices.Compact(s), computed
}

// Said are the permissions that skl.lock names, by whatever rules they were found. Texts that are no permission are left out.
func Said(list []string) (s Set) {
	for _, text := range list {
		if p, ok := Parse(text); ok {
			s = append(s, p)
		}
	}
	sort.Slice(s, func(i, j int) bool { return s[i].compare(s[j]) < 0 })
	return slices.Compact(s)
}

// Agrees reports whether what skl.lock holds is what a release asks for, or not computed by these rules.
func Agrees(list []string, s Set) bool {
	if !slices.Contains(list, mark) {
		return true
	}
	list, want := slices.Clone(list), Locked(s)
	slices.Sort(list)
	slices.Sort(want)
	return slices.Equal(list, want)
}
