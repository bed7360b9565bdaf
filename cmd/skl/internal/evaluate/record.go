package evaluate

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// A RecordRequest asks to run a skill with a model and to keep the run as a case.
type RecordRequest struct {
	Skill     string // a name or a folder
	Case      string // the name of the case
	Model     string // "" is that of the configuration, or the one that is found
	Arguments string
	Answers   map[string]string // by question
	Allow     []string          // effects and tools
	Sandbox   string            // as in a Request
	DryRun    bool

	Again func(add string) string // as in a Request
}

// A Recorded is a case that was, or would be, recorded.
type Recorded struct {
	Skill string
	Dir   string // of the skill
	Path  string // of the case
	Want  Want
}

// Record runs a skill with a model and keeps the run as a case.
func Record(ctx context.Context, runs *session.Runs, q RecordRequest) (Recorded, error) {
	r, err := runs.Bound(ctx, q.Skill)
	if err != nil {
		return Recorded{}, err
	}
	t := tester{Runs: runs, Runnable: r, sandbox: runs.Confinement(q.Sandbox)}
	if strings.HasPrefix(t.Dir, "skl:") {
		return Recorded{}, diag.New(diag.Misuse, "embedded", "%s comes with skl and cannot be changed", t.Name)
	}
	if q.Case != path.Base(q.Case) || strings.HasPrefix(q.Case, ".") {
		return Recorded{}, diag.New(diag.Misuse, "invalid_name", "%q cannot be the name of a case", q.Case)
	}
	dir := path.Join(testsDir, q.Case)
	out := Recorded{Skill: t.Name, Dir: t.Dir, Path: filepath.Join(t.Dir, filepath.FromSlash(dir))}
	if scope.Exists(filepath.Join(out.Path, caseFile)) {
		return Recorded{}, diag.New(diag.Misuse, "exists", "%s exists already", t.Scope.Short(out.Path)).Hint("skl test %s --update takes what happens now as wanted", t.Scope.Short(t.Dir))
	}
	if err := runs.CheckLimits(q.Allow, q.Sandbox); err != nil {
		return Recorded{}, err
	}
	if !q.DryRun {
		if t.leave, err = t.Agree(t.Runnable, session.Request{Args: q.Arguments, Allow: q.Allow, Sandbox: q.Sandbox, Again: q.Again}); err != nil {
			return Recorded{}, err
		}
	}
	spec, err := t.ChooseModel(q.Model)
	if err != nil {
		return Recorded{}, err
	}
	m, err := t.OpenModel(spec)
	if err != nil || q.DryRun {
		return out, err
	}
	allow, err := t.Allows(t.Runnable, t.leave)
	if err != nil {
		return Recorded{}, err
	}
	out.Want, err = t.record(ctx, dir, Case{Arguments: q.Arguments, Answers: q.Answers, Allow: allow}, m)
	return out, err
}

// record performs a case with m and writes its files.
func (t tester) record(ctx context.Context, dir string, tc Case, m model.Model) (Want, error) {
	scratch, err := os.MkdirTemp("", "skl-record-")
	if err != nil {
		return Want{}, err
	}
	defer os.RemoveAll(scratch)
	recorder, err := replay.Create(filepath.Join(scratch, modelFile))
	if err != nil {
		return Want{}, err
	}
	want, why, err := t.perform(ctx, dir, tc, replay.Record(m, recorder))
	if errors.Is(why, diag.Code(tool.CodeUnasked)) {
		err = errors.Join(err, why)
	}
	if err := errors.Join(err, recorder.Close()); err != nil {
		return Want{}, err
	}
	tc.Want = want
	answers, err := os.ReadFile(filepath.Join(scratch, modelFile))
	if err != nil {
		return Want{}, err
	}
	return tc.Want, errors.Join(scope.WriteIn(t.Dir, path.Join(dir, modelFile), answers), t.write(dir, tc))
}
