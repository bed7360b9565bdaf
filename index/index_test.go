package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// Answers to questions in the small repository of shop_test.go, the best first. A question with a parenthesis first is
// an expression, others are words. A want that begins with "first" is only of the first handles; "any order" means so.
func TestQuery(t *testing.T) {
	r := newRepo(t, shop)
	for _, tt := range []struct{ name, ask, want string }{
		{"a word of a name", "refund", "first: pay/gateway.py refund"},
		{"all words in one place", "total price", "first: cart/cart.go Total; cart/cart.go computeTotalPrice"},
		{"camel case as one word", "computeTotalPrice", "cart/cart.go computeTotalPrice"},
		{"the same in snake case", "compute_total_price", "cart/cart.go computeTotalPrice"},
		{"a name of parts, in another order", "totalCompute", "cart/cart.go computeTotalPrice"},
		{"words in headings come before those in text", "gateway timeout", "first: README.md Timeouts of the gateway"},
		{"an apostrophe", "isn't", "notes/plain.txt chunk"},
		{"punctuation as it stands", "cents / 100", "web/app.ts formatPrice"},
		{"a call", "c.Total()", "cart/cart.go computeTotalPrice; cart/cart_test.go TestTotal"},
		{"a question", "where is the price formatted", "first: web/app.ts formatPrice"},
		{"a constant, and who uses it", "MaxItems", "cart/cart.go MaxItems; cart/cart.go Add"},
		{"Chinese characters", "税金", "notes/日本語.md 税金の計算"},
		{"Japanese after a word", "milk 税金", "any order: notes/plain.txt chunk; notes/日本語.md 税金の計算"},
		{"a word that is nowhere", "zzz", ""},
		{"a word of a path counts beside one of the text", "vendor cart", "first: vendor/x/cart.go Cart"},
		{"text that is not UTF-8 is found", "price_of", "first: legacy/latin1.c price_of"},

		{"code by name", `(code "Cart")`, "cart/cart.go Cart; web/types.d.ts Cart; vendor/x/cart.go Cart"},
		{"code by part of a name", `(code "checkout")`, "web/app.ts CheckoutForm"},
		{"code by words of a name", `(code "priceTotal")`, "cart/cart.go computeTotalPrice"},
		{"code by infix", `(code "outFor")`, "web/app.ts CheckoutForm"},
		{"definition in any case", `(definition "ADD")`, "cart/cart.go Add; vendor/x/cart.go Add"},
		{"definition is exact", `(definition "checkout")`, ""},
		{"definition by package", `(definition "x.Add")`, "vendor/x/cart.go Add"},
		{"definition by type", `(definition "PaymentGateway.charge")`, "pay/gateway.py charge"},
		{"definition of an arrow function", `(definition "renderCart")`, "web/app.ts renderCart"},
		{"definition of a macro", `(definition "percent")`, "tax/src/lib.rs percent"},
		{"definition of an enum", `(definition "Country")`, "tax/src/lib.rs Country"},
		{"references", `(references "Total")`, "cart/cart.go call c.Total; cart/cart_test.go call c.Total"},
		{"references by qualifier", `(references "retry.twice")`, "pay/gateway.py call retry.twice"},
		{"references of several", `(union (references "Total") (references "twice"))`, "cart/cart.go call c.Total; pay/gateway.py call retry.twice; cart/cart_test.go call c.Total"},
		{"references within files", `(in-file "*_test.go" (references "Total"))`, "cart/cart_test.go call c.Total"},
		{"references that are not there", `(in-file "*.md" (references "Total"))`, ""},
		{"nodes around references", `(intersect (references "Total") (grep "tax"))`, "cart/cart.go computeTotalPrice"},
		{"section in any case", `(section "STARTED")`, "README.md Getting started"},
		{"file", `(file "*.md")`, "any order: README.md file; notes/日本語.md file"},
		{"file by its path", `(file "config/shop.yaml")`, "config/shop.yaml file"},
		{"children", `(children "PaymentGateway")`, "any order: pay/gateway.py charge; pay/gateway.py refund; pay/gateway.py _post; pay/gateway.py TIMEOUT"},
		{"children of a heading", `(children "Configuration")`, "first: README.md Timeouts of the gateway"},
		{"children by name", `(children-named "Cart" "TOTAL")`, "cart/cart.go Total"},
		{"in-file", `(in-file "web/**" (grep "cart"))`, "any order: web/app.ts renderCart; web/types.d.ts Cart; web/app.ts chunk"},
		{"union", `(union (definition "Total") (grep "milk"))`, "any order: cart/cart.go Total; notes/plain.txt chunk"},
		{"union has each once", `(union (definition "Total") (definition "total"))`, "cart/cart.go Total"},
		{"intersect keeps what lies within", `(intersect (code "PaymentGateway") (grep "amount"))`, "any order: pay/gateway.py charge; pay/gateway.py refund; pay/gateway.py _post"},
		{"intersect whichever comes first", `(intersect (grep "amount") (code "PaymentGateway"))`, "any order: pay/gateway.py charge; pay/gateway.py refund; pay/gateway.py _post"},
		{"intersect with files", `(intersect (file "*.py") (definition "charge"))`, "pay/gateway.py charge"},
		{"limit", `(limit 1 (code "Cart"))`, "cart/cart.go Cart"},
		{"limit of parts takes the best of each", `(union (limit 1 (code "Cart")) (limit 1 (grep "gateway timeout")))`, "any order: cart/cart.go Cart; README.md Timeouts of the gateway"},
		{"the best of each, not what has a little of both", `(in-file "c*/**" (union (limit 1 (grep "cart")) (limit 1 (grep "gateway"))))`, "cart/cart.go Cart"},
		{"literal", `(literal "c.items")`, "any order: cart/cart.go Add; cart/cart.go Total"},
		{"literal over lines", `(literal " €\";\n}")`, "web/app.ts formatPrice"},
		{"literal in one case", `(literal "C.ITEMS")`, ""},
		{"regex", `(regex "return \\w+\\.charge\\(amount")`, "pay/gateway.py charge_card"},
		{"regex in any case", `(regex "(?i)COMPUTETOTAL")`, "cart/cart.go computeTotalPrice"},
		{"the end of a line with \\r\\n", `(regex "second\\(\\);$")`, "web/crlf.js first"},
		{"an ignored file", `(literal "package out")`, ""},
		{"an ignored pattern", "debug", ""},
		{"a binary file", `(literal "IHDR")`, ""},
		{"an empty file", `(file "empty.txt")`, "empty.txt file"},
		{"a hidden directory", `(literal "on: push")`, ".github/ci.yml chunk"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := &repo{r.Index, t, r.dir}
			got := r.names(tt.ask)
			kind, list, ok := strings.Cut(tt.want, ": ")
			if !ok || strings.Contains(kind, "/") {
				kind, list = "", tt.want
			}
			var want []string
			if list != "" {
				want = strings.Split(list, "; ")
			}
			switch kind {
			case "first":
				got = got[:min(len(got), len(want))]
			case "any order":
				slices.Sort(got)
				slices.Sort(want)
			}
			same(t, tt.ask, got, want)
		})
	}
}

