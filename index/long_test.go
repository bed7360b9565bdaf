package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
)

// A question may be a title with a whole change below it: what is rare in it is searched, and the answer says that it was cut.
func TestLongQuestion(t *testing.T) {
	files := map[string]string{
		"lease.go": "package a\n\nfunc renewLease() {\n\tquorumTimeout := 3\n\tuse(quorumTimeout)\n}\n",
	}
	for i := range 40 {
		files[fmt.Sprintf("part%d.go", i)] = fmt.Sprintf("package a\n\nfunc part%d() {\n\tvalue := other(%d)\n\treturn value\n}\n", i, i)
	}
	x := openRepo(t, plant(t, files), Options{})
	filler := strings.Repeat("+\tvalue := other(7)\n-\treturn value\n nowhereToBeSeen package func\n", 400)
	text := "Fix the heartbeat of followers\n\n" + filler + "+\tquorumTimeout := 4\n" + filler
	if len(text) < 5*query.MaxText {
		t.Fatalf("the question has %d bytes", len(text))
	}
	q, err := query.Params{Pattern: text}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	r, err := x.Query(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Handles) == 0 || r.Handles[0].FilePath != "lease.go" || r.Note != query.LongNote {
		t.Errorf("the best is %+v, with the note %q", r.Handles[:min(1, len(r.Handles))], r.Note)
	}
	pack, err := x.Evidence(t.Context(), q, rank.PackOptions{})
	if err != nil || pack.Note != query.LongNote || len(pack.Handles) == 0 || pack.Handles[0].FilePath != "lease.go" {
		t.Errorf("the pack says %q, %v", pack.Note, err)
	}
	var many []string
	for i := range query.MaxPatterns {
		many = append(many, strings.Repeat(fmt.Sprint("value", i, " "), 40))
	}
	if q, err = (query.Params{Patterns: many}).Compile(); err != nil || len(q.Text) <= query.MaxText || q.IsLong() {
		t.Errorf("%d bytes of patterns, each of which is searched in full: %v", len(q.Text), err)
	}
	_, err = query.Params{Pattern: strings.Repeat("a ", query.MaxPattern)}.Compile()
	if err == nil {
		t.Errorf("a question that is too long: %v", err)
	}
}
