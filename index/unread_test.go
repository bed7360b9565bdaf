package index

import (
	"context"
	"slices"
	"testing"

	"github.com/skl-project/skl/index/query"
)

// Definitions of languages that are read by tables are found and marked; of others, and of uses, the answer says that words were searched.
func TestLanguages(t *testing.T) {
	r := newRepo(t, map[string]string{
		"Basket.java":  "package shop;\n\npublic class Basket {\n    int price() {\n        return 1;\n    }\n}\n",
		"bin/deploy":   "#!/usr/bin/env bash\nroll_out() {\n\techo done\n}\n",
		"lib/till.pl":  "sub open_till {\n  return 1;\n}\n",
		"main.go":      "package main\n\nfunc main() { price() }\n\nfunc price() {}\n",
		"db/001.sql":   "CREATE TABLE baskets (id int);\n",
		"notes.txt":    "open_till is a word here\n",
		"infra/net.tf": "resource \"aws_vpc\" \"main_net\" {\n}\n",
	})
	for _, tt := range []struct {
		params      query.Params
		first       string
		total       int
		approximate bool
		notRead     []string
	}{
		{query.Params{Symbol: "Basket", Kind: "definition"}, "Basket.java Basket", 1, true, nil},
		{query.Params{Symbol: "roll_out"}, "bin/deploy roll_out", 1, true, nil},
		{query.Params{Symbol: "baskets"}, "db/001.sql baskets", 1, true, nil},
		{query.Params{Symbol: "main_net"}, "infra/net.tf main_net", 1, true, nil},
		{query.Params{Symbol: "main"}, "main.go main", 1, false, nil},
		{query.Params{Symbol: "open_till", Kind: "definition"}, "lib/till.pl chunk", 1, false, []string{"perl"}},
		{query.Params{Symbol: "open_till", Kind: "definition", Glob: "*.java"}, "", 0, false, nil},
		{query.Params{Symbol: "no_such_name"}, "", 0, false, nil},
		{query.Params{Symbol: "roll_out", Kind: "reference"}, "bin/deploy roll_out", 1, true, []string{"shell"}},
	} {
		q, err := tt.params.Compile()
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		first, approximate := "", false
		if len(got.Handles) > 0 {
			h := got.Handles[0]
			first, approximate = h.FilePath+" "+h.Name, h.Approximate
			if h.Name == "" {
				first = h.FilePath + " " + h.NodeType
			}
		}
		if first != tt.first || got.TotalMatches != tt.total || approximate != tt.approximate || !slices.Equal(got.NotRead, tt.notRead) || (got.Note == "") != (len(tt.notRead) == 0 && tt.params.Kind != "reference") {
			t.Errorf("%+v: %q of %d, approximate %v, not read %v, note %q", tt.params, first, got.TotalMatches, approximate, got.NotRead, got.Note)
		}
	}
	// Uses that are known do not hide that others are not.
	if got := r.ask(`(references "price")`); len(got.RefHandles) != 1 || !slices.Equal(got.NotRead, []string{"java"}) {
		t.Errorf("references: %+v", got)
	}
}

// A pattern for definitions finds those whose text has the words, the ones so named first.
func TestPatternOfDefinitions(t *testing.T) {
	r := newRepo(t, map[string]string{
		"a.go": "package a\n\n// renew keeps a session from its expiry.\nfunc renew() {}\n\n// SessionExpiry is one.\ntype SessionExpiry int\n",
		"b.md": "# Session expiry\n\nThe session expiry is long.\n",
	})
	q, err := query.Params{Pattern: "session expiry", Kind: "definition"}.Compile()
	if err != nil {
		t.Fatal(err)
	}
	got, err := r.Query(context.Background(), q)
	if err != nil || len(got.Handles) != 2 || got.Handles[0].Name != "SessionExpiry" || got.Handles[1].Name != "renew" {
		t.Errorf("%+v, %v", got.Handles, err)
	}
}
