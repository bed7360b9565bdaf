package api

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestUnified(t *testing.T) {
	numbers := func(from, to int, change map[int]string) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			line, ok := change[i]
			if !ok {
				line = strings.Repeat("x", i) + "\n"
			}
			b.WriteString(line)
		}
		return b.String()
	}
	for _, tt := range []struct{ what, a, b, want string }{
		{"equal", "a\n", "a\n", ""},
		{"changed", "a\nb\nc\n", "a\nB\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
		{"from nothing", "", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"to nothing", "a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"no newline at the end", "a", "b", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n"},
		{"context of three", numbers(1, 10, nil), numbers(1, 10, map[int]string{5: "new\n"}), "@@ -2,7 +2,7 @@\n xx\n xxx\n xxxx\n-xxxxx\n+new\n xxxxxx\n xxxxxxx\n xxxxxxxx\n"},
	} {
		if got, ok := unified(tt.a, tt.b); !ok || got != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", tt.what, ok, got, tt.want)
		}
	}
	if _, ok := unified(strings.Repeat("\n", maxDiffLines+1), ""); ok {
		t.Error("a file of too many lines is compared")
	}
}

// A diff can be applied by patch(1): the texts of a with the diff applied are those of b.
func FuzzUnified(f *testing.F) {
	patch, err := exec.LookPath("patch")
	f.Add("a\nb\nc\n", "a\nc\nd\n")
	f.Add("", "x")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n10\ny\n12\n")
	f.Add("1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n", "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !isText([]byte(a)) || !isText([]byte(b)) || strings.ContainsAny(a+b, "\r\x1b") {
			return
		}
		text, ok := unified(a, b)
		if !ok || (text == "") != (a == b) {
			t.Fatalf("%v %q", ok, text)
		}
		if got := apply(t, a, text); got != b {
			t.Errorf("applied to %q: %q, want %q\n%s", a, got, b, text)
		}
		if err != nil || a == b || a == "" || b == "" {
			return // an independent judge, where there is one
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "f")
		if err := os.WriteFile(file, []byte(a), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(patch, "-s", "-f", file)
		cmd.Stdin = strings.NewReader("--- f\n+++ f\n" + text)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("patch: %v %s\n%q → %q\n%s", err, out, a, b, text)
		}
		if got, _ := os.ReadFile(file); string(got) != b {
			t.Errorf("patch made %q of %q, want %q\n%s", got, a, b, text)
		}
	})
}

// apply is what patch does with hunks that fit exactly.
func apply(t *testing.T, a, hunks string) string {
	t.Helper()
	var old []string
	for l := range strings.Lines(a) {
		old = append(old, l)
	}
	var out strings.Builder
	at := 0 // lines of old that are done
	lines := strings.SplitAfter(hunks, "\n")
	for i, l := range lines {
		if l == "" || l[0] == '\\' {
			continue
		}
		if l[0] == '@' {
			var first int
			for _, c := range strings.TrimPrefix(l, "@@ -") {
				if c < '0' || c > '9' {
					break
				}
				first = first*10 + int(c-'0')
			}
			if !strings.HasPrefix(l, "@@ -0,0") && !strings.Contains(strings.Fields(l)[1], ",0") {
				first--
			}
			for ; at < first; at++ {
				out.WriteString(old[at])
			}
			continue
		}
		text := l[1:]
		if i+1 < len(lines) && strings.HasPrefix(lines[i+1], `\`) {
			text = strings.TrimSuffix(text, "\n")
		}
		switch l[0] {
		case ' ', '-':
			if old[at] != text {
				t.Fatalf("line %d is %q, the diff says %q", at+1, old[at], text)
			}
			if at++; l[0] == ' ' {
				out.WriteString(text)
			}
		case '+':
			out.WriteString(text)
		}
	}
	for ; at < len(old); at++ {
		out.WriteString(old[at])
	}
	return out.String()
}
