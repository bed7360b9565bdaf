package query_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
)

func TestCompile(t *testing.T) {
	type P = query.Params
	tests := []struct {
		name    string
		params  P
		want    string
		text    string
		ignored string
	}{
		// The workflows of the seed.
		{"find a definition", P{Symbol: "AuthController", Kind: "definition"}, `(definition "AuthController")`, "AuthController", ""},
		{"find uses", P{Symbol: "authenticate", Kind: "reference"}, `(references "authenticate")`, "authenticate", ""},
		{"search for a concept", P{Pattern: "authentication"}, `(grep "authentication")`, "authentication", ""},
		{"related words", P{Patterns: []string{"error", "panic", "unwrap"}, Match: "any"}, `(union (grep "error") (grep "panic") (grep "unwrap"))`, "error panic unwrap", ""},
		{"all words", P{Patterns: []string{"auth", "validate"}, Match: "all"}, `(intersect (grep "auth") (grep "validate"))`, "auth validate", ""},
		{"in files", P{Pattern: "TODO", Glob: "src/**/*.rs"}, `(in-file "src/**/*.rs" (grep "TODO"))`, "TODO", ""},
		{"methods of a class", P{Parent: "AuthController"}, `(children "AuthController")`, "AuthController", ""},
		{"one method", P{Parent: "AuthController", Symbol: "validate"}, `(children-named "AuthController" "validate")`, "AuthController validate", ""},
		{"headings", P{Section: "Installation"}, `(section "Installation")`, "Installation", ""},
		{"an expression", P{Query: `(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`}, `(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`, "auth validate", ""},
		{"the request of the service: a pattern of definitions", P{Pattern: "authentication", Kind: "definition", Glob: "src/**/*.ts", Limit: 20, ExpandBudget: 1200},
			`(in-file "src/**/*.ts" (defining "authentication"))`, "authentication", ""},

		{"a symbol", P{Symbol: "Login"}, `(code "Login")`, "Login", ""},
		{"any symbol", P{Symbol: "Login", Kind: "any"}, `(code "Login")`, "Login", ""},
		{"a literal", P{Literal: " x := <-ch"}, `(literal " x := <-ch")`, " x := <-ch", ""},
		{"a regex", P{Regex: `func \w+\(`}, `(regex "func \\w+\\(")`, `func \w+\(`, ""},
		{"one pattern of several", P{Patterns: []string{"a"}, Match: "all"}, `(grep "a")`, "a", ""},
		{"a pattern twice", P{Patterns: []string{"a", " a "}}, `(grep "a")`, "a", ""},
		{"patterns that define", P{Patterns: []string{"open", "close"}, Kind: "definition"}, `(union (defining "open") (defining "close"))`, "open close", ""},
		{"a pattern that refers", P{Pattern: "open", Kind: "reference"}, `(references "open")`, "open", ""},
		{"patterns that refer, together", P{Patterns: []string{"open", "close"}, Match: "all", Kind: "reference"}, `(intersect (references "open") (references "close"))`, "open close", ""},
		{"definitions of a parent", P{Parent: "A", Kind: "definition"}, `(children "A")`, "A", ""},
		{"one definition of a parent", P{Parent: "A", Symbol: "b", Kind: "definition"}, `(children-named "A" "b")`, "A b", ""},
		{"a file", P{Query: `(file "src/main.rs")`}, `(file "src/main.rs")`, "src/main.rs", ""},
		{"a glob of everything", P{Pattern: "a", Glob: "**/*"}, `(grep "a")`, "a", ""},

		// The first parameter wins, and the rest is named.
		{"query beats all", P{Query: `(grep "a")`, Pattern: "b", Patterns: []string{"c"}, Symbol: "d", Kind: "definition"}, `(grep "a")`, "a", "symbol pattern patterns kind"},
		{"parent beats section", P{Parent: "A", Section: "b"}, `(children "A")`, "A", "section"},
		{"symbol beats pattern", P{Symbol: "A", Pattern: "b"}, `(code "A")`, "A", "pattern"},
		{"section beats literal", P{Section: "A", Literal: "b"}, `(section "A")`, "A", "literal"},
		{"symbol beats patterns that exclude each other", P{Symbol: "A", Pattern: "b", Patterns: []string{"c"}}, `(code "A")`, "A", "pattern patterns"},
		{"uses know no parent", P{Parent: "A", Symbol: "b", Kind: "reference"}, `(references "b")`, "b", "parent"},

		{"glob also restricts an expression", P{Query: `(grep "a")`, Glob: "*.go"}, `(in-file "*.go" (grep "a"))`, "a", ""},
		{"glob that is in the expression", P{Query: `(in-file "*.go" (grep "a"))`, Glob: "*.go"}, `(in-file "*.go" (grep "a"))`, "a", ""},
	}
	for _, test := range tests {
		q, err := test.params.Compile()
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if q.Expr.String() != test.want {
			t.Errorf("%s: got  %s\nwant %s", test.name, q.Expr, test.want)
		}
		if q.Text != test.text {
			t.Errorf("%s: text %q, want %q", test.name, q.Text, test.text)
		}
		if got := strings.Join(q.Ignored, " "); got != test.ignored {
			t.Errorf("%s: ignored %q, want %q", test.name, got, test.ignored)
		}
		if want := max(test.params.Limit, query.DefaultLimit); q.Limit != want || q.ExpandBudget != test.params.ExpandBudget {
			t.Errorf("%s: limit %d, budget %d", test.name, q.Limit, q.ExpandBudget)
		}
	}
}

