// Package audit computes what a release asks for: its permissions, each with the places that show it.
//
//   - A permission is declared (frontmatter, hooks, load-time commands, trees, configuration of agents) or observed in scripts and in
//     the commands of prose, by reading tokens. Nothing is run.
//   - What cannot be decided is said: a program, a code text or a module that is computed is dynamic-exec, a
//     host net:*, a variable's name env:*, a path read:* or write:*, a package pkg:MANAGER:*, and a file of
//     code that no scanner reads is dynamic-exec too.
//   - What every skill does is no permission: its own files, reading the project, printing, temporary files, the tools of [Ordinary].
//   - Constant strings are folded: joins, variables with few values, and the usual encodings. Code that is a
//     constant is read in its own right, to a depth of maxNested.
//   - The set depends on the bytes alone. Time and memory are linear in them; a panic is no answer to any input.
//
// The text form of a permission, which skl.lock holds and --accept takes, is
//
//	permission = kind [ ":" argument ]
//	kind       = "run" | "net" | "env" | "read" | "write" | "pkg" | "tool" | "allow" | "deny" | "effect" | "hook"
//	           | "agent" | "load-command" | "dynamic-exec"           ; the last three have no argument
//	argument   = 1*256 bytes of printable ASCII without blank, comma, quotes, backslash and "%"; others are %XX
//
// The page spec/permissions.md says what each kind means and which of them need consent.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/skill"
)

// Rules is the version of what this package finds. It grows when the same bytes give another set.
const Rules = 6

// Limits of what is read.
const (
	MaxFileBytes = 4 << 20 // of a file; what is longer is dynamic-exec if it is code
	MaxPlaces    = 8       // of one permission that are kept
	maxNested    = 4       // code in code
)

// A File is one file of a release.
type File struct {
	Path       string // slash-separated
	Data       []byte
	Executable bool
	Sum        [sha256.Size]byte // of the whole file, where Data is only its start; zero is that of Data

	Of   string // of the name of a link, the path of the file that it leads to; see [Linked]
	Link Link
}

// A Place is where a permission shows.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"` // from 1
}

// A Found is a permission and its places, at most MaxPlaces, in order.
type Found struct {
	Permission Permission
	Places     []Place
	Scripts    int // files that show it

	unseen []unseen // of dynamic-exec
}

// A Report is all that a release asks for, sorted.
type Report []Found

// Set is the permissions alone.
func (r Report) Set() Set {
	out := make(Set, len(r))
	for i, f := range r {
		out[i] = f.Permission
	}
	return out
}

// At returns the places of p, nil if r does not have it.
func (r Report) At(p Permission) []Place {
	for i := range r {
		if r[i].Permission == p {
			return r[i].Places
		}
	}
	return nil
}

// Read computes the permissions of a release. Files are neither changed nor kept.
func Read(files []File) Report { return read(files, MaxPlaces, nil) }

func read(files []File, places int, command func(Command)) Report {
	a := &auditor{found: map[Permission]*Found{}, own: map[string]bool{}, places: places, told: command, readAs: map[asked]bool{}}
	for _, f := range files {
		a.own[path.Clean(f.Path)] = true
	}
	sorted := slices.Clone(files)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i].Path < sorted[j].Path }) // slices.SortFunc is 15 kB of program for each type
	for _, f := range sorted {
		a.file(f)
	}
	for i := 0; i < len(a.asked); i++ { // what is run may run more
		for _, f := range sorted {
			one := a.asked[i]
			if path.Clean(f.Path) != one.path {
				continue
			}
			if one.l == itself {
				if _, known := language(f); known {
					continue
				}
				one.l = shell
			}
			if !a.readAs[asked{f.itself(), one.l}] {
				a.path = f.Path
				a.as(one.l, f)
			}
		}
	}
	out := make(Report, 0, len(a.found))
	for _, f := range a.found {
		out = append(out, *f)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Permission.compare(out[j].Permission) < 0 })
	return out
}

// An auditor collects what is found.
type auditor struct {
	found map[Permission]*Found
	own   map[string]bool // files of the skill
	path  string          // of the file that is read
	depth int             // of code in code
	outer int             // line of the constant that holds the code which is read, 0 for none

	asked  []asked        // files of the skill that are run by something, whatever their names say
	readAs map[asked]bool // files that were read, by their own names

	folder string     // in which a script is since its last cd, where that is outside; "" is the project
	script *shellText // whose statement is read, nil for none
	finds  int        // of find -exec find
	same   bool       // the shell that is read next has its functions and variables

	places int           // of a permission that are kept
	told   func(Command) // is told of programs that are started, nil for nobody
}

