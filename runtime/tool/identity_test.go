package tool

import (
	"encoding/json"
	"testing"
)

// Calls that would do the same have one identity, however a model spells them; what changes nothing has none.
func TestIdentity(t *testing.T) {
	d, _ := open(t, Config{Consent: yes})
	same := [][2]string{
		{`write {"path":"a","content":"x"}`, `Write {"content":"x","path":"./a"}`},
		{`bash {"command":"echo x >> a"}`, `Bash {"command":" echo x >> a\n","timeout_seconds":5}`},
		{`edit {"path":"d/../a","old_string":"x","new_string":"y"}`, `Edit {"new_string":"y","old_string":"x","path":"a"}`},
	}
	split := func(call string) (string, json.RawMessage) {
		for i, r := range call {
			if r == ' ' {
				return call[:i], json.RawMessage(call[i+1:])
			}
		}
		return call, nil
	}
	of := func(call string) string { return d.Identity(split(call)) }
	for _, pair := range same {
		if a, b := of(pair[0]), of(pair[1]); a == "" || a != b {
			t.Errorf("%s has identity %q, %s has %q", pair[0], a, pair[1], b)
		}
	}
	seen := map[string]string{}
	for _, call := range []string{
		`write {"path":"a","content":"x"}`, `write {"path":"a","content":"x "}`, `write {"path":"b","content":"x"}`, `write {"path":"A","content":"x"}`,
		`bash {"command":"echo x >> a"}`, `bash {"command":"echo x >> a; true"}`, `bash {"command":"git commit -m x"}`, `bash {"command":"x=$(date)"}`,
		`edit {"path":"a","old_string":"x","new_string":"y"}`, `edit {"path":"a","old_string":"x","new_string":"y","replace_all":true}`,
	} {
		id := of(call)
		if id == "" || seen[id] != "" {
			t.Errorf("%s has the identity %q of %q", call, id, seen[id])
		}
		seen[id] = call
	}
	for _, call := range []string{
		`read {"path":"a"}`, `grep {"pattern":"x"}`, `fetch {"url":"https://a.example"}`, `nothing {}`, `write []`, `write `,
		`bash {"command":"git status --short | head"}`, `bash {"command":"ls; cat < a"}`,
	} {
		if id := of(call); id != "" {
			t.Errorf("%s has the identity %q", call, id)
		}
	}
}

// Tools that only read are known as such by each of their names, and a name that no tool has is not.
func TestReads(t *testing.T) {
	d, _ := open(t, Config{})
	for name, want := range map[string]bool{"grep": true, "Grep": true, "read_file": true, "list": true, "write": false, "bash": false, "fetch": false, "nothing": false, "server__lookup": false, "": false} {
		if got := d.Reads(name); got != want {
			t.Errorf("Reads(%q) is %v", name, got)
		}
	}
	for name, want := range map[string]string{"Grep": "grep", "write_file": "write"} {
		if got, err := d.Named(name); got != want || err != nil {
			t.Errorf("Named(%q) is %q, %v", name, got, err)
		}
	}
	if got, err := d.Named("wiki__page"); got != "" || err == nil {
		t.Errorf("a name of nothing is %q, %v", got, err)
	}
}
