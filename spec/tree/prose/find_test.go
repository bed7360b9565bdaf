package prose_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/prose"
)

// A list is the steps only where that is sure. Of other texts the tree is one step that does what the text says.
func TestWhichList(t *testing.T) {
	const list = "1. Read the log.\n2. Mend it.\n\n"
	const one = "* Read `references/instructions.md`\n* Do what `references/instructions.md` says, for $ARGUMENTS\n"
	const steps = "* Read the log.\n* Mend it.\n"
	more := strings.Repeat("## About\n\nText.\n\n", 5)
	for _, test := range []struct{ name, body, want string }{
		{"below steps", "## Steps\n\n1. Red.\n2. Blue.\n\n" + more, "* Red.\n* Blue.\n"},
		{"below instructions", "## Main instructions\n\n- Red.\n- Blue.\n\n" + more, "* Red.\n* Blue.\n"},
		{"another form of the word", "## Word processing\n\n1. Red.\n2. Blue.\n\n" + more, one},
		{"part of a word", "## Preprocessed\n\n1. Red.\n2. Blue.\n\n" + more, one},
		{"a step among others", "## Step 2: Process it\n\n" + list + more, one},
		{"two workflows", "## Workflow A\n\n" + list + "## Workflow B\n\n" + list, one},
		{"two workflows, and the steps", "## Workflow A\n\n1. x\n2. y\n\n## Steps\n\n" + list, steps},
		{"the only list of orders", "## Demo\n\n" + list + "## Colours\n\n1. Red.\n2. Blue.\n\n", steps},
		{"no orders", "## Demo\n\n1. Red.\n2. Blue.\n\n", one},
		{"labels", "## Demo\n\n1. **Log**: read it.\n2. **Fault** — mend it.\n3. Stop.\n\n", "* **Log**: read it.\n* **Fault** — mend it.\n* END\n"},
		{"two lists of orders", "## Demo\n\n" + list + "## More\n\n" + list, one},
		{"one of many sections", "## Demo\n\n" + list + more, one},
		{"one of many sections, of work", "## Flow\n\n" + list + more, steps},
		{"below a deep heading", "## Demo\n\n### One\n\n" + list, one},
		{"of a setup", "## Setup\n\n" + list, one},
		{"with bullets", "## Demo\n\n- Read the log.\n- Mend it.\n\n", steps},
		{"with bullets, among sections", "## Demo\n\n- Read the log.\n- Mend it.\n\n## A\n\nb\n\n## B\n\nc\n\n", one},
		{"a list that starts again", "## Steps\n\n1. Read the log.\n2. Mend it.\n\nNow publish:\n\n1. Tag it.\n2. Push it.\n\nOnly if the user agreed:\n\n1. Drop it.\n\n" + more,
			"* Read the log.\n* Mend it.\n* Now publish:\n  * Tag it.\n  * Push it.\n* Only if the user agreed:\n  * Drop it.\n"},
		{"a list with rules between", "## Steps\n\n1. Read the log.\n\n---\n\n2. Mend it.\n\n" + more, steps},
		{"a list that goes on", "## Steps\n\n9. Read the log.\n\nThen:\n\n10. Mend it.\n11. Go.\n\n" + more, "* Read the log.\n* Then:\n* Mend it.\n* Go.\n"},
		{"a limit above the list", "## Steps\n\nOnly do this when the user typed WIPE.\n\n1. Delete it.\n2. Go.\n\n" + more, "* Only do this when the user typed WIPE.\n  * Delete it.\n  * Go.\n"},
		{"a choice of workflows", "## Practical Workflows\n\n1. Purge it.\n2. Ship it.\n\n" + more, one},
		{"another language", "## 步骤\n\n1. Red.\n2. Blue.\n\n" + more, "* Red.\n* Blue.\n"},
		{"led", "## Demo\n\n" + list + "## More\n\nFollow these steps:\n\n1. Look.\n2. Go.\n\n" + more, "* Look.\n* Go.\n"},
		{"led, and no orders", "## Demo\n\n" + list + "## More\n\nThey are listed in this order:\n\n1. Red.\n2. Blue.\n\n" + more, one},
		{"led, in one case", "## Demo\n\n" + list + "### More\n\nFollow these steps:\n\n1. Look.\n2. Go.\n\n" + more, one},
		{"led, at the top", "Do the work.\n\nFollow these steps:\n\n" + list + "## Form\n\n1. Red.\n2. Blue.\n\n" + more, steps},
		{"in order", "## Workflow\n\n1. Look.\n2. Go.\n\n## Protocol (always, in order)\n\n" + list + more, steps},
		{"in order to", "## Demo\n\n" + list + "## More\n\nIn order to go:\n\n1. Look.\n2. Go.\n\n" + more, one},
		{"in order of something", "## Workflow\n\n" + list + "## Ways, in order of preference\n\n1. Look.\n2. Go.\n\n" + more, steps},
		{"parts in order", "## Workflow\n\n" + list + "## Sections (in order)\n\n1. Red.\n2. Blue.\n\n" + more, steps},
		{"of two, the one of work", "## Action (run-time)\n\n" + list + "## More\n\n1. Look.\n2. Go.\n\n", steps},
		{"lists for several purposes", "To run it:\n\n1. Run it.\n\nTo delete it:\n\n1. Ask.\n2. Delete it.\n\n", one},
		{"paragraphs that are steps", "## Workflow\n\n**Step 1:** Build it.\n\n**Step 2:** Locate it:\n- red\n- blue\n\n**Step 3:** Run it.\n\n",
			"* Step 1: Build it.\n* Step 2: Locate it:\n  * red\n  * blue\n* Step 3: Run it.\n"},
		{"paragraphs that are steps, without a list", "## Workflow\n\n**1. Build it.** Now.\n\n**2. Run it.** Then.\n\n", one},
		{"nothing but rules", "## Guidelines\n\n- Read the log.\n- Mend it.\n\n", one},
		{"a checklist before a text about it", "## Checklist\n\nComplete these in order:\n\n" + list + "## The Process\n\n**Looking:**\n\n- Look at it.\n- One question each time.\n\n", steps},
		{"phases before a list that is led", "## Work\n\n### Step 1: Read\n\nRead it.\n\n### Step 2: Mend\n\nMend it.\n\n## More\n\nDo these in order:\n\n" + list, "* Step 1: Read\n  * Read it.\n* Step 2: Mend\n  * Mend it.\n"},
		{"a list of steps in a phase", "## Work\n\n### Step 1: Read\n\n#### Steps\n\n" + list + "### Step 2: Mend\n\nMend it.\n\n",
			"* Step 1: Read\n  * Read `references/step-1-read.md`\n  * Do what `references/step-1-read.md` says\n* Step 2: Mend\n  * Mend it.\n"},
		{"interactions", "## Interactions\n\n" + list + "## More\n\n1. Look.\n2. Go.\n\n", one},
		{"the name of the skill", "# do-in-steps\n\n- Red.\n- Blue.\n\n" + more, one},
		{"a loop over what is shown", "## Steps\n\n1. For each file, show:\n   - its name\n   - its size\n2. Mend it.\n\n", "* FOR_EACH << file in every file\n  * show:\n    * its name\n    * its size\n* Mend it.\n"},
		{"an example of Markdown", "## Steps\n\n" + list + "## Form\n\n```markdown\n# A\n\n```bash\nls\n```\n\n## Workflow\n\n1. Look.\n2. Go.\n```\n\n", steps},
		{"a block that is not closed in one", "## Form\n\n```markdown\n# A\n\n```bash\nls\n```\n\n## Steps\n\n" + list, steps},
		{"what is said", "## Task\n\n- \"Write it\" - step\n- \"Run it\" - step\n- Read it.\n\n" + more, one},
		{"a table of more phases", "## Work\n\n| Phase | Name |\n|---|---|\n| 0 | Read |\n| 1 | Mend |\n| 2 | [Report](a.md) |\n\n### Phase 0 — Read\n\nRead it.\n\n### Phase 1 — Mend\n\nMend it.\n\n- red\n- blue\n\n", one},
		{"a table of these phases", "## Work\n\n### Phase 0 — Read\n\nRead it.\n\n### Phase 1 — Mend\n\nMend it.\n\n## More\n\n| Phase | Name |\n|---|---|\n| 0 | Read |\n| 1 | Mend |\n\n",
			"* Phase 0 — Read\n  * Read it.\n* Phase 1 — Mend\n  * Mend it.\n"},
		{"a condition that stays text", "## Steps\n\n1. Find it.\n2. If it is empty, do not ask the user — resolve it by itself:\n   1. Get the branch.\n   2. Find the request:\n      - If one is found, use it.\n      - If none is found, fall back to the last run. If it failed, read it.\n3. Mend it.\n\n",
			"* Find it.\n* Do: If it is empty, do not ask the user — resolve it by itself:\n  * Get the branch.\n  * Find the request:\n    * If one is found, use it.\n    * If none is found, fall back to the last run. If it failed, read it.\n* Mend it.\n"},
		{"features", "## Features\n\n- Read the log.\n- Mend it.\n\n", one},
	} {
		files := fstest.MapFS{}
		got, err := prose.ToTree([]byte(head+test.body+"## Rules\n\n- r\n\n## Response: x\n"), "demo", files)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if text := withoutReads(treeIn(string(got.Source))); text != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, text, test.want)
		}
	}
}

