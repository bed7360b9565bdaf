package prose_test

import (
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/tree/prose"
)

// Items with the shapes of 60 that were drawn from published skills, with the condition and the step that a reader sees. An item
// without a condition here has none that is certain, or is a fragment: it stays one step, whole.
var labelled = []struct{ item, cond, step string }{
	{"If fresh: Make an orphan branch, add the job + folders, push", "fresh", "Make an orphan branch, add the job + folders, push"},
	{"When drawing the borders between services", "", ""},
	{"When commenting on lines (via `git:attach`):", "", ""},
	{"If `-a` and `-b` given -> skip Phase 2 (choices)", "", ""},
	{"**If `FIX_MODE` is true: Find changes via git diff, skip what is unchanged, pass on remarks!**", "`FIX_MODE` is true", "Find changes via git diff, skip what is unchanged, pass on remarks!"},
	{"**If NO**: Go on with the commit", "", ""},
	{"When CP is on, packed lengths must respect `2 * size`.", "", ""},
	{"If A has to break the format, update B first", "A has to break the format", "update B first"},
	{"When figures (size, tries, streak) do not improve", "", ""},
	{"If no argument is given, display the menu and ask what", "no argument is given", "display the menu and ask what"},
	{"When you want keys cleared after the command", "", ""},
	{"If foreign folders appear, `source` is too broad.", "", ""},
	{"**If the user names a folder** in the request, use it as `OUT`.", "the user names a folder in the request", "use it as `OUT`."},
	{"If scores fall for 2 rounds in a row, escalate the plan (see `references/teams.md`).", "scores fall for 2 rounds in a row", "escalate the plan (see `references/teams.md`)."},
	{"**When to use vs skip.** Use it wherever a schema exists. Skip it for libraries.", "", ""},
	{"If the page has a drawing, save all of it as `<title>-all.svg`.", "the page has a drawing", "save all of it as `<title>-all.svg`."},
	{"If already in the right account but as the wrong user: `tool login set <name>`", "already in the right account but as the wrong user", "`tool login set <name>`"},
	{"If a repair breaks something else, STOP and think again (back to LOOK)", "a repair breaks something else", "STOP and think again (back to LOOK)"},
	{"If there is a rule that says the same, **update that rule** instead and remove the new one", "there is a rule that says the same", "**update that rule** instead and remove the new one"},
	{"When you only need one quick look at a formula — read the code and run nothing", "", ""},
	{"If drawing fails: retry once from another folder, then emit a bitmap.", "drawing fails", "retry once from another folder, then emit a bitmap."},
	{"If the user has remarks: store them for the next phase or give the steps out again", "the user has remarks", "store them for the next phase or give the steps out again"},
	{"**When to use helpers**: See `docs/rules.md` → \"Principles\"", "", ""},
	{"If verb + pattern given -> run it", "", ""},
	{"If exists, append `TOKEN` to the section `[env]`", "", ""},
	{"If Judge 1 = Judge 2 = Judge 3 (same answer):", "", ""},
	{"**If checking fails**:", "", ""},
	{"If the file moved or changed, run `--again`. Add `--root` when asked. Do not edit around it.", "", ""},
	{"If every entry is `0`, emit only `EN[]`; the other lists are not needed.", "every entry is `0`", "emit only `EN[]`; the other lists are not needed."},
	{"If it can be checked with a command, check it — don't ask the user.", "it can be checked with a command", "check it — don't ask the user."},
	{"If the first two are within 10% of each other, use a judge to break ties", "the first two are within 10% of each other", "use a judge to break ties"},
	{"If **check FAILS**: Compare differences, limits, the method", "**check FAILS**", "Compare differences, limits, the method"},
	{"**When told**: Customer speaks of another offer", "", ""},
	{"If there is agreement:", "", ""},
	{"If the user wants the pictures in the order of the thread, use the ordered names: `1.jpg`, `2.jpg`, etc.", "the user wants the pictures in the order of the thread", "use the ordered names: `1.jpg`, `2.jpg`, etc."},
	{"If the first thing goes wrong, how many others break?", "", ""},
	{"**If a phase FAILS** and cannot be saved, stop and report clearly.", "a phase FAILS and cannot be saved", "stop and report clearly."},
	{"If available, read the guide to see how helpers are led", "", ""},
	{"When should it be used?", "", ""},
	{"If invalid, show an error and ask the user for another timeout", "", ""},
	{"**When somebody said \"fine\"** — if that came too easily, run this for another view", "", ""},
	{"If there are no nodes above to bind to (it is only a trigger), use output fields only.", "there are no nodes above to bind to (it is only a trigger)", "use output fields only."},
	{"If **any count differs by 60–70% or more** → run the search below", "**any count differs by 60–70% or more**", "run the search below"},
	{"If stopped by a 403, automatically set up the helper and retry.", "stopped by a 403", "automatically set up the helper and retry."},
	{"If `--no-copy` -> skip the copy", "", ""},
	{"When comparing models, compare both volume and cost. One can have more volume at the same cost.", "", ""},
	{"If neither: Try to find paths or names in the request", "", ""},
	{"If **both staged AND unstaged**: Compare the folder with the index (unstaged only)", "**both staged AND unstaged**", "Compare the folder with the index (unstaged only)"},
	{"If errors show later than the call, rerun the block under `sync_cpu` or `sync_full`.", "errors show later than the call", "rerun the block under `sync_cpu` or `sync_full`."},
	{"If you only see `GROUP`, the mode is not active", "", ""},
	{"**If `tool send` fails**, save the report to `./report.md` so that nothing is lost.", "`tool send` fails", "save the report to `./report.md` so that nothing is lost."},
	{"If the user asks to create `top.sv`, use `LIB_top`, or make a wrapper, use **Create Top**.", "", ""},
	{"**If a phase FAILS** and cannot be saved, stop and report, then run the cleanup.", "", ""},
	{"When the data needs persons (names, ages, addresses), read `references/persons.md`.", "the data needs persons (names, ages, addresses)", "read `references/persons.md`."},
	{"If \"Make new keys\": Read and present [references/setup.md](./references/setup.md)", "\"Make new keys\"", "Read and present [references/setup.md](./references/setup.md)"},
	{"If a plugin for charts is available, generate a chart of the decision", "a plugin for charts is available", "generate a chart of the decision"},
	{"If a part is given, read it to understand its props, states, and events", "a part is given", "read it to understand its props, states, and events"},
	{"If entries are links, the plugin is not complete; use real files", "", ""},
	{"If the download fails with 403, retry once with another format.", "the download fails with 403", "retry once with another format."},
	{"If a restart fails, read `references/trouble.md`. If several were asked for, repeat from step 1 for each.", "", ""},
}

