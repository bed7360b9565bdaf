package rpkg

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/testdata/long"
)

// asked is what R itself says of the packages that are its arguments: their exports, the methods that they register, and
// the formal arguments of what is a function.
const asked = `
for (p in commandArgs(TRUE)) {
	ns <- asNamespace(p)
	names <- getNamespaceExports(ns)
	for (n in names[!grepl("^[.]__", names)]) {
		cat("export", p, n, "\n", sep = "\t")
		f <- get0(n, ns)
		if (is.function(f) && !is.primitive(f)) {
			a <- formals(f)
			text <- vapply(seq_along(a), function(i) {
				d <- a[i]
				if (is.symbol(d[[1]]) && !nzchar(as.character(d[[1]]))) names(a)[i] else paste0(names(a)[i], "=", paste(deparse(d[[1]], width.cutoff = 500), collapse = " "))
			}, "")
			cat("formals", p, n, text, "\n", sep = "\t")
		}
	}
	m <- ns[[".__NAMESPACE__."]]$S3methods
	if (NROW(m)) for (i in seq_len(nrow(m))) cat("method", p, paste(m[i, 1], m[i, 2], sep = "."), "\n", sep = "\t")
}`

// TestAgainstR compares the exports and signatures of installed packages with what R says of them.
func TestAgainstR(t *testing.T) {
	program := long.Agent(t, "SKL_TEST_RSCRIPT", "Rscript")
	packages := []string{"jsonlite", "data.table", "dplyr", "xml2", "Rcpp", "glue", "mime", "R6", "digest", "zoo", "stats", "utils", "tools", "grid"}
	script := filepath.Join(t.TempDir(), "asked.R")
	if err := os.WriteFile(script, []byte(asked), 0o666); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program, append([]string{"--vanilla", script}, packages...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	read := map[string]*pkgdoc.Package{}
	for _, name := range packages {
		found, _ := filepath.Glob("/usr/lib/R/*/" + name)
		if len(found) != 1 {
			t.Fatalf("%s is installed at %q", name, found)
		}
		if read[name], err = Read(os.DirFS(found[0])); err != nil {
			t.Fatal(err)
		}
	}
	exports, methods, signatures, equal, named := 0, 0, 0, 0, 0
	for line := range strings.Lines(string(out)) {
		words := strings.Split(strings.TrimSuffix(line, "\t\n"), "\t")
		p, name := read[words[1]], words[2]
		s := symbolOf(p, name)
		switch words[0] {
		case "export":
			exports++
			if s == nil {
				t.Errorf("%s exports %s, which is missing", words[1], name)
			}
		case "formals":
			if s == nil || s.Signature == "" || s.Kind != pkgdoc.Function {
				continue // its help shows no usage
			}
			signatures++
			if sameNames(s, words[3:]) {
				named++
			} else {
				t.Logf("%s::%s: the names differ", words[1], name)
			}
			if got, want := formalsOf(s), strings.Join(words[3:], ", "); sameCode(got, want) {
				equal++
			} else { // what packages write in their help is not always what their code says
				t.Logf("%s::%s\n  help %s\n  R    %s", words[1], name, got, want)
			}
		case "method":
			methods++
		}
	}
	t.Logf("%d exports; of %d signatures %d have the same names in the same order, %d the same defaults as well; %d methods", exports, signatures, named, equal, methods)
	if exports < 1000 || signatures < 1000 || float64(named) < 0.995*float64(signatures) || float64(equal) < 0.95*float64(signatures) {
		t.Error("too few")
	}
}

func symbolOf(p *pkgdoc.Package, name string) *pkgdoc.Symbol {
	for i := range p.Pages {
		for j := range p.Pages[i].Symbols {
			if s := &p.Pages[i].Symbols[j]; s.Name == name {
				return s
			}
		}
	}
	return nil
}

func sameNames(s *pkgdoc.Symbol, args []string) bool {
	var got, want []string
	for _, p := range s.Params {
		got = append(got, p.Name)
	}
	for _, a := range args {
		if name, _, _ := strings.Cut(a, "="); name != "" { // one that has none is written as an empty one
			want = append(want, name)
		}
	}
	return slices.Equal(got, want)
}

func formalsOf(s *pkgdoc.Symbol) string {
	var out []string
	for _, p := range s.Params {
		if p.Default != "" {
			out = append(out, p.Name+"="+p.Default)
		} else {
			out = append(out, p.Name)
		}
	}
	return strings.Join(out, ", ")
}

// sameCode compares code by its tokens: help may break lines and quote otherwise.
func sameCode(a, b string) bool {
	texts := func(s string) (out []string) {
		for _, t := range visible(scan(s)) {
			out = append(out, t.text)
		}
		return out
	}
	return slices.Equal(texts(a), texts(b))
}
