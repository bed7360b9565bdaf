package skill

import "slices"

// Keys by which hosts keep a limit that a skill sets.
const (
	KeyNoModel    = "disable-model-invocation"  // of the frontmatter
	KeyNoImplicit = "allow_implicit_invocation" // of policy in agents/openai.yaml
	KeyNoTools    = "disallowed-tools"          // of the frontmatter
)

// A Gate is a limit that a skill sets, and that only an agent which knows the key keeps.
type Gate struct {
	Key string   // as it is said: "model_invocation: user-only", "tools.allow", "tools.deny"
	By  []string // keys of hosts by which the SKILL.md says the same
}

// Gates are the limits that d sets for the agents that load it: who may start it, if the model may not, and which tools it may
// call.
func (d *Document) Gates() []Gate {
	var out []Gate
	has := func(key string) bool {
		return slices.ContainsFunc(d.Fields, func(f Field) bool { return f.Key == key })
	}
	if !d.Invocation.ByModel() {
		g := Gate{Key: "model_invocation: " + string(d.Invocation)}
		if on := slices.ContainsFunc(d.Fields, func(f Field) bool {
			on, ok := hostBool(f.Value)
			return f.Key == KeyNoModel && ok && on
		}); on {
			g.By = []string{KeyNoModel}
		}
		out = append(out, g)
	}
	if d.Tools == nil {
		return out
	}
	if d.Tools.Limited {
		out = append(out, Gate{Key: "tools.allow"})
	}
	if len(d.Tools.Deny) > 0 {
		g := Gate{Key: "tools.deny"}
		if has(KeyNoTools) {
			g.By = []string{KeyNoTools}
		}
		out = append(out, g)
	}
	return out
}

// RunOnly are the keys of corteza.skill with which d says something that skl run keeps and no agent does, beside its Gates.
func (d *Document) RunOnly() []string {
	var out []string
	says := func(name string, is bool) {
		if is {
			out = append(out, name)
		}
	}
	says("side_effects", d.SideEffects != nil)
	if v := d.V1; v != nil {
		says("library_depends", len(v.LibraryDepends) > 0)
		says("arguments", v.Arguments != nil || v.NoUserArgs)
		says("interaction", v.Interaction == "returning")
	}
	return out
}
