package author

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/resource"
)

// Limits of a skill whose layout changes.
const (
	maxSearched = 64 << 20 // bytes in which references are looked for
	maxEntries  = 20_000   // files and folders
)

// whyMoved is the reason of the plan.
const whyMoved = "the present layout"

// A Move is a file that gets another path.
type Move struct{ From, To string }

// Layout moves the files of a skill with a tree from the old layout to the present one, and rewrites the paths that lead to them or from
// them in all texts of the skill. Every other byte stays. left names each file that keeps its path, and why: its place is taken, it is
// a link, no text, or some reference to it cannot be rewritten for sure. Unless lint finds nothing new afterwards, nothing moves.
func Layout(d *Draft) (moved []Move, left []string, err error) {
	s, err := tree.Load(d.FS(), d.Name)
	if err != nil || s.Tree == nil {
		return nil, nil, nil // lint says why
	}
	r := &relocation{draft: d, skill: s, files: map[string]string{}, dirs: map[string]bool{}, folded: map[string]string{},
		to: map[string]string{}, stems: map[string]bool{}, stays: map[string]string{}, doubts: map[string]string{}, fixes: map[string][]refersTo{}}
	if err := r.look(); err != nil {
		return nil, nil, err
	}
	if r.place(); len(r.to) == 0 {
		return nil, r.reasons(), nil
	}
	for name := range r.to {
		r.stems[strings.TrimSuffix(name, path.Ext(name))] = true
	}
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		r.search(name)
	}
	r.settle()
	r.prove()
	moved, err = r.carry(r.texts())
	return moved, r.reasons(), err
}

// texts are the files that get another text, by the old path.
func (r *relocation) texts() map[string][]byte {
	texts := map[string][]byte{}
	for name, refs := range r.fixes {
		if now := r.rewritten(name, refs); now != r.files[name] {
			texts[name] = []byte(now)
		}
	}
	return texts
}

// prove leaves a folder where it is if that lets the others move, and else all files.
func (r *relocation) prove() {
	why := r.refused()
	if why == "" {
		return
	}
	all := maps.Clone(r.to)
	for _, dir := range oldDirs {
		maps.DeleteFunc(r.to, func(name, _ string) bool { return strings.HasPrefix(name, dir+"/") })
		if len(r.to) < len(all) && r.refused() == "" {
			break
		}
		r.to = maps.Clone(all)
	}
	if len(r.to) == len(all) {
		r.to = map[string]string{}
	}
	for name := range all {
		if r.to[name] == "" {
			r.stay(name, why)
		}
	}
}

// A relocation is a skill whose files get other paths.
type relocation struct {
	draft  *Draft
	skill  *tree.Skill
	files  map[string]string // the bytes of regular files
	links  []Move            // from a link to where it leads
	dirs   map[string]bool
	folded map[string]string // every entry by its folded path

	to     map[string]string // the present path of each file that may move
	stems  map[string]bool   // of these paths, without the extension
	stays  map[string]string // why one does not, for those of the old layout
	doubts map[string]string // by the beginning of a path that is composed: where
	fixes  map[string][]refersTo
}

// A refersTo is a mention of a file of the skill.
type refersTo struct {
	mention
	file     string
	relative bool // to the folder of the file that has it
}

// look reads the files of the skill.
func (r *relocation) look() error {
	entries, size := 0, int64(0)
	fsys := r.draft.FS()
	return fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		}
		if entries++; entries > maxEntries {
			return diag.New(diag.Refused, CodeTooLarge, "the skill has more than %d files", maxEntries)
		}
		r.folded[bundle.Fold(name)] = name
		switch {
		case e.IsDir():
			r.dirs[name] = true
		case e.Type()&fs.ModeSymlink != 0:
			target, err := fs.ReadLink(fsys, name)
			if err != nil {
				return err
			}
			r.links = append(r.links, Move{name, path.Join(path.Dir(name), target)})
		case e.Type().IsRegular():
			info, err := e.Info()
			if err != nil {
				return err
			}
			if size += info.Size(); size > maxSearched {
				return diag.New(diag.Refused, CodeTooLarge, "the skill has more than %s", diag.Size(maxSearched))
			}
			data, err := fs.ReadFile(fsys, name)
			r.files[name] = string(data)
			return err
		}
		return nil
	})
}

// oldDirs are the folders of the old layout at the root of a skill.
var oldDirs = [...]string{"checklists", "commands", "constants", "ops", "policies", "schemas", "templates", "verify"}

func isOldDir(name string) bool { return slices.Contains(oldDirs[:], name) }

// presentPath is where a file of the old layout lies now, "" for one that is in its place.
func presentPath(name string) string {
	dir, _, below := strings.Cut(name, "/")
	if name == "ops.md" || below && isOldDir(dir) {
		return resource.Mapped(name)
	}
	return ""
}

func (r *relocation) stay(name, why string) {
	if r.stays[name] == "" {
		r.stays[name] = why
	}
	delete(r.to, name)
}

