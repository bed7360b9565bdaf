package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/session"
	"github.com/skl-project/skl/runtime/tool"
	"github.com/skl-project/skl/spec/diag"
)

// counted says yes, and how often.
type counted struct {
	person
	times int
}

func (c *counted) Letters(question string, letters []ask.Letter, usual string) (string, error) {
	c.times++
	return c.person.Letters(question, letters, usual)
}

// A yes to a skill of a folder holds in the login session that it was given in, for a day at most, and in no other.
func TestConsentOfASession(t *testing.T) {
	runs := bench(t, true)
	asked := &counted{person: true}
	runs.Ask = asked
	agree := func(wantAsked int) {
		t.Helper()
		if _, err := runs.Agree(bound(t, runs), session.Request{Args: "2.0.0"}); err != nil {
			t.Fatal(err)
		}
		if asked.times != wantAsked {
			t.Fatalf("asked %d times, want %d", asked.times, wantAsked)
		}
	}
	agree(1)
	agree(1)

	path := filepath.Join(runs.Scope.Dirs.State, "sessions.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	edit := func(pattern, to string) {
		t.Helper()
		next := regexp.MustCompile(pattern).ReplaceAll(text, []byte(to))
		if slices.Equal(next, text) {
			t.Fatalf("%s is not in %s", pattern, text)
		}
		if err := os.WriteFile(path, next, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	edit(`"since": "[^"]*"`, `"since": "`+time.Now().Add(-25*time.Hour).UTC().Format(time.RFC3339)+`"`)
	agree(2)
	edit(`"since": "[^"]*"`, `"since": "`+time.Now().Add(25*time.Hour).UTC().Format(time.RFC3339)+`"`)
	agree(3)
	edit(`"[0-9]+(-[0-9]+)?": \{`, `"1-1": {`) // another session
	agree(4)
	edit(`"version": 1`, `"version": "x"`)
	if _, err := runs.Agree(bound(t, runs), session.Request{Args: "2.0.0"}); !errors.Is(err, diag.Code("consents_corrupt")) {
		t.Errorf("a damaged file gives %v", err)
	}
}

// A yes to the tests of a skill is none to a run of it, where the person works; a yes to a run holds for the tests too.
func TestConsentOfTests(t *testing.T) {
	runs := bench(t, true)
	asked := &counted{person: true}
	runs.Ask = asked
	tests := session.Request{Tests: []session.Want{{Effect: tool.External, For: []string{"a.sh"}}}}
	for i, step := range []struct {
		q     session.Request
		asked int
	}{{tests, 1}, {tests, 1}, {session.Request{Args: "2.0.0"}, 2}, {session.Request{Args: "2.0.0"}, 2}, {tests, 2},
		{session.Request{Tests: []session.Want{{Effect: tool.Network, For: []string{"b"}}}}, 3}} {
		if _, err := runs.Agree(bound(t, runs), step.q); err != nil {
			t.Fatal(err)
		}
		if asked.times != step.asked {
			t.Fatalf("step %d: asked %d times, want %d", i, asked.times, step.asked)
		}
	}
}

// Nothing of a skill can be called with no leave, or with the leave that another skill, or other files, got.
func TestNoLeave(t *testing.T) {
	runs := bench(t, true)
	r := bound(t, runs)
	leave, err := runs.Agree(r, session.Request{Args: "2.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	bounds := session.Bounds{Work: t.TempDir(), Sandbox: "auto"}
	d, err := runs.Dispatcher(r, leave, bounds)
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	if _, err := runs.Dispatcher(r, session.Leave{}, bounds); !errors.Is(err, diag.Code("run_not_allowed")) {
		t.Errorf("with no leave: %v", err)
	}
	other := *r
	changed := *r.Plan
	changed.Digest = "sha256-" + changed.Digest
	other.Plan = &changed
	if _, err := runs.Dispatcher(&other, leave, bounds); !errors.Is(err, diag.Code("run_not_allowed")) {
		t.Errorf("with the leave of other files: %v", err)
	}
}
