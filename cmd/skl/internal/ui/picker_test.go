package ui

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui/vt"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares got with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%swant\n%s", name, got, want)
	}
}

// typist presses keys one after the other and looks at the screen before each; then the last one ends the question.
type typist struct {
	keys   []string
	screen *vt.Screen
	shots  []string
	taken  bool
	since  time.Time // that it waits for a text
	look   func(*vt.Screen) string
}

func (k *typist) raw() error { k.taken, k.screen.Raw = true, true; return nil }
func (k *typist) release()   { k.taken, k.screen.Raw = false, false }
func (k *typist) wait(time.Duration) ([]byte, error) {
	if len(k.keys) == 0 {
		return nil, errors.New("no more keys")
	}
	next := k.keys[0]
	k.keys = k.keys[1:]
	if next == "IDLE" {
		return nil, nil
	}
	if text, ok := strings.CutPrefix(next, "UNTIL "); ok {
		if k.since.IsZero() {
			k.since = time.Now()
		}
		if !strings.Contains(k.screen.Text(), text) && k.screen.Width >= paneFrom {
			if time.Since(k.since) > 20*time.Second {
				return nil, fmt.Errorf("no %q on the screen:\n%s", text, k.screen.Text())
			}
			k.keys = append([]string{next}, k.keys...)
			time.Sleep(5 * time.Millisecond)
			return nil, nil
		}
		k.since = time.Time{}
		return nil, nil
	}
	if next == "LOOK" {
		k.shots = append(k.shots, k.look(k.screen))
		return nil, nil
	}
	return []byte(next), nil
}

// handbook is a repository of 402 skills in folders.
func handbook() ask.Choice {
	var options []ask.Option
	add := func(group, name, detail string) {
		options = append(options, ask.Option{Label: name, Group: group, Detail: detail, Version: "2.1.0", Preview: []string{detail},
			Later: func(context.Context) ([]string, error) {
				return []string{"7 files, 31 kB: SKILL.md, scripts/ (3), references/ (3)", "asks for  gdb, python3 · writes files · no network", "findings  none · licence MIT · unsigned"}, nil
			}})
	}
	for i, text := range []string{"basics:Set up a first fuzz target for C, Rust or Go", "dictionary:Build dictionaries that reach deeper code", "triage:Sort crashes by cause; needs a debugger. Use when a fuzzer found several crashes and you need the few that differ",
		"corpus:Keep a corpus small", "harness:Write harnesses", "ci:Fuzz on every change", "日本語:端末の幅を測る長い説明です。とても長い説明です。"} {
		name, detail, _ := strings.Cut(text, ":")
		add("crash-hunting", "fuzz-"+name, detail)
		add("crash-hunting", fmt.Sprintf("other-%d", i), "Something else")
	}
	for i := range 388 {
		add([]string{"data-cleaning", "writing", "query-tours"}[i%3], fmt.Sprintf("skill-%03d", i), "Does one thing, and says when to use it")
	}
	for _, i := range []int{20, 33} {
		options[i].Detail = "Makes fuzzy matches exact"
	}
	return ask.Choice{Question: "Which skills of github.com/acme/handbook?", Options: options, Same: func(picked []int) string {
		line := "skl install acme/handbook"
		for _, i := range picked {
			line += " -s " + options[i].Label
		}
		return line
	}}
}

// agents are those of one machine: three that were found and many more.
func agents() ask.Choice {
	c := ask.Choice{Question: "Install for which agents?", Note: "kept in skl.toml", Headings: []string{"found here"}, Options: []ask.Option{
		{Label: "claude-code", Title: "Claude Code", Where: ".claude/skills", Detail: "~/.claude, .claude here", Group: "found here", Default: true},
		{Label: "codex,cursor", Title: "Codex, Cursor", Where: ".agents/skills", Detail: "~/.codex, .cursor here", Group: "found here", Default: true},
		{Label: "goose", Title: "Goose", Where: ".agents/skills", Detail: "~/.config/goose only, never used here", Group: "found here"},
	}, Foot: func([]int) string { return "one copy in .agents/skills, a link in .claude/skills" }}
	for i := range 36 {
		c.Options = append(c.Options, ask.Option{Label: fmt.Sprintf("agent-%02d", i), Where: fmt.Sprintf(".agent-%02d/skills", i), Group: "36 more: / to find one"})
	}
	return c
}

