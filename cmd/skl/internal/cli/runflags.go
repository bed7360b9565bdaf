package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// runFlags are those of run and resume.
func runFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "model", Usage: "`MODEL` that fills the leaves: anthropic[:ID], openai[:ID], claude-code, copilot, manual, replay:FILE or replay:RUN"},
		&cli.StringSliceFlag{Name: "answer", Usage: "answer a question: `ID=ANSWER` or the start of the question=ANSWER (repeatable)"},
		&cli.StringFlag{Name: "answers", Usage: "read answers from `FILE`, one question=answer a line"},
		&cli.StringSliceFlag{Name: "allow", Usage: "allow `LIST`: run, filesystem, network, external, session, or tools by name"},
		&cli.StringFlag{Name: "budget", Usage: "stop at `LIMITS`: tokens=100000,calls=50,time=10m,dollars=2"},
		&cli.BoolFlag{Name: "allow-sequential", Usage: "run the children of PARALLEL one after the other where the model cannot do better"},
		&cli.IntFlag{Name: "max-parallel", Usage: "at most `N` children of PARALLEL at once"},
		&cli.StringFlag{Name: "sandbox", Usage: "`HOW` scripts and commands are confined: auto, strict or off"},
		&cli.StringFlag{Name: "trace", Usage: "write events to `FILE` as JSON lines"},
		&cli.StringFlag{Name: "proof", Usage: "write a page about the run to `FILE`: the way it took, who decided, what it did"},
		&cli.StringFlag{Name: "record", Usage: "add the model's answers to `FILE`, for --model replay:FILE"},
	}
}

// namesIn are the values of a flag that lists names, of which each may hold several, with commas between. An empty one stays, to be refused
// where names are looked up: without it, a command would do for all what it was asked to do for one.
func namesIn(c *cli.Context, flag string) []string {
	var out []string
	for _, v := range c.StringSlice(flag) {
		for name := range strings.SplitSeq(v, ",") {
			out = append(out, strings.TrimSpace(name))
		}
	}
	return out
}

// splitList splits the values of a repeatable flag at commas outside of parentheses.
//
//go:noinline
func splitList(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, tool.Split(v)...)
	}
	return out
}

// parseBudget reads "tokens=100000,calls=50,time=10m,dollars=2".
func parseBudget(text string) (run.Limits, error) {
	var l run.Limits
	seen := map[string]bool{}
	for _, part := range splitList([]string{text}) {
		key, value, _ := strings.Cut(part, "=")
		var err error
		if seen[key] {
			return run.Limits{}, diag.New(diag.Misuse, "usage", "--budget: %s is given twice", key).Hint("--budget %s", part)
		}
		seen[key] = true
		switch key {
		case "tokens":
			l.Tokens, err = strconv.Atoi(value)
		case "calls":
			l.Calls, err = strconv.Atoi(value)
		case "dollars":
			l.Dollars, err = strconv.ParseFloat(value, 64)
		case "time":
			l.Time, err = time.ParseDuration(value)
		case "iterations":
			l.Iterations, err = strconv.Atoi(value)
		case "depth":
			l.Depth, err = strconv.Atoi(value)
		default:
			err = errors.New("unknown limit")
		}
		number, nerr := strconv.ParseFloat(value, 64)
		if nerr == nil && number == 0 {
			return run.Limits{}, diag.New(diag.Misuse, "usage", "--budget: %q would let nothing happen", part).Hint("leave %s out for no limit, or: skl run NAME --dry-run", key)
		}
		if err != nil || strings.HasPrefix(value, "-") || nerr == nil && (math.IsNaN(number) || math.IsInf(number, 0)) {
			return run.Limits{}, diag.New(diag.Misuse, "usage", "--budget: %q is not a limit", part).Hint("--budget tokens=100000,calls=50,time=10m,dollars=2,iterations=100,depth=8")
		}
	}
	return l, nil
}

// answers are those of --answer and --answers.
func (w *world) answers(c *cli.Context) (map[string]run.Answer, error) {
	out := map[string]run.Answer{}
	add := func(line, from, how string) error {
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.TrimSpace(key) == "" {
			return diag.New(diag.Misuse, "usage", "%s: %q is not QUESTION=ANSWER", from, line).Hint("--answer 'Proceed?=Yes'")
		}
		out[strings.TrimSpace(key)] = run.Answer{Text: strings.TrimSpace(value), How: how}
		return nil
	}
	for _, a := range c.StringSlice("answer") {
		if err := add(a, "--answer", "flag"); err != nil {
			return nil, err
		}
	}
	path := c.String("answers")
	if path == "" {
		return out, nil
	}
	src, err := os.ReadFile(scope.Absolute(w.scope.Cwd, path))
	if err != nil {
		return nil, diag.New(diag.Misuse, "usage", "--answers: %w", err)
	}
	for i, line := range strings.Split(string(src), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := add(line, fmt.Sprintf("%s:%d", path, i+1), "file"); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// parseSets reads NODE=VALUE; a value that is no JSON is text.
func parseSets(flags []string) (map[string]json.RawMessage, error) {
	out := map[string]json.RawMessage{}
	for _, f := range flags {
		node, value, ok := strings.Cut(f, "=")
		if !ok || node == "" {
			return nil, diag.New(diag.Misuse, "usage", "--set: %q is not NODE=VALUE", f).Hint("skl trace last")
		}
		out[node] = session.SetTo(value)
	}
	return out, nil
}