// Every form answers with handles that can be expanded to the text they stand for, and with parents that are handles too.
func TestHandlesExpand(t *testing.T) {
	r := newRepo(t, shop)
	for _, ask := range []string{"cart", "the payment gateway", `(file "**")`, `(code "Cart")`, `(section "shop")`, `(literal "e")`, `(regex "^.")`, `(children "PaymentGateway")`} {
		q := compiled(t, ask)
		q.Limit = query.MaxLimit
		for _, h := range r.run(q).Handles {
			e := r.expand(h.ID)
			if len(e.Contents) != 1 {
				t.Errorf("%s: %s %s cannot be expanded: %+v", ask, h.FilePath, h.NodeType, e.FailedIDs)
				continue
			}
			want := query.Content{HandleID: h.ID, FilePath: h.FilePath, LineRange: h.LineRange, TokenCount: h.TokenCount, Content: r.read(h.FilePath)[h.Span.Start:h.Span.End]}
			if got := e.Contents[0]; got != want {
				t.Errorf("%s: expanded to %+v, want %+v", ask, got, want)
			}
			if h.ParentID != "" && len(r.expand(h.ParentID).Contents) != 1 {
				t.Errorf("%s: the parent of %s %s cannot be expanded", ask, h.FilePath, h.Name)
			}
		}
	}
	for _, h := range r.ask(`(references "Total")`).RefHandles {
		if e := r.expand(h.SourceHandle); len(e.Contents) != 1 || !strings.Contains(e.Contents[0].Content, h.Name) {
			t.Errorf("the source of %+v expands to %+v", h, e)
		}
	}
}

