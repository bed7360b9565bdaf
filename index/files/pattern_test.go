package files

import (
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/long"
)

// TestGitAgrees compares the rules with git; these are the rules one by one, and cases that random trees do not hit.
func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		name  string
		text  string
		leave string // paths, separated by spaces; directories end in /
		keep  string
	}{
		{"a name in every directory", "a.o", "a.o d/a.o d/a.o/", "b.o a.o2 xa.o"},
		{"anchored", "/a", "a a/", "d/a"},
		{"a slash in the middle anchors too", "d/a", "d/a", "x/d/a"},
		{"directories alone", "a/", "a/ d/a/", "a d/a"},
		{"one star stays in its directory", "d/*.o", "d/a.o d/.o", "d/e/a.o"},
		{"two stars before a slash", "**/a/b", "a/b x/a/b x/y/a/b", "xa/b"},
		{"two stars between slashes", "a/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"},
		{"two stars at the end", "a/**", "a/b a/b/c", "a a/"},
		{"two stars in a name are one", "a/b**c/d", "a/bc/d a/bxc/d", "a/b/c/d"},
		{"the last match decides", "*.o\n!a.o\n*a.o", "a.o b.o", ""},
		{"back again", "*.o\n!a.o", "b.o", "a.o d/a.o"},
		{"comments and escapes", "#a\n\\#b\n\\!c", "#b !c", "#a a b c"},
		{"spaces at the end", "a  \nb\\ \nc\t", "a b\x00 c\t", "b c"},
		{"CRLF and BOM", "\ufeffa\r\nb\r\n", "a b", "ab"},
		{"sets", "[a-c]x\n[!a-y]y\n[]-]z", "ax cx zy ]z -z", "dx ay az"},
		{"classes", "[[:digit:][:upper:]]", "0 Z", "a :"},
		{"a set has no slash", "a[!x]b\nc[/]d", "ayb", "a/b c/d"},
		{"broken sets match nothing", "[a\n[[:nope:]]\n[\\", "", "a [a [ n"},
		{"a backslash at the end matches nothing", "a\\", "", "a a\\"},
		{"empty lines", "\n/\n!\n//\n   \n", "", "a"},
		{"a NUL ends a line", "a\x00b", "a", "ab b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := parseList(test.text, false)
			check := func(paths string, want bool) {
				for path := range strings.SplitSeq(paths, " ") {
					path, dir := strings.CutSuffix(strings.ReplaceAll(path, "\x00", " "), "/")
					if path == "" {
						continue
					}
					got := l != nil && l.match("", path, path[strings.LastIndexByte(path, '/')+1:], dir) == leave
					if got != want {
						t.Errorf("%q leaves out %q: %v", test.text, path, got)
					}
				}
			}
			check(test.leave, true)
			check(test.keep, false)
		})
	}
}

// A pattern made to be slow is not: every star of it could begin anywhere.
func TestPatternsAreFast(t *testing.T) {
	p, ok := parsePattern(strings.Repeat("**/*a*a*a*a", 20)+"b", false)
	if !ok {
		t.Fatal("refused")
	}
	path := strings.Repeat(strings.Repeat("a", 200)+"/", 20)
	begin := time.Now()
	if p.matches(path) {
		t.Error("it matches")
	}
	if d := time.Since(begin); d > long.Within(2*time.Second) {
		t.Errorf("it took %v", d)
	}
}

