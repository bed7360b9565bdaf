package rpkg

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/pkgdoc"
)

var update = flag.Bool("update", false, "write the golden files")

// TestWordbag reads a package that has a bit of everything.
func TestWordbag(t *testing.T) {
	p, err := Read(os.DirFS("testdata/wordbag"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/wordbag.json"
	if *update {
		if err := os.WriteFile(golden, append(got, '\n'), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s differs: go test -run TestWordbag -update, and look at the difference", golden)
	}
}

// TestOrder reads the same files from a file system that lists them in another order.
func TestOrder(t *testing.T) {
	plain, err := Read(os.DirFS("testdata/wordbag"))
	if err != nil {
		t.Fatal(err)
	}
	files := fstest.MapFS{}
	err = filepath.WalkDir("testdata/wordbag", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel("testdata/wordbag", name)
		files[filepath.ToSlash(rel)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	other, err := Read(files)
	if err != nil {
		t.Fatal(err)
	}
	if plain.Digest() != other.Digest() || plain.SourceHash() != other.SourceHash() {
		t.Error("the same files give another package")
	}
}

func TestNamespace(t *testing.T) {
	for _, c := range []struct{ src, exports, s3, patterns string }{
		{"export(a, b)\nexport(c)", "a b c", "", ""},
		{"export(\n  \"a b\", # comment )\n  `c<-`\n)", "a b,c<-", "", ""},
		{"export(c(a, 'b'))", "a b", "", ""},
		{`exportPattern("^[^\\.]", '^x$')`, "", "", `^[^\.] ^x$`},
		{"S3method(print, a.b); S3method(\"[<-\", c, fun)", "", "print:a.b [<-:c", ""},
		{"if (getRversion() >= \"3\") {\n export(a)\n} else {\n export(b)\n}", "a b", "", ""},
		{"if(T) export(a) else export(b)", "a b", "", ""},
		{"export(%>%)", "%>%", "", ""},
		{"export(name = value)", "value", "", ""},
		{"export(", "", "", ""},
		{"export(a", "a", "", ""},
		{"))) export(a)", "", "", ""},
	} {
		ns := readNamespace(c.src)
		var s3 []string
		for _, m := range ns.s3 {
			s3 = append(s3, m[0]+":"+m[1])
		}
		want := strings.Fields(c.exports)
		if strings.Contains(c.exports, ",") {
			want = strings.Split(c.exports, ",")
		}
		slices.Sort(want)
		wantS3 := strings.Fields(c.s3)
		slices.Sort(wantS3)
		if !slices.Equal(ns.exports, want) || !slices.Equal(s3, wantS3) || strings.Join(ns.patterns, " ") != c.patterns {
			t.Errorf("%q: %q %q %q", c.src, ns.exports, s3, ns.patterns)
		}
	}
}

func TestAssigned(t *testing.T) {
	src := "a <- 1\nb = function(x) { y <- 2 }\n`c d` <- 3\n\"e\" <- 4\nf <- g <- 5\n6 -> h\nif (x) i <- 1\nsetGeneric(\"j\", def)\nk(l <- 1)\n# m <- 1\n\"n <- 1\"\no <-\n  7\nx$p <- 1\n"
	if got, want := strings.Join(assigned(src), ","), "a,b,c d,e,f,g,h,j,o"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestUndescribed shows methods of S4 as R does, and functions that nothing describes as the sources define them.
func TestUndescribed(t *testing.T) {
	p, err := Read(fstest.MapFS{"DESCRIPTION": {Data: []byte("Package: p\nVersion: 1.0\nTitle: T\n")},
		"NAMESPACE": {Data: []byte("exportPattern(\"^pub_\")\nexport(\"odd<-\", twice, both, dd)\nexportMethods(show, area, both, \"names<-\")\nexportClasses(Person)")},
		"R/a.R":     {Data: []byte("pub_one <- function(q, r = \"}\",\n  ...) {\n  inner <- function(z) 1\n}\npub_two = \\(x) x\n`odd<-` <- function(x, value) x\ntwice <- also <- function(n = 2L) n\ntwice <- function(n) n\ndd <- 3\nsetGeneric(\"area\", function(shape, ...) standardGeneric(\"area\"))\nloop <- function(")},
		"man/a.Rd":  {Data: []byte("\\name{a}\\alias{Person-class}\\alias{show,Person-method}\\title{A}\\usage{\n\\S4method{show}{Person}(object)\n\n\\S4method{names}{Person}(x) <- value\n\n\\S4method{both}{Person, numeric}(x, y)\n}\n\\examples{\na()\n\\dontrun{one()}\n\\dontrun{\ntwo()\n\nthree()\n}\n\\donttest{four()}\n}")},
		"man/b.Rd":  {Data: []byte("\\name{both}\\alias{both}\\title{B}\\usage{\n\\S4method{both}{Other}(x)\n\nboth(x, ...)\n}")}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, page := range p.Pages {
		for _, s := range page.Symbols {
			got = append(got, fmt.Sprintf("%s: %s %s %s %d", page.ID, s.Kind, s.ID, s.Signature, len(s.Params)))
		}
	}
	want := []string{"a: class Person-class  0", "a: method show,Person-method show(object) 1", "a: method names<-,Person-method names(x) <- value 2", "a: method both,Person,numeric-method both(x, y) 2",
		"a: function names<- names(x) <- value 2", "a: function show show(object) 1", "both: function both both(x, ...) 2", "both: method both,Other-method both(x) 1",
		"undocumented: function area area(shape, ...) 2", "undocumented: variable dd  0", "undocumented: function odd<- `odd<-`(x, value) 2", "undocumented: function pub_one pub_one(q, r = \"}\", ...) 3",
		"undocumented: function pub_two pub_two(x) 1", "undocumented: function twice twice(n) 1"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	const code = "a()\n## Not run: one()\n## Not run:\ntwo()\n\nthree()\n## End(Not run)\nfour()"
	if p.Pages[0].Examples[0] != code {
		t.Errorf("got\n%s\nwant\n%s", p.Pages[0].Examples[0], code)
	}
}

// TestRefusals names the package, the file and the place, whatever comes.
func TestRefusals(t *testing.T) {
	head := fstest.MapFS{"DESCRIPTION": {Data: []byte("Package: p\nVersion: 1\nTitle: T\n")}}
	with := func(name, text string) fstest.MapFS {
		out := fstest.MapFS{name: {Data: []byte(text)}}
		for k, v := range head {
			if k != name {
				out[k] = v
			}
		}
		return out
	}
	many := func() string {
		var w strings.Builder
		for i := range pkgdoc.MaxSymbols + 1 {
			fmt.Fprintf(&w, "export(f%d)\n", i)
		}
		return w.String()
	}()
	for _, c := range []struct {
		name  string
		files fstest.MapFS
		err   string // of Read, or
		note  string // of the package
	}{
		{"nothing", fstest.MapFS{}, "no DESCRIPTION", ""},
		{"no name", with("DESCRIPTION", "Version: 1\n"), "no Package", ""},
		{"a bomb of braces", with("man/a.Rd", `\name{a}\title{`+strings.Repeat(`\emph{`, 10_000)), "", "man/a.Rd:1: it is left out: braces are nested deeper than 100"},
		{"a brace", with("man/a.Rd", "\\name{a}\n\\title{b\n"), "", "man/a.Rd:3: it is left out: the file ends where a brace is open"},
		{"macros that make text", with("man/a.Rd", `\newcommand{\a}{\b\b\b\b\b\b\b\b\b\b}\newcommand{\b}{\c\c\c\c\c\c\c\c\c\c}\newcommand{\c}{\d\d\d\d\d\d\d\d\d\d}\newcommand{\d}{\e\e\e\e\e\e\e\e\e\e}\newcommand{\e}{\f\f\f\f\f\f\f\f\f\f}\newcommand{\f}{x}\name{a}\title{\a}`), "", "too much text"},
		{"a macro of itself", with("man/a.Rd", `\newcommand{\a}{x\a}\name{a}\title{\a}`), "", "too much text"},
		{"a name of a topic is missing", with("man/a.Rd", `\title{b}`), "", "man/a.Rd: it is left out: it has no name"},
		{"a million exports", with("NAMESPACE", many), "more than 100,000 names", ""},
		{"a pattern of another language", with("NAMESPACE", `exportPattern("(?<!a)b")`), "", "is not understood"},
		{"a large file", with("man/a.Rd", strings.Repeat("x", 5<<20)), "", "larger than 4 MiB"},
		{"a file beyond reading", with("man/a.Rd", strings.Repeat("x", pkgdoc.MaxFile+1)), "more than 16 MiB", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Read(c.files)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("got %v, want an error with %q", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var notes []string
			for _, n := range p.Notes {
				notes = append(notes, n.String())
			}
			if !strings.Contains(strings.Join(notes, "\n"), c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
	if _, err := Read(with("man/a.Rd", strings.Repeat("x", pkgdoc.MaxFile+1))); !errors.Is(err, pkgdoc.ErrTooLarge) {
		t.Errorf("%v is not ErrTooLarge", err)
	}
}

func FuzzNamespace(f *testing.F) {
	f.Add("export(a, \"b\")\nif (x) { S3method(print, c) } else exportPattern(\"^d\")")
	f.Fuzz(func(t *testing.T, src string) {
		readNamespace(src)
		assigned(src)
		defined(src, map[string]usage{})
	})
}
