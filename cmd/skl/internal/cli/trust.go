package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

// trustFile is which projects this user trusts, by real path.
type trustFile struct {
	Version  int               `json:"v"`
	Projects map[string]bool   `json:"projects"`         // true: trusted; false: denied, whatever is installed there
	Owners   map[string]string `json:"owners,omitempty"` // of trusted projects that belong to someone else: who that was
}

func (w *world) trustPath() string { return filepath.Join(w.dirs.state, "trust.json") }

func (w *world) readTrust() (trustFile, error) {
	t := trustFile{Version: 1, Projects: map[string]bool{}, Owners: map[string]string{}}
	src, err := os.ReadFile(w.trustPath())
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(src, &t)
	}
	if err != nil || t.Version != 1 {
		return trustFile{}, diag.New(diag.Failed, "trust_corrupt", "%s cannot be read", w.trustPath()).Hint("move it away; projects are then untrusted again")
	}
	if t.Projects == nil {
		t.Projects = map[string]bool{}
	}
	if t.Owners == nil {
		t.Owners = map[string]string{}
	}
	return t, nil
}

// setTrust changes the record of one project, alone among all skls of this user.
func (w *world) setTrust(dir string, allow bool) error {
	if err := w.private(w.dirs.state); err != nil {
		return err
	}
	end, err := durable.Lock(context.Background(), w.dirs.state, nil)
	if err != nil {
		return err
	}
	defer end()
	t, err := w.readTrust()
	if err != nil {
		return err
	}
	owner := ""
	if allow && install.CheckOwner(dir) != nil {
		if owner, err = install.Owner(dir); err != nil {
			return err
		}
	}
	if have, ok := t.Projects[dir]; ok && have == allow && t.Owners[dir] == owner {
		return nil
	}
	t.Projects[dir] = allow
	if delete(t.Owners, dir); owner != "" {
		t.Owners[dir] = owner
	}
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return durable.WriteFile(w.trustPath(), append(text, '\n'), 0o600)
}

// trusted reports whether this user trusts the project. What lies outside a
// project needs no trust.
func (w *world) trusted() (bool, error) {
	if w.project == "" {
		return true, nil
	}
	t, err := w.readTrust()
	return t.Projects[w.project], err
}

// trustProject records that this user installed here. A denied project stays denied.
func (w *world) trustProject() error {
	if w.scope != hosts.Project {
		return nil
	}
	t, err := w.readTrust()
	if err != nil {
		return err
	}
	if _, decided := t.Projects[w.project]; decided {
		return nil
	}
	return w.setTrust(w.project, true)
}

type trustResult struct {
	Projects []trustedProject `json:"projects"`
}

type trustedProject struct {
	Dir     string `json:"dir"`
	Trusted bool   `json:"trusted"`
}

func trustCommand() command {
	set := func(allow bool) func(context.Context, *world, *cli.Context) error {
		return func(_ context.Context, w *world, c *cli.Context) error {
			dir, err := w.trustDir(c)
			if err != nil {
				return err
			}
			if c.Bool("dry-run") {
				w.ui.Note("nothing was changed (--dry-run)")
			} else if err := w.setTrust(dir, allow); err != nil {
				return err
			}
			if w.ui.JSON {
				return w.ui.Result(trustResult{[]trustedProject{{dir, allow}}})
			}
			w.ui.Print("%s is %s", dir, map[bool]string{true: "trusted", false: "not trusted"}[allow])
			return nil
		}
	}
	return command{name: "trust", group: "Trust", usage: "decide whether the skills of a project are loaded", output: trustResult{}, complete: "dir",
		example: "skl trust allow\nskl trust deny ../somebody-elses-project\nskl trust list",
		sub: []command{
			{name: "allow", args: "[DIR]", usage: "load the skills of a project (default: this one)", flags: []cli.Flag{dryRunFlag()}, run: set(true)},
			{name: "deny", args: "[DIR]", usage: "list them and nothing more", flags: []cli.Flag{dryRunFlag()}, run: set(false)},
			{name: "list", usage: "the decisions so far", run: listTrust},
		}}
}

func (w *world) trustDir(c *cli.Context) (string, error) {
	dir := w.project
	if arg := c.Args().First(); arg != "" {
		real, err := filepath.EvalSymlinks(absolute(w.cwd, arg))
		if err != nil {
			return "", diag.New(diag.Misuse, "no_such_directory", "%s is not a directory", arg)
		}
		dir = real
	}
	if dir == "" {
		return "", diag.New(diag.Misuse, "no_project", "this is not a project: there is neither skl.toml nor .git here or above").Hint("skl trust allow DIR")
	}
	return dir, nil
}

func listTrust(_ context.Context, w *world, _ *cli.Context) error {
	t, err := w.readTrust()
	if err != nil {
		return err
	}
	out := trustResult{Projects: []trustedProject{}}
	rows := [][]string{{"PROJECT", "TRUSTED"}}
	for _, dir := range slices.Sorted(maps.Keys(t.Projects)) {
		out.Projects = append(out.Projects, trustedProject{dir, t.Projects[dir]})
		rows = append(rows, []string{w.short(dir), map[bool]string{true: "yes", false: "denied"}[t.Projects[dir]]})
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	w.ui.Rows(rows)
	if len(out.Projects) == 0 {
		w.ui.Note("no project was trusted or denied yet")
	}
	return nil
}
