package chunk

import (
	"bytes"
	"cmp"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

const maxNodeName = 60 // bytes of a tree's node that are its name

// trees makes ops of sections and adds the nodes of Canopy trees, if the file at name has any.
func (d *divider) trees(name, language string) string {
	if len(d.src) > tree.MaxFileBytes {
		return language
	}
	files := memory{skill.FileName: d.src}
	if language != "skill" {
		if !d.maybeOps(name) {
			return language
		}
		files = memory{skill.FileName: []byte("---\nname: x\ndescription: x\n---\n"), "ops.md": d.src}
	} else if !slices.ContainsFunc(d.blocks, func(b block) bool { return b.part.Level == 2 && b.part.Name == "Tree" }) {
		return language
	}
	s, err := tree.Load(files, "")
	if err != nil || s.Tree == nil && len(s.Ops) == 0 {
		return language
	}
	if s.Tree != nil {
		d.treeNodes(s.Tree.Nodes, s.Name)
	}
	sections := map[int]int{} // by line
	for i := range d.blocks {
		if d.blocks[i].part.Type == Section {
			sections[d.blocks[i].part.FirstLine] = i
		}
	}
	for _, op := range s.Ops {
		i, ok := sections[op.Pos.Line]
		if !ok {
			continue
		}
		p := &d.blocks[i].part
		p.Signature = strings.TrimSpace(strings.TrimPrefix(p.Name, op.Name))
		p.Type, p.Name = Op, op.Name
		if op.Tree != nil {
			d.treeNodes(op.Tree.Nodes, op.Name)
		}
	}
	order.Stable(d.blocks, func(x, y block) int {
		return cmp.Or(cmp.Compare(x.part.Start, y.part.Start), cmp.Compare(y.part.End, x.part.End))
	})
	return "tree"
}

// maybeOps says whether a file is where a skill has its ops and has a heading like theirs. That cannot be told from
// the text alone: a heading in capitals may be anyone's.
func (d *divider) maybeOps(name string) bool {
	if path.Base(name) != "ops.md" && path.Base(path.Dir(name)) != "ops" {
		return false
	}
	return slices.ContainsFunc(d.blocks, func(b block) bool {
		word, rest, _ := strings.Cut(b.part.Name, " ")
		return b.part.Type == Section && len(word) > 1 && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" &&
			(rest == "" || strings.Contains(rest, "<<") || strings.Contains(rest, ">>"))
	})
}

// treeNodes adds nodes, each with what hangs below it, and returns where the last of them ends.
func (d *divider) treeNodes(nodes []*tree.Node, owner string) int {
	end := 0
	for _, n := range nodes {
		at := len(d.blocks)
		start := d.lines.start(n.Pos.Line-1) + n.Pos.Column - 1
		d.blocks = append(d.blocks, block{part: Part{Type: Node, Name: firstWords(n.Text), Owner: owner}})
		last := d.lines.start(max(n.Last, n.Pos.Line))
		last = max(last, d.treeNodes(n.Children, owner))
		end = max(end, last)
		if start >= last || last > len(d.src) {
			d.blocks = d.blocks[:at] // a place that is not in the text
			continue
		}
		stop := start + len(bytes.TrimRight(d.src[start:last], " \t\r\n\v\f"))
		if stop == start {
			d.blocks = d.blocks[:at]
			continue
		}
		d.blocks[at].part.Region = d.lines.region(start, stop, n.Pos.Line-1)
	}
	return end
}

// firstWords returns the start of s, in words that are whole if there are several.
func firstWords(s string) string {
	short := diag.Head(s, maxNodeName)
	if i := strings.LastIndexByte(short, ' '); len(short) < len(s) && s[len(short)] != ' ' && i > 0 {
		short = short[:i]
	}
	return strings.TrimSpace(short)
}

// memory is a directory of files that are all there is of a skill.
type memory map[string][]byte

// Open implements fs.FS.
func (m memory) Open(name string) (fs.File, error) {
	content, ok := m[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &memoryFile{bytes.NewReader(content), name}, nil
}

type memoryFile struct {
	io.Reader
	name string
}

func (f *memoryFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *memoryFile) Close() error               { return nil }
func (f *memoryFile) Name() string               { return f.name }
func (f *memoryFile) Size() int64                { return 0 }
func (f *memoryFile) Mode() fs.FileMode          { return 0o444 }
func (f *memoryFile) ModTime() time.Time         { return time.Time{} }
func (f *memoryFile) IsDir() bool                { return false }
func (f *memoryFile) Sys() any                   { return nil }
