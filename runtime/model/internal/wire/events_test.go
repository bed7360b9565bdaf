package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

func TestEvents(t *testing.T) {
	for in, want := range map[string]string{
		"data: a\n\n":                                    "|a",
		"event: x\ndata: a\n\ndata: b\n\n":               "x|a,|b",
		"event:x\r\ndata:a\r\ndata: b\r\n\r\n":           "x|a\nb",
		": c\nid: 1\nretry: 2\ndata:  a\n\n":             "| a",
		"event: x\n\ndata: a\n\n":                        "|a", // an event without data is none
		"data\n\ndata:\n\n":                              "",
		"data:\ndata: a\n\n":                             "|\na",
		"data: a\n\ndata: not finished\n":                "|a",
		"\n\n\n":                                         "",
		"datas: a\n\nDATA: a\n\n data: a\n\nx:data: a\n": "",
	} {
		e := newEvents(io.NopCloser(strings.NewReader(in)))
		var got []string
		for e.Next() {
			got = append(got, e.Name+"|"+string(e.Data))
		}
		if text := strings.Join(got, ","); text != want || e.Err() != nil {
			t.Errorf("%q: %q, %v, want %q", in, text, e.Err(), want)
		}
		if e.Next() {
			t.Errorf("%q: an event after the end", in)
		}
	}
}

// An event is at most maxEvent bytes, in one line or in many.
func TestLongEvents(t *testing.T) {
	line := "data: " + strings.Repeat("x", 1<<20) + "\n"
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", maxEvent) + "\n\n",
		"many lines": strings.Repeat(line, maxEvent>>20) + "\n",
	} {
		e := newEvents(io.NopCloser(strings.NewReader(in)))
		if e.Next() || !errors.Is(e.Err(), errLong) || e.Next() {
			t.Errorf("%s: %v", name, e.Err())
		}
	}
	e := newEvents(io.NopCloser(strings.NewReader(strings.Repeat(line, maxEvent>>21) + "\n")))
	if !e.Next() || len(e.Data) < maxEvent/2 || e.Err() != nil {
		t.Errorf("half of it: %d bytes, %v", len(e.Data), e.Err())
	}
}

// Events that are written and read again are the same.
func FuzzEvents(f *testing.F) {
	f.Add("x", "a\nb", "c")
	f.Add("", "{\"a\":\": \"}", "\n")
	f.Fuzz(func(t *testing.T, name, one, two string) {
		if strings.ContainsAny(name+one+two, "\r") || strings.Contains(name, "\n") || one == "" || two == "" {
			return
		}
		var b bytes.Buffer
		for _, data := range []string{one, two} {
			b.WriteString("event: " + name + "\n")
			for line := range strings.SplitSeq(data, "\n") {
				b.WriteString("data: " + line + "\n")
			}
			b.WriteString("\n")
		}
		e := newEvents(io.NopCloser(&b))
		for _, data := range []string{one, two} {
			if !e.Next() || e.Name != name || string(e.Data) != data {
				t.Fatalf("%q %q, want %q %q, %v", e.Name, e.Data, name, data, e.Err())
			}
		}
	})
}

func TestDecode(t *testing.T) {
	type event struct {
		Text  string
		N     *float64
		Inner struct{ Text string }
	}
	for in, want := range map[string]string{
		`{"text":"a","n":1.0}`:                "a",
		` {"text":["x"],"n":"2","new":{}}`:    "",
		`{"text":null,"inner":7,"n":1}`:       "",
		`{"inner":[{"text":"b"}],"text":"a"}`: "a",
	} {
		var e event
		if err := Decode([]byte(in), &e); err != nil || e.Text != want || e.Inner.Text != "" {
			t.Errorf("%s: %+v, %v", in, e, err)
		}
	}
	for _, in := range []string{``, `[]`, `7`, `null`, `{`, `{"text":"a"} x`, `"{}"`} {
		var e event
		var broken *Broken
		if err := Decode([]byte(in), &e); !errors.As(err, &broken) {
			t.Errorf("%s: %+v, %v", in, e, err)
		}
	}
}

func TestRetryAfterForms(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, test := range []struct {
		seconds, ms string
		want, slack time.Duration
		ok          bool
	}{
		{"2", "", 2 * time.Second, 0, true},
		{"0", "", 0, 0, true},
		{"1.5", "", 1500 * time.Millisecond, 0, true},
		{"9", "250", 250 * time.Millisecond, 0, true},
		{"9", "x", 9 * time.Second, 0, true},
		{"1e7", "", 1e7 * time.Second, 0, true},
		{"1e300", "", 1 << 62, 1 << 61, true},
		{"1e999", "", 1 << 62, 1 << 61, true},
		{in(-time.Hour), "", 0, 0, true},
		{in(30 * time.Second), "", 30 * time.Second, 2 * time.Second, true},
		{in(100 * time.Hour), "", 100 * time.Hour, 2 * time.Second, true},
		{"-1", "", 0, 0, false},
		{"NaN", "", 0, 0, false},
		{"soon", "", 0, 0, false},
		{"", "", 0, 0, false},
	} {
		got, ok := retryAfter(http.Header{"Retry-After": {test.seconds}, "Retry-After-Ms": {test.ms}})
		if ok != test.ok || (got-test.want).Abs() > test.slack {
			t.Errorf("%q, %q: %v, %v, want %v, %v", test.seconds, test.ms, got, ok, test.want, test.ok)
		}
	}
}

// The status and headers of a response decide whether a second request is worth it, and after how long.
func TestNext(t *testing.T) {
	for _, test := range []struct {
		status int
		header string
		value  string
		again  bool
	}{
		{200, "X-Should-Retry", "true", false},
		{307, "X-Should-Retry", "true", false},
		{400, "", "", false},
		{400, "X-Should-Retry", "true", true},
		{401, "", "", false},
		{408, "", "", true},
		{409, "", "", true},
		{429, "Retry-After", "60", true},
		{429, "Retry-After", "61", false},
		{429, "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat), false},
		{500, "", "", true},
		{503, "X-Should-Retry", "false", false},
		{529, "", "", true},
	} {
		if _, again := next(&http.Response{StatusCode: test.status, Header: http.Header{test.header: {test.value}}}, 0); again != test.again {
			t.Errorf("%d %s %s: %v, want %v", test.status, test.header, test.value, again, test.again)
		}
	}
	for sent, most := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, longWait, longWait} {
		if wait, again := next(nil, sent); !again || wait > most || wait < most*3/4 {
			t.Errorf("retry %d after %v, want up to %v", sent+1, wait, most)
		}
	}
}

// Every body is JSON in UTF-8, even if a schema or an item is not.
func TestEncode(t *testing.T) {
	got, err := encode(map[string]any{"a": json.RawMessage("\"\xff<\""), "b": "\xfe"})
	if want := "{\"a\":\"\uFFFD<\",\"b\":\"\\ufffd\"}"; err != nil || string(got) != want {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	s := Service{Name: "x:m", Key: "sk-secret"} // no Base: nothing is sent
	if _, err := s.Ask(t.Context(), "p", json.RawMessage(`{"sk-secret"`)); !errors.Is(err, diag.Code(model.CodeRejected)) || strings.Contains(err.Error(), "sk-secret") {
		t.Error(err)
	}
}
