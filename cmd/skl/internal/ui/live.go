package ui

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

const (
	patience    = 300 * time.Millisecond // nothing is shown of what is done sooner
	redraw      = 100 * time.Millisecond
	silence     = 8 * time.Second // after which it is said what is waited for
	guessAfter  = 3 * time.Second // before that, no time is estimated
	logEvery    = 30 * time.Second
	logAfter    = 5 * time.Second // phases that are shorter are not said without a terminal
	maxProgress = 6               // rows
)

// A progress is what is being done. Its methods are called with its lock held.
type progress struct {
	mu      sync.Mutex
	region  region
	tasks   []*task // in the order in which they began
	started time.Time
	stop    chan struct{} // ends the redrawing; nil while nothing is drawn
	ended   chan struct{}
	said    string // the phase that was said in a line of its own
	saidAt  time.Time
}

// A task is one thing that is worked on.
type task struct {
	diag.Event
	began, moved time.Time
}

func (t *task) over() bool { return t.Over || t.Total > 0 && t.Done >= t.Total }

// bytes reports whether the numbers of a task are bytes.
func (t *task) bytes() bool { return t.Stage == "fetch" || t.Stage == "push" }

// note takes an event in.
func (p *progress) note(e diag.Event, now time.Time) {
	if len(p.tasks) == 0 {
		p.started = now
	}
	for _, t := range p.tasks {
		if t.Name == e.Name || t.Stage == e.Stage && !t.bytes() && e.Of == 0 {
			if t.Stage != e.Stage {
				t.began = now
			}
			if t.Stage != e.Stage || t.Done != e.Done || t.Name != e.Name {
				t.moved = now
			}
			t.Event = e
			return
		}
	}
	p.tasks = append(p.tasks, &task{Event: e, began: now, moved: now})
}

var doing = map[string]string{"fetch": "fetching", "resolve": "resolving", "install": "installing", "push": "pushing", "index": "indexing", "verify": "verifying",
	"scrub": "reading", "backup": "copying", "migrate": "moving", "wait": "waiting", "log": "logging", "certify": "certifying", "timestamp": "timestamping", "ask": "asking"}

// lines are what the region shows at a moment, none while it is too early.
func (p *progress) lines(look screen.Look, now time.Time) []screen.Line {
	if len(p.tasks) == 0 || now.Sub(p.started) < patience {
		return nil
	}
	newest := p.tasks[0]
	for _, t := range p.tasks {
		if !t.moved.Before(newest.moved) {
			newest = t
		}
	}
	sum := p.sum(newest.Stage, now)
	seconds := now.Sub(p.started)
	verb := doing[newest.Stage]
	if verb == "" {
		verb = newest.Stage
	}
	head := []screen.Span{{Style: screen.Bold, Text: verb}}
	add := func(text string) { head = append(head, screen.T("   "+text)) }
	switch {
	case sum.of > 1:
		head = append(head, screen.T(fmt.Sprintf(" %d skills", sum.of)))
		add(fmt.Sprintf("%d done", sum.ended))
	case len(p.tasks) == 1:
		head = append(head, screen.T(" "+newest.Name))
	case sum.ended > 0:
		add(fmt.Sprintf("%d done", sum.ended))
	}
	if !newest.bytes() && newest.Total > 0 {
		add(fmt.Sprintf("%d of %d", newest.Done, newest.Total))
	}
	if !newest.bytes() {
		sum.done = 0
	}
	switch {
	case sum.done > 0 && sum.known:
		add(ofBytes(sum.done, sum.total))
	case sum.done > 0:
		add(diag.Size(sum.done))
	}
	if sum.done > 0 && seconds >= time.Second {
		add(diag.Size(int64(float64(sum.done)/seconds.Seconds())) + "/s")
	}
	if left := sum.left(now); left > 0 && now.Sub(sum.began) >= guessAfter {
		add(fmt.Sprintf("about %d s", int64(left.Seconds())+1))
	} else if sum.done == 0 || !sum.known {
		add(fmt.Sprintf("%d s", int(seconds.Seconds())))
	}
	quiet := now.Sub(newest.moved)
	if quiet >= silence && (len(sum.running) < 2 || look.Width < screen.Narrow) {
		return []screen.Line{screen.L(screen.T(fmt.Sprintf("waiting for %s, %d s %s ctrl-c stops, nothing is half-done", hostOf(newest.Name), int(quiet.Seconds()), look.Sign(screen.Dot))))}
	}
	lines := []screen.Line{screen.L(head...)}
	if look.Width < screen.Narrow || len(p.tasks) == 1 {
		return lines
	}
	return append(lines, taskLines(look, sum.running, now)...)
}

// A progressSum is what all tasks come to.
type progressSum struct {
	done, total int64 // bytes
	known       bool  // total is that of all that is fetched or pushed
	of, ended   int   // things of the stage that are counted, and of them done; else of is 0 and ended counts all tasks
	began       time.Time
	running     []*task
}

func (p *progress) sum(stage string, now time.Time) progressSum {
	s := progressSum{known: true, began: now}
	over, counted := 0, 0
	for _, t := range p.tasks {
		if t.bytes() && (t.Done > 0 || t.Of == 0) {
			s.done, s.total = s.done+t.Done, s.total+t.Total
			s.known = s.known && t.Total > 0
		}
		if t.Of > 0 && t.Stage == stage {
			if s.of = t.Of; t.began.Before(s.began) {
				s.began = t.began
			}
			if t.over() {
				counted++
			}
		}
		switch {
		case t.over():
			over++
		case t.Stage == stage || t.Of == 0:
			s.running = append(s.running, t)
		}
	}
	if s.ended = over; s.of > 0 {
		s.ended = counted
	} else {
		s.began = p.started
	}
	s.known = s.known && s.total > 0 && (s.of == 0 || s.ended == s.of)
	// Tasks that move bytes say most.
	order.Stable(s.running, func(a, b *task) int { return cmp.Compare(a.Of, b.Of) })
	return s
}

