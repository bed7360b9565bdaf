package trace

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/tree"
)

// movingRows is how many rows the part that is redrawn has at most. It must be less than a screen has.
const movingRows = 8

// Live draws the tree of a run on a terminal: what is done stays above; what runs is redrawn below, with a spinner and the
// time it took; below that stand what waits, and what was spent so far. At the right margin stand who decided and how long it
// took. Hold takes the moving part away while something else writes to the terminal, such as a question. Its methods may be
// called concurrently.
type Live struct {
	w     io.Writer
	color bool
	width func() int // columns of the terminal
	view  View
	steps []step
	begun map[string]bool // paths of visits
	began time.Time
	spent model.Usage

	mu      sync.Mutex // guards what is below
	outline outline
	drawn   []int // columns of the lines of the moving part on the screen
	frame   int
	held    int
	waiting string // what is to be written when nobody holds any more
	closed  bool

	stop, done chan struct{}
}

// A View says what a Live shows besides the visits. Its zero value shows nothing more.
type View struct {
	Plan   *plan.Plan // of the run: nodes are told in plain words, and what waits is shown; nil: neither
	Title  string     // of the head: the skill, its version, the model
	Tokens int        // that the run may spend; 0 is no limit
	ASCII  bool       // signs without Unicode
	Source bool       // nodes are told as they are written
	Height func() int // rows of the terminal; nil means 24
}

// NewLive starts drawing; Close ends it. width tells the columns of the terminal; nil means 80.
func NewLive(w io.Writer, color bool, width func() int, view View) *Live {
	l := &Live{w: w, color: color, width: width, view: view, began: time.Now(), stop: make(chan struct{}), done: make(chan struct{})}
	if view.Plan != nil {
		nodes := view.Plan.Main()
		l.steps, l.begun = steps(nodes, ""), map[string]bool{}
		if view.Source {
			for i, s := range l.steps {
				l.steps[i].text = textAt(nodes, s.path)
			}
		}
	}
	go l.spin()
	return l
}

// textAt is the text of the node at a path of indexes, as it is written.
func textAt(nodes []*tree.Node, at string) string {
	text := ""
	for _, part := range strings.Split(at, "/") {
		i, err := strconv.Atoi(part)
		if err != nil || i >= len(nodes) {
			return text
		}
		text, nodes = nodes[i].Text, nodes[i].Children
	}
	return text
}

// spin redraws ten times a second until Close.
func (l *Live) spin() {
	defer close(l.done)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-tick.C:
			l.mu.Lock()
			l.frame++
			l.redraw("")
			l.mu.Unlock()
		}
	}
}

// Event implements Sink.
func (l *Live) Event(e run.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Usage != nil {
		l.spent = l.spent.Add(*e.Usage)
	}
	if l.begun != nil {
		switch e.Kind {
		case run.NodeStarted, run.NodeDone, run.NodeSkipped:
			l.begun[e.Path] = true
			if !l.view.Source {
				e.Text = l.words(e)
			}
		}
	}
	fixed := l.fixed(l.outline.event(e))
	if v := l.outline.find(e.Path); v != nil {
		switch e.Kind {
		case run.ModelCalled:
			v.detail = "asks the model"
		case run.ToolCalled:
			v.detail = cut(strings.TrimSpace(e.Name+" "+pairs(e.Value, 40)), 60)
		case run.ToolReplied:
			v.detail = "asks the model"
		case run.ModelReplied:
			v.detail = ""
		case run.Asked:
			v.detail = "waits for an answer"
		}
	}
	switch e.Kind {
	case run.ModelCalled, run.ToolCalled, run.ToolReplied, run.ModelReplied, run.Bound:
		return // the next tick shows it
	}
	l.redraw(fixed)
}

// fixed are lines that stay, painted. What is only for orientation is cut to the width of the screen.
func (l *Live) fixed(lines []line) string {
	var b strings.Builder
	for _, line := range lines {
		text := line.text + line.tail
		switch {
		case line.right != "" && !line.whole && l.view.Plan != nil:
			text = l.margin(line.text, line.value, line.right)
		case !line.whole:
			text = fit(line.text, line.tail, l.columns()-1)
		}
		b.WriteString(l.paint(l.signed(text), line.tone) + "\n")
	}
	return b.String()
}

func (l *Live) columns() int {
	width := 80
	if l.width != nil {
		width = l.width()
	}
	if l.view.ASCII {
		width -= 5 // the signs of ASCII are wider
	}
	return max(width, 20)
}

// words are a node in plain words.
func (l *Live) words(e run.Event) string {
	if n, _, ok := l.view.Plan.NodeByID(e.Node); ok {
		return cmp.Or(spoken(n), e.Text)
	}
	return e.Text
}

// margin puts who decided and how long it took at the right margin, where there is room for it.
func (l *Live) margin(text, value, right string) string {
	n := l.columns() - 1
	left := fit(text, value, n-columns(right)-2)
	return left + strings.Repeat(" ", max(n-columns(left)-columns(right), 2)) + right
}

// asciiSigns are the signs that stand before a line, without Unicode.
var asciiSigns = strings.NewReplacer("✓", "ok", "✗", "FAIL", "⊘", "-", "⏸", "!", "■", "=", "▸", ">", "⟳", "@", "·", "-", "…", "...",
	"⠋", "|", "⠙", "/", "⠹", "-", "⠸", "\\", "⠼", "|", "⠴", "/", "⠦", "-", "⠧", "\\", "⠇", "|", "⠏", "/")

