package run_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

var update = flag.Bool("update", false, "rewrite the want sections of testdata")

// Every fixture is a skill with scripted answers and the events that its run has; notes "###" in the trees say how the last
// visit of that line's node ended, and are checked. Each is run five ways, which must agree: at
// once, step by step through a written snapshot, replayed from its journal, and resumed from every beginning of its journal.
func TestTrees(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no fixtures", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			f := load(t, file)
			got, notes := "", map[string]string{}
			if f.refused != nil {
				got = "refused: " + f.refused.Error() + "\n"
				if e, ok := errors.AsType[*diag.Error](f.refused); ok {
					notes[fmt.Sprintf("%s:%d", e.Where.File, e.Where.Line)] = "refused"
				}
			} else {
				got, notes = check(t, f)
			}
			if *update {
				rewrite(t, file, f, got, notes)
				return
			}
			if want := f.file("want"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			for _, x := range f.archive.Files {
				if got := annotate(x, notes); got != string(x.Data) {
					t.Errorf("the notes ### of %s are, by line:\n%s", x.Name, got)
				}
			}
		})
	}
}

func rewrite(t *testing.T, file string, f *fixture, got string, notes map[string]string) {
	t.Helper()
	a := &txtar.Archive{Comment: f.archive.Comment}
	for _, x := range f.archive.Files {
		if x.Name != "want" {
			a.Files = append(a.Files, txtar.File{Name: x.Name, Data: []byte(annotate(x, notes))})
		}
	}
	a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(got)})
	if err := os.WriteFile(file, txtar.Format(a), 0o644); err != nil {
		t.Fatal(err)
	}
}

