package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/runtime/model"
	drive "github.com/skl-project/skl/runtime/model/mcp"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/config"
	"github.com/skl-project/skl/spec/diag"
)

// AllowRun is what a person consents to besides effects: that the skill runs at all.
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

// bySession reports whether consent to r holds for the login session only: nobody but its author stands for a skill of this
// project or of a folder, and its files change under one's hands. For others it holds until their files change.
func (r *Runnable) bySession() bool { return r.trust == "local" || r.trust == "project" }

// inTests is before what was agreed to for the tests of a skill alone, where it is recorded.
const inTests = "test:"

// allowed is what r, or its tests, may do without a question: what the configuration says, and what this user agreed to before.
// Permission for a skill to act in the person's own directory covers its tests, which run in an empty one.
func (rs *Runs) allowed(r *Runnable, tests bool) ([]string, error) {
	recorded, err := rs.recorded(r)
	kept := rs.Scope.Config.Allowed(r.Name, r.Plan.Digest)
	for _, what := range recorded {
		rest, apart := strings.CutPrefix(what, inTests)
		if !apart || tests {
			kept = append(kept, rest)
		}
	}
	return union(kept, nil), err
}

// recorded is what this user agreed to before, as it is recorded.
func (rs *Runs) recorded(r *Runnable) ([]string, error) {
	if r.bySession() {
		s, err := rs.readShells()
		return s.Shells[loginSession()].Skills[r.Plan.Digest], err
	}
	c, err := rs.readConsents()
	return c.Skills[r.Plan.Digest], err
}

// keep writes to the configuration what r may do without a question while its files are what they are.
func (rs *Runs) keep(r *Runnable, what []string) error {
	return rs.Scope.EditConfig(false, func(c *config.Config) error {
		return c.AddAllow(config.Allow{Skill: r.Name, Digest: r.Plan.Digest, What: what})
	})
}

// remember records that the user allowed something to r, or to its tests alone.
func (rs *Runs) remember(r *Runnable, tests bool, what ...string) error {
	digest := r.Plan.Digest
	if tests {
		what = slices.Clone(what)
		for i := range what {
			what[i] = inTests + what[i]
		}
	}
	if r.bySession() {
		return rs.rememberHere(digest, what...)
	}
	return rs.Scope.ChangeState(rs.consentPath(), func() (any, error) {
		c, err := rs.readConsents()
		if err != nil {
			return nil, err
		}
		c.Skills[digest] = union(c.Skills[digest], what)
		return c, nil
	})
}

// A Want is an effect that a run is known to want, and what wants it.
type Want struct {
	Effect tool.Effect
	For    []string // scripts, files and tools, in order
}

// wants are the effects that a run of r wants and that nobody agreed to yet: those of the scripts and files of its tree, and,
// where a model fills leaves, those of the tools that the skill names, or whose effects it declares. Of tests they are q.Tests.
func (rs *Runs) wants(r *Runnable, q Request, p Preview) ([]Want, error) {
	if q.Tests != nil {
		have, err := rs.allowed(r, true)
		return slices.DeleteFunc(slices.Clone(q.Tests), func(w Want) bool {
			return slices.Contains(have, string(w.Effect)) || slices.Contains(q.Allow, string(w.Effect))
		}), err
	}
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
		case e.Kind == "tool":
			add(p.canonical[e.What], e.What)
		case e.Kind == "model" || e.Kind == "subagent":
			leaves = true
		}
	}
	if doc := r.Skill.Doc; leaves && (doc.SideEffects != nil || doc.Tools != nil && doc.Tools.Limited) {
		for _, t := range p.Tools {
			add(t.Tool, t.Tool)
		}
	}
	return WantsOf(found), nil
}

// WantsOf are the effects that something wants, in the order in which a person is asked about them.
func WantsOf(found map[tool.Effect][]string) []Want {
	out := []Want{}
	for _, e := range []tool.Effect{tool.Filesystem, tool.Network, tool.External, tool.Session} {
		if len(found[e]) > 0 {
			out = append(out, Want{e, found[e]})
		}
	}
	return out
}

// names are the effects of wants, as --allow takes them.
func names(wants []Want) string {
	var out []string
	for _, w := range wants {
		out = append(out, string(w.Effect))
	}
	return strings.Join(out, ",")
}

// A Leave is a person's agreement that one skill, as it is, runs, and to what it does besides what they agreed to before. The
// zero Leave is none. Nothing outside of this package makes one.
type Leave struct {
	digest string
	allow  []string // effects and tools
	once   []string // of allow, what an answer added for this run alone
	apart  bool     // for the tests of the skill alone
}

// Allows is all that the tests of r, or a run of it, may do by leave and by what was agreed to before, sorted.
func (rs *Runs) Allows(r *Runnable, leave Leave) ([]string, error) {
	have, err := rs.allowed(r, leave.apart)
	return slices.DeleteFunc(union(have, leave.allow), func(s string) bool { return s == AllowRun }), err
}