// Items of other shapes, among them those that were cut wrong once.
var shapes = []struct{ item, cond, step string }{
	{"If the build fails, fix it, then run the tests", "the build fails", "fix it, then run the tests"},
	{"If the user wants to create, edit, or delete a file, use the writer", "", ""},
	{"If the file is open, read only, or locked, tell the user", "", ""},
	{"If the file exists use this form:", "", ""},
	{"If the file exists, use this form:", "the file exists", "use this form:"},
	{"If the tests pass then commit the change", "the tests pass", "commit the change"},
	{"If the tests fail, go back to step 2", "", ""},
	{"If so, stop", "", ""},
	{"If x is set, use it, otherwise ask", "", ""},
	{"Unless the user agrees, stop and report", "NOT (the user agrees)", "stop and report"},
	{"When all checks are done, report the result", "", ""},
	{"If you read the file, edit it, commit, run the tests", "", ""},
	{"If a check (lint, test) fails, note it", "a check (lint, test) fails", "note it"},
	{"If the header has Content-Type: text/html, parse it", "", ""},
	{"If the log says error: disk full, clean up", "", ""},
	{"If the message starts with fix: or feat:, bump the version", "", ""},
	{"If the title contains: a colon, then fix it", "", ""},
	{"If the cost exceeds $5 ask the user, then go on", "", ""},
	{"If the token is expired renew it, then retry", "", ""},
	{"If the user wants JSON, write JSON; if CSV, write CSV", "", ""},
	{"If debug is on, print it; in any case, save the file", "", ""},
	{"If the build fails, revert; always tell the user", "", ""},
	{"If the file exists, read it, but if it is empty, ask", "", ""},
	{"If it is a bug, file it; if it is a feature, plan it; if neither, close it", "", ""},
	{"If the user wants PDF, make a PDF; for HTML, make HTML", "", ""},
	{"If the user wants JSON, print JSON, in all other cases print text.", "", ""},
	{"If the user wants JSON, print JSON, by default text.", "", ""},
	{"If the user wants JSON, print JSON, and text when not.", "", ""},
	{"If the user wants JSON, print JSON, text being the default.", "", ""},
	{"If the user wants JSON, print JSON, YAML if they want YAML.", "", ""},
	{"If the user wants JSON, print JSON, for YAML print YAML.", "", ""},
	{"If the user wants JSON, print JSON and for YAML, print YAML.", "", ""},
	{"If the input is a list, sort it, if it is a map, sort its keys.", "", ""},
	{"If the input is a list, sort it, when it is a map, sort its keys.", "", ""},
	{"If no config exists, create one, then validate it either way.", "", ""},
	{"If no config exists, create one and, regardless, validate it.", "", ""},
	{"If no config exists, create one, and validate it in both cases.", "", ""},
	{"If no config exists, create one and then always run the validator.", "", ""},
	{"If the user wants JSON, print JSON and in every case log the choice.", "", ""},
	{"If the tests fail, skip the next step.", "", ""},
	{"If the tests fail, exit the loop.", "", ""},
	{"If the tests fail: repeat the previous step", "", ""},
	{"If the tests fail, add a test case for it", "the tests fail", "add a test case for it"},
	{"If the tests fail, check if the tool is there", "the tests fail", "check if the tool is there"},
	{"If the tests fail, always report it", "the tests fail", "always report it"},
	{"If the tests fail, use the default branch", "the tests fail", "use the default branch"},
	{"If the text says \"wait, stop\", ask the person", "the text says \"wait, stop\"", "ask the person"},
}

