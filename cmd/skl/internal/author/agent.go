package author

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/spec/diag"
)

// An AgentRequest is what an agent wants done to a skill. It wrote the answer itself, as a model would for [Author.Modify] or [Author.Create].
type AgentRequest struct {
	Operation string // create, modify, scaffold, improve, convert
	Skill     string
	Wish      string          // of a conversion, the form
	Answer    json.RawMessage // edits or a design; nil for what code does
}

// A Kept is a proposal whose plan is kept for [Author.Apply].
type Kept struct {
	Proposal
	File string `json:"file,omitempty"`
}

// Propose makes a plan for an agent, and keeps it in the user's state. Nothing of the skill changes.
func (a *Author) Propose(ctx context.Context, q AgentRequest) (Kept, error) {
	anywhere := within.Anywhere()
	temp := filepath.Join(a.keptPlans(), "new-"+strings.ToLower(rand.Text()[:16]))
	if err := a.Scope.MkdirPrivate(temp); err != nil {
		return Kept{}, err
	}
	defer anywhere.RemoveAll(temp)
	t := &authoring{a, temp, ""}
	out, err := t.proposal(ctx, input{Operation: q.Operation, Skill: q.Skill, Wish: q.Wish, Answer: q.Answer})
	if err != nil || out.Plan == "" {
		return Kept{Proposal: out}, err
	}
	dir := a.keptDir(out.Plan)
	if err := anywhere.Rename(temp, dir); err != nil && !anywhere.Exists(dir) { // the same plan may be there
		return Kept{}, err
	}
	return Kept{out, filepath.Join(dir, planFile)}, nil
}

// keptPlans is where the plans are kept that were made in the working directory: none of another one can be carried out here.
func (a *Author) keptPlans() string {
	place := strings.TrimPrefix(author.Sum([]byte(scope.Resolved(a.Scope.Cwd))), "sha256:")
	return filepath.Join(a.Scope.Dirs.State, "plans", place[:16])
}

// keptDir is where a plan is kept, by its digest.
func (a *Author) keptDir(digest string) string {
	return filepath.Join(a.keptPlans(), strings.TrimPrefix(digest, "sha256:"))
}

var digestForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })

// CarryOut carries out a plan that [Author.Propose] kept. One that lets the skill do more, or drops a rule, is for a person: the refusal says how.
func (a *Author) CarryOut(ctx context.Context, digest string) (Outcome, error) {
	if !digestForm().MatchString(digest) {
		return Outcome{}, diag.New(diag.Misuse, "invalid_request", "a plan is named by its digest: sha256:…")
	}
	dir := a.keptDir(digest)
	p, err := keptPlan(dir, digest)
	if errors.Is(err, fs.ErrNotExist) {
		return Outcome{}, diag.New(diag.Misuse, "no_plan", "there is no plan %s", digest).Hint("skill_plan makes one for the directory that the server works in, and gives its digest")
	}
	if err != nil {
		return Outcome{}, err
	}
	out, err := a.applyPlan(ctx, p, Terms{Write: true})
	if e, ok := diag.Own(err); ok && (e.Code == "permission_added" || e.Code == "loss_refused") {
		e.Hints = append([]string{"this is for a person to decide: skl -C " + diag.Quote(a.Scope.Cwd) + " author apply " + diag.Quote(filepath.Join(dir, planFile))}, e.Hints...)
		return Outcome{}, e
	}
	if err == nil {
		within.Anywhere().RemoveAll(dir)
	}
	return out, err
}