// signed is a line with signs that the terminal can show.
func (l *Live) signed(text string) string {
	if !l.view.ASCII {
		return text
	}
	return asciiSigns.Replace(text)
}

// head is the last row: it says what runs and what was spent so far.
func (l *Live) head() string {
	parts := []string{l.view.Title, fmt.Sprintf("%d s", int(time.Since(l.began).Seconds()))}
	if l.spent.Calls > 0 {
		parts = append(parts, diag.Count(l.spent.Calls, "call"))
	}
	if n := l.spent.InputTokens + l.spent.OutputTokens; n > 0 && l.view.Tokens > 0 {
		parts = append(parts, thousands(n)+" of "+thousands(l.view.Tokens)+" tokens")
	} else if n > 0 {
		parts = append(parts, thousands(n)+" tokens")
	}
	return shorten(strings.Join(parts, " · "), l.columns()-1)
}

// thousands is a number of tokens: 96, 2.1k, 31k.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 10_000:
		return fmt.Sprintf("%d.%dk", n/1000, n%1000/100)
	}
	return fmt.Sprintf("%dk", n/1000)
}

// waits are the steps that come after all that were begun, as many as there is room for besides n rows: those beside what
// runs and those of the tree itself.
func (l *Live) waits(n int) []string {
	last := -1
	for i, s := range l.steps {
		if l.begun[s.path] {
			last = i
		}
	}
	height := 24
	if l.view.Height != nil {
		height = l.view.Height()
	}
	room := height - n - 2
	var out []string
	more := 0
	for _, s := range l.steps[last+1:] {
		if up := path.Dir(s.path); up != "." && l.outline.find(up) == nil {
			continue // whether it comes is not known yet
		}
		if len(out) >= room-1 {
			more++
			continue
		}
		out = append(out, l.paint(shorten(indent(s.path)+"· "+cut(s.text, textColumns), l.columns()-1), faint))
	}
	if more > 0 && room > 0 {
		out = append(out, l.paint(fmt.Sprintf("… %d more", more), faint))
	}
	return out
}

// redraw replaces the moving part, writing fixed before it.
func (l *Live) redraw(fixed string) {
	if l.held > 0 {
		l.waiting += fixed
		return
	}
	var b strings.Builder
	width := l.columns()
	b.WriteString(l.erase(width))
	b.WriteString(fixed)
	if !l.closed {
		rows := l.moving()
		if len(l.steps) > 0 && (len(rows) > 0 || fixed != "") {
			rows = append(append(rows, l.waits(len(rows)+1)...), l.paint(l.head(), faint))
		}
		for _, text := range rows {
			text = l.signed(text)
			b.WriteString(text + "\n")
			l.drawn = append(l.drawn, columns(unpainted.Replace(text)))
		}
	}
	if b.Len() > 0 {
		io.WriteString(l.w, b.String())
	}
}

// unpainted takes the colours of a row away.
var unpainted = strings.NewReplacer("\x1b[2m", "", "\x1b[0m", "")

// erase is what takes the moving part off the screen. On a screen that became narrower its lines have wrapped.
func (l *Live) erase(width int) string {
	up := 0
	for _, w := range l.drawn {
		up += rows(w, width)
	}
	if l.drawn = l.drawn[:0]; up == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\x1b[J", up)
}

var spinner = [...]string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}

// moving are the nodes that run and whose lines are not among the fixed ones, as the tree has them.
func (l *Live) moving() []string {
	var visits []*visit
	for _, v := range l.outline.open {
		if !v.told || v.unit || slices.ContainsFunc(l.outline.around(v.path), func(a *visit) bool { return a.unit }) {
			visits = append(visits, v)
		}
	}
	order.Stable(visits, func(a, b *visit) int { return comparePaths(a.path, b.path) })
	var out []string
	for i, v := range visits {
		if i == movingRows-1 && len(visits) > movingRows {
			out = append(out, fmt.Sprintf("… and %d more", len(visits)-i))
			break
		}
		sign := v.sign()
		if !v.told {
			sign = spinner[l.frame%len(spinner)]
		}
		tail := v.said
		if took := time.Since(v.since); took >= time.Second {
			tail += fmt.Sprintf("  %ds", int(took.Seconds()))
		}
		if v.detail != "" {
			tail += "  " + v.detail
		}
		out = append(out, fit(indent(v.path)+sign+" "+cut(v.text, textColumns), tail, l.columns()-1))
	}
	return out
}

// fit makes a line of at most n columns. What it says at its end is what changes: the text gives way, down to half of the room.
func fit(text, tail string, n int) string {
	return shorten(shorten(text, max(n-columns(tail), n/2))+tail, n)
}

// paint colours a line by what it reports.
func (l *Live) paint(text string, t tone) string {
	code := [...]string{usual: "", faint: "2", warned: "33", bad: "31"}[t]
	if code == "" || !l.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Hold erases the moving part until release is called; what happens in between is shown then.
func (l *Live) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	io.WriteString(l.w, l.erase(l.columns()))
	l.held++
	return sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held--
		l.release()
	})
}

func (l *Live) release() {
	if l.held == 0 {
		fixed := l.waiting
		l.waiting = ""
		l.redraw(fixed)
	}
}

// Close erases the moving part and stops; what was held back is written. It may be called twice.
func (l *Live) Close() error {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if !first {
		return nil
	}
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = 0
	l.waiting += l.fixed(l.outline.rest())
	l.release()
	return nil
}
