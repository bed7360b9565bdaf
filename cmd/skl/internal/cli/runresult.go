package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// printRun prints how a run ended and sets the exit status. flags are those that a resume needs again.
func (w *world) printRun(r *session.Runnable, ended session.Ended, flags string, err error) error {
	result := ended.Result
	if result.Run == "" { // it did not begin
		return err
	}
	left := errors.Is(err, context.Canceled) || errors.Is(err, ask.ErrStopped)
	say := report.Report{End: err, Text: func(say *report.Text) { w.printEnd(say, r, ended.Record, result, flags, err) }}
	if result.Status != "" {
		out := runResult{Result: result}
		// Of a run that Ctrl-C suspended that is the result: it can be resumed.
		if err != nil && (!errors.Is(err, context.Canceled) || isUnfinished(err)) {
			why := w.ui.ErrorOf(err)
			out.ErrorResult = &why
		}
		say.Result = out
	}
	switch {
	case left:
		say.End = interruption{err}
	case err == nil && result.ExitCode != 0:
		say.End = report.Shown{Err: diag.New(diag.Class(result.ExitCode), "run_ended", "the run %s", result.Status)}
	}
	return say.Write(w.ui)
}

// An interruption is the error of a run that Ctrl-C suspended.
type interruption struct{ error }

func (i interruption) Unwrap() error { return i.error }

// printEnd shows a result to a person: the response on stdout, the rest beside it.
func (w *world) printEnd(say *report.Text, r *session.Runnable, record session.Record, result run.Result, flags string, err error) {
	for _, name := range responseNames(r, result) {
		value := cond.Text(result.Response[name])
		if result.Response[name] == nil {
			value = "null" // not the same as an empty text
		}
		if strings.Contains(value, "\n") {
			say.Print("%s:", name)
			for _, line := range strings.Split(strings.TrimRight(value, "\n"), "\n") {
				say.Print("  %s", line)
			}
			continue
		}
		say.Print("%s: %s", name, value)
	}
	for _, d := range result.Denied {
		if result.Status != run.Failed { // what failed is the error
			say.Note("%s was denied: %s", d.Tool, d.Why)
		}
	}
	if result.Message != "" && result.Pending == nil && err == nil {
		say.Note("%s", result.Message)
	}
	if result.Status == "" || result.Untouched {
		return
	}
	if result.Pending != nil {
		w.printPending(say, r, record, result, flags)
		return
	}
	printCost(say, record, result)
	switch {
	case result.Status == run.Suspended && strings.HasPrefix(result.Message, "out of budget") && !hinted(err):
		say.Hint("skl resume %s%s --budget …", record.ID, flags)
	case result.Status == run.Suspended && !hinted(err):
		say.Hint("skl resume %s%s", record.ID, flags)
	case result.Status == run.Failed || result.Status == run.Halted:
		say.Hint("skl trace %s", record.ID)
	}
}

// printPending shows what a run waits for, and the command that answers.
func (w *world) printPending(say *report.Text, r *session.Runnable, record session.Record, result run.Result, flags string) {
	option := "ANSWER"
	if len(result.Pending.Options) > 0 {
		option = result.Pending.Options[0]
	}
	next := "skl resume " + record.ID + flags + " --answer " + diag.Quote(result.Pending.ID+"="+option)
	say.Aside(func(k screen.Look) string {
		done, of := steps(r, result)
		return draw.Suspended(k, draw.Waiting{Skill: r.Name, Question: result.Pending.Question, Done: done, Of: of,
			Tokens: result.Usage.InputTokens + result.Usage.OutputTokens, Next: next})
	}, func(say *report.Text) {
		printCost(say, record, result)
		waitsFor(say, result.Pending.Question)
		say.Hint("%s", next)
	})
}

func printCost(say *report.Text, record session.Record, result run.Result) {
	cost := fmt.Sprintf("%s, %s in, %s out", diag.Count(result.Usage.Calls, "model call"), strconv.Itoa(result.Usage.InputTokens), strconv.Itoa(result.Usage.OutputTokens))
	say.Note("run %s: %s (%s)", record.ID, result.Status, cost)
}

// waitsFor shows what a suspended run waits for an answer to, which can be many lines.
func waitsFor(say *report.Text, question string) {
	if !strings.Contains(question, "\n") {
		say.Note("waits for an answer: %s", question)
		return
	}
	say.Note("waits for an answer:")
	for _, line := range strings.Split(strings.TrimRight(question, "\n"), "\n") {
		say.Note("  %s", line)
	}
}

// steps counts the nodes of the skill's tree, and those of them that are done.
func steps(r *session.Runnable, result run.Result) (done, of int) {
	ids := map[string]bool{}
	tree.Walk(r.Plan.Main(), func(n *tree.Node) bool { ids[n.ID] = true; return true })
	for _, n := range result.Nodes {
		if ids[n.ID] && n.Status != run.Suspended {
			done++
		}
	}
	return done, len(ids)
}

// hinted reports whether err says itself what to type next.
func hinted(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && len(e.Hints) > 0
}

// responseNames are the fields of a response in the order of the skill's section, then any others.
func responseNames(r *session.Runnable, result run.Result) []string {
	var names []string
	for _, name := range r.Skill.Response {
		if _, ok := result.Response[name]; ok {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(result.Response)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// isUnfinished reports whether err is that of an effect that was cut in the middle.
func isUnfinished(err error) bool { return errors.Is(err, diag.Code(run.CodeUnfinished)) }
