package audit

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/growth"
	"github.com/skl-project/skl/testdata/long"
)

// For every text that is accepted, String gives it back; every permission that is found is accepted.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"run:python3", "net:*", "tool:Bash(npm%20run:*)", "load-command", "env:%2C", "run:", "x:y", "run:%61", "dynamic-exec:", "pkg:pip:a", "read:~/.ssh", "run:%C3%A9", "pkg:" + strings.Repeat("*", maxArg+1)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, ok := Parse(s)
		if ok && p.String() != s {
			t.Fatalf("%q is %q", s, p.String())
		}
		if !ok && p != (Permission{}) {
			t.Fatalf("%q is refused and %+v", s, p)
		}
	})
}

// extensions are the files that Read is fuzzed with.
var extensions = []string{"sh", "py", "js", "ts", "go", "ps1", "md", "json", "yaml", "toml", "mk", "just", "dockerfile", "ipynb", "service", "html", "svelte", "sql", "pth", "requirements.txt"}

// Read accepts everything, twice the same, and its permissions have a text form that Parse accepts.
func FuzzRead(f *testing.F) {
	src, err := os.ReadFile("testdata/sample.txt")
	if err != nil {
		f.Fatal(err)
	}
	for i, text := range strings.Split("\n"+string(src), "\n=== ")[1:] {
		_, body, _ := strings.Cut(text, "\n")
		f.Add(body, i)
	}
	f.Add("---\nname: a\ndescription: b\nallowed-tools: Bash(git:*), Read\nhooks:\n  Stop:\n    - command: curl x.example\n---\n!`id`\n```sh\n$ curl <url>\n```\n", 6)
	f.Add("---\nname: a\ndescription: b\n---\n## Tree\n\n* a\n  * EXPLORE >> context\n  * Read `../x` >> y\n  * **B** << y\n", 6)
	f.Add("---\nname: a\ndescription: b\n---\n## Tree\n\n## Rules\n", 6)
	for ext, src := range map[string]string{
		"mk":         "A := $(shell gh a)\nx: B = ${A}\ninclude $(B)/a b\nx:\n\t@curl $(A) \\\n\t| sh\ny: ; $(call f,$$a)\n",
		"just":       "set shell := ['bash']\nv := `gh`\nx a=env('A'):\n  @curl {{a}} {{shell('gh')}}\ny:\n  #!/usr/bin/env python3\n  import os\n",
		"dockerfile": "# escape=`\nFROM a AS b\nARG A=b\nENV C d\nRUN --mount=x curl a `\n # y\n && sh\nRUN <<E\ngh\nE\nHEALTHCHECK --a CMD [\"gh\"]\nSHELL [\"powershell\"]\nRUN iwr a.example\n",
		"ipynb":      `{"metadata": {"kernelspec": {"language": "python"}}, "cells": [{"cell_type": "code", "source": ["x = !gh {a}\n", "%pip install b"]}, {"cell_type": "markdown", "source": "# a\n` + "`curl a`" + `"}]}`,
		"service":    "[Service]\nExecStart=-/bin/sh -c 'gh $A'\nupdate = !gh\n//a.example/:_t=${A}\npager = x\n",
	} {
		f.Add(src, slices.Index(extensions, ext))
	}
	f.Fuzz(func(t *testing.T, src string, kind int) {
		ext := extensions[uint(kind)%uint(len(extensions))]
		name := "a." + ext
		if ext == "md" {
			name = "SKILL.md"
		}
		files := []File{{Path: name, Data: []byte(src)}}
		start := time.Now()
		r := Read(files)
		if took := time.Since(start); took > long.Within(3*time.Second) {
			t.Fatalf("%d bytes took %v", len(src), took)
		}
		for i, found := range r {
			text := found.Permission.String()
			if p, ok := Parse(text); !ok || p != found.Permission {
				t.Fatalf("%+v is %q, which is %+v, %v", found.Permission, text, p, ok)
			}
			if len(found.Places) == 0 || i > 0 && r[i-1].Permission.compare(found.Permission) >= 0 {
				t.Fatalf("%+v has no place or is out of order", found)
			}
			for _, at := range found.Places {
				if at.Line < 1 || at.Line > strings.Count(src, "\n")+1 {
					t.Fatalf("%s is at line %d of %d", text, at.Line, strings.Count(src, "\n")+1)
				}
			}
		}
		if again := Read(files); !slices.EqualFunc(r, again, func(x, y Found) bool { return x.Permission == y.Permission }) {
			t.Fatalf("%v, then %v", r.Set(), again.Set())
		}
	})
}

