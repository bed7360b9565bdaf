package audit

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// A sample is a script and what a person says that it does.
type sample struct {
	name, ext, src string
	labels         []string
}

func samples(t testing.TB) (out []sample) {
	src, err := os.ReadFile("testdata/sample.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range strings.Split("\n"+string(src), "\n=== ")[1:] {
		head, body, _ := strings.Cut(text, "\n")
		name, labels, ok := strings.Cut(head, ":")
		ext, _, slash := strings.Cut(name, "/")
		if !ok || !slash {
			t.Fatalf("bad head %q", head)
		}
		out = append(out, sample{name, ext, body + "\n", strings.Fields(labels)})
	}
	return out
}

// TestSample measures recall and precision of programs, hosts and environment variables on scripts that were labelled by
// hand, and that nothing that cannot be decided is passed over.
func TestSample(t *testing.T) {
	list := samples(t)
	if len(list) < 60 {
		t.Fatalf("there are %d samples", len(list))
	}
	var right, missed, wrong int
	for _, s := range list {
		set := Read([]File{{Path: "scripts/main." + s.ext, Data: []byte(s.src)}}).Set()
		var got []string
		own := "run:" + interpreters()[languages()[s.ext]]
		for _, p := range set {
			text := p.String()
			if slices.Contains([]Kind{Run, Net, Env, Dynamic}, p.Kind) && (text != own || slices.Contains(s.labels, own)) {
				got = append(got, text)
			}
		}
		for _, l := range s.labels {
			// called drops .exe
			if l = strings.TrimSuffix(l, ".exe"); slices.Contains(got, l) {
				right++
			} else {
				missed++
				t.Logf("%s: missed %s", s.name, l)
				if l == "dynamic-exec" {
					t.Errorf("%s: what cannot be decided is not said", s.name)
				}
			}
		}
		for _, g := range got {
			if !slices.Contains(s.labels, g) && !slices.Contains(s.labels, g+".exe") {
				wrong++
				t.Logf("%s: %s is not in the script", s.name, g)
			}
		}
	}
	recall, precision := float64(right)/float64(right+missed), float64(right)/float64(right+wrong)
	t.Logf("%d scripts, recall %.3f, precision %.3f", len(list), recall, precision)
	if recall < 0.95 || precision < 0.9 {
		t.Errorf("recall %.3f, precision %.3f; want 0.95 and 0.9", recall, precision)
	}
}
