package session

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/model"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// AllowRun is what a person consents to besides effects, once per digest: that the skill runs at all.
const AllowRun = "run"

// CodeNotAllowed is the error of a skill that was not allowed to run.
const CodeNotAllowed = "run_not_allowed"

// consents is what this user allowed, by the digest of a skill.
type consents struct {
	Version int                 `json:"version"`
	Skills  map[string][]string `json:"skills"`
}

func (rs *Runs) consentPath() string { return filepath.Join(rs.Scope.Dirs.State, "consents.json") }

func (rs *Runs) readConsents() (consents, error) {
	c := consents{Version: 1, Skills: map[string][]string{}}
	if err := scope.ReadState(rs.consentPath(), &c); err != nil || c.Version != 1 || c.Skills == nil {
		return consents{}, diag.New(diag.Failed, "consents_corrupt", "%s cannot be read", rs.consentPath()).Hint("move it away; skills are then asked about again")
	}
	return c, nil
}

// remember records that the user allowed something to the skill with digest.
func (rs *Runs) remember(digest string, what ...string) error {
	return rs.Scope.ChangeState(rs.consentPath(), func() (any, error) {
		c, err := rs.readConsents()
		if err != nil {
			return nil, err
		}
		have := c.Skills[digest]
		for _, x := range what {
			if !slices.Contains(have, x) {
				have = append(have, x)
			}
		}
		slices.Sort(have)
		c.Skills[digest] = have
		return c, nil
	})
}

// A Want is an effect that a run is known to want, and what wants it.
type Want struct {
	Effect tool.Effect
	For    []string // scripts, files and tools, in order
}

// wants are the effects that a run of r wants and that nobody agreed to yet: those of the scripts and files of its tree, and,
// where a model fills leaves, those of the tools that the skill names, or whose effects it declares.
func (rs *Runs) wants(r *Runnable, p Preview) []Want {
	asks := map[string]tool.Effect{}
	for _, t := range p.Tools {
		if t.Allowed && t.Asks {
			asks[t.Tool] = tool.Effect(t.Effect)
		}
	}
	found := map[tool.Effect][]string{}
	add := func(name, what string) {
		if e, ok := asks[name]; ok && !slices.Contains(found[e], what) {
			found[e] = append(found[e], what)
		}
	}
	leaves := false
	for _, e := range p.Effects {
		switch {
		case e.Kind == "command":
			add("bash", e.What)
		case e.Kind == "file" && e.Mode == "write":
			add("write", e.What)
		case e.Kind == "model" || e.Kind == "subagent":
			leaves = true
		}
	}
	if v1 := r.Skill.Doc.V1; leaves && v1 != nil && (v1.SideEffects != nil || v1.Tools != nil && v1.Tools.Limited) {
		for _, t := range p.Tools {
			add(t.Tool, t.Tool)
		}
	}
	var out []Want
	for _, e := range []tool.Effect{tool.Filesystem, tool.Network, tool.External, tool.Session} {
		if found[e] != nil {
			out = append(out, Want{e, found[e]})
		}
	}
	return out
}

// names are the effects of wants, and more, as --allow takes them.
func names(wants []Want, more ...tool.Effect) string {
	var out []string
	for _, w := range wants {
		more = append(more, w.Effect)
	}
	for _, e := range []tool.Effect{tool.Filesystem, tool.Network, tool.External, tool.Session} {
		if slices.Contains(more, e) {
			out = append(out, string(e))
		}
	}
	return strings.Join(out, ",")
}

// mayRun reports whether r may run at all without a question.
func (rs *Runs) mayRun(r *Runnable, allow []string) (bool, error) {
	c, err := rs.readConsents()
	return r.trust == "managed" || r.trust == "package" || len(allow) > 0 || slices.Contains(c.Skills[r.Plan.Digest], AllowRun), err
}

// Agree asks for all that a run of r is known to want, in one go and before it begins: that it runs at all, once per digest
// for a skill from outside this program, and its effects. What is for this run alone is returned, for --allow; all else is
// remembered. Where nobody can be asked, what was agreed to has to be enough to begin; left is what then waits when it comes.
func (rs *Runs) Agree(r *Runnable, q Request) (once []string, left []Want, err error) {
	p, err := rs.preview(r, q)
	if err != nil {
		return nil, nil, err
	}
	known, err := rs.mayRun(r, q.Allow)
	if err != nil {
		return nil, nil, err
	}
	wants := rs.wants(r, p)
	switch {
	case !rs.Ask.CanAsk() && !known:
		return nil, nil, diag.New(diag.Refused, CodeNotAllowed, "%s was never run in this form here, and nobody can be asked", r.Name).
			Hint("skl run %s --allow %s    skl run %s --dry-run shows what it could do", r.As, strings.Join(append([]string{AllowRun}, split(names(wants))...), ","), r.As)
	case !rs.Ask.CanAsk() || known && len(wants) == 0:
		return nil, wants, nil
	}
	if !known {
		rs.Scope.Tell.Note("%s (%s, %s) was never run in this form here", r.Name, r.trust, rs.Scope.Short(r.Dir))
	}
	for _, w := range wants {
		rs.Scope.Tell.Note("%s wants to %s: %s", r.Name, deed(w.Effect), diag.Brief(diag.Printable(strings.Join(w.For, ", ")), 200))
	}
	answer, err := rs.allow(func() { q.show(rs, r, p) })
	switch {
	case err != nil:
		return nil, nil, err
	case answer == tool.No:
		return nil, nil, diag.New(diag.Refused, CodeNotAllowed, "%s was not allowed to run", r.Name)
	}
	agreed := append([]string{AllowRun}, split(names(wants))...)
	if answer == tool.Once {
		return agreed, nil, nil
	}
	return nil, nil, rs.remember(r.Plan.Digest, agreed...)
}

