package apply

import (
	"io/fs"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A Why is what a skill is there for.
type Why struct {
	Locked lock.Skill
	Asked  string        // by the manifest; "" if it does not name the skill
	Where  diag.Position // it does
	By     []Reason      // what requires it, each before what requires that
}

// A Reason is a skill that requires another.
type Reason struct {
	Of      string `json:"of"`    // the other
	Depth   int    `json:"depth"` // 1 for what is asked about; what requires Name follows with 1 more, unless it was said before
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	Needs   string `json:"needs,omitempty"` // the ref, as its files say it; "" if they are not here
	File    string `json:"file,omitempty"`  // that says it: "skl.toml:2:8"
	Asked   string `json:"asked,omitempty"` // the ref that skl.toml asks for it by
	Where   string `json:"where,omitempty"` // in skl.toml
}

// Why says why a skill is installed, and why this release.
func (a *Applier) Why(name string) (Why, error) {
	f, err := a.Scope.Load()
	if err != nil {
		return Why{}, err
	}
	s, ok := f.Lock.Skill(name)
	if !ok {
		return Why{}, a.Scope.NotInManifest(name, f)
	}
	out := Why{Locked: s}
	if m, ok := f.Manifest.Skill(name); ok {
		out.Asked, out.Where = m.Ref, f.Manifest.Where(name)
	}
	a.reasons(f, s, 1, map[string]bool{name: true}, &out.By)
	return out, nil
}

// reasons adds the skills that require s to out. Each is followed once.
func (a *Applier) reasons(f *scope.Files, s lock.Skill, depth int, met map[string]bool, out *[]Reason) {
	for _, by := range s.RequiredBy {
		other, ok := f.Lock.Skill(by)
		if !ok {
			continue
		}
		r := Reason{Of: s.Name, Depth: depth, Name: by, Version: other.Version}
		all, _ := needsIn(a.frontHere(other)) // what cannot be read is said where it is installed
		for i := range all {
			if n := &all[i]; n.Name == s.Name {
				if r.Needs, r.File = n.Name, n.File; n.Placed() {
					r.Needs = n.Want.Ref.String()
				}
			}
		}
		if m, ok := f.Manifest.Skill(by); ok {
			r.Asked, r.Where = m.Ref, a.Scope.Short(f.Manifest.Where(by).String())
		}
		if *out = append(*out, r); !met[by] {
			met[by] = true
			a.reasons(f, other, depth+1, met, out)
		}
	}
}

// frontHere is the front of a locked release as it is stored or installed, and the zero Front if it is neither.
func (a *Applier) frontHere(s lock.Skill) Front {
	fsys := fs.FS(nil)
	if st := a.Scope.Store(); st.Has(s.Tree) {
		fsys = st.FS(s.Tree)
	} else {
		at, _ := a.Scope.Site.Place(s.Name)
		fsys = scope.FilesIn(at)
	}
	front, _ := frontIn(fsys)
	return front
}
