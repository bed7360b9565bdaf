package skillsearch

import (
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write testdata/results.json")

// An ask is a task and the skills that are right for it; none for a task that no skill is for.
type ask struct {
	set, task string
	right     []string
}

// Measures of a set of asks.
type measures struct {
	Asks   int     `json:"asks"`
	First  float64 `json:"recall_at_1"`
	Third  float64 `json:"recall_at_3"`
	MRR    float64 `json:"mrr"`
	Unsaid float64 `json:"refused"` // share that got "no good match" although there is one; of asks without one, those that did not are false offers
}

func measure(tb testing.TB, search func(ask) Answer, asks []ask, skills []Skill, verbose bool) measures {
	var m measures
	for _, k := range asks {
		a := search(k)
		m.Asks++
		if a.NoGoodMatch {
			m.Unsaid++
		}
		at := slices.IndexFunc(a.Skills, func(s Match) bool { return slices.Contains(k.right, skills[s.Index].Name) })
		if at == 0 {
			m.First++
		}
		if at >= 0 && at < 3 {
			m.Third++
		}
		if at >= 0 {
			m.MRR += 1 / float64(at+1)
		}
		if verbose && (at < 0 || at >= 3) && len(k.right) > 0 {
			var top []string
			for _, s := range a.Skills[:min(3, len(a.Skills))] {
				top = append(top, fmt.Sprintf("%s %.1f", s.Name, s.Score))
			}
			tb.Logf("%s %v at %d: %.160q\n    %s", k.set, k.right, at+1, k.task, strings.Join(top, " | "))
		}
	}
	n := float64(max(m.Asks, 1))
	m.First, m.Third, m.MRR, m.Unsaid = m.First/n, m.Third/n, m.MRR/n, m.Unsaid/n
	return m
}

// triggerAsks takes what descriptions say about when to use a skill out of them, and asks for the first such sentence.
func triggerAsks(skills []Skill) (rest []Skill, asks []ask) {
	rest = slices.Clone(skills)
	for i, k := range skills {
		c := ReadClauses(k.Description)
		if len(c.When) == 0 {
			continue
		}
		if len(strings.Fields(c.When[0])) < 6 {
			continue
		}
		rest[i].Description = c.What
		asks = append(asks, ask{"a", c.When[0], []string{k.Name}})
	}
	return rest, asks
}

// headingAsks takes the bodies away, and asks for the headings of one, but for its title.
func headingAsks(skills []Skill) (rest []Skill, asks []ask) {
	rest = slices.Clone(skills)
	usual := []string{"overview", "usage", "introduction", "examples", "example", "references", "when to use", "workflow", "instructions", "prerequisites", "output", "rules",
		"notes", "process", "quick start", "resources", "troubleshooting", "best practices", "limitations", "steps", "purpose", "inputs", "role", "scope", "when to use this skill", "output format"}
	for i, k := range skills {
		rest[i].Body, rest[i].Headings = nil, []string{}
		var some []string
		for _, h := range k.Headings[min(1, len(k.Headings)):] {
			h = strings.Trim(h, " *:#")
			if !slices.Contains(usual, strings.ToLower(h)) && len(some) < 5 {
				some = append(some, h)
			}
		}
		if len(some) >= 3 {
			asks = append(asks, ask{"b", strings.Join(some, ". "), []string{k.Name}})
		}
	}
	return rest, asks
}

func halves(asks []ask) (tuning, held []ask) {
	for _, a := range asks {
		key := a.task
		if len(a.right) > 0 {
			key = a.right[0]
		}
		if judging(key) {
			held = append(held, a)
		} else {
			tuning = append(tuning, a)
		}
	}
	return tuning, held
}

// taskAsks reads testdata/tasks.tsv.
func taskAsks(tb testing.TB) (some, none []ask) {
	data, err := os.ReadFile("testdata/tasks.tsv")
	if err != nil {
		tb.Fatal(err)
	}
	for l := range strings.Lines(string(data)) {
		if strings.HasPrefix(l, "#") {
			continue
		}
		task, right, ok := strings.Cut(strings.TrimSpace(l), "\t")
		switch {
		case !ok:
			tb.Fatalf("testdata/tasks.tsv: %q is no task and names", l)
		case right == "-":
			none = append(none, ask{"none", task, nil})
		default:
			some = append(some, ask{"c", task, strings.Split(right, ",")})
		}
	}
	return some, none
}

// slips gives each task two more forms: with a slip of the fingers in its longest words, and with other words for the usual verbs.
func slips(asks []ask) (all []ask) {
	other := map[string]string{"convert": "transform", "turn": "change", "write": "author", "create": "produce", "make": "produce", "build": "construct", "add": "put in", "review": "check over",
		"fix": "repair", "find": "discover", "generate": "produce", "draw": "paint", "speed": "accelerate", "deploy": "roll out", "publish": "release", "migrate": "move", "replace": "swap", "compare": "contrast",
		"test": "check", "tests": "checks", "document": "describe", "translate": "render", "plan": "outline", "slow": "sluggish", "expensive": "costly", "bill": "invoice", "set": "put", "list": "enumerate",
		"send": "transmit", "push": "upload", "record": "capture", "commit": "check in", "combine": "join", "shrink": "downscale", "folder": "directory", "explain": "clarify", "reduce": "lower", "upgrade": "bump",
		"start": "begin", "prepare": "get ready", "draft": "compose", "errors": "faults", "website": "site", "query": "request", "bug": "defect", "picture": "photo", "scaffold": "set up", "run": "execute"}
	for _, a := range asks {
		words := strings.Fields(a.task)
		longest := slices.Clone(words)
		slices.SortStableFunc(longest, func(x, y string) int { return len(y) - len(x) })
		var slip, same []string
		for _, w := range words {
			if len(w) >= 6 && slices.Contains(longest[:min(2, len(longest))], w) {
				h := fnv.New32a()
				h.Write([]byte(w + a.task))
				i := 2 + int(h.Sum32()>>8)%(len(w)-3)
				switch h.Sum32() % 4 {
				case 0:
					slip = append(slip, w[:i]+w[i+1:]) // left out
				case 1:
					slip = append(slip, w[:i]+w[i:i+1]+w[i:]) // twice
				case 2:
					slip = append(slip, w[:i]+w[i+1:i+2]+w[i:i+1]+w[i+2:]) // swapped
				default:
					slip = append(slip, w[:i]+string(rune('a'+(h.Sum32()>>16)%26))+w[i+1:]) // another
				}
			} else {
				slip = append(slip, w)
			}
			if o, ok := other[strings.ToLower(w)]; ok {
				w = o
			}
			same = append(same, w)
		}
		for _, form := range [][]string{slip, same} {
			if task := strings.Join(form, " "); task != a.task {
				all = append(all, ask{"d", task, a.right})
			}
		}
	}
	return all
}

func TestTry(t *testing.T) {
	skills := corpus(t)
	t.Log(len(skills))
	rest, asks := triggerAsks(skills)
	s := New(rest, Options{})
	tune, held := halves(asks)
	f := func(a ask) Answer { return s.Search(a.task, Context{Limit: 20}) }
	t.Logf("a tuning %+v", measure(t, f, tune, skills, true))
	_ = held
	rest, asks = headingAsks(skills)
	s = New(rest, Options{})
	tune, held = halves(asks)
	t.Logf("b tuning %+v", measure(t, f, tune, skills, false))
	s = New(skills, Options{})
	some, none := taskAsks(t)
	tune, held = halves(some)
	t.Logf("c tuning %+v", measure(t, f, tune, skills, true))
	tune, held = halves(slips(some))
	t.Logf("d tuning %+v", measure(t, f, tune, skills, true))
	tune, held = halves(none)
	t.Logf("none tuning %+v", measure(t, f, tune, skills, true))
}

func BenchmarkNew(b *testing.B) {
	skills := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		New(skills, Options{})
	}
}

func BenchmarkSearch(b *testing.B) {
	skills := corpus(b)
	s := New(skills, Options{})
	b.ReportAllocs()
	for b.Loop() {
		s.Search("merge two pdf files and rotate the pages of the result", Context{})
	}
}