func TestHandle(t *testing.T) {
	r := newRepo(t, map[string]string{"a.py": "import x\n\nclass A:\n    def m(self):\n        return 'needle'\n"})
	got := r.ask(`(literal "needle")`).Handles
	if len(got) != 1 {
		t.Fatalf("%d handles", len(got))
	}
	h := got[0]
	h.Score = 0
	text := r.read("a.py")
	start := strings.Index(text, "def m")
	want := query.Handle{ID: query.ID("a.py", chunk.Method, start, len(text)-1), FilePath: "a.py", NodeType: "method", Name: "m", Parent: "A",
		ParentID: query.ID("a.py", chunk.Class, strings.Index(text, "class"), len(text)-1), Span: query.Span{Start: start, End: len(text) - 1},
		LineRange: [2]int{4, 5}, TokenCount: h.TokenCount, Preview: "def m(self): return 'needle'", MatchLine: 5}
	if n := chunk.Tokens([]byte(text[start : len(text)-1])); max(n, h.TokenCount)-min(n, h.TokenCount) > 1 {
		t.Errorf("%d tokens, alone it has %d", h.TokenCount, n)
	}
	if h != want {
		t.Errorf("got  %+v\nwant %+v", h, want)
	}
	// An id stays the same while path, type and span do, and changes with them.
	r.put("a.py", strings.Replace(text, "needle", "kneels", 1))
	if again := r.ask(`(literal "kneels")`).Handles; again[0].ID != h.ID {
		t.Errorf("after an edit of the same length the id is %s, it was %s", again[0].ID, h.ID)
	}
	r.put("a.py", "#\n"+text)
	if again := r.ask(`(literal "needle")`).Handles; again[0].ID == h.ID {
		t.Error("after a move down the id is the same")
	}
	if e := r.expand(h.ID); len(e.Contents) != 0 || len(e.FailedIDs) != 1 || e.FailedIDs[0].Code != "handle_not_found" {
		t.Errorf("a stale id: %+v", e)
	}
}