// withoutReads is a tree without its readings of what stands beside it.
func withoutReads(text string) string {
	var w strings.Builder
	for l := range strings.Lines(text) {
		if !strings.HasPrefix(l, "* Read `references/") || strings.Contains(l, "instructions.md") {
			w.WriteString(l)
		}
	}
	return w.String()
}

// treeIn is what hangs below the label of the tree in src.
func treeIn(src string) string {
	_, text, _ := strings.Cut(src, "## Tree\n\n* demo\n")
	text, _, _ = strings.Cut(text, "\n##")
	return strings.TrimPrefix(strings.ReplaceAll(strings.TrimRight("\n"+text, "\n")+"\n", "\n  ", "\n"), "\n")
}

// Headings that are numbered one after the other are the steps if most of them say what to do.
func TestNumberedHeadings(t *testing.T) {
	const phases = "* Read it\n  * Open the log.\n  * Wait.\n* Mend it\n  * Write a patch.\n  * Wait.\n* Say so\n  * Send a mail.\n  * Wait.\n"
	of := func(mark string, titles ...string) (body string) {
		for i, text := range [...]string{"Open the log.", "Write a patch.", "Send a mail."} {
			body += mark + " " + titles[i] + "\n\n- " + text + "\n- Wait.\n\n"
		}
		return body
	}
	for _, test := range []struct{ name, body, want string }{
		{"orders", of("##", "1. Read it", "2. Mend it", "3. Say so"), phases},
		{"from nought", of("##", "0) Read it", "1) Mend it", "2) Say so"), phases},
		{"deeper", "## About\n\n" + of("###", "1. Read it", "2. Mend it", "3. Say so"), phases},
		{"names", of("##", "1. Colours", "2. Shapes", "3. Sizes"), ""},
		{"names below steps", "## The sequence\n\n" + of("###", "1. Colours", "2. Shapes", "3. Sizes"), "* Colours\n  * Open the log.\n  * Wait.\n* Shapes\n  * Write a patch.\n  * Wait.\n* Sizes\n  * Send a mail.\n  * Wait.\n"},
		{"with a gap", of("##", "1. Read it", "3. Mend it", "4. Say so"), ""},
		{"of rules", "## Principles\n\n" + of("###", "1. Read it", "2. Mend it", "3. Say so"), ""},
		{"one case of several", "## Creating files\n\n" + of("###", "Step 1", "Step 2", "Step 3") + "## Changing files\n\nEdit them.\n\n", ""},
		{"a case", "## Files\n\nOnly when there is none:\n\n" + of("###", "Step 1", "Step 2", "Step 3"), ""},
		{"several in one", of("##", "Phase 1", "Phase 2", "Phases 3-4: Say"), "* Phase 1\n  * Open the log.\n  * Wait.\n* Phase 2\n  * Write a patch.\n  * Wait.\n* Phases 3-4: Say\n  * Send a mail.\n  * Wait.\n"},
		{"what can be done with a thing", of("###", "1. Create it", "2. Update it", "3. Delete it"), ""},
		{"below workflows", "## Core Workflows\n\n" + of("###", "1. Read it", "2. Mend it", "3. Say so"), ""},
		{"a gate between", of("##", "Phase 1", "Gate: ask", "Phase 2"), "* Phase 1\n  * Open the log.\n  * Wait.\n* Gate: ask\n  * Write a patch.\n  * Wait.\n* Phase 2\n  * Send a mail.\n  * Wait.\n"},
		{"letters", of("##", "Step P.1: Read", "Step P.2 - Mend", "Step P.3: Say"), "* Step P.1: Read\n  * Open the log.\n  * Wait.\n* Step P.2 - Mend\n  * Write a patch.\n  * Wait.\n* Step P.3: Say\n  * Send a mail.\n  * Wait.\n"},
		{"words", of("##", "Step into it", "Step a side", "Stage lights"), ""},
		{"steps that may be skipped", "## Files\n\nFollow these in order, skipping one only when it is clearly not applicable.\n\n" + of("###", "Step 1", "Step 2", "Step 3"),
			"* Read `references/files.md`\n* Step 1\n  * Open the log.\n  * Wait.\n* Step 2\n  * Write a patch.\n  * Wait.\n* Step 3\n  * Send a mail.\n  * Wait.\n"},
		{"a list that goes on", "## Files\n\n### Colours\n\n1. Open the log.\n2. Wait.\n\n### Shapes\n\n3. Write a patch.\n\n### Sizes\n\n4. Send a mail.\n5. Wait.\n\n", "* Colours\n  * Open the log.\n  * Wait.\n* Shapes\n  * Write a patch.\n* Sizes\n  * Send a mail.\n  * Wait.\n"},
		{"a list that goes on in two ways", "## Files\n\n### Colours\n\n1. Open the log.\n2. Wait.\n\n### Shapes\n\n3. Write a patch.\n\n### Sizes\n\n3. Send a mail.\n4. Wait.\n\n", ""},
		{"lists that begin anew", "## Files\n\n### Colours\n\n1. Open the log.\n2. Wait.\n\n### Shapes\n\n1. Write a patch.\n2. Wait.\n\n", ""},
		{"tasks", of("##", "Task 1: Read", "Task 2: Mend", "Task 3: Say"), "* Task 1: Read\n  * Open the log.\n  * Wait.\n* Task 2: Mend\n  * Write a patch.\n  * Wait.\n* Task 3: Say\n  * Send a mail.\n  * Wait.\n"},
	} {
		got, err := prose.ToTree([]byte(head+test.body+"## Rules\n\n- r\n\n## Response: x\n"), "demo", fstest.MapFS{})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		text := treeIn(string(got.Source))
		if test.want == "" && !strings.Contains(text, "instructions.md") || test.want != "" && text != test.want {
			t.Errorf("%s: got\n%s\nwant\n%s", test.name, text, test.want)
		}
	}
}