// annotate writes behind the lines of a tree how the last visit of their node ended.
func annotate(x txtar.File, notes map[string]string) string {
	name, ok := strings.CutPrefix(x.Name, "skill/")
	if !ok || !strings.HasSuffix(name, ".md") {
		return string(x.Data)
	}
	var out strings.Builder
	n := 0
	for line := range strings.Lines(string(uncomment(x.Data))) {
		n++
		if note, ok := notes[fmt.Sprintf("%s:%d", name, n)]; ok {
			line = strings.TrimRight(line, "\n") + " ### " + note + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// notes tells of each line of the skill how the last visit of its node ended, and what it bound.
func notes(f *fixture, events []run.Event) map[string]string {
	out := map[string]string{}
	for _, e := range events {
		n, in, ok := f.plan.NodeByID(e.Node)
		if !ok || in.Skill != nil && in.Skill != f.plan.Skill || e.Kind != run.NodeDone && e.Kind != run.NodeSkipped {
			continue
		}
		note := string(e.Status)
		if len(e.Value) > 0 {
			note += " " + string(e.Value)
		}
		out[fmt.Sprintf("%s:%d", n.Pos.File, max(n.Last, n.Pos.Line))] = note
	}
	return out
}

// check runs f in all ways and returns its text form.
func check(t *testing.T, f *fixture) (string, map[string]string) {
	r, m, world := f.world(t)
	journal := &run.Memory{}
	r.Journal = journal
	result, err := r.Run(t.Context(), f.plan, f.args)
	text := describe(result, err)
	for path := range strings.Lines(f.file("show")) {
		path = strings.TrimSpace(path)
		req, ok := m.requests[path]
		if !ok {
			t.Errorf("no request at %s", path)
		}
		text += fmt.Sprintf("\nrequest %s (%s, isolated %v, tools %d)\n%s%s%s\n", path, req.Purpose, req.Isolated, len(req.Tools), indent(req.System), indent(unmarked(req)), indent(string(req.Schema)))
	}
	if strings.Contains(f.file("options"), "effects") {
		for _, e := range f.plan.Effects(f.args) {
			text += fmt.Sprintf("could %s %s %s %q when %q\n", e.Kind, e.Mode, e.Path, e.What, e.When)
		}
	}
	for _, line := range world.acted {
		text += "acted " + line + "\n"
	}

	steps := stepped(t, f)
	if steps != describe(result, err) {
		t.Errorf("through snapshots the run differs:\n%s\nat once:\n%s", steps, describe(result, err))
	}
	records := journal.Records()
	replay, _, _ := f.world(t)
	replay.Model, replay.Tools, replay.Ask, replay.Answers = nil, nil, nil, nil
	if len(replay.Set) == 0 {
		again, rerr := replay.Replay(t.Context(), f.plan, records)
		if got := describe(again, rerr); !sameRun(got, describe(result, err)) {
			t.Errorf("replayed, the run differs:\n%s\nat first:\n%s", got, describe(result, err))
		}
		killed(t, f, records, describe(result, err))
	}
	return text, notes(f, run.Canonical(result.Events))
}

// sameRun compares but for the question of a suspended run, which a replay does not know to ask.
func sameRun(a, b string) bool {
	if !strings.Contains(b, "status suspended") {
		return a == b
	}
	return head(a) == head(b) || strings.HasPrefix(head(b), head(a))
}

func head(s string) string {
	if i := strings.Index(s, "suspended"); i >= 0 {
		return s[:i]
	}
	return s
}

// stepped runs f with a snapshot written and read back between all steps.
func stepped(t *testing.T, f *fixture) string {
	t.Helper()
	r, _, _ := f.world(t)
	m, err := r.Start(f.plan, f.args)
	if err != nil {
		t.Fatal(err)
	}
	for {
		more, err := m.Step(t.Context())
		if !more {
			return describe(m.Result(), err)
		}
		data, err := m.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if m, err = r.Restore(f.plan, data); err != nil {
			t.Fatal(err)
		}
	}
}

// killed resumes the run from every beginning of its journal: the events are the same, and no effect that was done is
// begun again.
func killed(t *testing.T, f *fixture, records []run.Record, want string) {
	t.Helper()
	for n := 1; n < len(records); n++ {
		r, m, _ := f.world(t)
		done := map[string]bool{}
		for _, rec := range records[:n] {
			if rec.Type == run.DoneRecord && rec.Err == nil {
				done[rec.Key] = true
			}
			if rec.Type == run.DoneRecord && rec.Kind == "model" {
				m.skip(rec.Key)
			}
		}
		r.Rerun = []string{"*"}
		journal := &run.Memory{}
		for _, rec := range records[:n] {
			journal.Append(rec, false)
		}
		r.Journal = journal
		result, err := r.Resume(t.Context(), f.plan, records[:n])
		if got := describe(result, err); got != want {
			t.Errorf("killed after record %d of %d and resumed, the run differs:\n%s\nwant:\n%s", n, len(records), got, want)
			return
		}
		for _, rec := range journal.Records()[n:] {
			if rec.Type == run.StartedRecord && done[rec.Key] {
				t.Errorf("killed after record %d: %s ran twice", n, rec.Key)
			}
		}
		again, _, _ := f.world(t)
		again.Model, again.Tools, again.Ask, again.Answers = nil, nil, nil, nil
		if replayed, rerr := again.Replay(t.Context(), f.plan, journal.Records()); !sameRun(describe(replayed, rerr), want) {
			t.Errorf("the journal of a run resumed after record %d replays differently:\n%s\nwant:\n%s", n, describe(replayed, rerr), want)
		}
	}
}

// notAgain is what line has before the answer of a call that took place in an earlier process.
const notAgain = `repeated "made before the interruption, and not made again: what follows is what it gave then. If it has to take place once more, make a call that differs.\n`

// skip drops the answer that an earlier process got for the visit of key.
func (m *scripted) skip(key string) {
	path, _, _ := strings.Cut(key, "!")
	lines := m.lines[path]
	for len(lines) > 0 && strings.HasPrefix(lines[0], "$ ") {
		lines = lines[1:]
	}
	if len(lines) > 0 {
		m.lines[path] = lines[1:]
	}
}

// describe is a run as text: a line per event, and how it ended.
func describe(r run.Result, err error) string {
	var b strings.Builder
	for _, e := range run.Canonical(r.Events) {
		b.WriteString(strings.Replace(line(e), notAgain, `ok "`, 1)) // which a process that was not interrupted does not say
	}
	fmt.Fprintf(&b, "status %s, exit %d\n", r.Status, r.ExitCode)
	if r.Message != "" {
		fmt.Fprintf(&b, "message %s\n", r.Message)
	}
	if r.Pending != nil {
		fmt.Fprintf(&b, "pending %s %q %q\n", r.Pending.ID, r.Pending.Question, r.Pending.Options)
	}
	if len(r.Response) > 0 {
		fmt.Fprintf(&b, "response %s\n", compact(r.Response))
	}
	if len(r.Bindings) > 0 {
		fmt.Fprintf(&b, "bindings %s\n", compact(r.Bindings))
	}
	if err != nil {
		fmt.Fprintf(&b, "error %v\n", err)
		if e, ok := err.(*diag.Error); ok {
			for _, h := range e.Hints {
				fmt.Fprintf(&b, "hint %s\n", h)
			}
		}
	}
	return b.String()
}

func compact(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(b.String())
}

// line is one event as text.
func line(e run.Event) string {
	at := e.Path
	if e.Agent {
		at += " (agent)"
	}
	value := ""
	if len(e.Value) > 0 {
		value = " " + string(e.Value)
	}
	switch e.Kind {
	case run.RunStarted, run.PhaseStarted:
		return fmt.Sprintf("%s %s%s\n", e.Kind, e.Text, value)
	case run.NodeStarted:
		return fmt.Sprintf("%s > %s%s\n", at, e.Text, value)
	case run.NodeDone:
		return fmt.Sprintf("%s < %s%s\n", at, e.Status, value)
	case run.NodeSkipped:
		return fmt.Sprintf("%s - %s\n", at, e.Text)
	case run.Decided:
		return strings.TrimSpace(fmt.Sprintf("%s decided%s by %s %s", at, value, e.How, e.Read)) + "\n"
	case run.Bound:
		return fmt.Sprintf("%s bound %s =%s\n", at, e.Name, value)
	case run.Asked:
		return fmt.Sprintf("%s asked %q%s\n", at, e.Text, value)
	case run.Answered:
		return fmt.Sprintf("%s answered%s by %s\n", at, value, e.How)
	case run.ModelCalled:
		return fmt.Sprintf("%s model %s\n", at, e.Name)
	case run.ModelReplied:
		if value == "" {
			value = fmt.Sprintf(" %q", e.Text)
		}
		return fmt.Sprintf("%s model replied%s\n", at, value)
	case run.ToolCalled:
		return fmt.Sprintf("%s tool %s%s\n", at, e.Name, value)
	case run.ToolReplied:
		return fmt.Sprintf("%s tool %s %s %q\n", at, e.Name, e.Status, e.Text)
	case run.Checked:
		return fmt.Sprintf("%s %s: %s%s\n", at, e.Status, e.Text, value)
	case run.Warned:
		return fmt.Sprintf("%s warning %s: %s\n", at, e.Code, e.Text)
	case run.Acted:
		return fmt.Sprintf("%s %s %s %s %s\n", at, e.Name, e.Text, e.Status, deed(e.Did))
	case run.Output:
		return fmt.Sprintf("%s says %q\n", at, e.Text)
	}
	return strings.TrimSpace(fmt.Sprintf("%s %s %s %s", e.Kind, e.Status, e.Text, value)) + "\n"
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("    " + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// unmarked is the prompt of a request with one word for its mark.
func unmarked(r model.Request) string {
	if r.Mark == "" {
		return r.Prompt
	}
	return strings.ReplaceAll(r.Prompt, r.Mark, "MARK")
}

// deed is what an effect did, in a line.
func deed(d *run.Deed) string {
	if d == nil {
		return "nothing is known"
	}
	out := "allowed by " + d.Leave
	for _, c := range d.Changed {
		out += fmt.Sprintf(", %s %s, %d bytes", c.What, c.Path, c.Bytes)
	}
	return out
}
