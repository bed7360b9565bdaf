package graph

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// SVG draws s as a picture: steps as boxes from top to bottom, conditions as diamonds,
// loops as frames, PARALLEL between bars. Branches that would be wider than the page,
// and the bodies of ops, are panels of their own, which a click leads to. The picture has
// a white ground and so reads on any page. It is at most some 2,100 pixels wide; its
// height grows with the tree.
func SVG(s *tree.Skill, opt Options) string {
	p := &painter{figure: newFigure(s, opt), seen: map[look]bool{}}
	var panels []panel
	for _, part := range p.parts {
		panel := panel{body: p.steps(part.nodes)}
		if part.op != nil {
			panel.id, panel.title = "skl-op-"+part.op.Name, signature(part.op)
		}
		panels = append(append(panels, panel), p.moved...)
		p.moved = nil
	}
	return p.page(panels)
}

// A painter makes blocks of steps.
type painter struct {
	*figure
	seen  map[look]bool
	moved []panel // branches that were too wide, of the part that is being drawn
	named int     // panels that have a letter
}

// A panel is a drawing of its own.
type panel struct {
	id, title string
	body      block
}

// steps draws nodes below each other.
func (p *painter) steps(nodes []*tree.Node) block {
	var blocks []block
	var of []*tree.Node // the step of each block
	for len(nodes) > 0 {
		n, count := nodes[0], chain(nodes)
		switch n.Kind {
		case tree.If, tree.ElseIf:
			blocks = append(blocks, p.chain(nodes[:count]))
		case tree.Else:
			blocks = append(blocks, tag("otherwise"), p.steps(n.Children))
		case tree.Switch:
			blocks = append(blocks, p.diamond(n))
			if cols := p.cases(n); len(cols) > 0 {
				blocks = append(blocks, columns(cols, false))
			}
		case tree.ForEach:
			blocks = append(blocks, p.loop(n, p.fit(p.steps(n.Children), maxPanel-60, n)))
		case tree.Parallel:
			blocks = append(blocks, p.parallel(n)...)
		case tree.Ask:
			blocks = append(blocks, p.box(n, cardOf(n)))
			if cols := p.options(n); len(cols) > 0 {
				blocks = append(blocks, columns(cols, false))
			}
		default:
			blocks = append(blocks, p.plain(n)...)
		}
		for len(of) < len(blocks) {
			of = append(of, n)
		}
		nodes = nodes[count:]
	}
	if len(blocks) == 1 {
		return blocks[0]
	}
	if b := column(blocks); b.w <= maxPanel {
		return b
	}
	for i, b := range blocks { // their axes are far apart
		if max(b.axis, b.w-b.axis) > maxPanel/2 {
			blocks[i] = p.link(b, short(of[i].Text))
		}
	}
	return column(blocks)
}

// plain draws a step and what hangs below it.
func (p *painter) plain(n *tree.Node) []block {
	c := p.card(n)
	if leaf(n) {
		budget := 12 // lines of detail
		tree.Walk(n.Children, func(n *tree.Node) bool {
			if budget--; budget > 0 {
				c.list = append(c.list, short(n.Text))
			} else if budget == 0 {
				c.list = append(c.list, "…")
			}
			return budget > 0
		})
		return []block{p.box(n, c)}
	}
	out := []block{p.box(n, c)}
	if len(n.Children) > 0 {
		out = append(out, p.steps(n.Children))
	}
	return out
}

// fit moves b to a panel of its own if it is wider than width.
func (p *painter) fit(b block, width int, n *tree.Node) block {
	if b.w <= width {
		return b
	}
	title := n.Text
	if n.Kind == tree.Else || n.Kind == tree.Default {
		title = n.Kind.String()
	}
	return p.link(b, short(title))
}

