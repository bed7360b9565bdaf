package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	was := weight{Bytes: 40_000_000, Start: 15, Beside: 3, Memory: 30_000, Packages: []string{"example.com/a", "example.com/b"}}
	with := func(change func(*weight)) weight {
		now := was
		change(&now)
		return now
	}
	for name, test := range map[string]struct {
		now  weight
		want string // what is warned of, or nothing
		news []string
	}{
		"the same":            {was, "", nil},
		"a little":            {with(func(w *weight) { w.Bytes += 1_000_000; w.Beside, w.Memory = 3.3, 33_000 }), "", nil},
		"a slower machine":    {with(func(w *weight) { w.Start = 60 }), "", nil},
		"less":                {with(func(w *weight) { w.Bytes, w.Beside, w.Memory = 1, 1, 1 }), "", nil},
		"memory is not known": {with(func(w *weight) { w.Memory = 0 }), "", nil},
		"size": {with(func(w *weight) {
			w.Bytes += 1_000_001
			w.Packages = []string{"example.com/a", "example.com/b", "example.com/c"}
		}),
			"its size by 1000.0 kB", []string{"new: example.com/c"}},
		"processor time": {with(func(w *weight) { w.Beside = 3.4 }), "the processor time of a start by 13 %", []string{"code of those that were"}},
		"memory":         {with(func(w *weight) { w.Memory = 33_001 }), "the memory of a start by 3001 KiB", []string{"code of those that were"}},
	} {
		var out strings.Builder
		report(&out, test.now, was)
		_, warning, warned := strings.Cut(out.String(), "warning: ")
		if warned != (test.want != "") || !strings.Contains(warning, test.want) {
			t.Errorf("%s: warned of %q, want %q", name, warning, test.want)
		}
		for _, line := range test.news {
			if !strings.Contains(warning, line) {
				t.Errorf("%s: %q does not name %q", name, warning, line)
			}
		}
	}
}

// A real program is measured, recorded, and read again; without a record nothing is compared in silence.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	program, packages, file := filepath.Join(dir, "p"), filepath.Join(dir, "packages"), filepath.Join(dir, "weight.json")
	for name, text := range map[string]string{program: "#!/bin/sh\necho p 1\n", packages: "fmt\nexample.com/z\nexample.com/a\nvendor/golang.org/x/net\n"} {
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	for _, broken := range []string{"", "{"} { // no file, and one that is none
		if broken != "" {
			if err := os.WriteFile(file, []byte(broken), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out.Reset()
		if err := run(&out, program, file, packages, 3, false); err != nil || !strings.Contains(out.String(), "warning: nothing is compared: ") || strings.Contains(out.String(), "last recorded") {
			t.Errorf("with the record %q: %v\n%s", broken, err, out.String())
		}
	}
	if err := run(&out, program, file, packages, 3, true); err != nil {
		t.Fatal(err)
	}
	var got weight
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got.Bytes != 19 || got.Start <= 0 || got.Beside <= 0 || got.Memory <= 0 || strings.Join(got.Packages, " ") != "example.com/a example.com/z" {
		t.Errorf("recorded %+v", got)
	}
	out.Reset()
	if err := run(&out, program, file, packages, 3, false); err != nil || strings.Count(out.String(), "last recorded") != 3 {
		t.Errorf("beside the record: %v\n%s", err, out.String())
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := run(&out, program, file, packages, 3, false); err == nil || !strings.Contains(err.Error(), program) {
		t.Errorf("a program that fails: %v", err)
	}
}
