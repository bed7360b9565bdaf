package tool

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// An Effect is a kind of thing that a call changes, with the names of side_effects.
type Effect string

const (
	None       Effect = "none"
	Filesystem Effect = "filesystem"
	Network    Effect = "network"
	Session    Effect = "session"
	External   Effect = "external"
)

func isEffect(s string) bool {
	switch Effect(s) {
	case Filesystem, Network, Session, External:
		return true
	}
	return false
}

// An Answer is what a person says to an Ask.
type Answer uint8

const (
	No     Answer = iota
	Once          // for this run
	Always        // until the skill changes
)

// An Ask is a question to the person: may this skill have this effect?
type Ask struct {
	Effect Effect
	Skill  string
	Tool   string // canonical name of the one that wants it first
	Detail string // what it wants to do: a command, a path, an address; printable, at most 400 bytes
	Input  string // the whole of it as it was given: of a call, its JSON; of a script, its text; at most 16 KiB
	Digest string // of the skill: a yes is for this digest and Effect
}

// A Store remembers what a person agreed to. Its methods may be called concurrently.
type Store interface {
	Consented(digest string, e Effect) (bool, error)
	Remember(digest string, e Effect) error
}

// A Grant is what a person agreed to beforehand. It never widens a policy or a declaration.
type Grant struct {
	By      string // how, as [run.Deed] says it
	Effects []Effect
	Tools   []skill.Tool // these uses, whatever their effect
}

