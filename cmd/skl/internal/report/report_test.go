package report

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/spec/diag"
)

// rendered is what a reader sees of r: what goes to Out, what goes to Err, and how the command ends.
func rendered(r Report, set func(*ui.UI)) (out, beside string, end error) {
	var o, e bytes.Buffer
	u := &ui.UI{Out: &o, Err: &e}
	set(u)
	end = r.Write(u)
	return o.String(), e.String(), end
}

func pipe(*ui.UI)           {}
func program(u *ui.UI)      { u.JSON = true }
func terminal(u *ui.UI)     { u.Screen, u.ErrScreen = true, true }
func quiet(u *ui.UI)        { u.Quiet = true }
func verbose(u *ui.UI)      { u.Verbose = true }
func listener(u *ui.UI)     { u.Signs, u.ErrSigns = screen.Words, screen.Words }
func inColour(u *ui.UI)     { u.Color, u.ErrColor = true, true }
func held(why string) error { return Unmet(why) }

// TestRenderings holds that each kind of part reaches the readers it is for, and no other.
func TestRenderings(t *testing.T) {
	r := Report{Result: map[string]int{"n": 1}, End: held("held"),
		Beside: func(t *Text) { t.Note("for every reader") },
		Text: func(t *Text) {
			t.Print("%s line of \x1b[31m%s", screen.Done, "a\x1bb")
			t.Rows([][]string{{"NAME"}, {"row"}})
			t.Raw([]byte("raw\n"))
			t.Page(func(screen.Look) string { return "page\n" }, func(t *Text) { t.Print("plain") })
			t.Aside(func(screen.Look) string { return "drawn aside\n" }, func(t *Text) { t.Note("plain aside") })
			t.Note("note")
			t.Detail("detail")
			t.Hint("skl list")
			t.Warn("warning")
		}}
	for _, c := range []struct {
		name              string
		set               func(*ui.UI)
		out, err          []string
		notOut, notBeside []string
	}{
		{"pipe", pipe, []string{"✓ line of", `a\x1bb`, "NAME", "row", "raw", "plain"}, []string{"for every reader", "plain aside", "note", "hint: skl list", "warning: warning"}, []string{"page"}, []string{"drawn aside", "detail"}},
		{"terminal", terminal, []string{"✓ line of", "row", "raw", "page"}, []string{"drawn aside", "note"}, []string{"plain"}, []string{"plain aside"}},
		{"program", program, []string{`"n": 1`}, []string{"for every reader"}, []string{"line", "row", "raw", "plain", "page"}, []string{"aside", "warning", "hint"}},
		{"quiet", quiet, []string{"line of", "plain"}, []string{"warning: warning"}, nil, []string{"for every reader", "hint", "note"}},
		{"verbose", verbose, []string{"line of"}, []string{"detail"}, nil, nil},
		{"listener", listener, []string{"ok line of"}, nil, []string{"✓"}, nil},
		{"colours", inColour, []string{"\x1b[32m✓\x1b[0m line"}, nil, nil, nil},
	} {
		out, beside, end := rendered(r, c.set)
		for _, want := range c.out {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in the result:\n%s", c.name, want, out)
			}
		}
		for _, want := range c.err {
			if !strings.Contains(beside, want) {
				t.Errorf("%s: no %q beside it:\n%s", c.name, want, beside)
			}
		}
		for _, not := range c.notOut {
			if strings.Contains(out, not) {
				t.Errorf("%s: %q is in the result:\n%s", c.name, not, out)
			}
		}
		for _, not := range c.notBeside {
			if strings.Contains(beside, not) {
				t.Errorf("%s: %q stands beside it:\n%s", c.name, not, beside)
			}
		}
		if diag.ClassOf(end) != diag.Unmet {
			t.Errorf("%s: it ends with %v", c.name, end)
		}
	}
}

// TestEnds: an error that a result tells is not printed again; one without a result is, and carries to programs what people see listed.
func TestEnds(t *testing.T) {
	why := diag.New(diag.NeedsInput, "ambiguous", "which?")
	_, _, end := rendered(Report{Result: true, End: why}, program)
	if _, told := errors.AsType[Shown](end); !told || !errors.Is(end, diag.Code("ambiguous")) {
		t.Errorf("with a result: %v", end)
	}
	if _, _, end = rendered(Report{Result: true, End: why}, pipe); end != error(why) {
		t.Errorf("for people: %v", end)
	}
	_, _, end = rendered(Report{End: why, Candidates: []string{"a", "b"}}, program)
	if _, told := errors.AsType[Shown](end); told || len(why.Candidates) != 2 {
		t.Errorf("without a result: %v, %q", end, why.Candidates)
	}
	out, _, _ := rendered(Report{Result: map[string]int{"a": 1, "b": 2}, Streamed: true}, program)
	if out != "{\"a\":1,\"b\":2}\n" {
		t.Errorf("streamed: %q", out)
	}
}

// TestVerdicts holds how the commands end whose reports decide that.
func TestVerdicts(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     Report
		class diag.Class
	}{
		{"nothing outdated", OutdatedOf(nil, 3), 0},
		{"a newer release", OutdatedOf([]apply.Outdated{{Name: "a", Locked: "1.0.0", Wanted: "1.1.0", Latest: "1.1.0"}}, 1), 0},
		{"blocked", OutdatedOf([]apply.Outdated{{Name: "a", Locked: "1.0.0", Troubles: apply.Troubles{Blocked: "malware", Code: "blocked"}}}, 1), diag.Refused},
		{"not reached", OutdatedOf([]apply.Outdated{{Name: "a", Locked: "1.0.0", Troubles: apply.Troubles{Unreached: "no answer", Code: "git_failed"}}}, 1), diag.Unmet},
		{"check", Check(inspect.Checked{OK: true}), 0},
		{"check fails", Check(inspect.Checked{}), diag.Unmet},
		{"check refuses", Check(inspect.Checked{Refused: "blocked"}), diag.Refused},
		{"doctor", Doctor([]inspect.Finding{{Level: "note"}}), 0},
		{"doctor finds", Doctor([]inspect.Finding{{Level: "problem"}}), diag.Unmet},
	} {
		for reader, set := range map[string]func(*ui.UI){"pipe": pipe, "program": program, "terminal": terminal} {
			_, _, end := rendered(c.r, set)
			if got := diag.ClassOf(end); end == nil && c.class != 0 || end != nil && got != c.class {
				t.Errorf("%s, %s: %v, want class %d", c.name, reader, end, c.class)
			}
		}
	}
}
