// Package scopetest makes projects of their own for tests of use cases: real directories and files, no network, nobody
// to ask.
package scopetest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

// A Bench is a project with a home beside it.
type Bench struct {
	T             testing.TB
	Home, Project string
	Told          Told
}

// New makes a project that is a repository by its looks.
func New(t testing.TB) *Bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &Bench{T: t, Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
	for _, dir := range []string{b.Home, filepath.Join(b.Project, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// Write writes a file of the project, named by a slash path.
func (b *Bench) Write(name, text string) {
	b.T.Helper()
	path := filepath.Join(b.Project, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		b.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		b.T.Fatal(err)
	}
}

// Skill writes the SKILL.md of a skill below the folder dir of the project.
func (b *Bench) Skill(dir, name, body string) {
	b.T.Helper()
	b.Write(dir+"/"+name+"/SKILL.md", "---\nname: "+name+"\ndescription: Does "+name+". Use when asked.\n---\n"+body)
}

// Read returns a file of the project, "" if it is not there.
func (b *Bench) Read(name string) string {
	text, _ := os.ReadFile(filepath.Join(b.Project, filepath.FromSlash(name)))
	return string(text)
}

// Scope opens the project anew, as each command does.
func (b *Bench) Scope() *scope.Scope {
	b.T.Helper()
	sc, err := scope.Open(scope.Options{Dir: b.Project, Offline: true, UserAgent: "skl/test", Tell: &b.Told, Progress: func(diag.Event) {},
		Getenv: func(name string) string { return map[string]string{"HOME": b.Home}[name] }})
	if err != nil {
		b.T.Fatal(err)
	}
	return sc
}

// Told collects what a use case says beside its result, as "note: text".
type Told struct {
	mu    sync.Mutex
	Lines []string
}

func (l *Told) say(kind, format string, args []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Lines = append(l.Lines, kind+": "+fmt.Sprintf(format, args...))
}
func (l *Told) Note(format string, args ...any)   { l.say("note", format, args) }
func (l *Told) Detail(format string, args ...any) { l.say("detail", format, args) }
func (l *Told) Warn(format string, args ...any)   { l.say("warning", format, args) }
func (l *Told) Hint(format string, args ...any)   { l.say("hint", format, args) }

// Nobody answers no question.
type Nobody struct{}

func (Nobody) CanAsk() bool                                         { return false }
func (Nobody) Confirm(string) (bool, error)                         { return false, ask.ErrNobody }
func (Nobody) Letters(string, []ask.Letter, string) (string, error) { return "", ask.ErrNobody }
func (Nobody) Say(string) (string, error)                           { return "", ask.ErrNobody }
func (Nobody) Choose(ask.Choice) ([]int, error)                     { return nil, ask.ErrNobody }
