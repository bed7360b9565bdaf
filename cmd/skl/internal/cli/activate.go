package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/diag"
)

type activateResult struct {
	OK    bool             `json:"ok"`
	Files []activateChange `json:"files"`
}

type activateChange struct {
	Host   string `json:"host"`
	File   string `json:"file"`
	Action string `json:"action"` // create, append, replace, keep, remove
}

func activateCommand() command {
	return command{name: "activate", usage: "tell agents without skl how to read trees, in CLAUDE.md or copilot-instructions.md", output: activateResult{},
		example: "skl activate\nskl activate --host github-copilot\nskl activate --remove",
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "host", Aliases: []string{"a", "agent"}, Usage: "for `HOST`: claude-code, github-copilot or agents (repeatable; default: agents)"},
			&cli.BoolFlag{Name: "remove", Usage: "take the block out again"},
			dryRunFlag(),
		},
		run: runActivate}
}

func runActivate(_ context.Context, w *world, c *cli.Context) error {
	base := w.Project
	if base == "" {
		base = w.Cwd
	}
	if w.Foreign != nil {
		return w.Foreign
	}
	dir, err := within.Open(base) // CLAUDE.md lies in the project, whatever the scope is
	if err != nil {
		return err
	}
	defer dir.Close()
	hosts := c.StringSlice("host")
	if len(hosts) == 0 {
		hosts = []string{"agents"}
	}
	out := activateResult{OK: true, Files: []activateChange{}}
	for _, host := range hosts {
		name, err := skills.Target(dir.FS(base), host)
		if err != nil {
			return err
		}
		change, err := w.activateFile(dir, filepath.Join(base, filepath.FromSlash(name)), c.Bool("remove"), c.Bool("dry-run"))
		if err != nil {
			return err
		}
		change.Host = host
		out.Files = append(out.Files, change)
	}
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	for _, f := range out.Files {
		w.ui.Print("%-7s %s", f.Action, f.File)
	}
	if c.Bool("dry-run") {
		w.ui.Note("nothing was changed (--dry-run)")
	}
	return nil
}

// activateFile writes the marker block into one file, or takes it out.
func (w *world) activateFile(dir *within.Dir, path string, remove, dry bool) (activateChange, error) {
	change := activateChange{File: w.Short(path), Action: "keep"}
	if err := dir.Replaceable(path); err != nil {
		return change, err
	}
	src, err := dir.ReadFile(path, scope.MaxEdited)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return change, err
	}
	var text []byte
	if remove {
		var removed bool
		if text, removed, err = skills.Deactivate(src); removed {
			change.Action = "remove"
		}
	} else {
		var state skills.State
		text, state, err = skills.Activate(src)
		change.Action = string(state)
	}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		e.Where.File = w.Short(path)
		return change, e
	}
	if err == nil && !remove {
		for _, f := range skills.CheckBlock(text, w.Short(path)) {
			w.ui.Warn("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
		}
	}
	if err != nil || dry || bytes.Equal(text, src) {
		return change, err
	}
	if _, err := dir.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return change, err
	}
	return change, dir.WriteFile(path, text, 0o644)
}
