package index

import (
	"context"
	"fmt"
	"testing"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/testdata/long"
)

// Of a repository with more than 1,000 files, those whose paths have words of the question are read first.
func TestLikelyFilesFirst(t *testing.T) {
	long.Slow(t)
	ctx := context.Background()
	list := map[string]string{"z/billing/invoice.go": "package billing\n\n// Invoice is what a customer pays.\ntype Invoice struct{}\n"}
	for i := range 1000 {
		list[fmt.Sprintf("d%02d/f%04d.go", i%30, i)] = fmt.Sprintf("package d\n\nfunc F%04d() {}\n", i)
	}
	r := openRepo(t, plant(t, list), Options{})
	d, err := r.Index.look(ctx, nil)
	if err != nil || !d.many() {
		t.Fatalf("%d files are not too many to read before an answer, %v", len(d.new), err)
	}
	if first := r.Index.promising(ctx, d.new, compiled(t, "the invoice of a customer"))[0]; first.Path != "z/billing/invoice.go" {
		t.Errorf("the first to be read is %s", first.Path)
	}
	if first := r.Index.promising(ctx, d.new, compiled(t, "something else"))[0]; first.Path == "z/billing/invoice.go" {
		t.Errorf("%s is always the first", first.Path)
	}
	r.remove("d00/f0000.go")
	if d, err = r.Index.look(ctx, nil); err != nil || d.many() {
		t.Errorf("%d files are too many, %v", len(d.new), err)
	}
}

// A pack has at most 8 handles and 2 of a file, unless more are asked for.
func TestEvidenceDefaults(t *testing.T) {
	list := map[string]string{}
	for i := range 12 {
		for j := range 3 {
			list[fmt.Sprintf("f%02d.go", i)] += fmt.Sprintf("%s\n// Lease%d%d renews the lease.\nfunc Lease%d%d() {}\n", []string{"package f\n", "", ""}[j], i, j, i, j)
		}
	}
	r := newRepo(t, list)
	for _, tt := range []struct{ handles, perFile, most, mostOfFile int }{{0, 0, 8, 2}, {4, 1, 4, 1}, {12, 3, 12, 3}} {
		pack, err := r.Evidence(context.Background(), compiled(t, "renews lease"), rank.PackOptions{MaxHandles: tt.handles, MaxPerFile: tt.perFile})
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, f := range pack.Files {
			most = max(most, len(f.HandleIDs))
		}
		if len(pack.Handles) != tt.most || most > tt.mostOfFile || pack.TotalMatches < 36 {
			t.Errorf("max_handles %d, max_per_file %d: %d of %d handles, %d of one file", tt.handles, tt.perFile, len(pack.Handles), pack.TotalMatches, most)
		}
	}
}
