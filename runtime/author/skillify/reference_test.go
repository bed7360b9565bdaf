package skillify

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// scattered is a package of some pages with so many symbols that each is in several files.
func scattered(ecosystem string, pages, symbols int) *pkgdoc.Package {
	p := &pkgdoc.Package{Ecosystem: ecosystem, Name: "far", Version: "1.0.0", Title: "Far"}
	for i := range pages {
		id := "far"
		if i > 0 {
			id = fmt.Sprintf("far/page%03d", i)
		}
		page := pkgdoc.Page{ID: id, Title: "Page " + id, Text: "About " + id + "."}
		for j := range symbols {
			s := pkgdoc.Symbol{ID: fmt.Sprintf("%s#fn%04d", id, j), Name: fmt.Sprintf("fn%04d", j), Kind: pkgdoc.Function}
			if j%5 > 0 {
				s.Signature = fmt.Sprintf("function fn%04d(page%d: string,\n  other: number): void", j, i)
			}
			if j%3 > 0 {
				s.Text = fmt.Sprintf("Does thing %d of %d.\n\n%s", j, i, strings.Repeat("It is long. ", 20))
			}
			page.Symbols = append(page.Symbols, s)
		}
		p.Pages = append(p.Pages, page)
	}
	return p
}

// TestPlaces looks every symbol up in the file that the index names, the pages of the table, and code in every part that it is cut into.
// TestOwned puts the owner before the name of a member, and nowhere else.
func TestOwned(t *testing.T) {
	for _, c := range [][3]string{
		{"name(): string", "Argument.name", "Argument.name(): string"},
		{"static from<U>(a: U): B", "B.from", "static B.from<U>(a: U): B"},
		{"f(a: f): 1\nf(b: 2): 2", "A.f", "A.f(a: f): 1\nA.f(b: 2): 2"},
		{"class I {\n  I: 1;\n}", "N.I", "class N.I {\n  I: 1;\n}"},
		{"function f(): void", "f", "function f(): void"},
		{"function g(): void", "N.f", "function g(): void"},
	} {
		if got := owned(c[0], c[1]); got != c[2] {
			t.Errorf("%q of %s: %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func TestPlaces(t *testing.T) {
	for _, p := range []*pkgdoc.Package{scattered("npm", 1, 1500), scattered("npm", 3, 700), scattered("go", 400, 5), wordbag(t)} {
		s := mustMake(t, p)
		clean(t, s)
		x, err := ReadIndex(s.File(IndexName))
		if err != nil {
			t.Fatal(err)
		}
		told := map[string]string{} // files by heading
		for _, f := range s.Files {
			fence := ""
			for line := range strings.Lines(string(f.Data)) {
				line = strings.TrimSuffix(line, "\n")
				if fence = pkgdoc.Fenced(line, fence); fence == "" && strings.HasPrefix(line, "### ") {
					told[line] = f.Path
				}
			}
			if strings.HasSuffix(f.Path, ".md") && fence != "" {
				t.Errorf("%s ends in code", f.Path)
			}
			if strings.Contains(string(f.Data), "Continued in") && len(f.Data) < 1000 {
				t.Errorf("%s holds nothing but where it goes on:\n%s", f.Path, f.Data)
			}
		}
		bad := 0
		for _, one := range x.Symbols {
			symbol, _ := p.Symbol(one.ID)
			text := string(s.File(one.File))
			at, ok := told["### "+pkgdoc.Code(one.ID)]
			if ok && at == one.File || !ok && one.Signature != "" && strings.Contains(text, strings.SplitN(one.Signature, ",", 2)[0]) || !ok && one.Signature == "" && strings.Contains(text, pkgdoc.Code(symbol.Name)) {
				continue
			}
			if bad++; bad < 5 {
				t.Errorf("%s of %s is not in %s", one.ID, p.Name, one.File)
			}
		}
		for _, row := range regexp.MustCompile("(?m)^\\| .* \\| `(fn[0-9]+)(?:\\(\\))?` \\| \\[`([^`]*)`\\]\\(([^)]*)\\) \\|$").FindAllStringSubmatch(string(s.File("SKILL.md")), -1) {
			if heading := "### `" + row[2] + "#" + row[1] + "`\n"; !strings.Contains(string(s.File(row[3])), heading) {
				t.Errorf("%s is not in %s", heading, row[3])
			}
		}
	}
}

// TestSplitCode closes code where it is cut and opens it again; nothing of it is lost.
func TestSplitCode(t *testing.T) {
	var lines []string
	for i := range 4000 {
		lines = append(lines, fmt.Sprintf("line %d;", i))
	}
	code := strings.Join(lines, "\n")
	for _, text := range []string{"# T\n\n## Usage\n\n```ts\n" + code + "\n```\n\nEnd.", "# T\n\n- a\n\n  ~~~~ts\n  " + strings.ReplaceAll(code, "\n", "\n  ") + "\n  ~~~~\n", "# T\n\n" + strings.Repeat("`", 500) + "\n" + code} {
		parts := split(text, 8000)
		n := 0
		for i, part := range parts {
			n += strings.Count(part.text, "line ")
			if len(part.text) > 8000 || i > 0 && part.from <= parts[i-1].from || i+1 < len(parts) && len(part.text) < 2000 {
				t.Errorf("part %d has %d bytes from %d", i, len(part.text), part.from)
			}
			if i > 0 && !strings.Contains(text[:30], strings.Repeat("`", 20)) && !strings.HasPrefix(strings.TrimSpace(part.text), "```ts\n") && !strings.HasPrefix(strings.TrimSpace(part.text), "~~~~ts\n") {
				t.Errorf("part %d begins %.40q", i, part.text)
			}
		}
		if n != len(lines) {
			t.Errorf("%d of %d lines are left", n, len(lines))
		}
	}
}

// TestMethods says of a method of R what it is of.
func TestMethods(t *testing.T) {
	p := &pkgdoc.Package{Ecosystem: "r", Name: "rp", Version: "1.0.0", Title: "M", Pages: []pkgdoc.Page{{ID: "show", Title: "Show", Symbols: []pkgdoc.Symbol{
		{ID: "show,Person-method", Name: "show,Person-method", Kind: pkgdoc.Method, Signature: "show(object)"}, {ID: "print.foo", Name: "print.foo", Kind: pkgdoc.Method, Signature: "print(x)"}}}}}
	page := string(mustMake(t, p).File("references/api/show.md"))
	if !strings.Contains(page, "show(object)  # S4 method for signature 'Person'\nprint(x)  # print.foo\n") {
		t.Error(page)
	}
}

// TestSaidOnce says once what a symbol is called and why it is deprecated.
func TestSaidOnce(t *testing.T) {
	p := &pkgdoc.Package{Ecosystem: "go", Name: "example.com/m", Version: "1.0.0", Title: "M", Pages: []pkgdoc.Page{{ID: "expr", Title: "Expressions", Symbols: []pkgdoc.Symbol{
		{ID: "expr", Name: "expr", Kind: pkgdoc.Function},
		{ID: "expr.Old", Name: "expr.Old", Kind: pkgdoc.Function, Signature: "func Old()", Text: "Old is old.\n\nDeprecated: use\nNew.\n\nDeprecated: and more.", Deprecated: "use New."}}}}}
	s := mustMake(t, p)
	page := string(s.File("references/api/expr.md"))
	if strings.Contains(page, "Also:") || strings.Count(page, "use New.") != 1 || strings.Contains(page, "use\nNew") || !strings.Contains(page, "and more") {
		t.Error(page)
	}
	if text := string(s.File("SKILL.md")); !strings.Contains(text, "[The page and its symbols]") {
		t.Error(text)
	}
}
