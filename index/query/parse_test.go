package query_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

func TestParse(t *testing.T) {
	tests := []struct{ name, dsl, want string }{
		{"grep", `(grep "pattern")`, ``},
		{"literal", `(literal "a.b(c)")`, ``},
		{"regex", `(regex "func \\w+\\(")`, ``},
		{"code", `(code "symbol")`, ``},
		{"definition", `(definition "symbol")`, ``},
		{"references", `(references "symbol")`, ``},
		{"section", `(section "heading")`, ``},
		{"file", `(file "src/main.rs")`, ``},
		{"children", `(children "parent")`, ``},
		{"children-named", `(children-named "parent" "child")`, ``},
		{"in-file", `(in-file "src/**" (grep "a"))`, ``},
		{"union", `(union (grep "a") (grep "b"))`, ``},
		{"intersect", `(intersect (grep "a") (grep "b"))`, ``},
		{"limit", `(limit 5 (grep "a"))`, ``},
		{"the seed's example", `(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`, ``},

		{"white space", " \n( grep\t\"a\" \r\n) ", `(grep "a")`},
		{"no white space", `(union(grep"a")(limit 2(grep"b")))`, `(union (grep "a") (limit 2 (grep "b")))`},
		{"escapes", `(literal "a\n\t\r\"\\\x\u")`, `(literal "a\n\t\r\"\\xu")`},
		{"a line in a string", "(literal \"a\nb\")", `(literal "a\nb")`},
		{"space around names goes", `(code "  a  ")`, `(code "a")`},
		{"space of a literal stays", `(literal "  a  ")`, ``},
		{"not only ASCII", `(grep "日本 é")`, ``},
		{"leading zeros", `(limit 007 (grep "a"))`, `(limit 7 (grep "a"))`},

		{"a union of one", `(union (grep "a"))`, `(grep "a")`},
		{"an intersection of one", `(intersect (grep "a"))`, `(grep "a")`},
		{"nested unions", `(union (union (grep "a") (grep "b")) (union (grep "c")))`, `(union (grep "a") (grep "b") (grep "c"))`},
		{"nested intersections", `(intersect (grep "a") (intersect (grep "b") (grep "c")))`, `(intersect (grep "a") (grep "b") (grep "c"))`},
		{"an intersection in a union stays", `(union (grep "a") (intersect (grep "b") (grep "c")))`, ``},
		{"repetitions", `(union (grep "a") (grep "b") (grep "a"))`, `(union (grep "a") (grep "b"))`},
		{"only repetitions", `(intersect (grep "a") (grep " a"))`, `(grep "a")`},
		{"repeated references in an intersection are handles", `(intersect (references "a") (references "a"))`, ``},
		{"repeated references in a union", `(union (references "a") (references "a"))`, `(references "a")`},
		{"limit of limit", `(limit 5 (limit 3 (limit 9 (grep "a"))))`, `(limit 3 (grep "a"))`},
		{"in-file of everything", `(in-file "**" (grep "a"))`, `(grep "a")`},
		{"in-file twice", `(in-file "*.go" (in-file "src/**" (in-file "*.go" (grep "a"))))`, `(in-file "src/**" (in-file "*.go" (grep "a")))`},
		{"in-file twice, around a limit", `(in-file "*.go" (limit 3 (in-file "*.go" (grep "a"))))`, `(limit 3 (in-file "*.go" (grep "a")))`},
		{"in-file of a limit stays", `(in-file "*.go" (limit 3 (grep "a")))`, ``},
	}
	for _, test := range tests {
		e, err := query.Parse(test.dsl)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		want := test.want
		if want == "" {
			want = test.dsl
		}
		if e.String() != want {
			t.Errorf("%s: got  %s\nwant %s", test.name, e, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat("(limit 5 ", 64) + `(grep "a")` + strings.Repeat(")", 64)
	wide := "(union" + strings.Repeat(` (grep "a")`, 256) + ")"
	tests := []struct{ name, dsl, want, hint string }{
		{"empty", "", `the query is empty at line 1, column 1 (byte 0)`, `(grep "words")`},
		{"only space", " \n ", `the query is empty at line 2, column 2 (byte 3)`, `(grep "words")`},
		{"a bare word", "auth", `a query begins with (, not with "auth" at line 1, column 1 (byte 0)`, `strings stand in double quotes, queries in parentheses: (grep "auth")`},
		{"a bare string", `"auth"`, `a query begins with (, not with "\"" at line 1, column 1 (byte 0)`, `a query of a text: (grep "text")`},
		{"a comment", `; auth`, `a query begins with (, not with ";" at line 1, column 1 (byte 0)`, `there are no comments`},
		{"a misspelt operator", "(union\n (grpe \"a\"))", `there is no operator "grpe" at line 2, column 3 (byte 9)`, `did you mean grep?`},
		{"another case", `(GREP "a")`, `there is no operator "GREP" at line 1, column 2 (byte 1)`, `did you mean grep?`},
		{"an underscore", `(in_file "*" (grep "a"))`, `there is no operator "in_file" at line 1, column 2 (byte 1)`, `did you mean in-file?`},
		{"unlike any operator", `(frobnicate "a")`, `there is no operator "frobnicate" at line 1, column 2 (byte 1)`,
			`operators: grep, literal, regex, code, definition, defining, references, section, file, children, children-named, in-file, union, intersect, limit`},
		{"no operator", `("a")`, `an operator follows (, not "\"" at line 1, column 2 (byte 1)`,
			`operators: grep, literal, regex, code, definition, defining, references, section, file, children, children-named, in-file, union, intersect, limit`},
		{"only (", `(`, `the query ends after ( at line 1, column 1 (byte 0)`,
			`operators: grep, literal, regex, code, definition, defining, references, section, file, children, children-named, in-file, union, intersect, limit`},
		{"no quotes", `(grep auth)`, `grep takes a text in double quotes here, not "auth" at line 1, column 7 (byte 6)`, `strings stand in double quotes, queries in parentheses: (grep "auth")`},
		{"other quotes", `(grep 'auth')`, `grep takes a text in double quotes here, not "'" at line 1, column 7 (byte 6)`, `strings stand in double quotes: "text"`},
		{"curly quotes", `(grep “auth”)`, `grep takes a text in double quotes here, not "“" at line 1, column 7 (byte 6)`, `strings stand in double quotes: "text"`},
		{"no text", `(grep)`, `grep lacks a text in double quotes at line 1, column 6 (byte 5)`, ``},
		{"an empty text", `(grep " ")`, `the text of grep is empty at line 1, column 7 (byte 6)`, ``},
		{"two texts", `(grep "a" "b")`, `grep takes a text in double quotes, and here is also "\"" at line 1, column 11 (byte 10)`, `for several: (union (grep "a") (grep "b"))`},
		{"one name of two", `(children-named "A")`, `children-named lacks a name in double quotes at line 1, column 20 (byte 19)`, ``},
		{"an empty union", `(union)`, `union lacks queries at line 1, column 7 (byte 6)`, ``},
		{"an empty intersection", `(intersect )`, `intersect lacks queries at line 1, column 12 (byte 11)`, ``},
		{"a text in a union", `(union "a" "b")`, `union takes queries here, not "\"" at line 1, column 8 (byte 7)`, `a query of a text: (grep "text")`},
		{"in-file the wrong way round", `(in-file (grep "a") "*.go")`, `in-file takes a glob in double quotes here, not "(" at line 1, column 10 (byte 9)`, ``},
		{"in-file without a query", `(in-file "*.go")`, `in-file lacks one query at line 1, column 16 (byte 15)`, ``},
		{"in-file with two", `(in-file "*.go" (grep "a") (grep "b"))`, `in-file takes a glob in double quotes and one query, and here is also "(" at line 1, column 28 (byte 27)`, ``},
		{"a bad glob", `(in-file "src/[a" (grep "a"))`, `the glob "src/[a" has a [ without its ] at byte 5, in the query at line 1, column 10 (byte 9)`, `write \[ for the character`},
		{"an empty glob", `(file "")`, `file has an empty glob at line 1, column 7 (byte 6)`, ``},
		{"a limit in quotes", `(limit "5" (grep "a"))`, `limit takes a number from 1 to 200 here, not "\"" at line 1, column 8 (byte 7)`, ``},
		{"a limit that is not a number", `(limit 5x (grep "a"))`, `limit takes a number from 1 to 200 here, not "5x" at line 1, column 8 (byte 7)`, ``},
		{"a limit below 0", `(limit -5 (grep "a"))`, `limit takes a number from 1 to 200 here, not "-5" at line 1, column 8 (byte 7)`, ``},
		{"a limit of 0", `(limit 0 (grep "a"))`, `the number "0" is not from 1 to 200 at line 1, column 8 (byte 7)`, ``},
		{"a large limit", `(limit 99999999999999999999 (grep "a"))`, `the number "99999999999999999999" is not from 1 to 200 at line 1, column 8 (byte 7)`, ``},
		{"a string without end", `(grep "a`, `the string has no " at its end at line 1, column 7 (byte 6)`, ``},
		{"a string that ends in \\", `(grep "a\`, `the string has no " at its end at line 1, column 7 (byte 6)`, ``},
		{"no )", `(union (grep "a")`, `the form union has no ) for its ( at line 1, column 1 (byte 0)`, ``},
		{"text after the form, which the original passed over", `(grep "a") (grep "b")`, `the query goes on after its first form, with "(" at line 1, column 12 (byte 11)`, `for several queries: (union (grep "a") (grep "b"))`},
		{"a ) too many", `(grep "a"))`, `the query goes on after its first form, with ")" at line 1, column 11 (byte 10)`, `the first form ends at byte 10`},
		{"a single \\ in a regex", `(regex "\d+")`, `the string of regex has a single \ in \d at line 1, column 9 (byte 8)`, `write \\d`},
		{"a single \\ before another letter", `(regex "\é")`, `the string of regex has a single \ in \é at line 1, column 9 (byte 8)`, `write \\é`},
		{"a wrong regex", `(regex "a(b")`, `the text of regex is not an RE2 expression, missing closing ): "a(b" from its byte 1 at line 1, column 8 (byte 7)`, `to search for the text as it is, use literal`},
		{"too deep", deep, `the query has more than 64 levels at line 1, column 577 (byte 576)`, ``},
		{"too many forms", wide, `the query has more than 256 forms at line 1, column 2813 (byte 2812)`, ``},
		{"too long", strings.Repeat(" ", query.MaxDSL+1), `the query has 65537 bytes, 65536 are allowed`, ``},
		{"a text that is too long", `(code "` + strings.Repeat("a", query.MaxText+1) + `")`, `the text of code has 4097 bytes, 4096 are allowed at line 1, column 7 (byte 6)`, ``},
		{"not UTF-8", "(grep \"\xff\")", `the query is not UTF-8`, ``},
	}
	for _, test := range tests {
		e, err := query.Parse(test.dsl)
		if e != nil || err == nil {
			t.Errorf("%s: %v, no error", test.name, e)
			continue
		}
		found, ok := errors.AsType[*diag.Error](err)
		if !ok || found.Error() != test.want {
			t.Errorf("%s: got  %v\nwant %s", test.name, err, test.want)
			continue
		}
		if got := strings.Join(found.Hints, "|"); got != test.hint {
			t.Errorf("%s: hint %s\nwant %s", test.name, got, test.hint)
		}
		if found.Class != diag.Misuse || found.Code != "query_parse" && (found.Code != "glob_pattern" || !strings.Contains(test.name, "glob")) {
			t.Errorf("%s: class %v, code %s", test.name, found.Class, found.Code)
		}
	}
}

func TestParseLimits(t *testing.T) {
	for name, dsl := range map[string]string{
		"deep": strings.Repeat("(limit 5 ", 63) + `(grep "a")` + strings.Repeat(")", 63),
		"wide": "(union" + strings.Repeat(` (grep "a")`, 255) + ")",
		"text": `(literal "` + strings.Repeat("a", query.MaxText) + `")`,
		"long": `(grep "a")` + strings.Repeat(" ", query.MaxDSL-10),
	} {
		if _, err := query.Parse(dsl); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRegexErrors(t *testing.T) {
	tests := []struct{ regex, want, hint string }{
		{`a**`, `regex is not an RE2 expression, invalid nested repetition operator: "**" from its byte 2`, "use literal"},
		{`foo(?=bar)`, `regex is not an RE2 expression, invalid or unsupported Perl syntax: "(?=" from its byte 4`, "no look-ahead"},
		{`(?<!a)b`, `regex is not an RE2 expression, invalid named capture: "(?<!a)b" from its byte 1`, "no look-ahead"},
		{`(a)\1`, `regex is not an RE2 expression, invalid escape sequence: "\\1" from its byte 4`, "no back references"},
		{`[z-a]`, `regex is not an RE2 expression, invalid character class range: "z-a" from its byte 2`, "use literal"},
		{`a{1001}`, `regex is not an RE2 expression, invalid repeat count: "{1001}" from its byte 2`, "use literal"},
		{strings.Repeat("(", 1001) + strings.Repeat(")", 1001), `regex is not an RE2 expression, expression nests too deeply`, "use literal"},
		{"a\xff", `regex is not UTF-8`, ""},
	}
	for _, test := range tests {
		_, err := query.Params{Regex: test.regex}.Compile()
		found, ok := errors.AsType[*diag.Error](err)
		if !ok || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%.20s: got  %v\nwant %s", test.regex, err, test.want)
			continue
		}
		if hint := strings.Join(found.Hints, "|"); !strings.Contains(hint, test.hint) || (hint == "") != (test.hint == "") {
			t.Errorf("%.20s: hint %q", test.regex, hint)
		}
	}
}

// FuzzParse holds that what was parsed is printed so that it parses to the same, and that nothing is left to simplify.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`, `(union (union (grep "a")) (limit 3 (limit 2 (references "b\n\\\"")))))`,
		`(children-named "A" "b")`, `(file "a/[id]/*")`, `(regex "\\d+\n")`, `(intersect (references "a") (intersect (references "a")))`, `(in-file "*.go" (in-file "*.go" (grep "日")))`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := query.Parse(s)
		if err != nil {
			if !errors.Is(err, diag.Code("query_parse")) && !errors.Is(err, diag.Code("glob_pattern")) {
				t.Errorf("%q: %v", s, err)
			}
			return
		}
		again, err := query.Parse(e.String())
		if err != nil || !again.Equal(e) {
			t.Errorf("%q is %s, and that is %v, %v", s, e, again, err)
		}
		q, err := query.Params{Query: s}.Compile()
		if err != nil || q.Limit < 1 || q.Limit > query.MaxLimit || q.Text == "" || q.Expr == nil {
			t.Errorf("%q compiles to %+v, %v", s, q, err)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	const dsl = `(in-file "src/**/*.rs" (intersect (grep "auth") (code "validate")))`
	b.SetBytes(int64(len(dsl)))
	for b.Loop() {
		if _, err := query.Parse(dsl); err != nil {
			b.Fatal(err)
		}
	}
}

func ExampleParse() {
	e, err := query.Parse(`(union (union (grep "token") (code "Login")) (grep "token"))`)
	fmt.Println(e, err)
	_, err = query.Parse(`(in-file "src/**" (grpe "token"))`)
	fmt.Println(err)
	// Output:
	// (union (grep "token") (code "Login")) <nil>
	// there is no operator "grpe" at line 1, column 20 (byte 19)
}