// add notes a permission at a line of the file that is read. An argument that is no text is not known.
func (a *auditor) add(k Kind, arg string, line int) {
	if k.argument() && arg == "" || strings.IndexByte(arg, hole) >= 0 || !utf8.ValidString(arg) || !k.takes(arg) {
		manager, _, _ := strings.Cut(arg, ":")
		if arg = "*"; k == Package && len(manager) < 20 && k.takes(manager) {
			arg = manager + ":*"
		}
		if !k.dynamic() {
			k = Dynamic
		}
	}
	if !k.argument() {
		arg = ""
	}
	if a.outer > 0 {
		line = a.outer
	}
	p := Permission{k, clip(arg)}
	f := a.found[p]
	if f == nil {
		f = &Found{Permission: p}
		a.found[p] = f
	}
	at := Place{a.path, line}
	if n := len(f.Places); n == 0 || f.Places[n-1].File != a.path {
		f.Scripts++
	}
	if len(f.Places) < a.places && !slices.Contains(f.Places, at) {
		f.Places = append(f.Places, at)
	}
}

func (a *auditor) file(f File) {
	a.path = f.Path
	switch f.Link {
	case LinkSame:
		return
	case LinkUnread:
		a.add(Dynamic, "", 1)
		return
	}
	if config, ofAgents := isConfig(f.Path); config {
		if len(f.Data) > MaxFileBytes {
			if ofAgents || starts.get().Match(f.Data) {
				a.unread(f)
			}
		} else if !a.config(f.Data, ofAgents) {
			a.unread(f)
		}
	}
	if l, known := language(f); known {
		a.as(l, f)
	}
}

// An asked is a file and the language that it is to be read as.
type asked struct {
	path string
	l    lang
}

// ask has a file of the skill read as code of l, because something runs it as that.
func (a *auditor) ask(p string, l lang) {
	if one := (asked{p, l}); !a.readAs[one] && !slices.Contains(a.asked, one) {
		if len(a.asked) == maxAsked {
			a.add(Dynamic, "", 1)
			return
		}
		a.asked = append(a.asked, one)
	}
}

// maxAsked is how many files are read because something runs them; more are dynamic-exec.
const maxAsked = 256

// as reads a file as a text of l.
func (a *auditor) as(l lang, f File) {
	a.readAs[asked{f.itself(), l}] = true
	if len(f.Data) > MaxFileBytes || l == opaque {
		a.unread(f)
		return
	}
	if program := interpreters()[l]; program != "" && l != markdown && (f.Executable || isScript(f.Path)) {
		a.add(Run, program, 1)
	}
	src := decoded(f.Data)
	if l == python {
		if m := coding.get().FindStringSubmatch(src[:min(len(src), 400)]); m != nil && !has(codings, bare.Replace(strings.ToLower(m[1]))) {
			a.add(Dynamic, "", 1)
		}
	}
	if l == markdown {
		if f.Path == skill.FileName {
			a.declared(f.Data)
		} else if ofAgent(f.Path) {
			a.instructions(src)
		}
		a.tools(src, f.Path)
		a.prose(src, 1)
		return
	}
	a.code(l, src, 1)
}

// decoded is the text of a file: without the mark of its order of bytes, and in UTF-8 if it is in UTF-16, as PowerShell takes it.
func decoded(data []byte) string {
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return string(data[3:])
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		order = binary.BigEndian
	case !bytes.HasPrefix(data, []byte("\xff\xfe")):
		return string(data)
	}
	units := make([]uint16, 0, len(data)/2)
	for i := 2; i+1 < len(data); i += 2 {
		units = append(units, order.Uint16(data[i:]))
	}
	return string(utf16.Decode(units))
}

// coding is the line by which a text of Python says how it is decoded: the first, or the second behind a remark.
var coding = pattern{text: `\A(?:[ \t\f]*(?:#[^\n]*)?\n)??[ \t\f]*#[^\n]*?coding[:=][ \t]*([-\w.]+)`}

// codings are those in which code is what its bytes show; letters that ASCII does not have may differ.
const codings = " utf8 utf8sig ascii usascii latin1 iso88591 iso885915 cp1252 windows1252 "

