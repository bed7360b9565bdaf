package files

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/secrets"
)

// A list is the patterns of one file. The last that matches decides.
type list struct {
	patterns []pattern
	exact    map[string][]int // positions of the patterns that are one exact name, by name, ascending
	rest     []int            // positions of the others, ascending
	fold     bool
	paths    bool // some pattern is compared with the path, not the name
	file     string
}

type verdict uint8

const (
	none verdict = iota
	leave
	keep
)

// parseList compiles the text of a .gitignore file. It returns nil if it has no pattern.
func parseList(text string, fold bool) *list {
	l := &list{fold: fold}
	text = strings.TrimPrefix(text, "\ufeff")
	n := 0
	for line := range strings.SplitSeq(text, "\n") {
		n++
		p, ok := parsePattern(strings.TrimSuffix(line, "\r"), fold)
		if !ok {
			continue
		}
		p.line = n
		at := len(l.patterns)
		l.patterns = append(l.patterns, p)
		l.paths = l.paths || !p.base
		if p.base && p.shape == exact {
			if l.exact == nil {
				l.exact = map[string][]int{}
			}
			l.exact[p.text] = append(l.exact[p.text], at)
		} else {
			l.rest = append(l.rest, at)
		}
	}
	if len(l.patterns) == 0 {
		return nil
	}
	return l
}

// match says what the list says of a path, which is above followed by below, and ends in name.
func (l *list) match(above, below, name string, dir bool) verdict {
	switch p := l.find(above, below, name, dir); {
	case p == nil:
		return none
	case p.negate:
		return keep
	}
	return leave
}

// find is the pattern that decides about the path of match, nil for none.
func (l *list) find(above, below, name string, dir bool) *pattern {
	if l.fold {
		above, below, name = strings.ToLower(above), strings.ToLower(below), strings.ToLower(name)
	}
	best := -1
	for _, at := range slices.Backward(l.exact[name]) {
		if dir || !l.patterns[at].dirOnly {
			best = at
			break
		}
	}
	path := ""
	if l.paths {
		path = above + below
	}
	for _, at := range slices.Backward(l.rest) {
		if at < best {
			break
		}
		p := &l.patterns[at]
		if p.dirOnly && !dir {
			continue
		}
		subject := name
		if !p.base {
			subject = path
		}
		if p.matches(subject) {
			best = at
			break
		}
	}
	if best < 0 {
		return nil
	}
	return &l.patterns[best]
}

// A scope is one list and where it holds. The lists of a directory are a chain, the one that wins first.
type scope struct {
	list   *list
	parent *scope
	above  string // the path from the list's directory to the root, ending in a slash; "" at and below the root
	cut    int    // bytes of a path relative to the root that name the list's directory, with the slash
}

// rules are all that decides about the paths below a root, but for the .gitignore files in it. They do not change.
type rules struct {
	root    string // absolute
	above   string // the end of the root's real path, which says what some names mean: "me/.kube/"
	extra   *list
	also    *list
	outer   *scope // what holds in the root besides its own .gitignore
	fold    bool
	exclude string // path of the repository's info/exclude, "" without a repository
	inputs  []input
	getenv  func(string) string
	written map[string]string // texts of .gitignore files, by path, that count instead of what they hold
}

// An input is a file that rules were read from, or that would have been read.
type input struct {
	path  string
	stamp Stamp
}

func (r *rules) abs(rel string) string {
	if rel == "" {
		return r.root
	}
	if filepath.Separator != '/' {
		rel = filepath.FromSlash(rel)
	}
	if os.IsPathSeparator(r.root[len(r.root)-1]) { // the root of the file system
		return r.root + rel
	}
	return r.root + string(filepath.Separator) + rel
}

// ignored says whether the path rel, which ends in name, is left out. s are the rules of its directory, which is not left out itself.
func (r *rules) ignored(s *scope, rel, name string, dir bool) bool {
	if name == ".git" || dir && Skipped(name) {
		return true
	}
	if r.wanted(rel, name, dir) {
		return false
	}
	if !dir && r.secret(rel) {
		return true
	}
	if r.extra != nil {
		if v := r.extra.match("", rel, name, dir); v != none {
			return v == leave
		}
	}
	return s.verdict(rel, name, dir) == leave
}

