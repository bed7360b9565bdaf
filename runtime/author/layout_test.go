package author

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

const oldSkill = "\ufeff---\r\nname: s\r\ndescription: Writes notes. Use when notes are wanted.\r\n---\r\n\r\n# S\r\n\r\nSee [the words](./constants/words.md), `constants/words.md`.  \r\n\r\n" +
	"## Tree\r\n\r\n* s\r\n  * Read `commands/log.sh` for `LOG` >> log\r\n  * LIST << log >> notes\r\n  * Read `templates/notes.md` to `docs/notes.md`\r\n  * VERIFY_EXPECTED << verify/done.md\r\n\r\n" +
	"## Rules\r\n\r\n- Run `sh commands/log.sh`, then read policies/tone.md.\r\n\r\n## Response: notes"

func oldFiles() fstest.MapFS {
	return fstest.MapFS{
		"SKILL.md":           {Data: []byte(oldSkill)},
		"ops/list.md":        {Data: []byte("# LIST << log >> notes\n\n> **Subagent.** Output contract: `schemas/notes.json`.\n\nSee [tone](../policies/tone.md) and [more](../references/more.md).\n")},
		"commands/log.sh":    {Data: []byte("#!/bin/sh\n# === LOG ===\ngit log\n"), Mode: 0o755},
		"templates/notes.md": {Data: []byte("# <notes>\n")},
		"constants/words.md": {Data: []byte("a b\n")},
		"policies/tone.md":   {Data: []byte("Be short. The words: [here](../constants/words.md#a).\n")},
		"schemas/notes.json": {Data: []byte("{\"type\": \"object\", \"properties\": {\"notes\": {\"$ref\": \"note.json\"}}}\n")},
		"schemas/note.json":  {Data: []byte("{\"type\": \"string\"}\n")},
		"verify/done.md":     {Data: []byte("- [ ] File `docs/notes.md` exists\n")},
		"references/more.md": {Data: []byte("[the list](../ops/list.md), [words](../constants/words.md) and assets/templates/other.md\n")},
	}
}

func TestLayout(t *testing.T) {
	d := Over("s", oldFiles())
	moved, left, err := Layout(d)
	if err != nil || len(left) > 0 || len(moved) != 8 {
		t.Fatalf("moved %v, left %q, %v", moved, left, err)
	}
	for name, want := range map[string]string{
		"SKILL.md": strings.NewReplacer("constants/", "assets/constants/", "templates/", "assets/templates/", "verify/", "assets/verify/", "policies/", "assets/policies/",
			"commands/", "scripts/").Replace(oldSkill),
		"references/ops/list.md":  "# LIST << log >> notes\n\n> **Subagent.** Output contract: `assets/schemas/notes.json`.\n\nSee [tone](../../assets/policies/tone.md) and [more](../more.md).\n",
		"assets/policies/tone.md": "Be short. The words: [here](../constants/words.md#a).\n",
		"references/more.md":      "[the list](ops/list.md), [words](../assets/constants/words.md) and assets/templates/other.md\n",
	} {
		if got, err := d.Read(name); err != nil || string(got) != want {
			t.Errorf("%s is %q, %v, want %q", name, got, err, want)
		}
	}
	if info, err := fs.Stat(d.FS(), "scripts/log.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the script has mode %v, %v", info, err)
	}
	again := Over("s", d.FS())
	if moved, left, err := Layout(again); err != nil || len(moved)+len(left)+len(again.Changes()) > 0 {
		t.Errorf("a second time: %v %q %v", moved, left, err)
	}
	if lost, err := Lost(d); err != nil || len(lost) > 0 {
		t.Errorf("lost: %v %v", lost, err)
	}
	if err := d.Put("SKILL.md", []byte(strings.Replace(string(mustRead(t, d.FS(), "SKILL.md")), "assets/policies/tone.md", "assets/constants/words.md", 1)), ""); err != nil {
		t.Fatal(err)
	}
	if lost, err := Lost(d); err != nil || len(lost) != 1 || !strings.Contains(lost[0].Text, "then read policies/tone.md") {
		t.Errorf("a path of another file: lost %v %v", lost, err)
	}
}