// isScript reports whether a file of code is one that is run, and not one that is tested or built.
func isScript(name string) bool { return !strings.HasSuffix(name, ".d.ts") }

// A lang is a language that is read.
type lang uint8

const (
	opaque lang = iota
	markdown
	shell
	python
	script // JavaScript and TypeScript
	golang
	powershell
	recipe   // of make
	justfile // recipes of just
	image    // a Dockerfile
	notebook // of Jupyter
	settings // lines of KEY = VALUE, which programs obey
	process  // lines of NAME: COMMAND
	page     // HTML and its like, with scripts
	database // SQL
	sitepath // lines of a .pth file of Python
	listing  // of packages: requirements.txt, go.mod
	itself   // a file that is started: what its first line says, or shell
)

var interpreters = sync.OnceValue(func() map[lang]string {
	return map[lang]string{shell: "bash", python: "python3", script: "node", golang: "go", powershell: "pwsh"}
})

// langs are the names of languages in tables, in the order of their constants.
var langs = strings.Fields("opaque markdown shell python script golang powershell recipe justfile image notebook settings process page database sitepath listing")

func langOf(name string) lang { return lang(slices.Index(langs, name)) }

// langsOf reads "LANGUAGE name name …" lines.
func langsOf(table string) map[string]lang { return tableOf[lang](langs, table) }

// languages are the names of languages: of file extensions, of the info strings of fences, of programs behind #!.
var languages = sync.OnceValue(func() map[string]lang {
	return langsOf(`
	markdown md markdown mdx
	shell sh bash zsh shell ksh dash ash console shell-session shellscript terminal bats
	python py python python3 pyw pyi uv
	script js javascript mjs cjs jsx ts typescript mts cts tsx node nodejs deno bun
	golang go golang
	powershell ps1 psm1 powershell pwsh
	recipe make makefile mk mak
	justfile just justfile
	image dockerfile docker containerfile
	notebook ipynb
	settings service timer desktop
`)
})

// formats are extensions of files that hold code of other languages. In fences their names say nothing that is run.
var formats = sync.OnceValue(func() map[string]lang {
	return langsOf(`
	page html htm xhtml xht shtml svg vue svelte astro xsl xslt
	database sql psql pgsql mysql ddl dml
	sitepath pth
	shell command
	script es6 jsm gs pac
	markdown mdc
`)
})

// named are the languages of files that have a name instead of an extension, in lower case.
var named = sync.OnceValue(func() map[string]lang {
	return langsOf(`
	recipe makefile gnumakefile bsdmakefile
	justfile justfile .justfile
	image dockerfile containerfile
	process procfile
	settings .npmrc .yarnrc pip.conf pip.ini .pydistutils.cfg setup.cfg .pypirc .gitconfig .gitmodules .curlrc .wgetrc .gemrc
	shell .envrc .bashrc .zshrc .profile .bash_profile .bash_aliases .zprofile .zshenv pkgbuild apkbuild
	python sconstruct sconscript wscript
	opaque build.xml pom.xml snakefile tiltfile rakefile gemfile vagrantfile guardfile podfile brewfile fastfile dangerfile jenkinsfile cmakelists.txt meson.build build.bazel earthfile crontab .vimrc .emacs .gdbinit .lldbinit .irbrc .pryrc .rprofile .lintstagedrc .huskyrc .releaserc
`)
})

// unreadable are extensions of code that no scanner here reads, of programs, and of archives, which may hold both.
var unreadable = sync.OnceValue(func() map[string]bool {
	m := map[string]bool{}
	for _, ext := range strings.Fields(`
		rb pl pm php lua r tcl awk ex exs jl scm clj groovy kts vbs vbe wsf hta bat cmd fish nu applescript scpt swift
		rs c h cc cxx cpp c++ hh hxx hpp m mm cu java kt scala sc cs csx fs fsi fsx vb dart zig hs lhs ml mli erl hrl escript pas pp dpr d v sv vhd vhdl
		asm s nasm pyx pxd pxi cljs cljc edn lisp lsp cl rkt ss fnl nim nims cr hx gd coffee litcoffee ls elm purs res re sol f f77 f90 f95 for cob cbl ada adb ads
		phtml phar rbw pm6 raku tcsh csh elv xonsh xsh bas cls frm vba ahk au3 expect exp jsp jspx asp aspx cshtml razor erb ejs jse wsh scr cpl lnk
		gleam roc vala hack wren janet tl moon odin jai c3 rexx abap mojo sage ipy pyz t psgi cgi fcgi plx sed sas gnuplot plt wat ll star gyp gypi pug rmd qmd m4 ac am pbxproj nsi iss
		workflow shortcut docm xlsm pptm dotm xltm pkl pickle joblib dill pt ckpt keras bundle hcl
		cmake rake gemspec podspec gradle bzl nix sbt el vim smk reg inf plist csproj fsproj vbproj vcxproj proj targets props tf
		exe dll so dylib pyc pyo class jar wasm node bin o a elf com msi deb rpm apk whl egg lib obj ko sys ipa appimage
		zip tar tgz tbz tbz2 txz tzst gz bz2 xz lz lzma lz4 br zst 7z rar cab iso dmg img pkg cpio nupkg snupkg vsix crx xpi mcpb dxt gem crate conda war ear aar asar`) {
		m[ext] = true
	}
	return m
})

