package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// A runnable is a skill that can be run: which copy, how far it is trusted, what it means.
type runnable struct {
	name  string
	dir   string // "skl:NAME" if embedded
	trust string
	files fs.FS
	skill *tree.Skill
	plan  *plan.Plan
}

// runnable finds the skill that arg means: the first active copy of a name, or a folder with a SKILL.md.
func (w *world) runnable(ctx context.Context, arg string) (*runnable, error) {
	if !isWord(arg) && !strings.HasPrefix(arg, "skl:") {
		return w.runnableAt(arg)
	}
	r, err := w.runnableNamed(ctx, arg)
	if errors.Is(err, diag.Code("unknown_skill")) && scope.Exists(filepath.Join(scope.Absolute(w.Cwd, arg), skill.FileName)) {
		return w.runnableAt(arg)
	}
	return r, err
}

// runnableAt is the skill in a folder.
func (w *world) runnableAt(path string) (*runnable, error) {
	dir := scope.Absolute(w.Cwd, path)
	if filepath.Base(dir) == skill.FileName {
		dir = filepath.Dir(dir)
	}
	if !scope.Exists(filepath.Join(dir, skill.FileName)) {
		return nil, diag.New(diag.Misuse, "no_skill", "there is no SKILL.md in %s", path).Hint("skl list")
	}
	r := &runnable{dir: dir, files: scope.FilesIn(dir), trust: "local"}
	return r, r.read(w)
}

// runnableNamed is the active copy of an installed skill, and nothing else that a name could mean, such as a folder that
// somebody made here. "skl:NAME" is the copy that comes with skl.
func (w *world) runnableNamed(ctx context.Context, name string) (*runnable, error) {
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return nil, err
	}
	found, err := scope.Copies(l, strings.TrimPrefix(name, "skl:"))
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(found, func(r roots.Record) bool {
		return r.Path == name || r.State == roots.Active && !strings.HasPrefix(name, "skl:")
	})
	if i < 0 {
		return nil, notActive(found[0])
	}
	r := &runnable{dir: found[i].Path, trust: found[i].Trust}
	if r.files, err = scope.FilesOf(found[i]); err != nil {
		return nil, err
	}
	return r, r.read(w)
}

// read loads the skill of r, which must have a tree.
func (r *runnable) read(w *world) (err error) {
	base := filepath.Base(r.dir)
	if name, ok := strings.CutPrefix(r.dir, "skl:"); ok {
		base = name
	}
	if r.skill, err = tree.Load(r.files, base); err != nil {
		return err
	}
	r.name = r.skill.Name
	switch doc := r.skill.Doc; {
	case doc != nil && doc.State != skill.Ready:
		return doc.Problem
	case r.skill.Tree == nil:
		return diag.New(diag.Misuse, "no_tree", "%s has no section \"## Tree\", so there is nothing to run: agents follow its text", r.name).
			Hint("skl read %s    skl convert %s --to tree", r.name, w.Short(r.dir))
	}
	return nil
}

// notActive says why no copy of a skill is run.
func notActive(r roots.Record) error {
	if r.State == "untrusted" {
		return diag.New(diag.Refused, "untrusted", "%s lies in a project that is not trusted, so it is not run", r.Name).Hint("skl trust allow")
	}
	e := diag.New(diag.Refused, "not_active", "%s is %s, so it is not run", r.Name, r.State)
	for _, warning := range r.Warnings {
		e.Message += ": " + warning.Message
		break
	}
	return e.Hint("skl list --shadowed")
}

// bind plans a run of r. Other skills are found among the active copies that the lock lists.
func (w *world) bind(ctx context.Context, r *runnable) error {
	opt := plan.Options{Depends: dependencies(r.skill), Path: w.Short(r.dir)}
	opt.Find = func(name string) (*tree.Skill, error) {
		other, err := w.runnableNamed(ctx, name)
		if errors.Is(err, diag.Code("no_tree")) || errors.Is(err, diag.Code("unknown_skill")) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return other.skill, nil
	}
	p, err := plan.New(ctx, r.skill, opt)
	r.plan = p
	return err
}

// dependencies are the names of the skills that a skill needs: those that it writes down. What a lock says that it
// requires comes with the project and counts for nothing.
func dependencies(s *tree.Skill) []string {
	return apply.Requires(s.Doc)
}

// allowRun is what a person consents to besides effects, once per digest: that the skill runs at all.
const allowRun = "run"

// consents is what this user allowed, by the digest of a skill.
type consents struct {
	Version int                 `json:"version"`
	Skills  map[string][]string `json:"skills"`
}

func (w *world) consentPath() string { return filepath.Join(w.Dirs.State, "consents.json") }

func (w *world) readConsents() (consents, error) {
	c := consents{Version: 1, Skills: map[string][]string{}}
	src, err := os.ReadFile(w.consentPath())
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err == nil {
		err = json.Unmarshal(src, &c)
	}
	if err != nil || c.Version != 1 || c.Skills == nil {
		return consents{}, diag.New(diag.Failed, "consents_corrupt", "%s cannot be read", w.consentPath()).Hint("move it away; skills are then asked about again")
	}
	return c, nil
}

// remember records that the user allowed something to the skill with digest.
func (w *world) remember(digest string, what ...string) error {
	if err := w.MkdirPrivate(w.Dirs.State); err != nil {
		return err
	}
	unlock, err := durable.Lock(context.Background(), w.Dirs.State, nil)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := w.readConsents()
	if err != nil {
		return err
	}
	have := c.Skills[digest]
	for _, x := range what {
		if !slices.Contains(have, x) {
			have = append(have, x)
		}
	}
	slices.Sort(have)
	c.Skills[digest] = have
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(w.consentPath(), append(text, '\n'), 0o600)
}

// mayRun asks once per digest before a skill from outside this program runs for the first time.
func (w *world) mayRun(r *runnable, allow []string) error {
	if r.trust == "managed" || r.trust == "package" || len(allow) > 0 {
		return nil
	}
	c, err := w.readConsents()
	if err != nil {
		return err
	}
	if slices.Contains(c.Skills[r.plan.Digest], allowRun) {
		return nil
	}
	if !w.ui.CanAsk() {
		return diag.New(diag.Refused, "run_not_allowed", "%s was never run in this form here, and nobody can be asked", r.name).
			Hint("skl run %s --allow run    skl run %s --dry-run shows what it could do", r.name, r.name)
	}
	w.ui.Note("%s (%s, %s) was never run in this form here: skl run %s --dry-run shows what it could do", r.name, r.trust, w.Short(r.dir), r.name)
	yes, err := w.ui.Confirm("run " + r.name + "?")
	if err != nil {
		return err
	}
	if !yes {
		return diag.New(diag.Refused, "run_not_allowed", "%s was not allowed to run", r.name)
	}
	return w.remember(r.plan.Digest, allowRun)
}
