package plan

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

// A world is what places would answer: "acme/pdf 1.0.0" is a release, with what it needs; words after "!" are why it cannot be had.
type world struct {
	t        *testing.T
	releases map[string][]string // by place: versions, newest first
	needs    map[string][]string // by "place version"
	bad      map[string]string   // by place, or "place version" of which the files cannot be had
	dropped  map[string]bool     // places that hold the skill no longer
	asked    []string
}

func worldOf(t *testing.T, lines ...string) *world {
	w := &world{t, map[string][]string{}, map[string][]string{}, map[string]string{}, map[string]bool{}, nil}
	for _, line := range lines {
		words, why, bad := strings.Cut(line, " ! ")
		fields := strings.Fields(words)
		if bad {
			w.bad[words] = why
		}
		if len(fields) > 1 {
			w.releases[fields[0]] = append(w.releases[fields[0]], fields[1])
			w.needs[fields[0]+" "+fields[1]] = fields[2:]
		}
	}
	return w
}

// entry is the entry of a release in a lock.
func entry(place, version string) lock.Skill {
	r, _ := ref.Parse(place)
	commit := fmt.Sprintf("%x", sha256.Sum256([]byte(place+version)))[:40]
	return lock.Skill{Name: r.Repo, Source: "git", URL: "https://git.example/" + place, Path: "skills/" + r.Repo, RefKind: lock.Range, Version: version, Commit: ref.Commit(commit), Ref: place}
}

// had is an entry as a lock has it.
func had(text, version string) lock.Skill {
	place, _, _ := strings.Cut(text, "@")
	s := entry(place, version)
	s.Ref, s.Tree = text, bundle.Digest("tree-sha256:"+place+version)
	return s
}

func lockOf(list ...lock.Skill) *lock.Lock {
	l := &lock.Lock{}
	for _, s := range list {
		l.Set(s)
	}
	return l
}

// answer adds to facts what q asks for.
func (w *world) answer(base *Base, facts *Facts, q *Questions) {
	for _, c := range q.Choose {
		place := c.Want.Ref.WithoutVersion().String()
		w.asked = append(w.asked, fmt.Sprintf("choose %s %v", c.Want.Name, c.Renew))
		old, _ := base.Lock.Skill(c.Want.Name)
		out := resolver.Release{}
		switch {
		case !c.Renew:
			out.Skill = old
		case w.bad[place] != "":
			out.Err = diag.New(diag.Failed, "unreachable", "%s", w.bad[place])
		case w.dropped[place]:
			out.Skill, out.Gone = old, "since 9.0.0"
		default:
			out.Err = diag.New(diag.Misuse, "no_version", "%s has no such version", place)
			for _, v := range w.releases[place] {
				if s := entry(place, v); resolver.Satisfies(s, c.Want.Ref.Version, lock.Range) || c.Want.Ref.Version == "" {
					if s.Ref = c.Want.Ref.String(); s.SameBytes(old) {
						s.Tree = old.Tree
					}
					out = resolver.Release{Skill: s}
					break
				}
			}
		}
		facts.Releases[c.Key] = out
	}
	for _, l := range q.Versions {
		place := l.Want.Ref.WithoutVersion().String()
		w.asked = append(w.asked, "versions "+place)
		v := Versions{List: w.releases[place]}
		if w.bad[place] != "" {
			v.Err = diag.New(diag.Failed, "unreachable", "%s", w.bad[place])
		}
		facts.Versions[l.Key] = v
	}
	for _, c := range q.Compare {
		w.asked = append(w.asked, "compare "+c.Want.Name)
		facts.Compared[c.Want.Name] = nil
	}
	for i := range q.Read {
		w.read(facts, &q.Read[i])
	}
}