// magics are what programs, archives and texts of PHP start with. Documents of offices are archives too: those hold no code that a skill runs.
var magics = sync.OnceValue(func() []string {
	return []string{"\x7fELF", "MZ\x90", "\xcf\xfa\xed\xfe", "\xce\xfa\xed\xfe", "\xfe\xed\xfa\xcf", "\xca\xfe\xba\xbe", "\x00asm",
		"PK\x03\x04", "\x1f\x8b", "BZh", "\xfd7zXZ\x00", "\x28\xb5\x2f\xfd", "7z\xbc\xaf\x27\x1c", "Rar!\x1a", "<?php", "MSCF\x00", "!<arch>\n"}
})

const documents = " docx pptx xlsx dotx potx xltx odt ods odp odg epub vsdx sketch kmz 3mf "

// language says how a file is read; known is false for what is no code.
func language(f File) (l lang, known bool) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(f.Path), "."))
	head := string(f.Data[:min(len(f.Data), 264)])
	for _, magic := range magics() {
		if strings.HasPrefix(head, magic) && !(magic[0] == 'P' && ext != "" && has(documents, ext)) {
			return opaque, true // whatever its name says
		}
	}
	if strings.HasPrefix(head[min(len(head), 257):], "ustar") {
		return opaque, true
	}
	if l, ok := languages()[ext]; ok {
		return l, true
	}
	if l, ok := formats()[ext]; ok {
		return l, true
	}
	base := strings.ToLower(path.Base(f.Path))
	if base == "go.mod" || has(" txt in ", ext) && (strings.Contains(base, "requirements") || path.Base(path.Dir(f.Path)) == "requirements") {
		return listing, true
	}
	for name := base; ; name = name[:strings.LastIndexByte(name, '.')] { // Dockerfile.dev
		if l, ok := named()[name]; ok {
			return l, true
		}
		if strings.LastIndexByte(name, '.') <= 0 || has(" txt json yaml yml toml lock ", ext) {
			break
		}
	}
	if path.Base(path.Dir(f.Path)) == ".husky" && ext == "" {
		return shell, true
	}
	if unreadable()[ext] {
		return opaque, true
	}
	if line, ok := strings.CutPrefix(strings.TrimPrefix(head, "\xef\xbb\xbf"), "#!"); ok {
		line, _, _ = strings.Cut(line, "\n")
		return scriptOf(line), true
	}
	if f.Executable && len(f.Data) > 0 {
		return opaque, true
	}
	return 0, false
}

// code reads a text of code whose first line is line.
func (a *auditor) code(l lang, src string, line int) {
	if a.depth >= maxNested {
		a.add(Dynamic, "", line)
		return
	}
	if a.depth > 0 && a.outer == 0 {
		a.outer = line
		defer func() { a.outer = 0 }()
	}
	a.depth++
	defer func() { a.depth-- }()
	switch l {
	case shell:
		a.shell(src, line, false)
	case powershell:
		a.powershell(src, line)
	case recipe:
		a.recipes(src, line, false)
	case justfile:
		a.justfile(src, line, false)
	case image:
		a.image(src, line, false)
	case notebook:
		a.notebook(src)
	case settings:
		a.settings(src, line)
	case process:
		a.processes(src, line)
	case page:
		a.page(src, line)
	case database:
		a.database(src, line)
	case sitepath:
		a.sitepath(src, line)
	case listing:
		a.requirements(src, line)
	case opaque:
		a.add(Dynamic, "", line)
	case markdown:
		a.prose(src, line)
	default:
		a.program(l, src, line)
	}
}
