package install

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
)

// TestDiff reads worlds in a tiny notation. Want and have are words name:version;
// in have, "!" behind marks local edits, "?" a directory that is not skl's, "." one that is not skl's
// but the same, "&" a link that is ours, "~" a foreign thing at the link's place,
// "*" what is skl's there but not as it should be, "+" an edited copy, "%" line endings that a checkout changed.
func TestDiff(t *testing.T) {
	for _, tt := range []struct {
		name, want, have string
		opt              Options
		changes          string
	}{
		{"nothing there", "a:1", "", Options{Prune: true}, "add a"},
		{"as it is", "a:1", "a:1", Options{Prune: true}, "keep a"},
		{"newer", "a:2", "a:1", Options{Prune: true}, "update a"},
		{"not wanted any more", "", "a:1", Options{Prune: true}, "remove a"},
		{"not wanted, not pruned", "", "a:1", Options{}, ""},
		{"someone else's", "a:1", "a:9?", Options{Prune: true}, "update a; foreign a"},
		{"the same, not ours", "a:1", "a:1.", Options{Prune: true}, "keep a receipt"},
		{"edited, same release", "a:1", "a:1!", Options{Prune: true}, "held a"},
		{"edited, newer release", "a:2", "a:1!", Options{Prune: true}, "held a; edited a"},
		{"edited, held", "a:2", "a:1!", Options{Prune: true, Hold: true}, "held a"},
		{"edited, forced", "a:2", "a:1!", Options{Prune: true, Force: true}, "update a backup"},
		{"edited, same, forced", "a:1", "a:1!", Options{Prune: true, Force: true}, "update a backup"},
		{"edited, not wanted", "", "a:1!", Options{Prune: true}, "remove a backup; edited a"},
		{"edited, not wanted, forced", "", "a:1!", Options{Prune: true, Force: true}, "remove a backup"},
		{"a link is missing", "a:1", "a:1", Options{Prune: true, Links: []string{"L"}}, "link a +L/a"},
		{"a link is there", "a:1", "a:1&", Options{Prune: true, Links: []string{"L"}}, "keep a"},
		{"a link is in the way", "a:1", "a:1~", Options{Prune: true, Links: []string{"L"}}, "keep a; foreign L/a"},
		{"a link is not wanted any more", "a:1", "a:1&", Options{Prune: true}, "link a -L/a"},
		{"a new skill gets its link", "a:1", "", Options{Prune: true, Links: []string{"L"}}, "add a +L/a"},
		{"what lies at the link's place is replaced", "a:1", "a:1*", Options{Prune: true, Links: []string{"L"}}, "link a +L/a"},
		{"an edited copy stays", "a:1", "a:1+", Options{Prune: true, Links: []string{"L"}, Copy: true}, "keep a"},
		{"an edited copy, newer release", "a:2", "a:1+", Options{Prune: true, Links: []string{"L"}, Copy: true}, "update a; edited copy L/a"},
		{"an edited copy, forced", "a:1", "a:1+", Options{Prune: true, Force: true, Links: []string{"L"}, Copy: true}, "link a +L/a kept L/a"},
		{"an edited copy, not wanted", "", "a:1+", Options{Prune: true, Copy: true}, "remove a; left copy L/a"},
		{"an edited copy, not wanted, forced", "", "a:1+", Options{Prune: true, Force: true, Copy: true}, "remove a kept L/a"},
		{"line endings are mended", "a:1", "a:1%", Options{Prune: true}, "update a"},
		{"line endings, newer release", "a:2", "a:1%", Options{Prune: true}, "update a"},
		{"several", "a:1 b:2 d:1", "b:1 c:1", Options{Prune: true}, "add a, update b, remove c, add d"},
	} {
		var want []lock.Skill
		for w := range strings.FieldsSeq(tt.want) {
			name, version, _ := strings.Cut(w, ":")
			want = append(want, lock.Skill{Name: name, Version: version, Tree: bundle.Digest(version)})
		}
		have := map[string]Have{}
		for w := range strings.FieldsSeq(tt.have) {
			name, version, _ := strings.Cut(w, ":")
			mark := strings.TrimLeft(version, "0123456789")
			version = strings.TrimSuffix(version, mark)
			h := Have{Path: name, Present: true, Managed: true, Receipt: roots.Receipt{Name: name, Version: version, Tree: bundle.Digest(version)}, Links: map[string]LinkState{}}
			switch mark {
			case "!":
				h.Edits = []string{"changed SKILL.md"}
			case "?", ".":
				h.Managed, h.Receipt, h.Tree = false, roots.Receipt{}, bundle.Digest(version)
			case "&":
				h.Links["L/"+name], h.OurLinks = LinkOurs, []string{"L/" + name}
			case "*":
				h.Links["L/"+name], h.OurLinks = LinkStale, []string{"L/" + name}
			case "+":
				h.Links["L/"+name] = LinkEdited
			case "%":
				h.Damaged = []string{"line endings of SKILL.md"}
			case "~":
				h.Links["L/"+name] = LinkForeign
			}
			have[name] = h
		}
		c := Diff("root", want, have, tt.opt)
		if got := notation(c); got != tt.changes {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.changes)
		}
	}
}

func notation(c Changes) string {
	var list []string
	for _, x := range c.List {
		text := fmt.Sprintf("%s %s", x.Action, x.Name)
		if x.plan.backup && x.Action != Held && (x.have.Managed || x.Action == Remove) {
			text += " backup"
		}
		if x.Action == Keep && x.plan.receipt {
			text += " receipt"
		}
		for _, l := range x.plan.addLinks {
			text += " +" + l
		}
		for _, l := range x.plan.dropLinks {
			text += " -" + l
		}
		for _, l := range x.plan.keepLinks {
			text += " kept " + l
		}
		list = append(list, text)
	}
	out := strings.Join(list, ", ")
	for _, x := range c.Conflicts {
		path := x.Path
		out += fmt.Sprintf("; %s %s", x.Why, path)
	}
	return out
}

// Nothing is applied while there is a conflict.
func TestConflictsAreRefused(t *testing.T) {
	dir := t.TempDir()
	in := installerIn(dir)
	c := Changes{Conflicts: []Conflict{{Name: "a", Path: "a", Why: Foreign}}}
	if _, err := in.Apply(t.Context(), c, Files{LockPath: dir + "/skl.lock"}); err == nil || in.Dir.Exists(dir+"/.agents") {
		t.Errorf("error %v; want a refusal that leaves no trace", err)
	}
}