// total_matches counts all that match, whatever the limit; truncated says that some were left out.
func TestTotals(t *testing.T) {
	files := map[string]string{}
	for i := range 30 {
		files[fmt.Sprintf("d/f%02d.go", i)] = fmt.Sprintf("package d\n\n"+[]string{"// It is one of five.\n", ""}[min(1, i/5)]+"// Fun%02d does the common thing.\nfunc Fun%02d() { common() }\n\nfunc G%02d() {}\n", i, i, i)
	}
	r := newRepo(t, files)
	for _, tt := range []struct {
		ask   string
		total int
	}{
		{"common", 30}, {"common thing", 30}, {"common five", 30}, {`(literal "common()")`, 30}, {`(regex "^func [FG]")`, 60}, {`(references "common")`, 30}, {`(file "*.go")`, 30},
		{`(in-file "d/f0*.go" (grep "common"))`, 10}, {`(code "Fun0")`, 10}, {`(intersect (grep "common") (grep "thing"))`, 30}, {`(union (grep "common") (definition "G07"))`, 31},
		{`(definition "Fun07")`, 1}, {"nowhere", 0},
	} {
		for _, limit := range []int{1, 5, 16, query.MaxLimit} {
			q := compiled(t, tt.ask)
			q.Limit = limit
			got := r.run(q)
			if n := len(got.Handles) + len(got.RefHandles); got.TotalMatches != tt.total || n != min(limit, tt.total) || got.Truncated != (tt.total > limit) {
				t.Errorf("%s, limit %d: %d handles of %d, truncated %v; want %d", tt.ask, limit, n, got.TotalMatches, got.Truncated, tt.total)
			}
		}
	}
}

// A word with a hyphen before digits is found as one and in two parts; a part that was said before is one of it all the same. What has only
// some of several words comes after what has all.
func TestWordsWithParts(t *testing.T) {
	r := newRepo(t, map[string]string{
		"apart.md": "Digests have 256 bits, by SHA.\n", "one.md": "The sums are of the kind sha256.\n", "half.md": "An old SHA has 160 bits.\n",
		"named.md": "It calls userOf or groupOf.\n", "user.md": "A user of it.\n",
	})
	for ask, want := range map[string][]string{
		"sha-256": {"apart.md", "one.md"}, "SHA-256": {"apart.md", "one.md"}, "256 sha-256": {"apart.md", "one.md"},
		"userOf groupOf": {"named.md", "user.md"},
	} {
		var paths []string
		for _, h := range r.ask(ask).Handles {
			paths = append(paths, h.FilePath)
		}
		if strings.Contains(ask, " ") {
			same(t, "the first of "+ask, paths[:1], want[:1])
		}
		slices.Sort(paths)
		same(t, ask, paths, want)
	}
}

// Nodes with some of the words are found if few or none have all, and the answer says so.
func TestRelaxed(t *testing.T) {
	r := newRepo(t, shop)
	for _, tt := range []struct {
		ask     string
		relaxed bool
	}{{"milk", false}, {"milk zebra", true}, {"zebra unicorn", false}, {`(literal "milk zebra")`, false}, {`(union (grep "milk zebra") (grep "cart"))`, false}} {
		if got := r.ask(tt.ask); got.Relaxed != tt.relaxed {
			t.Errorf("%s: relaxed %v with %d matches", tt.ask, got.Relaxed, got.TotalMatches)
		}
	}
	if got := r.names("milk zebra"); !slices.Contains(got, "notes/plain.txt chunk") {
		t.Errorf("milk zebra finds %q", got)
	}
}

func TestExpand(t *testing.T) {
	r := newRepo(t, shop)
	total := r.ask(`(definition "Total")`).Handles[0]
	add := r.ask(`(definition "Cart.Add")`).Handles[0]
	ctx := context.Background()
	for _, tt := range []struct {
		name   string
		ids    []string
		tokens int
		want   string // of contents: name of the handle, "cut"; then codes of failures
	}{
		{"one", []string{total.ID}, 0, "Total"},
		{"several, as they were asked for", []string{total.ID, add.ID}, 0, "Total Add"},
		{"as the original spells them", []string{total.ID[1:], strings.ToUpper(add.ID)}, 0, "Total Add"},
		{"one that is not there", []string{"h0123456789abcdef01234567", add.ID}, 0, "Add handle_not_found"},
		{"one that is none", []string{"cart.go:5", add.ID}, 0, "Add handle_not_found"},
		{"none", nil, 0, ""},
		{"a limit that is enough", []string{total.ID}, total.TokenCount, "Total"},
		{"a limit that cuts", []string{total.ID}, total.TokenCount - 5, "cut"},
		{"a limit that leaves nothing", []string{total.ID, add.ID}, total.TokenCount, "Total max_tokens"},
	} {
		e, err := r.Expand(ctx, tt.ids, tt.tokens)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		tokens := 0
		for _, c := range e.Contents {
			tokens += c.TokenCount
			text := r.read(c.FilePath)
			switch {
			case c.Cut:
				got = append(got, "cut")
				if !e.Truncated || !strings.Contains(text, c.Content) || c.Content == "" {
					t.Errorf("%s: cut to %q", tt.name, c.Content)
				}
			case c.HandleID == total.ID:
				got = append(got, "Total")
			case c.HandleID == add.ID:
				got = append(got, "Add")
			}
		}
		for _, f := range e.FailedIDs {
			got = append(got, f.Code)
		}
		if tt.tokens > 0 && tokens > tt.tokens {
			t.Errorf("%s: %d tokens", tt.name, tokens)
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, s, tt.want)
		}
	}
}

