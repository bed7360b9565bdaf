package cond_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/cond"
)

// world is what the tables decide against: bindings as JSON, paths looked up as ruling 5.9 has it.
type world struct {
	bindings  string
	arguments string
	answer    string
	options   string   // separated by |, "" for no question
	files     []string // that exist
	outcomes  map[string]string
}

func (w world) env(t testing.TB) cond.Env {
	vars := map[string]any{}
	if w.bindings != "" {
		if err := json.Unmarshal([]byte(w.bindings), &vars); err != nil {
			t.Fatalf("bindings %s: %v", w.bindings, err)
		}
	}
	env := cond.Env{
		Lookup:    func(path string) (any, bool) { return lookup(vars, path) },
		Arguments: w.arguments,
		Exists:    func(path string) (bool, error) { return slices.Contains(w.files, path), nil },
		Outcome:   func(name string) string { return w.outcomes[name] },
		Model: func(_ context.Context, text string) (bool, error) {
			t.Errorf("a model was asked: %q", text)
			return false, nil
		},
	}
	if w.options != "" {
		env.Answer = func() (string, []string, bool) { return w.answer, strings.Split(w.options, "|"), true }
	}
	return env
}

func lookup(vars map[string]any, path string) (any, bool) {
	for _, p := range []string{"context.", "ctx."} {
		path = strings.TrimPrefix(path, p)
	}
	var v any = vars
	for step := range strings.SplitSeq(path, ".") {
		name, index, indexed := strings.Cut(step, "[")
		m, _ := v.(map[string]any)
		var ok bool
		if v, ok = m[name]; !ok {
			return nil, false
		}
		if indexed {
			list, _ := v.([]any)
			i := 0
			if _, err := fmt.Sscanf(index, "%d]", &i); err != nil || i >= len(list) {
				return nil, false
			}
			v = list[i]
		}
	}
	return v, true
}

const bound = `{"phase": "Initialize", "n": 3, "f": 2.5, "num_text": "10", "yes": "Yes", "flag": true, "off": false, "zero": 0,
	"nothing": null, "empty_text": "", "empty_list": [], "empty_obj": {}, "list": ["a", "b", 3], "obj": {"k": {"x": "deep"}, "items": [{"id": 7}]},
	"other": "Initialize", "target_file": "docs/README.md", "docs_dir": "docs", "new_version": "1.10.0", "current_version": "1.9.3",
	"name": "my-skill", "text": "alpha beta", "true_text": "TRUE", "config": {"json": "x"}}`

