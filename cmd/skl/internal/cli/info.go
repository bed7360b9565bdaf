package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// infoResult is what a person needs to decide about a skill.
type infoResult struct {
	Name         string         `json:"name"`
	Description  string         `json:"description"`
	Version      string         `json:"version"`
	License      string         `json:"license,omitempty"`
	Source       string         `json:"source"`
	URL          string         `json:"url,omitempty"`
	Commit       string         `json:"commit,omitempty"`
	Path         string         `json:"path,omitempty"`
	Digest       string         `json:"digest"`
	Files        int            `json:"files"`
	Bytes        int64          `json:"bytes"`
	Scripts      []string       `json:"scripts"`
	AllowedTools []string       `json:"allowed_tools"`
	SideEffects  []string       `json:"side_effects"`
	LoadCommands []string       `json:"load_commands"`
	Format       string         `json:"format,omitempty"`
	Dialects     []string       `json:"dialects"`
	Findings     int            `json:"findings"`
	Copies       []roots.Record `json:"copies"`
}

func infoCommand() command {
	return command{name: "info", aliases: []string{"show"}, args: "REF|NAME", group: "Skills", usage: "show a skill: description, files, permissions", output: infoResult{}, complete: "skill",
		example: "skl info pdf\nskl info anthropics/skills/pdf",
		run: func(ctx context.Context, w *world, c *cli.Context) error {
			arg, err := oneName(c)
			if err != nil {
				return err
			}
			t, out, err := w.lookAt(ctx, arg)
			if err != nil {
				return err
			}
			out.describe(t)
			if w.ui.JSON {
				return w.ui.Result(out)
			}
			w.printInfo(out)
			return nil
		}}
}

// lookAt reads the installed copy of a name, or the release that a ref means, without installing it.
func (w *world) lookAt(ctx context.Context, arg string) (apply.FileTree, infoResult, error) {
	if ref.IsWord(arg) || strings.Contains(arg, "@") && !strings.Contains(arg, "/") && !strings.HasPrefix(arg, "skl:") {
		l, err := w.Discover(ctx, nil)
		if err != nil {
			return nil, infoResult{}, err
		}
		found, err := scope.Copies(l, arg)
		if err != nil {
			return nil, infoResult{}, err
		}
		r := found[max(0, slices.IndexFunc(found, func(r roots.Record) bool { return r.State == roots.Active }))]
		files, err := scope.FilesOf(r)
		if err != nil {
			return nil, infoResult{}, err
		}
		t, err := apply.ReadTree(files)
		return t, infoResult{Name: r.Name, Version: r.Version, Source: r.Source, Path: r.Path, Digest: r.Digest, Copies: found}, err
	}
	r, err := ref.Parse(arg)
	if err != nil {
		return nil, infoResult{}, err
	}
	f, err := w.Load()
	if err != nil {
		return nil, infoResult{}, err
	}
	o, err := w.Resolver(f.Manifest).Open(ctx, resolver.Want{Ref: w.Rebase(r)})
	if err != nil {
		return nil, infoResult{}, err
	}
	found, err := o.Skills(ctx, nil)
	if err != nil {
		return nil, infoResult{}, err
	}
	if len(found) > 1 {
		picked, err := w.ChooseSkills(r, found)
		if several, ok := errors.AsType[*apply.Ambiguous](err); ok {
			err = w.ambiguous(several)
		}
		if err == nil && len(picked) != 1 {
			err = diag.New(diag.Misuse, "usage", "skl info describes one skill, and %d were chosen", len(picked))
		}
		if err != nil {
			return nil, infoResult{}, err
		}
		found = picked
	}
	s := found[0].Lock
	s.Ref = r.String() // a registry's release is fetched by its name
	t, err := w.ReleaseTree(ctx, s)
	return t, infoResult{Name: s.Name, Version: s.Version, Source: s.Source, URL: s.URL, Commit: string(s.Commit), Path: s.Path, Copies: []roots.Record{}}, err
}

// describe fills in what the files say.
func (out *infoResult) describe(t apply.FileTree) {
	out.Scripts, out.AllowedTools, out.SideEffects, out.LoadCommands, out.Dialects = []string{}, []string{}, []string{}, []string{}, []string{}
	var entries []bundle.Entry
	for path, f := range t {
		out.Files++
		out.Bytes += int64(len(f.Data))
		entries = append(entries, bundle.Entry{Path: path, Kind: f.Kind, SHA256: sha256.Sum256(f.Data)})
		if f.Kind == bundle.Executable || strings.HasPrefix(path, "scripts/") {
			out.Scripts = append(out.Scripts, path)
		}
	}
	slices.Sort(out.Scripts)
	if out.Digest == "" {
		slices.SortFunc(entries, func(a, b bundle.Entry) int { return strings.Compare(a.Path, b.Path) })
		out.Digest = string(bundle.TreeDigest(entries))
	}
	src := t[skill.FileName].Data
	doc, err := skill.Read(src)
	if err != nil || doc == nil {
		return
	}
	out.Description, out.License, out.Format = doc.Description, doc.License, doc.Format
	out.AllowedTools, out.Dialects = append(out.AllowedTools, doc.AllowedTools...), append(out.Dialects, doc.Dialects...)
	if doc.V1 != nil {
		for _, e := range doc.V1.SideEffects {
			out.SideEffects = append(out.SideEffects, string(e))
		}
	}
	out.LoadCommands = append(out.LoadCommands, apply.Says(src).Lines...)
	out.Findings = len(doc.Warnings)
}