func (p *painter) chain(nodes []*tree.Node) block {
	var ds, yes []block
	rest := block{open: true}
	total := 0
	for _, n := range nodes {
		b := p.steps(n.Children)
		if n.Kind == tree.Else {
			rest = p.fit(b, maxPanel*2/3, n)
			continue
		}
		d := p.diamond(n)
		b = p.fit(b, maxPanel-d.w/2-2*lane, n)
		ds, yes = append(ds, d), append(yes, b)
		total += max(b.w, d.w/2) + lane
	}
	last := ds[len(ds)-1]
	if total+max(rest.w, last.w) <= maxPanel {
		b := rest
		for i := len(ds) - 1; i >= 0; i-- {
			b = beside(ds[i], yes[i], b)
		}
		if b.w <= maxPanel {
			return b
		}
	}
	axis := max(rest.axis, widestAxis(ds))
	for i, n := range nodes[:len(ds)] {
		before := axis + max(lane, ds[i].axis+22-yes[i].axis)
		yes[i] = p.fit(yes[i], maxPanel-before-caption-2, n)
	}
	return stacked(ds, yes, rest)
}

func widestAxis(bs []block) int {
	w := 0
	for _, b := range bs {
		w = max(w, b.axis)
	}
	return w
}

func (p *painter) cases(n *tree.Node) (cols []block) {
	rest := true
	for _, c := range n.Children {
		label := short(c.Cond)
		switch c.Kind {
		case tree.Default:
			label, rest = "otherwise", false
		case tree.Case:
		default:
			continue
		}
		cols = append(cols, p.option(label, c.Children, c))
	}
	if rest && len(cols) > 0 {
		cols = append(cols, tag("otherwise"))
	}
	return cols
}

func (p *painter) option(label string, steps []*tree.Node, n *tree.Node) block {
	if len(steps) == 0 {
		return tag(label)
	}
	return column([]block{tag(label), p.fit(p.steps(steps), maxPanel-5*lane, n)})
}

func (p *painter) options(ask *tree.Node) (cols []block) {
	taken := map[string]bool{}
	for _, c := range ask.Children {
		if option := optionOf(ask, c); option != "" {
			taken[option] = true
			cols = append(cols, p.option(short(option), c.Children, c))
		}
	}
	for _, o := range ask.Options {
		if len(cols) > 0 && !taken[o] {
			cols = append(cols, tag(short(o)))
		}
	}
	return cols
}

func (p *painter) parallel(n *tree.Node) []block {
	if len(n.Children) == 0 {
		return []block{p.box(n, card{head: "PARALLEL"})}
	}
	p.seen[lookFork] = true
	var cols []block
	for i, c := range n.Children {
		cols = append(cols, p.fit(p.steps(n.Children[i:i+1]), maxPanel-2*lane, c))
	}
	return []block{columns(cols, true)}
}

const (
	margin  = 28 // around the page
	between = 24 // panels
	inner   = 22 // a panel's edge and its drawing
	heading = 30 // height of a panel's title
)

// page draws title, panels and legend.
func (p *painter) page(panels []panel) string {
	places := p.arrange(panels)
	width := 420
	for _, r := range places {
		width = max(width, r.x+r.w)
	}
	c := &canvas{}
	top := p.title(c, margin, width)
	foot := top
	for i, q := range panels {
		r := places[i]
		p.panel(c, q, r.x+margin, r.y+top, r.w, r.h)
		foot = max(foot, r.y+top+r.h)
	}
	foot = p.legend(c, margin, foot+between, width)
	return c.document(one(p.skill.Name), width+2*margin, foot+margin)
}

func (p *painter) size(q panel) (w, h int) {
	w, h = q.body.w+2*inner, q.body.h+2*inner
	if q.title != "" {
		w, h = max(w, min(textWidth(q.title, noteSize, true), 360)+2*inner), h+heading+p.extraTitle(q, w)
	}
	return w, h
}

