package index

import (
	"context"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// Whatever is asked, in whatever parameter, has an answer, and every handle of it is what it says.
func FuzzQuery(f *testing.F) {
	r := newRepo(f, shop)
	r.update()
	for i, text := range []string{
		"where is the cart", "getUserByID", "sha-256", "SHA-256 of 256 sha256", "Cart.Add", "(*Cart).Add", "cart::Cart::new", "日本語 語", "größe", "_", "-1", "a-1 b-22",
		"timeouts of the gateway", "^func \\w+", "[^\\x00-\\x7f]|", "cart/**", "{a,b}/*.go", `(intersect (grep "cart") (code "Add"))`,
		`(in-file "**" (children-named "Cart" "Add"))`, `(references "Item")`, `(limit 3 (file "**"))`, "\x00\xff", "1234567890123456789012345", "the of a",
	} {
		f.Add(text, byte(i+10))
		f.Add(text, byte(1))
	}
	f.Fuzz(func(t *testing.T, text string, how byte) {
		p := query.Params{ExpandBudget: int(how) * 4}
		switch how % 10 {
		case 0:
			p.Query = text
		case 1:
			p.Pattern = text
		case 2:
			p.Symbol = text
		case 3:
			p.Symbol, p.Kind = text, "definition"
		case 4:
			p.Symbol, p.Kind = text, "reference"
		case 5:
			p.Section = text
		case 6:
			p.Parent, p.Glob = text, "**/*.go"
		case 7:
			p.Pattern, p.Glob = "cart", text
		case 8:
			p.Literal = text
		case 9:
			p.Regex = text
		}
		q, err := p.Compile()
		if err != nil {
			return
		}
		now := &repo{r.Index, t, r.dir}
		got := now.run(q)
		if len(got.Handles)+len(got.RefHandles) > got.TotalMatches {
			t.Errorf("%+v: %d of %d matches", p, len(got.Handles)+len(got.RefHandles), got.TotalMatches)
		}
		if _, err := now.Evidence(context.Background(), q, rank.PackOptions{}); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
	})
}