// productions has at least one line for every alternative of the grammar of 1.9.
var productions = []struct {
	name, text string
	want       bool
	world
}{
	// orexpr, andexpr, notexpr
	{"or upper", `phase == "x" OR flag`, true, world{}},
	{"or lower", `phase == "x" or flag`, true, world{}},
	{"and upper", `flag AND off`, false, world{}},
	{"and lower", `flag and n == 3`, true, world{}},
	{"and binds closer than or", `flag or off and off`, true, world{}},
	{"NOT", `NOT off`, true, world{}},
	{"not", `not flag`, false, world{}},
	{"not not", `not not flag`, true, world{}},
	{"parentheses", `(flag or off) and off`, false, world{}},
	{"nested parentheses", `((off) OR ((n == 3) AND NOT (off)))`, true, world{}},
	{"not parentheses", `NOT (flag AND off)`, true, world{}},
	{"connectives in quotes do not split", `phase == "a AND b"`, false, world{}},

	// ref ( == | = | != | equals | does not equal | is not | is ) literal
	{"==", `phase == "Initialize"`, true, world{}},
	{"== without blanks", `n==3`, true, world{}},
	{"=", `phase = "Initialize"`, true, world{}},
	{"!=", `phase != "Initialize"`, false, world{}},
	{"equals", `phase equals "Initialize"`, true, world{}},
	{"does not equal", `phase does not equal "Initialize"`, false, world{}},
	{"is not", `phase is not "Initialize"`, false, world{}},
	{"is", `phase is Initialize`, true, world{}},
	{"quoted text compares with case", `phase == "initialize"`, false, world{}},
	{"single quotes", `phase == 'Initialize'`, true, world{}},
	{"a word compares without case", `phase = INITIALIZE`, true, world{}},
	{"a word with hyphens", `name = My-Skill`, true, world{}},
	{"texts are trimmed", `phase == " Initialize "`, true, world{}},
	{"number", `n == 3.0`, true, world{}},
	{"number against text", `num_text = 10`, true, world{}},
	{"quoted number against number", `n == "3"`, true, world{}},
	{"negative number", `n is -3`, false, world{}},
	{"true", `flag is true`, true, world{}},
	{"false", `off is false`, true, world{}},
	{"true against text", `true_text is true`, true, world{}},
	{"yes is no boolean", `yes is true`, false, world{}},
	{"1 is no boolean", `n is true`, false, world{}},
	{"null literal", `nothing == null`, true, world{}},
	{"null literal of a missing value", `context.gone == null`, true, world{}},
	{"0 is not null", `zero = null`, false, world{}},
	{"a bound word is its value", `phase = other`, true, world{}},
	{"a reference", "phase == context.other", true, world{}},
	{"a backticked reference", "`phase` is `other`", true, world{}},
	{"context.", `context.phase == "Initialize"`, true, world{}},
	{"ctx.", `ctx.phase == "Initialize"`, true, world{}},
	{"path", `obj.k.x == "deep"`, true, world{}},
	{"index", `obj.items[0].id = 7`, true, world{}},
	{"$ARGUMENTS", `$ARGUMENTS == "fast"`, true, world{arguments: " fast "}},
	{"version literal", `current_version is 1.9.3`, true, world{}},
	{"one of, a literal", `phase is "x" or "Initialize"`, true, world{}},
	{"one of, words", `phase is PLAN or Initialize or DONE`, true, world{}},
	{"one of, none", `phase is PLAN or RUN`, false, world{}},
	{"one of, but a flag", `phase is PLAN or flag`, true, world{}},

	// < <= > >=
	{"<", `n < 4`, true, world{}},
	{"<=", `n <= 3`, true, world{}},
	{">", `f > 2.5`, false, world{}},
	{">=", `num_text >= 10`, true, world{}},
	{"> of references", `n > context.f`, true, world{}},

	// is [not] empty, missing, null, non-empty, missing or empty
	{"is empty", `empty_list is empty`, true, world{}},
	{"missing is empty", `gone_too is empty`, true, world{}},
	{"0 is not empty", `zero is empty`, false, world{}},
	{"is not empty", `list is not empty`, true, world{}},
	{"is missing", `context.gone is missing`, true, world{}},
	{"empty is not missing", `empty_obj is missing`, false, world{}},
	{"is not missing", `phase is not missing`, true, world{}},
	{"is null", `nothing is null`, true, world{}},
	{"is not null", `nothing is not null`, false, world{}},
	{"is non-empty", `text is non-empty`, true, world{}},
	{"is not non-empty", `text is not non-empty`, false, world{}},
	{"is missing or empty", `empty_text is missing or empty`, true, world{}},
	{"is not missing or empty", `empty_text is not missing or empty`, false, world{}},
	{"missing or empty in a conjunction", `context.gone is missing or empty and flag`, true, world{}},
	{"arguments are empty", `$ARGUMENTS is empty`, true, world{arguments: "  "}},

	// [is] found, provided, present, set, failed, succeeded
	{"found", `list found`, true, world{}},
	{"false is not found", `off found`, false, world{}},
	{"provided", `header_message provided`, false, world{}},
	{"is provided", `phase is provided`, true, world{}},
	{"present", `empty_list present`, false, world{}},
	{"is present", `off is present`, true, world{}},
	{"set", `nothing set`, false, world{}},
	{"is set", `zero is set`, true, world{}},
	{"is not set", `zero is not set`, false, world{}},
	{"not found", `list not found`, false, world{}},
	{"failed", `report failed`, true, world{outcomes: map[string]string{"report": "failed"}}},
	{"ended is failed", `context.report is failed`, true, world{outcomes: map[string]string{"report": "ended"}}},
	{"succeeded", `report succeeded`, true, world{outcomes: map[string]string{"report": "ok"}}},
	{"is succeeded", `report is succeeded`, false, world{outcomes: map[string]string{"report": "failed"}}},
	{"skipped neither failed", `report failed`, false, world{outcomes: map[string]string{"report": "skipped"}}},
	{"skipped nor succeeded", `report succeeded`, false, world{outcomes: map[string]string{"report": "skipped"}}},

	// contains, does not contain
	{"text contains", `text contains "beta"`, true, world{}},
	{"list contains", `list contains "a"`, true, world{}},
	{"object contains", `obj contains "k"`, true, world{}},
	{"does not contain", `text does not contain "gamma"`, true, world{}},

	// fileref exists
	{"exists", `CHANGELOG.md exists`, true, world{files: []string{"CHANGELOG.md"}}},
	{"already exists", `CHANGELOG.md already exists`, true, world{files: []string{"CHANGELOG.md"}}},
	{"does not exist", `CHANGELOG.md does not exist`, true, world{}},
	{"file is present", `src/go.mod is present`, true, world{files: []string{"src/go.mod"}}},
	{"file present", `package.json present`, false, world{}},
	{"backticked file", "`.github/x.yml` exists", true, world{files: []string{".github/x.yml"}}},
	{"file with arguments", `.claude/skills/$ARGUMENTS/ exists`, true, world{arguments: "pdf", files: []string{".claude/skills/pdf/"}}},
	{"file with a slot", `out/<name>.md exists`, true, world{files: []string{"out/my-skill.md"}}},
	{"file below the skills root", `<skills-root>/$ARGUMENTS/ exists`, true, world{arguments: "pdf", files: []string{"<skills-root>/pdf/"}}},
	{"exists at the file itself", `README already exists at target_file`, true, world{files: []string{"docs/README.md"}}},
	{"exists at a directory", `CHANGELOG.md exists at docs_dir`, true, world{files: []string{"docs/CHANGELOG.md"}}},
	{"exists at a path with the same name", `README.md exists at context.target_file`, true, world{files: []string{"docs/README.md"}}},
	{"a bound path beats a file name", `config.json present`, true, world{}},
	{"a reference exists when bound", `context.gone exists`, false, world{}},

	// $ARGUMENTS is [not] [a] valid …
	{"valid semver", `$ARGUMENTS is valid semver`, true, world{arguments: "1.2.3-rc.1+b"}},
	{"two numbers are no semver", `$ARGUMENTS is valid semver`, false, world{arguments: "1.2"}},
	{"not a valid semver", `$ARGUMENTS is not a valid semver string (MAJOR.MINOR.PATCH)`, true, world{arguments: "v1.2.3"}},
	{"valid kebab-case", `$ARGUMENTS is a valid kebab-case skill name`, true, world{arguments: "my-skill2"}},
	{"not valid kebab-case", `$ARGUMENTS is not valid kebab-case`, true, world{arguments: "My_skill"}},
	{"valid of a binding", `name is valid kebab-case`, true, world{}},

	// is [not] greater than
	{"greater than", `new_version is greater than current_version`, true, world{}},
	{"not greater than", `new version is not greater than current version`, false, world{}},
	{"phrase and path", `the new version is greater than context.current_version`, true, world{}},
	{"greater than a literal", `current_version is greater than 1.10.0`, false, world{}},
	{"greater than, numbers", `n is greater than 2.75`, true, world{}},
	{"a release follows its candidates", `$ARGUMENTS is greater than new_version`, false, world{arguments: "1.10.0-rc.1"}},

	// answer
	{"answer", `Yes`, true, world{answer: "Yes", options: "Yes|No"}},
	{"answer compares without case", `yes`, true, world{answer: "Yes", options: "Yes|No"}},
	{"another answer", `No`, false, world{answer: "Yes", options: "Yes|No"}},
	{"an option of several words", `Adjust changelog`, true, world{answer: "Adjust changelog", options: "Yes|Adjust changelog|No"}},
	{"an option with a dash", `Yes — bump minor`, true, world{answer: "Yes — bump minor", options: "Yes — bump minor|No"}},
	{"an option beats natural language", `Keep all of the old files`, false, world{answer: "No", options: "Keep all of the old files|No"}},
	{"an option beats a conjunction", `Skip and continue`, true, world{answer: "skip  and continue", options: "Skip and continue|Stop"}},
	{"an option beats a binding", `flag`, false, world{answer: "off", options: "flag|off"}},
	{"an option in a conjunction", `Yes AND off`, false, world{answer: "Yes", options: "Yes|No"}},
	{"user chose", `user chose No`, true, world{answer: "No", options: "Yes|No"}},
	{"user selected", `user selected "Yes"`, false, world{answer: "No", options: "Yes|No"}},
	{"user answered", `user answered Adjust changelog`, false, world{answer: "No", options: "Adjust changelog|No"}},
	{"user chose an option with and", `user chose Skip and continue`, true, world{answer: "Skip and continue", options: "Skip and continue|Stop"}},
	{"not answered", `not Yes`, true, world{answer: "No", options: "Yes|No"}},

	// ref
	{"flag", `flag`, true, world{}},
	{"flag false", `off`, false, world{}},
	{"zero", `zero`, false, world{}},
	{"empty", `empty_obj`, false, world{}},
	{"list", `list`, true, world{}},
	{"arguments", `$ARGUMENTS`, false, world{}},
	{"constant", `true`, true, world{}},
}

