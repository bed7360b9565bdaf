package skill

import (
	"archive/tar"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// file makes a SKILL.md of frontmatter lines and a one-line body.
func file(frontmatter string) []byte {
	return []byte("---\n" + strings.TrimPrefix(frontmatter, "\n") + "---\nDo it.\n")
}

// minimal adds lines to a frontmatter that has a name and a description.
func minimal(lines string) []byte { return file("name: x\ndescription: Does x.\n" + lines) }

func mustRead(t *testing.T, src []byte) *Document {
	t.Helper()
	d, err := Read(src)
	if err != nil {
		t.Fatalf("Read(%q): %v", src, err)
	}
	return d
}

func rulesOf(findings []diag.Finding) []string {
	var ids []string
	for _, f := range findings {
		ids = append(ids, f.Rule)
	}
	return slices.Compact(ids)
}

func TestRead(t *testing.T) {
	d := mustRead(t, []byte(`---
name: pdf
description: >-
  Fills forms.
  Use when asked.
license: MIT
allowed-tools: Read Bash(git add:*), Grep
metadata:
  version: 1.10
  strict: no
  emoji: "\U0001f600"
---
Fill it.
`))
	if d.Name != "pdf" || d.Description != "Fills forms. Use when asked." || d.License != "MIT" || d.State != Ready || d.Problem != nil {
		t.Errorf("got %+v", d)
	}
	if d.Version != "1.10" {
		t.Errorf("version %q lost its source text", d.Version)
	}
	if want := []Pair{{"version", "1.10"}, {"strict", "no"}, {"emoji", "😀"}}; !slices.Equal(d.Metadata, want) {
		t.Errorf("metadata %q, want %q", d.Metadata, want)
	}
	if want := []string{"Read", "Bash(git add:*)", "Grep"}; !slices.Equal(d.AllowedTools, want) {
		t.Errorf("allowed-tools %q, want %q", d.AllowedTools, want)
	}
	if d.BodyLine != 13 {
		t.Errorf("body starts on line %d", d.BodyLine)
	}
}

// Hosts load what is not quite right; each case leaves these warnings.
func TestReadIsLenient(t *testing.T) {
	for _, c := range []struct{ name, src, rules string }{
		{"clean", string(minimal("")), ""},
		{"no name", "---\ndescription: d\n---\n", RuleNameMissing},
		{"bad name", "---\nname: My Skill\ndescription: d\n---\n", RuleNameChars},
		{"long description", "---\nname: x\ndescription: " + strings.Repeat("é", 1025) + "\n---\n", RuleDescLength},
		{"description at the limit", "---\nname: x\ndescription: " + strings.Repeat("é", 1024) + "\n---\n", ""},
		{"byte order mark", "\ufeff" + string(minimal("")), RuleBOM},
		{"windows line ends", strings.ReplaceAll(string(minimal("")), "\n", "\r\n"), ""},
		{"blanks behind fences", "--- \nname: x\ndescription: d\n---\t\nbody", ""},
		{"closed at the end of the file", "---\nname: x\ndescription: d\n---", ""},
		{"colon", "---\nname: x\ndescription: Usage: do it's\n  thing # note\n---\n", RuleYAMLQuote + " " + RuleYAMLComment},
		{"list of tools", string(minimal("allowed-tools: [Read, Grep]\n")), RuleAllowedTools},
		{"unknown key", string(minimal("color: red\n")), RuleUnknownKey},
		{"number as name", "---\nname: 42\ndescription: d\n---\n", RuleNotString},
	} {
		d := mustRead(t, []byte(c.src))
		if got := strings.Join(rulesOf(d.Warnings), " "); got != c.rules {
			t.Errorf("%s: warnings %q, want %q", c.name, got, c.rules)
		}
		if diag.Worst(d.Warnings) == diag.SeverityError {
			t.Errorf("%s: a skill that hosts load has an error: %v", c.name, d.Warnings)
		}
	}
}

func TestReadQuotesColons(t *testing.T) {
	d := mustRead(t, []byte("---\nname: x\ndescription: Usage: do it's\n  thing # note\nlicense: |\n  a: b: c\n---\n"))
	if d.Description != "Usage: do it's thing" {
		t.Errorf("description %q", d.Description)
	}
	if d.License != "a: b: c" {
		t.Errorf("a block scalar was changed: %q", d.License)
	}
	f, _ := find(d.Fields, "license")
	if f.KeySpan.Line != 5 || f.KeySpan.Column != 1 {
		t.Errorf("license is at %+v of the file", f.KeySpan)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct{ name, src, code string }{
		{"empty", "", CodeNoDescription},
		{"no frontmatter", "# Title\n", CodeNoDescription},
		{"not closed", "---\nname: x\n", CodeNoDescription},
		{"four hyphens", "----\nname: x\ndescription: d\n----\n", CodeNoDescription},
		{"blank description", "---\nname: x\ndescription: '  '\n---\n", CodeNoDescription},
		{"list as description", "---\nname: x\ndescription: [a]\n---\n", CodeNoDescription},
		{"empty frontmatter", "---\n---\n", CodeNoDescription},
		{"not UTF-8", "---\nname: \xff\n---\n", CodeYAML},
		{"not YAML", "---\nname: [x\n---\n", CodeYAML},
		{"a list", "---\n- x\n---\n", CodeYAML},
		{"directive", "---\n%YAML 1.2\nname: x\n---\n", CodeYAML},
		{"document end", "---\nname: x\n...\ndescription: d\n---\n", CodeYAML},
		{"second document", "---\nname: x\n--- y\ndescription: d\n---\n", CodeYAML},
		{"anchor", "---\nname: &a x\ndescription: d\n---\n", CodeYAML},
		{"alias", "---\nname: &a x\ndescription: *a\n---\n", CodeYAML},
		{"tag", "---\nname: !!str x\ndescription: d\n---\n", CodeYAML},
		{"bare tag", "---\nname: ! x\ndescription: d\n---\n", CodeYAML},
		{"merge key", "---\nname: x\ndescription: d\n<<: {a: b}\n---\n", CodeYAML},
		{"duplicate key", "---\nname: x\ndescription: d\nname: y\n---\n", CodeYAML},
		{"duplicate key below", "---\nname: x\ndescription: d\nmetadata: {a: b, a: c}\n---\n", CodeYAML},
		{"number as key", "---\nname: x\ndescription: d\n1: y\n---\n", CodeYAML},
		{"list as key", "---\nname: x\ndescription: d\n? [a]\n: y\n---\n", CodeYAML},
		{"explicit key", "---\nname: x\n? description\n: d\n---\n", CodeYAML},
		{"key alone", "---\nname: x\ndescription: d\nmetadata: {a}\n---\n", CodeYAML},
		{"lone carriage return", "---\nname: x\rdescription: d\n---\n", CodeYAML},
		{"line separator", "---\nname: x\ndescription: a\u2028license: b\n---\n", CodeYAML},
		{"nine levels", "---\nname: x\ndescription: d\nmetadata: {a: {a: {a: {a: {a: {a: {a: {}}}}}}}}\n---\n", CodeYAML},
	} {
		d, err := Read([]byte(c.src))
		if code(err) != c.code || d != nil {
			t.Errorf("%s: Read = %v, %v, want %s", c.name, d, err, c.code)
		}
	}
	if _, err := Read(minimal("metadata: {a: {a: {a: {a: {a: {a: {}}}}}}}\n")); err != nil {
		t.Errorf("eight levels: %v", err)
	}
}

// Text that is made to cost time or memory is refused before it does.
func TestReadHostileText(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("a0: &a0 [x, x]\n")
	for i := 1; i < 9; i++ {
		n := string(rune('0' + i))
		m := string(rune('0' + i - 1))
		laughs.WriteString("a" + n + ": &a" + n + " [" + strings.Repeat("*a"+m+", ", 9) + "*a" + m + "]\n")
	}
	var keys strings.Builder
	for i := range 9000 {
		keys.WriteString("k" + strings.Repeat("x", i%3) + string(rune('a'+i%26)) + ":\n")
	}
	for name, text := range map[string]string{
		"aliases":      laughs.String(),
		"brackets":     "a: " + strings.Repeat("[", 10_000),
		"braces":       "a: " + strings.Repeat("{a: ", 10_000),
		"dashes":       strings.Repeat("- ", 10_000),
		"duplicates":   keys.String(),
		"too long":     "a: " + strings.Repeat("x", MaxFrontmatter),
		"open bracket": "a: [" + strings.Repeat("a,", 20_000),
		"many colons":  strings.Repeat("a: b: c\n", 8_000),
		"no end":       strings.Repeat("x\n", 4<<20),
	} {
		start := time.Now()
		_, err := Read([]byte("---\n" + text + "\n---\n"))
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
		if took := time.Since(start); took > long.Within(2*time.Second) {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// Every value knows its bytes in the file, whatever its style.
func TestPositions(t *testing.T) {
	src := minimal(`"quoted key": 'it''s'  # comment
double: "a \" b"
folded: >-
  one

  two
plain: some words
  go on
flow: [a, "b]", {c: d}, # comment ]
  e]
empty:
list:
- 'é' # comment
- ü: ö
map:
  keep: |2+
     text

  last: v
pairs: [a, b: c, 'd': [e: ], f: {g: h}]
after: [i]
`)
	d := mustRead(t, src)
	for key, want := range map[string]string{
		"quoted key": `'it''s'`,
		"double":     `"a \" b"`,
		"folded":     ">-\n  one\n\n  two",
		"plain":      "some words\n  go on",
		"flow":       "[a, \"b]\", {c: d}, # comment ]\n  e]",
		"empty":      "",
		"list":       "'é' # comment\n- ü: ö",
		"map":        "keep: |2+\n     text\n\n  last: v",
		"pairs":      "[a, b: c, 'd': [e: ], f: {g: h}]",
		"after":      "[i]",
	} {
		f, ok := find(d.Fields, key)
		if got := string(src[f.Value.Start:f.Value.End]); !ok || strings.TrimPrefix(got, "- ") != want {
			t.Errorf("%s is at %q, want %q", key, got, want)
		}
	}
	list, _ := find(d.Fields, "list")
	item := list.Value.Items[1].Fields[0]
	if string(src[item.Value.Start:item.Value.End]) != "ö" || item.Value.Column != 7 || item.Value.Line != 17 {
		t.Errorf("ö is at %+v: columns count bytes", item.Value.Span)
	}
	checkPositions(t, src, d.Fields)
}

// checkPositions checks that fields lie in the frontmatter, one after the other.
func checkPositions(t *testing.T, src []byte, fields []Field) {
	t.Helper()
	at := 0
	for _, f := range fields {
		for _, s := range []Span{f.KeySpan, f.Value.Span} {
			if s.Start < at || s.End < s.Start || s.End > len(src) {
				t.Fatalf("%q: span %+v starts before %d or ends after %d", f.Key, s, at, len(src))
			}
			if line := strings.Count(string(src[:s.Start]), "\n") + 1; line != s.Line {
				t.Fatalf("%q: span %+v is on line %d", f.Key, s, line)
			}
			if column := s.Start - strings.LastIndex(string(src[:s.Start]), "\n"); column != s.Column {
				t.Fatalf("%q: span %+v is at column %d", f.Key, s, column)
			}
			at = s.End
		}
		checkPositions(t, src, f.Value.Fields)
	}
}

func TestInvocationOfHosts(t *testing.T) {
	for lines, want := range map[string]Invocation{
		"":                                    Auto,
		"disable-model-invocation: true\n":    UserOnly,
		"disable-model-invocation: yes\n":     UserOnly,
		"user-invocable: false\n":             ModelOnly,
		"metadata: {user-invocable: 'no'}\n":  ModelOnly,
		"disable-model-invocation: perhaps\n": UserOnly, // what is not understood closes
		"disable-model-invocation: 1\nuser-invocable: off\n": Disabled,
	} {
		if got := mustRead(t, minimal(lines)).Invocation; got != want {
			t.Errorf("%q is %s, want %s", lines, got, want)
		}
	}
}

func TestDialects(t *testing.T) {
	d := mustRead(t, minimal("argument-hint: FILE\nhomepage: https://skl.example\nmetadata:\n  canopy-features: [core]\n"))
	if want := []string{"canopy", "claude-code", "openclaw"}; !slices.Equal(d.Dialects, want) {
		t.Errorf("dialects %q, want %q", d.Dialects, want)
	}
	keys := Keys()
	if !slices.IsSortedFunc(keys, func(a, b KeyDoc) int { return strings.Compare(a.Key, b.Key) }) {
		t.Error("Keys is not sorted")
	}
	if k, ok := LookupKey("displayName"); !ok || k.Key != "display-name" {
		t.Errorf("displayName is %+v", k)
	}
}

func TestReadSidecar(t *testing.T) {
	d, err := ReadSidecar([]byte(`{"name": "x", "version": "0.0.0", "schema_version": "1", "description": "Does x.",
		"tools": [], "dependencies": [], "author": "skl", "license": "MIT"}`))
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != "x" || d.Version != "0.0.0" || d.License != "MIT" || d.Format != "" || d.State != Ready {
		t.Errorf("got %+v", d)
	}
	if author, _ := d.Meta("author"); author != "skl" {
		t.Errorf("author %q", author)
	}
	if got := rulesOf(d.Warnings); !slices.Equal(got, []string{RuleLegacyTools}) {
		t.Errorf("warnings %q", got)
	}
	for _, bad := range []string{"", "[]", "{", `{"name": 1} x`, `{"name": "a", "name": "b"}`, strings.Repeat("[", 100)} {
		if d, err := ReadSidecar([]byte(bad)); code(err) != CodeSidecar || d != nil {
			t.Errorf("ReadSidecar(%q) = %v, %v", bad, d, err)
		}
	}
	if d, err := ReadSidecar([]byte("\ufeff{\"name\": \"x\"}")); err != nil || d.Name != "x" {
		t.Errorf("behind a byte order mark: %v, %v", d, err)
	}
	if d, _ := ReadSidecar([]byte(`{"name": "../x"}`)); !slices.Equal(rulesOf(d.Warnings), []string{RuleNameChars}) {
		t.Errorf("a name that is a path has the warnings %v", d.Warnings)
	}
}

// Released skills can be read, and their values lie where they say.
func TestReadCorpus(t *testing.T) {
	archive := sharedData(t, "canopy-corpus.tar.gz")
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for tr := tar.NewReader(gz); ; {
		h, err := tr.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(h.Name) != FileName {
			continue
		}
		src, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(src)
		if err != nil {
			t.Errorf("%s: %v", h.Name, err)
			continue
		}
		checkPositions(t, src, d.Fields)
		read++
	}
	if read < 50 {
		t.Errorf("only %d skills read", read)
	}
}

// sharedData finds a file of test data beside the repository, or skips.
func sharedData(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "shared", "data", name)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	t.Skipf("no shared/data/%s above the repository", name)
	return ""
}

func FuzzRead(f *testing.F) {
	f.Add(minimal("allowed-tools: [a, 'b c']\nmetadata: {version: 1.0}\n"))
	f.Add(minimal("allowed-tools: [a: b, 'c': [d: ], e: {f: g}]\nmetadata: {version: 1.0}\n"))
	f.Add([]byte(exampleSkill))
	f.Add([]byte(misindented))
	f.Add([]byte("\ufeff---\r\nname: 42\r\ndescription: a: b\r\n  c\r\n---\r\n"))
	f.Add([]byte("---\n{name: x, description: é, allowed-tools: [a,b,]}\n---\n!`ls` <!-- \u200b -->\n"))
	f.Add([]byte("---\nname: x\ndescription: |+\n\n a\n\nmetadata:\n  corteza-skill-format: corteza.skill/v1\n---\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Read(src)
		if (err == nil) == (d == nil) {
			t.Fatalf("Read = %v, %v", d, err)
		}
		if d != nil {
			checkPositions(t, src, d.Fields)
			if d.Body > len(src) || d.Description == "" {
				t.Fatalf("body at %d of %d, description %q", d.Body, len(src), d.Description)
			}
		}
		before := lintFile(src, nil, "", LintOptions{})
		for _, fix := range Fixes(before) {
			if fix.Start < 0 || fix.End < fix.Start || fix.End > len(src) {
				t.Fatalf("fix %+v outside %d bytes", fix, len(src))
			}
		}
		fixed := Apply(src, Fixes(before))
		if after := lintFile(fixed, nil, "", LintOptions{}); rank(after) > rank(before) {
			t.Fatalf("fixing %q gave %q\nbefore %v\nafter  %v", src, fixed, before, after)
		}
		BodyFeatures(src)
		hiddenText("x", src)
	})
}

func rank(findings []diag.Finding) int {
	return slices.Index([]diag.Severity{"", diag.SeverityInfo, diag.SeverityWarning, diag.SeverityError}, diag.Worst(findings))
}
