package serve

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
)

func TestReadQuestion(t *testing.T) {
	for _, test := range []struct{ name, data, wrong string }{
		{"documented names", `{"repo":"r","patterns":["a"],"match":"all","max_tokens":100}`, ""},
		{"historical names", `{"repo":"r","patterns":["a"],"match_mode":"all"}`, ""},
		{"nothing", ``, ""},
		{"another's place", `{"path":"/x"}`, "path"},
		{"fields of packs", `{"repo":"r","pattern":"a","max_handles":3}`, "max_handles"},
		{"too many tokens", `{"repo":"r","max_tokens":200001}`, "max_tokens is 200001"},
		{"no tokens", `{"repo":"r","max_tokens":-1}`, "max_tokens is -1"},
		{"tokens as text", `{"repo":"r","max_tokens":"many"}`, "max_tokens is string, not a whole number"},
		{"a place of another type", `{"repo":["r"]}`, "repo is array, not a string"},
		{"a list", `["r"]`, "object"},
		{"two objects", `{} {}`, "object"},
	} {
		_, err := readQuestion([]byte(test.data), "repo", false)
		if (err == nil) != (test.wrong == "") || err != nil && (!strings.Contains(err.Error(), test.wrong) || !errors.Is(err, diag.Code(codeInvalid))) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	q, err := readQuestion([]byte(`{"repo":"r","pattern":"a","config":{"max_handles":3,"plan":true},"max_per_file":1}`), "repo", true)
	if err != nil || q.Where != "r" || q.MaxHandles != 3 || q.MaxPerFile != 1 || q.Plan == nil || !*q.Plan {
		t.Errorf("got %+v, %v", q, err)
	}
}

// A question that is read and written again is the same; errors are those of a caller.
func FuzzReadQuestion(f *testing.F) {
	f.Add(`{"repo":"r","pattern":"a","limit":3,"max_tokens":5}`, true)
	f.Add(`{"repo":"r","dsl":"(grep \"a\")","config":{"plan":false}}`, true)
	f.Add(`{"repo":"r","match_mode":"all","patterns":["\u0000",""]}`, false)
	f.Fuzz(func(t *testing.T, data string, pack bool) {
		q, err := readQuestion([]byte(data), "repo", pack)
		if err != nil {
			if diag.ClassOf(err) != diag.Misuse {
				t.Errorf("%q: %v", data, err)
			}
			return
		}
		body := EvidenceRequest{Repo: q.Where, Params: q.Params, PackConfig: PackConfig{q.MaxHandles, q.MaxPerFile, q.Plan}, MaxTokens: q.MaxTokens}
		again, err := readQuestion(encode(body), "repo", true)
		again.EvidenceParams.MaxTokens = q.EvidenceParams.MaxTokens
		if !pack {
			q.EvidenceParams.MaxTokens, again.EvidenceParams.MaxTokens = 0, 0
		}
		if err != nil || string(encode(again)) != string(encode(q)) {
			t.Errorf("%q: %+v became %+v, %v", data, q, again, err)
		}
	})
}

func TestDecode(t *testing.T) {
	for _, test := range []struct{ data, wrong, hint string }{
		{`{"repo":"r","handles":[{"id":"h","generation":3}]}`, "", ""},
		{`{"repo":"r","handle":[]}`, `there is no field "handle"`, "handles"},
		{`{"repo":"r","handles":[{"id":3}]}`, "id is number, not a string", ""},
		{`{"repo":"r","max_tokens":1.5}`, "max_tokens is number 1.5, not a whole number", ""},
		{`{`, "not JSON", ""},
		{`{} {}`, "not JSON", ""},
		{`3`, "the request is number, not an object", ""},
		{`{"REPO":"r"}`, `there is no field "REPO"`, "repo"},
	} {
		var in ExpandRequest
		err := decode([]byte(test.data), &in)
		if (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("%s: %v", test.data, err)
			continue
		}
		if p, _ := problemOf(err); !strings.Contains(p.Hint, test.hint) {
			t.Errorf("%s: %+v", test.data, p)
		}
	}
}

func problemOf(err error) (Problem, bool) {
	if err == nil {
		return Problem{}, false
	}
	p, _ := problem(err)
	return p, true
}

// Each code has one status, and no error of a caller is one of the server (reference: query errors were 500).
func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, r := range table() {
		if seen[r.code] || r.status < 400 || r.wire == "" {
			t.Errorf("%+v", r)
		}
		seen[r.code] = true
		p, status := overHTTP(diag.New(diag.Failed, r.code, "no"))
		if status != r.status || p.Code != r.wire || p.Detail != "" && p.Detail != r.code {
			t.Errorf("%s: %d %+v", r.code, status, p)
		}
	}
	for _, test := range []struct {
		err    error
		status int
		code   string
	}{
		{diag.New(diag.Misuse, "query_parse", "no"), 400, codeInvalid},
		{diag.New(diag.Misuse, "glob_pattern", "no"), 400, codeInvalid},
		{diag.New(diag.Failed, "disk_full", "no"), 500, codeInternal},
		{errors.New("no"), 500, codeInternal},
	} {
		if p, status := overHTTP(test.err); status != test.status || p.Code != test.code || p.Message != "no" {
			t.Errorf("%v: %d %+v", test.err, status, p)
		}
	}
}

// Every type that a client sends or gets has names for all of its fields.
func TestNames(t *testing.T) {
	for _, r := range operations() {
		for _, v := range []any{r.Body, r.Answer} {
			if v == nil || reflect.TypeOf(v).Kind() != reflect.Struct {
				continue
			}
			for f := range reflect.TypeOf(v).Fields() {
				if f.Tag.Get("json") == "" && !f.Anonymous {
					t.Errorf("%T.%s", v, f.Name)
				}
			}
		}
	}
}