// With expand_budget, an answer brings as much text as fits.
func TestExpandBudget(t *testing.T) {
	r := newRepo(t, shop)
	q := compiled(t, "cart price")
	whole := r.run(q)
	for _, budget := range []int{1, whole.TotalTokens / 2, whole.TotalTokens} {
		q.ExpandBudget = budget
		got := r.run(q)
		used, ids := 0, []string(nil)
		for _, h := range got.Handles {
			if h.Content != "" {
				used += h.TokenCount
				ids = append(ids, h.ID)
			}
		}
		if used > budget || !slices.Equal(ids, got.ExpandedHandleIDs) || got.ExpandedCount != len(ids) {
			t.Errorf("a budget of %d: %d tokens, %d handles, told %v", budget, used, len(ids), got.ExpandedHandleIDs)
		}
		all := budget >= whole.TotalTokens
		if got.AutoExpanded != all || (got.ExpandNote == "") != all || all != (len(ids) == len(got.Handles)) {
			t.Errorf("a budget of %d of %d: auto_expanded %v, note %q, %d of %d", budget, whole.TotalTokens, got.AutoExpanded, got.ExpandNote, len(ids), len(got.Handles))
		}
	}
}

func TestFiles(t *testing.T) {
	r := newRepo(t, shop)
	for _, tt := range []struct {
		ask  string
		want []string
	}{
		{`(literal "Cart")`, []string{"cart/cart.go", "cart/cart_test.go", "vendor/x/cart.go", "web/app.ts", "web/types.d.ts"}},
		{`(regex "(?i)gateway")`, []string{"README.md", "config/shop.yaml", "notes/plain.txt", "pay/gateway.py"}},
		{`(file "*.{go,rs}")`, []string{"cart/cart.go", "cart/cart_test.go", "tax/src/lib.rs", "vendor/x/cart.go"}},
		{`(references "Total")`, []string{"cart/cart.go", "cart/cart_test.go"}},
		{"milk", []string{"notes/plain.txt"}},
		{`(literal "nowhere")`, nil},
	} {
		same(t, tt.ask, r.files(tt.ask), tt.want)
	}
}