// agreeOver puts what the run is known to want to the person behind an agent's client, where it does that.
func (s *session) agreeOver(ctx context.Context, d *drive.Driver) error {
	p, err := s.preview(s.Runnable, s.Request)
	if err != nil {
		return err
	}
	s.wanted = s.wants(s.Runnable, p)
	if !d.Person() || len(s.wanted) == 0 {
		return nil
	}
	question := s.Name + " wants to"
	for i, w := range s.wanted {
		question += map[bool]string{false: "; "}[i == 0] + " " + deed(w.Effect) + ": " + diag.Brief(diag.Printable(strings.Join(w.For, ", ")), 200)
	}
	const always, once, no = "Yes, until the skill changes", "Once", "No"
	said, how, err := d.Ask(ctx, "", question+". Allow it?", []string{no, once, always})
	switch {
	case errors.Is(err, diag.Code(model.CodeNoAnswer)): // left for later
		return nil
	case err != nil:
		return err
	case how != drive.ByPerson || said != once && said != always:
		return diag.New(diag.Refused, CodeNotAllowed, "%s was not allowed to run", s.Name)
	case said == always:
		return s.remember(s.Plan.Digest, split(names(s.wanted))...)
	}
	s.record.Allow = append(slices.Clone(s.record.Allow), split(names(s.wanted))...)
	return nil
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
}

// allow asks for leave; show tells more about what it is for.
func (rs *Runs) allow(show func()) (tool.Answer, error) {
	for {
		answer, err := rs.Ask.Letters("allow?", []ask.Letter{{Key: "y", Word: "yes, until the skill changes"}, {Key: "o", Word: "once"}, {Key: "n", Word: "no"}, {Key: "s", Word: "show"}}, "n")
		switch {
		case err != nil:
			return tool.No, err
		case answer == "y":
			return tool.Always, nil
		case answer == "o":
			return tool.Once, nil
		case answer == "s":
			show()
		default:
			return tool.No, nil
		}
	}
}

// show tells what a run could do.
func (q Request) show(rs *Runs, r *Runnable, p Preview) {
	if q.Preview == nil {
		rs.Scope.Tell.Hint("skl run %s --dry-run", r.As)
		return
	}
	q.Preview(p)
}

// consent asks the person for an effect that was not foreseen, once per digest.
func (s *session) consent(_ context.Context, about tool.Ask) (tool.Answer, error) {
	if !s.Runs.Ask.CanAsk() {
		return tool.No, s.unanswered(about)
	}
	defer s.held()()
	s.Scope.Tell.Note("%s wants to %s, by %s: %s", s.Name, deed(about.Effect), about.Tool, about.Detail)
	answer, err := s.allow(func() { s.Scope.Tell.Note("%s", diag.Printable(about.Input)) })
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, ask.ErrNobody): // left for later
		return tool.No, s.unanswered(about)
	case err == nil && answer == tool.No:
		s.Scope.Tell.Note("%s is denied by you; the run goes on where the tree allows it", about.Tool)
	}
	return answer, err
}

// unanswered is the error of an effect that waits for a person, with the line that allows it and all else that the run is known to want.
func (s *session) unanswered(about tool.Ask) error {
	again := "skl resume " + s.record.ID
	if s.record.Model == "mcp" {
		again += " --model MODEL"
	}
	return diag.New(diag.NeedsInput, tool.CodeUnasked, "%s waits for your leave to %s: %s", s.Name, deed(about.Effect), about.Detail).
		Hint("%s --allow %s", again, names(s.wanted, about.Effect))
}

// A consentStore remembers what this user allowed to a skill, by its digest.
type consentStore struct{ rs *Runs }

func (s consentStore) Consented(digest string, e tool.Effect) (bool, error) {
	c, err := s.rs.readConsents()
	return slices.Contains(c.Skills[digest], string(e)), err
}

func (s consentStore) Remember(digest string, e tool.Effect) error {
	return s.rs.remember(digest, string(e))
}
