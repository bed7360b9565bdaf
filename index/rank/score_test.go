package rank

import (
	"math"
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var closeServer = Document{
	Name: "Close", Owner: "Server", Path: "net/http/server.go", Signature: "()", Doc: []byte("Close closes all listeners and idle connections."),
	Body: []byte("func (s *Server) Close() error { s.mu.Lock(); defer s.mu.Unlock(); return s.closeListenersLocked() }"),
	Kind: "method", Tokens: 40, Exported: true,
}

func part(s Score, name string) float64 {
	for _, p := range s.Parts {
		if p.Name == name {
			return p.Value
		}
	}
	return 0
}

// The first document of each line answers better than the second.
func TestBetter(t *testing.T) {
	with := func(change func(d *Document)) Document {
		d := closeServer
		change(&d)
		return d
	}
	for _, c := range []struct {
		name, question string
		better, worse  Document
	}{
		{"the name beats a mention", "Close", closeServer, with(func(d *Document) { d.Name = "Shutdown" })},
		{"letter by letter beats another case", "Close", closeServer, with(func(d *Document) { d.Name = "close" })},
		{"the owner decides", "Server.Close", closeServer, with(func(d *Document) { d.Owner = "File" })},
		{"a definition beats its test", "close server", closeServer, with(func(d *Document) { d.Path = "net/http/server_test.go" })},
		{"but not for a question about tests", "test that close fails", with(func(d *Document) { d.Path = "net/http/server_test.go" }), closeServer},
		{"own code beats that of others", "close server", closeServer, with(func(d *Document) { d.Path = "vendor/net/http/server.go" })},
		{"written code beats made code", "close server", closeServer, with(func(d *Document) { d.Path = "net/http/server.pb.go" })},
		{"short beats long", "close server", closeServer, with(func(d *Document) { d.Tokens = 4000 })},
		{"exported beats not", "close server", closeServer, with(func(d *Document) { d.Exported = false })},
		{"a function beats a paragraph", "close server", closeServer, with(func(d *Document) { d.Kind = "paragraph" })},
		{"the kind that was asked for", "the close struct", with(func(d *Document) { d.Kind = "struct" }), with(func(d *Document) { d.Kind = "class" })},
		{"what is known besides", "close server", with(func(d *Document) { d.Prior = 0.5 }), closeServer},
		{"words as one identifier", "listen and serve", Document{Name: "ListenAndServe", Body: []byte("x"), Kind: "function"},
			Document{Name: "Listen", Body: []byte("func Listen(address string) { we listen and serve nothing but this address, and report when it is taken }"), Kind: "function"}},
		{"digits apart", "base 64", Document{Name: "base64", Kind: "module"}, Document{Name: "base", Body: []byte("64"), Kind: "module"}},
		{"a file by its name", "server.go", Document{Name: "x", Path: "net/http/server.go", Kind: "file"}, Document{Name: "x", Path: "net/server/go.go", Kind: "file"}},
		{"terms that stand together", "idle connections", closeServer, with(func(d *Document) { d.Doc = []byte("Close closes connections, and all listeners that are idle.") })},
		{"a message as it stands", "could not read response body", Document{Name: "f", Body: []byte(`return errors.New("could not read response body: " + err)`), Kind: "function"},
			Document{Name: "readBody", Body: []byte("could(response); not(); body.response(); read()"), Kind: "function"}},
		{"an option where it is declared", "config listen", Document{Name: "f", Body: []byte(`flags.String("listen", x); we listen`), Kind: "function"},
			Document{Name: "f", Body: []byte("we listen and listen"), Kind: "function"}},
		{"tests of a file that is asked for", "what fails in server.go", with(func(d *Document) { d.Path = "net/http/server_test.go" }), with(func(d *Document) { d.Path = "net/http/client_test.go" })},
		{"any answer beats none", "close", with(func(d *Document) { d.Path = "testdata/vendor/x_test.go" }), Document{Name: "Nothing", Kind: "function", Tokens: 1, Exported: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := New(Ask(c.question), Corpus{})
			if a, b := s.Score(c.better), s.Score(c.worse); a.Value <= b.Value {
				t.Errorf("%v\nis not above\n%v", a, b)
			}
		})
	}
}

func TestScoreExplains(t *testing.T) {
	s := New(Ask("where does the Server close idle lizards"), Corpus{Documents: 1000, Length: 50, Frequency: func(term string) int { return map[string]int{"server": 100}[term] }})
	got := s.Score(closeServer)
	if want := []string{"serv", "close", "idl"}; !slices.Equal(got.Matched, want) {
		t.Errorf("matched %q, want %q", got.Matched, want)
	}
	if got.Coverage < 0.5 || got.Coverage > 0.9 {
		t.Errorf("coverage of three words of four is %v", got.Coverage)
	}
	for _, name := range []string{"name", "owner", "path", "doc", "body", "near", "cover", "exact", "kind", "exported", "size"} {
		if part(got, name) <= 0 {
			t.Errorf("no part %q in %v", name, got.Parts)
		}
	}
	if none := s.Score(Document{Name: "Other", Kind: "function"}); none.Value != 0 || none.Coverage != 0 || none.Exact != 0 || len(none.Matched) > 0 || len(none.Parts) > 0 {
		t.Errorf("of a document that shares nothing: %+v", none)
	}
}

// A name that is nowhere as a whole does not make the answers to its parts worse.
func TestHalfRememberedName(t *testing.T) {
	d := Document{Name: "parseRequestLine", Body: []byte("parse"), Kind: "function"}
	df := func(term string) int { return map[string]int{"parse": 50, "request": 40, "parserequestlin": 1}[term] }
	if s := New(Ask("parseRequest"), Corpus{Documents: 1000, Frequency: df}).Score(d); s.Coverage != 1 {
		t.Errorf("coverage is %v", s.Coverage)
	}
}

// anyDocument makes a document of a few words.
func anyDocument(r *rand.Rand) Document {
	words := strings.Fields("Close server listenAndServe get_user parse requests HTTP body test vendor x 42 größe")
	text := func(n int) string {
		var all []string
		for range r.Intn(n + 1) {
			all = append(all, words[r.Intn(len(words))])
		}
		return strings.Join(all, " ")
	}
	return Document{
		Name: words[r.Intn(len(words))], Owner: text(1), Path: strings.ReplaceAll(text(4), " ", "/"), Signature: text(5),
		Doc: []byte(text(20)), Body: []byte(text(60)), Kind: []string{"function", "paragraph", "class", "?"}[r.Intn(4)],
		Tokens: r.Intn(500) - 5, Exported: r.Intn(2) == 0, Prior: []float64{0, 1, -1, 7, math.NaN(), math.Inf(-1)}[r.Intn(6)],
	}
}

func TestScoreLaws(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	questions := []string{"close", "where is the server closed", "listen and serve", "getUser test", "parse HTTP requests body", "größe 42", ""}
	for range 3000 {
		d := anyDocument(r)
		q := Ask(questions[r.Intn(len(questions))])
		c := Corpus{Documents: r.Intn(3) * 100, Length: float64(r.Intn(100)), Frequency: func(term string) int { return len(term) * 7 }}
		s := New(q, c)
		got := s.Score(d)

		sum := 0.0
		for _, p := range got.Parts {
			sum += p.Value
			if p.Value == 0 || p.Value != p.Value || p.Value < 0 && p.Name != "place" && p.Name != "prior" {
				t.Fatalf("part %v of %+v", p, d)
			}
		}
		if math.Abs(sum-got.Value) > 1e-9 {
			t.Fatalf("parts sum to %v, value is %v", sum, got.Value)
		}
		if got.Coverage < 0 || got.Coverage > 1 || got.Exact < 0 || got.Exact > 1 || got.Value > 3 || got.Value < -1 {
			t.Fatalf("%+v", got)
		}
		if again := New(q, c).Score(d); !reflect.DeepEqual(again, got) {
			t.Fatalf("%v, and again %v", got, again)
		}

		for _, term := range q.Content() {
			more := d
			more.Body = append([]byte(term.Text+" "), d.Body...)
			better := s.Score(more)
			if stemOf(term.Text) != term.Text {
				continue
			}
			if part(better, "body") < part(got, "body") || better.Coverage < got.Coverage {
				t.Fatalf("with %q more in the body of %+v:\n%v\nbefore %v", term.Text, d, better, got)
			}
		}
		more := d
		more.Body = append([]byte("unrelated words again "), d.Body...)
		if worse := s.Score(more); part(worse, "body") > part(got, "body") {
			t.Fatalf("other words make the body better: %v, before %v", worse, got)
		}
	}
}

func TestLogarithm(t *testing.T) {
	for _, x := range []float64{1e-300, 0.001, 0.5, 0.99, 1, 1.5, 2, math.E, 10, 12345.678, 1e300} {
		if got, want := ln(x), math.Log(x); math.Abs(got-want) > 1e-13*max(1, math.Abs(want)) {
			t.Errorf("ln(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{-40, -7.3, -1, -0.1, 0, 0.3, 1, 20.5} {
		if got, want := exp(x), math.Exp(x); math.Abs(got-want) > 1e-13*want {
			t.Errorf("exp(%v) = %v, want %v", x, got, want)
		}
	}
	if ln(-1) != 0 || ln(math.NaN()) != 0 || ln(math.Inf(1)) != 0 || exp(math.NaN()) != 1 || exp(1e9) != exp(40) {
		t.Error("bounds")
	}
}

func BenchmarkScore(b *testing.B) {
	text := goSource(b, 64<<10)
	for name, n := range map[string]int{"300": 300, "3000": 3000, "60000": 60000} {
		b.Run(name, func(b *testing.B) {
			d := closeServer
			d.Body = text[1000:][:n]
			s := New(Ask("where does the server parse the request line and close idle connections"), Corpus{Documents: 90000, Length: 100, Frequency: func(t string) int { return 1000 * len(t) }})
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				s.Score(d)
			}
		})
	}
}

// Words asked beside the name of a definition are counted apart, so that a name alone does not answer.
func TestScoreRest(t *testing.T) {
	d := Document{Name: "bufferRead", Kind: "function", Path: "a.c", Body: []byte("int bufferRead(struct context *c) { return read(c->fd, c->bytes, 16); }")}
	for text, want := range map[string][2]float64{
		"bufferRead":                 {1, 1},
		"bufferRead bytes":           {1, 1},
		"bufferRead limit bandwidth": {0, 0},
		"bufferRead bytes bandwidth": {0.3, 0.7},
		"send email":                 {0, 0},
	} {
		if got := New(Ask(text), Corpus{}).Score(d).Rest; got < want[0] || got > want[1] {
			t.Errorf("%q: %.2f of the rest, want %v", text, got, want)
		}
	}
}