// Files whose place is taken, and those to which some reference is not sure, stay, and nothing that leads to them changes.
func TestLayoutLeaves(t *testing.T) {
	for name, tt := range map[string]struct {
		file, text string
		stay, why  string
	}{
		"taken":               {"assets/templates/notes.md", "x", "templates/notes.md", "assets/templates/notes.md is there"},
		"taken in other case": {"assets/Templates/notes.md", "x", "templates/notes.md", "assets/Templates/notes.md is there"},
		"a file in the way":   {"assets", "x", "templates/notes.md", "assets is there"},
		"a slot":              {"references/x.md", "Read `templates/<kind>.md`.", "templates/notes.md", "references/x.md:1 may mean it"},
		"a longer slot":       {"references/x.md", "\nRead `templates/no{kind}.md`.", "templates/notes.md", "references/x.md:2 may mean it"},
		"another beginning":   {"references/x.md", "Read `templates/a<kind>.md`.", "", ""},
		"no extension":        {"references/x.md", "Fill `templates/notes`.", "templates/notes.md", "may mean it"},
		"a folder":            {"references/x.md", "All of `templates/` is read.", "templates/notes.md", "may mean it"},
		"a folder elsewhere":  {"references/x.md", "All of `docs/templates/` is read.", "", ""},
		"an address":          {"references/x.md", "https://a.example/templates/", "", ""},
		"a variable":          {"scripts/x.sh", "cat \"$HERE/templates/notes.md\"", "templates/notes.md", "may mean it"},
		"a name as variable":  {"scripts/x.sh", "cat ${x}templates/notes.md", "templates/notes.md", "may mean it"},
		"a composed path":     {"scripts/x.py", "os.path.join('templates', name)", "templates/notes.md", "may mean it"},
		"a change of folder":  {"scripts/x.sh", "cd templates && ls", "templates/notes.md", "may mean it"},
		"backslashes":         {"scripts/x.ps1", `type templates\notes.md`, "templates/notes.md", "may mean it"},
		"another skill":       {"references/x.md", "See ../other/templates/notes.md.", "templates/notes.md", "may mean it"},
		"written":             {"references/x.md", "Save the text to `templates/notes.md`.", "templates/notes.md", "may mean it"},
		"redirected":          {"scripts/x.sh", "echo a > templates/notes.md", "templates/notes.md", "may mean it"},
		"a claim":             {"assets/verify/x.md", "- [ ] File `templates/notes.md` exists\n", "templates/notes.md", "may mean it"},
		"in bytes":            {"assets/x.bin", "\x00templates/notes.md\xff", "templates/notes.md", "may mean it"},
		"two meanings":        {"references/templates/notes.md", "templates/notes.md", "", ""},
		"two files":           {"references/x/templates/notes.md", "", "", ""},
		"bytes":               {"templates/a.bin", "\x00", "templates/a.bin", "it is no text"},
		"a strange name":      {"templates/a b.md", "x", "templates/a b.md", "several ways"},
		"scripts together":    {"commands/a b.sh", "x", "commands/log.sh", "scripts can need each other"},
		"an op twice":         {"ops.md", "## LIST << log >> notes\n\nOther.\n", "ops/list.md", "the op LIST is defined in"},
	} {
		t.Run(name, func(t *testing.T) {
			files := oldFiles()
			files[tt.file] = &fstest.MapFile{Data: []byte(tt.text)}
			d := Over("s", files)
			moved, left, err := Layout(d)
			if err != nil || len(moved) == 0 && tt.file != "assets" {
				t.Fatalf("%v %q %v", moved, left, err)
			}
			if tt.stay == "" {
				if len(left) > 0 {
					t.Errorf("left %q", left)
				}
				return
			}
			if !slices.ContainsFunc(left, func(l string) bool { return strings.HasPrefix(l, tt.stay+" stays: ") && strings.Contains(l, tt.why) }) {
				t.Errorf("left %q", left)
			}
			if text, err := d.Read(tt.stay); err != nil || string(text) != string(files[tt.stay].Data) && tt.stay != "ops/list.md" {
				t.Errorf("%s is %q, %v", tt.stay, text, err)
			}
			if slices.ContainsFunc(moved, func(m Move) bool { return m.From == tt.stay }) {
				t.Errorf("%s moved", tt.stay)
			}
		})
	}
}

// A test of a tree is of a file of the project, whatever the skill has.
func TestLayoutLeavesTests(t *testing.T) {
	files := oldFiles()
	files["SKILL.md"] = &fstest.MapFile{Data: []byte(strings.Replace(oldSkill, "  * LIST", "  * IF << templates/notes.md exists\r\n    * END\r\n  * LIST", 1))}
	if _, left, err := Layout(Over("s", files)); err != nil || len(left) != 1 || !strings.HasPrefix(left[0], "templates/notes.md stays: SKILL.md:14 may mean it") {
		t.Errorf("%q %v", left, err)
	}
}