// A form is one way in which screens are drawn.
type form struct {
	name   string
	width  int
	color  bool
	signs  screen.Signs
	height int
}

var forms = []form{{"60", 60, false, screen.Unicode, 24}, {"80", 80, false, screen.Unicode, 24}, {"80-color", 80, true, screen.Unicode, 24}, {"80-ascii", 80, false, screen.ASCII, 24},
	{"120", 120, false, screen.Unicode, 40}, {"120-color", 120, true, screen.Unicode, 40}, {"120-ascii", 120, false, screen.ASCII, 40}, {"50", 50, false, screen.Unicode, 24}}

// shown answers a choice by keys on a screen of that form; LOOK takes a picture, IDLE is time that passes, "UNTIL text" waits for
// a text, where there is a pane.
func shown(f form, c ask.Choice, keys ...string) (shots []string, picked []int, s *vt.Screen, err error) {
	s = &vt.Screen{Width: f.width}
	k := &typist{keys: keys, screen: s, look: (*vt.Screen).Text}
	if f.color {
		k.look = (*vt.Screen).Painted
	}
	u := &UI{Err: s, Out: s, Terminal: true, ErrScreen: true, Screen: true, ErrColor: f.color, Color: f.color, ErrSigns: f.signs, Signs: f.signs, keyboard: k,
		sized: func() (int, int) { return f.width, f.height }}
	picked, err = u.Choose(c)
	return append(k.shots, k.look(s)), picked, s, err
}

func TestPickersAsDrawn(t *testing.T) {
	long.Slow(t)
	for _, f := range forms {
		for name, test := range map[string]struct {
			choice ask.Choice
			keys   []string
		}{
			"skills": {handbook(), []string{"LOOK", "fuzz", "\r", " ", "\x1b[B", "\x1b[B", " ", "UNTIL findings", "LOOK", "?", "LOOK", "x", "\r"}},
			"late":   {latePreviews(), []string{"UNTIL reading", "LOOK", "j", "UNTIL no preview", "LOOK", "j", "UNTIL several", "LOOK", " ", "\r"}},
			"agents": {agents(), []string{"LOOK", "\x1b[B", "\x1b[B", "\x1b[B", "\x1b[C", "\x1b[B", "LOOK", "\r"}},
		} {
			t.Run(name+"-"+f.name, func(t *testing.T) {
				shots, _, s, err := shown(f, test.choice, test.keys...)
				if err != nil {
					t.Fatal(err)
				}
				golden(t, filepath.Join("pickers", name+"-"+f.name+".txt"), strings.Join(shots, "-----\n"))
				if s.Wrapped > 0 && !strings.Contains(shots[len(shots)-1], "same as:") || len(s.Refused) > 0 || s.Hidden {
					t.Errorf("wrapped %d, refused %v, cursor hidden %v", s.Wrapped, s.Refused, s.Hidden)
				}
				for _, row := range strings.Split(strings.Join(shots[:len(shots)-1], ""), "\n") {
					if !f.color && screen.Width(row) >= f.width {
						t.Errorf("%q is %d wide", row, screen.Width(row))
					}
				}
			})
		}
	}
}

