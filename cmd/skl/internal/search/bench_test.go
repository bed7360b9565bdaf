package search_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
)

// How long does a process that stays look for the skill of a task among 1,500 installed ones?
func BenchmarkSuggest(b *testing.B) {
	ctx, p := context.Background(), scopetest.New(b)
	for i := range 1500 {
		p.Skill(".agents/skills", fmt.Sprintf("skill-%d", i), fmt.Sprintf("# Case %d\n\nTurn page %d of the book, and read what part %d of it says.\n", i, i*7, i*13))
	}
	if err := p.Scope().SetTrust(p.Project, true); err != nil {
		b.Fatal(err)
	}
	s := open(p)
	if _, err := s.Suggest(ctx, "turn a page of the book", 5); err != nil {
		b.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // a cache does not believe what is younger than a tick of the clock
	for b.Loop() {
		if a, err := s.Suggest(ctx, "turn a page of the book", 5); err != nil || len(a.Skills) == 0 {
			b.Fatalf("%+v, %v", a, err)
		}
	}
}
