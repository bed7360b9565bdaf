package glob_test

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/testdata/long"
)

func mustGlob(t testing.TB, s string) glob.Glob {
	t.Helper()
	g, err := glob.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestGlobMatch(t *testing.T) {
	tests := []struct{ glob, yes, no string }{
		{"src/*.ts", "src/a.ts src/.hidden.ts", "src/auth/a.ts a.ts lib/src/a.ts src/a.tsx"},
		{"src/**/*.ts", "src/a.ts src/auth/a.ts src/a/b/c.ts", "src.ts lib/src/a.ts src/a.js"},
		{"src/**", "src/a.ts src/auth/a.ts", "src lib/src/a.ts"},
		{"src/**.ts", "src/a.ts src/auth/a.ts", "src/a.js"},
		{"**/*.rs", "main.rs src/main.rs a/b/c.rs", "main.rsx"},
		{"**/testdata/**", "testdata/a x/testdata/a x/y/testdata/z/a", "testdata xtestdata/a"},
		{"a/**/**/b", "a/b a/x/b a/x/y/b", "ab a/xb"},
		{"**", "a a/b .git/x", ""},
		{"*", "a a/b", ""},
		{"a**b", "ab a/b axx/yyb", "b a"},
		{"***/a", "a x/a", "xa"},

		{"*.go", "main.go cmd/skl/main.go .go", "main.goo go"},
		{"README.md", "README.md docs/README.md README.md/x", "readme.md XREADME.md"},
		{"/README.md", "README.md", "docs/README.md"},
		{"./README.md", "README.md", "docs/README.md"},
		{".//./src/./a//b", "src/a/b", "a/b"},
		{".", "a a/b", ""},
		{"./", "a a/b", ""},
		{"/", "a a/b", ""},

		{"src/auth", "src/auth src/auth/a.ts src/auth/x/y.ts", "src/authority.ts lib/src/auth/a.ts"},
		{"src/auth/", "src/auth/a.ts src/auth/x/y.ts", "src/auth lib/src/auth/a.ts"},
		{"auth", "auth auth/a.ts src/auth/x.ts src/auth", "auth.ts authx/a"},
		{"*/auth", "src/auth src/auth/x", "auth a/src/auth"},
		{"src/a*", "src/a src/auth", "src/auth/x src/a/x"},
		{"*.d/", "a.d/x a.d/y/z", "b/a.d/x a.d"},

		{"?.go", "a.go é.go x/a.go", "ab.go .go"},
		{"a?c", "abc a.c", "a/c ac"},
		{"[a-c].go", "a.go c.go x/b.go", "d.go A.go"},
		{"[!a-c].go", "d.go x/é.go", "a.go x/.go"},
		{"[^a-c].go", "d.go", "a.go"},
		{"x[!a]y", "xby", "x/y xay"},
		{"[]a].go", "].go a.go", "b.go"},
		{"[a-].go", "-.go a.go", "b.go"},
		{`[\]x].go`, "].go x.go", `\.go`},
		{"[日-本].go", "日.go", "a.go"},
		{"[z-a].go", "[z-a].go", "m.go"},

		{"app/[id]/page.tsx", "app/[id]/page.tsx app/i/page.tsx", "app/id/page.tsx"},
		{"app/[...slug]/*.tsx", "app/[...slug]/page.tsx", "app/slug/page.tsx"},
		{"app/[post-id]/**", "app/[post-id]/a/b.tsx", "app/post-id/a"},
		{"app/[[lang]]/x", "app/[[lang]]/x app/l]/x", "app/lang/x"},

		{"*.{ts,tsx}", "a.ts src/a.tsx", "a.js a."},
		{"{src,lib}/**/*.{js,mjs}", "src/a.js lib/x/y.mjs", "test/a.js src/a.ts"},
		{"{src/{a,b},lib}/x", "src/a/x src/b/x lib/x lib/x/y", "src/x src/a"},
		{"a{,b}c", "ac abc", "abbc"},
		{"src/{auth,db}", "src/auth src/db/x.ts", "src/x/auth"},
		{"{a,b/c}", "a b/c a/x", "x/a"},
		{"{src/a,lib/*}", "src/a lib/x", "src/a/x lib/x/y"},
		{"a,b", "a,b", "a b"},

		{`\*.go`, "*.go x/*.go", "a.go"},
		{`\[id\]/x`, "[id]/x", "i/x"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{`a\\b`, `a\b`, "ab"},
		{`\!x`, "!x", "x"},
		{"a b/*", "a b/c", "a/c"},
		{strings.Repeat("{ab,cd}", 40), strings.Repeat("abcd", 20), strings.Repeat("abcd", 19)},
		{"résumé/*.md", "résumé/a.md", "resume/a.md"},
		{"...", "... x/...", "a"},
		{"a..b/*", "a..b/c", "a/b/c"},
	}
	for _, test := range tests {
		g := mustGlob(t, test.glob)
		for _, path := range split(test.yes) {
			if !g.Match(path) {
				t.Errorf("%s does not match %s", test.glob, path)
			}
			if !strings.HasPrefix(path, g.Prefix()) {
				t.Errorf("%s matches %s, which is not in %s", test.glob, path, g.Prefix())
			}
		}
		for _, path := range split(test.no) {
			if g.Match(path) {
				t.Errorf("%s matches %s", test.glob, path)
			}
		}
		if g.String() != test.glob {
			t.Errorf("String of %s is %s", test.glob, g)
		}
	}
}

// split cuts at single spaces that do not stand between letters a and b of the one name with a space.
func split(s string) []string {
	if s == "" {
		return nil
	}
	if s == "a b/c" {
		return []string{s}
	}
	return strings.Split(s, " ")
}

// TestGlobOriginal shows what the index of the seed did otherwise: its * and ? crossed "/" like any character, and a
// name alone meant a whole path. So src/*.ts could not be said there: an agent that asked for one directory got
// the files of all below it, and one that asked for README.md in docs got nothing.
func TestGlobOriginal(t *testing.T) {
	original := func(glob, path string) bool { // its rules, for these globs
		re := strings.NewReplacer(`.`, `\.`, `**/`, `(?:.*/)?`, `**`, `.*`, `*`, `.*`, `?`, `.`).Replace(glob)
		return regexp.MustCompile(`^(?:` + re + `)$`).MatchString(path)
	}
	tests := []struct {
		glob, path  string
		before, now bool
	}{
		{"src/*.ts", "src/auth/a.ts", true, false},
		{"src/?.ts", "src//.ts", true, false},
		{"cmd/*", "cmd/skl/main.go", true, false},
		{"README.md", "docs/README.md", false, true},
		{"src/auth", "src/auth/a.ts", false, true},
		{"src/auth/", "src/auth/a.ts", false, true},
		{"./src/*.ts", "src/a.ts", false, true},
		{"*.go", "cmd/main.go", true, true},
		{"src/**/*.ts", "src/a/b.ts", true, true},
	}
	for _, test := range tests {
		if got := original(test.glob, test.path); got != test.before {
			t.Errorf("the original matches %s and %s: %v", test.glob, test.path, got)
		}
		if got := mustGlob(t, test.glob).Match(test.path); got != test.now {
			t.Errorf("%s matches %s: %v", test.glob, test.path, got)
		}
	}
}

func TestGlobErrors(t *testing.T) {
	tests := []struct{ glob, want string }{
		{"src/[a", `the glob "src/[a" has a [ without its ] at byte 5`},
		{"src/{a,b", `the glob "src/{a,b" has a { without its } at byte 5`},
		{"{a,{b}", `the glob "{a,{b}" has a { without its } at byte 1`},
		{"a}", `the glob "a}" has a } without its { at byte 2`},
		{`src\auth`, `the glob "src\\auth" has a \ before what needs none at byte 4`},
		{`a\`, `the glob "a\\" has a \ before what needs none at byte 2`},
		{"[a/b]", `the glob "[a/b]" has a / in a class at byte 3`},
		{"[[:alpha:]]", `the glob "[[:alpha:]]" has a class by name at byte 2`},
		{"!*.go", `the glob "!*.go" begins with !, but a glob only says what is wanted at byte 1`},
		{"../x", `the glob "../x" leads out of the root with .. at byte 1`},
		{"a/../x", `the glob "a/../x" leads out of the root with .. at byte 3`},
		{"{a,..}/x", `the glob "{a,..}/x" leads out of the root with .. at byte 4`},
		{"a\x00b", `the glob "a\x00b" has a NUL at byte 2`},
		{"a\xff", `the glob "a\xff" is not UTF-8`},
		{`C:\src\*`, `the glob "C:\\src\\*" is an absolute path`},
		{"c:/src/*", `the glob "c:/src/*" is an absolute path`},
		{`\\host\share`, `the glob "\\\\host\\share" is an absolute path`},
		{strings.Repeat("a", glob.MaxBytes+1), fmt.Sprintf("the glob %q has 1025 bytes, 1024 are allowed", strings.Repeat("a", 60)+"…")},
	}
	for _, test := range tests {
		g, err := glob.Parse(test.glob)
		if err == nil || err.Error() != test.want {
			t.Errorf("%q: got  %v\nwant %s", test.glob, err, test.want)
		}
		if !errors.Is(err, diag.Code("glob_pattern")) || diag.ClassOf(err) != diag.Misuse {
			t.Errorf("%q: the error is %#v", test.glob, err)
		}
		if g != (glob.Glob{}) {
			t.Errorf("%q: a glob comes with the error", test.glob)
		}
	}
}

func TestGlobZero(t *testing.T) {
	var zero glob.Glob
	parsed := mustGlob(t, "")
	if !zero.Match("a/b") || zero.Prefix() != "" || zero.String() != "" || parsed != zero {
		t.Error("the zero glob does not match everything")
	}
}

func TestGlobPrefix(t *testing.T) {
	for glob, want := range map[string]string{
		"src/auth/*.ts": "src/auth/", "src/au*": "src/", "src/auth": "src/", "src/auth/": "src/auth/", "**/x": "", "*.go": "", "x": "",
		"/x": "", "./src/**": "src/", "{a,b}/c": "", "src/{a,b}": "src/", `a\[b/c/*`: "a[b/c/", "app/[id]/x": "app/", "src//a/x?": "src/a/",
	} {
		if got := mustGlob(t, glob).Prefix(); got != want {
			t.Errorf("%s: prefix %q, want %q", glob, got, want)
		}
	}
}

// oracle translates a valid glob into a regular expression.
func oracle(glob string) *regexp.Regexp {
	rest := dots(glob, glob)
	if rest == "" || glob == "." {
		return regexp.MustCompile(`(?s)^.*$`)
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	if !strings.Contains(glob, "/") {
		b.WriteString(`(?:.*/)?`)
	}
	depth, wild := 0, false
	for rest != "" {
		before := glob[:len(glob)-len(rest)]
		first := before == "" || strings.ContainsRune("/{,", rune(before[len(before)-1]))
		r, n := utf8.DecodeRuneInString(rest)
		stars := len(rest) - len(strings.TrimLeft(rest, "*"))
		switch {
		case stars > 1 && first && strings.HasPrefix(rest[stars:], "/"):
			b.WriteString(`(?:.*/)?`)
			rest, wild = dots(glob, rest[stars:]), depth > 0
			continue
		case stars > 1:
			b.WriteString(`.*`)
			n, wild = stars, true
		case r == '*':
			b.WriteString(`[^/]*`)
			wild = true
		case r == '?':
			b.WriteString(`[^/]`)
			wild = true
		case r == '\\':
			b.WriteString(regexp.QuoteMeta(rest[1:2]))
			n = 2
		case r == '{':
			b.WriteString(`(?:`)
			depth++
		case r == '}':
			b.WriteString(`)`)
			depth--
		case r == ',' && depth > 0:
			b.WriteString(`|`)
		case r == '[':
			var in string
			in, n = oracleClass(rest)
			b.WriteString(in)
			wild = true
		case r == '/':
			b.WriteString(`/`)
			wild = wild && depth > 0
			rest = dots(glob, rest)
			continue
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		rest = rest[n:]
	}
	switch {
	case strings.HasSuffix(glob, "/") || strings.HasSuffix(glob, "/."):
		b.WriteString(`.*`)
	case !wild:
		b.WriteString(`(?:/.*)?`)
	}
	return regexp.MustCompile(b.String() + `$`)
}

// dots cuts slashes and "./" from the start of rest, which is the end of glob.
func dots(glob, rest string) string {
	for {
		switch {
		case strings.HasPrefix(rest, "/"):
			rest = rest[1:]
		case strings.HasPrefix(rest, "./"):
			rest = rest[2:]
		case rest == "." && strings.HasSuffix(glob, "/."):
			return ""
		default:
			return rest
		}
	}
}

func oracleClass(s string) (re string, n int) {
	i, not := 1, false
	if s[i] == '!' || s[i] == '^' {
		i, not = i+1, true
	}
	next := func() rune {
		if s[i] == '\\' {
			i++
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		return r
	}
	var ranges []string
	for first := true; first || s[i] != ']'; first = false {
		low := next()
		high := low
		if s[i] == '-' && s[i+1] != ']' {
			i++
			high = next()
		}
		if low <= high {
			ranges = append(ranges, fmt.Sprintf(`[\x{%x}-\x{%x}]`, low, high))
		}
	}
	i++
	one := strings.Join(ranges, "|")
	switch {
	case not && one == "":
		one = `[^/]`
	case not:
		inner := strings.NewReplacer("[", "", "]", "", "|", "").Replace(one)
		one = `[^/` + inner + `]`
	case one == "":
		one = `[^\x{0}-\x{10ffff}]`
	}
	if !strings.Contains(s[:i], `\`) {
		one += "|" + regexp.QuoteMeta(s[:i])
	}
	return "(?:" + one + ")", i
}

// FuzzGlob compares globs with regular expressions, on paths.
func FuzzGlob(f *testing.F) {
	for _, s := range []string{"src/**/*.ts\x00src/a/b.ts", "{a,b/{c,d*}}/x\x00b/d/x", "[!a-c]?[]x]\x00d/x", "*.{ts,tsx}\x00a/b.tsx", "a**b\x00a/b",
		"app/[id]/**\x00app/[id]/x", "./a/./b/\x00a/b/c", "{**/a,}b\x00x/ab", `\*\[\x00*[`, "{a/,b}c/.\x00a/c", "{{a,*}/,**}\x00a/a", "*a*a*a*a*a*b\x00aaaaaaaaaaaaaaaaaaaaa"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pattern, path, _ := strings.Cut(s, "\x00")
		g, err := glob.Parse(pattern)
		if err != nil {
			if !errors.Is(err, diag.Code("glob_pattern")) {
				t.Fatalf("%q: %v", pattern, err)
			}
			return
		}
		if strings.Count(pattern, "{") > 100 { // as deep as the oracle goes
			return
		}
		re := oracle(pattern)
		for _, p := range []string{path, pattern, strings.TrimPrefix(pattern, "/"), "x/" + path, path + "/x", strings.ReplaceAll(path, "/", "")} {
			if got, want := g.Match(p), re.MatchString(p); got != want {
				t.Errorf("%q matches %q: %v; %s says %v", pattern, p, got, re, want)
			}
			if g.Match(p) && !strings.HasPrefix(p, g.Prefix()) {
				t.Errorf("%q matches %q, which is not in %q", pattern, p, g.Prefix())
			}
		}
	})
}

// TestGlobTime matches globs that make a matcher with backtracking take years.
func TestGlobTime(t *testing.T) {
	hostile := []string{strings.Repeat("*a", 500) + "b", strings.Repeat("**a", 300) + "b", strings.Repeat("{a,aa}", 160) + "b", strings.Repeat("{*,", 250) + strings.Repeat("}", 250) + "b"}
	path := strings.Repeat("a", 4000)
	for _, glob := range hostile {
		g := mustGlob(t, glob)
		start := time.Now()
		if g.Match(path) {
			t.Errorf("%.20s… matches", glob)
		}
		if d := time.Since(start); d > long.Within(5*time.Second) {
			t.Errorf("%.20s… takes %v", glob, d)
		}
	}
}

func BenchmarkGlobMatch(b *testing.B) {
	var paths []string
	for i := range 1000 {
		paths = append(paths, fmt.Sprintf("src/module%d/internal/handlers/file%d.%s", i%50, i, []string{"ts", "go", "md"}[i%3]))
	}
	for _, glob := range []string{"src/**/*.ts", "*.go", "**/*.{ts,tsx}", "src/module7", "lib/**", "**/[a-h]andlers/**"} {
		b.Run(strings.ReplaceAll(glob, "/", ":"), func(b *testing.B) {
			g := mustGlob(b, glob)
			n, calls := 0, 0
			for b.Loop() {
				n, calls = 0, calls+len(paths)
				for _, p := range paths {
					if g.Match(p) {
						n++
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(calls), "ns/path")
			b.ReportMetric(float64(n), "matches")
		})
	}
}

func BenchmarkParseGlob(b *testing.B) {
	for b.Loop() {
		if _, err := glob.Parse("{src,lib}/**/*.{ts,tsx}"); err != nil {
			b.Fatal(err)
		}
	}
}

// TestGlobFiles shows globs as agents use them, on one small repository.
func TestGlobFiles(t *testing.T) {
	files := []string{"README.md", "docs/README.md", "src/app.ts", "src/auth/login.ts", "src/auth/login.test.ts", "src/routes/[id]/page.tsx", "web/src/app.ts"}
	tests := []struct{ glob, want string }{
		{"src/*.ts", "src/app.ts"},
		{"src/**/*.ts", "src/app.ts src/auth/login.ts src/auth/login.test.ts"},
		{"*.ts", "src/app.ts src/auth/login.ts src/auth/login.test.ts web/src/app.ts"},
		{"src", "src/app.ts src/auth/login.ts src/auth/login.test.ts src/routes/[id]/page.tsx web/src/app.ts"},
		{"src/", "src/app.ts src/auth/login.ts src/auth/login.test.ts src/routes/[id]/page.tsx"},
		{"**/*.{md,tsx}", "README.md docs/README.md src/routes/[id]/page.tsx"},
		{"src/routes/[id]/page.tsx", "src/routes/[id]/page.tsx"},
	}
	for _, test := range tests {
		g := mustGlob(t, test.glob)
		got := slices.DeleteFunc(slices.Clone(files), func(f string) bool { return !g.Match(f) })
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %s", test.glob, got)
		}
	}
}

// TestExact holds what a glob of a permission means, and no more than that.
func TestExact(t *testing.T) {
	for _, test := range []struct{ glob, yes, no string }{
		{"*.go", "main.go", "cmd/main.go"},
		{"src", "src", "src/a x/src"},
		{"src/", "src", "src/a x/src/a"},
		{".", ".", "a a/b"},
		{"/", ".", "a a/b"},
		{"src/*", "src/a", "src/a/b src"},
		{"src/**", "src src/a src/a/b", "srcs src.go x/src"},
		{"**/a", "a x/y/a", "xa a/b"},
		{"**a", "xa a", "x/a"},
		{"a**b", "ab axb", "a/b"},
		{`\***`, "*a", "a *a/b"},
		{"{src,lib/**}", "src lib lib/x/y", "src/x"},
		{"a/**/b", "a/b a/x/y/b", "ab"},
		{"../a", "", "a"},
		{"**", "a a/b", ""},
	} {
		g, err := glob.Exact(test.glob)
		if err != nil {
			t.Fatalf("%q: %v", test.glob, err)
		}
		for _, path := range strings.Fields(test.yes) {
			if !g.Match(path) {
				t.Errorf("%q does not match %q", test.glob, path)
			}
		}
		for _, path := range strings.Fields(test.no) {
			if g.Match(path) {
				t.Errorf("%q matches %q", test.glob, path)
			}
		}
	}
	for _, bad := range []string{"", "{a", "a}", "[", strings.Repeat("x", 2000), strings.Repeat("{", 500), strings.Repeat("{a,b}", 10), "***", "a/***/b", "x***", "{,a/**}*"} {
		if g, err := glob.Exact(bad); !errors.Is(err, diag.Code("glob_pattern")) || g.Match("a") != (glob.Glob{}).Match("a") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

// FuzzExact compares exact globs with a matcher that goes name by name, and knows neither classes nor escapes.
func FuzzExact(f *testing.F) {
	for _, s := range []string{"src/**\x00src/a", "*.go\x00a.go", "a/**/b\x00a/b", "{a,b/**}\x00b", "./a/\x00a", "**a/?b\x00a/bb", "{a,{b,c}}d\x00cd", "{,/**}*"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		pattern, name, _ := strings.Cut(s, "\x00")
		g, err := glob.Exact(pattern)
		alternatives, ok := glob.Alternatives(pattern)
		if err != nil || !ok || strings.ContainsAny(pattern, `[]\`) || !utf8.ValidString(name) {
			return
		}
		for _, n := range []string{name, strings.TrimRight(pattern, "/*"), "x/" + name, name + "/x"} {
			if n == "" || strings.Contains("/"+n+"/", "//") || strings.Contains("/"+n+"/", "/./") {
				continue
			}
			want := false
			for _, a := range alternatives {
				want = want || matchNames(namesOf(a), strings.Split(n, "/"))
			}
			if got := g.Match(n); got != want {
				t.Errorf("%q matches %q: %v, want %v", pattern, n, got, want)
			}
		}
	})
}

// namesOf splits a pattern without braces; ** is there once where it stands next to itself.
func namesOf(pattern string) (names []string) {
	for name := range strings.SplitSeq(pattern, "/") {
		if name != "" && name != "." && !(name == "**" && len(names) > 0 && names[len(names)-1] == "**") {
			names = append(names, name)
		}
	}
	return names
}

// matchNames takes time proportional to the product of the lengths.
func matchNames(pattern, names []string) bool {
	// After each name, reached[i] says whether pattern[:i] means all names so far.
	reached := make([]bool, len(pattern)+1)
	reached[0] = true
	skip := func(r []bool) {
		for i, p := range pattern {
			if p == "**" && r[i] {
				r[i+1] = true
			}
		}
	}
	skip(reached)
	for _, name := range names {
		next := make([]bool, len(pattern)+1)
		for i, p := range pattern {
			if !reached[i] {
				continue
			}
			if p == "**" {
				next[i] = true
			} else if ok, _ := path.Match(p, name); ok {
				next[i+1] = true
			}
		}
		skip(next)
		reached = next
	}
	return reached[len(pattern)]
}
