package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

func traceCommand() command {
	return command{name: "trace", args: "[RUN|last] [NODE]", group: "Run", usage: "show a run, or one of its nodes: decision, inputs, prompt, value", output: traceResult{},
		example: "skl trace\nskl trace last 2/0\nskl trace 20261121-1205 --json",
		run:     runTrace}
}

// printNode shows everything that is known of the visits of one node.
func (w *world) printNode(events []run.Event) {
	for _, e := range events {
		switch e.Kind {
		case run.NodeStarted:
			w.ui.Print("%s  %s  %s", e.Path, e.Type, e.Text)
			w.block("inputs", e.Value)
		case run.Decided:
			w.ui.Print("  decided  %s (%s)", string(e.Value), e.How)
			w.text("question", e.Text)
		case run.ModelCalled:
			w.ui.Print("  asked    the model, for %s", e.Name)
			w.text("prompt", e.Text)
		case run.ModelReplied:
			line := "  answer   " + e.Model
			if e.Usage != nil {
				line += fmt.Sprintf(", %d tokens in, %d out", e.Usage.InputTokens, e.Usage.OutputTokens)
			}
			if e.Took > 0 {
				line += ", " + e.Took.Round(time.Millisecond).String()
			}
			w.ui.Print("%s", line)
			w.text("", e.Text)
			w.block("", e.Value)
		case run.ToolCalled:
			w.ui.Print("  tool     %s %s", e.Name, string(e.Value))
		case run.ToolReplied:
			w.ui.Print("  result   %s", string(e.Status))
			w.text("", e.Text)
		case run.Asked, run.Answered:
			w.ui.Print("  %-8s %s %s %s", string(e.Kind), e.Text, string(e.Value), e.How)
		case run.Bound:
			w.ui.Print("  bound    %s", e.Name)
			w.block("", e.Value)
		case run.Warned:
			w.ui.Print("  warning  %s [%s]", e.Text, e.Code)
		case run.NodeDone:
			w.ui.Print("  %s  %s", string(e.Status), e.Took.Round(time.Millisecond))
			w.block("value", e.Value)
		}
	}
}

// text prints several lines, indented.
func (w *world) text(title, text string) {
	if text == "" {
		return
	}
	if title != "" {
		w.ui.Print("    %s:", title)
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		w.ui.Print("      %s", line)
	}
}

// block prints a JSON value, indented.
func (w *world) block(title string, value json.RawMessage) {
	if len(value) == 0 || string(value) == "null" || string(value) == "{}" {
		return
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return
	}
	if s, ok := v.(string); ok {
		w.text(title, s)
		return
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		pretty = []byte(strconv.Quote(string(value)))
	}
	w.text(title, string(pretty))
}

type traceResult struct {
	Run    string      `json:"run"`
	Skill  string      `json:"skill"`
	Status string      `json:"status"`
	Model  string      `json:"model"`
	Events []run.Event `json:"events"`
}

func runTrace(_ context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 2 {
		return diag.New(diag.Misuse, "usage", "trace takes a run and a node").Hint("skl trace last 2/0")
	}
	node := c.Args().Get(1)
	t, err := w.runs.Traced(c.Args().Get(0), node)
	rec := t.Record
	return w.show(traceResult{rec.ID, rec.Skill, rec.State(), rec.Model, append([]run.Event{}, t.Events...)}, err, func() {
		if node != "" {
			w.printNode(t.Events)
			return
		}
		w.ui.Print("%s  %s  %s  %s  %s", rec.ID, strings.TrimSpace(rec.Skill+" "+rec.Args), rec.Model, rec.Started.Local().Format("2006-01-02 15:04:05"), rec.State())
		for _, row := range trace.Report(t.Events) {
			w.ui.Print("%s", w.ui.Look().Drawn(row))
		}
		w.ui.Hint("skl trace %s NODE shows one node, by its number on the left", rec.ID)
	})
}
