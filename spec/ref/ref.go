// Package ref parses what people write to name a skill.
//
//	acme/pdf   acme/pdf@^1.4              a name in the source that owns the namespace
//	owner/repo   owner/repo/skill@1.2.0   the same; on a forge, one skill of a repository
//	github:o/r//skills/pdf@main           explicit forge: github, gitlab, codeberg or a configured one
//	https://github.com/o/r/tree/main/skills/pdf   pasted from a browser
//	git+https://h/r.git//path@ref         any git repository: https, ssh, file, and http on loopback
//	oci://host[:port]/ns/name[:tag][@sha256:…]    an OCI artifact
//	market:NAME/plugin/skill              a marketplace
//	skl:NAME   skl:NAME@^1   skl:         a skill that comes with skl; all of them
//	git@host:o/r.git   ssh://…   host/o/r   read as what git+ssh://… and https://… say
//	./dir  ../dir  /dir  x.skill  x.tar.gz  x.zip   local
//
// "#" selects a skill, "@" a version: a tag, branch, full commit or range.
//
// [Parse] refuses everything that could be taken for an option, a program or
// a path outside: see [Ref]. Its fields are safe to pass on as they are.
package ref

import (
	"errors"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Kind is the form of a ref.
type Kind string

const (
	Name   Kind = "name"   // acme/pdf, owner/repo/skill: looked up in the namespace's source
	Forge  Kind = "forge"  // github:o/r//path
	Git    Kind = "git"    // git+https://…
	OCI    Kind = "oci"    // oci://host/ns/name:tag
	Market Kind = "market" // market:NAME/plugin/skill
	Local  Kind = "local"  // ./dir, archive

	Embedded Kind = "embedded" // skl:NAME
)

// A Ref names skills at some place. Only Parse makes one. The fields that are
// set depend on Kind:
//
//	Name    Owner, Repo (second element), Path (further elements: a skill's name or path)
//	Forge   Host (forge name), Owner (may hold slashes on gitlab), Repo, Path
//	Git     URL (without "git+"), Path
//	OCI     Host ("host" or "host:port"), Owner (may hold slashes, or be ""), Repo, Digest
//	Market  Host (marketplace), Owner (plugin), Path (skill name)
//	Local   Path (cleaned, slash-separated; starts with "./", "../" or "/", or a drive)
//	Embedded Skill ("" is all of them; else it follows the rules of a published name)
//
// Skill and Version may be set on all. Path, except for Local, is a valid
// relative slash path without "." or ".." elements, or "".
type Ref struct {
	Kind    Kind
	Host    string
	Owner   string
	Repo    string
	URL     string
	Path    string
	Skill   string // after "#", or after "skl:"
	Version string // after "@": a tag, branch, commit or range; not checked further than its characters
	Digest  Digest // OCI only: "sha256:…" or "sha512:…", which decides whatever Version says
}

// Namespace is what bindings are keyed by: the owner of a Name, else "".
func (r Ref) Namespace() string {
	if r.Kind == Name {
		return r.Owner
	}
	return ""
}

// String is the canonical spelling: Parse(r.String()) equals r.
func (r Ref) String() string {
	var b strings.Builder
	switch r.Kind {
	case Name:
		b.WriteString(r.Owner + "/" + r.Repo)
		if r.Path != "" {
			b.WriteString("/" + r.Path)
		}
	case Forge:
		b.WriteString(r.Host + ":" + r.Owner + "/" + r.Repo)
		if r.Path != "" {
			b.WriteString("//" + r.Path)
		}
	case Git:
		b.WriteString("git+" + r.URL)
		if r.Path != "" {
			b.WriteString("//" + r.Path)
		}
	case OCI:
		return r.ociString()
	case Market:
		b.WriteString("market:" + r.Host + "/" + r.Owner)
		if r.Path != "" {
			b.WriteString("/" + r.Path)
		}
	case Local:
		b.WriteString(r.Path)
	case Embedded:
		b.WriteString("skl:" + r.Skill)
	}
	if r.Skill != "" && r.Kind != Embedded {
		b.WriteString("#" + r.Skill)
	}
	if r.Version != "" {
		b.WriteString("@" + r.Version)
	}
	return b.String()
}

// WithoutVersion is r with no version, as a manifest stores it. The digest of an OCI
// ref stays: it is part of what the ref names.
func (r Ref) WithoutVersion() Ref { r.Version = ""; return r }

// Parse parses s. For every s it accepts, Parse(Parse(s).String()) is the same Ref.
// One word alone is refused: whether it means an installed skill is the caller's business.
func Parse(s string) (Ref, error) {
	r, err := parseText(s)
	if err != nil {
		return Ref{}, respelled(s, err)
	}
	return r, nil
}

// parseText is Parse with the plain error.
func parseText(s string) (Ref, error) {
	if err := checkText(s); err != nil {
		return Ref{}, err
	}
	r, err := parse(s)
	if err == nil {
		err = checkText(r.String()) // cleaning can lay bare a space at the end
	}
	if err != nil {
		return Ref{}, err
	}
	return r, nil
}

func parse(s string) (Ref, error) {
	switch {
	case isLocal(s):
		return parseLocal(s)
	case s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, `~\\`):
		return Ref{}, invalid(s, "only a shell knows what ~ is, and only where it is not quoted").Hint("skl install \"$HOME\"%s", quote(s[1:]))
	case strings.HasPrefix(s, "git+"):
		return parseGit(s)
	case strings.HasPrefix(s, "ssh://"):
		return rewritten(s, "git+"+s)
	case strings.HasPrefix(s, "https://"), strings.HasPrefix(s, "http://"):
		return parsePasted(s)
	case strings.HasPrefix(s, "oci:"):
		return parseOCI(s)
	case strings.HasPrefix(s, "market:"):
		return parseMarket(s)
	case strings.HasPrefix(s, "skl:"):
		return parseEmbedded(s)
	}
	if scheme, rest, ok := strings.Cut(s, ":"); ok && !strings.ContainsAny(scheme, "/@#") {
		return parseForge(s, scheme, rest)
	}
	if url, ok := scpLike(s); ok {
		return rewritten(s, "git+"+url)
	}
	if page, ok := hostFirst(s); ok {
		return rewritten(s, page)
	}
	return parseName(s)
}

