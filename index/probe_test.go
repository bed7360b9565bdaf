package index

import ("testing")

func TestProbe(t *testing.T) {
	r := newRepo(t, map[string]string{"a.md": "# 日本語 Title\n\n日本語のテスト foo 日本語 text\n", "e.txt": "", "b.go":"package b\n\nfunc A() { B(); B() }\nfunc B() {}\n"})
	for _, q := range []string{"日本語", "foo 日本語", `(references "B")`, `(union (references "A") (references "B"))`, `(in-file "*.md" (references "B"))`, `(file "*")`} {
		func() {
			defer func() { if e := recover(); e != nil { t.Errorf("%s: panic %v", q, e) } }()
			t.Log(q, r.names(q))
		}()
	}
	for _, h := range r.ask(`(file "*")`).Handles {
		t.Log(asJSON(t, r.expand(h.ID)))
	}
}