// arrange places panels: the first at the left, others beside it where they fit, the
// rest in rows below.
func (p *painter) arrange(panels []panel) []rect {
	places := make([]rect, len(panels))
	width := maxPanel + 2*inner
	for i, q := range panels {
		places[i].w, places[i].h = p.size(q)
		w := places[i].w
		if i > 0 && places[0].w <= 900 && w <= 460 {
			w += places[0].w + between
		}
		width = max(width, w)
	}
	left, foot := places[0].w+between, places[0].h
	x, y, rowH := left, 0, 0
	var below []int
	for i := 1; i < len(panels); i++ {
		r := &places[i]
		if x > left && x+r.w > width {
			x, y, rowH = left, y+rowH+between, 0
		}
		if x+r.w > width || y >= foot || y+r.h > foot+200 && y > 0 {
			below = append(below, i)
			continue
		}
		r.x, r.y = x, y
		x, rowH = x+r.w+between, max(rowH, r.h)
	}
	x, y, rowH = 0, max(foot, y+rowH)+between, 0
	for _, i := range below {
		r := &places[i]
		if x > 0 && x+r.w > width {
			x, y, rowH = 0, y+rowH+between, 0
		}
		r.x, r.y = x, y
		x, rowH = x+r.w+between, max(rowH, r.h)
	}
	return places
}

// extraTitle is the height of the title's lines but the first.
func (p *painter) extraTitle(q panel, w int) int {
	return (max(1, len(wrap(q.title, noteSize, true, max(w-44, 316)))) - 1) * noteHeight
}

func (p *painter) panel(c *canvas, q panel, x, y, w, h int) {
	c.panel(rect{x, y, w, h}, q.id)
	at := y + inner
	if q.title != "" {
		for i, l := range wrap(q.title, noteSize, true, max(w-44, 316)) {
			c.text(x+inner, y+22+i*noteHeight, l, noteSize, true, lookOp.stroke)
			at += noteHeight * min(i, 1)
		}
		at += heading
	}
	q.body.draw(c, x+(w-q.body.w)/2, at)
}

// title writes the skill's name and description; it returns where the picture goes on.
func (p *painter) title(c *canvas, x, width int) int {
	y := 44
	for _, l := range wrap(short(p.skill.Name), 20, true, width) {
		c.text(x, y, l, 20, true, inkText)
		y += 24
	}
	if p.skill.Doc != nil {
		for i, l := range wrap(short(p.skill.Doc.Description), 12, false, width) {
			if i == 3 {
				break
			}
			c.text(x, y, l, 12, false, inkNote)
			y += 16
		}
	}
	return y + 4
}

// legend explains the looks that occur.
func (p *painter) legend(c *canvas, x0, y, width int) int {
	x := x0
	for _, l := range [...]look{lookLeaf, lookOp, lookAgent, lookQuiet, lookPerson, lookVerify, lookStop, lookRule, lookModel, lookLoop, lookFork, lookLink} {
		if !p.seen[l] {
			continue
		}
		w := textWidth(l.name, noteSize, false) + 34 + 22
		if x > x0 && x+w > x0+width {
			x, y = x0, y+24
		}
		c.sample(rect{x, y, 26, 16}, l)
		c.text(x+34, y+12, l.name, noteSize, false, inkNote)
		x += w
	}
	return y + 16
}

type rect struct{ x, y, w, h int }

// A canvas collects shapes in four layers, from the ground up.
type canvas struct {
	ground, frames, lines, shapes strings.Builder
	boxes, texts                  []rect // for tests: what must not overlap, and what must lie in it
	strokes                       [][]int
}

func (r rect) attrs() string {
	return fmt.Sprintf(`x="%d" y="%d" width="%d" height="%d"`, r.x, r.y, r.w, r.h)
}

func (c *canvas) panel(r rect, id string) {
	if id != "" {
		id = ` id="` + escaped(id) + `"`
	}
	fmt.Fprintf(&c.ground, `<rect%s %s rx="10" fill="#ffffff" stroke="#cbd5e1"/>`+"\n", id, r.attrs())
}

func (c *canvas) frame(r rect, head int, model bool, status string) {
	dash := ""
	if model {
		dash = ` stroke-dasharray="6 4"`
	}
	ink, opacity := statusInk(status, lookLoop.stroke)
	fmt.Fprintf(&c.frames, `<rect %s rx="8" fill="%s" fill-opacity="0.6" stroke="%s" stroke-width="1.5"%s%s/>`+"\n", r.attrs(), lookLoop.fill, ink, dash, opacity)
	fmt.Fprintf(&c.frames, `<path d="M%d %dv%da8 8 0 0 1 8 -8h%da8 8 0 0 1 8 8v%dz" fill="#e2e8f0" stroke="%s" stroke-width="1.5"%s/>`+"\n",
		r.x, r.y+head, 8-head, r.w-16, head-8, ink, dash)
	c.boxes = append(c.boxes, rect{r.x, r.y, r.w, head})
}

