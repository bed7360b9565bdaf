package refactor_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/author/refactor"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/tree"
)

// randomOp is one of a few bodies of the op n, which calls ops behind it, reads files and binds names.
func randomOp(r *rand.Rand, n, variants int) string {
	name := fmt.Sprintf("OP_%d", n)
	variant := r.IntN(variants)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s << x >> y\n\n* %s << x >> y\n", strings.Repeat("#", 2+n%2), name, name)
	switch kind := (n*7 + variant) % 6; kind {
	case 0:
		fmt.Fprintf(&b, "    * OP_%d << x >> y\n", n+1)
	case 1:
		fmt.Fprintf(&b, "    * IF << x is empty\n        * END Nothing %d.\n    * bind y = x\n", variant)
	case 2:
		fmt.Fprintf(&b, "    * Read `references/f%d.md` >> y\n", n%4)
	case 3:
		fmt.Fprintf(&b, "    * ASK << Which? | Yes | No %d\n    * bind y = \"z\"\n", variant)
	case 4:
		fmt.Fprintf(&b, "    * Look at `outer` and say %d. >> y\n", variant)
	default:
		fmt.Fprintf(&b, "    * Say %d. >> y\n", variant)
	}
	text := b.String()
	if r.IntN(3) == 0 {
		text = strings.ReplaceAll(text, "    ", "  ")
	}
	if r.IntN(4) == 0 {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return text
}

// randomSkills are skills whose ops come from a small set, so that many are alike.
func randomSkills(r *rand.Rand) skills {
	out := skills{}
	for i := range 2 + r.IntN(5) {
		name := fmt.Sprintf("skill-%d", i)
		files := bundle.Memory{}
		steps := "* bind outer = \"o\"\n"
		ops := ""
		for n := range 8 {
			if r.IntN(4) == 0 {
				continue
			}
			steps += fmt.Sprintf("* OP_%d << outer >> r%d\n", n, n)
			if text := randomOp(r, n, 1+r.IntN(2)); r.IntN(4) == 0 {
				files[fmt.Sprintf("references/ops/op-%d.md", n)] = bundle.MemoryFile{Data: []byte(text)}
			} else if n%2 == 0 { // those of level 2 stand last
				ops += text + "\n"
			} else {
				ops = text + "\n" + ops
			}
		}
		for n := range 4 {
			files[fmt.Sprintf("references/f%d.md", n)] = bundle.MemoryFile{Data: []byte(fmt.Sprint("text ", n, r.IntN(8)/7))}
		}
		if r.IntN(5) == 0 {
			steps += "* Read `references/f2.md` >> f2\n"
		}
		if ops != "" {
			files["references/ops.md"] = bundle.MemoryFile{Data: []byte("# Ops\n\n" + ops)}
		}
		files["SKILL.md"] = bundle.MemoryFile{Data: []byte("---\nname: " + name + "\ndescription: d\n---\n\n## Tree\n\n" + steps)}
		out[name] = files
	}
	return out
}

// meanings counts the definitions of each op by its name and what it says.
func meanings(t *testing.T, s skills) map[string]int {
	t.Helper()
	out := map[string]int{}
	for name := range s {
		for _, op := range load(t, s, name).Ops {
			body := op.Prose
			if op.Tree != nil {
				body += tree.Print(op.Tree)
			}
			out[fmt.Sprint(op.Name, op.Params, op.Outs, body)]++
		}
	}
	return out
}

// Nothing is lost: each meaning that moved is in the result once, and every other as often as before.
func TestRandom(t *testing.T) {
	moved, runs := 0, 80
	if testing.Short() {
		runs = 20
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		given := randomSkills(r)
		least, into := 2+r.IntN(2), "shared-lib"
		if r.IntN(3) == 0 {
			into = "skill-0"
		}
		report, err := refactor.Find(given.systems(), least)
		if err != nil {
			t.Fatal(err)
		}
		e, err := refactor.Extract(given.systems(), report, into)
		if err != nil {
			if len(report.Candidates) > 0 && into == "shared-lib" {
				t.Errorf("seed %d: %d candidates, and %v", seed, len(report.Candidates), err)
			}
			continue
		}
		if into == "shared-lib" && len(e.Moved) != len(report.Candidates) {
			t.Errorf("seed %d: %d of %d candidates moved: %v", seed, len(e.Moved), len(report.Candidates), e.Left)
		}
		moved += len(e.Moved)
		if rules(t, given, report, e, into, least); t.Failed() {
			t.Fatalf("seed %d: %s", seed, show(report))
		}
		was, now := meanings(t, given), meanings(t, given.apply(e))
		if !slices.Equal(slices.Sorted(maps.Keys(was)), slices.Sorted(maps.Keys(now))) {
			t.Fatalf("seed %d: the result has other ops", seed)
		}
		fewer := 0
		for key, n := range was {
			if now[key] == n {
				continue
			}
			if fewer++; now[key] != 1 {
				t.Fatalf("seed %d: %q is defined %d times, before %d", seed, key, now[key], n)
			}
		}
		if fewer != len(e.Moved) {
			t.Fatalf("seed %d: %d ops moved, %d have fewer definitions", seed, len(e.Moved), fewer)
		}
	}
	if moved < runs {
		t.Errorf("%d ops moved in %d runs", moved, runs)
	}
	t.Logf("%d ops moved in %d runs", moved, runs)
}

// FuzzExtract finds what two copies of an op file share, and moves it: no op is lost, and what is left shares nothing.
func FuzzExtract(f *testing.F) {
	f.Add("## GREET << name\n\nSay hello to `name`.\n\n---\n\n### PART\n\n* IF << name is empty\n  * END\n")
	f.Add("# OPS\n\n## AA\n\ntext\n## BB\r\n* AA\r\n\r\n# OPS\n")
	f.Add("\ufeff#### AA\n\n```\n## BB\n")
	f.Add("<!--\n## AA\n-->\n## BB\n\n> **Subagent.** Output contract: `assets/schemas/x.json`.\n")
	f.Fuzz(func(t *testing.T, ops string) {
		given := skills{}
		for _, name := range []string{"a", "b"} {
			given[name] = bundle.Memory{
				"SKILL.md":          {Data: []byte("---\nname: " + name + "\ndescription: d\n---\n\n## Tree\n\n* AA\n* Go on.\n")},
				"references/ops.md": {Data: []byte(ops)},
			}
		}
		r, err := refactor.Find(given.systems(), 2)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := refactor.Find(given.systems(), 2); err != nil || !reflect.DeepEqual(r, again) {
			t.Fatalf("a second Find differs: %v", err)
		}
		e, err := refactor.Extract(given.systems(), r, "shared-lib")
		if err != nil {
			if len(r.Candidates) > 0 {
				t.Fatal(err)
			}
			return
		}
		if len(e.Moved) != len(r.Candidates) {
			t.Fatalf("%d of %d moved: %v", len(e.Moved), len(r.Candidates), e.Left)
		}
		rules(t, given, r, e, "shared-lib", 2)
		if was, now := meanings(t, given), meanings(t, given.apply(e)); len(was) != len(now) {
			t.Errorf("%d meanings before, %d after: %s", len(was), len(now), show(r))
		}
	})
}
