package trace

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/run"
)

// The screen while a tree runs: what is done above, what runs below, each child of PARALLEL with what it does.
func TestLive(t *testing.T) {
	s := newScreen(t, 60, 24)
	l := still(s, false)
	l.Event(started("0", "prose", "Read the change"))
	l.Event(run.Event{Kind: run.ModelCalled, Path: "0"})
	l.redraw("")
	s.want(t, "a leaf", `
⠋ Read the change  asks the model`)

	l.Event(done("0", "prose", "Read the change", run.OK))
	l.Event(started("1", "IF", "IF << tests are missing"))
	l.Event(run.Event{Kind: run.Decided, Path: "1", Value: []byte("false"), How: "model"})
	l.Event(run.Event{Kind: run.NodeSkipped, Path: "1", Text: "IF << tests are missing", Status: run.Skipped})
	l.Event(run.Event{Kind: run.NodeSkipped, Path: "2", Text: "ELSE", Status: run.Skipped})
	s.want(t, "a branch that is not taken", `
✓ Read the change
⊘ IF << tests are missing  = false (model)`)

	l.Event(started("3", "PARALLEL", "PARALLEL"))
	l.Event(started("3/1", "call", "**REVIEW** << safety"))
	l.Event(started("3/0", "call", "**REVIEW** << style"))
	l.Event(started("3/1>REVIEW/0", "prose", "Look for locks"))
	l.Event(run.Event{Kind: run.ToolCalled, Path: "3/1>REVIEW/0", Name: "grep", Value: []byte(`{"pattern":"Mutex"}`)})
	l.redraw("")
	s.want(t, "children of PARALLEL", `
✓ Read the change
⊘ IF << tests are missing  = false (model)
▸ PARALLEL
  ⠋ **REVIEW** << style
  ⟳ **REVIEW** << safety
    ⠋ Look for locks  grep pattern=Mutex`)

	l.Event(done("3/1>REVIEW/0", "prose", "Look for locks", run.OK))
	l.Event(done("3/1", "call", "**REVIEW** << safety", run.OK))
	s.want(t, "one of them is done", `
✓ Read the change
⊘ IF << tests are missing  = false (model)
▸ PARALLEL
  ⟳ **REVIEW** << safety
    ✓ Look for locks
  ⠋ **REVIEW** << style`)

	l.Event(done("3/0", "call", "**REVIEW** << style", run.Failed))
	l.Event(done("3", "PARALLEL", "PARALLEL", run.OK))
	l.Event(run.Event{Kind: run.RunEnded, Status: run.OK})
	l.Close()
	l.Close()
	s.want(t, "the end", `
✓ Read the change
⊘ IF << tests are missing  = false (model)
▸ PARALLEL
  ⟳ **REVIEW** << safety
    ✓ Look for locks
  ✗ **REVIEW** << style  failed`)
}

// A question stands alone below what is done, whatever happens meanwhile; all of that is shown after the answer.
func TestLiveHolds(t *testing.T) {
	s := newScreen(t, 60, 24)
	l := still(s, false)
	l.Event(started("0", "PARALLEL", "PARALLEL"))
	l.Event(started("0/0", "ASK", "ASK << Go on?"))
	l.Event(run.Event{Kind: run.Asked, Path: "0/0"})
	l.Event(started("0/1", "prose", "Count"))
	release := l.Hold()
	io.WriteString(s, "? Go on?\n> ")
	l.Event(done("0/1", "prose", "Count", run.OK))
	l.Event(started("0/2", "prose", "Sleep"))
	l.frame++
	l.redraw("")
	s.want(t, "while it is asked", `
▸ PARALLEL
? Go on?
> `)
	io.WriteString(s, "Yes\n")
	l.Event(run.Event{Kind: run.Answered, Path: "0/0", Value: []byte(`"Yes"`), How: "person"})
	release()
	release()
	l.Event(done("0/0", "ASK", "ASK << Go on?", run.OK))
	s.want(t, "after the answer", `
▸ PARALLEL
? Go on?
> Yes
  ✓ Count
  ✓ ASK << Go on?  = Yes (person)
  ⠙ Sleep`)
	l.Event(run.Event{Kind: run.RunSuspended, Text: "interrupted"})
	l.Close()
	s.want(t, "interrupted", `
▸ PARALLEL
? Go on?
> Yes
  ✓ Count
  ✓ ASK << Go on?  = Yes (person)
  ⏸ Sleep`)
}

// No line of the moving part wraps, at any width and with runes of two columns, or else redrawing would leave rests.
func TestLiveFits(t *testing.T) {
	for width := 20; width < 90; width += 3 {
		s := newScreen(t, width, 24)
		l := still(s, true)
		for i, text := range []string{strings.Repeat("long ", 40), strings.Repeat("日本語", 30), "e\u0301" + strings.Repeat("e\u0301", 200), "short", "👩‍💻" + strings.Repeat("👍", 40)} {
			l.Event(started(fmt.Sprint(i), "prose", text))
			l.Event(run.Event{Kind: run.ToolCalled, Path: fmt.Sprint(i), Name: "bash", Value: []byte(`{"command":"` + strings.Repeat("ls ", 50) + `"}`)})
			for range 3 {
				l.redraw("")
			}
			if n := len(s.lines); n != i+2 {
				t.Fatalf("width %d: %d lines for %d nodes:\n%s", width, n-1, i+1, s)
			}
		}
		for i := range 5 {
			l.Event(done(fmt.Sprint(i), "prose", strings.Repeat("日本語 ", 30), run.Failed))
		}
		l.Close()
		if n := strings.Count(s.String(), "\n") + 1; n != 5 {
			t.Errorf("width %d: %d lines for 5 nodes:\n%s", width, n, s)
		}
		if n := strings.Count(s.String(), "failed"); width > 30 && n != 5 {
			t.Errorf("width %d: the outcome was cut off:\n%s", width, s)
		}
	}
}