// TestCompileLimit shows that the limit is no part of the expression: an index that cuts by it before it counts, as the
// original did, cannot tell that there is more.
func TestCompileLimit(t *testing.T) {
	tests := []struct {
		query string
		limit int
		want  int
		expr  string
	}{
		{`(grep "a")`, 0, 16, `(grep "a")`},
		{`(grep "a")`, 200, 200, `(grep "a")`},
		{`(limit 50 (grep "a"))`, 0, 50, `(grep "a")`},
		{`(limit 50 (grep "a"))`, 5, 5, `(grep "a")`},
		{`(limit 5 (grep "a"))`, 50, 5, `(grep "a")`},
		{`(limit 9 (limit 3 (grep "a")))`, 0, 3, `(grep "a")`},
		{`(union (limit 5 (grep "a")) (grep "b"))`, 0, 16, `(union (limit 5 (grep "a")) (grep "b"))`},
		{`(in-file "*.go" (limit 5 (grep "a")))`, 0, 16, `(in-file "*.go" (limit 5 (grep "a")))`},
	}
	for _, test := range tests {
		q, err := query.Params{Query: test.query, Limit: test.limit}.Compile()
		if err != nil || q.Limit != test.want || q.Expr.String() != test.expr {
			t.Errorf("%s with limit %d: %d of %s, %v", test.query, test.limit, q.Limit, q.Expr, err)
		}
	}
	q, err := query.Params{Query: `(limit 5 (grep "a"))`, Glob: "*.go"}.Compile()
	if err != nil || q.Limit != 5 || q.Expr.String() != `(in-file "*.go" (grep "a"))` {
		t.Errorf("five in the files: %d of %s, %v", q.Limit, q.Expr, err)
	}
}

