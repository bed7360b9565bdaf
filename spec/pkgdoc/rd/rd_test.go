package rd

import (
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/growth"
)

// TestMarkdown renders text as R's own help shows it.
func TestMarkdown(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{`a \emph{b} \strong{c} \code{d()} \bold{}`, "a *b* **c** `d()`"},
		{"a\nb\n\nc", "a b\n\nc"},
		{"50\\% of it % and a comment\nmore", "50% of it more"},
		{`\code{"a \\\\ b"} \code{c("}", '\%')}`, "`\"a \\\\ b\"` `c(\"}\", '%')`"},
		{`\code{x # a } b` + "\n}", "`x # a` b"},
		{`\code{\link[stats:sd]{sd()}} \link{a b}`, "`sd()` a b"},
		{`\code{"a` + "`" + `b"}`, "``\"a`b\"``"},
		{`\itemize{\item a` + "\n\n" + `b \item c}`, "- a\n\n  b\n- c"},
		{`\enumerate{\item a \itemize{\item b} \item c}`, "1. a\n\n   - b\n1. c"},
		{`\describe{\item{a}{b} \item{\code{c}}{d}}`, "- **a**: b\n- `c`: d"},
		{`\tabular{ll}{a \tab b|c \cr \code{d} \tab e}`, "|  |  |\n|---|---|\n| a | b\\|c |\n| `d` | e |"},
		{"\\preformatted{\n a  b\n  ```\n}", "````\n a  b\n  ```\n````"},
		{`\href{https://e.example/x}{y \emph{z}} \url{https://e.example/a_b} \href{javascript:x}{no}`, "[y *z*](<https://e.example/x>) <https://e.example/a_b> no"},
		{`\url{https://e.example/\%20a} \email{a@b.example}`, "<https://e.example/%20a> a@b.example"},
		{`\eqn{\frac{a}{b}}{a/b} \eqn{x}`, "`\\frac{a}{b}` `x`"},
		{`\ifelse{html}{a}{b}\if{text}{c}\if{latex}{d}\out{<b>}`, "bc"},
		{`\Sexpr[results=rd]{stop("no")}left`, "left"},
		{"a_b _c_ *d* <e> [f] & &amp; # 1. ~", `a_b \_c\_ \*d\* \<e> \[f\] & \&amp; # 1. \~`},
		{"# no heading", `\# no heading`},
		{"1. no list", `1\. no list`},
		{`- no list`, `\- no list`},
		{`\unknown{a \emph{b}} {group}`, "a *b* group"},
		{`a\cr b`, "a\\\nb"},
		{`\newcommand{\mac}{<#1|#2>}\mac{a}{b}`, `\<a\|b>`},
		{`\dots \ldots{} \R`, "... ... R"},
		{`\verb{a\b %x` + "\n}", "`a\\b`"},
		{`stray } brace`, "stray brace"},
		{`\samp{} \sQuote{x} \dQuote{y}`, `'x' "y"`},
		{`\subsection{T}{text}`, "**T**\n\ntext"},
	} {
		nodes, err := Parse(c.src, nil)
		if err != nil {
			t.Errorf("%q: %v", c.src, err)
			continue
		}
		if got := (&Renderer{}).Markdown(nodes); got != c.want {
			t.Errorf("%q\ngot  %q\nwant %q", c.src, got, c.want)
		}
	}
}

func TestComputed(t *testing.T) {
	nodes, err := Parse(`\Sexpr{a} \emph{\Sexpr[x=y]{b}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &Renderer{}
	r.Markdown(nodes)
	if r.Computed != 2 {
		t.Errorf("%d, want 2", r.Computed)
	}
}

// TestLinear parses and renders texts that could be slow.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: -short")
	}
	for _, unit := range []string{`\emph{a} `, "a\n\n", `\itemize{\item a} `, `\code{"a\\\\" # }` + "\n} ", `{`, `}`, "%\n", "#ifdef windows\n", `\mac{`, `\item `} {
		small, large := growth.Times(32<<10, 8, 40, 5*time.Millisecond, func(n int) {
			nodes, _ := Parse(`\newcommand{\mac}{x}`+strings.Repeat(unit, n/len(unit)), nil)
			(&Renderer{}).Markdown(nodes)
		})
		if large > 40*small {
			t.Errorf("%q: 32 KiB take %v, 256 KiB %v", unit, small, large)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("\\name{a}\\usage{\\method{print}{b}(x, y = \"}\")}\n#ifdef unix\n\\item{a}{b}\n#endif\n\\newcommand{\\c}{#1}\\c{d}")
	f.Add(`\tabular{l}{a \tab b \cr} \eqn{a}{b} \figure{a}{options: alt="b"} \deqn{x}`)
	f.Fuzz(func(t *testing.T, src string) {
		nodes, err := Parse(src, map[string]Macro{"own": {"\\emph{#1}", 1}})
		if err != nil {
			if nodes != nil {
				t.Error("nodes beside an error")
			}
			return
		}
		r := &Renderer{}
		if text := r.Markdown(nodes); strings.HasSuffix(text, "\n\n") {
			t.Errorf("%q ends with an empty line", text)
		}
		if strings.Contains(r.Line(nodes), "\n") {
			t.Error("a line has a line end")
		}
	})
}
