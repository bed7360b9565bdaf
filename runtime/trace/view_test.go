package trace

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/tree"
)

// planOf plans a skill of one tree.
func planOf(t *testing.T, nodes string) *plan.Plan {
	t.Helper()
	skill, err := tree.Load(fstest.MapFS{
		"SKILL.md":                  {Data: []byte("---\nname: relnotes\ndescription: Writes notes. Use when asked.\n---\n\n## Tree\n\n" + nodes)},
		"references/style.md":       {Data: []byte("style\n")},
		"assets/templates/notes.md": {Data: []byte("notes\n")},
	}, "relnotes")
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(t.Context(), skill, plan.Options{NoLint: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const relnotes = "* Read `references/style.md`\n* ASK << Audience? | Users | Developers\n* PARALLEL\n  * SUBAGENT Summarise features >> features\n  * SUBAGENT Summarise fixes >> fixes\n" +
	"* IF << audience is \"Users\"\n  * bind short = 1\n* FOR_EACH << x in [1, 2]\n  * bind y = x\n* Read `assets/templates/notes.md` and write it to `NOTES.md`\n"

// The whole tree at once: what is done above, with who decided and how long it took at the right; what runs; what waits.
func TestLiveWhole(t *testing.T) {
	for _, c := range []struct {
		width int
		view  View
		want  string
	}{
		{60, View{}, `
✓ read references/style.md
✓ Audience?  = Users                              you   4 s
▸ in parallel
  ⠋ Summarise features  asks the model
  ⠋ Summarise fixes  grep
· if audience is "Users"
· for each x of [1, 2]
· write NOTES.md
relnotes · claude-code · 12 s · 1 call · 4.1k of 100k toke…`},
		{100, View{Source: true, ASCII: true}, "\nok Read `references/style.md`\n" +
			"ok ASK << Audience? | Users | Developers  = Users                                     you   4 s\n" +
			"> PARALLEL\n" +
			"  | SUBAGENT Summarise features >> features  asks the model\n" +
			"  | SUBAGENT Summarise fixes >> fixes  grep\n" +
			"- IF << audience is \"Users\"\n" +
			"- FOR_EACH << x in [1, 2]\n" +
			"- Read `assets/templates/notes.md` and write it to `NOTES.md`\n" +
			"relnotes - claude-code - 12 s - 1 call - 4.1k of 100k tokens"},
		{80, View{Height: func() int { return 8 }}, `
✓ read references/style.md
✓ Audience?  = Users                                                  you   4 s
▸ in parallel
  ⠋ Summarise features  asks the model
  ⠋ Summarise fixes  grep
· if audience is "Users"
· for each x of [1, 2]
… 1 more
relnotes · claude-code · 12 s · 1 call · 4.1k of 100k tokens`},
	} {
		p := planOf(t, relnotes)
		s := newScreen(t, c.width, 40)
		c.view.Plan, c.view.Title, c.view.Tokens = p, "relnotes · claude-code", 100_000
		l := NewLive(s, false, func() int { return c.width }, c.view)
		close(l.stop)
		<-l.done
		l.stop, l.done = make(chan struct{}), make(chan struct{})
		close(l.done)
		l.began = time.Now().Add(-12*time.Second - 100*time.Millisecond)
		node := func(kind run.EventKind, at string, took time.Duration) run.Event {
			e := run.Event{Kind: kind, Path: at, Node: "SKILL.md#/" + at, Text: textAt(p.Skill.Tree.Nodes, at), Status: run.OK, Took: took}
			if n, _, ok := p.NodeByID(e.Node); ok {
				e.Type = n.Kind.String()
			}
			return e
		}
		l.Event(node(run.NodeStarted, "0", 0))
		l.Event(node(run.NodeDone, "0", 0))
		l.Event(node(run.NodeStarted, "1", 0))
		l.Event(run.Event{Kind: run.Answered, Path: "1", Value: []byte(`"Users"`), How: "person"})
		l.Event(node(run.NodeDone, "1", 4*time.Second))
		l.Event(node(run.NodeStarted, "2", 0))
		l.Event(node(run.NodeStarted, "2/0", 0))
		l.Event(node(run.NodeStarted, "2/1", 0))
		l.Event(run.Event{Kind: run.ModelCalled, Path: "2/0"})
		l.Event(run.Event{Kind: run.ModelReplied, Path: "9", Usage: &model.Usage{Calls: 1, InputTokens: 4000, OutputTokens: 120}})
		l.Event(run.Event{Kind: run.ToolCalled, Path: "2/1", Name: "grep"})
		l.redraw("")
		s.want(t, "running", c.want)

		l.Event(node(run.NodeDone, "2/0", 0))
		l.Event(node(run.NodeDone, "2/1", 2*time.Second))
		l.Event(node(run.NodeDone, "2", 0))
		l.Event(run.Event{Kind: run.RunEnded, Status: run.OK})
		l.Close()
		if got := s.String(); strings.Contains(got, "claude-code") || strings.Contains(got, "NOTES.md") {
			t.Errorf("what was for the moment stays:\n%s", got)
		}
	}
}
