package apply

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/policy"
	"github.com/skl-project/skl/spec/ref"
)

// ShowPolicy is all rules in force, and what their exceptions are today.
func (a *Applier) ShowPolicy(ctx context.Context) ([]*policy.File, error) {
	p, err := a.Scope.Policy(ctx)
	if err != nil {
		return nil, err
	}
	p.Note(time.Now())
	return append([]*policy.File{}, p.Files...), nil
}

// An Explained is what each rule says of one skill.
type Explained struct {
	Skill   string             `json:"skill"`
	Version string             `json:"version,omitempty"`
	OK      bool               `json:"ok"` // no rule refuses it
	Rules   []policy.Judgement `json:"rules"`
}

// ExplainPolicy says what each rule in force says of the installed skill of a name, or of the release that a ref means.
func (a *Applier) ExplainPolicy(ctx context.Context, arg string) (out Explained, err error) {
	p, err := a.Scope.Policy(ctx)
	if err != nil {
		return out, err
	}
	subject, err := a.explained(ctx, p, arg)
	if err != nil {
		return out, err
	}
	out = Explained{subject.Skill, subject.Version, true, p.Explain(subject, time.Now())}
	for i := range out.Rules {
		out.OK = out.OK && out.Rules[i].State != policy.NotHolds
	}
	return out, nil
}

// explained is the subject that arg means.
func (a *Applier) explained(ctx context.Context, p *policy.Policy, arg string) (*policy.Subject, error) {
	if ref.IsWord(arg) {
		f, err := a.Scope.Load()
		if err != nil {
			return nil, err
		}
		if _, locked := f.Lock.Skill(arg); !locked && !scope.Exists(filepath.Join(a.Scope.Site.Home(arg), arg, "SKILL.md")) {
			return nil, a.Scope.NotInManifest(arg, f)
		}
		list, err := a.policySubjects(ctx, p, []string{arg}, f.Lock)
		if err != nil {
			return nil, err
		}
		return &list[0], nil
	}
	r, err := ref.Parse(arg)
	if err != nil {
		return nil, err
	}
	found, _, err := a.Holdings(ctx, r)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		e := diag.New(diag.Misuse, "ambiguous_ref", "%s holds %d skills; name one", r, len(found))
		for i := range found {
			e.Candidates = append(e.Candidates, found[i].Lock.Name)
		}
		return nil, e.Hint("skl policy explain %s/NAME", arg)
	}
	s := &found[0].Lock
	s.Ref = a.Rebase(r).String()
	g, err := a.governed(ctx, p)
	if err != nil {
		return nil, err
	}
	g.fetched = func(string) bool { return true }
	out := new(policy.Subject)
	return out, g.fill(ctx, out, s, filepath.Join(a.Scope.Site.Home(s.Name), s.Name), func(c *policyContent) (bool, error) {
		t, err := trees.Release(ctx, a.Scope, *s)
		c.of(t)
		return err == nil, err
	})
}

// A PolicyTest is what a file of rules would refuse of what is installed.
type PolicyTest struct {
	OK       bool             `json:"ok"`
	File     string           `json:"file"`
	Rules    int              `json:"rules"`
	Skills   int              `json:"skills"`
	Refusals []policy.Refusal `json:"refusals"`
}

// TestPolicy holds the installed skills against the file at path, or policy.toml in it, without putting it in force; "" is that of the
// scope. as says whose file it would be.
func (a *Applier) TestPolicy(ctx context.Context, path string, as policy.Tier) (out PolicyTest, err error) {
	full := a.Scope.PolicyPath()
	read := func() ([]byte, error) { return a.Scope.Site.Dir.ReadFile(full, policy.MaxBytes) }
	if path != "" { // a person names it, wherever it is
		full = scope.Absolute(a.Scope.Cwd, path)
		if info, err := os.Stat(full); err == nil && info.IsDir() {
			full = filepath.Join(full, policy.FileName)
		}
		read = func() ([]byte, error) { return durable.ReadFile(full) }
	}
	src, err := read()
	if err != nil {
		e := diag.New(diag.Misuse, "no_policy", "the policy cannot be read: %w", err)
		if path == "" {
			e = e.Hint("skl policy init writes one")
		}
		return out, e
	}
	file, err := policy.Parse(src, a.Scope.Short(full), as)
	if err == nil {
		err = file.Current(time.Now())
	}
	if err != nil {
		return out, err
	}
	f, err := a.Scope.Load()
	if err != nil {
		return out, err
	}
	receipts, bad := a.Scope.Site.Receipts()
	if len(bad) > 0 {
		return out, bad[0]
	}
	var names []string
	for i := range receipts {
		names = append(names, receipts[i].Name)
	}
	p := &policy.Policy{Files: []*policy.File{file}}
	subjects, err := a.policySubjects(ctx, p, names, f.Lock)
	if err != nil {
		return out, err
	}
	all := append([]policy.Refusal{}, p.Check(subjects, time.Now())...)
	return PolicyTest{len(all) == 0, file.Name, len(file.Rules), len(subjects), all}, nil
}

// policySubjects are those of installed skills, as their files are.
func (a *Applier) policySubjects(ctx context.Context, p *policy.Policy, names []string, l *lock.Lock) ([]policy.Subject, error) {
	g, err := a.governed(ctx, p)
	if err != nil {
		return nil, err
	}
	return g.all(ctx, len(names), func(ctx context.Context, i int, out *policy.Subject) error {
		dir := filepath.Join(a.Scope.Site.Home(names[i]), names[i])
		s, ok := l.Skill(names[i])
		if !ok {
			a.folder(&s, names[i], dir)
		}
		return g.fill(ctx, out, &s, dir, contentAt(dir))
	})
}

//go:embed policy.toml
var policyTemplate []byte

// InitPolicy writes a file of rules for the scope that refuses nothing: all of them are comments. It replaces none.
func (a *Applier) InitPolicy(dry bool) (path string, text []byte, err error) {
	if a.Scope.Foreign != nil {
		return "", nil, a.Scope.Foreign
	}
	path = a.Scope.PolicyPath()
	if scope.Exists(path) {
		return "", nil, diag.New(diag.Misuse, "exists", "%s exists already", a.Scope.Short(path)).Hint("skl policy show")
	}
	if dry {
		return path, policyTemplate, nil
	}
	if a.Scope.Kind != hosts.Project {
		if err := a.Scope.MkdirPrivate(a.Scope.Base); err != nil {
			return "", nil, err
		}
	}
	return path, policyTemplate, a.Scope.Site.Dir.WriteFile(path, policyTemplate, 0o644)
}
