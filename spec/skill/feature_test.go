package skill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/testdata/growth"
	"github.com/skl-project/skl/testdata/long"
)

func TestBodyFeatures(t *testing.T) {
	for _, c := range []struct{ name, body, want string }{
		{"nothing", "Fill the form. Costs $5.\n", `1:22 numbered "$5"`},
		{"prose", "Ask a@b.example, then run `npm i @scope/pkg` for $HOME and @someone.\n", ""},
		{"arguments", "Do $ARGUMENTS, then $ARGUMENTS[0].\n", `1:4 arguments "$ARGUMENTS" | 1:21 arguments "$ARGUMENTS[0]"`},
		{"escaped", `Keep \$ARGUMENTS and \$1.` + "\n", ""},
		{"numbered", "a\n$1 and ($12) and $123\n", `2:1 numbered "$1" | 2:9 numbered "$12"`},
		{"named", "Open $file, not $filename.\n", `1:6 named "$file"`},
		{"command", "Now: !`git status` and !`date`\n", "1:6 load-command \"git status\" | 1:24 load-command \"date\""},
		{"command in inline code", "Write `` !`date` `` here.\n", "1:10 load-command \"date\""},
		{"macros are no commands", "Use `println!`, `vec!` or `!`.\n", ""},
		{"open command", "Now !`date\n`\n", ""},
		{"command in a fence", "```sh\n!`date`\n$1 @x.md <!-- a -->\n```\n", ""},
		{"text replaced in a fence", "~~~\n$ARGUMENTS {baseDir} ${CLAUDE_SKILL_DIR}\n~~~\n", `2:1 arguments "$ARGUMENTS" | 2:12 base-dir "{baseDir}" | 2:22 host-variable "${CLAUDE_SKILL_DIR}"`},
		{"command fence", "```!\ngit log\ngit diff\n```\n", "1:1 load-command \"git log\\ngit diff\""},
		{"command fence without end", "a\n  ```!sh\ngit log\n", "2:3 load-command \"sh\\ngit log\""},
		{"longer fence", "````\n```!\nls\n```\n````\n!`a`\n", "6:1 load-command \"a\""},
		{"no host variable", "${HOME} ${CLAUDE_x} ${CLAUDE_A\n", ""},
		{"files", "Read @references/api.md, @./x and @~/y; not @2x, @x. or a@x.md.\n", `1:6 file "@references/api.md" | 1:26 file "@./x" | 1:35 file "@~/y"`},
		{"comments", "a <!-- one --> b <!-- two\nlines --> c\n", `1:3 comment "one" | 1:18 comment "two\nlines"`},
		{"comment without end", "<!--\nhidden !`ls`\n", "1:1 comment \"hidden !`ls`\""},
		{"canopy", "## Tree\n* x\n## Rules\n- y\n## Response: a, b\n", `1:1 canopy "## Tree" | 3:1 canopy "## Rules" | 5:1 canopy "## Response: a, b"`},
		{"rules alone", "## Rules\n- y\n### Tree\n", ""},
		{"tree in a fence", "```\n## Tree\n```\n## Rules\n", ""},
		{"windows", "a $1\r\n!`b`\r\n", "1:3 numbered \"$1\" | 2:1 load-command \"b\""},
	} {
		var got []string
		for _, f := range BodyFeatures([]byte(c.body), "file") {
			got = append(got, fmt.Sprintf("%d:%d %s %q", f.Line, f.Column, f.Kind, f.Text))
		}
		if strings.Join(got, " | ") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, " | "), c.want)
		}
	}
}

// The time must not grow faster than the body.
func TestBodyFeaturesIsLinear(t *testing.T) {
	for _, unit := range []string{"!`", "`", "<!--", "<!-- -->", "${CLAUDE_A", "$", "@", "\\", "```!\n", "## Tree\n", "!`a`"} {
		small, large := growth.Times(2<<20, 4, 10, 200*time.Millisecond, func(n int) { BodyFeatures([]byte(strings.Repeat(unit, n/len(unit)))) })
		if large > 10*small || small > long.Within(5*time.Second) {
			t.Errorf("2 MiB of %q took %v, 8 MiB %v", unit, small, large)
		}
	}
}

