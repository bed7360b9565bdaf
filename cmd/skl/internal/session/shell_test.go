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
