package sandbox

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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

// BenchmarkProtect measures how much the protection of a project adds to a start.
func BenchmarkProtect(b *testing.B) {
	for _, tier := range tiers() {
		b.Run(tier.String(), func(b *testing.B) {
			dir := b.TempDir()
			c := Command{Argv: []string{"/bin/true"}, Dir: dir, ceiling: tier}
			for _, name := range []string{".git/hooks", ".claude/skills", ".github"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
					b.Fatal(err)
				}
			}
			for _, name := range []string{".git/config", ".git/hooks/pre-commit.sample", "CLAUDE.md", ".mcp.json"} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte("x"), 0o644); err != nil {
					b.Fatal(err)
				}
			}
			for _, name := range strings.Fields(".git/config .git/hooks CLAUDE.md .claude .cursor .codex .mcp.json .bashrc .envrc .zshrc " +
				".profile .github/skills .github/hooks .vscode/tasks.json") {
				c.Protect = append(c.Protect, filepath.Join(dir, name))
			}
			for b.Loop() {
				if _, err := Run(context.Background(), c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