// read answers a reading.
func (w *world) read(facts *Facts, r *Reading) {
	s := r.Skill
	place := strings.TrimPrefix(s.URL, "https://git.example/")
	w.asked = append(w.asked, "read "+s.Name+" "+s.Version+map[bool]string{true: " held"}[r.Held])
	s.Tree = bundle.Digest("tree-sha256:" + place + s.Version)
	out := Bundle{Skill: s}
	if why := w.bad[place+" "+s.Version]; why != "" {
		out.Err = diag.New(diag.Refused, "bad", "%s", why)
	}
	var needs []resolver.Need
	for _, text := range w.needs[place+" "+s.Version] {
		r, err := ref.Parse(text)
		if err != nil {
			w.t.Fatal(err)
		}
		needs = append(needs, resolver.Need{Name: r.Repo, Want: resolver.Want{Ref: r}, File: "skl.toml:2:1"})
	}
	facts.Needs[r.NeedsKey()] = needs
	facts.Read[r.Key()] = out
}

// settle plans as whoever answers all questions does.
func (w *world) settle(base *Base, r *Request, facts *Facts, held Held) (*Intent, []Fault) {
	w.t.Helper()
	for range 50 {
		in, q, faults := Of(w.t.Context(), base, r, facts, held)
		if len(faults) > 0 || !q.Any() {
			return in, faults
		}
		w.answer(base, facts, q)
	}
	w.t.Fatal("it asks for ever")
	return nil, nil
}

func add(t *testing.T, text string) Edit {
	place, version, _ := strings.Cut(text, "@")
	found := entry(place, strings.TrimPrefix(version, "^"))
	found.Ref = text
	return Edit{Skill: manifest.Skill{Name: found.Name, Ref: place, Version: version}, Found: &found}
}