func TestHiddenText(t *testing.T) {
	tags := func(s string) string {
		var b strings.Builder
		for _, r := range s {
			b.WriteRune(0xe0000 + r)
		}
		return b.String()
	}
	for _, c := range []struct{ name, text, want string }{
		{"plain", "Größe – naïve 数据 🎉", ""},
		{"tags", "hi\nx" + tags("run it") + "y", `2:2 SPEC-HIDDEN-TEXT 6 invisible characters that can carry text, the first U+E0072, which say "run it"`},
		{"variation selectors", "😀\U000e0158\U000e0159", `1:5 SPEC-HIDDEN-TEXT 2 invisible characters that can carry text, the first U+E0158, which say "hi"`},
		{"override", "a\u202eb", `1:2 SPEC-HIDDEN-TEXT 1 characters that reorder the text around them, the first U+202E`},
		{"isolate", "a\u2066b\u2069", `1:2 SPEC-HIDDEN-TEXT 1 characters that reorder the text around them, the first U+2066|1:6 SPEC-HIDDEN-TEXT 1 characters that reorder the text around them, the first U+2069`},
		{"tag behind a zero-width space", "a\u200b" + tags("x"), `1:2 SPEC-HIDDEN-TEXT 2 invisible characters that can carry text, the first U+200B, which say "x"`},
		{"zero-width space", "pass\u200bword", `1:5 SPEC-ZERO-WIDTH 1 zero-width characters, the first U+200B`},
		{"joiner in Latin", "a\u200db", `1:2 SPEC-ZERO-WIDTH 1 zero-width characters, the first U+200D`},
		{"several joiners", "👩\u200d\u200d💻", `1:5 SPEC-ZERO-WIDTH 2 zero-width characters, the first U+200D`},
		{"mark inside", "a\ufeffb", `1:2 SPEC-ZERO-WIDTH 1 zero-width characters, the first U+FEFF`},
		{"filler", "a\u3164b", `1:2 SPEC-ZERO-WIDTH 1 zero-width characters, the first U+3164`},
		{"mark at the start", "\ufeffa", ""},
		{"emoji", "👩\u200d💻 ❤️\u200d🔥 👍🏽", ""},
		{"Persian", "می\u200cخواهم", ""},
		{"Hindi", "क्\u200dष", ""},
		{"Hebrew", "\u200fשלום", ""},
	} {
		var got []string
		for _, f := range hiddenText("SKILL.md", []byte(c.text)) {
			got = append(got, fmt.Sprintf("%d:%d %s %s", f.Line, f.Column, f.Rule, f.Message))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, strings.Join(got, "|"), c.want)
		}
	}
	if n := len(hiddenText("x", []byte(strings.Repeat("a\u202eb", 1000)))); n != maxHidden {
		t.Errorf("%d findings in one file, want %d", n, maxHidden)
	}
}

// Every character of the class is found, wherever it stands.
func TestHiddenTextFindsAll(t *testing.T) {
	for r := rune(0); r <= 0x10ffff; r++ {
		if hiddenClass(r) == visible || r == 0xfeff {
			continue
		}
		if len(hiddenText("x", []byte("a"+string(r)+"b"))) != 1 {
			t.Errorf("U+%04X is not found", r)
		}
	}
}

func ExampleBodyFeatures() {
	for _, f := range BodyFeatures([]byte("Branch: !`git branch`\nFix issue $1.\n")) {
		fmt.Println(f.Line, f.Kind, f.Text, f.Kind.Hosts())
	}
	// Output:
	// 1 load-command git branch [claude-code opencode]
	// 2 numbered $1 [claude-code opencode]
}

func TestFeatureHosts(t *testing.T) {
	hosts := BodyFeatures([]byte("{baseDir}"))[0].Kind.Hosts()
	if !slices.Equal(hosts, []string{"openclaw", "corteza"}) || HTMLComment.Hosts() != nil {
		t.Errorf("{baseDir} is for %q, comments for %q", hosts, HTMLComment.Hosts())
	}
}
