package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/run"
)

// store remembers what it is told.
type store map[Effect]bool

func (k store) Consented(_ string, e Effect) (bool, error) { return k[e], nil }
func (k store) Remember(_ string, e Effect) error          { k[e] = true; return nil }

// told is what a deed says, in a line.
func told(d run.Deed) string {
	out := []string{d.Leave}
	for _, c := range d.Changed {
		out = append(out, c.What+" "+c.Path)
	}
	return strings.Join(append(out, d.Unknown), "|")
}

// TestDeedLeave holds that each call says who allowed it.
func TestDeedLeave(t *testing.T) {
	grant := func(by, list string) Grant {
		g, err := ParseGrant(list)
		if err != nil {
			t.Fatal(err)
		}
		g.By = by
		return g
	}
	person := func(a Answer) func(context.Context, Ask) (Answer, error) {
		return func(context.Context, Ask) (Answer, error) { return a, nil }
	}
	for _, c := range []struct {
		name   string
		config Config
		want   []string // of two calls
	}{
		{"flag", Config{Grants: []Grant{grant(run.LeaveAllow, "filesystem"), grant(run.LeaveConfig, "filesystem")}}, []string{"allow", "allow"}},
		{"configuration", Config{Grants: []Grant{grant(run.LeaveAllow, "network"), grant(run.LeaveConfig, "write")}}, []string{"config", "config"}},
		{"a pattern", Config{Grants: []Grant{grant(run.LeaveAllow, "write(*.go)"), grant(run.LeaveConfig, "write(*.txt)")}}, []string{"config", "config"}},
		{"kept", Config{Digest: "d", Remembered: store{Filesystem: true}}, []string{"kept", "kept"}},
		{"asked once", Config{Digest: "d", Consent: person(Once)}, []string{"person", "person"}},
		{"asked for good", Config{Digest: "d", Remembered: store{}, Consent: person(Always)}, []string{"person", "person"}},
		{"refused", Config{Digest: "d", Consent: person(No)}, []string{"", ""}},
	} {
		d, _ := open(t, c.config)
		for i, want := range c.want {
			_, _, did, err := d.Call(t.Context(), "write", json.RawMessage(`{"path":"a.txt","content":"x"}`), false)
			if did.Leave != want || (err == nil) != (want != "") {
				t.Errorf("%s, call %d: leave by %q, wanted %q; %v", c.name, i+1, did.Leave, want, err)
			}
		}
	}
}

// TestDeedChanges holds that a call says which files are not as they were.
func TestDeedChanges(t *testing.T) {
	g, _ := ParseGrant("filesystem,external")
	d, work := open(t, Config{Grants: []Grant{g}, Exec: (&plain{}).exec}, "a.txt", "one\n", "gone.txt", "x", "same.txt", "x", ".git/HEAD", "ref", "node_modules/m/i.js", "x")
	for _, c := range []struct{ tool, input, want string }{
		{"read", `{"path":"a.txt"}`, "|"},
		{"write", `{"path":"new/b.txt","content":"two"}`, "|created new/b.txt|"},
		{"write", `{"path":"a.txt","content":"two\n"}`, "|changed a.txt|"},
		{"edit", `{"path":"a.txt","old_string":"two","new_string":"three"}`, "|changed a.txt|"},
		{"edit", `{"path":"a.txt","old_string":"two","new_string":"four"}`, "|"},
		{"bash", `{"command":"rm gone.txt; echo y > c.txt; echo z >> a.txt; echo n > .git/n; echo n > node_modules/n; cat same.txt"}`, "|changed a.txt|created c.txt|deleted gone.txt|"},
		{"bash", `{"command":"true"}`, "|"},
	} {
		_, _, did, err := d.Call(t.Context(), c.tool, json.RawMessage(c.input), false)
		if got := told(did); got != c.want || err != nil {
			t.Errorf("%s %s: %q, wanted %q; %v", c.tool, c.input, got, c.want, err)
		}
		for _, change := range did.Changed {
			data, err := os.ReadFile(filepath.Join(work, change.Path))
			if change.What != run.Deleted && (err != nil || change.Bytes != int64(len(data)) || change.Digest != digest(data)) {
				t.Errorf("%s %s: %+v, and there is %q", c.tool, c.input, change, data)
			}
		}
	}
	_, did, err := d.Script(t.Context(), run.Script{Path: "x.sh", Text: "echo s > s.txt; exit 3\n"})
	if got := told(did); err != nil || got != "|created s.txt|" {
		t.Errorf("a script that fails: %q, %v", got, err)
	}
	if did, err := d.WriteFile(t.Context(), "t.txt", []byte("t")); err != nil || told(did) != "|created t.txt|" {
		t.Errorf("the tree: %q, %v", told(did), err)
	}
	_, _, did, _ = d.Call(t.Context(), "bash", json.RawMessage(`{"command":"for i in $(seq 120); do echo > many$i; done"}`), false)
	if len(did.Changed) != maxChanges || did.Unknown != "20 more files changed" {
		t.Errorf("120 files: %d, %q", len(did.Changed), did.Unknown)
	}
}

// TestDeedCrowd holds that a directory with too many files is looked at once, and that the deed says that it knows nothing.
func TestDeedCrowd(t *testing.T) {
	g, _ := ParseGrant("external")
	d, work := open(t, Config{Grants: []Grant{g}, Exec: (&plain{}).exec})
	for i := range maxCensus + 1 {
		if err := os.WriteFile(filepath.Join(work, fmt.Sprint(i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, _, did, err := d.Call(t.Context(), "bash", json.RawMessage(`{"command":"echo > new"}`), false)
		if got := told(did); err != nil || got != "|"+crowd {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func BenchmarkCensus5kFiles(b *testing.B) {
	d, work := open(b, Config{})
	for i := range 5000 {
		put(b, filepath.Join(work, fmt.Sprint(i%100), fmt.Sprint(i)), "x")
	}
	for b.Loop() {
		if files, unknown := d.census(); len(files) != 5000 || unknown != "" {
			b.Fatal(len(files), unknown)
		}
	}
}