// shown is a lock in a few words: what requires what is after "<".
func shown(l *lock.Lock) string {
	var out []string
	for _, s := range l.Skills {
		text := s.Name + " " + s.Version
		if len(s.RequiredBy) > 0 {
			text += " < " + strings.Join(s.RequiredBy, ",")
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

const two = `# ours

[skills]
ocr = { ref = "acme/ocr", version = "^1" } # reads scans
pdf = { ref = "acme/pdf", version = "^1" }
`

// TestOf compares the next skl.toml and skl.lock, by request, the answers of places and the held skills.
func TestOf(t *testing.T) {
	all := func(string) bool { return true }
	places := []string{"acme/ocr 1.2.0", "acme/ocr 1.0.0", "acme/pdf 1.1.0", "acme/pdf 1.0.0"}
	locked := lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"))
	for name, tt := range map[string]struct {
		base  Base
		world []string
		r     Request
		held  []string
		lock  string
		toml  string // that skl.toml holds; "" is as before
		anew  string
		fault string // the first, "name: what"
	}{
		"nothing is asked for": {Base{Manifest: []byte(two), Lock: locked}, places, Request{}, nil, "ocr 1.0.0; pdf 1.0.0", "", "", ""},
		"a lock is made":       {Base{Manifest: []byte(two), Lock: &lock.Lock{}}, places, Request{}, nil, "ocr 1.2.0; pdf 1.1.0", "", "ocr pdf", ""},
		"one is added": {Base{Lock: &lock.Lock{}}, []string{"acme/pdf 1.1.0"}, Request{Edits: []Edit{add(t, "acme/pdf@^1.1.0")}}, nil,
			"pdf 1.1.0", `version = "^1.1.0"`, "pdf", ""},
		"all are renewed":          {Base{Manifest: []byte(two), Lock: locked}, places, Request{Renews: all}, nil, "ocr 1.2.0; pdf 1.1.0", "", "ocr pdf", ""},
		"what is held stays":       {Base{Manifest: []byte(two), Lock: locked}, places, Request{Renews: all}, []string{"pdf"}, "ocr 1.2.0; pdf 1.0.0", "", "ocr", ""},
		"an edit of what is held":  {Base{Manifest: []byte(two), Lock: locked}, places, Request{Edits: []Edit{add(t, "acme/pdf@^2.0.0")}}, []string{"pdf"}, "ocr 1.0.0; pdf 1.0.0", "", "", ""},
		"an addition that is held": {Base{Manifest: []byte(two), Lock: locked}, places, Request{Edits: []Edit{add(t, "acme/new@^2.0.0")}}, []string{"new"}, "ocr 1.0.0; pdf 1.0.0", "", "", ""},
		"one place does not answer": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/pdf ! no route"), Request{Renews: all}, nil,
			"", "", "", "pdf: no route"},
		"it is held, whatever its place answers": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/pdf ! no route"), Request{Renews: all}, []string{"pdf"},
			"ocr 1.2.0; pdf 1.0.0", "", "ocr", ""},
		"files that are refused": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/ocr 1.2.0 ! planted"), Request{Renews: all}, nil, "", "", "", "ocr: planted"},
		"what is needed comes along": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/top 2.0.0 acme/base@^1", "acme/base 2.0.0", "acme/base 1.5.0 acme/deep", "acme/deep 3.0.0"),
			Request{Edits: []Edit{add(t, "acme/top@^2.0.0")}}, nil, "base 1.5.0 < top; deep 3.0.0 < base; ocr 1.0.0; pdf 1.0.0; top 2.0.0", "top = ", "top base deep", ""},
		"what nothing needs any more goes": {Base{Manifest: []byte(two), Lock: lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"), had("acme/base", "1.0.0"))}, places, Request{}, nil,
			"ocr 1.0.0; pdf 1.0.0", "", "", ""},
		"what is needed takes another version": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/top 2.0.0 acme/pdf@^1.1"), Request{Edits: []Edit{add(t, "acme/top@^2.0.0")}}, nil,
			"ocr 1.0.0; pdf 1.1.0 < top; top 2.0.0", "top = ", "top pdf", ""},
		"needs that do not fit": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/top 2.0.0 acme/pdf@^7"), Request{Edits: []Edit{add(t, "acme/top@^2.0.0")}}, nil,
			"", "", "", ": no versions fit together: top 2.0.0 needs pdf ^7, and no version of it is (the newest is 1.1.0)"},
		"the place of what is needed does not answer": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/top 2.0.0 acme/base", "acme/base ! no route"),
			Request{Edits: []Edit{add(t, "acme/top@^2.0.0")}}, nil, "", "", "", "base: top needs acme/base (skl.toml:2:1): no route"},
		"one goes":                   {Base{Manifest: []byte(two), Lock: locked}, places, Request{Edits: []Edit{{Skill: manifest.Skill{Name: "pdf"}, Remove: true}}}, nil, "ocr 1.0.0", "ocr = ", "", ""},
		"one goes, and stays needed": {Base{Manifest: []byte(two), Lock: locked}, append(slices.Clone(places), "acme/ocr 1.0.0 acme/pdf@^1"), Request{Edits: []Edit{{Skill: manifest.Skill{Name: "pdf"}, Remove: true}}}, nil, "ocr 1.0.0; pdf 1.0.0 < ocr", "ocr = ", "", ""},
		"skl.toml cannot be read":    {Base{Manifest: []byte("[skills\n"), Path: "skl.toml", Lock: locked}, places, Request{}, nil, "", "", "", ": skl.toml:1:8: "},
	} {
		t.Run(name, func(t *testing.T) {
			w := worldOf(t, tt.world...)
			held := Held{}
			for _, name := range tt.held {
				held[name] = true
			}
			was := tt.base.Lock.Format()
			in, faults := w.settle(&tt.base, &tt.r, NewFacts(), held)
			if string(tt.base.Lock.Format()) != string(was) {
				t.Error("the lock that it starts from was changed")
			}
			if tt.fault != "" {
				if len(faults) == 0 || !strings.HasPrefix(faults[0].Name+": "+faults[0].Error(), tt.fault) {
					t.Errorf("faults %+v, want %q", faults, tt.fault)
				}
				return
			}
			if len(faults) > 0 {
				t.Fatalf("%s: %v", faults[0].Name, faults[0].Err)
			}
			if got := shown(in.Lock); got != tt.lock {
				t.Errorf("lock %q, want %q", got, tt.lock)
			}
			if got := strings.Join(in.Anew, " "); got != tt.anew {
				t.Errorf("chosen anew: %q, want %q", got, tt.anew)
			}
			text := string(in.Manifest.Bytes())
			if tt.toml == "" && text != string(tt.base.Manifest) || !strings.Contains(text, tt.toml) || tt.base.Manifest != nil && !strings.Contains(text, "# reads scans") {
				t.Errorf("skl.toml became\n%s", text)
			}
		})
	}
}

