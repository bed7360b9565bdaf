package files

import (
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// An Attribute is what the rules of git say of one file under one name (gitattributes(5)), and where.
type Attribute struct {
	Path    string // of the file, as it was asked for
	Name    string
	Value   string // "set", "unset", or what it is set to
	File    string // absolute; "" for what git has built in
	Line    int    // from 1
	Pattern string // as it is written
}

// Attributes returns what git's rules give files under names, in the order of paths and names; what is not specified is left out.
// The files need not exist. Paths are relative to dir, with slashes. No program is run.
func (k *Tracker) Attributes(dir string, paths, names []string) ([]Attribute, error) {
	in, err := k.open(dir)
	if err != nil {
		return nil, err
	}
	c := in.readConfig(in.repo, func(string) {})
	a := &attributes{gitDir: in, fold: c.fold, dirs: map[string]*attrList{}, macros: map[string]attrRule{}}
	a.outside(c.attributes)
	var out []Attribute
	for _, p := range paths {
		at, ok := in.place(p)
		if !ok {
			continue
		}
		said := a.of(at)
		for _, name := range names {
			if v, ok := said[name]; ok && v.Value != unspecified {
				v.Path, v.Name = p, name
				out = append(out, v)
			}
		}
	}
	return out, nil
}

// attributes are the rules of one repository.
type attributes struct {
	gitDir *gitDir
	fold   bool
	info   *attrList // wins over all
	user   *attrList
	system *attrList
	dirs   map[string]*attrList // of .gitattributes, by directory below the top; nil for none
	macros map[string]attrRule
}

// An attrList is the rules of one file. The last that matches a path and says something of an attribute decides about it.
type attrList struct {
	file  string
	rules []attrRule
}

// An attrRule is one line.
type attrRule struct {
	pattern pattern
	macro   string // the name that the line defines, instead of a pattern
	sets    []attrSet
	file    string
}

// An attrSet gives an attribute a value.
type attrSet struct{ name, value string }

// unspecified is the value of an attribute of which a rule takes back what others say.
const unspecified = "\x00"

// maxAttrLine is the longest line that git reads.
const maxAttrLine = 2048

func parseAttributes(text, file string, fold bool) *attrList {
	l := &attrList{file: file}
	n := 0
	for line := range strings.SplitSeq(strings.TrimPrefix(text, "\ufeff"), "\n") {
		n++
		if len(line) >= maxAttrLine {
			continue
		}
		if r, ok := parseAttrRule(line, fold); ok {
			r.pattern.line, r.file = n, file
			l.rules = append(l.rules, r)
		}
	}
	return l
}

const attrBlank = " \t\r"

func parseAttrRule(line string, fold bool) (r attrRule, ok bool) {
	line = strings.TrimLeft(line, attrBlank)
	if line == "" || line[0] == '#' {
		return r, false
	}
	var name, rest string
	if unquoted, after, ok := cutQuoted(line); ok {
		name, rest = unquoted, after
	} else {
		end := strings.IndexAny(line, attrBlank)
		if end < 0 {
			end = len(line)
		}
		name, rest = line[:end], line[end:]
	}
	if macro, ok := strings.CutPrefix(name, "[attr]"); ok && macro != "" {
		if !isAttrName(macro) {
			return r, false
		}
		r.macro = macro
	} else {
		if strings.HasPrefix(name, "!") {
			return r, false // git takes no negative patterns here
		}
		text := name
		if strings.HasPrefix(text, "#") { // quoted, so that it is no comment
			text = `\` + text
		}
		if r.pattern, ok = parsePattern(text, fold); !ok {
			return r, false
		}
		r.pattern.raw = name
	}
	for _, field := range strings.FieldsFunc(rest, func(c rune) bool { return strings.ContainsRune(attrBlank, c) }) {
		set, ok := parseAttrSet(field)
		if !ok {
			return r, false
		}
		r.sets = append(r.sets, set)
	}
	return r, true
}

// cutQuoted takes a C-style string from the start of a line.
func cutQuoted(line string) (text, rest string, ok bool) {
	if line[0] != '"' {
		return "", "", false
	}
	var b strings.Builder
	for i := 1; i < len(line); i++ {
		switch c := line[i]; c {
		case '"':
			return b.String(), line[i+1:], true
		case '\\':
			i++
			if i == len(line) {
				return "", "", false
			}
			if at := strings.IndexByte(`abfnrtv\"`, line[i]); at >= 0 {
				b.WriteByte("\a\b\f\n\r\t\v\\\""[at])
				continue
			}
			if i+3 > len(line) {
				return "", "", false
			}
			n, err := strconv.ParseUint(line[i:i+3], 8, 8)
			if err != nil {
				return "", "", false
			}
			b.WriteByte(byte(n))
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

func parseAttrSet(field string) (s attrSet, ok bool) {
	switch name, value, valued := strings.Cut(field, "="); {
	case field[0] == '-' || field[0] == '!':
		s = attrSet{name[1:], map[byte]string{'-': "unset", '!': unspecified}[field[0]]} // whatever it is set to
	case valued:
		s = attrSet{name, value}
	default:
		s = attrSet{field, "set"}
	}
	return s, isAttrName(s.name)
}

func isAttrName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '-' && c != '.' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return s != "" && s[0] != '-'
}

// outside reads the rules that lie in no directory of the work tree, and all macros: those of a directory below the top are none.
func (a *attributes) outside(user string) {
	a.info = a.read(filepath.Join(a.gitDir.repo.common, "info", "attributes"), 0)
	if user != "" {
		a.user = a.read(resolve(a.gitDir.repo.top, user), 0)
	}
	if no, _ := parseBool(a.gitDir.getenv("GIT_ATTR_NOSYSTEM")); !no && filepath.Separator == '/' {
		a.system = a.read("/etc/gitattributes", 0)
	}
	builtin := parseAttributes("[attr]binary -diff -merge -text", "", false)
	for _, l := range []*attrList{builtin, a.system, a.user, a.in(""), a.info} {
		if l == nil {
			continue
		}
		for _, r := range l.rules {
			if r.macro != "" {
				a.macros[r.macro] = r
			}
		}
	}
}

func (a *attributes) read(path string, flags int) *attrList {
	text, ok := readSome(path, flags)
	if !ok {
		return nil
	}
	return parseAttributes(text, path, a.fold)
}

// in are the rules of the directory dir below the top.
func (a *attributes) in(dir string) *attrList {
	if l, ok := a.dirs[dir]; ok {
		return l
	}
	l := a.read(a.gitDir.abs(join(dir, ".gitattributes")), noFollow)
	a.dirs[dir] = l
	return l
}

// of are the attributes of the file at p below the top, by name.
func (a *attributes) of(p string) map[string]Attribute {
	out := map[string]Attribute{}
	a.take(a.info, "", p, out)
	for dir := path.Dir(p); ; dir = path.Dir(dir) {
		if dir == "." {
			a.take(a.in(""), "", p, out)
			break
		}
		a.take(a.in(dir), dir+"/", p, out)
	}
	a.take(a.user, "", p, out)
	a.take(a.system, "", p, out)
	return out
}

// take adds what a list of a directory, "" or with a slash at the end, says of a path, where nothing said it yet.
func (a *attributes) take(l *attrList, dir, p string, out map[string]Attribute) {
	if l == nil {
		return
	}
	below, name := p[len(dir):], path.Base(p)
	if a.fold {
		below, name = strings.ToLower(below), strings.ToLower(name)
	}
	for _, r := range slices.Backward(l.rules) {
		subject := below
		if r.pattern.base {
			subject = name
		}
		if r.macro == "" && !r.pattern.dirOnly && r.pattern.matches(subject) {
			a.fill(&r, r.sets, out)
		}
	}
}

// fill sets what is not set yet; the last of a line counts. A macro that is set sets what it stands for.
func (a *attributes) fill(r *attrRule, sets []attrSet, out map[string]Attribute) {
	for _, s := range slices.Backward(sets) {
		if _, ok := out[s.name]; ok {
			continue
		}
		out[s.name] = Attribute{Value: s.value, File: r.file, Line: r.pattern.line, Pattern: r.pattern.raw}
		if m, ok := a.macros[s.name]; ok && s.value == "set" {
			a.fill(r, m.sets, out)
		}
	}
}
