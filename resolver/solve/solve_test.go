package solve

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A universe maps skills to versions, newest first, and these to what they need.
type universe map[string][]release

type release struct {
	version string
	needs   []Need
}

func (u universe) Versions(_ context.Context, name string) ([]string, error) {
	var out []string
	for _, r := range u[name] {
		out = append(out, r.version)
	}
	return out, nil
}

func (u universe) Needs(_ context.Context, name, version string) ([]Need, error) {
	for _, r := range u[name] {
		if r.version == version {
			return r.needs, nil
		}
	}
	return nil, fmt.Errorf("%s %s was never listed", name, version)
}

// within is a need of the versions from low to high.
func within(name string, low, high int) Need {
	return Need{Name: name, Text: fmt.Sprintf(">=%d <=%d", low, high), Allows: func(v string) bool {
		n, _ := strconv.Atoi(v)
		return low <= n && n <= high
	}}
}

// holds reports whether a choice is complete and allowed.
func holds(u universe, wants []Need, chosen map[string]string) bool {
	met := func(n Need) bool {
		v, ok := chosen[n.Name]
		return ok && (n.Allows == nil || n.Allows(v))
	}
	for _, w := range wants {
		if !met(w) {
			return false
		}
	}
	for name, version := range chosen {
		needs, err := u.Needs(context.Background(), name, version)
		if err != nil {
			return false
		}
		for _, n := range needs {
			if !met(n) {
				return false
			}
		}
	}
	return true
}

// brute tries every choice.
func brute(u universe, wants []Need) bool {
	var names []string
	for name := range u {
		names = append(names, name)
	}
	slices.Sort(names)
	chosen := map[string]string{}
	var try func(i int) bool
	try = func(i int) bool {
		if i == len(names) {
			return holds(u, wants, chosen)
		}
		if try(i + 1) {
			return true
		}
		for _, r := range u[names[i]] {
			chosen[names[i]] = r.version
			if try(i + 1) {
				return true
			}
		}
		delete(chosen, names[i])
		return false
	}
	return try(0)
}

// random is a small universe, of which about half have a solution, and what is wanted of it.
func random(r *rand.Rand) (universe, []Need) {
	u := universe{}
	n := 2 + r.IntN(5)
	name := func() string { return string(rune('a' + (r.IntN(8*n+1))/8)) } // the last of them does not exist
	need := func() Need {
		low := r.IntN(3)
		return within(name(), low, low+r.IntN(4))
	}
	for i := range n {
		var of []release
		for v := 1 + r.IntN(3); v >= 0; v-- {
			one := release{version: strconv.Itoa(v)}
			for range r.IntN(5) / 2 {
				one.needs = append(one.needs, need())
			}
			of = append(of, one)
		}
		u[string(rune('a'+i))] = of
	}
	var wants []Need
	for range 1 + r.IntN(2) {
		w := need()
		w.Where = "skl.toml"
		wants = append(wants, w)
	}
	return u, wants
}

// kept is the part of a universe that the core of a conflict speaks of: every other need is left out.
func kept(u universe, c *Conflict) (universe, []Need) {
	out := universe{}
	for name, of := range u {
		for _, r := range of {
			one := release{version: r.version}
			for _, n := range r.needs {
				if slices.ContainsFunc(c.Core, func(g Given) bool {
					return g.Name == name && slices.Contains(g.Versions, r.version) && g.Need.Name == n.Name && g.Need.Text == n.Text
				}) {
					one.needs = append(one.needs, n)
				}
			}
			out[name] = append(out[name], one)
		}
	}
	var wants []Need
	for _, g := range c.Core {
		if g.Name == "" {
			wants = append(wants, g.Need)
		}
	}
	return out, wants
}

// Against brute force: there is a choice if and only if one is found, it is one, nothing of it is superfluous, and the core of
// a conflict is one by itself.
func TestAgainstBruteForce(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 1))
	solved, failed := 0, 0
	for i := range 20_000 {
		u, wants := random(r)
		chosen, err := Solve(t.Context(), u, wants, Options{})
		want := brute(u, wants)
		var c *Conflict
		switch {
		case err == nil && !want:
			t.Fatalf("%d: %v of %v for %v, where nothing fits", i, chosen, u, wants)
		case err != nil && want:
			t.Fatalf("%d: %v of %v for %v, where something fits", i, err, u, wants)
		case errors.As(err, &c):
			failed++
			if len(c.Lines) == 0 || !strings.Contains(c.Error(), "skl.toml") {
				t.Fatalf("%d: it says %q", i, c.Lines)
			}
			core, of := kept(u, c)
			if brute(core, of) {
				t.Fatalf("%d: %v and %v: what the conflict stands on has a solution:\n%v\n%v", i, u, wants, c, c.Core)
			}
		case err != nil:
			t.Fatal(err)
		default:
			solved++
			got := map[string]string{}
			for _, c := range chosen {
				got[c.Name] = c.Version
			}
			if !holds(u, wants, got) {
				t.Fatalf("%d: %v of %v for %v does not hold", i, chosen, u, wants)
			}
			for _, c := range chosen {
				if !reached(chosen, wants, c.Name) {
					t.Fatalf("%d: nobody needs %s of %v", i, c.Name, chosen)
				}
			}
			again, _ := Solve(t.Context(), u, wants, Options{})
			if fmt.Sprint(names(again)) != fmt.Sprint(names(chosen)) {
				t.Fatalf("%d: %v, then %v", i, chosen, again)
			}
		}
	}
	if solved < 5000 || failed < 5000 {
		t.Errorf("%d solved and %d failed: that shows little", solved, failed)
	}
}

