package graph

import (
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// All lengths are pixels.
const (
	bodySize, noteSize, headSize = 13, 11, 11

	lineHeight  = 17
	noteHeight  = 15
	pad         = 10
	maxTextLine = 236  // of text in a box
	gap         = 24   // between a step and the next
	lane        = 28   // between columns
	maxPanel    = 1080 // width of a panel, beyond which branches are moved to panels of their own
	caption     = 14   // from a line's end to its label
)

// A block is a drawing that control enters at (axis, 0) and, if it is open, leaves at
// (axis, height).
type block struct {
	w, h, axis int
	open       bool
	draw       func(c *canvas, x, y int)
}

// A look is the colours of a kind of step.
type look struct{ name, fill, stroke string }

var (
	lookLeaf   = look{"step for the model", "#eff6ff", "#2563eb"}
	lookOp     = look{"named op", "#ecfdf5", "#059669"}
	lookAgent  = look{"subagent, in a context of its own", "#f0fdfa", "#0f766e"}
	lookQuiet  = look{"read or set", "#f8fafc", "#64748b"}
	lookPerson = look{"question or plan for the person", "#fffbeb", "#b45309"}
	lookVerify = look{"check of the result", "#f7fee7", "#4d7c0f"}
	lookStop   = look{"end or break", "#fef2f2", "#dc2626"}
	lookRule   = look{"decided by a rule", "#f5f3ff", "#7c3aed"}
	lookModel  = look{"decided by a model", "#f5f3ff", "#7c3aed"}
	lookLoop   = look{"loop", "#f8fafc", "#475569"}
	lookFork   = look{"in parallel", "#334155", "#334155"}
	lookLink   = look{"continues in another panel", "#ffffff", "#64748b"}
)

const (
	inkText  = "#0f172a"
	inkNote  = "#475569"
	inkLine  = "#64748b"
	inkPaper = "#ffffff"
)

func lookOf(n *tree.Node, subagent bool) look {
	switch n.Kind {
	case tree.Call, tree.Explore:
		if subagent {
			return lookAgent
		}
		return lookOp
	case tree.Read, tree.Bind:
		return lookQuiet
	case tree.Ask, tree.ShowPlan:
		return lookPerson
	case tree.Verify:
		return lookVerify
	case tree.End, tree.Break:
		return lookStop
	}
	return lookLeaf
}

// hang starts the further lines of an item.
const hang = "\u2003"

// box is a step as a rectangle with the text of its card.
func (p *painter) box(n *tree.Node, c card) block {
	look := lookOf(n, p.subagent(n))
	p.seen[look] = true
	head := wrap(c.head, headSize, true, maxTextLine)
	body := wrap(c.body, bodySize, false, maxTextLine)
	var list, notes []string
	for _, item := range c.list {
		for i, l := range wrap(item, noteSize, false, maxTextLine-14) {
			if i == 0 {
				l = "• " + l
			} else {
				l = hang + l
			}
			list = append(list, l)
		}
	}
	for _, note := range c.notes {
		notes = append(notes, wrap(note, noteSize, false, maxTextLine)...)
	}
	inner := max(70, widest(head, headSize, true), widest(body, bodySize, false), widest(list, noteSize, false), widest(notes, noteSize, false))
	double := look == lookAgent
	edge := pad + 4
	if double {
		edge += 4
	}
	link := ""
	if op := p.callee(n); op != nil && p.drawn[op.Name] {
		link = "skl-op-" + op.Name
		inner += 14
	}
	b := block{w: inner + 2*edge, open: n.Kind != tree.End && n.Kind != tree.Break}
	b.h = 2*pad - 3 + len(head)*noteHeight + len(body)*lineHeight + (len(list)+len(notes))*noteHeight
	b.w += b.w % 2
	b.axis = b.w / 2
	radius := 4
	switch look {
	case lookLeaf:
		radius = 12
	case lookStop:
		radius = min(18, b.h/2)
	}
	status := p.opt.Status[n.ID]
	b.draw = func(c *canvas, x, y int) {
		defer c.fade(p.untouched(n))()
		c.openLink(link)
		c.step(rect{x, y, b.w, b.h}, radius, look, double, status)
		if link != "" {
			c.chevron(x+b.w-edge, y+b.h/2)
		}
		at := y + pad + 9
		write := func(lines []string, size int, bold bool, ink string, height int) {
			for _, l := range lines {
				if rest, ok := strings.CutPrefix(l, hang); ok {
					c.text(x+edge+11, at, rest, size, bold, ink)
				} else {
					c.text(x+edge, at, l, size, bold, ink)
				}
				at += height
			}
		}
		write(head, headSize, true, look.stroke, noteHeight)
		if len(head) > 0 && len(body) > 0 {
			at++
		}
		write(body, bodySize, false, inkText, lineHeight)
		write(list, noteSize, false, inkNote, noteHeight)
		write(notes, noteSize, false, inkNote, noteHeight)
		c.closeLink(link)
	}
	return b
}

// diamond is a condition: a rhomb, with level edges where its text is long.
func (p *painter) diamond(n *tree.Node) block {
	c := cardOf(n)
	look := lookRule
	if p.decided(n) == byModel {
		look = lookModel
	}
	p.seen[look] = true
	lines := wrap(c.body, bodySize, false, 200)
	textW, textH := max(24, widest(lines, bodySize, false)), len(lines)*lineHeight
	b := block{open: true, h: textH*2 + 20}
	b.w = textW*b.h/(b.h-textH) + 16
	point := b.w / 2
	if len(lines) > 2 {
		point, b.h, b.w = 30, textH+24, textW+76
	}
	b.w += b.w % 2
	b.axis = b.w / 2
	status := p.opt.Status[n.ID]
	b.draw = func(c *canvas, x, y int) {
		defer c.fade(p.untouched(n))()
		c.rhomb(rect{x, y, b.w, b.h}, min(point, b.w/2), look, look == lookModel, status)
		at := y + (b.h-textH)/2 + 13
		for _, l := range lines {
			c.middle(x+b.w/2, at, l, bodySize, false, inkText)
			at += lineHeight
		}
	}
	return b
}

// tag is a small label on the line, such as the value of a case.
func tag(text string) block {
	lines := wrap(text, noteSize, true, 180)
	b := block{w: widest(lines, noteSize, true) + 18, h: len(lines)*noteHeight + 6, open: true}
	b.w += b.w % 2
	b.axis = b.w / 2
	b.draw = func(c *canvas, x, y int) {
		c.pill(rect{x, y, b.w, b.h})
		for i, l := range lines {
			c.middle(x+b.axis, y+14+i*noteHeight, l, noteSize, true, lookRule.stroke)
		}
	}
	return b
}

// column sets blocks one below the other on one axis.
func column(blocks []block) block {
	b := block{open: true}
	right := 0
	for _, k := range blocks {
		b.axis, right = max(b.axis, k.axis), max(right, k.w-k.axis)
	}
	b.w = b.axis + right
	tops := make([]int, len(blocks))
	for i, k := range blocks {
		if i > 0 {
			b.h += gap
		}
		tops[i] = b.h
		b.h += k.h
		b.open = k.open
	}
	b.draw = func(c *canvas, x, y int) {
		for i, k := range blocks {
			if i > 0 && blocks[i-1].open {
				c.arrow(x+b.axis, y+tops[i]-gap, x+b.axis, y+tops[i])
			}
			k.draw(c, x+b.axis-k.axis, y+tops[i])
		}
	}
	return b
}

// beside sets a decision above what follows on "no" and to the left of what follows on "yes".
func beside(d, yes, no block) block {
	noTop := d.h + gap
	if no.h == 0 {
		noTop = d.h
	}
	b := block{axis: max(d.axis, no.axis), open: yes.open || no.open}
	yesX := max(b.axis-no.axis+no.w+lane, b.axis+d.axis+22-yes.axis)
	yesTop := d.h + gap
	if yesX >= b.axis+d.axis+12 {
		yesTop = d.h/2 + gap
	}
	b.w = max(b.axis+d.w-d.axis, b.axis-no.axis+no.w, yesX+yes.w)
	bottom := max(noTop+no.h, yesTop+yes.h)
	b.h = bottom
	if yes.open {
		b.h += caption
	}
	b.draw = func(c *canvas, x, y int) {
		axis, out := x+b.axis, x+yesX+yes.axis
		c.path(true, axis+d.axis, y+d.h/2, out, y+d.h/2, out, y+yesTop)
		c.label(axis+d.axis+2, y+d.h/2-5, "yes")
		if no.h > 0 {
			c.arrow(axis, y+d.h, axis, y+noTop)
		}
		c.label(axis+5, y+d.h+14, "no")
		if no.open && noTop+no.h < b.h {
			c.path(false, axis, y+noTop+no.h, axis, y+b.h)
		}
		if yes.open {
			c.path(false, out, y+yesTop+yes.h, out, y+b.h, axis, y+b.h)
		}
		d.draw(c, axis-d.axis, y)
		if no.h > 0 {
			no.draw(c, axis-no.axis, y+noTop)
		}
		yes.draw(c, x+yesX, y+yesTop)
	}
	return b
}

// stacked sets decisions below each other, each with its branch below it and to the
// right; the ways out of the branches share a line at the right.
func stacked(ds, yes []block, last block) block {
	b := block{axis: last.axis, open: last.open}
	for _, d := range ds {
		b.axis = max(b.axis, d.axis)
	}
	type place struct{ d, x, y int }
	places := make([]place, len(ds))
	right, y := b.axis-last.axis+last.w, 0
	for i, d := range ds {
		x := max(b.axis+lane, b.axis+d.axis+22-yes[i].axis)
		top := y + d.h + gap
		if x >= b.axis+d.axis+12 {
			top = y + d.h/2 + gap
		}
		places[i] = place{y, x, top}
		right = max(right, x+yes[i].w, b.axis+d.axis)
		y = max(y+d.h, top+yes[i].h+caption) + gap
		b.open = b.open || yes[i].open
	}
	lastTop, rail := y, right+caption
	b.w = rail + 2
	b.h = lastTop + last.h + caption
	b.draw = func(c *canvas, x, y int) {
		axis := x + b.axis
		for i, d := range ds {
			p := places[i]
			mid, out := y+p.d+d.h/2, x+p.x+yes[i].axis
			c.path(true, axis+d.axis, mid, out, mid, out, y+p.y)
			c.label(axis+d.axis+2, mid-5, "yes")
			next := lastTop
			if i+1 < len(ds) {
				next = places[i+1].d
			}
			c.label(axis+5, y+p.d+d.h+14, "no")
			if i+1 < len(ds) || last.h > 0 {
				c.arrow(axis, y+p.d+d.h, axis, y+next)
			} else {
				c.path(false, axis, y+p.d+d.h, axis, y+b.h)
			}
			if yes[i].open {
				foot := y + p.y + yes[i].h
				c.path(false, out, foot, out, foot+caption-4, x+rail, foot+caption-4, x+rail, y+b.h, axis, y+b.h)
			}
			d.draw(c, axis-d.axis, y+p.d)
			yes[i].draw(c, x+p.x, y+p.y)
		}
		if last.h > 0 {
			last.draw(c, axis-last.axis, y+lastTop)
			if last.open {
				c.path(false, axis, y+lastTop+last.h, axis, y+b.h)
			}
		}
	}
	return b
}

// A row is columns that stand side by side.
type row struct {
	cols []block
	h    int
}

// rowsOf fills rows of at most width, with equally many columns where that needs no further row.
func rowsOf(cols []block, width int) []row {
	rows := fill(cols, width, len(cols))
	if len(rows) > 1 {
		if even := fill(cols, width, (len(cols)+len(rows)-1)/len(rows)); len(even) == len(rows) {
			return even
		}
	}
	return rows
}

func fill(cols []block, width, most int) []row {
	var rows []row
	used := 0
	for _, k := range cols {
		if len(rows) == 0 || used+lane+k.w > width || len(rows[len(rows)-1].cols) == most {
			rows, used = append(rows, row{}), -lane
		}
		r := &rows[len(rows)-1]
		r.cols, r.h, used = append(r.cols, k), max(r.h, k.h), used+lane+k.w
	}
	return rows
}

// columns sets blocks side by side between a fork and a join, in as many rows as are
// needed. With bar both are drawn as bars.
func columns(cols []block, bar bool) block {
	rows := rowsOf(cols, maxPanel-2*lane)
	side := 0 // room for the lines that lead to further rows
	if len(rows) > 1 {
		side = caption
	}
	b := block{open: bar}
	for _, r := range rows {
		w := -lane
		for _, k := range r.cols {
			w += lane + k.w
			b.open = b.open || k.open
		}
		b.w = max(b.w, w+2*side)
	}
	b.axis = b.w / 2
	const drop, lift = 26, 18
	tops := make([]int, len(rows))
	for i, r := range rows {
		tops[i] = b.h
		if side > 0 {
			tops[i] += caption
		}
		b.h = tops[i] + drop + r.h + lift
	}
	if side > 0 {
		b.h += caption
	}
	b.draw = func(c *canvas, x, y int) {
		last := len(rows) - 1
		if side > 0 {
			c.path(false, x+b.axis, y, x, y, x, y+tops[last])
			if b.open {
				c.path(false, x+b.w, y+tops[0]+drop+rows[0].h+lift, x+b.w, y+b.h, x+b.axis, y+b.h)
			}
		}
		for i, r := range rows {
			b.drawRow(c, x, y+tops[i], r, side, bar)
		}
	}
	return b
}

func (b block) drawRow(c *canvas, x, y int, r row, side int, bar bool) {
	const drop, lift = 26, 18
	w := -lane
	for _, k := range r.cols {
		w += lane + k.w
	}
	at := x + (b.w-w)/2
	foot := y + drop + r.h + lift
	first, last, firstOut, lastOut := 0, 0, -1, -1
	for i, k := range r.cols {
		axis := at + k.axis
		if i == 0 {
			first = axis
		}
		last = axis
		c.arrow(axis, y, axis, y+drop)
		k.draw(c, at, y+drop)
		if k.open {
			c.path(false, axis, y+drop+k.h, axis, foot)
			if firstOut < 0 {
				firstOut = axis
			}
			lastOut = axis
		}
		at += k.w + lane
	}
	middle := x + b.axis
	if side > 0 {
		c.path(false, x, y, last, y)
	} else {
		c.path(false, min(first, middle), y, max(last, middle), y)
	}
	switch {
	case firstOut < 0:
	case side > 0:
		c.path(false, firstOut, foot, x+b.w, foot)
	default:
		c.path(false, min(firstOut, middle), foot, max(lastOut, middle), foot)
	}
	if bar {
		c.bar(rect{min(first, middle) - 22, y - 3, max(last, middle) - min(first, middle) + 44, 6})
		if firstOut >= 0 {
			c.bar(rect{min(first, middle) - 22, foot - 3, max(last, middle) - min(first, middle) + 44, 6})
		}
	}
}

// loop frames the steps that are repeated.
func (p *painter) loop(n *tree.Node, body block) block {
	p.seen[lookLoop] = true
	c := cardOf(n)
	text := wrap(c.head+" "+c.body, noteSize, true, max(180, min(body.w, 420)))
	model := p.decided(n) == byModel
	head := len(text)*noteHeight + 10
	inner := max(body.w, widest(text, noteSize, true)+8)
	const left, right = 34, 18
	b := block{w: left + inner + right, axis: left + body.axis + (inner-body.w)/2, open: true}
	bodyTop := head + gap
	b.h = bodyTop + body.h + 26
	status := p.opt.Status[n.ID]
	b.draw = func(c *canvas, x, y int) {
		c.frame(rect{x, y, b.w, b.h}, head, model, status)
		for i, l := range text {
			c.text(x+left-16, y+17+i*noteHeight, l, noteSize, true, inkText)
		}
		axis := x + b.axis
		if body.h > 0 {
			c.arrow(axis, y+head, axis, y+bodyTop)
			body.draw(c, axis-body.axis, y+bodyTop)
		}
		if body.open {
			foot := y + bodyTop + body.h
			c.path(true, axis, foot, axis, foot+12, x+14, foot+12, x+14, y+head)
		}
	}
	return b
}

// link stands for a branch that is drawn in a panel of its own.
func (p *painter) link(b block, title string) block {
	p.seen[lookLink] = true
	name := letters(p.named)
	p.named++
	p.moved = append(p.moved, panel{id: "skl-part-" + name, title: strings.TrimSpace(name + "   " + title), body: b})
	text := "continues in " + name
	out := block{w: textWidth(text, noteSize, true) + 46, h: 26, open: b.open}
	out.w += out.w % 2
	out.axis = out.w / 2
	out.draw = func(c *canvas, x, y int) {
		c.openLink("skl-part-" + name)
		c.step(rect{x, y, out.w, out.h}, 13, lookLink, false, "")
		c.text(x+14, y+17, text, noteSize, true, inkNote)
		c.chevron(x+out.w-14, y+13)
		c.closeLink("skl-part-" + name)
	}
	return out
}

// letters is A, B, … Z, AA, AB, …
func letters(i int) string {
	s := ""
	for i++; i > 0; i = (i - 1) / 26 {
		s = string(rune('A'+(i-1)%26)) + s
	}
	return s
}
