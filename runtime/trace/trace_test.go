package trace

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// answers is a model that answers by the path of the visit; what it does not know is a failure.
type answers map[string]string

func (answers) Name() string { return "answers" }
func (answers) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

func (a answers) Fill(_ context.Context, r model.Request) (model.Reply, error) {
	text, ok := a[r.Path]
	if !ok {
		return model.Reply{}, diag.New(diag.Failed, model.CodeRefused, "no answer for %s", r.Path)
	}
	reply := model.Reply{Model: "answers-1", Usage: model.Usage{Calls: 1, InputTokens: 100, OutputTokens: 7}}
	if r.Schema == nil {
		reply.Text = text
	} else {
		reply.Value = json.RawMessage(text)
	}
	return reply, nil
}

var reviewed = answers{
	"0":              `{"context":"a parser"}`,
	"1":              `{"files":["a.go","b.go"],"summary":"Fixes the parser"}`,
	"3/0>REVIEW/0":   `{"findings":"one, minor"}`,
	"3/0>REVIEW/1":   `{"value":false,"reason":"minor"}`,
	"3/0>REVIEW/2/0": `{"verdict":"good"}`,
	"3/1":            `{"lines":12}`,
	"4[0]/1/0":       `{"note":"fine"}`,
	"4[1]/0/0":       `{"note":"fine, too"}`,
	"7/0/0":          "Twelve lines.\nNot one more.",
	"8":              `{"items":[{"index":0,"pass":true,"reason":"it does"},{"index":1,"pass":false,"reason":"the author was"}]}`,
}

// review loads the sample skill and runs it; the events are in canonical order, so without times.
func review(t *testing.T, m model.Model, given map[string]run.Answer) (*tree.Skill, []run.Event) {
	t.Helper()
	skill, err := tree.Load(os.DirFS("testdata/review"), "review")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), skill, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := run.Runner{Model: m, KeepEvents: true, Answers: given}
	result, err := r.Run(t.Context(), p, "PR-1")
	if err != nil && result.Status != run.Failed {
		t.Fatal(err)
	}
	return skill, result.Events
}

var yes = map[string]run.Answer{"Publish": {Text: "Yes", How: "flag"}}

// golden compares got with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s", name, got)
	}
}

func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name  string
		model answers
		given map[string]run.Answer
	}{
		{"lines_ended.txt", reviewed, yes},
		{"lines_suspended.txt", reviewed, nil},
		{"lines_failed.txt", answers{"0": `{"context":"a parser"}`}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, events := review(t, tt.model, tt.given)
			var out bytes.Buffer
			sink := Lines(&out)
			for _, e := range events {
				sink.Event(e)
			}
			if err := sink.Close(); err != nil {
				t.Fatal(err)
			}
			golden(t, tt.name, out.String())
		})
	}
}