// reached reports whether what is wanted needs a skill, perhaps through others.
func reached(chosen []Choice, wants []Need, name string) bool {
	seen := map[string]bool{}
	next := wants
	for len(next) > 0 {
		n := next[0]
		next = next[1:]
		if seen[n.Name] {
			continue
		}
		seen[n.Name] = true
		for _, c := range chosen {
			if c.Name == n.Name {
				next = append(slices.Clip(next), c.Needs...)
			}
		}
	}
	return seen[name]
}

func names(chosen []Choice) []string {
	var out []string
	for _, c := range chosen {
		out = append(out, c.Name+" "+c.Version)
	}
	return out
}

// The solver prefers the version in the lock, then the newest, and takes a pre-release only if nothing else fits.
func TestPreferences(t *testing.T) {
	u := universe{
		"a": {{"3", nil}, {"2", nil}, {"1", nil}},
		"b": {{"2", []Need{within("a", 1, 2)}}, {"1", []Need{within("a", 1, 1)}}},
	}
	for _, test := range []struct {
		first, last map[string]string
		wants       []Need
		want        string
	}{
		{nil, nil, []Need{within("a", 1, 3)}, "a 3"},
		{map[string]string{"a": "1"}, nil, []Need{within("a", 1, 3)}, "a 1"},
		{map[string]string{"a": "1"}, nil, []Need{within("a", 2, 3)}, "a 3"},
		{nil, map[string]string{"3": ""}, []Need{within("a", 1, 3)}, "a 2"},
		{nil, map[string]string{"3": ""}, []Need{within("a", 3, 3)}, "a 3"},
		{nil, nil, []Need{within("a", 1, 3), within("b", 1, 2)}, "a 2, b 2"},
		{map[string]string{"b": "1"}, nil, []Need{within("b", 1, 2)}, "a 1, b 1"},
	} {
		opt := Options{First: func(name string) string { return test.first[name] }, Last: func(v string) bool { _, ok := test.last[v]; return ok }}
		got, err := Solve(t.Context(), u, test.wants, opt)
		if err != nil || strings.Join(names(got), ", ") != test.want {
			t.Errorf("%v of %v: %v, %v", test.want, test.wants, names(got), err)
		}
	}
}

// The explanation of a conflict, as a person reads it.
func TestExplanations(t *testing.T) {
	want := func(n Need, where string) Need { n.Where = where; return n }
	caret := func(name string, major int) Need {
		return Need{Name: name, Text: fmt.Sprintf("^%d", major), Allows: func(v string) bool { return strings.HasPrefix(v, strconv.Itoa(major)+".") }}
	}
	u := universe{
		"pdf":    {{"2.0", nil}, {"1.1", nil}, {"1.0", nil}},
		"forms":  {{"1.3", []Need{caret("pdf", 1)}}, {"1.2", []Need{caret("pdf", 1)}}, {"1.0", nil}},
		"report": {{"2.0", []Need{caret("pdf", 2)}}, {"1.0", []Need{caret("pdf", 2)}}},
		"lost":   {{"1.0", []Need{{Name: "gone"}}}},
		"deep":   {{"1.0", []Need{caret("forms", 1), caret("report", 2)}}},
	}
	for _, test := range []struct {
		wants []Need
		text  string
	}{
		{[]Need{want(caret("pdf", 3), "skl.toml:4:1")}, "skl.toml:4:1 asks for pdf ^3, and no version of it is (the newest is 2.0)"},
		{[]Need{want(caret("gone", 1), "skl.toml:4:1")}, "skl.toml:4:1 asks for gone ^1, which does not exist"},
		{[]Need{want(caret("lost", 1), "skl.toml:4:1")}, "lost 1.0 needs gone, which does not exist, and skl.toml:4:1 asks for lost ^1: so nothing fits"},
		{[]Need{want(caret("pdf", 1), "skl.toml:4:1"), want(caret("pdf", 2), "skl.toml:5:1")}, "skl.toml:4:1 asks for pdf ^1, and skl.toml:5:1 asks for pdf ^2: so nothing fits"},
		{[]Need{want(caret("deep", 1), "skl.toml:4:1"), want(caret("pdf", 1), "skl.toml:5:1")}, `report 2.0 needs pdf ^2, and deep 1.0 needs report ^2: so deep 1.0 needs pdf 2.0
skl.toml:4:1 asks for deep ^1: so pdf 2.0 has to be installed
skl.toml:5:1 asks for pdf ^1: so nothing fits`},
	} {
		got, err := Solve(t.Context(), u, test.wants, Options{})
		if err == nil {
			t.Errorf("%v: %v", test.wants, names(got))
		} else if err.Error() != test.text {
			t.Errorf("it says\n%v\nand not\n%s", err, test.text)
		}
	}
}