func TestEvidence(t *testing.T) {
	r := newRepo(t, shop)
	pack, err := r.Evidence(context.Background(), compiled(t, "total price of the cart"), rank.PackOptions{MaxHandles: 4, MaxPerFile: 2})
	if err != nil {
		t.Fatal(err)
	}
	if pack.SelectedCount != len(pack.Handles) || pack.SelectedCount == 0 || pack.SelectedCount > 4 || pack.QueryText != "total price of the cart" {
		t.Errorf("%s", asJSON(t, pack))
	}
	tokens := 0
	for i, h := range pack.Handles {
		tokens += h.TokenCount
		if i > 0 && h.Score > pack.Handles[i-1].Score {
			t.Errorf("%s comes after one that is worse", h.Name)
		}
		if len(h.Why) == 0 {
			t.Errorf("%s does not say why", h.Name)
		}
	}
	if tokens != pack.SelectedTokens {
		t.Errorf("%d tokens, told %d", tokens, pack.SelectedTokens)
	}
	inFiles := 0
	for _, f := range pack.Files {
		inFiles += len(f.HandleIDs)
		if len(f.HandleIDs) > 2 {
			t.Errorf("%d handles of %s", len(f.HandleIDs), f.FilePath)
		}
	}
	if inFiles != len(pack.Handles) || pack.Truncated != (pack.TotalMatches > pack.SelectedCount) {
		t.Errorf("%d handles in files, %d of %d, truncated %v", inFiles, pack.SelectedCount, pack.TotalMatches, pack.Truncated)
	}
	if n := pack.Handles[0].Name; n != "computeTotalPrice" && n != "Total" {
		t.Errorf("the best is %s", n)
	}
	// A handle that was expanded is suggested last.
	if len(pack.ExpandSuggestion) > 1 {
		r.expand(pack.ExpandSuggestion[0])
		again, err := r.Evidence(context.Background(), compiled(t, "total price of the cart"), rank.PackOptions{MaxHandles: 4, MaxPerFile: 2})
		if err != nil {
			t.Fatal(err)
		}
		if again.ExpandSuggestion[0] == pack.ExpandSuggestion[0] {
			t.Error("what was expanded is suggested first again")
		}
	}
	// Of references, the places around them are evidence.
	pack, err = r.Evidence(context.Background(), compiled(t, `(references "Total")`), rank.PackOptions{})
	if err != nil || len(pack.Handles) != 2 {
		t.Errorf("of references: %v, %s", err, asJSON(t, pack))
	}
	// Nothing is no evidence.
	pack, err = r.Evidence(context.Background(), compiled(t, "zebra"), rank.PackOptions{})
	if err != nil || len(pack.Handles) != 0 || pack.Guidance.StopQuerying || pack.Guidance.Confidence > 0.1 {
		t.Errorf("of nothing: %v, %s", err, asJSON(t, pack))
	}
}