// A quote opens behind any blank, and what is quoted keeps its own.
func TestEveryBlankIsOne(t *testing.T) {
	for _, blank := range []string{" ", "  ", "\t", "\n", "\v", "\f", "\r", "\u0085", "\u00a0", "\u2003", "\u3000 "} {
		for _, q := range []string{"'", `"`, "`"} {
			text := "phase" + blank + "is" + blank + q + "a" + blank + "b" + q
			e := cond.Parse(text)
			if want := "phase is " + q + "a" + blank + "b" + q; e.String() != want {
				t.Errorf("%q is read as %q, want %q", text, e, want)
			}
			if again := cond.Parse(e.String()); !reflect.DeepEqual(again, e) {
				t.Errorf("%q is read as %#v, and that as %#v", text, e, again)
			}
		}
	}
}

func TestGrammarNeedsNoModel(t *testing.T) {
	for _, tt := range productions {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.world
			w.bindings = bound
			e := cond.Parse(tt.text)
			got, how, err := cond.Eval(t.Context(), e, w.env(t))
			if err != nil || got != tt.want || how != cond.ByRule {
				t.Errorf("%q (%T) = %v %s %v, want %v by rule", tt.text, e, got, how, err, tt.want)
			}
		})
	}
}

// A name without a value is nothing to decide by: a model is asked, and without one the error has the name.
func TestNamesWithoutValue(t *testing.T) {
	for _, text := range []string{
		"phase == context.gone",
		`context.gone == "a"`,
		`gone_too != "a"`,
		`context.gone contains "a"`,
		`in_plan_mode`,
		`context.debug`,
		`current_branch equals "master"`, `current_branch != "master"`, `build is green`, `gone is valid semver`, `gone is greater than 1.0.0`,
		`gone > 3`, `NOT gone_too`, `gone is "a" or "b"`, `gone succeeded`, `README exists at context.gone`,
	} {
		env := world{bindings: bound}.env(t)
		var asked []string
		env.Model = func(_ context.Context, text string) (bool, error) { asked = append(asked, text); return true, nil }
		e := cond.Parse(text)
		if _, how, err := cond.Eval(t.Context(), e, env); how != cond.ByModel || err != nil || len(asked) == 0 {
			t.Errorf("%q was decided by %s, asked %q: %v", text, how, asked, err)
		}
		env.Model = nil
		if got, _, err := cond.Eval(t.Context(), e, env); got || !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("%q without a model = %v, %v", text, got, err)
		}
		has := func(path string) bool { _, ok := env.Lookup(path); return ok }
		if len(cond.FindUnbound(e, cond.Scope{Has: has, Binds: has})) == 0 {
			t.Errorf("FindUnbound(%q) finds nothing", text)
		}
	}
	env := world{bindings: bound}.env(t)
	for text, want := range map[string]bool{
		"gone is missing": true, "gone is present": false, "gone == null": true, // something binds gone, and has not
		"zero AND gone": false, "flag OR gone_too": true, // the rest settles it
		"obj.gone": false, `obj.gone == "a"`: false, // a value lacks the field
	} {
		if got, how, err := cond.Eval(t.Context(), cond.Parse(text), env); got != want || how != cond.ByRule || err != nil {
			t.Errorf("%q = %v %s %v, want %v by rule", text, got, how, err, want)
		}
	}
	env.Binds, env.Model = func(string) bool { return false }, nil
	for _, text := range []string{"gone is missing", "gone is present", "gone == null"} {
		if _, _, err := cond.Eval(t.Context(), cond.Parse(text), env); !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("%q of a name that nothing binds: %v", text, err)
		}
	}
	env.Option = func(text string) bool { return text == "Yes" }
	env.Model = func(context.Context, string) (bool, error) { t.Error("a model made up an answer"); return true, nil }
	for _, text := range []string{"Yes", "user chose No"} {
		if _, _, err := cond.Eval(t.Context(), cond.Parse(text), env); !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("%q without a question: %v", text, err)
		}
	}
}