// The rest of a phase beside its list moves to a file, which this phase reads and no other.
func TestPhaseFiles(t *testing.T) {
	src := head + "## Phase 1: Look\n\n- see\n- say\n\n## Phase 2: Act\n\nRun this:\n\n```sh\nmake\n```\n\n### Now\n\n- a\n- b\n\n## Phase 3: End\n\n```\nx\n```\n\n## Rules\n\n- r\n\n## Response: x\n"
	got, err := prose.ToTree([]byte(src), "demo", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	want := "* Phase 1: Look\n  * see\n  * say\n* Phase 2: Act\n  * Read `references/phase-2-act.md`\n  * Do what `references/phase-2-act.md` says\n" +
		"* Phase 3: End\n  * Read `references/phase-3-end.md`\n  * Do what `references/phase-3-end.md` says\n"
	if text := treeIn(string(got.Source)); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if len(got.Files) != 2 || got.Files[0].Text != "# Phase 2: Act\n\nRun this:\n\n```sh\nmake\n```\n\n### Now\n\n- a\n- b\n" {
		t.Errorf("%+v", got.Files)
	}
}

// Each phase reads its own text and does it in its turn, though the headings of all are deep; a gate among them is one, and so is a
// condition in a heading. What stands beside a list and is done is not cut off from it.
func TestPhasesInOrder(t *testing.T) {
	const code = "```sh\ngit branch\n```\n\n"
	src := head + "## Workflow\n\n### Phase 1: Look\n\n" + code + "### Phase 2: Group\n\n1. Compare\n2. Merge\n\n### GATE: Wait\n\nWait for a yes.\n\n### Phase 3: When it failed\n\n- Roll back\n- Ask for help\n\n" +
		"### Phase 4: Check\n\nRun this:\n\n" + code + "If it succeeds:\n- Run it again\n- Say so\n\n### Phase 5: End\n\n1. If nobody wants it, skip all remaining steps.\n2. Push\n\n### Notes\n\n" + code + "## Rules\n\n- r\n\n## Response: x\n"
	got, err := prose.ToTree([]byte(src), "demo", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	does := func(title, name string) string {
		return "* " + title + "\n  * Read `references/" + name + ".md`\n  * Do what `references/" + name + ".md` says\n"
	}
	want := does("Phase 1: Look", "phase-1-look") + "* Phase 2: Group\n  * Compare\n  * Merge\n* GATE: Wait\n  * Wait for a yes.\n" + does("Phase 3: When it failed", "phase-3-when-it-failed") +
		does("Phase 4: Check", "phase-4-check") + "* Phase 5: End\n  * IF << nobody wants it\n    * END skip all remaining steps.\n  * Push\n"
	if text := withoutReads(treeIn(string(got.Source))); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	if files := got.Files; len(files) != 4 || files[0].Text != "# Phase 1: Look\n\n```sh\ngit branch\n```\n" || files[3].Name != "references/notes.md" {
		t.Errorf("%+v", files)
	}
}

// The steps of a phase do not stand in the tree without the text that says in which case they are done.
func TestLimitedPhase(t *testing.T) {
	const rest = "* Step 2: Say\n  * Say it.\n  * Go.\n"
	for _, test := range []struct {
		limit string
		above bool // it is a step, and those of the list are below it
	}{{"Only do this when the user typed WIPE.", true}, {"**Condition**: the user said yes", true}, {"Skip this step when STATE is set.", true}, {"**Loop**: back to step 3", true}, {"This step is optional.", true},
		{"If there is none, go on.", false}, {"For Shiny, use the other one.", false}, {"Text.\n\nOnly do this when the user typed WIPE.\n\nMore text.", false}} {
		got, err := prose.ToTree([]byte(head+"## Step 1: Wipe\n\n"+test.limit+"\n\n1. Delete it.\n2. Go.\n\n## Step 2: Say\n\n1. Say it.\n2. Go.\n"), "demo", fstest.MapFS{})
		if err != nil {
			t.Fatal(err)
		}
		want := "* Step 1: Wipe\n  * Read `references/step-1-wipe.md`\n  * Do what `references/step-1-wipe.md` says\n"
		if test.above {
			want = "* Step 1: Wipe\n  * " + test.limit + "\n    * Delete it.\n    * Go.\n"
		}
		text := treeIn(string(got.Source))
		if text != want+rest || !test.above && (len(got.Files) != 1 || !strings.Contains(got.Files[0].Text, test.limit+"\n\n1. Delete it.\n2. Go.\n")) {
			t.Errorf("%s: got\n%s\n%v", test.limit, text, got.Files)
		}
	}
}

// Text beside the tree is read: all of it in one file, but for what is for who chooses the skill.
func TestBackground(t *testing.T) {
	got, err := prose.ToTree([]byte(head+"## When to use\n\nOften.\n\n## Safety\n\nNever touch production.\n\n## Steps\n\n1. Look.\n2. Go.\n\n## Tips\n\nBe quick.\n"), "demo", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	if text := treeIn(string(got.Source)); text != "* Read `references/background.md`\n* Look.\n* Go.\n" || len(got.Files) != 1 ||
		got.Files[0].Text != "# Background\n\n## Safety\n\nNever touch production.\n\n## Tips\n\nBe quick.\n" {
		t.Errorf("%s\n%+v", text, got.Files)
	}
}

// The tree of one step has all of the text in one file, is a skill without errors, and says what became of it.
func TestOneStep(t *testing.T) {
	body := "# Colours\n\nFor $ARGUMENTS.\n\n## Kinds\n\n- red\n- [blue](blue.md)\n\n```sh\n!`date`\n```\n\n## Response Shapes\n\n```json\n{}\n```\n"
	for _, nl := range [...]string{"\n", "\r\n"} {
		files := fstest.MapFS{"references/instructions.md": {Data: []byte("mine")}, "blue.md": {Data: []byte("blue")}}
		got, err := prose.ToTree([]byte(strings.ReplaceAll(head+body, "\n", nl)), "demo", files)
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Files) != 2 || got.Files[0].Name != "references/instructions-2.md" || got.Files[1].Name != "references/response-shapes.md" {
			t.Fatalf("%+v", got.Files)
		}
		want := "# Colours\n\nFor $ARGUMENTS.\n\n## Kinds\n\n- red\n- [blue](../blue.md)\n\n```sh\n!`date`\n```\n"
		if text := got.Files[0].Text; text != strings.ReplaceAll(want, "\n", nl) {
			t.Errorf("got %q, want %q", text, want)
		}
		for _, f := range got.Files {
			files[f.Name] = &fstest.MapFile{Data: []byte(f.Text)}
		}
		files["SKILL.md"] = &fstest.MapFile{Data: got.Source}
		s, err := tree.Load(files, "demo")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range check.Check(s) {
			if f.Severity == "error" {
				t.Errorf("%s: %s\n%s", f.Rule, f.Message, got.Source)
			}
		}
		losses := strings.Join(got.Losses, "\n")
		for _, part := range [...]string{"none is surely the steps", "has $ARGUMENTS, which hosts replace in SKILL.md alone", "has !`, which"} {
			if !strings.Contains(losses, part) {
				t.Errorf("no %q in %s", part, losses)
			}
		}
	}
}

// A link by a label leads where it did, whichever part of the text its definition is in now.
func TestDefinitions(t *testing.T) {
	body := "## Steps\n\n1. Open [the guide][r] and [it][].\n2. Do it[^1] fast.\n\n## Table\n\n| a | b |\n|---|---|\n| [t](docs/t.md) | [u][web] |\n\n[r]: docs/r.md \"Guide\"\n[It]: ./it.md\n[^1]: Only on Mondays.\n\n## Links\n\n[web]: https://example.com/a.b\n[own]: änderung.md\n\nSee [own].\n"
	got, err := prose.ToTree([]byte(head+body), "demo", fstest.MapFS{})
	if err != nil {
		t.Fatal(err)
	}
	_, src, _ := strings.Cut(string(got.Source), "what its steps mean.\n\n")
	if before, _, _ := strings.Cut(src, "## Tree"); before != "[r]: docs/r.md \"Guide\"\n[It]: ./it.md\n[^1]: Only on Mondays.\n\n" {
		t.Errorf("%q in\n%s", before, src)
	}
	if want := "| [t](../docs/t.md) | [u][web] |\n\n[r]: ../docs/r.md \"Guide\"\n[It]: .././it.md\n[^1]: Only on Mondays.\n\n[web]: https://example.com/a.b\n"; !strings.HasSuffix(got.Files[0].Text, want) {
		t.Errorf("%q", got.Files[0].Text)
	}
	if want := "[own]: ../änderung.md\n"; !strings.Contains(got.Files[1].Text, want) {
		t.Errorf("%q", got.Files[1].Text)
	}
}
