package refactor

import (
	"bytes"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/tree"
)

// without is an op file without some of its ops, which are sorted by their place; nil if nothing but headings is left. Behind the last
// op of a file the blank lines and rules go that stood before it, so that the file ends as its text before did.
func (h *holder) without(file string, ops []*heldOp) []byte {
	src := h.files[file].Data
	var out []byte
	at := 0
	for _, o := range ops {
		out = append(out, src[at:o.start]...)
		at = o.end
	}
	if at == len(src) {
		out = trimEnd(out)
	}
	out = append(out, src[at:]...)
	if len(ops) == h.opsIn(file) {
		return withoutTitles(out, file)
	}
	return out
}

func (h *holder) opsIn(file string) (n int) {
	for _, o := range h.ops {
		if o.Pos.File == file {
			n++
		}
	}
	return n
}

// trimEnd cuts blank lines and rules off the end of text.
func trimEnd(text []byte) []byte {
	for len(text) > 0 {
		start := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
		if line := strings.TrimSpace(string(text[start:])); line != "" && !isRule(line) {
			break
		}
		text = text[:start]
	}
	return text
}

func isRule(line string) bool {
	return len(line) >= 3 && strings.ContainsAny(line[:1], "-*_") && strings.Trim(line, line[:1]) == ""
}

// withoutTitles is what is left of a file that lost all of its ops: nil for headings alone. A title that would be read as an op,
// now that none follows it, goes.
func withoutTitles(text []byte, file string) []byte {
	left := false
	for line := range bytes.Lines(bytes.TrimPrefix(text, []byte("\ufeff"))) {
		s := strings.TrimSpace(string(line))
		left = left || s != "" && !strings.HasPrefix(s, "#") && !isRule(s)
	}
	if !left {
		return nil
	}
	for {
		s, err := tree.Load(bundle.Memory{"SKILL.md": {Data: []byte("---\ndescription: d\n---\n")}, file: {Data: text}}, "")
		if err != nil || len(s.Ops) == 0 {
			return text
		}
		starts := lineStarts(text)
		ops := slices.Clone(s.Ops)
		order.Stable(ops, func(a, b *tree.Op) int { return b.Pos.Line - a.Pos.Line })
		for _, op := range ops {
			end := op.Pos.Line + 1
			for end < len(starts) && len(bytes.TrimSpace(text[offset(starts, end):offset(starts, end+1)])) == 0 {
				end++
			}
			text = slices.Delete(text, offset(starts, op.Pos.Line), offset(starts, end))
		}
	}
}