// Several indexes answer as one.
func TestSet(t *testing.T) {
	ctx := context.Background()
	var set Set
	for name, files := range map[string]map[string]string{"one/a": {"x.go": "package x\n\n// Shared is here.\nfunc Shared() {}\n"}, "two": {"y.py": "def shared():\n    return other(1)\n", "z.md": "# Shared words\n\ntext\n"}} {
		x, err := Open(ctx, plant(t, files), Options{CacheDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		set.Add(name, x)
	}
	defer set.Close()
	got, err := set.Query(ctx, compiled(t, "shared"))
	if err != nil {
		t.Fatal(err)
	}
	list := shown(got)
	slices.Sort(list)
	same(t, "shared", list, []string{"one/a/x.go Shared", "two/y.py shared", "two/z.md Shared words"})
	if got.TotalMatches != 3 || got.Truncated {
		t.Errorf("%d of %d, truncated %v", len(got.Handles), got.TotalMatches, got.Truncated)
	}
	q := compiled(t, "shared")
	q.Limit, q.ExpandBudget = 2, 12
	got, err = set.Query(ctx, q)
	if err != nil {
		t.Fatal(err)
	}
	used := 0
	for _, h := range got.Handles {
		if h.Content != "" {
			used += h.TokenCount
		}
	}
	if len(got.Handles) != 2 || !got.Truncated || used > 12 || used == 0 {
		t.Errorf("limit 2, budget 12: %s", asJSON(t, got))
	}
	var ids []string
	for _, h := range got.Handles {
		ids = append(ids, h.ID)
	}
	e, err := set.Expand(ctx, append(ids, "h0123456789abcdef01234567"), 0)
	if err != nil || len(e.Contents) != 2 || len(e.FailedIDs) != 1 {
		t.Errorf("expand: %v, %s", err, asJSON(t, e))
	}
	first := e.Contents[0].TokenCount
	e, err = set.Expand(ctx, ids, first)
	tokens := 0
	for _, c := range e.Contents {
		tokens += c.TokenCount
		if !strings.HasPrefix(c.FilePath, "one/a/") && !strings.HasPrefix(c.FilePath, "two/") {
			t.Errorf("the path %s", c.FilePath)
		}
	}
	if err != nil || tokens > first || !e.Truncated || len(e.FailedIDs) != 1 || e.FailedIDs[0].Code != "max_tokens" {
		t.Errorf("expand to %d tokens: %v, %s", first, err, asJSON(t, e))
	}
	// A full match in one repository comes before partial matches in others.
	got, err = set.Query(ctx, compiled(t, "shared words"))
	if err != nil || len(got.Handles) == 0 || got.Handles[0].FilePath != "two/z.md" {
		t.Errorf("shared words: %v, %s", err, asJSON(t, got))
	}
	pack, err := set.Evidence(ctx, compiled(t, "shared"), rank.PackOptions{})
	if err != nil || len(pack.Handles) != 3 {
		t.Errorf("evidence: %v, %s", err, asJSON(t, pack))
	}
	files, err := set.Files(ctx, compiled(t, `(literal "hared")`))
	if err != nil {
		t.Fatal(err)
	}
	same(t, "files", files, []string{"one/a/x.go", "two/y.py", "two/z.md"})
}

func TestStatusAndInvalidate(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t, shop)
	status := func() query.Status {
		s, err := r.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := status()
	if s.FilesIndexed != 0 || s.FilesTotal != 18 || s.LastIndexed != "" || s.RepoRoot != r.dir || s.FileDiscovery != "walk" {
		t.Errorf("before: %s", asJSON(t, s))
	}
	if len(r.ask("milk").Handles) != 1 { // indexes all
		t.Error("milk is not found")
	}
	s = status()
	if s.FilesIndexed != 18 || s.TotalTokens < 500 || s.IndexSizeBytes < 4096 || s.LastIndexed == "" || s.Languages["go"] != 3 || s.Languages["markdown"] != 2 || s.Languages["rust"] != 1 {
		t.Errorf("after: %s", asJSON(t, s))
	}
	n, err := r.Invalidate(ctx, mustGlob(t, "*.go"))
	if err != nil || n != 3 {
		t.Errorf("Invalidate: %d, %v", n, err)
	}
	if n, err := r.Covered(ctx, glob.Glob{}); err != nil || n != 15 {
		t.Errorf("%d are covered, %v", n, err)
	}
	if s2 := status(); s2.FilesIndexed != 15 || s2.Generation <= s.Generation {
		t.Errorf("invalidated: %s", asJSON(t, s2))
	}
	same(t, "after Invalidate", r.names(`(definition "Total")`), []string{"cart/cart.go Total"})
	if n, err := r.Invalidate(ctx, mustGlob(t, "*.none")); err != nil || n != 0 {
		t.Errorf("Invalidate of nothing: %d, %v", n, err)
	}
	if err := Drop(ctx, r.o.CacheDir, r.dir); err != nil {
		t.Fatal(err)
	}
	same(t, "after Drop", r.names("milk"), []string{"notes/plain.txt chunk"})
}

func TestUpdate(t *testing.T) {
	ctx := context.Background()
	r := newRepo(t, shop)
	update := func(pattern string, anew bool) Report {
		t.Helper()
		report, err := r.Update(ctx, mustGlob(t, pattern), anew)
		if err != nil {
			t.Fatal(err)
		}
		report.Bytes, report.Elapsed, report.Generation = 0, 0, 0
		return report
	}
	for _, tt := range []struct {
		name   string
		change func()
		glob   string
		anew   bool
		want   Report
	}{
		{"some", func() {}, "*.go", false, Report{Added: 3}},
		{"the rest", func() {}, "", false, Report{Added: 15, Unchanged: 3, Binary: 1}},
		{"nothing", func() {}, "", false, Report{Unchanged: 18}},
		{"a change", func() { r.put("empty.txt", "not empty") }, "", false, Report{Changed: 1, Unchanged: 17}},
		{"a new file, a removed one", func() { r.put("new.go", "package n\n"); r.remove("empty.txt") }, "", false, Report{Added: 1, Removed: 1, Unchanged: 17}},
		{"what glob leaves out", func() { r.put("new.go", "package m\n") }, "*.md", false, Report{Unchanged: 2}},
		{"now it is in", func() {}, "*.go", false, Report{Changed: 1, Unchanged: 3}},
		{"all anew", func() {}, "", true, Report{Unchanged: 18, Binary: 1}},
	} {
		tt.change()
		if got := update(tt.glob, tt.anew); got != tt.want {
			// A file read within two seconds of its change is read again, and counts as unchanged.
			if got.Binary = tt.want.Binary; got != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
			}
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for root, code := range map[string]string{filepath.Join(dir, "missing"): "not_found", file: "not_a_directory"} {
		x, err := Open(context.Background(), root, Options{CacheDir: t.TempDir()})
		if x != nil || !errors.Is(err, diag.Code(code)) {
			t.Errorf("%s: %v, %v; want the code %s", root, x, err, code)
		}
	}
}

// Nothing is written to the repository, and a cache within it is no part of it.
func TestNothingIsWrittenToTheRoot(t *testing.T) {
	for _, cache := range []string{"../cache", "own cache [1]", "."} {
		r := openRepo(t, plant(t, shop), Options{})
		before := tree(t, r.dir)
		r.ask("cart")
		r.update()
		same(t, "files of the root", tree(t, r.dir), before)

		dir := plant(t, shop)
		inside := openRepo(t, dir, Options{CacheDir: filepath.Join(dir, cache)})
		if cache == "../cache" {
			continue
		}
		inside.update()
		inside.ask("cart")
		g, err := inside.Generation(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			inside.ask("cart")
		}
		if again, err := inside.Generation(context.Background()); err != nil || again != g {
			t.Errorf("a cache at %s: the index indexes itself", cache)
		}
		for _, p := range inside.files(`(file "**")`) {
			if strings.Contains(p, ".db") || strings.Contains(p, "cache") {
				t.Errorf("a cache at %s: %s is indexed", cache, p)
			}
		}
	}
}

func tree(t *testing.T, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestIgnoredIsSaid(t *testing.T) {
	r := openRepo(t, t.TempDir(), Options{})
	r.put("a.go", "package a\n\nfunc Get() {}\n")
	q, err := query.Params{Symbol: "Get", Section: "Usage"}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Query(t.Context(), q)
	if err != nil || len(got.Handles) != 1 || !strings.Contains(got.Note, "section played no part") {
		t.Errorf("%+v, %v: want a note that section plays no part", got, err)
	}
}

// The user's ignores are those of the environment that the index is given, not of the process.
func TestUserIgnores(t *testing.T) {
	home := plant(t, map[string]string{"git/ignore": "*.py\n"})
	files := map[string]string{".git/HEAD": "ref: refs/heads/main\n", ".git/objects/none": "", ".git/refs/none": "", "a.py": "def a(): pass\n", "b.go": "package b\n"}
	for config, want := range map[string]int{home: 1, t.TempDir(): 2} {
		r := openRepo(t, plant(t, files), Options{Getenv: func(name string) string {
			if name == "XDG_CONFIG_HOME" {
				return config
			}
			return ""
		}})
		report, err := r.Update(context.Background(), glob.Glob{}, false)
		if err != nil || report.Added != want {
			t.Errorf("with the ignore file of %s: %+v, %v, want %d files", config, report, err, want)
		}
	}
}