// left is a guess at the time that is still needed, 0 if there is none.
func (s progressSum) left(now time.Time) time.Duration {
	after := now.Sub(s.began)
	switch {
	case s.of > 0 && s.ended > 0:
		return after * time.Duration(s.of-s.ended) / time.Duration(s.ended)
	case s.of == 0 && s.done > 0 && s.known && s.total > s.done:
		return time.Duration(float64(after) * float64(s.total-s.done) / float64(s.done))
	}
	return 0
}

// taskLines are the rows of what runs: the first of them, as many as there is room for.
func taskLines(look screen.Look, running []*task, now time.Time) []screen.Line {
	running = running[:min(len(running), maxProgress-1)]
	wide := 0
	for _, t := range running {
		wide = max(wide, min(screen.Width(diag.Printable(t.Name)), look.Width/2))
	}
	var lines []screen.Line
	for _, t := range running {
		name := look.CutMiddle(diag.Printable(t.Name), wide)
		name += strings.Repeat(" ", wide-screen.Width(name)+2)
		state := t.Stage
		switch quiet := now.Sub(t.moved); {
		case quiet >= silence && t.Of == 0:
			state = fmt.Sprintf("waiting for %s, %d s %s ctrl-c stops", hostOf(t.Name), int(quiet.Seconds()), look.Sign(screen.Dot))
		case t.bytes() && t.Total > 0:
			state += "  " + ofBytes(t.Done, t.Total)
		case t.bytes() && t.Done > 0:
			state += "  " + diag.Size(t.Done)
		}
		lines = append(lines, screen.L(screen.T("  "+name), screen.Span{Style: screen.Dim, Text: state}))
	}
	return lines
}

// ofBytes is a part of a number of bytes, in the unit of the whole.
func ofBytes(done, total int64) string {
	whole := diag.Size(total)
	number, unit, _ := strings.Cut(whole, " ")
	part, partUnit, _ := strings.Cut(diag.Size(done), " ")
	switch {
	case partUnit == unit:
	case unit == "MB":
		part = fmt.Sprintf("%.1f", float64(done)/1e6)
	case unit == "GB":
		part = fmt.Sprintf("%.1f", float64(done)/1e9)
	case unit == "kB":
		part = fmt.Sprintf("%d", (done+500)/1000)
	}
	return part + " of " + number + " " + unit
}

// hostOf is the host of a URL, or else the name itself.
func hostOf(name string) string {
	_, after, isURL := strings.Cut(name, "://")
	if !isURL {
		return name
	}
	host, _, _ := strings.Cut(after, "/")
	if _, after, credentials := strings.Cut(host, "@"); credentials {
		host = after
	}
	return host
}

// Progress shows what is being done: on a terminal in rows that change and go away; where nothing may move, in a line when
// a phase begins and ends; elsewhere in a line for each phase that takes long, and one each 30 seconds.
func (u *UI) Progress(e diag.Event) {
	if u.Quiet || u.JSON || u.muted.holds(nil) {
		return
	}
	p := &u.progress
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.note(e, now)
	switch {
	case u.Terminal && !u.Still:
		if p.stop == nil {
			p.stop, p.ended = make(chan struct{}), make(chan struct{})
			p.region.w = u.Err
			go u.redraw(p.stop, p.ended)
		}
	case u.Terminal:
		if p.said != e.Stage {
			u.endPhase()
			p.said = e.Stage
			fmt.Fprintf(u.Err, "skl: %s %s\n", e.Stage, diag.Printable(e.Name))
		}
	case now.Sub(p.started) >= logAfter && (p.said != e.Stage || now.Sub(p.saidAt) >= logEvery):
		p.said, p.saidAt = e.Stage, now
		line := "skl: " + e.Stage + " " + diag.Printable(e.Name)
		if e.Total > 0 && (e.Stage == "fetch" || e.Stage == "push") {
			line += ", " + ofBytes(e.Done, e.Total)
		}
		fmt.Fprintf(u.Err, "%s, %d s\n", line, int(now.Sub(p.started).Seconds()))
	}
}

// endPhase says that the phase which was said is over.
func (u *UI) endPhase() {
	if u.Still && u.Terminal && u.progress.said != "" {
		fmt.Fprintf(u.Err, "skl: %s: done\n", u.progress.said)
		u.progress.said = ""
	}
}

// redraw draws the region until stop is closed, below what a shell printed while the process was stopped.
func (u *UI) redraw(stop, ended chan struct{}) {
	defer close(ended)
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	continued := make(chan os.Signal, 1)
	defer watchContinued(continued)()
	p := &u.progress
	for {
		select {
		case <-stop:
			return
		case <-continued:
			p.mu.Lock()
			p.region.forget()
			p.mu.Unlock()
		case now := <-tick.C:
			p.mu.Lock()
			look := u.errLook()
			if lines := p.lines(look, now); len(lines) > 0 {
				p.region.draw(look, lines)
			}
			p.mu.Unlock()
		}
	}
}

// clear takes progress away before something else is printed.
func (u *UI) clear() {
	p := &u.progress
	p.mu.Lock()
	stop, ended := p.stop, p.ended
	p.stop = nil
	p.mu.Unlock()
	if stop != nil {
		close(stop)
		<-ended
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.region.erase(u.errLook())
	u.endPhase()
	p.tasks = nil
}

// Close takes away what moves; nothing is shown afterwards.
func (u *UI) Close() { u.clear() }
