package refactor

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// maxSteps bounds the references that are followed from the ops of one skill.
const maxSteps = 200_000

// uses says which files of a skill its ops and its other files refer to.
type uses struct {
	byOp   map[*heldOp][]string // with what these files refer to, sorted
	byRest map[string]string    // by file: what stays and refers to it
	lost   bool                 // there are more references than are followed
}

// findUses follows references from the ops that may move, and from all that stays.
func (h *holder) findUses(moves func(*heldOp) bool) {
	h.uses = uses{byOp: map[*heldOp][]string{}, byRest: map[string]string{}}
	dirs := h.dirs()
	edges := map[string][]string{}
	for name, f := range h.files {
		if !h.opFiles[name] && name != h.tree.File {
			edges[name] = h.named(string(f.Data), name, dirs)
		}
	}
	steps := maxSteps
	inOps := map[string]bool{}
	for _, o := range h.ops {
		if moves(o) && steps >= 0 {
			for _, name := range h.follow(h.ofOp(o, dirs), edges, &steps) {
				h.uses.byOp[o] = append(h.uses.byOp[o], name)
				inOps[name] = true
			}
		}
	}
	if h.uses.lost = steps < 0; h.uses.lost {
		return // no op of this skill moves
	}
	stay := func(who string, files []string) {
		for _, name := range h.follow(files, edges, &steps) {
			if h.uses.byRest[name] == "" {
				h.uses.byRest[name] = who
			}
		}
	}
	stay(h.tree.File, h.named(string(h.files[h.tree.File].Data), h.tree.File, dirs))
	for _, o := range h.ops {
		if !moves(o) {
			stay("the op "+o.Name, h.ofOp(o, dirs))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h.opFiles)) {
		stay(name, h.named(h.outsideOps(name), name, dirs))
	}
	for _, name := range slices.Sorted(maps.Keys(edges)) {
		if !inOps[name] {
			stay(name, edges[name])
		}
	}
	h.uses.lost = steps < 0
}

// dirs are the files below each directory of the skill.
func (h *holder) dirs() map[string][]string {
	dirs := map[string][]string{}
	for name := range h.files {
		if dir := path.Dir(name); len(dir) <= 256 {
			for ; dir != "."; dir = path.Dir(dir) {
				dirs[dir] = append(dirs[dir], name)
			}
		}
	}
	for _, files := range dirs {
		slices.Sort(files)
	}
	return dirs
}

// outsideOps is the text of an op file between definitions.
func (h *holder) outsideOps(name string) string {
	var b strings.Builder
	at, src := 0, h.files[name].Data
	for _, o := range h.ops {
		if o.Pos.File == name && o.start >= at {
			b.Write(src[at:o.start])
			b.WriteByte('\n')
			at = o.end
		}
	}
	b.Write(src[at:])
	return b.String()
}

// ofOp are the files of the skill that an op names: in its text, and as its steps and contracts write them.
func (h *holder) ofOp(o *heldOp, dirs map[string][]string) []string {
	out := h.named(o.text, "", dirs)
	seen := map[string]bool{}
	for _, name := range out {
		seen[name] = true
	}
	add := func(written string) {
		for _, name := range [...]string{path.Clean(written), resource.Mapped(written)} {
			if _, ok := h.files[name]; ok && !seen[name] {
				seen[name] = true
				out = append(out, name)
			}
		}
	}
	for _, c := range [...]*tree.Contract{o.Input, o.Output} {
		if c != nil {
			add(c.Path)
		}
	}
	if o.Tree != nil {
		tree.Walk(o.Tree.Nodes, func(n *tree.Node) bool {
			switch {
			case n.Kind == tree.Verify && n.Path == "":
				add(resource.DefaultVerify)
			case n.Path != "":
				add(n.Path)
			}
			return true
		})
	}
	return out
}

// named are the files whose paths stand in text, relative to the skill or to the file that holds the text, and all below a
// directory that is named with a slash behind it. A file of the project's, such as README.md, is none in the text of an op.
func (h *holder) named(text, in string, dirs map[string][]string) []string {
	seen := map[string]bool{}
	add := func(name string) {
		if _, ok := h.files[name]; ok && name != in && (in != "" || resource.CategoryOf(name) != resource.Project) {
			seen[name] = true
		}
	}
	for word := range strings.FieldsFuncSeq(text, notPath) {
		if len(word) > 512 {
			continue
		}
		if dir, ok := strings.CutSuffix(word, "/"); ok {
			if dir = path.Clean(dir); !seen[dir+"/"] {
				seen[dir+"/"] = len(dirs[dir]) > 0
				for _, name := range dirs[dir] {
					add(name)
				}
			}
			continue
		}
		word = path.Clean(strings.TrimRight(word, "."))
		add(word)
		add(resource.Mapped(word))
		if dir := path.Dir(in); dir != "." {
			add(path.Join(dir, word))
		}
	}
	maps.DeleteFunc(seen, func(name string, _ bool) bool { return strings.HasSuffix(name, "/") })
	return slices.Sorted(maps.Keys(seen))
}

func notPath(r rune) bool {
	return r < 0x80 && r != '.' && r != '/' && r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
}

// follow are files with all that these refer to, sorted.
func (h *holder) follow(files []string, edges map[string][]string, steps *int) []string {
	seen := map[string]bool{}
	queue := slices.Clone(files)
	for len(queue) > 0 && *steps >= 0 {
		name := queue[0]
		queue = queue[1:]
		if *steps--; seen[name] {
			continue
		}
		seen[name] = true
		queue = append(queue, edges[name]...)
	}
	return slices.Sorted(maps.Keys(seen))
}

// unmovable says why a file of an op cannot go with it, "" if it can.
func (h *holder) unmovable(name string) string {
	switch {
	case h.isFixed(name):
		return "it refers to " + shown(name) + ", which every skill has for itself"
	case resource.CategoryOf(name) == resource.Project:
		return "it reads " + shown(name) + ", which is in no directory of the layout"
	case strings.ContainsFunc(name, notPath):
		return "it reads " + shown(name) + ", whose path other files can spell in several ways"
	case h.uses.byRest[name] != "":
		return shown(name) + " is used by " + shown(h.uses.byRest[name]) + " too"
	}
	return ""
}

func shown(text string) string { return diag.Clip(diag.Printable(text), 80) }
