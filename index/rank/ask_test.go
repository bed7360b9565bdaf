package rank

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// show writes terms as in a question: (stop) and +part.
func (q Question) show() string {
	var all []string
	for _, t := range q.Terms {
		s := t.Text
		if t.Part {
			s = "+" + s
		}
		if t.Stop {
			s = "(" + s + ")"
		}
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

func TestAsk(t *testing.T) {
	for _, c := range []struct{ name, text, terms, names, joined string }{
		{"a sentence", "Where is the function that parses the config?",
			"(where) (is) (the) (funct) (that) parse config", "", "parsesconfig parseconfig"},
		{"the same words asked for", "function config", "funct config", "", "functionconfig"},
		{"an identifier and its parts", "getUserByID", "getuserbyid +get +user +by +id", "getUserByID", ""},
		{"a part that is also said", "getUser of a user", "getuse +get user (of) (a)", "getUser", "getuserofause getuseruse"},
		{"a lone word", "close", "close", "close", ""},
		{"a qualified name", "who calls http.Server.Close()?", "(who) call http serv close", "Close", "whocallshttpserverclose callshttpserverclose callhttpserverclose"},
		{"a call", "open() fails", "open fail", "open", "openfail"},
		{"quoted words are meant", `who says "not the file"`, "(who) say not the file", "", "whosaysnotthefil saysnotthefil saynotthefil"},
		{"a quoted word", "the `cache` package", "(the) cach packag", "cache", "thecachepackag cachepackag"},
		{"a file", "what is in cmd/main.go", "(what) (is) (in) cmd main go", "cmd/main.go main.go", "whatisincmdmaingo cmdmaingo"},
		{"a hyphen before digits", "sha-256 sums", "sha256 +sha +256 sum", "sha-256", "sha256sum"},
		{"a hyphen before digits that were said", "sum of 256 sha-256", "sum (of) 256 sha256 +sha", "sha-256", "sumof256sha256 sum256sha256"},
		{"a name with hyphens", "pdf-forms", "pdf form", "pdf-forms", "pdfform"},
		{"short forms", "what's up, don't you think", "(what) up (don) (you) think", "", "whatupdonyouthink upthink"},
		{"only stop words", "what is this", "what is this", "", "whatisthis"},
		{"words as one", "listen and serve", "listen (and) serv", "", "listenandserv listenserv"},
		{"abbreviations are no names", "e.g. this", "e g (this)", "", "egthis eg"},
		{"numbers are no names", "in 2024 or 3.5", "(in) 2024 (or) 3 5", "", "in2024or35 202435"},
		{"open quotes", `a "b`, "(a) b", "", "ab"},
		{"nothing", " ?! ", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := Ask(c.text)
			if got := q.show(); got != c.terms {
				t.Errorf("terms are %s, want %s", got, c.terms)
			}
			if got := strings.Join(q.Names, " "); got != c.names {
				t.Errorf("names are %q, want %q", got, c.names)
			}
			if got := strings.Join(q.Joined, " "); got != c.joined {
				t.Errorf("joined are %q, want %q", got, c.joined)
			}
		})
	}
}

func TestAskHasLimits(t *testing.T) {
	var b strings.Builder
	for i := range 400 {
		b.WriteString(strings.Repeat(string(rune('b'+i%20)), 1+i/20))
		b.WriteString(" ")
	}
	if n := len(Ask(b.String()).Terms); n != maxTerms {
		t.Errorf("%d terms", n)
	}
	if q := Ask(strings.Repeat(" ", maxAsk-1) + "äb"); len(q.Terms) != 0 {
		t.Errorf("behind the limit: %q", q.show())
	}
}

func FuzzAsk(f *testing.F) {
	f.Add("where is `http.Server`'s Close() in \"net/http\"?")
	f.Add("\"0/\"")
	f.Add("a' 'b \"“x” «y» \xff sha-256-a")
	f.Fuzz(func(t *testing.T, text string) {
		q := Ask(text)
		if len(q.Terms) > maxTerms {
			t.Fatalf("%d terms", len(q.Terms))
		}
		seen := map[string]bool{}
		for _, x := range q.Terms {
			if x.Text == "" || seen[x.Text] || !utf8.ValidString(x.Text) {
				t.Fatalf("terms are %q", q.show())
			}
			seen[x.Text] = true
		}
		said := 0
		for _, w := range q.Words {
			for _, s := range append(w.Parts, w.Text) {
				if !seen[s] {
					t.Fatalf("%q is no term of %q", s, q.show())
				}
				said++
			}
		}
		if said < len(q.Terms) {
			t.Fatalf("the words %+v lack some terms of %q", q.Words, q.show())
		}
		if len(q.Terms) > 0 && len(q.Content()) == 0 {
			t.Fatalf("only stop words: %q", q.show())
		}
		if slices.Contains(q.Names, "") || slices.Contains(q.Joined, "") {
			t.Fatalf("names %q, joined %q", q.Names, q.Joined)
		}
		New(q, Corpus{}).Score(Document{Name: text, Body: []byte(text), Path: text})
	})
}

func BenchmarkAsk(b *testing.B) {
	for b.Loop() {
		Ask("where does the http.Server parse the request line and how are getUserByID errors handled")
	}
}

// A long text tells a story: it is neither the text of an error nor a question about an option, whatever words are in it.
func TestReport(t *testing.T) {
	text := "[Bug] cannot resume the download\n\nSteps to reproduce: interrupt it twice with the default config and the retry option. Expected result: it goes on. Actual result: unexpected error, not found."
	q := Ask(text)
	if q.Kind != Report {
		t.Errorf("it is of the kind %v", q.Kind)
	}
	for _, term := range q.Terms {
		if frame := term.Text == "bug" || term.Text == "reproduc" || term.Text == "expect"; frame != term.Stop && (frame || term.Text == "resum" || term.Text == "download") {
			t.Errorf("%+v", term)
		}
	}
	if q := Ask("the expected result of a bug report"); q.Kind == Report || len(q.Content()) < 4 {
		t.Errorf("a short question has %v of the kind %v", q.Content(), q.Kind)
	}
}

func TestOptions(t *testing.T) {
	for text, want := range map[string]string{
		"what does the --dry-run option do":                "dry-run",
		"environment variable PAGE_SIZE":                   "PAGE_SIZE",
		"option `--`":                                      "",
		"config flag for words that describe what it does": "",
		"how are pages merged":                             "",
	} {
		if got := strings.Join(Ask(text).Options, " "); got != want {
			t.Errorf("%q asks for the options %q, want %q", text, got, want)
		}
	}
}
