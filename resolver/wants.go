package resolver

import (
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// Wants is what a manifest asks for, in its order.
func Wants(m *manifest.Manifest) ([]Named, error) {
	var out []Named
	for _, s := range m.Skills {
		r, err := ref.Parse(s.Ref)
		if err != nil {
			return nil, err
		}
		n := Named{Name: s.Name, Skill: s.Skill, Want: Want{Where: m.Where(s.Name)}, Root: m.RootOf(s.Name)}
		for _, v := range []struct {
			text string
			kind lock.RefKind
		}{{s.Version, lock.Range}, {s.Branch, lock.Branch}, {s.Tag, lock.Tag}, {string(s.Commit), lock.Commit}} {
			if v.text != "" {
				r.Version, n.Kind = v.text, v.kind
			}
		}
		n.Ref = r
		out = append(out, n)
	}
	return out, nil
}