// FuzzPattern holds that the matcher finds what trying everything finds, that a name with a backslash before every byte
// matches itself alone, and that a line is undone by its negation.
func FuzzPattern(f *testing.F) {
	for _, s := range []string{"a", "*.o", "/a/**/b", "foo**/bar", `\*[!a-c]?`, "[[:alpha:]-z]/", "**/*a*b/**/c", "!x ", `a\`} {
		f.Add(s, "foo/a.o/b")
	}
	f.Fuzz(func(t *testing.T, line, path string) {
		if len(line) > 60 || len(path) > 60 {
			return
		}
		if p, ok := parsePattern(line, false); ok && p.shape == glob {
			if got, want := matchSteps(p.steps, path), tryAll(p.steps, path); got != want {
				t.Errorf("%q matches %q: %v, trying everything says %v", line, path, got, want)
			}
		}
		if line = strings.NewReplacer("\n", "", "\r", "", "\x00", "").Replace(line); strings.TrimLeft(line, "!") == line {
			for _, dir := range []bool{false, true} {
				name := path[strings.LastIndexByte(path, '/')+1:]
				if l := parseList(line+"\n!"+line, false); l != nil && !strings.HasPrefix(line, "#") && l.match("", path, name, dir) == leave {
					t.Errorf("%q leaves out %q after its negation", line, path)
				}
			}
		}
		if path == "" || strings.ContainsAny(path, "\x00") || strings.HasPrefix(path, "/") || strings.HasSuffix(path, "/") {
			return
		}
		var escaped strings.Builder
		for i := range len(path) {
			if path[i] != '/' {
				escaped.WriteByte('\\')
			}
			escaped.WriteByte(path[i])
		}
		p, ok := parsePattern(escaped.String(), false)
		if !ok || !p.matches(path) || p.matches(path+"x") || p.negate {
			t.Errorf("%q does not match itself, or more", path)
		}
	})
}

// tryAll is matchSteps by all ways that there are.
func tryAll(steps []step, s string) bool {
	type state struct{ steps, at int }
	seen := map[state]bool{}
	var try func(i, at int) bool
	try = func(i, at int) bool {
		if i == len(steps) {
			return at == len(s)
		}
		if seen[state{i, at}] {
			return false
		}
		seen[state{i, at}] = true
		switch st := steps[i]; st.kind {
		case literal:
			return strings.HasPrefix(s[at:], st.text) && try(i+1, at+len(st.text))
		case one:
			return at < len(s) && s[at] != '/' && try(i+1, at+1)
		case set:
			return at < len(s) && st.set.has(s[at]) && try(i+1, at+1)
		case star:
			return try(i+1, at) || at < len(s) && s[at] != '/' && try(i, at+1)
		case deep:
			return try(i+1, at) || at < len(s) && try(i, at+1)
		default: // skip
			if try(i+1, at) {
				return true
			}
			slash := strings.IndexByte(s[at:], '/')
			return slash >= 0 && try(i, at+slash+1)
		}
	}
	return try(0, 0)
}

func TestConfig(t *testing.T) {
	text := "# c\n[core]\r\n\texcludesFile = \"a b\" # c\n bare\n; c\n[Core \"Sub.S\"] x = 1\\\n2\n[a]b=\\\"q\\\"  \n  c = x  y ;\n"
	want := []string{"core.excludesfile=a b", "core.bare", "core.Sub.S.x=12", `a.b="q"`, "a.c=x  y"}
	var got []string
	parseConfig(text, func(key, value string, bare bool) {
		if !bare {
			key += "=" + value
		}
		got = append(got, key)
	})
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzConfig holds that a value that was quoted is read as it was, and that what follows a file does not change its settings.
func FuzzConfig(f *testing.F) {
	f.Add("[core]\nexcludesFile = ~/x\n", "a \"b\" # \\ ;")
	f.Add("[include]\npath=x\n[a \"b\\\"\"]\nc", "\n\t\b")
	f.Fuzz(func(t *testing.T, text, value string) {
		if strings.Contains(value, "\r") {
			return
		}
		read := func(text string) (all []string) {
			parseConfig(text, func(key, value string, bare bool) { all = append(all, key+"="+value) })
			return all
		}
		quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(value) + `"`
		if got := read("[s]\nk = " + quoted + "\n"); len(got) != 1 || got[0] != "s.k="+value {
			t.Errorf("%q is read as %q", quoted, got)
		}
		if text == "" || strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\\\n") && !strings.HasSuffix(text, "\\\r\n") {
			before, after := read(text), read(text+"[z]\nk = v\n")
			if len(after) < len(before) || strings.Join(after[:len(before)], "|") != strings.Join(before, "|") {
				t.Errorf("%q is read as %q, with more as %q", text, before, after)
			}
		}
	})
}

// No line of attributes breaks the parser, and what it says of a path has one of the values that a line can give.
func FuzzAttributes(f *testing.F) {
	for _, seed := range []string{"*.md text=auto -ident", "[attr]mine filter=x\n*.c mine binary", "\"b\\303\\251 \\\"\" !eol", "\"", "[attr]", "a =b", "[attr]x x\n* x", strings.Repeat("a", 3000)} {
		f.Add(seed, "a/b.md")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		if path == "" || path[0] == '/' {
			t.Skip()
		}
		a := &attributes{dirs: map[string]*attrList{}, macros: map[string]attrRule{}}
		l := parseAttributes(text, "x", false)
		for _, r := range l.rules {
			if r.macro != "" {
				a.macros[r.macro] = r
			}
		}
		out := map[string]Attribute{}
		a.take(l, "", path, out)
		for name, v := range out {
			if !isAttrName(name) || v.Line < 1 || v.Line > strings.Count(text, "\n")+1 {
				t.Errorf("%q: %+v", name, v)
			}
		}
	})
}
