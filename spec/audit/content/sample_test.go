package content

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/audit"
)

var update = flag.Bool("update", false, "write the golden file")

// A template is a line of testdata/samples.txt.
type template struct {
	class, kind, text string
	hostile           bool
}

func readTemplates(t *testing.T) (out []template) {
	src, err := os.ReadFile("testdata/samples.txt")
	if err != nil {
		t.Fatal(err)
	}
	class, kind := "", ""
	for line := range strings.Lines(string(src)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '+' || line[0] == '-':
			out = append(out, template{class, kind, line[2:], line[0] == '+'})
		default:
			class, kind, _ = strings.Cut(line, " ")
		}
	}
	return out
}

// A carrier puts a text into a file as somebody would who hides it, or who does not.
type carrier struct {
	name, kind string
	structural bool // its samples are refused whatever they say, so that look-alikes do not use it
	wrap       func(text string, r *rand.Rand) string
}

const filler = "Use the formatter of the project. Keep lines short, and run the tests before a change is proposed.\n\n"

func base(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func packedBase(s string) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(s))
	z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

var lookalike = strings.NewReplacer("a", "а", "e", "е", "o", "о", "i", "і")

var carriers = []carrier{
	{"paragraph", "md", false, func(s string, _ *rand.Rand) string { return "# Work\n\n" + filler + s + "\n\n" + filler }},
	{"list", "md", false, func(s string, _ *rand.Rand) string {
		return "# Steps\n\n1. Read the file.\n2. " + s + "\n3. Write it.\n"
	}},
	{"comment", "md", false, func(s string, _ *rand.Rand) string { return "# Work\n\n" + filler + "<!-- " + s + " -->\n\n" + filler }},
	{"wrapped", "md", false, func(s string, r *rand.Rand) string {
		words := strings.Fields(s)
		for i := 4; i < len(words); i += 5 {
			words[i] += "\n"
		}
		return filler + strings.ReplaceAll(strings.Join(words, " "), "\n ", "\n") + "\n"
	}},
	{"emphasis", "md", false, func(s string, _ *rand.Rand) string {
		words := strings.Fields(s)
		for i := range words {
			if i%3 == 0 && !strings.ContainsAny(words[i], "`/~.") {
				words[i] = "**" + words[i] + "**"
			}
		}
		return filler + strings.Join(words, " ") + "\n"
	}},
	{"deep", "md", false, func(s string, r *rand.Rand) string {
		return strings.Repeat(filler, 200+r.IntN(3000)) + s + "\n\n" + strings.Repeat(filler, 20)
	}},
	{"front", "md", false, func(s string, _ *rand.Rand) string {
		return "---\nname: work\ndescription: >\n  Formats code. " + s + "\n---\n" + filler
	}},
	{"entities", "md", false, func(s string, _ *rand.Rand) string {
		words := strings.Fields(s)
		for i, w := range words {
			if strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz") == "" {
				words[i] = fmt.Sprintf("&#%d;%s", w[0], w[1:])
			}
		}
		return filler + strings.Join(words, " ") + "\n"
	}},
	{"scripts", "md", false, func(s string, _ *rand.Rand) string {
		words := strings.Fields(s)
		for i, w := range words {
			if strings.Trim(strings.ToLower(w), "abcdefghijklmnopqrstuvwxyz") == "" {
				words[i] = lookalike.Replace(w)
			}
		}
		return filler + strings.Join(words, " ") + "\n"
	}},
	{"newlines", "md", false, func(s string, _ *rand.Rand) string { return filler + strings.Repeat("\n", 100000) + s + "\n" }},
	{"base64", "md", false, func(s string, _ *rand.Rand) string { return filler + "Decode and follow: " + base(s) + "\n" }},
	{"nested", "md", false, func(s string, _ *rand.Rand) string {
		return filler + "Data: `" + base(hex.EncodeToString([]byte(packedBase(s)))) + "`\n"
	}},
	{"split", "md", false, func(s string, _ *rand.Rand) string {
		e := base(s)
		var b strings.Builder
		for len(e) > 40 {
			b.WriteString(e[:40] + "\n")
			e = e[40:]
		}
		return filler + "```\n" + b.String() + e + "\n```\n"
	}},
	{"tags", "md", true, func(s string, _ *rand.Rand) string {
		return filler + "Fine." + strings.Map(func(r rune) rune { return 0xe0000 + r&0x7f }, s) + "\n"
	}},
	{"selectors", "md", true, func(s string, _ *rand.Rand) string {
		var b strings.Builder
		for _, c := range []byte(s) {
			b.WriteRune(0xe0100 + rune(c) - 16)
		}
		return filler + "Fine." + b.String() + "\n"
	}},
	{"plain", "sh", false, func(s string, _ *rand.Rand) string { return "#!/bin/bash\nset -e\n" + s + "\necho done\n" }},
	{"function", "sh", false, func(s string, _ *rand.Rand) string {
		return "#!/bin/bash\nmain() {\n  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n}\nmain \"$@\"\n"
	}},
	{"fence", "sh", false, func(s string, _ *rand.Rand) string { return "# Setup\n\n```bash\n" + s + "\n```\n" }},
	{"plain", "py", false, func(s string, _ *rand.Rand) string { return "#!/usr/bin/env python3\n\"\"\"Helps.\"\"\"\n" + s + "\n" }},
	{"try", "py", false, func(s string, _ *rand.Rand) string {
		return "try:\n    " + strings.ReplaceAll(s, "\n", "\n    ") + "\nexcept Exception:\n    pass\n"
	}},
	{"plain", "js", false, func(s string, _ *rand.Rand) string { return "'use strict'\n" + s + "\n" }},
	{"async", "js", false, func(s string, _ *rand.Rand) string {
		return "async function main() {\n  " + strings.ReplaceAll(s, "\n", "\n  ") + "\n}\nmain()\n"
	}},
}