// The lines of each child of PARALLEL stay together, in whatever order the children do what they do.
func TestLinesOfParallelStayTogether(t *testing.T) {
	var out strings.Builder
	sink := Lines(&out)
	for _, e := range []run.Event{
		started("0", "PARALLEL", "PARALLEL"),
		started("0/0", "call", "**A**"), started("0/1", "call", "**B**"), started("0/2", "prose", "C"),
		started("0/1>B/0", "prose", "b one"), started("0/0>A/0", "prose", "a one"),
		done("0/1>B/0", "prose", "b one", run.OK),
		{Kind: run.ToolReplied, Path: "0/0>A/0", Name: "bash", Status: run.Denied, Text: "denied: not allowed"},
		done("0/2", "prose", "C", run.OK),
		{Kind: run.Warned, Path: "0/1", Text: "slow"},
		done("0/0>A/0", "prose", "a one", run.Failed),
		done("0/1", "call", "**B**", run.OK), done("0/0", "call", "**A**", run.Failed),
		done("0", "PARALLEL", "PARALLEL", run.OK),
	} {
		sink.Event(e)
	}
	const want = `skl: ▸ PARALLEL
skl:   ✓ C
skl:   ⟳ **B**
skl:     ✓ b one
skl: warning: slow
skl:   ⟳ **A**
skl:     ✗ a one  failed
skl:       bash: denied: not allowed
skl:   ✗ **A**  failed
`
	if out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func started(path, kind, text string) run.Event {
	return run.Event{Kind: run.NodeStarted, Path: path, Node: path, Type: kind, Text: text}
}

func done(path, kind, text string, s run.Status) run.Event {
	return run.Event{Kind: run.NodeDone, Path: path, Node: path, Type: kind, Text: text, Status: s}
}

// A run that was killed leaves nothing held back: Close tells what the children had done and where they stood.
func TestLinesOfAnEndWithoutAnEvent(t *testing.T) {
	var out strings.Builder
	sink := Lines(&out)
	sink.Event(started("0", "PARALLEL", "PARALLEL"))
	sink.Event(started("0/0", "call", "**A**"))
	sink.Event(started("0/0>A/0", "prose", "a one"))
	sink.Close()
	if want := "skl: ▸ PARALLEL\nskl:   ⟳ **A**\nskl:     ⏸ a one\n"; out.String() != want {
		t.Errorf("got\n%s", out.String())
	}
}

func TestReport(t *testing.T) {
	_, events := review(t, reviewed, yes)
	golden(t, "report.txt", strings.Join(Report(events, true), "\n")+"\n")
	_, events = review(t, reviewed, nil)
	golden(t, "report_suspended.txt", strings.Join(Report(events, true), "\n")+"\n")
}

// The report has times, and children of PARALLEL as written, although they ended in another order.
func TestReportOrdersAndTimes(t *testing.T) {
	late := done("0/0", "prose", "first", run.OK)
	late.Took = 1234 * time.Millisecond
	got := strings.Join(Report([]run.Event{
		started("0", "PARALLEL", "PARALLEL"), started("0/1", "prose", "second"), started("0/0", "prose", "first"),
		{Kind: run.ModelReplied, Path: "0/1", Usage: &model.Usage{InputTokens: 3, OutputTokens: 1}},
		{Kind: run.ModelReplied, Path: "0/1", Usage: &model.Usage{InputTokens: 4, OutputTokens: 1}},
		done("0/1", "prose", "second", run.OK), late, done("0", "PARALLEL", "PARALLEL", run.OK),
		done("1", "call", "NOBODY", run.Failed), // it failed before it was begun
		{Kind: run.RunEnded, Status: run.Failed, Text: "there is no op NOBODY"},
	}, true), "\n")
	const want = `0    ✓ PARALLEL
0/0  ✓   first   1.2s
0/1  ✓   second  7+2 tokens
1    ✗ NOBODY
failed: there is no op NOBODY`
	if got = strings.ReplaceAll(got, "first     1.2s", "first   1.2s"); got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestJSONL(t *testing.T) {
	_, events := review(t, reviewed, yes)
	events = append(events, run.Event{Kind: run.Output, Path: "1", Text: hostile, Value: json.RawMessage(`"` + "\u009b\u202e" + `"`), Time: time.Unix(1700000000, 0).UTC(), Took: time.Second})
	var out bytes.Buffer
	sink := JSONL(&out)
	for _, e := range events {
		sink.Event(e)
	}
	if err := sink.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != len(events) {
		t.Errorf("%d lines for %d events", n, len(events))
	}
	if strings.Contains(out.String(), `\u003c`) {
		t.Error("<< is not readable")
	}
	harmless(t, out.String())
	got, err := ReadJSONL(bytes.NewReader(out.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		var want run.Event
		text, _ := json.Marshal(events[i])
		json.Unmarshal(text, &want) // invalid UTF-8 does not survive JSON
		var a, b any                // escapes in values are another spelling
		json.Unmarshal(got[i].Value, &a)
		json.Unmarshal(want.Value, &b)
		if !reflect.DeepEqual(a, b) {
			t.Errorf("event %d: value %v, want %v", i, a, b)
		}
		got[i].Value, want.Value = nil, nil
		if !reflect.DeepEqual(got[i], want) {
			t.Errorf("event %d: got %+v, want %+v", i, got[i], want)
		}
	}
	// A crash tears the last line anywhere: what stands before it is read.
	last := bytes.LastIndexByte(bytes.TrimSpace(out.Bytes()), '\n') + 1
	for cut := last; cut < out.Len(); cut += 7 {
		got, err := ReadJSONL(bytes.NewReader(out.Bytes()[:cut]))
		if err != nil || len(got) != len(events)-1 {
			t.Fatalf("torn at %d: %d events, %v", cut, len(got), err)
		}
	}
	// In the middle it is an error.
	got, err = ReadJSONL(strings.NewReader("{\"event\":\"phase\"}\n{\"eve\n{\"event\":\"phase\"}\n"))
	if got != nil || err == nil || diag.ClassOf(err) != diag.Failed || !strings.Contains(err.Error(), "event 2 ") {
		t.Errorf("a torn line in the middle: %v, %v", got, err)
	}
}

// failing is a disk that is full.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, os.ErrInvalid }

func TestJSONLTellsThatItWasNotWritten(t *testing.T) {
	sink := Tee(nil, JSONL(failing{}), Lines(failing{}))
	sink.Event(run.Event{Kind: run.PhaseStarted})
	sink.Event(run.Event{Kind: run.PhaseStarted})
	if err := sink.Close(); err == nil {
		t.Error("no error")
	}
}

// hostile is what skills, models and tools may say to a terminal.
const hostile = "ok\x1b[2J\x1b]0;owned\x07\nskl: run: ok\r\x9b31m\u202edda\u009b2J\t\xff\u200b" + "日本語 ✓"

// harmless fails when text holds something that a terminal obeys besides colours and line ends.
func harmless(t *testing.T, text string) {
	t.Helper()
	for _, code := range []string{"\x1b[0m", "\x1b[2m", "\x1b[31m", "\x1b[33m", "\n"} {
		text = strings.ReplaceAll(text, code, "")
	}
	if shown := diag.Printable(text); shown != text {
		t.Errorf("a terminal would obey:\n%s", shown)
	}
}

// Every text of an event can be hostile, and nothing that is shown obeys it; no line looks as if skl had written it.
func TestHostileText(t *testing.T) {
	value, _ := json.Marshal(map[string]string{hostile: hostile, "b": hostile})
	rows, _ := json.Marshal([]map[string]string{{"field": hostile, "value": hostile}})
	said, _ := json.Marshal(map[string]string{"reason": hostile})
	text, _ := json.Marshal(hostile)
	var events []run.Event
	kinds := []run.EventKind{run.RunStarted, run.PhaseStarted, run.NodeStarted, run.Decided, run.Bound, run.Asked, run.Answered, run.PlanShown, run.Checked,
		run.ModelCalled, run.ModelReplied, run.ToolCalled, run.ToolReplied, run.Output, run.Warned, run.NodeDone, run.NodeSkipped, run.RunSuspended, run.RunEnded}
	for _, kind := range kinds {
		for _, v := range []json.RawMessage{value, rows, said, text, nil} {
			for _, status := range []run.Status{run.OK, run.Fail, run.Failed, run.Halted} {
				for _, path := range []string{"0", hostile} {
					events = append(events, run.Event{Kind: kind, Path: path, Node: hostile, Type: "END", Name: hostile, Text: hostile, Status: status, How: hostile, Code: hostile, Model: hostile, Value: v})
				}
			}
		}
	}
	skill := &tree.Skill{Name: hostile, Tree: &tree.Tree{Nodes: []*tree.Node{{ID: hostile, Text: hostile, Kind: tree.Prose}}}}
	var out, log strings.Builder
	s := newScreen(t, 60, 5000)
	live := NewLive(s, false, func() int { return 60 }, View{})
	sink := Tee(Lines(&out), live, &Debug{W: &out, Skill: skill, Command: hostile, Snapshot: func(text string) error {
		log.WriteString(text)
		return nil
	}})
	for _, e := range events {
		sink.Event(e)
	}
	sink.Close()
	harmless(t, out.String())
	harmless(t, log.String())
	harmless(t, strings.Join(Report(events, true), "\n"))
	harmless(t, s.String())
	if strings.Contains("\n"+out.String(), "\nskl: run: ok") {
		t.Error("a text made a line of its own")
	}
	if out.Len() == 0 || log.Len() == 0 || s.String() == "" {
		t.Error("nothing was shown")
	}
}

func TestColumns(t *testing.T) {
	for _, tt := range []struct {
		text string
		want int
	}{
		{"", 0}, {"abc", 3}, {"naïve", 5}, {"e\u0301", 1}, {"日本", 4}, {"한글", 4}, {"ｆｕｌｌ", 8}, {"✓ ▸ ⟳ →", 7}, {"😀", 2}, {"╔══╗", 4}, {"⚠\ufe0f", 2},
	} {
		if got := columns(tt.text); got != tt.want {
			t.Errorf("columns(%q) = %d, want %d", tt.text, got, tt.want)
		}
	}
	for n := range 12 {
		for _, text := range []string{"日本語日本語", "a日b本c語", "plain text only", "e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301e\u0301"} {
			if got := cut(text, n); columns(got) > n {
				t.Errorf("cut(%q, %d) = %q has %d columns", text, n, got, columns(got))
			}
		}
	}
	if got := cut("a  b\n\tc", 10); got != "a b c" {
		t.Errorf("cut made %q", got)
	}
	if got := cut(strings.Repeat("x", 10_000_000), 5); got != "xxxx…" {
		t.Errorf("cut made %q", got)
	}
}

func TestPathOrder(t *testing.T) {
	want := []string{"0", "0/0", "0/0>A/0", "0/0>A/1", "0/1", "0/2", "0/10", "1", "2[0]/0", "2[9]/0", "2[10]/0", "10"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, comparePaths)
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for path, want := range map[string]int{"2": 0, "2/0": 1, "2/0>REVIEW/1": 2, "3[4]/0": 1, "arguments": 0} {
		if got := depth(path); got != want {
			t.Errorf("depth(%q) = %d, want %d", path, got, want)
		}
	}
}

// Tee may be called by several at once, and its sinks are not.
func TestTee(t *testing.T) {
	var events counter
	sink := Tee(&events, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				sink.Event(run.Event{Kind: run.PhaseStarted})
			}
		})
	}
	wg.Wait()
	sink.Close()
	if events != 800 {
		t.Errorf("%d events", events)
	}
}

