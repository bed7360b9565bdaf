package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sergi/go-diff/diffmatchpatch"
	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A fileDiff is how one file differs.
type fileDiff struct {
	Path   string `json:"path"`
	Change string `json:"change"` // added, removed, changed, mode
	Add    int    `json:"add"`    // lines
	Remove int    `json:"remove"`
	Text   string `json:"text,omitempty"` // lines with "+", "-" and " "
}

type diffResult struct {
	Name  string     `json:"name"`
	From  string     `json:"from"`
	To    string     `json:"to"`
	Files []fileDiff `json:"files"`
}

// A lockDiff is one skill of a comparison of two locks.
type lockDiff struct {
	Name        string   `json:"name"`
	Change      string   `json:"change"` // added, removed, changed
	From        string   `json:"from,omitempty"`
	To          string   `json:"to,omitempty"`
	Source      string   `json:"source"`
	Digest      string   `json:"digest"`
	Permissions []string `json:"permissions"` // "+ name" and "- name"
	Downgrade   string   `json:"downgrade,omitempty"`
}

type locksResult struct {
	OK     bool       `json:"ok"`
	Base   string     `json:"base"`
	Skills []lockDiff `json:"skills"`
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
	if err := w.settled(); err != nil {
		return err
	}
	f, err := w.load()
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
	s, ok := f.lock.Skill(name)
	if !ok {
		return w.diffCopies(ctx, name, c.Bool("stat"))
	}
	installed, err := readTree(durable.DirFS(filepath.Join(w.root, name)))
	if err != nil {
		return err
	}
	from, fromText := installed, "installed"
	other := s
	if version := c.Args().Get(1); version != "" {
		if other, err = w.atVersion(ctx, f, name, version); err != nil {
			return err
		}
	}
	to, err := w.release(ctx, other)
	if err != nil {
		return err
	}
	if c.Args().Len() == 1 {
		// What was published comes first: the edits are what is new.
		return w.printDiff(diffResult{name, s.Version, fromText, diffTrees(to, from)}, c.Bool("stat"))
	}
	return w.printDiff(diffResult{name, s.Version, other.Version, diffTrees(from, to)}, c.Bool("stat"))
}

// atVersion chooses another release of a skill.
func (w *world) atVersion(ctx context.Context, f *files, name, version string) (lock.Skill, error) {
	all, err := wants(f.manifest)
	if err != nil {
		return lock.Skill{}, err
	}
	i := slices.IndexFunc(all, func(n resolver.Named) bool { return n.Name == name })
	if i < 0 {
		return lock.Skill{}, w.notInManifest(name, f)
	}
	want := all[i]
	r, err := ref.Parse(want.Ref.WithoutVersion().String() + "@" + version)
	if err != nil {
		return lock.Skill{}, err
	}
	want.Ref, want.Kind = r, ""
	return w.resolver(f.manifest).Choose(ctx, want)
}

// diffCopies compares two copies of a skill that is not in the lock.
func (w *world) diffCopies(ctx context.Context, name string, stat bool) error {
	l, err := w.discover(ctx, nil)
	if err != nil {
		return err
	}
	found, err := copies(l, name)
	if err != nil {
		return err
	}
	if len(found) < 2 {
		return diag.New(diag.Misuse, "one_copy", "%s is not in skl.lock and has one copy only, so there is nothing to compare", name)
	}
	var trees [2]fileTree
	for i := range trees {
		files, err := filesOf(found[i])
		if err != nil {
			return err
		}
		if trees[i], err = readTree(files); err != nil {
			return err
		}
	}
	return w.printDiff(diffResult{name, found[0].Qualified, found[1].Qualified, diffTrees(trees[0], trees[1])}, stat)
}

// A fileTree is the content of a bundle in memory.
type fileTree map[string]treeFile

type treeFile struct {
	kind bundle.Kind
	data []byte
}

// treeSink collects a tree. It is fed through a Guard, which bounds it.
type treeSink fileTree

func (t treeSink) File(path string, executable bool, _ int64, r io.Reader) error {
	data, err := io.ReadAll(r)
	kind := bundle.Plain
	if executable {
		kind = bundle.Executable
	}
	t[path] = treeFile{kind, data}
	return err
}

func (t treeSink) Link(path, target string) error {
	t[path] = treeFile{bundle.Link, []byte(target)}
	return nil
}

func readTree(fsys fs.FS) (fileTree, error) {
	t := treeSink{}
	guard := bundle.NewGuard(t, bundle.InstallLimits)
	guard.NoSkillMD = true // a person may have removed it
	if err := bundle.FromFS(fsys, guard); err != nil {
		return nil, err
	}
	_, err := guard.Close()
	return fileTree(t), err
}

// release reads a release from the store, or fetches it into memory.
func (w *world) release(ctx context.Context, s lock.Skill) (fileTree, error) {
	if st := w.store(); s.Tree != "" && st.Has(s.Tree) {
		return readTree(st.FS(s.Tree))
	}
	t := treeSink{}
	guard := bundle.NewGuard(t, bundle.InstallLimits)
	if err := w.fetch(ctx, s, guard); err != nil {
		return nil, err
	}
	_, err := guard.Close()
	return fileTree(t), err
}

