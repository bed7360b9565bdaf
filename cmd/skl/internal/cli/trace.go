package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/trace"
	"github.com/skl-project/skl/spec/diag"
)

func traceCommand() command {
	return command{name: "trace", args: "[RUN|last] [NODE]", group: "Run", usage: "show a run, or one of its nodes: decision, inputs, prompt, value", output: traceResult{},
		example: "skl trace\nskl trace last --nodes\nskl trace last 2/0\nskl trace 20261121-1205 --json\nskl trace last --html run.html\nskl trace last --flip 2",
		flags: []cli.Flag{nodesFlag(), &cli.StringFlag{Name: "html", Usage: "write a page about the run to `FILE`: the way it took, who decided, what it did"},
			&cli.StringFlag{Name: "flip", Usage: "show the way with another outcome of the decision `NODE`, or NODE=VALUE, as far as the record reaches"}},
		run: runTrace}
}

// printNode shows everything that is known of the visits of one node.
func printNode(say *report.Text, events []run.Event) {
	for _, e := range events {
		switch e.Kind {
		case run.NodeStarted:
			say.Print("%s  %s  %s", e.Path, e.Type, e.Text)
			traceBlock(say, "inputs", e.Value)
		case run.Decided:
			say.Print("  decided  %s (%s)", string(e.Value), e.How)
			traceText(say, "question", e.Text)
		case run.ModelCalled:
			say.Print("  asked    the model, for %s", e.Name)
			traceText(say, "prompt", e.Text)
		case run.ModelReplied:
			line := "  answer   " + e.Model
			if e.Usage != nil {
				line += fmt.Sprintf(", %d tokens in, %d out", e.Usage.InputTokens, e.Usage.OutputTokens)
			}
			if e.Took > 0 {
				line += ", " + e.Took.Round(time.Millisecond).String()
			}
			say.Print("%s", line)
			traceText(say, "", e.Text)
			traceBlock(say, "", e.Value)
		case run.ToolCalled:
			say.Print("  tool     %s %s", e.Name, string(e.Value))
		case run.ToolReplied:
			say.Print("  result   %s", string(e.Status))
			traceText(say, "", e.Text)
			traceDeed(say, e.Did)
		case run.Acted:
			say.Print("  %-8s %s  %s", e.Name, e.Text, string(e.Status))
			traceDeed(say, e.Did)
		case run.Asked, run.Answered:
			say.Print("  %-8s %s %s %s", string(e.Kind), e.Text, string(e.Value), e.How)
		case run.Bound:
			say.Print("  bound    %s", e.Name)
			traceBlock(say, "", e.Value)
		case run.Warned:
			say.Print("  warning  %s [%s]", e.Text, e.Code)
		case run.NodeDone:
			say.Print("  %s  %s", string(e.Status), e.Took.Round(time.Millisecond))
			traceBlock(say, "value", e.Value)
		}
	}
}

// traceDeed prints who allowed an effect and what it changed.
func traceDeed(say *report.Text, d *run.Deed) {
	if d == nil {
		return
	}
	if d.Leave != "" {
		say.Print("  allowed  by %s", trace.Leave(d.Leave))
	}
	for _, c := range d.Changed {
		say.Print("  %-8s %s", c.What, c.Path)
	}
	if d.Unknown != "" {
		say.Print("  its other changes are not known: %s", d.Unknown)
	}
}

// text prints several lines, indented.
func traceText(say *report.Text, title, text string) {
	if text == "" {
		return
	}
	if title != "" {
		say.Print("    %s:", title)
	}
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		say.Print("      %s", line)
	}
}

// block prints a JSON value, indented.
func traceBlock(say *report.Text, title string, value json.RawMessage) {
	if len(value) == 0 || string(value) == "null" || string(value) == "{}" {
		return
	}
	var v any
	if json.Unmarshal(value, &v) != nil {
		return
	}
	if s, ok := v.(string); ok {
		traceText(say, title, s)
		return
	}
	pretty, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		pretty = []byte(strconv.Quote(string(value)))
	}
	traceText(say, title, string(pretty))
}

type traceResult struct {
	Run    string      `json:"run"`
	Skill  string      `json:"skill"`
	Status string      `json:"status"`
	Model  string      `json:"model"`
	Events []run.Event `json:"events"`
}

// flipResult is what "trace --flip --json" prints.
type flipResult struct {
	Run     string      `json:"run"`
	Skill   string      `json:"skill"`
	Node    string      `json:"node"`
	Was     string      `json:"was"`
	By      string      `json:"by"`
	Instead string      `json:"instead"`
	Stops   string      `json:"stops"` // why it goes no further; "" if it comes to an end
	Events  []run.Event `json:"events"`
}

// printFlip shows the way that a run would have taken with another decision.
func (w *world) printFlip(ctx context.Context, name, node string) error {
	f, err := w.runs.Flip(ctx, name, node)
	return w.show(flipResult{f.Record.ID, f.Record.Skill, f.Node, f.Was, f.By, f.Instead, f.Stops, append([]run.Event{}, f.Events...)}, err, func(say *report.Text) {
		say.Print("%s  %s  %s was %s by %s, and is %s here", f.Record.ID, f.Record.Skill, f.Text, f.Was, f.By, f.Instead)
		for _, row := range trace.Flip(f.Before, f.Events, f.Node, f.At) {
			say.Print("%s", w.ui.Look().Drawn(row))
		}
		if f.Stops != "" {
			say.Note("it goes no further: %s", f.Stops)
		}
		say.Note("nothing was run; + is what comes besides, - what does not happen any more, ~ what comes out differently")
	})
}

func runTrace(ctx context.Context, w *world, c *cli.Context) error {
	if c.Args().Len() > 2 {
		return diag.New(diag.Misuse, "usage", "trace takes a run and a node").Hint("skl trace last 2/0")
	}
	node := c.Args().Get(1)
	if flip := c.String("flip"); flip != "" {
		if node != "" || c.String("html") != "" {
			return diag.New(diag.Misuse, "usage", "--flip goes with a run alone").Hint("skl trace %s --flip %s", cmp.Or(c.Args().Get(0), "last"), diag.Quote(flip))
		}
		return w.printFlip(ctx, c.Args().Get(0), flip)
	}
	page := c.String("html")
	if page != "" && node != "" {
		return diag.New(diag.Misuse, "usage", "--html writes a page about a whole run, and %s is one node of it", node).Hint("skl trace %s --html %s", c.Args().Get(0), diag.Quote(page))
	}
	t, err := w.runs.Traced(c.Args().Get(0), node)
	rec := t.Record
	if err == nil && page != "" {
		err = w.runs.WriteProof(ctx, rec, page)
	}
	return w.show(traceResult{rec.ID, rec.Skill, rec.State(), rec.Model, append([]run.Event{}, t.Events...)}, err, func(say *report.Text) {
		if node != "" {
			printNode(say, t.Events)
			return
		}
		if page != "" {
			return
		}
		say.Print("%s  %s  %s  %s  %s", rec.ID, strings.TrimSpace(rec.Skill+" "+rec.Args), rec.Model, rec.Started.Local().Format("2006-01-02 15:04:05"), rec.State())
		nodes := c.Bool("nodes")
		for _, row := range trace.Report(t.Events, nodes) {
			say.Print("%s", w.ui.Look().Drawn(row))
		}
		if nodes {
			say.Hint("skl trace %s NODE shows one node, by its number on the left", rec.ID)
		} else {
			say.Hint("skl trace %s --nodes numbers the steps, and skl trace %s NODE shows one", rec.ID, rec.ID)
		}
	})
}