// mayRun reports whether r may run at all without a question.
func (rs *Runs) mayRun(r *Runnable, q Request) (bool, error) {
	have, err := rs.allowed(r, q.Tests != nil)
	return r.trust == "managed" || len(q.Allow) > 0 || slices.Contains(have, AllowRun), err
}

// Agree asks for all that a run of r is known to want, in one go and before it begins: that it runs at all, once per digest
// or login session for a skill from outside this program, and its effects. What is not for this run alone is
// remembered. Where nobody can be asked, what was agreed to has to be enough to begin; all else waits when it comes.
func (rs *Runs) Agree(r *Runnable, q Request) (Leave, error) {
	leave, err := rs.agree(r, q)
	if err != nil {
		return Leave{}, err
	}
	return Leave{digest: r.Plan.Digest, allow: slices.Concat(q.Allow, leave), once: leave, apart: q.Tests != nil}, nil
}

func (rs *Runs) agree(r *Runnable, q Request) (once []string, err error) {
	p, err := rs.preview(r, q)
	if err != nil {
		return nil, err
	}
	if p.unknown != nil && q.Tests == nil { // a test says itself what it misses
		return nil, p.unknown
	}
	known, err := rs.mayRun(r, q)
	if err != nil {
		return nil, err
	}
	wants, err := rs.wants(r, q, p)
	if err != nil {
		return nil, err
	}
	name, was, want, shows := r.Name, "was", "wants", "shows what it could do"
	if q.Tests != nil {
		name, was, want, shows = "the tests of "+r.Name, "were", "want", "lists them"
	}
	switch {
	case !rs.Ask.CanAsk() && !known:
		return nil, diag.New(diag.Refused, CodeNotAllowed, "%s %s never run in this form here, and nobody can be asked", name, was).
			Hint("%s    %s %s", q.again(r, "--allow "+strings.Join(append([]string{AllowRun}, split(names(wants))...), ",")), q.again(r, "--dry-run"), shows)
	case !rs.Ask.CanAsk() || known && len(wants) == 0:
		return nil, nil
	}
	if !known {
		rs.Scope.Tell.Note("%s (%s, %s) %s never run in this form here", name, r.trust, rs.Scope.Short(r.Dir), was)
	}
	for _, w := range wants {
		rs.Scope.Tell.Note("%s %s to %s: %s", name, want, deed(w.Effect), diag.Brief(diag.Printable(strings.Join(w.For, ", ")), 200))
	}
	answer, forGood, err := rs.allow(r, q.Tests != nil, func() { q.show(rs, r, p) })
	switch {
	case err != nil:
		return nil, err
	case answer == tool.No:
		return nil, diag.New(diag.Refused, CodeNotAllowed, "%s %s not allowed to run", name, was)
	}
	agreed := append([]string{AllowRun}, split(names(wants))...)
	switch {
	case answer == tool.Once:
		return agreed, nil
	case forGood:
		return agreed, rs.keep(r, agreed)
	}
	return nil, rs.remember(r, q.Tests != nil, agreed...)
}

// agreeOver puts what the run is known to want to the person behind an agent's client, where it does that. That an agent may
// run skills at all was agreed to when it was let: with "skl mcp --tools run".
func (s *session) agreeOver(ctx context.Context, d *drive.Driver) (Leave, error) {
	leave := Leave{digest: s.Plan.Digest, allow: s.Allow}
	p, err := s.preview(s.Runnable, s.Request)
	if err = cmp.Or(err, p.unknown); err != nil {
		return Leave{}, err
	}
	wanted, err := s.wants(s.Runnable, s.Request, p)
	if err != nil || !d.Person() || len(wanted) == 0 {
		return leave, err
	}
	question := s.Name + " wants to"
	for i, w := range wanted {
		question += map[bool]string{false: "; "}[i == 0] + " " + deed(w.Effect) + ": " + diag.Brief(diag.Printable(strings.Join(w.For, ", ")), 200)
	}
	answer, err := s.askOver(ctx, d, question)
	switch {
	case errors.Is(err, diag.Code(model.CodeNoAnswer)): // left for later
		return leave, nil
	case err != nil:
		return Leave{}, err
	case answer == tool.No:
		return Leave{}, diag.New(diag.Refused, CodeNotAllowed, "%s was not allowed to run", s.Name)
	case answer == tool.Always:
		return leave, s.remember(s.Runnable, false, split(names(wanted))...)
	}
	leave.once = split(names(wanted))
	leave.allow = slices.Concat(leave.allow, leave.once)
	s.record.Allow = leave.allow
	return leave, nil
}

