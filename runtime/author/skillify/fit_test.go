package skillify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// TestFitted leaves out the pages that need most until a skill is within its limit, and names them.
func TestFitted(t *testing.T) {
	p := &pkgdoc.Package{Ecosystem: "go", Name: "example.com/big", Version: "1.0.0"}
	for _, size := range []int{3, 2000, 40, 1500} {
		id := fmt.Sprintf("p%d", size)
		page := pkgdoc.Page{ID: id, Title: "Names", File: id}
		for i := range size {
			name := fmt.Sprintf("%s.Name%d", id, i)
			page.Symbols = append(page.Symbols, pkgdoc.Symbol{ID: name, Name: name, Kind: pkgdoc.Constant, Text: "It is a name."})
		}
		p.Pages = append(p.Pages, page)
	}
	before := p.Digest()
	for _, c := range []struct {
		most limit
		out  []string
	}{
		{limit{5000, 50 << 20}, nil},
		{limit{5000, 500_000}, []string{"p2000"}},
		{limit{5000, 100_000}, []string{"p2000", "p1500"}},
		{limit{12, 50 << 20}, []string{"p2000"}},
	} {
		s, err := fitted(p, Options{}, c.most)
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, n := range s.Report.Notes {
			id, _, _ := strings.Cut(n.Text, " is left out")
			out = append(out, strings.Trim(id, "`"))
		}
		if fmt.Sprint(out) != fmt.Sprint(c.out) || s.Report.Bytes > c.most.bytes || s.Report.Files > c.most.files {
			t.Errorf("%+v: %q are left out, want %q; %d bytes, %d files", c.most, out, c.out, s.Report.Bytes, s.Report.Files)
		}
		if says := strings.Contains(string(s.File("SKILL.md")), "Left out for size: `p2000`"); says != (c.out != nil) {
			t.Errorf("%+v:\n%s", c.most, s.File("SKILL.md"))
		}
	}
	if p.Digest() != before {
		t.Error("the package was changed")
	}
}
