package demo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/account"
	"github.com/skl-project/skl/cmd/skl/internal/admin"
	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/demo"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ship"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/manifest"
	"github.com/skl-project/skl/spec/ref"
)

type silent struct{}

func (silent) Note(string, ...any)   {}
func (silent) Detail(string, ...any) {}
func (silent) Warn(string, ...any)   {}
func (silent) Hint(string, ...any)   {}

type nobody struct{}

func (nobody) CanAsk() bool                                         { return false }
func (nobody) Confirm(string) (bool, error)                         { return false, ask.ErrNobody }
func (nobody) Letters(string, []ask.Letter, string) (string, error) { return "", ask.ErrNobody }
func (nobody) Say(string) (string, error)                           { return "", ask.ErrNobody }
func (nobody) Choose(ask.Choice) ([]int, error)                     { return nil, ask.ErrNobody }

func open(t *testing.T, dir string, getenv func(string) string) *scope.Scope {
	t.Helper()
	sc, err := scope.Open(scope.Options{Dir: dir, UserAgent: "skl/test", Tell: silent{}, Progress: func(diag.Event) {}, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// TestDemo carries out the lines that change something by their use cases, without a command line.
func TestDemo(t *testing.T) {
	ctx, mine := context.Background(), t.TempDir()
	getenv := func(name string) string {
		return map[string]string{"HOME": mine, "SKL_TOKEN": "mine", "XDG_STATE_HOME": mine, "LANG": "C"}[name]
	}
	d, err := demo.New(open(t, mine, getenv), "try")
	if err != nil {
		t.Fatal(err)
	}
	if got := d.Getenv(getenv); got("HOME") != d.Home || got("SKL_TOKEN") != "" || got("XDG_STATE_HOME") != "" || got("SKL_KEYRING") != "off" || got("LANG") != "C" {
		t.Error("the environment is the user's own")
	}
	lines, installed := 0, ""
	chapter := 0
	err = d.Run(ctx, func(line demo.Line) error {
		if line.Chapter > 0 {
			if chapter++; line.Chapter != chapter || line.About == "" || len(line.About) > 80-len("1 of 8  ") {
				t.Errorf("chapter %d, %q, is the one numbered %d", chapter, line.About, line.Chapter)
			}
		}
		lines++
		sc := open(t, line.Dir, d.Getenv(getenv))
		shipper := &ship.Shipper{Scope: sc, Secret: func(string) (string, error) { return "", ask.ErrNobody }}
		a := line.Args
		var err error
		switch a[0] {
		case "login":
			_, err = (&account.Account{Scope: sc, Secret: shipper.Secret}).Login(ctx, account.LoginRequest{Address: a[1], Name: a[3], Default: true, Token: strings.NewReader(line.Stdin)})
		case "registry":
			_, err = (&admin.Admin{Scope: sc}).CreateNamespace(ctx, admin.NamespaceRequest{Name: a[3], Public: true})
		case "key":
			_, err = shipper.NewKey(ship.KeyRequest{File: a[3], Algorithm: ship.DefaultAlgorithm})
		case "publish":
			_, err = shipper.Publish(ctx, ship.PublishRequest{Dir: a[1], Name: a[2], Signing: ship.Signing{How: a[4]}})
		case "init":
			err = os.WriteFile(filepath.Join(line.Dir, "skl.toml"), manifest.New().Bytes(), 0o644)
		case "install":
			r, perr := ref.Parse(a[1])
			if perr != nil {
				return perr
			}
			_, err = apply.New(sc, nobody{}).Install(ctx, apply.InstallRequest{Refs: []ref.Ref{r}, Hosts: []string{"claude-code"}})
		case "update":
			_, err = apply.New(sc, nobody{}).Update(ctx, apply.UpdateRequest{Latest: true})
		case "verify":
			_, err = apply.New(sc, nobody{}).Verify(ctx, nil, false)
			text, rerr := os.ReadFile(filepath.Join(d.Project, ".agents", "skills", "release-notes", "SKILL.md"))
			installed, err = string(text), errors.Join(err, rerr)
		}
		if err != nil {
			t.Errorf("%s: %v", line, err)
		}
		return err
	})
	if chapter != demo.Chapters {
		t.Errorf("there are %d chapters, %d are announced", chapter, demo.Chapters)
	}
	if err != nil || lines != 14 || !strings.Contains(installed, "Put breaking changes first") {
		t.Errorf("%d lines, %v, installed:\n%s", lines, err, installed)
	}
	for _, path := range []string{filepath.Join(d.Registry, "meta.db"), filepath.Join(d.Dir, "announce", "SKILL.md"), filepath.Join(d.Dir, "answers.jsonl")} {
		if !scope.Exists(path) {
			t.Errorf("%s is missing", path)
		}
	}
	if scope.Exists(filepath.Join(d.Registry, "admin-token")) {
		t.Error("the admin token is left behind")
	}
	if _, err := demo.New(open(t, mine, getenv), "try"); err == nil {
		t.Error("a folder that is there is used")
	}
}

// TestDemoEnds holds that the registry ends with the first line that fails.
func TestDemoEnds(t *testing.T) {
	home := t.TempDir()
	d, err := demo.New(open(t, home, func(name string) string { return map[string]string{"HOME": home}[name] }), "try")
	if err != nil {
		t.Fatal(err)
	}
	failed, lines := errors.New("it failed"), 0
	err = d.Run(context.Background(), func(demo.Line) error {
		lines++
		return failed
	})
	if !errors.Is(err, failed) || lines != 1 {
		t.Errorf("%d lines, %v", lines, err)
	}
	unlocked := admin.Admin{Scope: open(t, home, func(name string) string { return map[string]string{"HOME": home}[name] })}
	if _, err := unlocked.GC(context.Background(), admin.GCRequest{Data: d.Registry}); err != nil {
		t.Errorf("its data is in use: %v", err)
	}
}
