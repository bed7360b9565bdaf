package spell

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{{"pdf", "pdf", 0}, {"pfd", "pdf", 1}, {"tool", "tools", 1}, {"", "ab", 2}, {"allow", "deny", 5}, {"kitten", "sitting", 3}} {
		if got, back := Distance(tt.a, tt.b, 9), Distance(tt.b, tt.a, 9); got != tt.want || back != tt.want {
			t.Errorf("Distance(%q, %q) = %d, and back %d; want %d", tt.a, tt.b, got, back, tt.want)
		}
		if got := Distance(tt.a, tt.b, 2); got != min(tt.want, 2) {
			t.Errorf("Distance(%q, %q) with limit 2 = %d", tt.a, tt.b, got)
		}
	}
}

// A limit only cuts off.
func TestLimit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		b := make([]byte, r.IntN(9))
		for i := range b {
			b[i] = "abc"[r.IntN(3)]
		}
		return string(b)
	}
	for range 20_000 {
		a, b := word(), word()
		whole := Distance(a, b, 99)
		for limit := 1; limit < 9; limit++ {
			if got := Distance(a, b, limit); got != min(whole, limit) {
				t.Fatalf("Distance(%q, %q, %d) = %d, without a limit %d", a, b, limit, got, whole)
			}
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"brainstorming", "writing-plans", "pdf", "pptx", "pdf-forms", "xlsx"}
	for word, want := range map[string][]string{
		"brainstormin": {"brainstorming"},
		"PDF":          {"pdf", "pdf-forms"},
		"pfd":          {"pdf"},
		"plans":        {"writing-plans"},
		"zzzzzz":       nil,
		"":             nil,
	} {
		if got := Nearest(word, names, 2); !slices.Equal(got, want) {
			t.Errorf("Nearest(%q) = %v, want %v", word, got, want)
		}
	}
}

func ExampleNearest() {
	fmt.Println(Nearest("isntall", []string{"info", "install", "init"}, 1))
	// Output: [install]
}