func invalid(s, format string, args ...any) *diag.Error {
	e := diag.New(diag.Misuse, "invalid_ref", format, args...)
	e.Message = "invalid reference \"" + diag.Printable(s) + "\": " + e.Message
	return e
}

// quote quotes a word for the shell where it needs it.
func quote(s string) string {
	if strings.ContainsFunc(s, func(c rune) bool {
		return !strings.ContainsRune("/._-+:@#%=,", c) && !isLetter(byte(min(c, 127))) && (c < '0' || c > '9')
	}) {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// checkText holds for every form: refs are one line of visible text and never look like an option.
func checkText(s string) error {
	switch {
	case s == "":
		return invalid(s, "it is empty")
	case len(s) > 2048:
		return invalid(s[:64]+"…", "longer than 2,048 bytes")
	case s[0] == '-':
		return invalid(s, "a reference cannot start with \"-\"")
	case diag.Printable(s) != s || strings.TrimSpace(s) != s:
		return invalid(s, "it holds control or invisible characters")
	}
	return nil
}

// archiveSuffixes are the file names that mean a local archive without "./".
var archiveSuffixes = []string{".skill", ".tar.gz", ".tgz", ".zip"}

func isLocal(s string) bool {
	for _, p := range []string{"./", "../", "/", `.\`, `..\`} {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	file, _, _ := strings.Cut(s, "#")
	if file == "." || file == ".." || len(s) > 2 && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && isLetter(s[0]) {
		return true
	}
	if strings.Contains(s, ":") {
		return false
	}
	for _, suffix := range archiveSuffixes {
		if strings.HasSuffix(file, suffix) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func parseLocal(s string) (Ref, error) {
	file, skill, _ := strings.Cut(s, "#")
	if name, version, ok := strings.Cut(skill, "@"); ok {
		e := invalid(s, "a folder has no versions").Hint("the skill as it is there: skl install %s", quote(file+"#"+name))
		if strings.HasPrefix(file, "/") {
			e.Hint("a commit of a repository: skl install %s", quote("git+file://"+file+"@"+version+"#"+name))
		}
		return Ref{}, e
	}
	if strings.Contains(s, "#") {
		if err := checkSkill(s, skill); err != nil {
			return Ref{}, err
		}
	}
	path := cleanLocal(strings.ReplaceAll(file, `\`, "/"))
	return Ref{Kind: Local, Path: path, Skill: skill}, nil
}

// cleanLocal removes "." elements and doubled slashes, keeps leading "..", and
// makes the result start with "./", "../", "/" or a drive ("C:/").
func cleanLocal(p string) string {
	root := ""
	switch {
	case len(p) > 2 && p[1] == ':' && p[2] == '/':
		root, p = p[:3], p[3:]
	case strings.HasPrefix(p, "/"):
		root = "/"
	}
	var out []string
	for _, e := range strings.Split(p, "/") {
		switch {
		case e == "" || e == ".":
		case e == ".." && len(out) > 0 && out[len(out)-1] != "..":
			out = out[:len(out)-1]
		case e == ".." && root != "":
		default:
			out = append(out, e)
		}
	}
	joined := strings.Join(out, "/")
	switch {
	case root != "":
		return root + joined
	case joined == "":
		return "."
	case out[0] == "..":
		return joined
	}
	return "./" + joined
}

func parseGit(s string) (Ref, error) {
	text := strings.TrimPrefix(s, "git+")
	text, skill, hasSkill := cutSkill(text)
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok {
		e := invalid(s, "git+ is followed by https://, ssh:// or file://")
		if path, ok := strings.CutPrefix(s, "git+file:/"); ok {
			hintFile(e, path)
		}
		return Ref{}, e
	}
	// The version starts at the first "@" behind the authority: user@host is not one.
	slash := strings.IndexByte(rest, '/')
	if slash < 0 {
		return Ref{}, invalid(s, "it names no repository")
	}
	authority, tail := rest[:slash], rest[slash:]
	tail, version, hasVersion := strings.Cut(tail, "@")
	if hasSkill && !hasVersion {
		skill, version, hasVersion = cutVersion(skill)
	}
	tail, path, _ := cutPath(tail)
	r := Ref{Kind: Git, URL: scheme + "://" + authority + tail, Path: path, Skill: skill, Version: version}
	if err := CheckGitURL(r.URL); err != nil {
		e := invalid(s, "%s", err.Error())
		if own, ok := errors.AsType[*diag.Error](err); ok {
			e.Hints = own.Hints
		}
		if scheme == "file" && authority != "" {
			hintFile(e, strings.TrimPrefix(s, "git+file://"))
		}
		return Ref{}, e
	}
	return r, r.checkRest(s, hasSkill, hasVersion)
}

// cutPath splits "/o/r.git//skills/pdf" at the first doubled slash behind its start.
func cutPath(s string) (before, path string, found bool) {
	i := strings.Index(s[1:], "//")
	if i < 0 {
		return s, "", false
	}
	return s[:i+1], strings.Trim(s[i+3:], "/"), true
}

func cutSkill(s string) (rest, skill string, found bool) { return strings.Cut(s, "#") }

func cutVersion(s string) (rest, version string, found bool) { return strings.Cut(s, "@") }

// CheckGitURL accepts the URLs skl clones from: https, ssh, file, and http. Whether
// plain http is allowed for a host is the transport's rule. Everything that git
// could take for an option, a helper program (ext::) or a host that ssh would
// take for one is refused.
func CheckGitURL(s string) error {
	u, err := url.Parse(s)
	bad := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "invalid_ref", format, args...)
	}
	switch {
	case err != nil:
		return bad("it is not a URL")
	case u.Scheme != "https" && u.Scheme != "http" && u.Scheme != "ssh" && u.Scheme != "file":
		return bad("protocol %q is not one of https, ssh, file", diag.Printable(u.Scheme))
	case u.Opaque != "" || u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return bad("a clone URL has no query and no fragment")
	case strings.Contains(s, "::") && !strings.Contains(u.Host, "["):
		return bad("%q runs a helper program", "::")
	case u.Scheme == "file" && u.Host != "":
		return bad("a file URL has no host: file:///path")
	case u.Scheme != "file" && (u.Hostname() == "" || strings.HasPrefix(u.Host, "-")):
		return bad("its host is missing or starts with %q", "-")
	case u.Scheme != "file" && !isHost(u.Hostname()):
		return bad("its host %q is neither a name of letters, digits, dots and hyphens nor an address; other names have a form that begins with xn--", diag.Printable(u.Hostname()))
	case u.Scheme != "file" && isOddAddress(u.Hostname()):
		return oddAddress(u.Hostname())
	case u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return bad("its user starts with %q", "-")
	case u.User != nil && !isPlain(u.User.Username()):
		return bad("its user %q is more than letters, digits, dots, hyphens and underscores", diag.Printable(u.User.Username()))
	case u.User != nil && u.Scheme != "ssh" || hasPassword(u):
		return bad("it holds a credential; use a credential helper, netrc or a token variable")
	case u.Path == "" || u.Path == "/":
		return bad("it names no repository")
	case slices.ContainsFunc(strings.Split(u.Path, "/"), func(e string) bool { return e == "." || e == ".." }):
		return bad("its path goes through %q", "..")
	case strings.Contains(u.Path, "/-") && strings.HasPrefix(u.Path[strings.LastIndex(u.Path, "/"):], "/-"):
		return bad("its last element starts with %q", "-")
	case diag.Printable(u.Path) != u.Path || diag.Printable(u.Host) != u.Host:
		return bad("it holds control characters")
	case u.String() != s:
		return bad("it is not spelled as a plain URL")
	}
	return nil
}

// isHost reports whether h is a name or an address that means the same to every program: ssh hands the host on to commands of the
// user's configuration, in a shell.
func isHost(h string) bool {
	if address, err := netip.ParseAddr(h); err == nil {
		return address.Zone() == "" || isPlain(address.Zone())
	}
	return isPlain(h)
}

// oddAddress refuses a host that [isOddAddress].
func oddAddress(h string) *diag.Error {
	return diag.New(diag.Misuse, "invalid_ref", "its host %q is not the same address to every program", diag.Printable(h)).
		Hint("write an address as four decimal numbers without leading zeros: 192.0.2.1")
}

func hasPassword(u *url.URL) bool {
	if u.User == nil {
		return false
	}
	_, has := u.User.Password()
	return has
}

func parseForge(s, scheme, rest string) (Ref, error) {
	switch scheme {
	case "npm", "go", "r", "pypi":
		return Ref{}, notSupported(s, scheme, rest)
	case "file":
		return Ref{}, FileURL(s, true, true) // what is there is not known here
	case "git", "ssh", "ext", "fd":
		e := invalid(s, "protocol %q is written git+https://, git+ssh:// or git+file://", scheme)
		if text := "git+https:" + rest; scheme == "git" && parses(text) {
			e.Hint("skl install %s", quote(text))
		}
		return Ref{}, e
	}
	if !isWord(scheme) {
		return Ref{}, colonHint(s)
	}
	rest, skill, hasSkill := cutSkill(rest)
	rest, version, hasVersion := cutVersion(rest)
	if hasSkill && !hasVersion {
		skill, version, hasVersion = cutVersion(skill)
	}
	repo, path, _ := strings.Cut(rest, "//")
	i := strings.LastIndexByte(repo, '/')
	if i < 0 && isName(repo) && path == "" && slices.Contains(slices.Collect(maps.Values(forgeHosts)), scheme) {
		return Ref{}, ownerOnly(s, scheme, repo)
	}
	if i < 0 {
		return Ref{}, colonHint(s)
	}
	r := Ref{Kind: Forge, Host: scheme, Owner: repo[:i], Repo: strings.TrimSuffix(repo[i+1:], ".git"),
		Path: strings.Trim(path, "/"), Skill: skill, Version: version}
	for _, e := range strings.Split(r.Owner, "/") {
		if !isName(e) {
			return Ref{}, invalid(s, "%q is not an owner", diag.Printable(e))
		}
	}
	if !isName(r.Repo) {
		return Ref{}, invalid(s, "%q is not a repository", diag.Printable(r.Repo))
	}
	return r, r.checkRest(s, hasSkill, hasVersion)
}

// colonHint explains acme/pdf:1.4, where "@" belongs.
func colonHint(s string) error {
	e := invalid(s, "names use letters, digits, \".\", \"_\" and \"-\"")
	if name, version, ok := strings.Cut(s, ":"); ok && strings.Contains(name, "/") && version != "" && !strings.Contains(s, "@") {
		e.Hint("versions follow \"@\", try %q", name+"@"+version)
	}
	return e
}

func parseMarket(s string) (Ref, error) {
	rest := strings.TrimPrefix(s, "market:")
	rest, version, hasVersion := cutVersion(rest)
	parts := strings.Split(rest, "/")
	if len(parts) < 2 || len(parts) > 3 {
		return Ref{}, invalid(s, "a marketplace reference is market:NAME/plugin or market:NAME/plugin/skill")
	}
	r := Ref{Kind: Market, Host: parts[0], Owner: parts[1], Version: version}
	if len(parts) == 3 {
		r.Path = parts[2]
	}
	for _, p := range parts {
		if !isName(p) {
			return Ref{}, invalid(s, "%q is not a name", diag.Printable(p))
		}
	}
	return r, r.checkRest(s, false, hasVersion)
}

// parseEmbedded reads the name of a skill that comes with skl, and which ones there are is not
// known here. Without a name it means all of them.
func parseEmbedded(s string) (Ref, error) {
	name, version, hasVersion := cutVersion(strings.TrimPrefix(s, "skl:"))
	r := Ref{Kind: Embedded, Skill: name, Version: version}
	if name != "" {
		if err := skill.CheckPublishName(name); err != nil {
			return Ref{}, invalid(s, "%s", err.Error()).Hint("a skill that comes with skl is written skl:NAME or skl:NAME@VERSION")
		}
	}
	return r, r.checkRest(s, name != "", hasVersion)
}

func parseName(s string) (Ref, error) {
	rest, skill, hasSkill := cutSkill(s)
	rest, version, hasVersion := cutVersion(rest)
	if hasSkill && !hasVersion {
		skill, version, hasVersion = cutVersion(skill)
	}
	parts := strings.SplitN(rest, "/", 3)
	if strings.Contains(rest, ":") {
		return Ref{}, colonHint(s)
	}
	if len(parts) == 2 {
		if forge, ok := forgeHosts[strings.TrimPrefix(parts[0], "www.")]; ok && (parts[1] == "" || isName(parts[1])) {
			return Ref{}, ownerOnly(s, forge, parts[1])
		}
	}
	if len(parts) < 2 {
		return Ref{}, invalid(s, "one word names an installed skill; a reference is owner/name, a URL or ./path")
	}
	for strings.HasSuffix(parts[1], ".git") { // as clone addresses end
		parts[1] = strings.TrimSuffix(parts[1], ".git")
	}
	r := Ref{Kind: Name, Owner: parts[0], Repo: parts[1], Skill: skill, Version: version}
	if len(parts) == 3 {
		r.Path = strings.Trim(parts[2], "/")
	}
	for _, p := range parts[:2] {
		if !isName(p) {
			return Ref{}, invalid(s, "%q is not a name", diag.Printable(p))
		}
	}
	if _, ok := hostFirst(r.String()); ok {
		return Ref{}, invalid(s, "it starts with a host, and is not host/owner/repo")
	}
	return r, r.checkRest(s, hasSkill, hasVersion)
}

// checkRest checks the parts every form has, and empties the Ref's claim on errors by returning them.
func (r *Ref) checkRest(s string, hasSkill, hasVersion bool) error {
	err := func() error {
		if hasSkill {
			if err := checkSkill(s, r.Skill); err != nil {
				return err
			}
		}
		if hasVersion {
			if err := checkVersion(s, r.Version); err != nil {
				return err
			}
		}
		if r.Path == "" {
			return nil
		}
		for _, e := range strings.Split(r.Path, "/") {
			if e == "" || e == "." || e == ".." || strings.HasPrefix(e, "-") || strings.ContainsAny(e, "\\:@#") {
				return invalid(s, "%q is not a path inside a repository", diag.Printable(r.Path))
			}
		}
		return nil
	}()
	if err != nil {
		*r = Ref{}
	}
	return err
}

func checkSkill(s, skill string) error {
	if skill == "" || skill[0] == '-' || skill[0] == '.' || strings.ContainsAny(skill, "/\\#@:") {
		return invalid(s, "%q is not a skill name", diag.Printable(skill))
	}
	return nil
}

// checkVersion follows git check-ref-format, widened by the characters of ranges.
func checkVersion(s, v string) error {
	switch {
	case v == "":
		return invalid(s, "nothing follows \"@\"")
	case v[0] == '-' || v[0] == '/' || strings.HasSuffix(v, "/") || strings.HasSuffix(v, ".") || strings.HasSuffix(v, ".lock"),
		strings.Contains(v, "..") || strings.Contains(v, "@{") || strings.Contains(v, "//"),
		strings.ContainsAny(v, "\\:?[#"):
		return invalid(s, "%q is not a version, tag, branch or commit", diag.Printable(v))
	}
	return nil
}

// isName reports whether e can be an owner, repository, plugin or marketplace.
//
//go:noinline
func isName(e string) bool { return len(e) <= 128 && e != "." && e != ".." && isPlain(e) }

// isPlain reports whether e is of letters, digits, hyphens, underscores and dots, and does not begin like an option.
func isPlain(e string) bool {
	for i := range len(e) {
		c := e[i]
		if !isLetter(c) && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return e != "" && e[0] != '-'
}

func isWord(e string) bool { return isName(e) && !strings.ContainsAny(e, "._") }
