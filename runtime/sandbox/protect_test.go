//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"testing"
	"os"
	"path/filepath"
)

func TestX(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/.git/config", "x")
	put(t, dir+"/CLAUDE.md", "x")
	must(t, os.Symlink("CLAUDE.md", dir+"/AGENTS.md"))
	var out bytes.Buffer
	var list []string
	for _, n := range []string{".git/config", ".git/hooks", "CLAUDE.md", "AGENTS.md", ".claude", ".vscode/tasks.json"} {
		list = append(list, filepath.Join(dir, n))
	}
	r, err := Run(context.Background(), Command{Argv: []string{"bash", "-c", "cat /proc/self/mountinfo; ls -laR; rm -rf .claude AGENTS.md CLAUDE.md .git; echo x > .git/config; mv .git g; mkdir .claude/x; mkdir .vscode; echo a > .vscode/tasks.json; ln -sf x AGENTS.md; ln .git/config g; ls -la; cat AGENTS.md"}, Dir: dir, Stdout: &out, Stderr: &out, Protect: list})
	t.Logf("%s\n%+v %v", out.String(), r, err)
	e, _ := os.ReadDir(dir)
	t.Log(e)
}

func put(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, []byte(text), 0o644))
}