// Links are no files that move, and files that links lead to stay.
func TestLayoutLeavesLinks(t *testing.T) {
	files := oldFiles()
	files["templates/link.md"] = &fstest.MapFile{Data: []byte("notes.md"), Mode: fs.ModeSymlink | 0o777}
	files["words"] = &fstest.MapFile{Data: []byte("constants"), Mode: fs.ModeSymlink | 0o777}
	_, left, err := Layout(Over("s", files))
	want := []string{"constants/words.md stays: the link words leads to it", "templates/link.md stays: it is a link", "templates/notes.md stays: the link templates/link.md leads to it"}
	if err != nil || !slices.Equal(left, want) {
		t.Errorf("%q %v", left, err)
	}
}

// A skill without a tree, and one without a SKILL.md, keep all their files.
func TestLayoutOfText(t *testing.T) {
	for _, files := range []fstest.MapFS{{"SKILL.md": {Data: []byte("# S\n\nSee templates/a.md.\n")}, "templates/a.md": {Data: []byte("a")}}, {"templates/a.md": {Data: []byte("a")}}, {}} {
		d := Over("s", files)
		if moved, left, err := Layout(d); err != nil || len(moved)+len(left)+len(d.Changes()) > 0 {
			t.Errorf("%v %q %v", moved, left, err)
		}
	}
}

// Work is linear in the size of a skill, whatever it holds.
func TestLayoutOfHostile(t *testing.T) {
	for name, text := range map[string]string{
		"folders": strings.Repeat("templates/", 100_000),
		"words":   strings.Repeat("templates/n< ", 80_000),
		"tails":   strings.Repeat("$/templates/notes.md/", 50_000),
		"paths":   strings.Repeat("to templates/notes.md ", 45_000),
		"up":      strings.Repeat("../", 340_000),
	} {
		files := oldFiles()
		files["references/x.md"] = &fstest.MapFile{Data: []byte(text)}
		start := time.Now()
		if _, _, err := Layout(Over("s", files)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
	files := oldFiles()
	for i := range MaxChanges {
		files[fmt.Sprintf("constants/c%d.md", i)] = &fstest.MapFile{Data: []byte("x")}
	}
	if moved, left, err := Layout(Over("s", files)); err != nil || len(moved) > 0 || len(left) != MaxChanges+8 {
		t.Errorf("%d moved, %d left, %v", len(moved), len(left), err)
	}
}

// outside is a text with each word that may be a path as one mark.
func outside(text string) string {
	var b strings.Builder
	at := 0
	for _, m := range mentions(text) {
		b.WriteString(text[at:m.at] + "\x01")
		at = m.end
	}
	return b.String() + text[at:]
}

// Bytes outside of paths stay, whatever a text holds; a word that changes is one of a file that moved; and a second time nothing changes.
func FuzzLayout(f *testing.F) {
	f.Add("See templates/notes.md, [a](../constants/words.md#x).\r\n")
	f.Add("\ufefftemplates/./notes.md templates/notes.md... ${x}/policies/tone.md")
	f.Add("Read `templates/<a>.md` and ./verify/done.md\\templates\\notes.md")
	f.Add("```sh\nsh commands/log.sh > templates/notes.md\n```")
	f.Fuzz(func(t *testing.T, text string) {
		files := oldFiles()
		files["references/x.md"] = &fstest.MapFile{Data: []byte(text)}
		d := Over("s", files)
		moved, left, err := Layout(d)
		if err != nil {
			t.Fatal(err)
		}
		to := map[string]string{}
		for _, m := range moved {
			to[m.From] = m.To
		}
		now, err := d.Read("references/x.md")
		if err != nil {
			t.Fatal(err)
		}
		if outside(text) != outside(string(now)) {
			t.Fatalf("%q became %q", text, now)
		}
		was, is := mentions(text), mentions(string(now))
		for i := range was {
			from := strings.TrimPrefix(was[i].word, "../")
			if was[i].word != is[i].word && !slices.ContainsFunc(moved, func(m Move) bool {
				return strings.HasSuffix(is[i].word, m.To) || strings.HasSuffix("references/"+is[i].word, m.To)
			}) {
				t.Fatalf("%q became %q in %q; moved %v, left %q", from, is[i].word, text, moved, left)
			}
		}
		again := Over("s", d.FS())
		if moved, _, err := Layout(again); err != nil || len(moved)+len(again.Changes()) > 0 {
			t.Fatalf("a second time %v, %v", moved, err)
		}
	})
}
