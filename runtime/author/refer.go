package author

import (
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// maxDoubts is how many mentions that are not sure are told apart.
const maxDoubts = 4096

// search finds the references of a file to others, and notes which cannot be rewritten for sure.
func (r *relocation) search(holder string) {
	text := r.files[holder]
	fixed := len(text) > MaxFile || !utf8.ValidString(text) || strings.ContainsRune(text, 0)
	project := r.projectLines(holder)
	var starts []int // of lines
	line := func(at int) int {
		if starts == nil {
			starts = lineStarts(text)
		}
		return sort.SearchInts(starts, at+1)
	}
	doubt := func(m mention, begin string) {
		if len(r.doubts) == maxDoubts {
			begin = "" // of every path
		}
		if r.doubts[begin] == "" {
			at := diag.Clip(holder, 100) + ":" + strconv.Itoa(line(m.at))
			r.doubts[begin] = at + " may mean it, and cannot be rewritten for sure: " + diag.Clip(text[m.at:m.end], 80)
		}
	}
	for _, m := range mentions(text) {
		ref, unsure, ok := r.read(holder, text, m)
		switch {
		case unsure != "":
			doubt(m, unsure)
		case !ok:
		case r.to[ref.file] != "" && (fixed || project[line(m.at)] || m.isVariable(text) || m.isWritten(text) || redirected(text, holder, m)),
			ref.file == "ops.md" && m.word == "ops.md" && !m.isPointedAt(text): // every skill may have one
			doubt(m, ref.file)
		default:
			r.fixes[holder] = append(r.fixes[holder], ref)
		}
	}
}

// redirected reports whether a script redirects its output to a path.
func redirected(text, holder string, m mention) bool {
	return !isText(holder) && strings.HasSuffix(strings.TrimRight(text[max(0, m.at-8):m.at], ` "'`), ">")
}

func lineStarts(text string) []int {
	starts := []int{0}
	for i := range len(text) {
		if text[i] == '\n' {
			starts = append(starts, i+1)
		}
	}
	return starts
}

// projectLines are the lines of a file whose paths are looked up in the project: conditions of a tree and claims of a checklist.
func (r *relocation) projectLines(holder string) map[int]bool {
	lines := map[int]bool{}
	look := func(n *tree.Node) bool {
		switch n.Kind {
		case tree.If, tree.ElseIf, tree.Switch, tree.Case, tree.ForEach:
			for i := n.Pos.Line; n.Pos.File == holder && i <= n.Last; i++ {
				lines[i] = true
			}
		}
		return true
	}
	if r.skill.Tree != nil && holder == r.skill.File {
		tree.Walk(r.skill.Tree.Nodes, look)
	}
	for _, op := range r.skill.Ops {
		if op.Pos.File == holder && op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
	if c := resource.CategoryOf(holder); c == resource.Checks || c == resource.VerifyDoc {
		items := resource.ParseChecklist(r.files[holder]).Items
		for i, item := range items {
			claim, ok := resource.ParseClaim(item.Text)
			if !ok || claim.Kind == resource.Binding {
				continue
			}
			last := item.Line + 8 // of an item that goes on
			if i+1 < len(items) {
				last = min(last, items[i+1].Line-1)
			}
			for n := item.Line; n <= last; n++ {
				lines[n] = true
			}
		}
	}
	return lines
}

// read is the file that a mention means. unsure is the beginning of the paths that it may mean, if that cannot be told.
func (r *relocation) read(holder, text string, m mention) (ref refersTo, unsure string, ok bool) {
	if !strings.ContainsAny(m.word, "/.") {
		if isOldDir(m.word) && (strings.HasPrefix(text[m.end:], `\`) || m.isQuoted(text) && path.Ext(holder) != ".json") {
			return ref, m.word + "/", false
		}
		return ref, "", false
	}
	if m.word[0] != '/' && !strings.HasSuffix(m.word, "/") {
		root, near := path.Clean(m.word), path.Join(path.Dir(holder), m.word)
		isRoot, isNear := r.isFile(root), root != near && r.isFile(near)
		switch {
		case isRoot && isNear && r.to[root] != "":
			return ref, root, false
		case isRoot && isNear && r.to[near] != "":
			return ref, near, false
		case isRoot:
			return refersTo{m, root, false}, "", true
		case isNear:
			return refersTo{m, near, true}, "", true
		}
	}
	return ref, r.composed(text, m), false
}

// composed is the beginning of the paths of the old layout that a mention may be a part of, "" if it can be none.
func (r *relocation) composed(text string, m mention) string {
	if strings.HasPrefix(m.word, "//") && m.at > 0 && text[m.at-1] == ':' {
		return "" // an address
	}
	steps := strings.Split(m.word, "/")
	sure := m.word[0] != '/' && !m.continues(text) // what stands before the folder is all of it
	for i, step := range steps {
		if !isOldDir(step) && (step != "ops.md" || i+1 < len(steps)) {
			continue
		}
		if i > 0 && (steps[i-1] == "assets" || steps[i-1] == "references" && strings.HasPrefix(step, "ops")) {
			continue // the present layout
		}
		tail := strings.Join(steps[i:], "/")
		if r.to[tail] != "" {
			return tail
		}
		open := strings.HasSuffix(tail, "/") || i+1 < len(steps) && r.dirs[tail] || m.goesOn(text)
		ours := i == 0 || !sure || steps[i-1] == "." || steps[i-1] == ".." || steps[i-1] == r.draft.Name
		if ours && r.stems[tail] && !r.dirs[tail] {
			return tail + "." // without its extension
		}
		if open && ours && i+1 < len(steps) {
			return tail
		}
	}
	return ""
}

// rewritten is the text of a file with the paths of the files that move.
func (r *relocation) rewritten(holder string, refs []refersTo) string {
	var fixes []diag.Fix
	for _, ref := range refs {
		if now := r.written(holder, ref); now != ref.word {
			fixes = append(fixes, diag.Fix{Start: ref.at, End: ref.end, Text: now})
		}
	}
	return string(skill.Apply([]byte(r.files[holder]), fixes))
}

// written is how a file names another when both are in their places.
func (r *relocation) written(holder string, ref refersTo) string {
	at := func(name string) string {
		if to := r.to[name]; to != "" {
			return to
		}
		return name
	}
	to := at(ref.file)
	now := to
	switch {
	case !ref.relative && to == ref.file:
		return ref.word
	case ref.relative:
		dir := path.Dir(at(holder))
		if path.Join(dir, ref.word) == to {
			return ref.word
		}
		now = relative(dir, to)
	}
	if strings.HasPrefix(ref.word, "./") && !strings.HasPrefix(now, "../") {
		now = "./" + now
	}
	return now
}
