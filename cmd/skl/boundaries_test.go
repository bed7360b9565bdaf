package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// readFields are where the fields of a table of spec/trust-boundaries.md are read: the text of the files, and what
// finds the names of fields in it.
var readFields = map[string]struct {
	files []string
	field *regexp.Regexp
	words []string // that the pattern finds and that are values, not fields
}{
	"Fields of `skl.toml`": {[]string{"../../spec/manifest/parse.go", "../../spec/internal/tomledit/reader.go"}, caseWord, []string{"auto", "symlink", "junction", "copy"}},
	"Fields of `skl.lock`": {[]string{"../../spec/lock/parse.go"}, caseWord, nil},
	"Fields of receipts":   {[]string{"../../install/roots/receipt.go"}, regexp.MustCompile(`json:"([a-z_]+)`), nil},
	"Fields of marketplaces and plugins": {[]string{
		"../../resolver/source/marketplace/marketplace.go", "../../resolver/source/marketplace/place.go", "../../resolver/source/marketplace/skills.go",
		"../../resolver/source/marketplace/need.go", "../../resolver/source/marketplace/open.go",
	}, regexp.MustCompile(`\["([$A-Za-z_]+)"\]`), nil},
}

var caseWord = regexp.MustCompile(`(?m)^\s*case ((?:"[a-z_]+"(?:, )?)+):`)

// TestBoundaries holds the tables of spec/trust-boundaries.md against the code: what they say holds a line exists,
// and no field is read that they do not name.
func TestBoundaries(t *testing.T) {
	page, err := os.ReadFile("../../spec/trust-boundaries.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := testNames(t)
	section, seen, rows := "", map[string][]string{}, 0
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || strings.Contains(line, "---") || section == "Actors" || strings.Contains(cells[len(cells)-1], "held by") {
			continue
		}
		rows++
		if _, ok := readFields[section]; ok {
			seen[section] = append(seen[section], strings.Trim(cells[0], " `"))
		}
		held := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(held) == 0 {
			t.Errorf("nothing holds this row: %s", line)
		}
		for _, name := range held {
			if !tests[name[1]] {
				t.Errorf("there is no test or script %q: %s", name[1], line)
			}
		}
	}
	if rows < 60 {
		t.Fatalf("only %d rows were read", rows)
	}
	for section, from := range readFields {
		fields := fieldsIn(t, from.files, from.field)
		for _, f := range fields {
			if !slices.Contains(seen[section], f) && !slices.Contains(from.words, f) {
				t.Errorf("%s: no row for %q", section, f)
			}
		}
		for _, f := range seen[section] {
			if !slices.Contains(fields, f) {
				t.Errorf("%s: nothing reads %q", section, f)
			}
		}
	}
}

// testNames are the names of all tests, fuzz targets and scripts.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if name, ok := strings.CutSuffix(d.Name(), ".txtar"); ok {
			names[name] = true
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(src), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func fieldsIn(t *testing.T, files []string, field *regexp.Regexp) (fields []string) {
	t.Helper()
	for _, file := range files {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range field.FindAllStringSubmatch(string(src), -1) {
			for name := range strings.SplitSeq(m[1], ", ") {
				fields = append(fields, strings.Trim(name, `"`))
			}
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