func (w *world) printInfo(out infoResult) {
	w.ui.Print("%s %s   %s, %s", out.Name, out.Version, diag.Count(out.Files, "file"), ui.Size(out.Bytes))
	w.ui.Print("%s", out.Description)
	line := func(label, value string) {
		if value != "" {
			w.ui.Print("%s %s", fmt.Sprintf("%-12s", label), value)
		}
	}
	line("from", strings.TrimSpace(out.Source+" "+out.URL+" "+out.Commit))
	line("path", out.Path)
	line("licence", out.License)
	line("format", out.Format)
	line("digest", out.Digest)
	line("scripts", joinWords(out.Scripts))
	line("tools", joinWords(out.AllowedTools))
	line("effects", joinWords(out.SideEffects))
	line("written for", joinWords(out.Dialects))
	for _, c := range out.LoadCommands {
		w.ui.Warn("runs when an agent loads it: %s", c)
	}
	for _, r := range out.Copies {
		w.ui.Print("%s %s [%s]", fmt.Sprintf("%-12s", "copy"), w.Short(r.Path), r.State)
	}
}

type readResult struct {
	Name  string   `json:"name"`
	File  string   `json:"file"`
	Text  string   `json:"text"`
	Files []string `json:"files"`
}

func readCommand() command {
	return command{name: "read", args: "REF|NAME [FILE]", group: "Skills", usage: "print a file of a skill, SKILL.md by default: byte for byte, and printable on a terminal", output: readResult{}, complete: "skill",
		example: "skl read pdf\nskl read pdf scripts/fill.py\nskl read anthropics/skills/pdf --prompt",
		flags:   []cli.Flag{&cli.BoolFlag{Name: "prompt", Usage: "as text for a model: the body, the directory and the list of files, up to the line </skill_content> with the boundary of the first line, which is drawn anew each time and not in the text"}},
		run:     runRead}
}

func runRead(ctx context.Context, w *world, c *cli.Context) error {
	if n := c.Args().Len(); n < 1 || n > 2 {
		return diag.New(diag.Misuse, "usage", "name a skill, and perhaps a file").Hint("skl read --help")
	}
	t, info, err := w.lookAt(ctx, c.Args().First())
	if err != nil {
		return err
	}
	file := skill.FileName
	if arg := c.Args().Get(1); arg != "" {
		file = arg
	}
	var names []string
	for path := range t {
		names = append(names, path)
	}
	slices.Sort(names)
	f, ok := t[file]
	if !ok || f.Kind == bundle.Link {
		e := diag.New(diag.Misuse, "no_such_file", "%s has no file %q", info.Name, file)
		return e.Meant(spell.Nearest(file, names, 5)...).Hint("skl read %s --json lists its files", c.Args().First())
	}
	switch {
	case w.ui.JSON:
		return w.ui.Result(readResult{info.Name, file, string(f.Data), names})
	case c.Bool("prompt"):
		w.ui.Raw([]byte(promptText(info, f.Data, names)))
	default:
		w.ui.Raw(f.Data)
	}
	return nil
}

// promptText wraps a body as the client guide of agentskills recommends. Its end is marked by a boundary that was drawn
// for this output and is nowhere in the text, so that no text of a skill can end early, or say that it has.
func promptText(info infoResult, src []byte, names []string) string {
	body := src
	if doc, err := skill.Read(src); err == nil && doc != nil {
		body = src[doc.Body:]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", strings.TrimSpace(string(body)))
	if fs.ValidPath(strings.TrimPrefix(info.Path, "/")) && strings.HasPrefix(info.Path, "/") {
		fmt.Fprintf(&b, "\nSkill directory: %s\n", diag.Printable(info.Path))
	}
	b.WriteString("<skill_resources>\n")
	const most = 100
	for i, name := range names {
		if i == most {
			fmt.Fprintf(&b, "  (%d more)\n", len(names)-most)
			break
		}
		if name != skill.FileName {
			fmt.Fprintf(&b, "  <file>%s</file>\n", diag.Printable(name))
		}
	}
	b.WriteString("</skill_resources>\n")
	mark := rand.Text()
	for strings.Contains(b.String(), mark) || strings.Contains(info.Name, mark) {
		mark = rand.Text()
	}
	return fmt.Sprintf("<skill_content name=%q bytes=\"%d\" boundary=%q>\n%s</skill_content boundary=%q>\n", info.Name, b.Len(), mark, b.String(), mark)
}