// The same universe gives the same choice, and the same sentences of a conflict, where each skill has 200 versions more that nobody asks for:
// sets of more than one word.
func TestManyVersions(t *testing.T) {
	r := rand.New(rand.NewPCG(18, 3))
	for i := range 500 {
		u, wants := random(r)
		large := universe{}
		for name, of := range u {
			for v := 300; v > 100; v-- {
				large[name] = append(large[name], release{version: strconv.Itoa(v)})
			}
			large[name] = append(large[name], of...)
		}
		small, smallErr := Solve(t.Context(), u, wants, Options{})
		chosen, err := Solve(t.Context(), large, wants, Options{})
		if (smallErr == nil) != (err == nil) || fmt.Sprint(names(small)) != fmt.Sprint(names(chosen)) {
			t.Fatalf("%d: %v, %v; with more versions %v, %v", i, names(small), smallErr, names(chosen), err)
		}
	}
}

// dense is a universe of n skills with 50 versions, each of which needs up to four of the next twenty in a wide range, and of a chain
// of a tenth as many, each version of which needs the next. The end of the chain needs a version of "end" from 20 on, which there is.
func dense(n int) (universe, []Need) {
	r := rand.New(rand.NewPCG(18, 2))
	u := universe{}
	for i := range n {
		var of, link []release
		for v := 49; v >= 0; v-- {
			one := release{version: strconv.Itoa(v)}
			for range 4 {
				if on := i + 1 + r.IntN(20); on < n {
					low := r.IntN(20)
					one.needs = append(one.needs, within("s"+strconv.Itoa(on), low, low+15+r.IntN(30)))
				}
			}
			of = append(of, one)
			next := within("link"+strconv.Itoa(i+1), v-10, v+10)
			if i == n/10-1 {
				next = within("end", 20, 49)
			}
			link = append(link, release{strconv.Itoa(v), []Need{next, within("s"+strconv.Itoa(i), 0, v+10)}})
		}
		u["s"+strconv.Itoa(i)] = of
		if i < n/10 {
			u["link"+strconv.Itoa(i)] = link
		}
	}
	for v := 49; v >= 0; v-- {
		u["end"] = append(u["end"], release{version: strconv.Itoa(v)})
	}
	wants := []Need{{Name: "s0"}, {Name: "s1"}, {Name: "s2"}, {Name: "link0"}}
	for i := range wants {
		wants[i].Where = "skl.toml"
	}
	return u, wants
}

// early is what is wanted of dense and contradicts the end of its chain.
func early() Need {
	n := within("end", 0, 10)
	n.Where = "skl.toml"
	return n
}

// A thousand skills of fifty versions have a solution in a tenth of a second or so, and so has what is wrong with them. The bounds
// are for a machine that does other things beside, and for the race detector.
func TestDense(t *testing.T) {
	u, wants := dense(1000)
	start := time.Now()
	chosen, err := Solve(t.Context(), u, wants, Options{})
	took := time.Since(start)
	t.Logf("%d skills chosen in %v", len(chosen), took)
	if err != nil || len(chosen) < 1000 || took > 15*time.Second {
		t.Errorf("%d skills, %v, in %v", len(chosen), err, took)
	}
	start = time.Now()
	_, err = Solve(t.Context(), u, append(wants, early()), Options{})
	took = time.Since(start)
	var c *Conflict
	if !errors.As(err, &c) || took > 60*time.Second {
		t.Fatalf("%v in %v", err, took)
	}
	t.Logf("a conflict of %d lines in %v, which ends with:\n%s", len(c.Lines), took, strings.Join(c.Lines[max(0, len(c.Lines)-4):], "\n"))
}

func BenchmarkSolve(b *testing.B) {
	u, wants := dense(1000)
	for b.Loop() {
		if _, err := Solve(b.Context(), u, wants, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkConflict(b *testing.B) {
	u, wants := dense(1000)
	wants = append(wants, early())
	for b.Loop() {
		if _, err := Solve(b.Context(), u, wants, Options{}); err == nil {
			b.Fatal("it has a solution")
		}
	}
}
