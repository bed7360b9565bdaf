package public

import (
	"flag"
	"io/fs"
	"os"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/packed"
	"github.com/skl-project/skl/spec/ref"
)

var update = flag.Bool("update", false, "pack skills.txt")

// TestPacked holds that the program carries the list as the file has it.
func TestPacked(t *testing.T) {
	want, err := os.ReadFile("skills.txt")
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("skills.gz", packed.Pack(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text() != string(want) {
		t.Error("skills.gz is not what skills.txt says; go test ./index/skillsearch/public -run TestPacked -update writes it")
	}
}

// TestList wants every line to be a skill that install can be asked for, under a reference that no other line has.
func TestList(t *testing.T) {
	if *update {
		t.Skip("the list is being packed")
	}
	if len(All()) < 500 || Repositories() < 15 {
		t.Fatalf("%d skills of %d repositories", len(All()), Repositories())
	}
	seen := map[string]bool{}
	for _, s := range All() {
		for _, text := range []string{s.Ref(), s.Exact()} {
			if _, err := ref.Parse(text); err != nil {
				t.Errorf("%s: %v", text, err)
			}
		}
		if s.Path != "" && !fs.ValidPath(s.Path) || diag.Printable(s.Name+s.Words) != s.Name+s.Words {
			t.Errorf("%+v", s)
		}
		if seen[s.Ref()] {
			t.Errorf("%s is listed twice", s.Ref())
		}
		seen[s.Ref()] = true
	}
}

// TestTwice holds that a name which a repository has twice is told apart by the path.
func TestTwice(t *testing.T) {
	var got []string
	for _, s := range parse("acme/a 1\n\tpdf\tskills/pdf\tforms\n\tpdf\tother/pdf\t\nacme/b 2\n\tpdf\t\ttables merge\n") {
		got = append(got, s.Ref(), s.Exact())
	}
	want := []string{
		"github:acme/a//skills/pdf", "github:acme/a//skills/pdf", "github:acme/a//other/pdf", "github:acme/a//other/pdf",
		"acme/b/pdf", "github:acme/b",
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("%q, want %q", got, want)
		}
	}
}