// statusInk is the border that says how a step ended.
func statusInk(status, ink string) (colour, opacity string) {
	switch status {
	case "ok", "passed":
		return "#16a34a", ""
	case "failed":
		return "#dc2626", ""
	case "running", "waiting":
		return "#d97706", ""
	case "skipped":
		return ink, ` opacity="0.45"`
	}
	return ink, ""
}

// untouched reports whether a run that the picture shows did not come to n.
func (p *painter) untouched(n *tree.Node) bool {
	return len(p.opt.Status) > 0 && p.opt.Status[n.ID] == ""
}

// fade makes what is drawn until end is called step back.
func (c *canvas) fade(yes bool) (end func()) {
	if !yes {
		return func() {}
	}
	c.shapes.WriteString(`<g opacity="0.4">` + "\n")
	return func() { c.shapes.WriteString("</g>\n") }
}

func (c *canvas) step(r rect, radius int, l look, double bool, status string) {
	ink, opacity := statusInk(status, l.stroke)
	dash := ""
	if l == lookLink {
		dash = ` stroke-dasharray="4 3"`
	}
	fmt.Fprintf(&c.shapes, `<rect %s rx="%d" fill="%s" stroke="%s" stroke-width="1.5"%s%s/>`+"\n", r.attrs(), radius, l.fill, ink, dash, opacity)
	if double {
		in := rect{r.x + 4, r.y + 4, r.w - 8, r.h - 8}
		fmt.Fprintf(&c.shapes, `<rect %s rx="%d" fill="none" stroke="%s"%s/>`+"\n", in.attrs(), max(radius-2, 1), ink, opacity)
	}
	c.badge(r.x+r.w, r.y, status)
	c.boxes = append(c.boxes, r)
}

// badge marks the corner of a step with how it ended.
func (c *canvas) badge(x, y int, status string) {
	mark, ink := "", ""
	switch status {
	case "ok":
		mark, ink = "m-3.5 0l2.5 3l4.5 -6", "#16a34a"
	case "failed":
		mark, ink = "m-3 -3l6 6m0 -6l-6 6", "#dc2626"
	case "ended":
		mark, ink = "m-3 -3h6v6h-6z", "#475569"
	case "skipped":
		mark, ink = "m-3.5 0h7", "#94a3b8"
	case "running":
		mark, ink = "m-2 -4l5 4l-5 4z", "#d97706"
	case "waiting":
		mark, ink = "m-2 -3v6m4 0v-6", "#d97706"
	default:
		return
	}
	fmt.Fprintf(&c.shapes, `<circle cx="%d" cy="%d" r="8" fill="%s" stroke="#ffffff" stroke-width="1.5"/><path d="M%d %d%s" fill="none" stroke="#ffffff" stroke-width="1.8"/>`+"\n",
		x-6, y+2, ink, x-6, y+2, mark)
}

func (c *canvas) rhomb(r rect, point int, l look, model bool, status string) {
	ink, opacity := statusInk(status, l.stroke)
	dash := ""
	if model {
		dash = ` stroke-dasharray="5 3"`
	}
	flat := r.w - 2*point
	fmt.Fprintf(&c.shapes, `<path d="M%d %dl%d %dh%dl%d %dl%d %dh%dz" fill="%s" stroke="%s" stroke-width="1.5"%s%s/>`+"\n",
		r.x, r.y+r.h/2, point, -(r.h / 2), flat, point, r.h/2, -point, r.h-r.h/2, -flat, l.fill, ink, dash, opacity)
	c.badge(r.x+r.w-point, r.y, status)
	c.boxes = append(c.boxes, r)
}