// askOver puts a question about leave to the person behind an agent's client. Its error can be [model.CodeNoAnswer].
func (s *session) askOver(ctx context.Context, d *drive.Driver, question string) (tool.Answer, error) {
	const once, no = "Once", "No"
	always := "Yes, " + s.lasts()
	said, how, err := d.Ask(ctx, "", question+". Allow it?", []string{no, once, always})
	switch {
	case err != nil || how != drive.ByPerson:
		return tool.No, err
	case said == once:
		return tool.Once, nil
	case said == always:
		return tool.Always, nil
	}
	return tool.No, nil
}

// consentOver asks the person behind an agent's client for an effect that was not foreseen; nobody else can be asked there, the agent least of all.
func (s *session) consentOver(ctx context.Context, d *drive.Driver, about tool.Ask) (tool.Answer, error) {
	if !d.Person() {
		return tool.No, s.unanswered(about)
	}
	answer, err := s.askOver(ctx, d, fmt.Sprintf("%s wants to %s, by %s: %s", s.Name, deed(about.Effect), about.Tool, diag.Brief(diag.Printable(about.Detail), 400)))
	if errors.Is(err, diag.Code(model.CodeNoAnswer)) {
		err = s.unanswered(about)
	}
	return answer, err
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' })
}

// lasts is how long a yes to r holds.
func (r *Runnable) lasts() string {
	if r.bySession() {
		return "in this session"
	}
	return "until the skill changes"
}

// allow asks for leave; show tells more about what it is for. forGood is a yes that the configuration keeps, which has none for
// tests alone.
func (rs *Runs) allow(r *Runnable, tests bool, show func()) (answer tool.Answer, forGood bool, err error) {
	letters := []ask.Letter{{Key: "y", Word: "yes, " + r.lasts()}, {Key: "a", Word: "always"}, {Key: "o", Word: "once"}, {Key: "n", Word: "no"}, {Key: "s", Word: "show"}}
	if !r.bySession() || tests {
		letters = slices.Delete(letters, 1, 2)
	}
	for {
		letter, err := rs.Ask.Letters("allow?", letters, "n")
		switch {
		case err != nil:
			return tool.No, false, err
		case letter == "y" || letter == "a":
			return tool.Always, letter == "a", nil
		case letter == "o":
			return tool.Once, false, nil
		case letter == "s":
			show()
		default:
			return tool.No, false, nil
		}
	}
}

// show tells what a run could do.
func (q Request) show(rs *Runs, r *Runnable, p Preview) {
	if q.Preview == nil {
		rs.Scope.Tell.Hint("%s", q.again(r, "--dry-run"))
		return
	}
	q.Preview(p)
}

// again is the command line that asked for a run of r, with flags added.
func (q Request) again(r *Runnable, add string) string {
	if q.Again == nil {
		return "skl run " + r.As + " " + add
	}
	return q.Again(add)
}

// consent asks the person for an effect that was not foreseen, once per digest.
func (s *session) consent(_ context.Context, about tool.Ask) (tool.Answer, error) {
	if !s.Runs.Ask.CanAsk() {
		return tool.No, s.unanswered(about)
	}
	defer s.held()()
	s.Scope.Tell.Note("%s wants to %s, by %s: %s", s.Name, deed(about.Effect), about.Tool, about.Detail)
	answer, forGood, err := s.allow(s.Runnable, false, func() { s.Scope.Tell.Note("%s", diag.Printable(about.Input)) })
	if forGood {
		err = s.keep(s.Runnable, []string{string(about.Effect)})
	}
	switch {
	case errors.Is(err, context.Canceled) || errors.Is(err, ask.ErrNobody): // left for later
		return tool.No, s.unanswered(about)
	case err == nil && answer == tool.No:
		s.Scope.Tell.Note("%s is denied by you; the run goes on where the tree allows it", about.Tool)
	}
	return answer, err
}

// unanswered is the error of a call that waits for a person, with the line that allows it: that is its class of effects, and so
// covers what the run does of that class later.
func (s *session) unanswered(about tool.Ask) error {
	again := "skl resume " + s.record.ID + s.Kept
	if s.record.Model == "mcp" {
		again += " --model MODEL"
	}
	return diag.New(diag.NeedsInput, tool.CodeUnasked, "%s waits for your leave to %s (%s): %s", s.Name, deed(about.Effect), about.Effect, about.Detail).
		Hint("%s --allow %s, for this call and all later ones that %s", again, about.Effect, deed(about.Effect))
}

// A consentStore remembers what this user allowed to a skill.
type consentStore struct {
	allowed  func() ([]string, error)
	remember func(effect string) error
}

func (s consentStore) Consented(_ string, e tool.Effect) (bool, error) {
	have, err := s.allowed()
	return slices.Contains(have, string(e)), err
}

func (s consentStore) Remember(_ string, e tool.Effect) error { return s.remember(string(e)) }
