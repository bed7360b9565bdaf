package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/skill"
)

// numbered has n numbered lines.
func numbered(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "line %d ü\n", i)
	}
	return b.String()
}

// printing is a Dispatcher with this configuration whose bash may print the file long.
func printing(t *testing.T, config Config, text string) *Dispatcher {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("it has no cat")
	}
	config.Exec, config.Consent = (&plain{}).exec, yes
	d, _ := open(t, config, "long", text)
	return d
}

func TestLongResult(t *testing.T) {
	results := filepath.Join(t.TempDir(), "run", "results")
	text := numbered(20_000)
	d := printing(t, Config{Results: results}, text)
	got, denied := call(d, "bash", "command", "cat long")
	if denied || len(got) > maxGiven || !strings.HasPrefix(got, "line 1 ü\n") || !strings.HasSuffix(got, "line 20000 ü\n") || !utf8.ValidString(got) {
		t.Fatalf("%d bytes: %.100s … %.100s", len(got), got, got[max(0, len(got)-100):])
	}
	start, rest, _ := strings.Cut(got, "[left out: ")
	note, end, _ := strings.Cut(rest, "]\n")
	next := lines(start) + 1
	if want := fmt.Sprintf("%d bytes, from line %d on. All of it, 20000 lines, is result:1, which read and grep take as a path", len(text)-len(start)-len(end), next); note != want {
		t.Errorf("it says %q, not %q", note, want)
	}
	if more, _ := call(d, "read", "path", "result:1", "offset", next, "limit", 2); more != fmt.Sprintf("line %d ü\nline %d ü\n", next, next+1) {
		t.Errorf("reading on gives %q", more)
	}
	if found, _ := call(d, "grep", "path", "result:1", "pattern", "line 1234[56] "); found != "result:1:12345: line 12345 ü\nresult:1:12346: line 12346 ü\n" {
		t.Errorf("grep gives %q", found)
	}
	if kept, err := os.ReadFile(filepath.Join(results, "all", "1")); err != nil || string(kept) != text {
		t.Errorf("%d bytes were kept, of %d: %v", len(kept), len(text), err)
	}
	// The middle of a line that is longer than a result is found, too.
	put(t, filepath.Join(d.config.WorkDir, "one"), strings.Repeat("ü", 200_000)+"NEEDLE"+strings.Repeat("x", 200_000))
	if got, _ := call(d, "bash", "command", "cat one"); !strings.Contains(got, "1 line, is result:2, ") {
		t.Errorf("one line: …%.300q", got[givenStart:])
	}
	if got, _ := call(d, "grep", "path", "result:2", "pattern", "NEEDLEx"); !strings.HasPrefix(got, "result:2:1: [byte 400001] …ü") || !strings.Contains(got, "üNEEDLExx") {
		t.Errorf("grep in one line: %.300q", got)
	}
	if got, _ := call(d, "read", "path", "result:2"); !strings.HasSuffix(got, "; grep finds what is further on in it]") {
		t.Errorf("one line is read: …%q", got[max(0, len(got)-100):])
	}
	// Results of read, and results that fit, are given whole.
	for _, short := range []func() (string, bool){
		func() (string, bool) { return call(d, "read", "path", "long") },
		func() (string, bool) { return call(d, "bash", "command", "head -n 1000 long") },
	} {
		if got, _ := short(); strings.Contains(got, "left out") || len(got) < 10_000 {
			t.Errorf("%d bytes: %.50q", len(got), got)
		}
	}
	// One that fails has its end as well, and says that it failed.
	if got, _ := call(d, "bash", "command", "cat long; exit 3"); !strings.Contains(got, "is result:3, ") || !strings.HasSuffix(got, "line 20000 ü\nbash ended with status 3") {
		t.Errorf("a command that fails: …%q", got[max(0, len(got)-100):])
	}
	// A run that goes on numbers on, and reads what it had.
	d.Close()
	again, _ := open(t, Config{Results: results, WorkDir: d.config.WorkDir, Exec: d.config.Exec, Consent: yes})
	if got, _ := call(again, "read", "path", "result:1", "limit", 1); got != "line 1 ü\n" {
		t.Errorf("after it went on: %q", got)
	}
	if got, _ := call(again, "bash", "command", "cat long"); !strings.Contains(got, "is result:4, ") {
		t.Errorf("after it went on: %.200q", got[givenStart:])
	}
}

// A long result that nobody could read later is cut, as it always was.
func TestLongResultNotKept(t *testing.T) {
	text := numbered(20_000)
	for name, config := range map[string]Config{
		"no place":            {},
		"no tool to read":     {Results: t.TempDir(), Policy: tools(t, "allow: bash")},
		"reading has a limit": {Results: t.TempDir(), Policy: tools(t, "allow: bash, read(src/**)")},
		"reading is denied":   {Results: t.TempDir(), Person: tools(t, "deny: read")},
		"a file in its place": {Results: filepath.Join(t.TempDir(), "file")},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "a file in its place" {
				put(t, config.Results, "")
			}
			got, _ := call(printing(t, config, text), "bash", "command", "cat long")
			if strings.Contains(got, "result:") || len(got) > maxOutput || len(got) < maxOutput-1000 || !strings.Contains(got, "\n[cut: ") || !strings.HasSuffix(got, text[len(text)-100:]) {
				t.Errorf("%d bytes: …%q", len(got), got[max(0, len(got)-100):])
			}
		})
	}
}

