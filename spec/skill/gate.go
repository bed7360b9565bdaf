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
	if d.V1 == nil || d.V1.Tools == nil {
		return out
	}
	if d.V1.Tools.Limited {
		out = append(out, Gate{Key: "tools.allow"})
	}
	if len(d.V1.Tools.Deny) > 0 {
		g := Gate{Key: "tools.deny"}
		if has(KeyNoTools) {
			g.By = []string{KeyNoTools}
		}
		out = append(out, g)
	}
	return out
}

// RunOnly are the keys of corteza.skill/v1 with which d says something that skl run keeps and no agent does, beside its Gates.
func (d *Document) RunOnly() []string {
	v := d.V1
	if v == nil {
		return nil
	}
	var out []string
	for _, k := range []struct {
		name string
		says bool
	}{
		{"side_effects", v.SideEffects != nil}, {"library_depends", len(v.LibraryDepends) > 0},
		{"arguments", v.Arguments != nil || v.NoUserArgs}, {"interaction", v.Interaction == "returning"},
	} {
		if k.says {
			out = append(out, k.name)
		}
	}
	return out
}
