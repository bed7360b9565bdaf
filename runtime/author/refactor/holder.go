package refactor

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// Limits of one skill that is compared.
const (
	maxFiles = 4096
	maxBytes = 64 << 20
)

// A holder is one skill that is compared.
type holder struct {
	name    string
	tree    *tree.Skill
	files   bundle.Memory
	ops     []*heldOp
	byName  map[string][]*heldOp
	opFiles map[string]bool
	uses    uses
	flow    flow
	faults  []diag.Finding    // errors of lint as it is, see faultsOf
	checked bool              // faults are known
	closed  bool              // its frontmatter takes no entry
	readers map[string]string // why each file that a step reads stays, see fileStays; nil before the first
}

// A heldOp is the definition of an op in a skill.
type heldOp struct {
	*tree.Op
	in         *holder
	start, end int    // of the definition in its file, with the lines behind it that belong to nothing else
	text       string // without these
	whole      string // digest of name, signature and body
	body       string // digest of signature and body
}

func (o *heldOp) place() Place { return Place{o.in.name, o.Pos.File, o.Pos.Line} }

var errTooLarge = errors.New("it has more files or bytes than can be compared")

// readFiles are the regular files of a skill; ".git" is none of them.
func readFiles(fsys fs.FS) (bundle.Memory, error) {
	files := bundle.Memory{}
	left := int64(maxBytes)
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".git":
			return fs.SkipDir
		case !d.Type().IsRegular():
			return nil
		case len(files) >= maxFiles:
			return errTooLarge
		}
		f, err := fsys.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, left+1))
		if left -= int64(len(data)); err == nil && left < 0 {
			err = errTooLarge
		}
		files[name] = bundle.MemoryFile{Data: data, Executable: info.Mode()&0o100 != 0}
		return err
	})
	return files, err
}

// newHolder reads the files of a skill.
func newHolder(name string, files bundle.Memory) (*holder, error) {
	s, err := tree.Load(files, "")
	if err != nil {
		return nil, err
	}
	h := &holder{name: name, tree: s, files: files, byName: map[string][]*heldOp{}, opFiles: map[string]bool{}}
	lines := map[string][]int{}
	for _, op := range s.Ops {
		file := op.Pos.File
		h.opFiles[file] = true
		src := files[file].Data
		if lines[file] == nil {
			lines[file] = lineStarts(src)
		}
		o := &heldOp{Op: op, in: h}
		o.start, o.end = offset(lines[file], op.Pos.Line), offset(lines[file], op.End)
		o.text = string(src[o.start:offset(lines[file], op.Last+1)])
		o.body = o.bodyDigest()
		o.whole = digest(op.Name, o.body)
		h.ops = append(h.ops, o)
		h.byName[op.Name] = append(h.byName[op.Name], o)
	}
	return h, nil
}

// bodyDigest is that of the signature and the body, in which a label says nothing: it repeats the name.
func (o *heldOp) bodyDigest() string {
	_, rest, _ := strings.Cut(o.text, "\n")
	var shape tree.Tree
	if o.Tree != nil {
		shape = *o.Tree
	}
	if label := shape.Label; label != nil {
		at := 0
		for range label.Pos.Line - o.Pos.Line - 1 {
			at += strings.IndexByte(rest[at:], '\n') + 1
		}
		rest = rest[:at] + strings.Replace(rest[at:], o.Name, "", 1)
		shape.Label = nil
	}
	return digest(signature(o.Op), normal(rest), tree.Print(&shape))
}

// lineStarts are the offsets of the lines of src, behind a byte order mark, and of its end.
func lineStarts(src []byte) []int {
	starts := []int{len(src) - len(strings.TrimPrefix(string(src), "\ufeff"))}
	for i, c := range src {
		if c == '\n' {
			starts = append(starts, i+1)
		}
	}
	return append(starts, len(src))
}

// offset is where line n starts, counted from 1.
func offset(starts []int, n int) int { return starts[min(n, len(starts))-1] }

// isFixed reports whether a file is one that every skill has for itself: its entry, its ops, its licence.
func (h *holder) isFixed(name string) bool {
	base := strings.ToUpper(path.Base(name))
	return name == h.tree.File || name == "SKILL.json" || h.isOpFile(name) || strings.HasPrefix(base, "LICENSE") || strings.HasPrefix(base, "LICENCE") || strings.HasPrefix(base, "NOTICE")
}

// isOpFile reports whether ops are looked for in a file.
func (h *holder) isOpFile(name string) bool {
	dir := path.Dir(name)
	return name == "ops.md" || name == "references/ops.md" || (dir == "ops" || dir == "references/ops") && path.Ext(name) == ".md"
}