// No condition is cut where a reader would not cut it.
func TestConditions(t *testing.T) {
	for _, test := range append(labelled, shapes...) {
		src, _, err := prose.FromProse([]byte(head+"## Steps\n\n1. "+test.item+"\n2. last\n"), "")
		if err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(string(src), "* demo\n")
		got, _, _ = strings.Cut(got, "  * last\n")
		if strings.HasPrefix(test.step, "stop") {
			test.step = "END " + test.step
		}
		switch {
		case test.cond == "" && (strings.Count(got, "\n") != 1 || strings.Contains(got, "<<")):
			t.Errorf("%q is cut:\n%s", test.item, got)
		case test.cond != "" && got != "  * IF << "+test.cond+"\n    * "+test.step+"\n":
			t.Errorf("%q is cut as\n%s", test.item, got)
		}
	}
}

// Text below a condition, a question or a loop is cut off it where a reader would, and else all of it is text; what changes which step
// is next is a loss.
func TestBelowConditions(t *testing.T) {
	for _, test := range []struct{ name, steps, want, loss string }{
		{"conditions", "1. If one of these holds:\n   - the tests fail\n   - the build is red\n2. Report.\n", "* If one of these holds:\n  * the tests fail\n  * the build is red\n* Report.\n", ""},
		{"states", "1. If something is wrong:\n   - the tests fail\n   - the build is red\n2. Report.\n", "* If something is wrong:\n  * the tests fail\n  * the build is red\n* Report.\n", ""},
		{"steps", "1. If the build is red:\n   - mend it\n   - report\n2. Report.\n", "* IF << the build is red\n  * mend it\n  * report\n* Report.\n", ""},
		{"answers", "1. Ask the user: deploy now, or later?\n   - If now, deploy.\n   - If later, stop.\n2. Report.\n", "* Ask the user: deploy now, or later?\n  * If now, deploy.\n  * If later, stop.\n* Report.\n", "the answer"},
		{"options", "1. Ask the user: which day?\n   - now\n   - later\n2. Report.\n", "* ASK << which day? | now | later\n* Report.\n", ""},
		{"all but some", "1. For each file except tests, run lint.\n2. Report.\n", "* FOR_EACH << file in every file except tests\n  * run lint.\n* Report.\n", ""},
		{"behind a loop", "1. For each file: read it. Summarise all files.\n2. Report.\n", "* For each file: read it. Summarise all files.\n* Report.\n", ""},
		{"when a loop is done", "1. For each file: read it; when done with all, print the total.\n2. Report.\n", "* For each file: read it; when done with all, print the total.\n* Report.\n", ""},
		{"a jump", "1. If the tests fail, skip the next step.\n2. Push.\n", "* If the tests fail, skip the next step.\n* Push.\n", "it changes which step is next"},
		{"a loop that is left", "1. If it is found, exit the loop.\n2. Push.\n", "* If it is found, exit the loop.\n* Push.\n", "it changes which step is next"},
	} {
		got, losses := treeOf(t, test.steps)
		if told := strings.Join(losses, "\n"); got != test.want || test.loss != "" && !strings.Contains(told, test.loss) {
			t.Errorf("%s: got\n%s\nwant\n%s\nlosses %q", test.name, got, test.want, losses)
		}
	}
}
