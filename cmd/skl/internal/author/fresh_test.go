package author_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/author"
	"github.com/skl-project/skl/spec/diag"
)

// TestRenewal makes a skill of a package, compares it, and brings it to the next version with what a person wrote.
func TestRenewal(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	release := func(version, usage string) {
		put("bag/DESCRIPTION", "Package: bag\nTitle: Count Words\nVersion: "+version+"\nLicense: MIT\n")
		put("bag/NAMESPACE", "export(bag)\n")
		put("bag/man/bag.Rd", "\\name{bag}\n\\alias{bag}\n\\title{Make a bag}\n\\usage{"+usage+"}\n")
	}
	a := open(t, dir)
	release("1.0.0", "bag(text)")
	if _, err := a.Skillify(t.Context(), author.SkillifyRequest{Package: "./bag", Output: "skills", Version: "1"}); err != nil {
		t.Fatal(err)
	}
	check := func() author.Fresh {
		t.Helper()
		list, err := a.Freshness(t.Context(), author.FreshRequest{Skills: []string{"skills/bag"}, From: "./bag", Version: "1"})
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		return list[0]
	}
	if f := check(); !f.Holds() || f.Words() != "current" {
		t.Errorf("just made it is %s", f.Words())
	}
	release("1.1.0", "bag(text, n)")
	if f := check(); f.Holds() || f.Drift != "minor" || len(f.API.Changed) != 1 {
		t.Errorf("with a new version it is %+v", f)
	}
	md := filepath.Join(dir, "skills", "bag", "SKILL.md")
	text, err := os.ReadFile(md)
	if err != nil {
		t.Fatal(err)
	}
	put("skills/bag/SKILL.md", string(text)+"\n## Ours\n\nCount twice.\n")
	q := author.RenewRequest{Skill: "skills/bag", From: "./bag", Version: "1"}
	if r, err := a.Renew(t.Context(), q); err != nil || r.Result != author.HasEdits || len(r.Edited) != 1 {
		t.Errorf("without a merge: %+v, %v", r, err)
	}
	q.Merge = true
	if r, err := a.Renew(t.Context(), q); err != nil || r.Result != author.Renewed || len(r.Kept) != 1 {
		t.Errorf("with a merge: %+v, %v", r, err)
	}
	if text, err = os.ReadFile(md); err != nil || !strings.Contains(string(text), "Count twice.") || !strings.Contains(string(text), "# `bag` 1.1.0") {
		t.Errorf("it says %s, %v", text, err)
	}
	if f := check(); !f.Holds() || !f.ByHand {
		t.Errorf("merged it is %s", f.Words())
	}
	q.Skill = "bag"
	if _, err := a.Renew(t.Context(), q); !errors.Is(err, diag.Code("not_made")) {
		t.Errorf("of a folder that is no skill: %v", err)
	}
}
