package resolver

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// releasesOf reads a place in a tiny notation: "v1.2.0 pdf-v2.0.0 nightly branch:main* branch:next".
// A star marks the default branch; commits are the words' positions.
func releasesOf(text string) []source.Release {
	var out []source.Release
	for i, word := range strings.Fields(text) {
		r := source.Release{Kind: source.Tag, Name: word, Commit: ref.Commit(fmt.Sprintf("%040x", i+1))}
		if name, ok := strings.CutPrefix(word, "branch:"); ok {
			r.Kind, r.Name = source.Branch, strings.TrimSuffix(name, "*")
			r.Default = strings.HasSuffix(name, "*")
		} else if skill, version, ok := strings.Cut(word, "-v"); ok {
			r.Skill, r.Version = skill, version
		} else if version, ok := strings.CutPrefix(word, "v"); ok && strings.Contains(version, ".") {
			r.Version = version
		}
		out = append(out, r)
	}
	return out
}

func TestPick(t *testing.T) {
	const place = "v1.0.0 v1.4.2 v1.10.0 v2.0.0-rc.1 pdf-v3.1.0 pdf-v3.2.0 nightly 1.x branch:main* branch:feature/x branch:v1.0.0"
	commit := strings.Repeat("ab", 20)
	for _, tt := range []struct {
		skill, version string
		kind           lock.RefKind
		want           string // "kind name"
	}{
		{"", "", "", "range v1.10.0"},
		{"pdf", "", "", "range pdf-v3.2.0"},
		{"pdf", "~3.1", "", "range pdf-v3.1.0"},
		{"", "^1.4", "", "range v1.10.0"},
		{"", "~1.4.0", "", "range v1.4.2"},
		{"", ">=1, <1.10", "", "range v1.4.2"},
		{"", ">=2.0.0-0", "", "range v2.0.0-rc.1"},
		{"", "1.4.2", "", "tag v1.4.2"},
		{"", "v1.4.2", "", "tag v1.4.2"},
		{"", "nightly", "", "tag nightly"},
		{"", "1.x", "", "tag 1.x"},
		{"", "1.x", lock.Range, "range v1.10.0"},
		{"", "v1.0.0", "", "tag v1.0.0"},
		{"", "v1.0.0", lock.Branch, "branch v1.0.0"},
		{"", "main", "", "branch main"},
		{"", "feature/x", "", "branch feature/x"},
		{"", commit, "", "commit "},
	} {
		r, kind, err := Pick(releasesOf(place), tt.skill, tt.version, tt.kind)
		if got := string(kind) + " " + r.Name; err != nil || got != tt.want {
			t.Errorf("Pick(%q, %q, %q) = %s, %v; want %s", tt.skill, tt.version, tt.kind, got, err, tt.want)
		}
	}
	if r, kind, err := Pick(releasesOf("branch:main* branch:next"), "", "", ""); err != nil || kind != lock.Default || r.Name != "main" {
		t.Errorf("without tags: %v %v %v, want the default branch", r, kind, err)
	}
}

func TestPickRefuses(t *testing.T) {
	for _, tt := range []struct{ place, version, hint string }{
		{"v1.0.0 v2.1.0 branch:main*", "^3", "the newest version is 2.1.0"},
		{"branch:main*", "^1", "no version tags"},
		{"branch:main* branch:develop", "develp", "did you mean develop?"},
		{"branch:main*", "deadbeef", "all 40 digits"},
		{"branch:next", "", "name a branch"},
	} {
		_, _, err := Pick(releasesOf(tt.place), "", tt.version, "")
		e, ok := err.(*diag.Error)
		if !ok || !strings.Contains(strings.Join(e.Hints, " "), tt.hint) {
			t.Errorf("Pick(%q of %q): %v, want a hint with %q", tt.version, tt.place, err, tt.hint)
		}
	}
}

func TestWritten(t *testing.T) {
	for _, tt := range []struct {
		kind           lock.RefKind
		asked, version string
		pin            bool
		want           string
	}{
		{lock.Range, "", "1.4.2", false, "range ^1.4.2"},
		{lock.Range, "", "1.4.2", true, "range =1.4.2"},
		{lock.Range, "^1.2", "1.4.2", false, "range ^1.2"},
		{lock.Tag, "v1.4.2", "1.4.2", false, "range =1.4.2"},
		{lock.Tag, "nightly", "0.0.0-1-a", false, "tag nightly"},
		{lock.Branch, "main", "0.0.0-1-a", false, "branch main"},
		{lock.Branch, "main", "0.0.0-1-a", true, "commit C"},
		{lock.Default, "", "0.0.0-1-a", false, "default "},
		{lock.Default, "", "0.0.0-1-a", true, "commit C"},
	} {
		version, kind := Written(tt.kind, tt.asked, tt.version, "C", tt.pin)
		if got := string(kind) + " " + version; got != tt.want {
			t.Errorf("Written(%s, %q, %q, pin %v) = %s, want %s", tt.kind, tt.asked, tt.version, tt.pin, got, tt.want)
		}
	}
}

func TestStale(t *testing.T) {
	l := &lock.Lock{}
	for _, s := range []lock.Skill{{Name: "a", Ref: "o/a@^1"}, {Name: "b", Ref: "o/b@^1"}, {Name: "dep", Ref: "o/dep", RequiredBy: []string{"a"}}, {Name: "old", Ref: "o/old"}} {
		l.Set(s)
	}
	wants := []Named{ask(t, "a", "o/a@^1"), ask(t, "b", "o/b@^2"), ask(t, "c", "o/c")}
	if got := strings.Join(Stale(wants, l), " "); got != "b c dep old" {
		t.Errorf("Stale = %s, want b c dep old: an entry cannot say itself that it is wanted", got)
	}
}
