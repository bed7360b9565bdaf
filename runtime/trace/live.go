package trace

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/run"
)

// movingRows is how many rows the part that is redrawn has at most. It must be less than a screen has.
const movingRows = 8

// Live draws the tree of a run on a terminal: what is done stays above, what runs is
// redrawn below with a spinner and the time it took so far. Hold takes the moving part away while something else
// writes to the terminal, such as a question. Its methods may be called concurrently.
type Live struct {
	w     io.Writer
	color bool
	width func() int // columns of the terminal

	mu      sync.Mutex // guards what is below
	outline outline
	drawn   []int // columns of the lines of the moving part on the screen
	frame   int
	held    int
	waiting string // what is to be written when nobody holds any more
	closed  bool

	stop, done chan struct{}
}

// NewLive starts drawing; Close ends it. width tells the columns of the terminal; nil means 80.
func NewLive(w io.Writer, color bool, width func() int) *Live {
	l := &Live{w: w, color: color, width: width, stop: make(chan struct{}), done: make(chan struct{})}
	go l.spin()
	return l
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
		if !line.whole {
			text = fit(line.text, line.tail, l.columns()-1)
		}
		b.WriteString(l.paint(text, line.tone) + "\n")
	}
	return b.String()
}

func (l *Live) columns() int {
	if l.width == nil {
		return 80
	}
	return max(l.width(), 20)
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
		for _, text := range l.moving() {
			b.WriteString(text + "\n")
			l.drawn = append(l.drawn, columns(text))
		}
	}
	if b.Len() > 0 {
		io.WriteString(l.w, b.String())
	}
}

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
	slices.SortStableFunc(visits, func(a, b *visit) int { return comparePaths(a.path, b.path) })
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
