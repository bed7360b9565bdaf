package sandbox

import (
	"context"
	"os/exec"
	"testing"
)

// How long does a program wait before it runs? Compare the tiers with plain; the goal is 15 ms more.
func BenchmarkStart(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, tier := range tiers() {
		b.Run(tier.String(), func(b *testing.B) {
			dir := b.TempDir()
			for b.Loop() {
				if _, err := Run(context.Background(), Command{Argv: []string{"/bin/true"}, Dir: dir, ceiling: tier}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
