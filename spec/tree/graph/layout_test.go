package graph

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
)

// In pictures of random trees no two boxes overlap, no line crosses a box, no text
// leaves the page, and the page is not wider than it may be.
func TestLayout(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		randomNodes(r, &b, "", 0, 4)
		s, err := tree.Load(fstest.MapFS{"SKILL.md": {Data: []byte("---\nname: demo\ndescription: Shows.\n---\n\n## Tree\n\n" + b.String())}}, "")
		if err != nil {
			t.Fatal(err)
		}
		p := &painter{figure: newFigure(s, Options{}), seen: map[look]bool{}}
		body := p.steps(p.parts[0].nodes)
		for _, q := range append([]panel{{body: body}}, p.moved...) {
			c := &canvas{}
			q.body.draw(c, 0, 0)
			if q.body.w > maxPanel+2*lane {
				t.Fatalf("seed %d: %d wide\n%s", seed, q.body.w, b.String())
			}
			if err := c.tangled(q.body); err != "" {
				t.Fatalf("seed %d: %s\n%s", seed, err, b.String())
			}
		}
	}
}

func (c *canvas) tangled(b block) string {
	for i, r := range c.boxes {
		for _, s := range c.boxes[:i] {
			if r.x < s.x+s.w && s.x < r.x+r.w && r.y < s.y+s.h && s.y < r.y+r.h {
				return fmt.Sprintf("boxes %v and %v overlap", r, s)
			}
		}
		if r.x < 0 || r.y < 0 || r.x+r.w > b.w || r.y+r.h > b.h {
			return fmt.Sprintf("box %v leaves the drawing %d × %d", r, b.w, b.h)
		}
	}
	for _, txt := range c.texts {
		inside := false
		for _, r := range c.boxes {
			inside = inside || txt.x >= r.x && txt.x+txt.w <= r.x+r.w && txt.y >= r.y && txt.y+txt.h <= r.y+r.h
		}
		if !inside {
			return fmt.Sprintf("text %v is in no box", txt)
		}
	}
	for _, points := range c.strokes {
		for i := 0; i+3 < len(points); i += 2 {
			x0, x1 := min(points[i], points[i+2]), max(points[i], points[i+2])
			y0, y1 := min(points[i+1], points[i+3]), max(points[i+1], points[i+3])
			if x0 < 0 || x1 > b.w || y0 < 0 || y1 > b.h {
				return fmt.Sprintf("line %v leaves the drawing", points)
			}
			for _, r := range c.boxes { // the rim may be touched
				if x0 < r.x+r.w && x1 > r.x && y0 < r.y+r.h-1 && y1 > r.y+1 {
					return fmt.Sprintf("line %v crosses box %v", points, r)
				}
			}
		}
	}
	return ""
}

func randomNodes(r *rand.Rand, b *strings.Builder, indent string, level, most int) {
	for range 1 + r.IntN(most) {
		kind := r.IntN(11)
		if level > 5 || b.Len() > 30_000 {
			kind = 0
		}
		words := strings.Repeat("some words ", 1+r.IntN(12))
		below := indent + "  "
		switch kind {
		case 0, 1:
			fmt.Fprintf(b, "%s* do %s\n", indent, words)
		case 2, 3:
			fmt.Fprintf(b, "%s* IF << x is %s\n", indent, words)
			randomNodes(r, b, below, level+1, most)
			for range r.IntN(3) {
				fmt.Fprintf(b, "%s* ELSE_IF << y == %d\n", indent, r.IntN(9))
				randomNodes(r, b, below, level+1, most)
			}
			if r.IntN(2) == 0 {
				fmt.Fprintf(b, "%s* ELSE\n", indent)
				randomNodes(r, b, below, level+1, most)
			}
		case 4:
			fmt.Fprintf(b, "%s* SWITCH << x\n", indent)
			for i := range 1 + r.IntN(6) {
				fmt.Fprintf(b, "%s* CASE << \"%d\"\n", below, i)
				randomNodes(r, b, below+"  ", level+1, most)
			}
		case 5:
			fmt.Fprintf(b, "%s* PARALLEL\n", indent)
			randomNodes(r, b, below, level+1, most+2)
		case 6, 7:
			fmt.Fprintf(b, "%s* FOR_EACH << x in %s\n", indent, words)
			randomNodes(r, b, below, level+1, most)
		case 8:
			fmt.Fprintf(b, "%s* END %s\n", indent, words)
		case 9:
			fmt.Fprintf(b, "%s* BREAK\n", indent)
		case 10:
			fmt.Fprintf(b, "%s* ASK << %s? | Yes | No\n%s* Yes — go on\n", indent, words, below)
		}
	}
}