func TestNothingIsSilentlyFalse(t *testing.T) {
	for _, tt := range []struct {
		name, text, says string
		world
	}{
		{"a bare word that nothing explains", `Yes`, `neither bound nor the answer`, world{}},
		{"a bare word that is no option", `Maybe`, `its options are: Yes, No`, world{answer: "Yes", options: "Yes|No"}},
		{"an answer without a question", `user chose No`, `no question was asked`, world{}},
		{"an answer that is not offered", `user chose Nope`, `does not offer`, world{answer: "Yes", options: "Yes|No"}},
		{"English about an unbound word", `build is green`, `nothing binds`, world{}},
		{"order of a missing value", `context.gone > 3`, `no value`, world{}},
		{"order of a text", `phase > 3`, `not a number`, world{}},
		{"versions that are none", `phase is greater than 1.0.0`, `neither two versions`, world{}},
		{"outcome of nothing", `tests failed`, `no call binds it`, world{}},
		{"part of a number", `n contains "3"`, `neither a text`, world{}},
		{"a slot without value", `out/<nobody>.md exists`, `no value for "nobody"`, world{}},
		{"a directory without value", `README exists at context.gone`, `no value`, world{}},
		{"an error in a conjunction", `Maybe AND flag`, `neither bound`, world{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := tt.world
			w.bindings = bound
			env := w.env(t)
			env.Model = nil
			got, _, err := cond.Eval(t.Context(), cond.Parse(tt.text), env)
			if got || !errors.Is(err, diag.Code("condition_undecided")) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%q = %v, %v, want an error that says %q", tt.text, got, err, tt.says)
			}
		})
	}
	// The model's and the file system's errors arrive as they are.
	sentinel := errors.New("gone")
	env := cond.Env{
		Exists: func(string) (bool, error) { return true, sentinel },
		Model:  func(context.Context, string) (bool, error) { return true, sentinel },
	}
	for _, text := range []string{"a.md exists", "a.md does not exist", "all tests pass", "NOT a.md exists"} {
		if got, _, err := cond.Eval(t.Context(), cond.Parse(text), env); got || !errors.Is(err, sentinel) {
			t.Errorf("%q = %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"a.md exists", "all tests pass"} {
		if got, _, err := cond.Eval(t.Context(), cond.Parse(text), cond.Env{}); got || err == nil {
			t.Errorf("%q without an environment = %v, %v", text, got, err)
		}
	}
}

// Ruling 5.4: a model gets only the operands that are natural language, and only when they matter.
func TestModelIsAskedLast(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  bool
		asked []string
	}{
		{`all tests pass`, true, []string{"all tests pass"}},
		{`operation requires a name (A, B OR C) AND off`, false, nil},
		{`operation requires a name (A, B OR C) AND flag`, true, []string{"operation requires a name (A, B OR C)"}},
		{`any file was changed OR flag`, true, nil},
		{`any file was changed OR off`, true, []string{"any file was changed"}},
		{`all tests pass AND no file was lost AND flag`, true, []string{"all tests pass", "no file was lost"}},
		{`(all tests pass OR off) AND flag`, true, []string{"all tests pass"}},
		{`NOT (all tests pass AND flag)`, false, []string{"all tests pass"}},
		{`all tests pass and flag`, true, []string{"all tests pass and flag"}},
		{`all tests pass OR nothing at all was run`, true, []string{"all tests pass OR nothing at all was run"}},
		{`flag and off AND all tests pass`, false, nil},
		{`flag and n AND all tests pass`, true, []string{"all tests pass"}},
		{`flag or off AND all tests pass`, true, nil},
		{`all tests pass and flag OR off`, true, []string{"all tests pass and flag"}},
		{"CHANGELOG.md does not already contain an entry for `new_version`", true, []string{"CHANGELOG.md does not already contain an entry for `new_version`"}},
		{`CHANGELOG.md contains "x"`, true, []string{`CHANGELOG.md contains "x"`}},
		{`not found`, true, []string{"not found"}},
		{`(skill file not found)`, true, []string{"skill file not found"}},
		{`$ARGUMENTS is a valid semver string and is newer than the last one`, true, []string{"$ARGUMENTS is a valid semver string and is newer than the last one"}},
	} {
		var asked []string
		env := world{bindings: bound}.env(t)
		env.Model = func(_ context.Context, text string) (bool, error) {
			asked = append(asked, text)
			return true, nil
		}
		e := cond.Parse(tt.text)
		got, how, err := cond.Eval(t.Context(), e, env)
		if err != nil || got != tt.want || !slices.Equal(asked, tt.asked) || (how == cond.ByModel) != (asked != nil) {
			t.Errorf("%q = %v %s %v, asked %q; want %v, asked %q", tt.text, got, how, err, asked, tt.want, tt.asked)
		}
		if !cond.Model(e) {
			t.Errorf("Model(%q) is false", tt.text)
		}
	}
}