func TestPickerKeys(t *testing.T) {
	few := ask.Choice{Question: "which?"}
	for i, name := range []string{"alpha", "beta", "gamma", "delta"} {
		few.Options = append(few.Options, ask.Option{Label: name, Group: []string{"one", "two"}[i/2], Detail: "thing number " + name})
	}
	f := forms[1]
	for _, c := range []struct {
		name, keys string
		want       []int
		err        error
	}{
		{"space toggles, enter goes on", "\x1b[B| |\r", []int{0}, nil},
		{"space on a group takes its rows", " |\r", []int{0, 1}, nil},
		{"a second space drops them", " | |j|j| |\r", []int{1}, nil},
		{"a takes all shown", "a|\r", []int{0, 1, 2, 3}, nil},
		{"a again takes none, and enter stays", "a|a|\r|\x1b[B| |\r", []int{0}, nil},
		{"a filter keeps what was chosen", "j| |/|delt|\t|\x1b|IDLE|\r", []int{0, 3}, nil},
		{"a takes only what the filter shows", "/|number de|\r|a|\r", []int{3}, nil},
		{"backspace widens again", "/|gx|\x7f|\t|\r|\r", []int{2}, nil},
		{"a group closes and opens", "h|j|l|j| |\r", []int{2}, nil},
		{"far and back", "G| |g|j| |\r", []int{0, 3}, nil},
		{"vi keys", "j|j|k| |\r", []int{0}, nil},
		{"letters without enter in one piece", "jj \r", []int{1}, nil},
		{"esc leaves", "j| |\x1b|IDLE", nil, ask.ErrLeft},
		{"ctrl-c stops", "j| |\x03", nil, ask.ErrStopped},
		{"no terminal any more", "j", nil, ask.ErrNobody},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, picked, s, err := shown(f, few, strings.Split(c.keys, "|")...)
			if !slices.Equal(picked, c.want) || !errors.Is(err, c.err) {
				t.Errorf("picked %v, %v; want %v, %v", picked, err, c.want, c.err)
			}
			if s.Hidden || s.Raw {
				t.Error("the terminal is not as it was")
			}
			if left := s.Text(); err != nil && strings.TrimSpace(left) != "" {
				t.Errorf("left on the screen: %q", left)
			}
		})
	}
	if !errors.Is(ask.ErrLeft, context.Canceled) || !errors.Is(ask.ErrStopped, context.Canceled) {
		t.Error("both are the end of a context")
	}
}

// When the terminal becomes narrower, the rows are drawn anew and none of the old ones stays.
func TestPickerFollowsTheSize(t *testing.T) {
	s := &vt.Screen{Width: 80}
	width := 80
	k := &typist{keys: []string{"IDLE", "x", "LOOK", "\x1b", "IDLE", "\x1b", "IDLE"}, screen: s}
	k.look = (*vt.Screen).Text
	u := &UI{Err: s, Terminal: true, ErrScreen: true, keyboard: k}
	u.sized = func() (int, int) {
		if len(k.keys) < 6 {
			width, s.Width = 61, 80 // a terminal that does not reflow
		}
		return width, 24
	}
	if _, err := u.Choose(handbook()); !errors.Is(err, ask.ErrLeft) {
		t.Fatal(err)
	}
	if strings.TrimSpace(s.Text()) != "" {
		t.Errorf("left on the screen:\n%s", s.Text())
	}
}

func TestLetters(t *testing.T) {
	letters := []ask.Letter{{Key: "y", Word: "yes"}, {Key: "f", Word: "files"}, {Key: "n", Word: "no"}}
	for keys, want := range map[string]string{"y": "y", "N": "n", "x|f": "f", "\r": "n", "\x1b|IDLE": "n"} {
		s := &vt.Screen{Width: 80}
		k := &typist{keys: strings.Split(keys, "|"), screen: s}
		u := &UI{Err: s, Terminal: true, ErrScreen: true, keyboard: k}
		got, err := u.Letters("install pdf for Claude Code?", letters, "n")
		if got != want || err != nil || !strings.Contains(s.Text(), "? install pdf for Claude Code?  [y]es  [f]iles  [N]o  "+want) {
			t.Errorf("keys %q: %q, %v; screen %q", keys, got, err, s.Text())
		}
	}
	u := &UI{In: strings.NewReader("what\nfiles\n"), Err: &vt.Screen{Width: 80}, Terminal: true, Still: true}
	if got, err := u.Letters("install?", letters, ""); got != "f" || err != nil {
		t.Errorf("by line: %q, %v", got, err)
	}
}

// Where nothing may move, a long list is asked for by a word and by numbers.
func TestChooseWithoutMoving(t *testing.T) {
	s := &vt.Screen{Width: 80}
	u := &UI{In: strings.NewReader("fuzz\nfuzz-basics\n"), Err: s, Terminal: true, ErrScreen: true, Still: true, ErrSigns: screen.Words}
	picked, err := u.Choose(handbook())
	if err != nil || !slices.Equal(picked, []int{0}) {
		t.Fatal(picked, err)
	}
	golden(t, "pickers/skills-plain.txt", s.Text())
}