func (c *canvas) pill(r rect) {
	fmt.Fprintf(&c.shapes, `<rect %s rx="%d" fill="#ede9fe"/>`+"\n", r.attrs(), min(r.h/2, 11))
	c.boxes = append(c.boxes, r)
}

func (c *canvas) bar(r rect) {
	fmt.Fprintf(&c.shapes, `<rect %s rx="3" fill="%s"/>`+"\n", r.attrs(), lookFork.fill)
}

// path draws a line through points, given as x, y, x, y, …, and an arrow at its end.
func (c *canvas) path(arrow bool, points ...int) {
	var d strings.Builder
	for i := 0; i < len(points); i += 2 {
		d.WriteString("ML"[min(i, 1):min(i, 1)+1] + strconv.Itoa(points[i]) + " " + strconv.Itoa(points[i+1]))
	}
	fmt.Fprintf(&c.lines, `<path d="%s"/>`+"\n", d.String())
	c.strokes = append(c.strokes, points)
	if arrow {
		x, y := points[len(points)-2], points[len(points)-1]
		from := points[len(points)-3]
		dy := -8
		if from > y {
			dy = 8
		}
		fmt.Fprintf(&c.lines, `<path d="M%d %dl-4.5 %dh9z" fill="%s" stroke="none"/>`+"\n", x, y, dy, inkLine)
	}
}

func (c *canvas) arrow(x0, y0, x1, y1 int) { c.path(true, x0, y0, x1, y1) }

func (c *canvas) chevron(x, y int) {
	fmt.Fprintf(&c.shapes, `<path d="M%d %dl5 5l-5 5" fill="none" stroke="%s" stroke-width="1.5"/>`+"\n", x-5, y-5, inkNote)
}

func (c *canvas) text(x, y int, s string, size int, bold bool, ink string) {
	c.write(x, y, s, size, bold, ink, "")
	c.texts = append(c.texts, rect{x, y - size + 2, textWidth(s, size, bold), size})
}

func (c *canvas) middle(x, y int, s string, size int, bold bool, ink string) {
	c.write(x, y, s, size, bold, ink, ` text-anchor="middle"`)
	w := textWidth(s, size, bold)
	c.texts = append(c.texts, rect{x - w/2, y - size + 2, w, size})
}

// label names a way out of a condition.
func (c *canvas) label(x, y int, s string) { c.write(x, y, s, noteSize, false, inkNote, "") }

func (c *canvas) write(x, y int, s string, size int, bold bool, ink, more string) {
	if bold {
		more += ` font-weight="bold"`
	}
	fmt.Fprintf(&c.shapes, `<text x="%d" y="%d" font-size="%d" fill="%s"%s>%s</text>`+"\n", x, y, size, ink, more, escaped(s))
}

func (c *canvas) sample(r rect, l look) {
	switch l {
	case lookRule, lookModel:
		c.rhomb(r, r.w/2, l, l == lookModel, "")
	case lookFork:
		c.bar(rect{r.x, r.y + 5, r.w, 6})
	case lookLeaf, lookStop:
		c.step(r, 7, l, false, "")
	default:
		c.step(r, 3, l, l == lookAgent, "")
	}
}

func (c *canvas) openLink(id string) {
	if id != "" {
		fmt.Fprintf(&c.shapes, `<a href="#%s">`, escaped(id))
	}
}

func (c *canvas) closeLink(id string) {
	if id != "" {
		c.shapes.WriteString("</a>\n")
	}
}

func (c *canvas) document(title string, w, h int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif">`+"\n", w, h, w, h)
	fmt.Fprintf(&b, "<title>%s</title>\n", escaped(title))
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="12" fill="#f8fafc"/>`+"\n", w, h)
	b.WriteString(c.ground.String() + c.frames.String())
	fmt.Fprintf(&b, `<g fill="none" stroke="%s" stroke-width="1.5">`+"\n", inkLine)
	b.WriteString(c.lines.String() + "</g>\n" + c.shapes.String() + "</svg>\n")
	return b.String()
}

// escaped is s as XML text or attribute.
func escaped(s string) string {
	var b bytes.Buffer
	xml.EscapeText(&b, []byte(s)) // a Buffer does not fail
	return b.String()
}