func TestWhatAConditionNames(t *testing.T) {
	for _, tt := range []struct {
		text, option string
		names, files []string
	}{
		{`context.platform == "claude" AND x is empty OR x`, "", []string{"context.platform", "x"}, nil},
		{`phase = Initialize`, "", []string{"phase"}, nil},
		{`phase == context.other`, "", []string{"phase", "context.other"}, nil},
		{`new version is not greater than context.current_version`, "", []string{"new_version", "context.current_version"}, nil},
		{`README already exists at target_file`, "", []string{"target_file"}, nil},
		{"`docs/{lang}/a.md` exists or b.md present", "", []string{"lang"}, []string{"docs/{lang}/a.md", "b.md"}},
		{"the entry for `new_version` differs from context.old", "", []string{"new_version", "context.old"}, nil},
		{`user chose Yes, please`, "Yes, please", nil, nil},
		{`No`, "no", []string{"No"}, nil},
	} {
		e := cond.Parse(tt.text)
		if got := cond.Names(e); !slices.Equal(got, tt.names) {
			t.Errorf("Names(%q) = %q, want %q", tt.text, got, tt.names)
		}
		if got := cond.Files(e); !slices.Equal(got, tt.files) {
			t.Errorf("Files(%q) = %q, want %q", tt.text, got, tt.files)
		}
		if tt.option != "" && (!cond.Offers(e, tt.option) || !strings.EqualFold(cond.Option(e), tt.option)) {
			t.Errorf("%q should test for the option %q", tt.text, tt.option)
		}
	}
	if cond.Offers(cond.Parse("x is true"), "No") || !cond.Offers(cond.Parse("x is true OR No"), "No") {
		t.Error("Offers is wrong")
	}
	for path, want := range map[string]string{"context.a.b": "a", "ctx.a[0]": "a", "a": "a", "a.b": "a", "context": "context"} {
		if got := cond.Root(path); got != want {
			t.Errorf("Root(%q) = %q", path, got)
		}
	}
}

func TestHostileTextIsNaturalLanguage(t *testing.T) {
	for name, text := range map[string]string{
		"long":         strings.Repeat("x AND ", 1000) + "x",
		"deep":         strings.Repeat("(", 1000) + "x" + strings.Repeat(")", 1000),
		"deep in part": "y AND " + strings.Repeat("(x OR ", 100) + "x" + strings.Repeat(")", 100),
		"unclosed":     strings.Repeat("(", 20) + "x AND y",
		"nots":         strings.Repeat("not ", 100) + "x",
		"empty":        "",
		"only joints":  "AND AND",
		"half a joint": "x AND",
		"no operand":   "AND x",
		"empty group":  "()",
		"half a quote": `x == "a`,
		"not UTF-8":    "\xff\xfe == 1",
		"glob":         "*.md exists",
		"absolute":     "/etc/passwd exists",
	} {
		if e := cond.Parse(text); reflect.TypeOf(e) != reflect.TypeFor[cond.Natural]() {
			t.Errorf("%s: %T %q", name, e, e)
		}
	}
}
