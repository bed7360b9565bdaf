package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// printRun prints how a run ended and sets the exit status. flags are those that a resume needs again.
func (w *world) printRun(r *session.Runnable, ended session.Ended, flags string, err error) error {
	result := ended.Result
	switch {
	case ended.Result.Run == "": // it did not begin
		return err
	case w.ui.JSON && result.Status != "":
		out := runResult{Result: result}
		if errors.Is(err, context.Canceled) { // the run is suspended, and can be resumed: that is its result
			if errors.Is(err, diag.Code(run.CodeUnfinished)) {
				why := w.ui.ErrorOf(err)
				out.ErrorResult = &why
			}
			return cmp.Or(w.ui.Result(out), error(interruption{err}))
		}
		if err != nil {
			why := w.ui.ErrorOf(err)
			out.ErrorResult = &why
		}
		if perr := w.ui.Result(out); perr != nil {
			return perr
		}
		if err != nil {
			return shown{err}
		}
	case !w.ui.JSON:
		w.printEnd(r, ended.Record, result, flags, err)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, ask.ErrStopped) {
		return interruption{err}
	}
	if err != nil || result.ExitCode == 0 {
		return err
	}
	return shown{diag.New(diag.Class(result.ExitCode), "run_ended", "the run %s", result.Status)}
}

// An interruption is the error of a run that Ctrl-C suspended.
type interruption struct{ error }

func (i interruption) Unwrap() error { return i.error }

// printEnd shows a result to a person: the response on stdout, the rest beside it.
func (w *world) printEnd(r *session.Runnable, record session.Record, result run.Result, flags string, err error) {
	u := w.ui
	for _, name := range responseNames(r, result) {
		value := cond.Text(result.Response[name])
		if result.Response[name] == nil {
			value = "null" // not the same as an empty text
		}
		if strings.Contains(value, "\n") {
			u.Print("%s:", name)
			for _, line := range strings.Split(strings.TrimRight(value, "\n"), "\n") {
				u.Print("  %s", line)
			}
			continue
		}
		u.Print("%s: %s", name, value)
	}
	for _, d := range result.Denied {
		if result.Status != run.Failed { // what failed is the error
			u.Note("%s was not let through: %s", d.Tool, d.Why)
		}
	}
	if result.Message != "" && result.Pending == nil && err == nil {
		u.Note("%s", result.Message)
	}
	if result.Status == "" || result.Untouched {
		return
	}
	if result.Pending != nil && u.ErrScreen && !u.Quiet {
		option := "ANSWER"
		if len(result.Pending.Options) > 0 {
			option = result.Pending.Options[0]
		}
		done, of := steps(r, result)
		u.Show(draw.Suspended(u.ErrLook(), draw.Waiting{Skill: r.Name, Question: result.Pending.Question, Done: done, Of: of,
			Tokens: result.Usage.InputTokens + result.Usage.OutputTokens, Next: "skl resume " + record.ID + flags + " --answer " + diag.Quote(result.Pending.ID+"="+option)}))
		return
	}
	cost := fmt.Sprintf("%s, %s in, %s out", diag.Count(result.Usage.Calls, "model call"), strconv.Itoa(result.Usage.InputTokens), strconv.Itoa(result.Usage.OutputTokens))
	u.Note("run %s: %s (%s)", record.ID, result.Status, cost)
	switch {
	case result.Pending != nil:
		w.waitsFor(result.Pending.Question)
		option := "ANSWER"
		if len(result.Pending.Options) > 0 {
			option = result.Pending.Options[0]
		}
		u.Hint("skl resume %s%s --answer %s", record.ID, flags, diag.Quote(result.Pending.ID+"="+option))
	case result.Status == run.Suspended && strings.HasPrefix(result.Message, "out of budget") && !hinted(err):
		u.Hint("skl resume %s%s --budget …", record.ID, flags)
	case result.Status == run.Suspended && !hinted(err):
		u.Hint("skl resume %s%s", record.ID, flags)
	case result.Status == run.Failed || result.Status == run.Halted:
		u.Hint("skl trace %s", record.ID)
	}
}

// waitsFor shows what a suspended run waits for an answer to, which can be many lines.
func (w *world) waitsFor(question string) {
	if !strings.Contains(question, "\n") {
		w.ui.Note("waits for an answer: %s", question)
		return
	}
	w.ui.Note("waits for an answer:")
	for _, line := range strings.Split(strings.TrimRight(question, "\n"), "\n") {
		w.ui.Note("  %s", line)
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
