package trace

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// A Proof is what a page about a run tells: which path it took, who decided what and why, and what it did by whose leave.
type Proof struct {
	Run, Skill, Args, Model string
	Status                  string // how it ended, in a word
	ExitCode                int
	Started, Ended          time.Time
	Digest                  string // of the skill's folder as it ran
	Journal                 string // digest of the journal, "" if there is none
	Version                 string // of skl
	Replay                  string // the command that runs its control flow again
	Picture                 string // of the tree, as graph.SVG draws it; "" if it cannot be drawn
	NoPicture               string // why not
	Events                  []run.Event
}

// Bounds of a page.
const (
	maxProofRows = 2_000 // of a table
	maxProofText = 8_000 // bytes of a prompt, an answer or a result
)

// page is what proof.html shows. Its texts are printable.
type page struct {
	Title, Status, Tone, Sentence, Args string
	Facts                               []fact
	Picture                             template.HTML // from graph.SVG, whose texts cannot leave their places
	NoPicture                           string
	Steps                               []pageStep
	Decisions                           []decision
	Effects                             []deedRow
	Fills                               []fill
	Warnings                            []string
	Replay                              string
	Left                                []string // what was left out
	ReadOnly                            int      // calls that changed nothing
	Unended                             bool     // the run stopped without a word, so that what it did last is not recorded
	total                               model.Usage
	files                               map[string]bool // that were changed
}

type fact struct{ Name, Value string }

type pageStep struct {
	Depth                   int
	Path, Sign, Text, Notes string
	Tone                    string // ok, skip, bad, end or wait
	Took                    string
}

type decision struct{ Path, Step, Value, By, Why, Prompt string }

type deedRow struct {
	Path, Tool, What, By, Status, Why, Input, Result string
	Changed                                          []pageFile
	Unknown                                          string
	Bad                                              bool
}

type pageFile struct{ Text, Digest string }

type fill struct{ Path, Purpose, Model, Cost, Prompt, Answer string }

//go:embed proof.html
var proofText string

var proofPage = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("proof").Parse(proofText))
})

