package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/spec/diag"
)

type diffResult struct {
	Name  string           `json:"name"`
	From  string           `json:"from"`
	To    string           `json:"to"`
	Files []apply.FileDiff `json:"files"`
}

type locksResult struct {
	OK     bool             `json:"ok"`
	Base   string           `json:"base"`
	Skills []apply.LockDiff `json:"skills"`
}

func diffCommand() command {
	return command{name: "diff", args: "NAME [VERSION]", group: "Team", usage: "compare an installed skill with its release, or two locks", output: diffResult{}, complete: "skill",
		example: "skl diff pdf\nskl diff pdf 1.5.0\nskl diff --base origin/main --format md",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "base", Usage: "compare skl.lock with the one of the git revision `REV`"},
			&cli.StringFlag{Name: "format", Value: "text", Usage: "text or md"},
			&cli.BoolFlag{Name: "stat", Usage: "files and line counts only"},
		},
		run: runDiff}
}

func runDiff(ctx context.Context, w *world, c *cli.Context) error {
	if f := c.String("format"); f != "text" && f != "md" {
		return diag.New(diag.Misuse, "usage", "unknown format %q", f).Meant("text", "md")
	}
	if err := w.Settled(); err != nil {
		return err
	}
	f, err := w.Load()
	if err != nil {
		return err
	}
	if base := c.String("base"); base != "" {
		return w.diffLocks(ctx, f, base, c.String("format"))
	}
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name one skill, and perhaps a version").Hint("skl diff --help")
	}
	name := c.Args().First()
	s, ok := f.Lock.Skill(name)
	if !ok {
		return w.diffCopies(ctx, name, c.Bool("stat"))
	}
	if err := w.Usable(ctx, f, name); err != nil {
		return err
	}
	installed, err := apply.ReadTree(scope.FilesIn(filepath.Join(w.Root, name)))
	if err != nil {
		return err
	}
	from, fromText := installed, "installed"
	other := s
	if version := c.Args().Get(1); version != "" {
		if other, err = w.AtVersion(ctx, f, name, version); err != nil {
			return err
		}
	}
	to, err := w.ReleaseTree(ctx, other)
	if err != nil {
		return err
	}
	if c.Args().Len() == 1 {
		// What was published comes first: the edits are what is new.
		return w.printDiff(diffResult{name, s.Version, fromText, apply.DiffTrees(to, from)}, c.Bool("stat"))
	}
	return w.printDiff(diffResult{name, s.Version, other.Version, apply.DiffTrees(from, to)}, c.Bool("stat"))
}

// diffCopies compares two copies of a skill that is not in the lock.
func (w *world) diffCopies(ctx context.Context, name string, stat bool) error {
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return err
	}
	found, err := scope.Copies(l, name)
	if err != nil {
		return err
	}
	if len(found) < 2 {
		return diag.New(diag.Misuse, "one_copy", "%s is not in skl.lock and has one copy only, so there is nothing to compare", name)
	}
	var trees [2]apply.FileTree
	for i := range trees {
		files, err := scope.FilesOf(found[i])
		if err != nil {
			return err
		}
		if trees[i], err = apply.ReadTree(files); err != nil {
			return err
		}
	}
	return w.printDiff(diffResult{name, found[0].Qualified, found[1].Qualified, apply.DiffTrees(trees[0], trees[1])}, stat)
}

func (w *world) printDiff(d diffResult, stat bool) error {
	if w.ui.JSON {
		return w.ui.Result(d)
	}
	if len(d.Files) == 0 {
		w.ui.Print("%s: no differences between %s and %s", d.Name, d.From, d.To)
		return nil
	}
	w.ui.Print("%s  %s → %s", d.Name, d.From, d.To)
	for _, f := range d.Files {
		w.ui.Print("%s %s +%d -%d", f.Change, f.Path, f.Add, f.Remove)
		if stat {
			continue
		}
		for line := range strings.Lines(f.Text) {
			line = strings.TrimSuffix(line, "\n")
			switch line[0] {
			case '+':
				w.ui.Print("%s", w.ui.Green(line))
			case '-':
				w.ui.Print("%s", w.ui.Red(line))
			default:
				w.ui.Print("%s", line)
			}
		}
	}
	return nil
}

// diffLocks compares skl.lock with that of a git revision. A lower trust is exit 4.
func (w *world) diffLocks(ctx context.Context, f *scope.Files, rev, format string) error {
	old, err := w.LockAt(ctx, f, rev)
	if err != nil {
		return err
	}
	compared, err := w.CompareLocks(old, f.Lock)
	if err != nil {
		return err
	}
	out := locksResult{OK: true, Base: rev, Skills: compared}
	out.OK = !slices.ContainsFunc(out.Skills, func(d apply.LockDiff) bool { return d.Downgrade != "" })
	switch {
	case w.ui.JSON:
		if err := w.ui.Result(out); err != nil {
			return err
		}
	case format == "md":
		w.ui.Print("| skill | change | from | to | permissions | trust |\n|---|---|---|---|---|---|")
		for _, d := range out.Skills {
			w.ui.Print("| %s | %s | %s | %s | %s | %s |", d.Name, d.Change, orDash(d.From), orDash(d.To), orDash(strings.Join(d.Permissions, "; ")), orDash(d.Downgrade))
		}
	default:
		rows := [][]string{{"NAME", "CHANGE", "FROM", "TO", "PERMISSIONS", "TRUST"}}
		for _, d := range out.Skills {
			rows = append(rows, []string{d.Name, d.Change, orDash(d.From), orDash(d.To), orDash(strings.Join(d.Permissions, "; ")), orDash(d.Downgrade)})
		}
		w.ui.Rows(rows)
		if len(out.Skills) == 0 {
			w.ui.Note("skl.lock is the same as at %s", rev)
		}
	}
	if !out.OK {
		return refused("trust_downgrade")
	}
	return nil
}