func diffTrees(from, to fileTree) []fileDiff {
	var paths []string
	for p := range from {
		paths = append(paths, p)
	}
	for p := range to {
		if _, ok := from[p]; !ok {
			paths = append(paths, p)
		}
	}
	slices.Sort(paths)
	out := []fileDiff{}
	for _, p := range paths {
		a, inFrom := from[p]
		b, inTo := to[p]
		d := fileDiff{Path: p, Change: "changed"}
		switch {
		case inFrom != inTo && bundle.Residue(p):
			continue // left out where a folder is read
		case !inFrom:
			d.Change = "added"
		case !inTo:
			d.Change = "removed"
		case string(a.data) == string(b.data) && a.kind == b.kind:
			continue
		case string(a.data) == string(b.data):
			d.Change = "mode"
		}
		d.Text, d.Add, d.Remove = lineDiff(string(a.data), string(b.data))
		out = append(out, d)
	}
	return out
}

// lineDiff is a diff by lines with three lines of context. Binary files have no text.
func lineDiff(a, b string) (text string, add, remove int) {
	if strings.ContainsRune(a, 0) || strings.ContainsRune(b, 0) || len(a)+len(b) > 4<<20 {
		return "", 0, 0
	}
	dmp := diffmatchpatch.New()
	ra, rb, lines := dmp.DiffLinesToRunes(a, b)
	var out strings.Builder
	diffs := dmp.DiffCharsToLines(dmp.DiffMainRunes(ra, rb, false), lines)
	for i, d := range diffs {
		list := strings.SplitAfter(d.Text, "\n")
		if list[len(list)-1] == "" {
			list = list[:len(list)-1]
		}
		switch d.Type {
		case diffmatchpatch.DiffInsert:
			add += len(list)
		case diffmatchpatch.DiffDelete:
			remove += len(list)
		case diffmatchpatch.DiffEqual:
			list = context3(list, i == 0, i == len(diffs)-1)
		}
		mark := map[diffmatchpatch.Operation]string{diffmatchpatch.DiffInsert: "+", diffmatchpatch.DiffDelete: "-", diffmatchpatch.DiffEqual: " "}[d.Type]
		for _, line := range list {
			fmt.Fprintf(&out, "%s%s\n", mark, strings.TrimSuffix(line, "\n"))
		}
	}
	return out.String(), add, remove
}

// context3 keeps three lines at the ends of an unchanged run that touch a change.
func context3(list []string, first, last bool) []string {
	const n = 3
	switch {
	case first && last:
		return nil
	case first && len(list) > n:
		return list[len(list)-n:]
	case last && len(list) > n:
		return list[:n]
	case !first && !last && len(list) > 2*n:
		return slices.Concat(list[:n], []string{"…"}, list[len(list)-n:])
	}
	return list
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
func (w *world) diffLocks(ctx context.Context, f *files, rev, format string) error {
	old, err := w.lockAt(ctx, f, rev)
	if err != nil {
		return err
	}
	out := locksResult{OK: true, Base: rev, Skills: compareLocks(old, f.lock)}
	out.OK = !slices.ContainsFunc(out.Skills, func(d lockDiff) bool { return d.Downgrade != "" })
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

// lockAt reads skl.lock as it is in a revision of the project's own repository.
func (w *world) lockAt(ctx context.Context, f *files, rev string) (*lock.Lock, error) {
	src, err := git.ReadRevision(ctx, w.base, rev, "skl.lock")
	if err != nil {
		return nil, err
	}
	if src == nil {
		return &lock.Lock{}, nil
	}
	return lock.Parse(src, rev+":"+filepath.Base(f.lockPath))
}

func compareLocks(old, now *lock.Lock) []lockDiff {
	out := []lockDiff{}
	for _, s := range now.Skills {
		was, ok := old.Skill(s.Name)
		if ok && lock.Equal(was, s) {
			continue
		}
		d := lockDiff{Name: s.Name, Change: "changed", From: was.Version, To: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}}
		if !ok {
			d.Change, d.From = "added", ""
		}
		for _, p := range s.Permissions {
			if !slices.Contains(was.Permissions, p) {
				d.Permissions = append(d.Permissions, "+ "+p)
			}
		}
		for _, p := range was.Permissions {
			if !slices.Contains(s.Permissions, p) {
				d.Permissions = append(d.Permissions, "- "+p)
			}
		}
		switch {
		case ok && was.Signer != nil && s.Signer == nil:
			d.Downgrade = "was signed, is not"
		case ok && was.Signer != nil && *was.Signer != *s.Signer:
			d.Downgrade = "another signer"
		case ok && !was.Unsigned && s.Unsigned:
			d.Downgrade = "unsigned was accepted"
		case ok && was.Version == s.Version && was.Commit != s.Commit && !strings.HasPrefix(s.Version, "0.0.0-"):
			d.Downgrade = "the same version, other content"
		case ok && was.URL != s.URL:
			d.Downgrade = "another source: " + was.URL + " → " + s.URL
		}
		out = append(out, d)
	}
	for _, s := range old.Skills {
		if _, ok := now.Skill(s.Name); !ok {
			out = append(out, lockDiff{Name: s.Name, Change: "removed", From: s.Version, Source: s.Source, Digest: string(s.Tree), Permissions: []string{}})
		}
	}
	return out
}