// WriteProof writes the page: one file without scripts that asks for nothing from elsewhere. What came from a skill, a model, a tool or a person
// is text in it, and printable.
func WriteProof(w io.Writer, p Proof) error {
	var out bytes.Buffer
	if err := proofPage().Execute(&out, p.page()); err != nil {
		return diag.New(diag.Failed, "proof", "making the page of run %s: %w", p.Run, err)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func (p Proof) page() *page {
	out := &page{Title: cut(p.Skill, 100), Args: cut(p.Args, 300), Status: cut(p.Status, 20), Tone: statusTone(run.Status(p.Status)),
		Picture: template.HTML(p.Picture), NoPicture: p.NoPicture, Replay: diag.Printable(p.Replay), files: map[string]bool{}, Unended: p.Ended.IsZero()}
	t := teller{page: out, calls: map[string]run.Event{}, effects: map[string]int{}, open: map[string]bool{}, prompts: map[string]string{}, models: map[string]string{}, reasons: map[string]string{}, questions: map[string]run.Event{}, texts: map[string]string{}}
	for _, e := range p.Events {
		t.event(e)
	}
	t.unended()
	out.steps(p.Events)
	out.facts(p)
	out.Sentence = out.sentence()
	return out
}

func (g *page) facts(p Proof) {
	add := func(name, value string) {
		if value != "" {
			g.Facts = append(g.Facts, fact{name, diag.Printable(value)})
		}
	}
	add("Run", p.Run)
	if p.Ended.IsZero() {
		add("Ended", "no: "+p.Status)
	} else {
		add("Ended", fmt.Sprintf("%s, exit code %d", p.Status, p.ExitCode))
	}
	add("Model", p.Model)
	add("Started", p.Started.UTC().Format("2006-01-02 15:04:05 MST"))
	if !p.Ended.IsZero() {
		add("Took", p.Ended.Sub(p.Started).Round(time.Millisecond).String())
	}
	add("Cost", cost(g.total))
	add("Skill", p.Digest)
	add("Journal", p.Journal)
	add("skl", p.Version)
}

// cost is what was used, in words.
func cost(u model.Usage) string {
	if u.Calls == 0 && u.InputTokens+u.OutputTokens == 0 {
		return ""
	}
	out := fmt.Sprintf("%s, %d tokens in, %d out", diag.Count(u.Calls, "model call"), u.InputTokens, u.OutputTokens)
	if u.Dollars > 0 {
		out += fmt.Sprintf(", $%.4f", u.Dollars)
	}
	return out
}

// steps are the visits, in the order of the tree.
func (g *page) steps(events []run.Event) {
	rows := reported(events).rows
	for _, r := range rows[:g.fit(len(rows), "steps")] {
		step := pageStep{Depth: min(depth(r.path), maxIndent), Path: diag.Printable(r.path), Sign: r.sign, Text: cut(r.text, 300), Notes: cut(r.notes, 300), Tone: signTone(r.sign)}
		if r.took >= 100*time.Millisecond {
			step.Took = r.took.Round(100 * time.Millisecond).String()
		}
		g.Steps = append(g.Steps, step)
	}
}

// fit is how many of n rows a table has; the page says what it leaves out.
func (g *page) fit(n int, what string) int {
	if n > maxProofRows {
		g.leave(what)
	}
	return min(n, maxProofRows)
}

func (g *page) leave(what string) {
	if text := fmt.Sprintf("More than %d %s: skl trace has them all.", maxProofRows, what); !slices.Contains(g.Left, text) {
		g.Left = append(g.Left, text)
	}
}

// sentence says what happened.
func (g *page) sentence() string {
	by := map[string]int{}
	for _, d := range g.Decisions {
		switch {
		case strings.HasPrefix(d.By, "you"):
			by["you"]++
		case strings.HasPrefix(d.By, "model"):
			by["a model"]++
		default:
			by[d.By]++
		}
	}
	var parts []string
	for _, who := range []string{"rule", "a model", "you"} {
		if n := by[who]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d by %s", n, who))
		}
	}
	out := "No decision was made"
	if n := len(g.Decisions); n > 0 {
		out = diag.Count(n, "decision") + ": " + strings.Join(parts, ", ")
	}
	out = fmt.Sprintf("%s. %s, %s changed", out, diag.Count(len(g.Effects), "effect"), diag.Count(len(g.files), "file"))
	if g.Unended {
		return out + ", as far as it was recorded: the run did not end."
	}
	return out + "."
}

// A teller reads events in their order.
type teller struct {
	*page
	calls     map[string]run.Event // by path and number
	effects   map[string]int       // index in Effects of a call
	open      map[string]bool      // calls that were not answered
	prompts   map[string]string    // the last of a visit
	reasons   map[string]string    // what the model gave for a condition, by visit
	models    map[string]string    // that answered last, by visit
	questions map[string]run.Event
	texts     map[string]string // of nodes, by visit
	plan      string            // shown last
}

func (t *teller) event(e run.Event) {
	switch e.Kind {
	case run.NodeStarted:
		t.texts[e.Path] = e.Text
	case run.ModelCalled:
		t.prompts[e.Path] = e.Text
	case run.ModelReplied:
		t.replied(e)
	case run.Decided:
		t.decided(e)
	case run.PlanShown:
		t.plan = strings.Join(planRows(e, ""), "\n")
	case run.Asked:
		t.questions[e.Path] = e
	case run.Answered:
		t.answered(e)
	case run.ToolCalled:
		t.calls[callKey(e)], t.open[callKey(e)] = e, true
	case run.ToolReplied:
		t.toolReplied(e)
	case run.Acted:
		t.effect(deedRow{Tool: cut(e.Name, 60), What: cut(e.Text, 200)}, "", e)
	case run.Warned:
		if len(t.Warnings) < maxProofRows {
			t.Warnings = append(t.Warnings, cut(e.Text, 300))
		}
	case run.RunEnded, run.RunSuspended:
		if e.Text != "" {
			t.Warnings = append(t.Warnings, cut(string(e.Status)+": "+e.Text, 300))
		}
	}
}

func callKey(e run.Event) string { return fmt.Sprintf("%s#%d", e.Path, e.Call) }

// shown is a text of several lines, printable, its end left out where it is long.
func shown(text string) string {
	out := strings.Join(paragraphs(diag.Clip(text, maxProofText)), "\n")
	if len(text) > maxProofText {
		out += fmt.Sprintf("\n[of %d bytes]", len(text))
	}
	return out
}

func (t *teller) replied(e run.Event) {
	t.models[e.Path] = e.Model
	if e.Usage != nil {
		t.total = t.total.Add(*e.Usage)
	}
	if e.Name == string(model.Condition) {
		var said struct {
			Reason string `json:"reason"`
		}
		if json.Unmarshal(e.Value, &said) == nil {
			t.reasons[e.Path] = said.Reason
		}
	}
	if len(t.Fills) == maxProofRows {
		t.leave("answers of models")
		return
	}
	f := fill{Path: diag.Printable(e.Path), Purpose: cut(e.Name, 20), Model: cut(e.Model, 60), Prompt: shown(t.prompts[e.Path]), Answer: shown(e.Text)}
	if len(e.Value) > 0 {
		f.Answer = shown(indented(e.Value))
	}
	if e.Usage != nil {
		f.Cost = cost(*e.Usage)
	}
	t.Fills = append(t.Fills, f)
}

// indented is a JSON value on several lines; a text is itself.
func indented(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var out bytes.Buffer
	if json.Indent(&out, value, "", "  ") != nil {
		return string(value)
	}
	return out.String()
}

func (t *teller) decided(e run.Event) {
	d := decision{Path: diag.Printable(e.Path), Step: cut(strings.TrimSpace(e.Type+" "+e.Text), 200), Value: plain(e.Value, 100), By: how(e.How)}
	if e.Type == "FOR_EACH" {
		d.Value += "×"
	}
	switch e.How {
	case "rule":
		d.Why = pairs(e.Read, 80)
	case "model":
		d.By = strings.TrimSpace("model " + cut(t.models[e.Path], 60))
		d.Why, d.Prompt = cut(t.reasons[e.Path], 500), shown(t.prompts[e.Path])
	case "cache":
		d.Why = "asked the same earlier in this run"
	case "set":
		d.By = "you, with --set"
	}
	t.decide(d)
}

func (t *teller) decide(d decision) {
	if len(t.Decisions) == maxProofRows {
		t.leave("decisions")
		return
	}
	t.Decisions = append(t.Decisions, d)
}

func (t *teller) answered(e run.Event) {
	q := t.questions[e.Path]
	d := decision{Path: diag.Printable(e.Path), Step: cut("ASK "+cmp.Or(q.Text, t.texts[e.Path]), 300), Value: plain(e.Value, 200), By: answerer(e.How)}
	var options []string
	if json.Unmarshal(q.Value, &options) == nil && len(options) > 0 {
		d.Why = "of " + cut(strings.Join(options, ", "), 200)
	}
	d.Prompt, t.plan = t.plan, ""
	t.decide(d)
}

// answerer is who gave an answer, in words.
func answerer(how string) string {
	switch how {
	case "person", "":
		return "you"
	case "relayed":
		return "you, as the agent says"
	case "flag":
		return "you, with --answer"
	case "file":
		return "you, in a file of answers"
	}
	return cut(how, 20)
}

func (t *teller) toolReplied(e run.Event) {
	key := callKey(e)
	call := t.calls[key]
	if delete(t.open, key); e.Did == nil && onlyReads(e.Name) && (e.Status == run.OK || e.Status == run.Errored) {
		t.ReadOnly++
		return
	}
	t.effect(callRow(e.Name, call), key, e)
}

// onlyReads reports whether a tool changes nothing, by its name. Tools of servers are not among them: nobody knows.
func onlyReads(tool string) bool {
	return slices.Contains([]string{"read", "glob", "grep", "list", run.FinalTool}, strings.ToLower(tool))
}

func callRow(name string, call run.Event) deedRow {
	return deedRow{Tool: cut(name, 60), What: inputOf(call.Value), Input: shown(indented(call.Value))}
}

// unended adds the calls of which nobody saw the end.
func (t *teller) unended() {
	for _, key := range slices.Sorted(maps.Keys(t.open)) {
		if call := t.calls[key]; !onlyReads(call.Name) {
			t.effect(callRow(call.Name, call), key, run.Event{Path: call.Path, Status: "not ended", Did: &run.Deed{Unknown: "nobody saw it end"}})
		}
	}
}

// inputOf is what a call was for: a command, a path, an address, or all that was given.
func inputOf(input json.RawMessage) string {
	var in struct{ Command, Path, URL string }
	if json.Unmarshal(input, &in) == nil {
		if what := cmp.Or(in.Command, in.Path, in.URL); what != "" {
			return cut(what, 200)
		}
	}
	return cut(string(input), 200)
}

// effect adds row, or replaces that of the same call, which waited for leave before.
func (t *teller) effect(row deedRow, key string, e run.Event) {
	row.Path, row.Status = diag.Printable(e.Path), cut(string(e.Status), 20)
	row.Bad = toneOf(e.Status) == bad
	if e.Kind == run.ToolReplied {
		row.Result = shown(e.Text)
	}
	switch e.Status {
	case run.Denied, run.Suspended, run.Skipped, run.Repeated:
		if row.Why = cut(strings.TrimPrefix(e.Text, string(e.Status)+": "), 300); e.Kind == run.Acted {
			row.Why = "stopped in the middle"
		}
	}
	if e.Did == nil && (e.Status == run.OK || e.Status == run.Errored) {
		row.By, row.Unknown = "not recorded", "it was not recorded"
	}
	if d := e.Did; d != nil {
		row.By, row.Unknown = Leave(d.Leave), cut(d.Unknown, 200)
		for _, c := range d.Changed {
			t.files[c.Path] = true
			text := cut(c.What, 10) + " " + cut(c.Path, 200)
			if c.What != run.Deleted {
				text += ", " + diag.Size(c.Bytes)
			}
			row.Changed = append(row.Changed, pageFile{text, cut(c.Digest, 80)})
		}
	}
	if i, ok := t.effects[key]; ok && key != "" {
		t.Effects[i] = row
		return
	}
	if len(t.Effects) == maxProofRows {
		t.leave("effects")
		return
	}
	t.effects[key] = len(t.Effects)
	t.Effects = append(t.Effects, row)
}

func signTone(sign string) string {
	switch sign {
	case "✓":
		return "ok"
	case "⊘":
		return "skip"
	case "■":
		return "end"
	case "⏸", "…":
		return "wait"
	}
	return "bad"
}

func statusTone(s run.Status) string { return signTone(symbol(s)) }
