package tool

import (
	"context"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A policy is one owner's limits.
type policy struct {
	skill.Tools
	owner string
}

// A use is one call, understood far enough to be judged.
type use struct {
	detail string   // what a person is shown
	input  string   // and what they may ask for: all that was given
	parts  []string // each has to be allowed, and none denied: a path, an address, each command of a line
	writes []string // files that a line writes to besides, as write names them

	// matches says whether a pattern of this tool means part; nil: the tool has no patterns.
	// strict is for denials, where in doubt it does.
	matches func(pattern, part string, strict bool) bool
	// opaque says why the parts are not known. Then no rule with a pattern can let it through.
	opaque error
	// runs says that it runs programs, or a script.
	runs bool
	// patterned is told before do that a pattern decided.
	patterned func()
	do        func(ctx context.Context) (string, error)
	release   func()

	did run.Deed // consent and do fill it
}

func (u *use) close() {
	if u.release != nil {
		u.release()
	}
}

// match is u.matches for tools without patterns too.
func (u *use) match(pattern, part string, strict bool) bool {
	switch {
	case pattern == "":
		return true
	case u.matches == nil:
		return strict
	}
	return u.matches(pattern, part, strict)
}

func fileUse(path string) *use {
	return &use{detail: path, parts: []string{path}, matches: matchPath}
}

// reachable says why no use of h can be allowed; nil if some can.
func (d *Dispatcher) reachable(h *handler, readOnly bool) error {
	if readOnly && h.effect != None {
		return diag.New(diag.Refused, CodeDenied, "%s is not allowed here: this step may only read", h.orScript())
	}
	if err := h.closed(d); err != nil {
		return err
	}
	if why := h.missing(d); why != "" {
		return diag.New(diag.Refused, CodeDenied, "%s cannot be called: %s", h.orScript(), why)
	}
	return d.open(h)
}

// open says why no policy, or no declared effect, lets a use of h through; nil if one does.
func (d *Dispatcher) open(h *handler) error {
	for _, p := range d.policies {
		if p.Limited && !slices.ContainsFunc(p.Allow, func(t skill.Tool) bool { return d.table.means(t, h) && wrongPattern(t) == nil }) {
			return diag.New(diag.Refused, CodeDenied, "%s is not in tools.allow of %s", h.orScript(), p.owner)
		}
		for _, t := range p.Deny {
			// Without patterns of its own, a tool is denied by any.
			if d.table.couldMean(t, h) && (t.Pattern == "" || h.namespace != "") {
				return diag.New(diag.Refused, CodeDenied, "%s is denied by %s (%s)", h.orScript(), p.owner, t)
			}
		}
	}
	_, _, err := d.effectOpen(h.effect, h)
	return err
}

// couldReach reports whether a policy lets some tool of a namespace through.
func (d *Dispatcher) couldReach(namespace string) bool {
	for _, p := range d.policies {
		// A bare name may be another spelling of one of its tools.
		if p.Limited && !slices.ContainsFunc(p.Allow, func(t skill.Tool) bool {
			return t.Namespace == namespace || t.Namespace == "" && strings.HasPrefix(t.Name, sanitized(namespace)+"_")
		}) {
			return false
		}
		if slices.ContainsFunc(p.Deny, func(t skill.Tool) bool { return t.Namespace == namespace && t.Name == "*" }) {
			return false
		}
	}
	return true
}

// permit asks every policy about one use.
func (d *Dispatcher) permit(h *handler, u *use) error {
	if err := d.denied(h, u); err != nil {
		return err
	}
	for _, p := range d.policies {
		if !p.Limited {
			continue
		}
		var tools []skill.Tool
		for _, t := range p.Allow {
			if d.table.means(t, h) {
				tools = append(tools, t)
			}
		}
		if err := allowedBy(tools, u); err != nil {
			return diag.New(diag.Refused, CodeDenied, "%s is allowed by %s only as %s: %w", h.orScript(), p.owner, names(tools), err)
		}
	}
	return nil
}

// denied says which denial means u.
func (d *Dispatcher) denied(h *handler, u *use) error {
	for _, p := range d.policies {
		for _, t := range p.Deny {
			if err := d.bound(h, u, t, p.owner); err != nil {
				return err
			}
			if !d.table.couldMean(t, h) {
				continue
			}
			if t.Pattern != "" && u.opaque != nil {
				return diag.New(diag.Refused, CodeDenied, "%s is denied in part by %s (%s), and %w", h.orScript(), p.owner, t, u.opaque)
			}
			if t.Pattern != "" && u.patterned != nil {
				u.patterned()
			}
			if t.Pattern == "" || u.matches == nil || slices.ContainsFunc(u.parts, func(part string) bool { return u.match(t.Pattern, part, true) }) {
				return diag.New(diag.Refused, CodeDenied, "%s is denied by %s (%s)", h.orScript(), p.owner, t)
			}
		}
	}
	return nil
}

// allowedBy says which part of u none of tools means.
func allowedBy(tools []skill.Tool, u *use) error {
	for _, t := range tools {
		if t.Pattern == "" {
			return nil
		}
	}
	if u.opaque != nil {
		return u.opaque
	}
	for _, part := range u.parts {
		if !slices.ContainsFunc(tools, func(t skill.Tool) bool { return u.match(t.Pattern, part, false) }) {
			return diag.New(diag.Refused, CodeDenied, "%s is not", diag.Brief(readable(part), 200))
		}
	}
	if u.matches == nil {
		return diag.New(diag.Refused, CodeDenied, "this tool has no patterns")
	}
	if u.patterned != nil {
		u.patterned()
	}
	return nil
}

// shows reports whether path may be among the results of h, which is no use of its own.
func (d *Dispatcher) shows(h *handler) func(path string) bool {
	plain := true
	for _, p := range d.policies {
		for _, t := range slices.Concat(p.Allow, p.Deny) {
			plain = plain && (t.Pattern == "" || !d.table.couldMean(t, h) && !d.table.couldMean(t, d.table.must("read")))
		}
	}
	if plain {
		return func(string) bool { return true }
	}
	read := d.table.must("read")
	return func(path string) bool {
		u := fileUse(path)
		return d.permit(h, u) == nil && (h.name != "grep" || d.patternDenied(read, u) == nil)
	}
}

// patternDenied is denied, for denials with patterns alone: what grep must not show of files that
// read must not, although read as a whole is another tool.
func (d *Dispatcher) patternDenied(h *handler, u *use) error {
	only := *d
	only.policies = nil
	for _, p := range d.policies {
		deny := slices.DeleteFunc(slices.Clone(p.Deny), func(t skill.Tool) bool { return t.Pattern == "" })
		only.policies = append(only.policies, policy{skill.Tools{Deny: deny}, p.owner})
	}
	return only.denied(h, u)
}

// patterns are the uses of h that the narrowest policy with patterns allows, as far as they can work here; "" when there is none.
func (d *Dispatcher) patterns(h *handler) string {
	out := ""
	for _, p := range d.policies {
		if !p.Limited {
			continue
		}
		var tools []skill.Tool
		plain := false
		for _, t := range p.Allow {
			if d.table.means(t, h) && d.absent(t) == "" && wrongPattern(t) == nil {
				plain = plain || t.Pattern == ""
				tools = append(tools, t)
			}
		}
		if !plain {
			out = names(tools)
		}
	}
	return out
}

func names(tools []skill.Tool) string {
	var out []string
	for _, t := range tools {
		out = append(out, t.String())
	}
	return strings.Join(out, ", ")
}

// A Status is whether a tool can be called, and why not.
type Status struct {
	Tool    string // canonical: "read", "github::list"; "github::*" of a server that has not been started
	Wire    string // as models call it; "" of a server
	Effect  Effect
	Allowed bool     // some use of it is; Only says which
	Asks    bool     // the first use asks the person
	Only    string   // the patterns that limit it; "" for every use
	Why     string   // it is not allowed; "" when it is
	Hints   []string // what to type to change that
}

// Could lists every tool and what is the matter with it: built-in tools by name, then those of servers.
// It starts no server. Last come names of tools.allow that nothing answers to, and patterns whose program is not here, with the reason.
func (d *Dispatcher) Could() []Status {
	var out []Status
	for _, h := range d.table.all() {
		out = append(out, d.status(h))
	}
	for _, s := range d.table.servers {
		started, err := s.state()
		if started && err == nil {
			continue
		}
		st := Status{Tool: s.config.Name + "::*", Effect: External}
		probe := &handler{namespace: s.config.Name, name: "*", effect: External}
		granted, _, effectErr := d.effectOpen(External, probe)
		switch {
		case err != nil:
			st.Why = err.Error()
		case !d.couldReach(s.config.Name):
			st.Why = "no policy lets it through"
		case effectErr != nil:
			st.Why = effectErr.Error()
		default:
			st.Allowed, st.Asks = true, !granted
		}
		out = append(out, st)
	}
	for _, p := range d.policies {
		for _, t := range p.Allow {
			if why := d.table.unreachable(t); why != "" {
				out = append(out, Status{Tool: t.String(), Why: why})
			} else if program := d.absent(t); program != "" && d.table.must("bash").lack(d) == "" {
				out = append(out, Status{Tool: t.String(), Effect: External, Why: notOnPath(program)})
			}
		}
	}
	return out
}

func (d *Dispatcher) status(h *handler) Status {
	st := Status{Tool: h.String(), Wire: h.wire, Effect: h.effect}
	if err := d.reachable(h, false); err != nil {
		st.Why = err.Error()
		if e, ok := err.(*diag.Error); ok {
			st.Hints = e.Hints
		}
		return st
	}
	granted, _, _ := d.effectOpen(h.effect, h)
	st.Allowed, st.Asks, st.Only = true, !granted, d.patterns(h)
	if denials := d.harmlessOnly(); h == d.table.must("bash") && len(denials) > 0 {
		st.Only = strings.TrimPrefix(st.Only+"; harmless commands, since "+strings.Join(denials, ", ")+" is denied", "; ")
	}
	if d.work.closed != nil && h.reads() && st.Only == "" {
		st.Only = h.name + "(skill:**)"
	}
	return st
}
