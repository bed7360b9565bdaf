package manual

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// typed is a terminal at which lines are typed.
func typed(lines string) (model.Model, *strings.Builder) {
	var shown strings.Builder
	left := strings.Split(lines, "\n")
	return New(Config{
		In: func(context.Context) (string, error) {
			if len(left) == 0 || len(left) == 1 && left[0] == "" {
				return "", io.EOF
			}
			s := left[0]
			left = left[1:]
			shown.WriteString(s + "\n")
			return s, nil
		},
		Out: func(s string) { shown.WriteString(s) },
	}), &shown
}

const flat = `{"type":"object","required":["title","count","kind","ok"],"properties":{
	"note":{"type":"string","description":"anything else"},
	"title":{"type":"string","minLength":2},
	"count":{"type":"integer"},
	"ratio":{"type":"number"},
	"kind":{"enum":["fix","feature"]},
	"ok":{"type":"boolean"},
	"files":{"type":"array","items":{"type":"string"}}}}`

const nested = `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`

func TestAnswers(t *testing.T) {
	for name, test := range map[string]struct{ schema, typed, want, code string }{
		"text":             {"", "one\n\n.two\n.\n", "one\n\n.two", ""},
		"empty text":       {"", ".\n", "", ""},
		"stopped":          {"", "one\n:q\n", "", CodeInterrupted},
		"input ends":       {"", "one\n", "", CodeInterrupted},
		"fields":           {flat, "Hi\n3\n2\nyes\n\n1.5\na.go\nb.go\n\n", `{"title":"Hi","count":3,"kind":"feature","ok":true,"ratio":1.5,"files":["a.go","b.go"]}`, ""},
		"fields again":     {flat, "Hi\nthree\n3\nFEATURES\nFix\nmaybe\nn\nso\nx\n\n\n", `{"title":"Hi","count":3,"kind":"fix","ok":false,"note":"so"}`, ""},
		"does not fit":     {flat, "H\n3\n1\ny\n\n\n\nHo\n3\n1\ny\n\n\n\n", `{"title":"Ho","count":3,"kind":"fix","ok":true}`, ""},
		"stopped at field": {flat, "Hi\n:q\n", "", CodeInterrupted},
		"JSON":             {nested, "{\"a\":\n.\n{\"a\":1}\n.\n{\"a\":{}}\n.\n", `{"a":{}}`, ""},
		"one field":        {`{"type":"object","properties":{"notes":{}},"required":["notes"]}`, "one \"two\"\nthree\n.\n", `{"notes":"one \"two\"\nthree"}`, ""},
		"one field, JSON":  {`{"type":"object","properties":{"n":{}},"required":["n"]}`, "[1, 2]\n.\n", `{"n":[1, 2]}`, ""},
		"one field, whole": {`{"type":"object","properties":{"n":{}},"required":["n"],"additionalProperties":false}`, "{\"n\":7}\n.\n", `{"n":7}`, ""},
		"condition":        {`{"type":"object","properties":{"value":{"type":["boolean","null"]},"reason":{"type":"string"}},"required":["value","reason"]}`, "yes\nso\n", `{"value":true,"reason":"so"}`, ""},
		"undecided":        {`{"type":"object","properties":{"value":{"type":["boolean","null"]},"reason":{"type":"string"}},"required":["value","reason"]}`, "\nno idea\n", `{"value":null,"reason":"no idea"}`, ""},
		"bad schema":       {`{"$ref":"https://example.com/x"}`, "", "", model.CodeBadSchema},
	} {
		t.Run(name, func(t *testing.T) {
			m, shown := typed(test.typed)
			r := model.Request{Node: "1.2", Purpose: model.Leaf, Prompt: "say it"}
			if test.schema != "" {
				r.Schema = json.RawMessage(test.schema)
			}
			reply, err := m.Fill(t.Context(), r)
			if got := reply.Text + string(reply.Value); got != test.want || (err == nil) != (test.code == "") || test.code != "" && !errors.Is(err, diag.Code(test.code)) {
				t.Errorf("got %s, %v; want %s, %s; the terminal:\n%s", got, err, test.want, test.code, shown)
			}
		})
	}
}

// Nothing of a skill reaches the terminal as a command to it.
func TestTerminalIsSafe(t *testing.T) {
	m, shown := typed(".\n")
	evil := "\x1b]0;title\a\x1b[2J\r\u202eabc\nsecond\tline"
	_, err := m.Fill(t.Context(), model.Request{Node: evil, Skill: evil, Purpose: model.Purpose(evil), System: evil, Prompt: evil})
	if err != nil {
		t.Fatal(err)
	}
	if s := shown.String(); strings.ContainsAny(s, "\x1b\a\r\u202e\t") || !strings.Contains(s, "\n  second    line\n") {
		t.Errorf("shown %q", s)
	}
}

func TestTools(t *testing.T) {
	m, shown := typed(":tools\n:call read {\"path\":\"a\"}\n:call bash {}\n:call read {\ndone\n.\n")
	var called []string
	reply, err := m.Fill(t.Context(), model.Request{
		Node: "1", Tools: []model.Tool{{Name: "read", Description: "reads a file"}},
		Call: func(_ context.Context, name string, input json.RawMessage) model.ToolResult {
			called = append(called, name+string(input))
			return model.ToolResult{Text: "the \x1b[1mfile"}
		},
	})
	if err != nil || reply.Text != "done" || len(called) != 1 || called[0] != `read{"path":"a"}` {
		t.Errorf("got %q, %v; called %q", reply.Text, err, called)
	}
	for _, want := range []string{"read  reads a file", `the \x1b[1mfile`, "there is no tool bash"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not shown in\n%s", want, shown)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	_, err := New(Config{}).Fill(t.Context(), model.Request{Node: "1"})
	if !errors.Is(err, diag.Code(model.CodeNoAnswer)) || diag.ClassOf(err) != diag.NeedsInput {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m := New(Config{In: func(context.Context) (string, error) { cancel(); return "", io.ErrUnexpectedEOF }})
	if _, err := m.Fill(ctx, model.Request{Node: "1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// Whatever the schema and whatever is typed: what is returned fits.
func FuzzFill(f *testing.F) {
	f.Add(flat, "Hi\n3\n2\nyes\n\n1.5\na.go\n\n")
	f.Add(nested, "{\"a\":{}}\n.\n")
	f.Add(`{"type":"object","properties":{"a":{"enum":["2","1"]}}}`, "1\n")
	f.Fuzz(func(t *testing.T, schema, lines string) {
		m, shown := typed(lines)
		reply, err := m.Fill(t.Context(), model.Request{Node: "1", Schema: json.RawMessage(schema)})
		if err != nil {
			return
		}
		s, err := model.Compile(json.RawMessage(schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(reply.Value); err != nil {
			t.Errorf("%s does not fit %s: %v\n%s", reply.Value, schema, err, shown)
		}
	})
}
