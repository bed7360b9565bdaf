package skillify

import (
	"fmt"
	"slices"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// large is a package of 300 pages.
func large() *pkgdoc.Package {
	p := queue()
	page := p.Pages[0]
	p.Pages = nil
	for i := range 300 {
		page.ID = fmt.Sprintf("page%03d", i)
		page.Symbols = []pkgdoc.Symbol{{ID: page.ID, Name: page.ID, Kind: pkgdoc.Function, Signature: page.ID + "(q)"}}
		p.Pages = append(p.Pages, page)
	}
	return p
}

// BenchmarkMerge merges a skill of 300 pages of which a person edited each with another version of all.
func BenchmarkMerge(b *testing.B) {
	was, err := Make(large(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	p := large()
	for i := range p.Pages {
		p.Pages[i].Title += ", again"
	}
	now, err := Make(p, Options{})
	if err != nil {
		b.Fatal(err)
	}
	x, err := ReadIndex(was.File(IndexName))
	if err != nil {
		b.Fatal(err)
	}
	ours, theirs := was.All(), now.All()
	for name := range ours {
		if name != IndexName {
			ours[name] = append(slices.Clip(ours[name]), "\n## Ours\n\nText.\n"...)
		}
	}
	base := &Base{x, was.All()}
	for b.Loop() {
		if m := MergeWith(base, ours, theirs, "queue 2", "abc"); len(m.Conflicts) > 0 {
			b.Fatal(m.Conflicts)
		}
	}
}