// secret says that the name of a file, and where it lies, say that it holds keys or passwords.
func (r *rules) secret(rel string) bool { return secrets.Named(r.above + rel) }

// wanted says that somebody asked for the path rel, whatever leaves it out.
func (r *rules) wanted(rel, name string, dir bool) bool {
	return r.also != nil && r.also.match("", rel, name, dir) == leave
}

// enter returns the rules of the directory rel, given those of its parent and which governing files it has.
// skip says that it is not walked after all.
func (r *rules) enter(rel string, parent *scope, gitignore, git, tag bool) (s *scope, skip bool) {
	s = parent
	if rel != "" {
		if tag && isCache(r.abs(rel+"/CACHEDIR.TAG")) {
			return s, true
		}
		if git {
			if repo, ok := openRepository(r.abs(rel)); ok {
				s, _ = r.readRepository(repo, "", len(rel)+1, func(string) {})
			}
		}
	}
	if gitignore {
		cut := 0
		if rel != "" {
			cut = len(rel) + 1
		}
		path := r.abs(join(rel, ".gitignore"))
		if text, ok := r.written[path]; ok {
			return push(s, parseList(text, r.fold).named(path), "", cut), false
		}
		s = push(s, readList(path, noFollow, r.fold), "", cut)
	}
	return s, false
}

func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

func push(s *scope, l *list, above string, cut int) *scope {
	if l == nil {
		return s
	}
	return &scope{list: l, parent: s, above: above, cut: cut}
}

// findOuter reads the rules of the repository that the root is in, if any.
func (r *rules) findOuter() {
	at := r.root
	if real, err := filepath.EvalSymlinks(at); err == nil {
		at = real
	}
	r.above = filepath.ToSlash(filepath.Join(filepath.Base(filepath.Dir(filepath.Dir(at))), filepath.Base(filepath.Dir(at)), filepath.Base(at))) + "/"
	see := func(path string) { r.inputs = append(r.inputs, input{path, stampAt(path, os.Stat)}) }
	var names []string // of the directories from the root up
	for dir := at; ; {
		see(filepath.Join(dir, ".git"))
		if repo, ok := openRepository(dir); ok {
			above := ""
			for _, name := range slices.Backward(names) {
				above += name + "/"
			}
			var fold bool
			r.outer, fold = r.readRepository(repo, above, 0, see)
			r.fold = fold
			r.exclude = repo.exclude()
			for _, name := range slices.Backward(names) {
				path := filepath.Join(dir, ".gitignore")
				see(path)
				r.outer = push(r.outer, readList(path, noFollow, fold), above, 0)
				above = strings.TrimPrefix(above, name+"/")
				dir = filepath.Join(dir, name)
			}
			return
		}
		up := filepath.Dir(dir)
		if up == dir {
			return
		}
		names = append(names, filepath.Base(dir))
		dir = up
	}
}

// readList reads a file of patterns. It returns nil if there is none, or it cannot be read.
func readList(path string, flags int, fold bool) *list {
	text, ok := readSome(path, flags)
	if !ok {
		return nil
	}
	return parseList(text, fold).named(path)
}

// named notes which file l is of.
func (l *list) named(path string) *list {
	if l != nil {
		l.file = path
	}
	return l
}

// readSome reads a regular file, of one that has more than MaxRuleBytes the lines that fit.
func readSome(path string, flags int) (string, bool) {
	f, err := os.OpenFile(path, os.O_RDONLY|fileFlags|flags, 0)
	if err != nil {
		return "", false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", false
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxRuleBytes+1))
	if err != nil {
		return "", false
	}
	if len(text) > MaxRuleBytes {
		text = text[:MaxRuleBytes]
		text = text[:strings.LastIndexByte(string(text), '\n')+1]
	}
	return string(text), true
}

// isCache says that the file is a tag by the Cache Directory Tagging Specification: its name alone does not count.
func isCache(path string) bool {
	const signature = "Signature: 8a477f597d28d172789f06886806bc55"
	f, err := os.OpenFile(path, os.O_RDONLY|fileFlags|noFollow, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, len(signature))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == signature
}