func TestNote(t *testing.T) {
	const (
		unused  = "nothing calls or imports it or uses it as a type; literal finds all places that have the name"
		ignored = "pattern played no part: another parameter says what is searched"
	)
	for _, test := range []struct {
		p          query.Params
		notIndexed int
		found      bool
		want       string
	}{
		{query.Params{Pattern: "a"}, 0, false, ""},
		{query.Params{Symbol: "A", Kind: "reference"}, 0, true, ""},
		{query.Params{Symbol: "A", Kind: "reference"}, 0, false, unused},
		{query.Params{Symbol: "A", Pattern: "a"}, 0, true, ignored},
		{query.Params{Pattern: "a"}, 1, true, "1 file is not indexed yet, and not in this answer; index the repository to cover all"},
		{query.Params{Symbol: "A", Kind: "reference", Pattern: "a"}, 20, false, unused + "; " + ignored + "; 20 files are not indexed yet, and not in this answer; index the repository to cover all"},
	} {
		q, err := test.p.Compile()
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Note(test.notIndexed, nil, false, test.found); got != test.want {
			t.Errorf("%+v, %d, %v:\n got %q\nwant %q", test.p, test.notIndexed, test.found, got, test.want)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	type P = query.Params
	many := make([]string, query.MaxPatterns+1)
	for i := range many {
		many[i] = "a"
	}
	tests := []struct {
		name             string
		params           P
		code, want, hint string
	}{
		{"nothing", P{}, "query_parse", "there is nothing to search for", "give one of pattern, patterns, literal, regex, symbol, section, parent or query"},
		{"only a glob", P{Glob: "*.go"}, "query_parse", "there is nothing to search for", "give one of pattern, patterns, literal, regex, symbol, section, parent or query"},
		{"pattern and patterns", P{Pattern: "a", Patterns: []string{"b"}}, "invalid_request", "pattern and patterns exclude each other", "put all into patterns"},
		{"literal and pattern", P{Literal: "a", Pattern: "b"}, "invalid_request", "literal and pattern exclude each other",
			`both at once: query with (intersect …), such as (intersect (grep "words") (literal "text"))`},
		{"literal and regex", P{Literal: "a", Regex: "b"}, "invalid_request", "literal and regex exclude each other",
			`both at once: query with (intersect …), such as (intersect (grep "words") (literal "text"))`},
		{"an unknown kind", P{Symbol: "a", Kind: "definitions"}, "invalid_request", `kind is "definitions", not one of definition, reference, any`, `did you mean "definition"?`},
		{"a kind of its own", P{Symbol: "a", Kind: "xyz"}, "invalid_request", `kind is "xyz", not one of definition, reference, any`, `leave kind out for any`},
		{"an unknown match", P{Pattern: "a", Match: "every"}, "invalid_request", `match is "every", not one of any, all`, `leave match out for any`},
		{"kind without symbol", P{Kind: "definition"}, "invalid_request", `kind "definition" needs symbol, parent or pattern`, ""},
		{"reference without symbol", P{Kind: "reference", Parent: "A"}, "invalid_request", `kind "reference" needs symbol`, "leave kind out to search by parent"},
		{"definition of a section", P{Kind: "definition", Section: "A"}, "invalid_request", `kind "definition" needs symbol, parent or pattern`, "leave kind out to search by section"},
		{"uses of words", P{Kind: "reference", Pattern: "open the file"}, "invalid_request", `kind "reference" asks for uses of a name, and "open the file" is not a name`, "give the name as symbol, or leave kind out"},
		{"no patterns", P{Patterns: []string{}}, "invalid_request", "patterns is an empty list", "leave patterns out, or name some"},
		{"an empty pattern", P{Patterns: []string{"a", " "}}, "invalid_request", "patterns[1] is empty", ""},
		{"many patterns", P{Patterns: many}, "invalid_request", "patterns has 33 texts, 32 are allowed", ""},
		{"only space", P{Symbol: " \t"}, "invalid_request", "symbol is empty", ""},
		{"a long pattern", P{Pattern: strings.Repeat("a", query.MaxPattern+1)}, "invalid_request", "pattern has 65537 bytes, 65536 are allowed", ""},
		{"a long name", P{Symbol: strings.Repeat("a", query.MaxText+1)}, "invalid_request", "symbol has 4097 bytes, 4096 are allowed", ""},
		{"a limit below 0", P{Pattern: "a", Limit: -1}, "invalid_request", "limit is -1, which is not from 1 to 200", "leave limit out for 16, or narrow the query with glob"},
		{"a limit above 200", P{Pattern: "a", Limit: 201}, "invalid_request", "limit is 201, which is not from 1 to 200", "leave limit out for 16, or narrow the query with glob"},
		{"a budget below 0", P{Pattern: "a", ExpandBudget: -1}, "invalid_request", "expand_budget is -1, which is not from 0 to 1048576", ""},
		{"a large budget", P{Pattern: "a", ExpandBudget: 1<<20 + 1}, "invalid_request", "expand_budget is 1048577, which is not from 0 to 1048576", ""},
		{"a wrong glob", P{Pattern: "a", Glob: "[a"}, "glob_pattern", `the glob "[a" has a [ without its ] at byte 1`, `write \[ for the character`},
		{"a wrong expression", P{Query: "(grep"}, "query_parse", "grep lacks a text in double quotes at line 1, column 6 (byte 5)", ""},
		{"a terminal escape", P{Pattern: "a", Kind: "\x1b[2J"}, "invalid_request", `kind is "\x1b[2J", not one of definition, reference, any`, "leave kind out for any"},
	}
	for _, test := range tests {
		q, err := test.params.Compile()
		found, ok := errors.AsType[*diag.Error](err)
		if !ok || err.Error() != test.want || found.Code != test.code || found.Class != diag.Misuse {
			t.Errorf("%s: got  %v\nwant %s: %s", test.name, err, test.code, test.want)
			continue
		}
		if got := strings.Join(found.Hints, "|"); got != test.hint {
			t.Errorf("%s: hint %s\nwant %s", test.name, got, test.hint)
		}
		if q.Expr != nil || q.Limit != 0 {
			t.Errorf("%s: a query comes with the error", test.name)
		}
	}
}

func TestEvidenceCompile(t *testing.T) {
	tests := []struct {
		params query.EvidenceParams
		want   rank.PackOptions
	}{
		{query.EvidenceParams{}, rank.PackOptions{}},
		{query.EvidenceParams{MaxHandles: 4, MaxPerFile: 1, MaxTokens: 900}, rank.PackOptions{MaxHandles: 4, MaxPerFile: 1, MaxTokens: 900}},
		{query.EvidenceParams{MaxHandles: 1000, MaxPerFile: 100}, rank.PackOptions{MaxHandles: 64, MaxPerFile: 8}},
	}
	for _, test := range tests {
		test.params.Pattern = "a"
		q, got, err := test.params.Compile()
		if err != nil || got != test.want || q.Text != "a" {
			t.Errorf("%+v: %+v, %+v, %v", test.params, q, got, err)
		}
	}
	for name, p := range map[string]query.EvidenceParams{
		"max_handles is -1, which is below 0": {MaxHandles: -1}, "max_per_file is -2, which is below 0": {MaxPerFile: -2},
		"max_tokens is -3, which is below 0": {MaxTokens: -3}, "there is nothing to search for": {},
	} {
		if _, _, err := p.Compile(); err == nil || err.Error() != name {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecode(t *testing.T) {
	all := query.Params{Pattern: "a", Patterns: []string{"b"}, Literal: "c", Regex: "d", Symbol: "e", Section: "f", Parent: "g", Kind: "any", Glob: "*.go",
		Match: "all", Limit: 16, ExpandBudget: 1200, Query: "(grep)"}
	tests := []struct {
		name, json string
		want       query.Params
	}{
		{"every documented field", `{"pattern":"a","patterns":["b"],"literal":"c","regex":"d","symbol":"e","section":"f","parent":"g","kind":"any","glob":"*.go",
			"match":"all","limit":16,"expand_budget":1200,"query":"(grep)"}`, all},
		{"historical names", `{"match_mode":"all","dsl":"(grep)"}`, query.Params{Match: "all", Query: "(grep)"}},
		{"both names, one value", `{"match_mode":"all","match":"all"}`, query.Params{Match: "all"}},
		{"null is nothing", `{"pattern":"a","limit":null,"patterns":null,"kind":null}`, query.Params{Pattern: "a"}},
		{"an empty list is one", `{"patterns":[]}`, query.Params{Patterns: []string{}}},
		{"numbers without a fraction", `{"limit":16.0,"expand_budget":1.2e3}`, query.Params{Limit: 16, ExpandBudget: 1200}},
		{"nothing", ` {} `, query.Params{}},
		{"fields of the caller", `{"path":"/repo","repo":{"x":1},"pattern":"a"}`, query.Params{Pattern: "a"}},
		{"escapes", `{"pattern":"\u0061\n"}`, query.Params{Pattern: "a\n"}},
	}
	for _, test := range tests {
		got, err := query.Decode([]byte(test.json), "path", "repo")
		if err != nil || fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", test.want) {
			t.Errorf("%s: got %#v, %v", test.name, got, err)
		}
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ json, want, hint string }{
		{`{"patern":"a"}`, `there is no field "patern"`, "did you mean pattern?"},
		{`{"expandBudget":1}`, `there is no field "expandBudget"`, "did you mean expand_budget?"},
		{`{"expand-budget":1}`, `there is no field "expand-budget"`, "did you mean expand_budget?"},
		{`{"Pattern":"a"}`, `there is no field "Pattern"`, "did you mean pattern?"},
		{`{"paht":"a"}`, `there is no field "paht"`, "did you mean path?"},
		{`{"max_handles":1}`, `there is no field "max_handles"`, "fields: expand_budget, glob, kind, limit, literal, match, parent, path, pattern, patterns, query, regex, section, symbol"},
		{`{"\u001b[2J":1}`, `there is no field "\x1b[2J"`, "fields: expand_budget, glob, kind, limit, literal, match, parent, path, pattern, patterns, query, regex, section, symbol"},
		{`{"pattern":5}`, `the field pattern is the number 5, and takes a string`, ""},
		{`{"pattern":["a"]}`, `the field pattern is a list, and takes a string`, ""},
		{`{"patterns":"a"}`, `the field patterns is the string "a", and takes a list of strings`, ""},
		{`{"patterns":["a",null]}`, `the field patterns is a list, and takes a list of strings`, ""},
		{`{"patterns":["a",1]}`, `the field patterns is a list, and takes a list of strings`, ""},
		{`{"limit":"16"}`, `the field limit is the string "16", and takes a whole number`, ""},
		{`{"limit":1.5}`, `the field limit is the number 1.5, and takes a whole number`, ""},
		{`{"limit":1e99}`, `the field limit is the number 1e99, and takes a whole number`, ""},
		{`{"limit":99999999999999999999999}`, `the field limit is a long number, and takes a whole number`, ""},
		{`{"limit":true}`, `the field limit is true, and takes a whole number`, ""},
		{`{"kind":{}}`, `the field kind is an object, and takes a string`, ""},
		{`{"pattern":"a","pattern":"b"}`, `the field pattern is there twice`, ""},
		{`{"dsl":"a","query":"b"}`, `dsl and query mean the same, and have different values`, ""},
		{``, `the parameters are not a JSON object`, `such as {"pattern": "words"}`},
		{`[]`, `the parameters are not a JSON object`, `such as {"pattern": "words"}`},
		{`"pattern"`, `the parameters are not a JSON object`, `such as {"pattern": "words"}`},
		{`{"pattern":"a"`, `the parameters end early, at byte 14`, ""},
		{`{"pattern":`, `the parameters end early, at byte 11`, ""},
		{`{"pattern":"a"} {}`, `the parameters go on after their object, at byte 17`, ""},
		{`{pattern:"a"}`, `the parameters are not JSON at byte 1: invalid character 'p'`, ""},
		{`x`, `the parameters are not JSON at byte 1: invalid character 'x' looking for beginning of value`, ""},
	}
	for _, test := range tests {
		got, err := query.Decode([]byte(test.json), "path")
		found, ok := errors.AsType[*diag.Error](err)
		if !ok || err.Error() != test.want || found.Code != "invalid_request" || found.Class != diag.Misuse {
			t.Errorf("%s: got  %v\nwant %s", test.json, err, test.want)
			continue
		}
		if hint := strings.Join(found.Hints, "|"); hint != test.hint {
			t.Errorf("%s: hint %s\nwant %s", test.json, hint, test.hint)
		}
		if got.Patterns != nil || got.Pattern != "" {
			t.Errorf("%s: parameters come with the error: %+v", test.json, got)
		}
	}
}

func TestDecodeEvidence(t *testing.T) {
	on := true
	tests := []struct {
		name, json string
		want       query.EvidenceParams
	}{
		{"inline", `{"path":"/x","pattern":"a","max_handles":4,"max_per_file":1,"max_tokens":500,"plan":true}`,
			query.EvidenceParams{Params: query.Params{Pattern: "a"}, MaxHandles: 4, MaxPerFile: 1, MaxTokens: 500, Plan: &on}},
		{"in config", `{"pattern":"a","config":{"max_handles":4,"max_per_file":1,"plan":true}}`,
			query.EvidenceParams{Params: query.Params{Pattern: "a"}, MaxHandles: 4, MaxPerFile: 1, Plan: &on}},
		{"in both places", `{"pattern":"a","max_handles":4,"plan":true,"config":{"max_handles":4,"max_per_file":1,"plan":true}}`,
			query.EvidenceParams{Params: query.Params{Pattern: "a"}, MaxHandles: 4, MaxPerFile: 1, Plan: &on}},
		{"no config", `{"pattern":"a","config":null,"plan":null}`, query.EvidenceParams{Params: query.Params{Pattern: "a"}}},
	}
	for _, test := range tests {
		got, err := query.DecodeEvidence([]byte(test.json), "path")
		if err != nil || show(got) != show(test.want) {
			t.Errorf("%s: got %s, %v", test.name, show(got), err)
		}
	}
	for json, want := range map[string]string{
		`{"plan":"auto"}`:                              `the field plan is the string "auto", and takes true or false`,
		`{"config":[]}`:                                `the field config is a list, and takes an object`,
		`{"config":{"pattern":"a"}}`:                   `in config, there is no field "pattern"`,
		`{"config":{"plan":1}}`:                        `in config, the field plan is the number 1, and takes true or false`,
		`{"max_handles":1,"config":{"max_handles":2}}`: `max_handles and config.max_handles mean the same, and have different values`,
		`{"plan":true,"config":{"plan":false}}`:        `plan and config.plan mean the same, and have different values`,
		`{"max_handle":1}`:                             `there is no field "max_handle"`,
	} {
		if got, err := query.DecodeEvidence([]byte(json)); err == nil || err.Error() != want || got.Plan != nil {
			t.Errorf("%s: got %v", json, err)
		}
	}
}

func show(p query.EvidenceParams) string {
	plan := "none"
	if p.Plan != nil {
		plan = fmt.Sprint(*p.Plan)
	}
	p.Plan = nil
	return fmt.Sprintf("%#v %s", p, plan)
}

// FuzzDecode holds that whatever is decoded compiles to a query within the limits, or is refused with a code.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"pattern":"a","limit":16}`, `{"dsl":"(grep \"a\")","match_mode":"all"}`, `{"patterns":["a","b"],"config":{"plan":true}}`, `{"kind":null`, `[]`} {
		f.Add([]byte(s))
	}
	codes := []error{diag.Code("invalid_request"), diag.Code("query_parse"), diag.Code("glob_pattern")}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := query.DecodeEvidence(data, "path")
		var q query.Query
		if err == nil {
			q, _, err = p.Compile()
		}
		if err != nil {
			if !slices.ContainsFunc(codes, func(c error) bool { return errors.Is(err, c) }) || diag.Printable(err.Error()) != err.Error() {
				t.Errorf("%q: %q", data, err)
			}
			return
		}
		if q.Limit < 1 || q.Limit > query.MaxLimit || q.ExpandBudget < 0 || q.ExpandBudget > query.MaxBudget || q.Text == "" {
			t.Errorf("%q compiles to %+v", data, q)
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	for name, p := range map[string]query.Params{
		"symbol":   {Symbol: "AuthController", Kind: "definition"},
		"pattern":  {Pattern: "authentication", Glob: "src/**/*.ts"},
		"patterns": {Patterns: []string{"error", "panic", "unwrap"}},
		"query":    {Query: `(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := p.Compile(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(`{"path":"/repo","pattern":"authentication","kind":"definition","glob":"src/**/*.ts","limit":20,"expand_budget":1200}`)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := query.Decode(data, "path"); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleParams_Compile() {
	p, err := query.Decode([]byte(`{"path": "/repo", "pattern": "token", "glob": "src/**", "limit": 5}`), "path")
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := p.Compile()
	fmt.Println(q.Expr, q.Limit, err)
	_, err = query.Params{Symbol: "Login", Kind: "definitions"}.Compile()
	fmt.Println(err)
	// Output:
	// (in-file "src/**" (grep "token")) 5 <nil>
	// kind is "definitions", not one of definition, reference, any
}
