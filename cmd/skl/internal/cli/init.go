package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

type initResult struct {
	Manifest string   `json:"manifest"`
	Hosts    []string `json:"hosts"`
	Vendor   bool     `json:"vendor"`
	Wrote    []string `json:"wrote"`
}

func initCommand() command {
	return command{name: "init", group: "Skills", usage: "start a project: skl.toml, agents, line endings", output: initResult{},
		example: "skl init\nskl init --host claude-code --host github-copilot\nskl init --no-vendor",
		flags: []cli.Flag{
			hostFlag("install for the agent `HOST` (repeatable)"),
			&cli.BoolFlag{Name: "vendor", Usage: "commit installed skills (default): keeps their bytes with -text in .gitattributes"},
			&cli.BoolFlag{Name: "no-vendor", Usage: "do not commit them: .gitignore"},
			dryRunFlag(),
		},
		run: runInit}
}

// The blocks that init owns in files of git; it touches nothing outside them.
const (
	blockStart = "# skl: begin"
	blockEnd   = "# skl: end"
)

func runInit(ctx context.Context, w *world, c *cli.Context) error {
	if c.Bool("vendor") && c.Bool("no-vendor") {
		return diag.New(diag.Misuse, "usage", "--vendor and --no-vendor exclude each other")
	}
	if c.Args().Present() {
		return diag.New(diag.Misuse, "usage", "skl init takes no arguments").Hint("skl new %s starts a skill", c.Args().First())
	}
	if w.Kind == hosts.User && c.String("scope") == "" && !c.Bool("global") {
		if err := w.StartProject(); err != nil {
			return err
		}
	}
	dry := c.Bool("dry-run")
	f, end, err := w.Edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	chosen, err := w.Targets(f.Manifest, c.StringSlice("host"))
	if err != nil {
		return err
	}
	vendor := !c.Bool("no-vendor")
	if old := f.Manifest.Targets.Vendor; old != nil && !c.Bool("vendor") && !c.Bool("no-vendor") {
		vendor = *old
	}
	if err := f.Manifest.SetVendor(vendor); err != nil {
		return err
	}
	out := initResult{Manifest: f.ManifestPath, Hosts: append([]string{}, chosen...), Vendor: vendor, Wrote: []string{}}
	if out.Wrote, err = w.edits(w.initFiles(f, chosen, vendor), dry); err != nil {
		return err
	}
	if !dry {
		if err := w.TrustProject(); err != nil {
			return err
		}
	}
	return w.printInit(out, dry)
}

// edits carries out what changes something and returns the paths of that. All files are read
// before the first is written: one that is no regular file refuses them all.
func (w *world) edits(list []fileEdit, dry bool) (wrote []string, err error) {
	wrote = []string{}
	next := make([][]byte, len(list))
	for i, e := range list {
		if err := w.Site.Dir.Replaceable(e.path); err != nil {
			return nil, err
		}
		old, err := w.Site.Dir.ReadFile(e.path, scope.MaxEdited)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if next[i] = e.content(old); !bytes.Equal(old, next[i]) {
			wrote = append(wrote, e.path)
		}
	}
	for i, e := range list {
		switch {
		case dry || !slices.Contains(wrote, e.path):
		case len(next[i]) == 0: // it held nothing but skl's block
			err = w.Site.Dir.Remove(e.path)
		default:
			err = w.Site.Dir.WriteFile(e.path, next[i], 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return wrote, nil
}

func (w *world) printInit(out initResult, dry bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, path := range out.Wrote {
		if dry {
			w.ui.Print("would write %s", w.Short(path))
			continue
		}
		w.ui.Print("%s %s", ui.Painted(w.ui.Done()), w.Short(path))
	}
	if len(out.Wrote) == 0 {
		w.ui.Print("nothing to do: %s is as it should be", w.Short(out.Manifest))
	}
	if len(out.Hosts) > 0 {
		w.ui.Note("agents: %s", out.Hosts)
	}
	w.ui.Hint("skl install owner/repo/skill")
	return nil
}

// A fileEdit is one file that init writes.
type fileEdit struct {
	path    string
	content func(old []byte) []byte
}

func (w *world) initFiles(f *scope.Files, hostIDs []string, vendor bool) []fileEdit {
	edits := []fileEdit{{f.ManifestPath, func([]byte) []byte { return f.Manifest.Bytes() }}}
	if w.Kind != hosts.Project {
		return edits
	}
	dirs := []string{hosts.Canonical}
	for _, id := range hostIDs {
		if h, ok := hosts.Find(id); ok {
			if _, link := hosts.WriteDirs(h, w.HostEnv(), w.Kind); link != "" {
				if rel, err := filepath.Rel(w.Project, link); err == nil && !slices.Contains(dirs, filepath.ToSlash(rel)) {
					dirs = append(dirs, filepath.ToSlash(rel))
				}
			}
		}
	}
	var attributes, ignore []string
	for _, dir := range dirs {
		if vendor {
			attributes = append(attributes, dir+"/** -text")
		} else {
			ignore = append(ignore, "/"+dir+"/")
		}
	}
	return append(edits,
		fileEdit{filepath.Join(w.Project, ".gitattributes"), func(old []byte) []byte { return setBlock(old, attributes) }},
		fileEdit{filepath.Join(w.Project, ".gitignore"), func(old []byte) []byte { return setBlock(old, ignore) }})
}

// setBlock replaces skl's block in a file of lines, adds it at the end, or, without
// lines, removes it. The rest of the file stays as it is, line endings included.
func setBlock(old []byte, lines []string) []byte {
	eol := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		eol = "\r\n"
	}
	block := ""
	if len(lines) > 0 {
		block = blockStart + eol + strings.Join(lines, eol) + eol + blockEnd + eol
	}
	text := string(old)
	start := strings.Index(text, blockStart)
	if start >= 0 {
		if end := strings.Index(text[start:], blockEnd); end >= 0 {
			rest := strings.TrimPrefix(strings.TrimPrefix(text[start+end+len(blockEnd):], "\r"), "\n")
			return []byte(text[:start] + block + rest)
		}
	}
	if block != "" && text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return []byte(text + block)
}