// place finds the files that have another path in the present layout, and those of them that cannot have it.
func (r *relocation) place() {
	for name, text := range r.files {
		to := presentPath(name)
		if to == "" {
			continue
		}
		r.to[name] = to
		switch {
		case r.taken(to) != "":
			r.stay(name, r.taken(to)+" is there")
		case !plainPath(name):
			r.stay(name, "its path can be written in several ways")
		case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
			r.stay(name, "it is no text, and a plan holds nothing else")
		case len(text) > MaxFile:
			r.stay(name, "it has more than "+diag.Size(MaxFile))
		case bundle.CheckPortable(to) != nil || len(to) > bundle.MaxPath:
			r.stay(name, "its path would be too long")
		}
	}
	if len(r.to) > MaxChanges/2 { // each changes two
		for name := range r.to {
			r.stay(name, "more than "+strconv.Itoa(MaxChanges)+" files would change")
		}
	}
	for _, link := range r.links {
		if root, _, _ := strings.Cut(link.From, "/"); presentPath(link.From) != "" || isOldDir(root) {
			r.stay(link.From, "it is a link")
		}
		for name := range r.to {
			if name == link.To || strings.HasPrefix(name, link.To+"/") {
				r.stay(name, "the link "+link.From+" leads to it")
			}
		}
	}
}

// taken is the entry that does not let a file have a path, "" if there is none.
func (r *relocation) taken(to string) string {
	if there, ok := r.folded[bundle.Fold(to)]; ok {
		return there
	}
	for dir := path.Dir(to); dir != "."; dir = path.Dir(dir) {
		if there, ok := r.folded[bundle.Fold(dir)]; ok && (there != dir || !r.dirs[dir]) {
			return there
		}
	}
	return ""
}

// settle leaves files where some reference to them is not sure, or where others depend on their place.
func (r *relocation) settle() {
	for _, begin := range slices.Sorted(maps.Keys(r.doubts)) {
		for name := range r.to {
			if name == begin || strings.HasPrefix(name, begin) && !r.isFile(begin) {
				r.stay(name, r.doubts[begin])
			}
		}
	}
	first := map[string]string{}
	for _, op := range r.skill.Ops {
		if at := first[op.Name]; at == "" {
			first[op.Name] = op.Pos.File
		} else if at != op.Pos.File { // the first in the order of lookup counts
			for _, name := range [...]string{at, op.Pos.File} {
				if r.to[name] != "" {
					r.stay(name, "the op "+op.Name+" is defined in "+at+" and in "+op.Pos.File)
				}
			}
		}
	}
	for name := range r.stays { // scripts find each other by paths that they compose
		if strings.HasPrefix(name, "commands/") {
			for other := range r.to {
				if strings.HasPrefix(other, "commands/") {
					r.stay(other, "another file of commands/ stays, and scripts can need each other")
				}
			}
			break
		}
	}
}

func (r *relocation) isFile(name string) bool { _, ok := r.files[name]; return ok }

// reasons are the files that stay, and why.
func (r *relocation) reasons() (left []string) {
	for _, name := range slices.Sorted(maps.Keys(r.stays)) {
		left = append(left, diag.Clip(diag.Printable(name+" stays: "+r.stays[name]), 400))
	}
	return left
}

// refused says why nothing moves, "" if everything may.
func (r *relocation) refused() string {
	texts, changes := r.texts(), len(r.draft.changes)+2*len(r.to)
	now := bundle.Memory{}
	gone := map[string]bool{}
	for name, text := range texts {
		if len(text) > MaxFile {
			return name + " would be too large"
		}
		if r.to[name] == "" {
			changes++
			now[name] = bundle.MemoryFile{Data: text}
		}
	}
	if changes > MaxChanges {
		return "more than " + strconv.Itoa(MaxChanges) + " files would change"
	}
	for name, to := range r.to {
		text, ok := texts[name]
		if !ok {
			text = []byte(r.files[name])
		}
		now[to], gone[name] = bundle.MemoryFile{Data: text}, true
	}
	after, err := tree.Load(bundle.Overlay{Below: r.draft.FS(), Files: now, Gone: gone}, r.draft.Name)
	if err != nil {
		return err.Error()
	}
	if f := newFinding(check.Check(r.skill), check.Check(after)); f != nil {
		return "lint would find something new: " + f.Sentence() + " [" + f.Rule + "]"
	}
	return ""
}

// newFinding is an error or a warning of which there are more than before, nil if there is none.
func newFinding(before, after []diag.Finding) *diag.Finding {
	for _, f := range diag.Gained(before, after, func(f diag.Finding) string { return f.Rule + " " + string(f.Severity) }) {
		if f.Severity != diag.SeverityInfo {
			return &f
		}
	}
	return nil
}

// carry moves the files, and writes those that have other texts.
func (r *relocation) carry(texts map[string][]byte) (moved []Move, err error) {
	for _, name := range slices.Sorted(maps.Keys(r.to)) {
		if err := r.draft.Move(name, r.to[name], whyMoved); err != nil {
			return nil, err
		}
		moved = append(moved, Move{name, r.to[name]})
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		at, why := name, "paths of files that moved"
		if to := r.to[name]; to != "" {
			at, why = to, whyMoved+"; "+why
		}
		if err := r.draft.Put(at, texts[name], why); err != nil {
			return nil, errors.Join(err, errors.New("the draft is not whole"))
		}
	}
	return moved, nil
}