type counter int

func (c *counter) Event(run.Event) { *c++ }
func (c *counter) Close() error    { return nil }

// screen is a terminal of so many columns and rows, which knows no more than is needed: any other code fails the test.
type screen struct {
	t          *testing.T
	mu         sync.Mutex
	cols, tall int
	lines      [][]rune
	x, y       int
}

func newScreen(t *testing.T, cols, tall int) *screen {
	return &screen{t: t, cols: cols, tall: tall, lines: [][]rune{nil}}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for text := string(p); text != ""; {
		var up int
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			s.lines = s.lines[:s.y+1]
			s.lines[s.y] = s.lines[s.y][:min(s.x, len(s.lines[s.y]))]
			text = text[3:]
		case text[0] == '\x1b':
			end := strings.IndexAny(text, "Am")
			if end < 0 || end > 6 {
				s.t.Errorf("unknown code %q", text[:min(len(text), 10)])
				return len(p), nil
			}
			if text[end] == 'A' {
				fmt.Sscanf(text, "\x1b[%dA", &up)
				top := max(len(s.lines)-s.tall, 0) // what scrolled off is out of reach
				s.y = max(s.y-up, top)
			}
			text = text[end+1:]
		case text[0] == '\n':
			s.x = 0
			if s.y++; s.y == len(s.lines) {
				s.lines = append(s.lines, nil)
			}
			text = text[1:]
		default:
			r := []rune(text)[0]
			text = text[len(string(r)):]
			w := columnsOf(r)
			if s.x+w > s.cols { // wraps
				s.x = 0
				if s.y++; s.y == len(s.lines) {
					s.lines = append(s.lines, nil)
				}
			}
			s.lines[s.y] = append(s.lines[s.y], r)
			s.x += w
		}
	}
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var b strings.Builder
	for _, line := range s.lines {
		b.WriteString(string(line) + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// still is a Live without its clock.
func still(w *screen, color bool) *Live {
	done := make(chan struct{})
	close(done)
	return &Live{w: w, color: color, width: func() int { return w.cols }, stop: make(chan struct{}), done: done}
}

func (s *screen) want(t *testing.T, what, want string) {
	t.Helper()
	if got := s.String(); got != strings.Trim(want, "\n") {
		t.Errorf("%s:\n%s", what, cmp.Or(got, "(nothing)"))
	}
}

// END with a message ends what it means to end: nothing around it has failed. What else halts a run is a failure of the step where it happens, and of
// none around that.
func TestHalted(t *testing.T) {
	for _, tt := range []struct{ kind, want, live string }{
		{"END", "■ IF << a\n■   FOR_EACH << f in b\n■     last\nhalted: why", "▸ IF << a\n  ▸ FOR_EACH << f in b\n    ■ last  halted"},
		{"VERIFY_EXPECTED", "■ IF << a\n■   FOR_EACH << f in b\n✗     last\nhalted: why", "▸ IF << a\n  ▸ FOR_EACH << f in b\n    ✗ last  halted"},
	} {
		events := []run.Event{
			started("0", "IF", "IF << a"), started("0/0", "FOR_EACH", "FOR_EACH << f in b"), started("0/0[0]/0", tt.kind, "last"),
			done("0/0[0]/0", tt.kind, "last", run.Halted), done("0/0", "FOR_EACH", "FOR_EACH << f in b", run.Halted), done("0", "IF", "IF << a", run.Halted),
			{Kind: run.RunEnded, Status: run.Halted, Text: "why"},
		}
		if got := strings.Join(Report(events, false), "\n"); got != tt.want {
			t.Errorf("%s: got\n%s", tt.kind, got)
		}
		var o outline
		var live []string
		for _, e := range events {
			for _, l := range o.event(e) {
				live = append(live, l.text+l.tail)
			}
		}
		if got := strings.Join(live, "\n"); got != tt.live {
			t.Errorf("%s: got\n%s", tt.kind, got)
		}
	}
}