// Needs are the effects of g and of its tools, sorted.
func (g Grant) Needs() []Effect {
	out := slices.Clone(g.Effects)
	for _, t := range g.Tools {
		effect := External // an MCP server's
		if t.Namespace == "" {
			name, _ := canonicalOf(t.Name)
			i := slices.IndexFunc(builtins(), func(h *handler) bool { return h.name == name })
			if i < 0 {
				continue
			}
			effect = builtins()[i].effect
		}
		if effect != None {
			out = append(out, effect)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ParseGrant reads the value of --allow: effects and tools, separated by commas outside of parentheses.
func ParseGrant(list string) (Grant, error) {
	var g Grant
	for _, item := range Split(list) {
		if isEffect(item) {
			g.Effects = append(g.Effects, Effect(item))
			continue
		}
		t, err := skill.ParseTool(item)
		if err != nil {
			return Grant{}, diag.New(diag.Misuse, CodeAllow, "--allow: %w", err)
		}
		if _, known := canonicalOf(t.Name); t.Namespace == "" && !known {
			words := append([]string{"filesystem", "network", "session", "external"}, builtinNames()...)
			return Grant{}, diag.New(diag.Misuse, CodeAllow, "--allow: no effect or tool is called %q", diag.Printable(item)).Meant(spell.Nearest(item, words, 3)...)
		}
		if err := wrongPattern(t); err != nil {
			return Grant{}, diag.New(diag.Misuse, CodeAllow, "--allow %s: %w", diag.Printable(item), err)
		}
		g.Tools = append(g.Tools, t)
	}
	return g, nil
}

// Split splits a list at commas outside of parentheses, and drops the blanks around its items and empty ones.
func Split(s string) []string {
	var out []string
	depth, start := 0, 0
	for i := 0; i <= len(s); i++ {
		switch {
		case i < len(s) && s[i] == '(':
			depth++
		case i < len(s) && s[i] == ')':
			depth--
		case i == len(s) || s[i] == ',' && depth <= 0:
			if item := strings.TrimSpace(s[start:i]); item != "" {
				out = append(out, item)
			}
			start = i + 1
		}
	}
	return out
}

// Invocable says whether a skill with this model_invocation may be invoked: by the model, or by a person.
func Invocable(name string, i skill.Invocation, byModel bool) error {
	switch {
	case byModel && !i.ByModel():
		return diag.New(diag.Refused, CodeInvoke, "%s may not be invoked by a model: its model_invocation is %s", diag.Printable(name), i)
	case !byModel && !i.ByUser():
		return diag.New(diag.Refused, CodeInvoke, "%s may not be invoked by a person: its model_invocation is %s", diag.Printable(name), i)
	}
	return nil
}

// effectOpen says whether e can be had at all: granted already (true), and how, or by asking.
func (c *core) effectOpen(e Effect, h *handler) (granted bool, by string, err error) {
	if e == None {
		return true, "", nil
	}
	if c.declared != nil && !c.declared[e] && !c.named(h) {
		return false, "", diag.New(diag.Refused, CodeUndeclared, "%s needs the effect %s, which the skill does not declare in side_effects", h.orScript(), e)
	}
	if l := c.config.Limit; l != nil && !slices.Contains(l.Effects, e) && !c.anyMeans(l.Tools, h) {
		return false, "", beyond(e, h)
	}
	for _, g := range c.config.Grants {
		if slices.Contains(g.Effects, e) {
			return true, g.By, nil
		}
	}
	if c.config.Remembered != nil && c.config.Digest != "" {
		yes, err := c.config.Remembered.Consented(c.config.Digest, e)
		if err != nil {
			return false, "", diag.New(diag.Failed, CodeEffect, "reading earlier answers: %w", err)
		}
		if yes && !c.now(e) {
			return true, run.LeaveKept, nil
		}
	}
	c.answered.Lock()
	defer c.answered.Unlock()
	if yes, known := c.answers[e]; known && !yes {
		return false, "", diag.New(diag.Refused, CodeEffect, "%s needs the effect %s, and you said no to it", h.orScript(), e).Hint("--allow %s", e)
	}
	return c.answers[e], run.LeavePerson, nil
}

// now reports whether a person was asked about e, and agreed, since d was made.
func (c *core) now(e Effect) bool {
	c.answered.Lock()
	defer c.answered.Unlock()
	return c.answers[e]
}

// grantedTools are the tools of all grants.
func (c *core) grantedTools() (tools []skill.Tool) {
	for _, g := range c.config.Grants {
		tools = append(tools, g.Tools...)
	}
	return tools
}

// coveredBy is how the person agreed to u by tools that they named; ok is false if they did not.
func (c *core) coveredBy(h *handler, u *use) (by string, ok bool) {
	if !c.covers(c.grantedTools(), h, u) {
		return "", false
	}
	for _, g := range c.config.Grants {
		if c.covers(g.Tools, h, u) {
			return g.By, true
		}
	}
	return run.LeaveAllow, true // each part by another
}

// named reports whether tools.allow of the skill names the tool of a server, or the server's tools: that declares what the tool
// does, which its server alone knows.
func (c *core) named(h *handler) bool {
	return h != nil && h.namespace != "" && c.config.Policy != nil && c.config.Policy.Limited && c.anyMeans(c.config.Policy.Allow, h)
}

// anyMeans reports whether one of tools means h. A probe for any tool of a server is called "*".
func (c *core) anyMeans(tools []skill.Tool, h *handler) bool {
	return h != nil && slices.ContainsFunc(tools, func(t skill.Tool) bool {
		if h.name == "*" {
			return t.Namespace == h.namespace || t.Namespace == "" && strings.HasPrefix(t.Name, sanitized(h.namespace)+"_")
		}
		return c.table.means(t, h)
	})
}

// consent returns nil when the person agrees to e, now or before. Questions are asked one at a time,
// and each once: whoever comes meanwhile waits for the answer.
func (c *core) consent(ctx context.Context, e Effect, h *handler, u *use) error {
	granted, by, err := c.effectOpen(e, h)
	if err != nil {
		return err
	}
	if l := c.config.Limit; l != nil && e != None && !slices.Contains(l.Effects, e) && !c.covers(l.Tools, h, u) {
		return beyond(e, h)
	}
	if !granted {
		by, granted = c.coveredBy(h, u)
	}
	if granted {
		u.did.Leave = by
		return nil
	}
	select {
	case <-c.asking:
		defer func() { c.asking <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if granted, by, err := c.effectOpen(e, h); granted || err != nil { // whoever came first was asked
		u.did.Leave = by
		return err
	}
	if c.config.Consent == nil {
		return diag.New(diag.NeedsInput, CodeUnasked, "%s needs the effect %s, and nobody agreed to it", h.orScript(), e).Hint("--allow %s", e)
	}
	answer, err := c.config.Consent(ctx, Ask{Effect: e, Skill: c.config.Skill, Tool: h.String(), Detail: bounded(diag.Printable(u.detail), 400), Input: bounded(u.input, 16<<10), Digest: c.config.Digest})
	if err != nil {
		return err
	}
	c.answered.Lock()
	c.answers[e] = answer != No
	c.answered.Unlock()
	if answer == No {
		_, _, err := c.effectOpen(e, h)
		return err
	}
	u.did.Leave = run.LeavePerson
	if answer == Always && c.config.Remembered != nil && c.config.Digest != "" {
		if err := c.config.Remembered.Remember(c.config.Digest, e); err != nil {
			return diag.New(diag.Failed, CodeEffect, "remembering the answer: %w", err)
		}
	}
	return nil
}

// beyond is the error of a call that Config.Limit does not hold.
func beyond(e Effect, h *handler) error {
	return diag.New(diag.Refused, CodeEffect, "%s needs the effect %s, which is not among what may be granted here", h.orScript(), e)
}

// namedByPerson reports whether --allow lets the file at path be read by a pattern, which all files are not.
func (c *core) namedByPerson(path string) bool {
	return slices.ContainsFunc(c.grantedTools(), func(t skill.Tool) bool {
		return t.Pattern != "" && c.table.means(t, c.table.must("read")) && matchPath(t.Pattern, path, false)
	})
}

// covers reports whether granted names tools that cover every part of u, and every file that it writes to besides: cat is not
// cat > main.go.
func (c *core) covers(granted []skill.Tool, h *handler, u *use) bool {
	var tools []skill.Tool
	for _, t := range granted {
		if c.table.means(t, h) {
			tools = append(tools, t)
		}
	}
	if len(tools) == 0 || allowedBy(tools, u) != nil {
		return false
	}
	write := c.table.must("write")
	return h == write || slices.ContainsFunc(tools, func(t skill.Tool) bool { return t.Pattern == "" }) || !slices.ContainsFunc(u.writes, func(path string) bool {
		return !slices.ContainsFunc(c.config.Grants, func(g Grant) bool { return slices.Contains(g.Effects, Filesystem) }) && !c.covers(granted, write, fileUse(path))
	})
}

// has reports whether e was agreed to already, without asking.
func (c *core) has(e Effect, h *handler) bool {
	granted, _, err := c.effectOpen(e, h)
	return granted && err == nil
}