// A subagent reads what was given under its own limits, and nothing that was given under others.
func TestResultsOfOthers(t *testing.T) {
	d := printing(t, Config{Results: filepath.Join(t.TempDir(), "results")}, numbered(5000))
	less := skill.Tools{Deny: []skill.Tool{{Name: "read", Pattern: "private/**"}}}
	sub, same, other := d.Narrow(less), d.Narrow(less), d.Narrow(skill.Tools{Deny: []skill.Tool{{Name: "fetch"}}})
	for i, of := range []*Dispatcher{d, sub, other} {
		if got, _ := call(of, "bash", "command", "cat long"); !strings.Contains(got, fmt.Sprintf("is result:%d, ", i+1)) {
			t.Fatalf("%d: %.100q", i, got[min(len(got), givenStart):])
		}
	}
	for _, c := range []struct {
		who  *Dispatcher
		path string
		ok   bool
	}{
		{d, "result:1", true}, {sub, "result:2", true}, {same, "result:2", true}, {other, "result:3", true},
		{sub, "result:1", false}, {other, "result:1", false}, {d, "result:2", false}, {other, "result:2", false},
	} {
		got, _ := call(c.who, "read", "path", c.path, "limit", 1)
		if (got == "line 1 ü\n") != c.ok {
			t.Errorf("%s: %q", c.path, got)
		}
		if !c.ok && !strings.Contains(got, "there is no result") {
			t.Errorf("%s: %q", c.path, got)
		}
	}
}

func TestResultNames(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "secret"), "s")
	d := printing(t, Config{Results: filepath.Join(dir, "results")}, numbered(5000))
	call(d, "bash", "command", "cat long")
	put(t, filepath.Join(dir, "results", "all", "x"), "s")
	for _, path := range []string{"result:", "result:0", "result:01", "result:+1", "result:-1", "result: 1", "result:1/", "result:1/../x", "result:../../secret", "result:x", "result:2",
		"result:/etc/passwd", "result:9223372036854775808", "result:١"} {
		for _, tool := range []string{"read", "grep", "list", "glob"} {
			got, _ := call(d, tool, "path", path, map[string]string{"grep": "pattern", "glob": "pattern", "read": "offset", "list": "path"}[tool], map[string]any{"grep": ".", "glob": "*", "read": 1, "list": path}[tool])
			if !strings.Contains(got, "there is no result") {
				t.Errorf("%s %s: %q", tool, path, got)
			}
		}
	}
	for _, tool := range []string{"write", "edit"} {
		in := map[string][]any{"write": {"path", "result:1", "content", "x"}, "edit": {"path", "result:1", "old_string", "line 1 ", "new_string", "x"}}[tool]
		if got, _ := call(d, tool, in...); !strings.Contains(got, `"result:1" is never written: it belongs to what was kept of the run`) {
			t.Errorf("%s: %q", tool, got)
		}
	}
	put(t, filepath.Join(d.config.WorkDir, "result:1"), "a file\n")
	if got, _ := call(d, "read", "path", "./result:1"); got != "a file\n" {
		t.Errorf("a file of that name: %q", got)
	}
}

func TestExcerpt(t *testing.T) {
	for name, text := range map[string]string{
		"lines":           numbered(3000),
		"no end of line":  strings.TrimSuffix(numbered(3000), "\n"),
		"one line":        strings.Repeat("ü", 20_000),
		"one line, odd":   "x" + strings.Repeat("ü", 20_000),
		"long last line":  numbered(1000) + strings.Repeat("€", 10_000),
		"long first line": strings.Repeat("€", 10_000) + "\n" + numbered(1000),
		"empty lines":     strings.Repeat("\n", 20_000),
	} {
		got := excerpt(text, 7)
		start, rest, ok := strings.Cut(got, "[left out: ")
		note, end, _ := strings.Cut(rest, "]\n")
		count, _, _ := strings.Cut(note, " bytes")
		left, err := strconv.Atoi(count)
		start = strings.TrimSuffix(start, "\n")
		if !ok || err != nil || !utf8.ValidString(got) || len(got) > givenStart+givenEnd+300 || !strings.HasPrefix(text, start) || !strings.HasSuffix(text, end) {
			t.Errorf("%s: %d bytes, %q", name, len(got), note)
			continue
		}
		if sum := len(start) + left + len(end); sum != len(text) && sum != len(text)-1 {
			t.Errorf("%s: %d bytes are told of, of %d", name, sum, len(text))
		}
	}
}

func TestResultsBounded(t *testing.T) {
	d := printing(t, Config{Results: filepath.Join(t.TempDir(), "results")}, numbered(20_000))
	d.kept.ready, d.kept.bytes = true, maxAllKept
	if got, _ := call(d, "bash", "command", "cat long"); strings.Contains(got, "result:") || !strings.Contains(got, "[cut: ") {
		t.Errorf("%.100q", got)
	}
}

func BenchmarkLongResult(b *testing.B) {
	d, _ := open(b, Config{Results: filepath.Join(b.TempDir(), "results")}, "long", numbered(20_000))
	d.config.Results = filepath.Join(b.TempDir(), "results")
	input := json.RawMessage(`{"pattern":"line"}`)
	for b.Loop() {
		d.kept.bytes = 0
		if r, _, _, _ := d.Call(context.Background(), "grep", input, true); r.IsError {
			b.Fatal(r.Text)
		}
	}
}