// A plan asks for what it needs and nothing twice, whatever is held later.
func TestOfAsksOnce(t *testing.T) {
	w := worldOf(t, "acme/ocr 1.2.0 acme/base@^1", "acme/ocr 1.0.0", "acme/pdf 1.1.0", "acme/pdf 1.0.0", "acme/base 1.0.0")
	base := &Base{Manifest: []byte(two), Lock: lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"))}
	r := &Request{Renews: func(string) bool { return true }}
	facts := NewFacts()
	first, faults := w.settle(base, r, facts, nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	if got := shown(first.Lock); got != "base 1.0.0 < ocr; ocr 1.2.0; pdf 1.1.0" {
		t.Error(got)
	}
	asked := len(w.asked)
	if again, _ := w.settle(base, r, facts, nil); string(again.Lock.Format()) != string(first.Lock.Format()) || len(w.asked) != asked {
		t.Errorf("the same again asks %v, and is %s", w.asked[asked:], shown(again.Lock))
	}
	in, _ := w.settle(base, r, facts, Held{"ocr": true})
	if got := shown(in.Lock); got != "ocr 1.0.0; pdf 1.1.0" {
		t.Errorf("with ocr held: %s", got)
	}
	if got := strings.Join(w.asked[asked:], ", "); got != "choose ocr false, read ocr 1.0.0 held" {
		t.Errorf("with ocr held it asks: %s", got)
	}
	seen := map[string]int{}
	for _, q := range w.asked {
		if seen[q]++; seen[q] > 1 {
			t.Errorf("%s is asked %d times", q, seen[q])
		}
	}
}

// A release that its place no longer has stays, and is told; an entry that is not what its ref means cannot stay.
func TestOfGone(t *testing.T) {
	w := worldOf(t, "acme/ocr 1.2.0", "acme/pdf 1.1.0")
	w.dropped["acme/pdf"] = true
	base := &Base{Manifest: []byte(two), Lock: lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"))}
	r := &Request{Renews: func(string) bool { return true }, Dropped: true}
	in, faults := w.settle(base, r, NewFacts(), nil)
	if len(faults) > 0 || shown(in.Lock) != "ocr 1.2.0; pdf 1.0.0" || !slices.Equal(in.Gone, []Gone{{"pdf", "1.0.0", "since 9.0.0"}}) || !slices.Equal(in.Anew, []string{"ocr"}) {
		t.Errorf("%s, gone %v, anew %v, faults %v", shown(in.Lock), in.Gone, in.Anew, faults)
	}
	facts := NewFacts()
	_, q, _ := Of(t.Context(), base, &Request{}, facts, nil)
	for _, c := range q.Choose {
		facts.Releases[c.Key] = resolver.Release{Err: diag.New(diag.Refused, resolver.CodeSource, "forged"), Entry: true}
	}
	for _, held := range []Held{nil, {"pdf": true, "ocr": true}} {
		if _, _, faults := Of(t.Context(), base, &Request{}, facts, held); len(faults) != 2 || !faults[0].Entry {
			t.Errorf("held %v: %+v", held, faults)
		}
	}
}

// Tags of an entry that stays are asked for once; where a person accepted that they moved, the entry is chosen anew.
func TestOfCompares(t *testing.T) {
	w := worldOf(t, "acme/ocr 1.0.0", "acme/pdf 1.0.0 acme/base", "acme/base 1.0.0")
	base := &Base{Manifest: []byte(two), Lock: lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"), had("acme/base", "1.0.0"))}
	facts := NewFacts()
	moved := had("acme/ocr@^1", "1.0.0")
	moved.Commit, moved.Moved = ref.Commit(strings.Repeat("f", 40)), string(moved.Commit)
	in, q, faults := Of(t.Context(), base, &Request{Compares: true}, facts, nil)
	for len(faults) == 0 && q.Any() {
		w.answer(base, facts, q)
		for _, c := range q.Compare {
			if c.Want.Name == "ocr" {
				facts.Compared["ocr"] = &moved
			}
		}
		in, q, faults = Of(t.Context(), base, &Request{Compares: true}, facts, nil)
	}
	if len(faults) > 0 || !slices.Equal(in.Anew, []string{"ocr"}) {
		t.Fatalf("anew %v, faults %v", in.Anew, faults)
	}
	if s, _ := in.Lock.Skill("ocr"); s.Commit != moved.Commit || s.Moved == "" {
		t.Errorf("%+v", s)
	}
	if !slices.Contains(w.asked, "compare base") {
		t.Errorf("what is needed only was not compared: %v", w.asked)
	}
}

// Of several that do not fit, each is tried alone; what helps is solved for, with releases that are looked at for it.
func TestConflict(t *testing.T) {
	w := worldOf(t, "acme/ocr 1.0.0", "acme/pdf 1.0.0", "acme/top 3.0.0 acme/base@^2", "acme/top 2.0.0 acme/base@^1", "acme/low 1.0.0 acme/base@^1", "acme/base 2.0.0", "acme/base 1.0.0")
	base := &Base{Manifest: []byte(two), Lock: lockOf(had("acme/ocr@^1", "1.0.0"), had("acme/pdf@^1", "1.0.0"))}
	r := &Request{Edits: []Edit{add(t, "acme/top@^3.0.0"), add(t, "acme/low@^1.0.0")}}
	facts := NewFacts()
	_, faults := w.settle(base, r, facts, nil)
	conflict, ok := errors.AsType[*Conflict](error(&faults[0]))
	if !ok || faults[0].Name != "" {
		t.Fatalf("%+v", faults)
	}
	if _, alone := w.settle(base, r, facts, Held{"low": true}); len(alone) > 0 {
		t.Errorf("without low: %v", alone)
	}
	if diag.ClassOf(conflict) != diag.Unmet {
		t.Errorf("it is of class %v", diag.ClassOf(conflict))
	}
	e, _ := diag.Own(conflict.Explain(t.Context(), func(_ context.Context, _ *Intent, q *Questions) bool {
		w.answer(base, facts, q)
		return true
	}))
	if want := "skl install 'acme/top@^2.0.0' 'acme/low@^1.0.0'"; !slices.Contains(e.Hints, want) && !slices.ContainsFunc(e.Hints, func(h string) bool { return strings.Contains(h, "acme/top@^2.0.0") }) {
		t.Errorf("hints %q, want %q", e.Hints, want)
	}
	none, _ := diag.Own(conflict.Explain(t.Context(), func(context.Context, *Intent, *Questions) bool { return false }))
	if len(none.Hints) == 0 {
		t.Error("without an answer there is no hint")
	}
}

// The order in which things were found out changes nothing.
func TestOfIsPure(t *testing.T) {
	w := worldOf(t, "acme/ocr 1.0.0 acme/a acme/b", "acme/pdf 1.0.0 acme/b", "acme/a 2.0.0 acme/c@^1", "acme/b 1.0.0 acme/c@>=1", "acme/c 2.0.0", "acme/c 1.0.0")
	base := &Base{Manifest: []byte(two), Lock: &lock.Lock{}}
	facts := NewFacts()
	in, faults := w.settle(base, &Request{}, facts, nil)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	want := string(in.Lock.Format())
	for range 20 {
		other := NewFacts()
		maps.Copy(other.Releases, facts.Releases)
		maps.Copy(other.Versions, facts.Versions)
		maps.Copy(other.Read, facts.Read)
		maps.Copy(other.Needs, facts.Needs)
		in, q, faults := Of(t.Context(), base, &Request{}, other, nil)
		if len(faults) > 0 || q.Any() || string(in.Lock.Format()) != want {
			t.Fatalf("%s, asks %v", shown(in.Lock), q)
		}
	}
}