// Whatever a file repeats, twice as much of it takes about twice the time.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("measures times")
	}
	pieces := []string{"(", "$(", "`", "\"", "'", "${a:-", "{", "[", "f(", "f(a)(", "a.b().", "x = x + ", "`${", "f'{", "if ", "<<A\n", "a|", "a=$a$a\n", "curl $x https://a.example\n", "\"\"\"", "/*", "# ", "$x+", "exec(", "a?b:", "x = f(x)\n",
		"```\n", "```sh\ncurl \"\n```\n", "it's\n", "x=\"$x\"\n", "[char]1+", "$a = $a + 'x'\n", "@'\n", "<#", "\\\n", "os.system(", "a[0]", "\x00", "é", "import a.b as c\n", "from a import (\n", "def f(a, b=1):\n", "f(f, f)\n", "subprocess.run(['a', ", "a or ", "'a' 'b' ", "`a` ", "eval ", "! ", "((", "[[ ", "case x in a) ", "&& ", "\"$(\"", "process.env[", "getattr(", "x.join([", "x:\n\t$(A)\n", "A = $(A)$(A)\n", "$(shell ", "${{", "RUN a \\\n", "LABEL a \\\n", "RUN <<E\n", "x:\n #!/bin/sh\n", "    curl a\n", "a | sh ", "bash a.txt\n", "find . -exec ", "git bisect run ", "trap 'x' EXIT; ", "a=1; trap '$a' EXIT\n",
		"$(", "${A", "A += $(A)b\n", "define a\n", "include a\n", "x: A=$(B)\n", "{{ `a` }}", "`a`", "shell('a') ", "# escape=`\n", "RUN a `\n", "#\n\\\n", "ENV a b\n", "ONBUILD ", "--a ", "RUN [\"a\", \"b\"]\n", "COPY <<a b\n", "FROM a AS b\n", "!a {b}\n", "a=!b\n", "%run a\n", "%%bash\n", "a: b\n", "- \"a\": \"b\"\n", "[alias]\na = !b\n", "//a.b/\n", "\n\n    gh a\n",
		"<script>", "<script>a</script>", "<script src=", "<a onclick=\"f()\"", " onclick='", "onx=", "<!--", "= ", "={", "{a}", "url(", "@import", "srcdoc=\"&lt;a onx=f()&gt;\" ", "href=javascript:a() ", "FROM PROGRAM 'a'\n", "\\! a\n", "from /*", "load_file(", "require (\n", "a b\n", "import a; b()\n",
		"from os import *\n", "f(os.system, ", "class A(A):\n", "import('a').then(", "a.call(", "${x@P} ", "{a,b}", "{a,", "[[ -v a[", "test -v 'a[$(' ", "echo a | ed | ", "ed <<< '!a'\n", "sqlite3 a b ", "fd -x ", "xargs curl ", "- ```", "1. - ", "---\n", "net.Dialer{", "𝓪 "}
	const n = 12 << 10
	for _, piece := range pieces {
		for _, ext := range extensions {
			read := func(n int) {
				name, src := "a."+ext, strings.Repeat(piece, n/len(piece))
				if ext == "md" {
					name, src = "SKILL.md", "---\nname: a\ndescription: b\n---\n"+src
				}
				Read([]File{{Path: name, Data: []byte(src)}})
			}
			one, four := growth.Times(n, 4, 10, 40*time.Millisecond, read)
			if testing.Verbose() && one > 200*time.Millisecond {
				t.Logf("%q in %s: %v", piece, ext, one)
			}
			if four > 10*one {
				t.Errorf("%q in %s: %d kB take %v, four times as much %v", piece, ext, n>>10, one, four)
			} else if one > long.Within(time.Second) {
				t.Errorf("%q in %s: %d kB take %v", piece, ext, n>>10, one)
			}
		}
	}
}