func TestProgressIsDrawnAndErased(t *testing.T) {
	start := time.Date(2026, 11, 4, 9, 0, 0, 0, time.UTC)
	p := &progress{}
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	p.note(diag.Event{Stage: "fetch", Name: "https://git.acme.example/rules.git", Done: 300_000, Total: 900_000}, at(0))
	if lines := p.lines(screen.Look{Width: 80}, at(0.2)); lines != nil {
		t.Errorf("shown at once: %v", lines)
	}
	var b strings.Builder
	shot := func(width int, seconds float64) {
		look := screen.Look{Width: width}
		fmt.Fprintf(&b, "%d columns, %.1f s\n", width, seconds)
		for _, l := range p.lines(look, at(seconds)) {
			b.WriteString(look.Row(l, width-1) + "\n")
		}
	}
	shot(80, 0.5)
	p.note(diag.Event{Stage: "fetch", Name: "https://git.acme.example/rules.git", Done: 600_000, Total: 900_000}, at(4))
	shot(80, 4)
	shot(80, 13)
	p.note(diag.Event{Stage: "fetch", Name: "fuzz-triage", Done: 120_000, Total: 3_100_000}, at(13.5))
	for i := range 6 {
		p.note(diag.Event{Stage: "fetch", Name: fmt.Sprintf("other-%d", i)}, at(13.5))
	}
	shot(80, 14)
	shot(120, 23)
	shot(50, 14)
	p = &progress{}
	for i := range 80 {
		p.note(diag.Event{Stage: "fetch", Name: fmt.Sprintf("skill-%d", i), Of: 80, Over: i < 31}, at(0))
		if i == 38 {
			break
		}
	}
	p.note(diag.Event{Stage: "fetch", Name: "https://git.acme.example/rules.git", Done: 1_900_000, Total: 4_200_000}, at(4))
	shot(80, 4)
	p.note(diag.Event{Stage: "install", Name: "skill-0", Of: 80}, at(6))
	p.note(diag.Event{Stage: "install", Name: "skill-1", Of: 80, Over: true}, at(6))
	shot(80, 6)
	golden(t, "progress.txt", b.String())

	s := &vt.Screen{Width: 80}
	u := &UI{Err: s, Out: s, Terminal: true, ErrScreen: true}
	u.Progress(diag.Event{Stage: "fetch", Name: "a"})
	time.Sleep(600 * time.Millisecond)
	u.clear()
	u.Print("done")
	if s.Text() != "done\n" || s.Hidden {
		t.Errorf("the screen shows %q", s.Text())
	}
}

// Without a terminal, a phase that takes long is said in a line, and again after half a minute; where nothing may move, when it
// begins and when it ends.
func TestProgressInLines(t *testing.T) {
	var b strings.Builder
	u := &UI{Err: &b, Out: &b}
	u.Progress(diag.Event{Stage: "fetch", Name: "a", Done: 1000, Total: 4000})
	if b.Len() > 0 {
		t.Errorf("said at once: %q", b.String())
	}
	u.progress.started = time.Now().Add(-10 * time.Second)
	u.Progress(diag.Event{Stage: "fetch", Name: "a", Done: 2000, Total: 4000})
	u.Progress(diag.Event{Stage: "fetch", Name: "a", Done: 3000, Total: 4000})
	u.progress.started, u.progress.saidAt = time.Now().Add(-45*time.Second), time.Now().Add(-35*time.Second)
	u.Progress(diag.Event{Stage: "fetch", Name: "a", Done: 3500, Total: 4000})
	if want := "skl: fetch a, 2 of 4 kB, 10 s\nskl: fetch a, 4 of 4 kB, 45 s\n"; b.String() != want {
		t.Errorf("said %q, want %q", b.String(), want)
	}
	b.Reset()
	u = &UI{Err: &b, Out: &b, Terminal: true, Still: true}
	u.Progress(diag.Event{Stage: "resolve", Name: "a"})
	u.Progress(diag.Event{Stage: "fetch", Name: "a"})
	u.Progress(diag.Event{Stage: "fetch", Name: "a", Done: 1})
	u.Print("done")
	if want := "skl: resolve a\nskl: resolve: done\nskl: fetch a\nskl: fetch: done\ndone\n"; b.String() != want {
		t.Errorf("said %q, want %q", b.String(), want)
	}
}
