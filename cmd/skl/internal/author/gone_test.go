package author_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/author"
)

// A skill names nothing that is gone until the package does not have it any more, and then says where.
func TestNamesGone(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	release := func(version, types string) {
		t.Helper()
		for name, text := range map[string]string{
			"package.json": `{"name":"bag","version":"` + version + `","description":"Counts words.","types":"index.d.ts"}`,
			"index.d.ts":   types,
		} {
			name = filepath.Join(dir, "node_modules", "bag", name)
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	a := open(t, dir)
	const count = "/** Counts words. */\nexport declare function count(text: string): number;\n"
	release("1.0.0", count+"/** Makes a bag. */\nexport declare function bag(text: string): string[];\n")
	if _, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "npm:bag", Output: "skills", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(dir, "skills", "bag")
	main := filepath.Join(made, "SKILL.md")
	text, err := os.ReadFile(main)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(main, append(text, "\nA bag is made by `bag`.\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := a.NamesGone(t.Context(), made, "1"); got != nil {
		t.Errorf("of this version: %q", got)
	}
	release("2.0.0", count)
	got := a.NamesGone(t.Context(), made, "1")
	if len(got) == 0 || !strings.Contains(strings.Join(got, "\n"), " names bag#bag, which bag does not have") {
		t.Errorf("without bag: %q", got)
	}
	if got := a.NamesGone(t.Context(), filepath.Join(dir, "node_modules"), "1"); got != nil {
		t.Errorf("no skill: %q", got)
	}
}