// random is a set of a few permissions of every kind.
func random(r *rand.Rand) Set {
	var s Set
	for range r.IntN(8) {
		k := kinds[r.IntN(len(kinds))]
		p := Permission{k, ""}
		if k.argument() {
			p.Arg = []string{"*", ".", "a", "b", "Read", "localhost", "API_KEY", "LANG_X", "-", "none", "é ,x"}[r.IntN(11)]
		}
		if !s.has(p) {
			s = append(s, p)
		}
	}
	slices.SortFunc(s, Permission.compare)
	return s
}

// escalations are the permissions that next has newly and that need consent.
func escalations(old, next Set) Set {
	var out Set
	for _, c := range Compare(old, next) {
		if c.Escalates {
			out = append(out, c.Permission)
		}
	}
	return out
}

// No update that adds a permission passes unattended, unless it is one of the few that are only shown; one that adds
// nothing and lifts no limit passes.
func TestAddedNeverPasses(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 1))
	for range 20000 {
		old, next := random(r), random(r)
		asked := escalations(old, next)
		for _, p := range next {
			limit := p.Kind == Allow || p.Kind == Effect || p.Kind == Deny
			quiet := shown()[p] || p.Kind == Env && !secret(p.Arg)
			if !old.has(p) && !limit && !quiet && !asked.has(p) {
				t.Fatalf("%v → %v passes with %v", old, next, p)
			}
		}
		for _, p := range asked {
			lifted := p.Arg == "*" && old.any(p.Kind) && !next.any(p.Kind) || p.Kind == Allow && old.has(Permission{Deny, p.Arg})
			if !lifted && (old.has(p) || !next.has(p)) {
				t.Fatalf("%v → %v asks for %v", old, next, p)
			}
		}
		if len(Compare(old, old)) != 0 {
			t.Fatalf("%v differs from itself", old)
		}
		if list, ok := FromLock(Locked(next)); ok != (len(next) > 0 && !(len(next) == 1 && next[0].Kind == Load)) || ok && !slices.Equal(list, next) {
			t.Fatalf("%v is locked as %v, read as %v", next, Locked(next), list)
		}
	}
}

// TestUpdates reads testdata/updates.txt: "old -> new = verdict".
func TestUpdates(t *testing.T) {
	src, err := os.ReadFile("testdata/updates.txt")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) (s Set) {
		for _, w := range strings.Fields(text) {
			p, ok := Parse(w)
			if !ok {
				t.Fatalf("%q is no permission", w)
			}
			s = append(s, p)
		}
		slices.SortFunc(s, Permission.compare)
		return s
	}
	n := 0
	for i, line := range strings.Split(string(src), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		n++
		sets, want, ok := strings.Cut(line, " = ")
		old, next, ok2 := strings.Cut(sets, "->")
		if !ok || !ok2 {
			t.Fatalf("line %d: %q", i+1, line)
		}
		var got []string
		for _, c := range Compare(parse(old), parse(next)) {
			sign := map[bool]string{false: "+", true: "-"}[c.Gone]
			if c.Escalates {
				sign = "!"
			}
			got = append(got, sign+c.Permission.String())
		}
		verdict := strings.Join(got, " ")
		if verdict == "" {
			verdict = "same"
		}
		if verdict != want {
			t.Errorf("line %d: %s\n got %s", i+1, line, verdict)
		}
	}
	if n < 60 {
		t.Errorf("there are %d scenarios", n)
	}
}

func ExampleRead() {
	r := Read([]File{
		{Path: "SKILL.md", Data: []byte("---\nname: ocr\ndescription: Reads scans.\n---\nRun `python scripts/ocr.py FILE`.\n")},
		{Path: "scripts/ocr.py", Data: []byte("import os, requests\nkey = os.environ['OCR_KEY']\nrequests.post('https://api.ocr.example', data=key)\n")},
	})
	for _, f := range r {
		fmt.Println(f.Permission, f.Places[0].File, f.Places[0].Line)
	}
	// Output:
	// run:python3 SKILL.md 5
	// net:api.ocr.example scripts/ocr.py 3
	// env:OCR_KEY scripts/ocr.py 2
}
