package resolver

import (
	"slices"
	"testing"

	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// locked makes a lock of entries "name requires…", with who requires them noted.
func locked(t *testing.T, entries ...[]string) *lock.Lock {
	t.Helper()
	l := &lock.Lock{}
	for _, e := range entries {
		l.Set(lock.Skill{Name: e[0], Ref: "acme/" + e[0], Requires: e[1:]})
	}
	by := RequiredBy(l)
	for i := range l.Skills {
		l.Skills[i].RequiredBy = by[l.Skills[i].Name]
	}
	return l
}

func wanted(t *testing.T, names ...string) (out []Named) {
	t.Helper()
	for _, name := range names {
		r, err := ref.Parse("acme/" + name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, Named{Name: name, Want: Want{Ref: r}})
	}
	return out
}

// An entry is fresh if something that is wanted leads to it, and everything that it requires is there; that it says itself who requires it is
// worth nothing.
func TestStaleRequired(t *testing.T) {
	fresh := locked(t, []string{"top", "low", "mid"}, []string{"mid", "low"}, []string{"low"}, []string{"own"})
	if got := Stale(wanted(t, "top", "own"), fresh); len(got) > 0 {
		t.Errorf("fresh: %v", got)
	}
	for name, tt := range map[string]struct {
		wants []string
		edit  func(*lock.Lock)
		want  []string
	}{
		"nothing leads to it":      {[]string{"own"}, func(*lock.Lock) {}, []string{"low", "mid", "top"}},
		"a circle of its own":      {[]string{"own"}, func(l *lock.Lock) { *l = *locked(t, []string{"own"}, []string{"a", "b"}, []string{"b", "a"}) }, []string{"a", "b"}},
		"what is required is gone": {[]string{"top", "own"}, func(l *lock.Lock) { l.Remove("low") }, []string{"mid", "top"}},
		"it says who requires it":  {[]string{"top", "own"}, func(l *lock.Lock) { l.Set(lock.Skill{Name: "evil", Ref: "acme/evil", RequiredBy: []string{"top"}}) }, []string{"evil"}},
		"it does not say so":       {[]string{"top", "own"}, func(l *lock.Lock) { l.Set(lock.Skill{Name: "low", Ref: "acme/low", RequiredBy: []string{"mid"}}) }, []string{"low"}},
		"in a directory of its own": {[]string{"top", "own"}, func(l *lock.Lock) {
			l.Set(lock.Skill{Name: "mid", Ref: "acme/mid", Root: "x", Requires: []string{"low"}, RequiredBy: []string{"top"}})
		}, []string{"mid"}},
	} {
		l := fresh.Clone()
		tt.edit(l)
		if got := Stale(wanted(t, tt.wants...), l); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// Prune leaves what wants lead to, and says of each who requires it now.
func TestPrune(t *testing.T) {
	l := locked(t, []string{"top", "low", "mid"}, []string{"mid", "low"}, []string{"low"}, []string{"own", "low"}, []string{"a", "b"}, []string{"b", "a"})
	if gone := Prune(wanted(t, "own", "a"), l); !slices.Equal(gone, []string{"mid", "top"}) {
		t.Errorf("gone: %v", gone)
	}
	if s, _ := l.Skill("low"); !slices.Equal(s.RequiredBy, []string{"own"}) {
		t.Errorf("low is required by %v", s.RequiredBy)
	}
	all, err := Required(wanted(t, "own", "a"), l)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, n := range all {
		names = append(names, n.Name)
	}
	if !slices.Equal(names, []string{"own", "a", "b", "low"}) {
		t.Errorf("required: %v", names)
	}
}
