package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
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
	if w.scope == hosts.User && c.String("scope") == "" && !c.Bool("global") {
		w.scope, w.project, w.base = hosts.Project, w.cwd, w.cwd // init is what makes a project
		w.root = filepath.Join(w.cwd, filepath.FromSlash(hosts.Canonical))
	}
	dry := c.Bool("dry-run")
	f, end, err := w.edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	chosen, err := w.targets(f.manifest, c.StringSlice("host"))
	if err != nil {
		return err
	}
	vendor := !c.Bool("no-vendor")
	if old := f.manifest.Targets.Vendor; old != nil && !c.Bool("vendor") && !c.Bool("no-vendor") {
		vendor = *old
	}
	if err := f.manifest.SetVendor(vendor); err != nil {
		return err
	}
	out := initResult{Manifest: f.manifestPath, Hosts: append([]string{}, chosen...), Vendor: vendor, Wrote: []string{}}
	edits := w.initFiles(f, chosen, vendor)
	for _, e := range edits {
		old, err := durable.ReadFile(e.path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		next := e.content(old)
		if bytes.Equal(old, next) {
			continue
		}
		out.Wrote = append(out.Wrote, e.path)
		if dry {
			continue
		}
		if len(next) == 0 { // it held nothing but skl's block
			err = os.Remove(e.path)
		} else {
			err = durable.WriteFile(e.path, next, 0o644)
		}
		if err != nil {
			return err
		}
	}
	if !dry {
		if err := w.trustProject(); err != nil {
			return err
		}
	}
	return w.printInit(out, dry)
}

func (w *world) printInit(out initResult, dry bool) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, path := range out.Wrote {
		if dry {
			w.ui.Print("would write %s", w.short(path))
			continue
		}
		w.ui.Print("%s %s", ui.Painted(w.ui.Done()), w.short(path))
	}
	if len(out.Wrote) == 0 {
		w.ui.Print("nothing to do: %s is as it should be", w.short(out.Manifest))
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

func (w *world) initFiles(f *files, hostIDs []string, vendor bool) []fileEdit {
	edits := []fileEdit{{f.manifestPath, func([]byte) []byte { return f.manifest.Bytes() }}}
	if w.scope != hosts.Project {
		return edits
	}
	dirs := []string{hosts.Canonical}
	for _, id := range hostIDs {
		if h, ok := hosts.Find(id); ok {
			if _, link := hosts.WriteDirs(h, w.hostEnv(), w.scope); link != "" {
				if rel, err := filepath.Rel(w.project, link); err == nil && !contains(dirs, filepath.ToSlash(rel)) {
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
		fileEdit{filepath.Join(w.project, ".gitattributes"), func(old []byte) []byte { return setBlock(old, attributes) }},
		fileEdit{filepath.Join(w.project, ".gitignore"), func(old []byte) []byte { return setBlock(old, ignore) }})
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