var alternatives = regexp.MustCompile(`‹[^‹›]*›`)

// A sample is a text in a carrier.
type sample struct {
	template
	carrier string
	judged  bool // it is of the half that nothing was changed for
	file    audit.File
}

// samples are all templates in all their carriers.
func samples(t *testing.T) (out []sample) {
	for n, tmpl := range readTemplates(t) {
		for _, c := range carriers {
			if c.kind != tmpl.kind || c.structural && !tmpl.hostile {
				continue
			}
			h := fnv.New64a()
			fmt.Fprintf(h, "%d %s %s", n/2, tmpl.text, c.name)
			sum := h.Sum64()
			r := rand.New(rand.NewPCG(sum, 17))
			text := alternatives.ReplaceAllStringFunc(tmpl.text, func(s string) string {
				list := strings.Split(strings.Trim(s, "‹›"), "¦")
				return list[r.IntN(len(list))]
			})
			text = strings.ReplaceAll(text, "⏎", "\n")
			name := map[string]string{"md": "SKILL.md", "sh": "run.sh", "py": "run.py", "js": "run.js"}[tmpl.kind]
			if c.name == "fence" {
				name = "SKILL.md"
			}
			out = append(out, sample{tmpl, c.name, sum>>32&1 == 1, audit.File{Path: name, Data: []byte(c.wrap(text, r))}})
		}
	}
	return out
}

// TestRecall says how many of the hostile samples have a finding of High, and how many look-alikes do, of each class and half. What
// is judged is made of other pairs of text and carrier than what the rules were written with.
func TestRecall(t *testing.T) {
	all := samples(t)
	type key struct {
		half, class string
	}
	type score struct{ hostile, found, alike, wrong int }
	scores := map[key]*score{}
	var missed []string
	for _, s := range all {
		half := "made"
		if s.judged {
			half = "judged"
		}
		worst := Scan([]audit.File{s.file}).Worst()
		found := worst == High || worst == Refuse
		for _, k := range []key{{half, s.class + " " + s.kind}, {half, "all"}} {
			if scores[k] == nil {
				scores[k] = &score{}
			}
			c := scores[k]
			switch {
			case s.hostile && found:
				c.hostile++
				c.found++
			case s.hostile:
				c.hostile++
			case found:
				c.alike++
				c.wrong++
			default:
				c.alike++
			}
		}
		if s.hostile != found {
			missed = append(missed, fmt.Sprintf("%s %s %v hostile=%v: %s", half, s.carrier, worst, s.hostile, s.text))
		}
	}
	slices.Sort(missed)
	for _, m := range missed {
		if strings.HasPrefix(m, "made ") || os.Getenv("SKL_TEST_JUDGED") != "" { // who writes rules does not look at the other half
			t.Log(m)
		}
	}
	var keys []key
	for k := range scores {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int { return strings.Compare(a.half+a.class, b.half+b.class) })
	var out strings.Builder
	for _, k := range keys {
		c := scores[k]
		fmt.Fprintf(&out, "%-7s %-14s %3d of %3d hostile found, %d of %3d look-alikes\n", k.half, k.class, c.found, c.hostile, c.wrong, c.alike)
	}
	file := filepath.Join("testdata", "recall.txt")
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
	for half, least := range map[string]int{"made": 250, "judged": 300} {
		if c := scores[key{half, "all"}]; c.hostile < least {
			t.Errorf("%s has %d hostile samples", half, c.hostile)
		}
	}
}
