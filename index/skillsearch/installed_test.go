package skillsearch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/install/roots"
)

func write(tb testing.TB, file, text string) {
	tb.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		tb.Fatal(err)
	}
}

func TestInstalled(t *testing.T) {
	project, home := t.TempDir(), t.TempDir()
	text := "---\nname: pdf-merge\ndescription: Merges PDF files.\nallowed-tools: Bash(pdftk:*) Read\nmetadata:\n  version: 1.2.0\n  tags: '[\"pages\", \"print\"]'\n---\n# Merge\n\nJoin them.\n"
	write(t, filepath.Join(project, ".agents", "skills", "pdf-merge", "SKILL.md"), text)
	write(t, filepath.Join(project, ".agents", "skills", "pdf-merge", "scripts", "join.py"), "pass\n")
	write(t, filepath.Join(home, ".agents", "skills", "pdf-merge", "SKILL.md"), "---\nname: pdf-merge\ndescription: An older copy.\n---\n")
	write(t, filepath.Join(home, ".agents", "skills", "broken", "SKILL.md"), "no frontmatter")
	system := fstest.MapFS{"skl-help/SKILL.md": {Data: []byte("---\nname: skl-help\ndescription: Helps with skl.\n---\n# Help\n")}}
	cfg := roots.Config{Project: project, Home: home, ProjectTrusted: true, System: system}

	skills, err := Installed(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, k := range skills {
		names = append(names, k.Name)
	}
	if want := []string{"pdf-merge", "skl-help"}; !slices.Equal(names, want) {
		t.Fatalf("found %q, want %q", names, want)
	}
	k := skills[0]
	if k.Description != "Merges PDF files." || k.Version != "1.2.0" || !k.Installed || k.Verified || k.Tokens != (len(text)+3)/4 || string(k.Body) != "# Merge\n\nJoin them.\n" ||
		!slices.Equal(k.Tags, []string{"pages", "print"}) || !slices.Equal(k.Files, []string{"SKILL.md", "scripts/join.py"}) || len(k.Tools) == 0 || k.Digest == "" || k.Source != "project" {
		t.Errorf("%+v", k)
	}
	if skills[1].Path != "" || !strings.HasPrefix(string(skills[1].Body), "# Help") {
		t.Errorf("embedded: %+v", skills[1])
	}

	cfg.ProjectTrusted = false
	skills, err = Installed(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(skills, func(k Skill) bool { return k.Description == "Merges PDF files." }); i >= 0 && skills[i].Trust != roots.Untrusted {
		t.Errorf("untrusted: %+v", skills[i])
	}

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if skills, err := Installed(ctx, cfg); !errors.Is(err, context.Canceled) || skills != nil {
		t.Errorf("%v, %v", skills, err)
	}
}

// A long file is read in part, and its cost is that of the whole.
func TestLongSkill(t *testing.T) {
	dir := t.TempDir()
	text := "---\nname: long\ndescription: Long.\n---\n" + strings.Repeat("word ", 1<<18)
	write(t, filepath.Join(dir, ".agents", "skills", "long", "SKILL.md"), text)
	skills, err := Installed(t.Context(), roots.Config{Project: dir, ProjectTrusted: true})
	if err != nil || len(skills) != 1 {
		t.Fatal(skills, err)
	}
	if k := skills[0]; len(k.Body) != MaxBody || k.Tokens != (len(text)+3)/4 {
		t.Errorf("%d bytes, %d tokens", len(k.Body), k.Tokens)
	}
}

func BenchmarkInstalled(b *testing.B) {
	home := b.TempDir()
	for i := range 400 {
		dir := filepath.Join(home, ".agents", "skills", fmt.Sprintf("skill-%03d", i))
		write(b, filepath.Join(dir, "SKILL.md"), fmt.Sprintf("---\nname: skill-%03d\ndescription: Does the work number %d. Use when it must be done.\n---\n%s", i, i, strings.Repeat("Some words of a body.\n", 400)))
		write(b, filepath.Join(dir, "scripts", "run.py"), "pass\n")
	}
	cfg := roots.Config{Home: home, Caches: roots.CachesIn(b.TempDir())}
	for b.Loop() {
		skills, err := Installed(b.Context(), cfg)
		if err != nil || len(skills) != 400 {
			b.Fatal(len(skills), err)
		}
	}
}
