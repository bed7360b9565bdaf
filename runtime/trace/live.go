package trace

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/run"
)

// Live draws the tree of a run on a terminal: what is done stays above, what runs is
// redrawn below with a spinner and the time it took so far. Hold takes the moving part away while something else
// writes to the terminal, such as a question.
type Live struct {
	w     io.Writer
	color bool
	width func() int // columns of the terminal

	mu     sync.Mutex
	active []activeNode // in the order they started
	drawn  int          // lines of the moving part on the screen
	frame  int
	held   int
	stop   chan struct{}
	done   chan struct{}
}

type activeNode struct {
	path, text string
	agent      bool
	detail     string
	since      time.Time
}

// NewLive starts drawing; Close ends it. width tells the columns of the terminal.
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
	above := ""
	switch e.Kind {
	case run.NodeStarted:
		l.active = append(l.active, activeNode{path: e.Path, text: e.Text, agent: e.Agent, since: time.Now()})
	case run.NodeDone:
		l.drop(e.Path)
	case run.ModelCalled:
		l.detail(e.Path, "model: "+e.Name)
	case run.ToolCalled:
		l.detail(e.Path, e.Name+" "+pairs(e.Value, 40))
	case run.ModelReplied, run.ToolReplied:
		l.detail(e.Path, "")
	}
	for _, line := range describe(e) {
		above += l.clip(l.paint(line, e)) + "\n"
	}
	l.redraw(above)
}

func (l *Live) drop(path string) {
	for i, a := range l.active {
		if a.path == path {
			l.active = append(l.active[:i], l.active[i+1:]...)
			return
		}
	}
}

// detail says what the innermost running node of path does.
func (l *Live) detail(path, text string) {
	for i := len(l.active) - 1; i >= 0; i-- {
		if l.active[i].path == path {
			l.active[i].detail = text
			return
		}
	}
}

// redraw replaces the moving part, writing above before it.
func (l *Live) redraw(above string) {
	if l.held > 0 {
		io.WriteString(l.w, above)
		return
	}
	var b strings.Builder
	if l.drawn > 0 {
		fmt.Fprintf(&b, "\x1b[%dA\x1b[J", l.drawn)
	}
	b.WriteString(above)
	l.drawn = 0
	for _, a := range l.active[max(0, len(l.active)-12):] {
		sign := []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}[l.frame%10]
		if a.agent {
			sign = "⟳"
		}
		line := strings.Repeat("  ", depth(a.path)) + sign + " " + cut(a.text, 80)
		if took := time.Since(a.since); took > time.Second {
			line += fmt.Sprintf("  %ds", int(took.Seconds()))
		}
		if a.detail != "" {
			line += "  " + cut(a.detail, 60)
		}
		b.WriteString(l.clip(line) + "\n")
		l.drawn++
	}
	io.WriteString(l.w, b.String())
}

// clip keeps a line from wrapping, which would break the redrawing.
func (l *Live) clip(line string) string {
	width := 80
	if l.width != nil {
		width = max(l.width(), 20)
	}
	visible, escape := 0, false
	for i, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		default:
			visible++
		}
		if visible >= width {
			return line[:i] + reset(l.color)
		}
	}
	return line
}

func reset(color bool) string {
	if color {
		return "\x1b[0m"
	}
	return ""
}

// paint colours a line by what it reports.
func (l *Live) paint(line string, e run.Event) string {
	code := ""
	switch {
	case !l.color:
	case e.Kind == run.Warned:
		code = "33"
	case e.Kind == run.Decided:
		code = "2"
	case e.Status == run.Failed || e.Status == run.Halted || e.Status == run.Fail || e.Status == run.Denied:
		code = "31"
	}
	if code == "" {
		return line
	}
	return "\x1b[" + code + "m" + line + "\x1b[0m"
}

// Hold erases the moving part until release is called.
func (l *Live) Hold() (release func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drawn > 0 {
		fmt.Fprintf(l.w, "\x1b[%dA\x1b[J", l.drawn)
		l.drawn = 0
	}
	l.held++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.held--
	}
}

// Close erases the moving part and stops.
func (l *Live) Close() error {
	close(l.stop)
	<-l.done
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = nil
	l.redraw("")
	return nil
}