// Texts for the person are never cut, however narrow the screen is.
func TestLiveKeepsTexts(t *testing.T) {
	s := newScreen(t, 30, 50)
	l := still(s, false)
	said := strings.Repeat("word ", 30)
	l.Event(started("0", "prose", "Report"))
	l.Event(run.Event{Kind: run.Output, Path: "0", Text: said + "\n\tindented\r\n"})
	l.Event(done("0", "prose", "Report", run.OK))
	l.Event(started("1", "prose", "Next"))
	l.redraw("")
	all := strings.ReplaceAll(s.String(), "\n", "")
	if !strings.Contains(all, strings.TrimSpace(said)) || !strings.Contains(all, "      indented") {
		t.Errorf("got\n%s", s)
	}
	if !strings.HasSuffix(s.String(), "\n⠋ Next") {
		t.Errorf("got\n%s", s)
	}
}

// On a screen that became narrower the lines of the moving part have wrapped: all of their rows are erased.
func TestLiveResized(t *testing.T) {
	s := newScreen(t, 80, 24)
	l := still(s, false)
	l.Event(started("0", "prose", strings.Repeat("x", 70)))
	l.Event(started("1", "prose", "y"))
	s.narrow(30)
	l.redraw("")
	s.want(t, "narrower", `
⠋ `+strings.Repeat("x", 26)+`…
⠋ y`)
	s.narrow(90)
	l.redraw("")
	s.want(t, "wider", `
⠋ `+strings.Repeat("x", 70)+`
⠋ y`)
}

// narrow changes the width, as terminals do that wrap their lines anew.
func (s *screen) narrow(cols int) {
	old := s.lines
	s.cols, s.lines, s.x, s.y = cols, [][]rune{nil}, 0, 0
	for i, line := range old {
		if i > 0 {
			io.WriteString(s, "\n")
		}
		io.WriteString(s, string(line))
	}
}

// More nodes than the moving part has rows.
func TestLiveMany(t *testing.T) {
	s := newScreen(t, 40, 10)
	l := still(s, false)
	l.Event(started("0", "PARALLEL", "PARALLEL"))
	for i := range 64 {
		l.Event(started(fmt.Sprintf("0/%d", i), "prose", fmt.Sprintf("child %d", i)))
	}
	s.want(t, "64 children", `
▸ PARALLEL
  ⠋ child 0
  ⠋ child 1
  ⠋ child 2
  ⠋ child 3
  ⠋ child 4
  ⠋ child 5
  ⠋ child 6
… and 57 more`)
	for i := range 64 {
		l.Event(done(fmt.Sprintf("0/%d", i), "prose", fmt.Sprintf("child %d", i), run.OK))
	}
	l.Event(done("0", "PARALLEL", "PARALLEL", run.OK))
	l.Close()
	if got := strings.Split(s.String(), "\n"); len(got) != 65 || got[64] != "  ✓ child 63" {
		t.Errorf("%d lines, the last is %q", len(got), got[len(got)-1])
	}
}

func TestLiveColours(t *testing.T) {
	var out strings.Builder
	l := &Live{w: &out, color: true, width: func() int { return 80 }}
	l.Event(done("0", "prose", "x", run.Failed))
	l.Event(run.Event{Kind: run.Warned, Text: "careful"})
	if want := "\x1b[31m✗ x  failed\x1b[0m\n\x1b[33mwarning: careful\x1b[0m\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
	out.Reset()
	l.color = false
	l.Event(done("0", "prose", "x", run.Failed))
	if want := "✗ x  failed\n"; out.String() != want {
		t.Errorf("without colours: %q", out.String())
	}
}

// With its clock, from several goroutines, a run leaves the same screen as without.
func TestLiveTicks(t *testing.T) {
	s := newScreen(t, 60, 200)
	l := NewLive(s, true, func() int { return 60 }, View{})
	l.Event(started("0", "PARALLEL", "PARALLEL"))
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			path := fmt.Sprintf("0/%d", i)
			l.Event(started(path, "prose", "same"))
			time.Sleep(time.Duration(50+20*i) * time.Millisecond)
			if i%3 == 0 {
				l.Hold()()
			}
			l.Event(done(path, "prose", "same", run.OK))
		})
	}
	wg.Wait()
	l.Event(done("0", "PARALLEL", "PARALLEL", run.OK))
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l.Event(run.Event{Kind: run.Warned, Text: "late"}) // no harm
	s.want(t, "the end", "▸ PARALLEL\n"+strings.Repeat("  ✓ same\n", 8)+"warning: late")
}

func BenchmarkLiveEvent(b *testing.B) {
	l := &Live{w: io.Discard, width: func() int { return 100 }}
	for b.Loop() {
		l.Event(started("0", "prose", "Read the change and say what it touches >> files"))
		l.Event(done("0", "prose", "Read the change and say what it touches >> files", run.OK))
	}
}
