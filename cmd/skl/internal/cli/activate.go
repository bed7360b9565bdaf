package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/install/durable"
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
	base := w.project
	if base == "" {
		base = w.cwd
	}
	hosts := c.StringSlice("host")
	if len(hosts) == 0 {
		hosts = []string{"agents"}
	}
	out := activateResult{OK: true, Files: []activateChange{}}
	for _, host := range hosts {
		name, err := skills.Target(durable.DirFS(base), host)
		if err != nil {
			return err
		}
		change, err := w.activateFile(filepath.Join(base, filepath.FromSlash(name)), c.Bool("remove"), c.Bool("dry-run"))
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
func (w *world) activateFile(path string, remove, dry bool) (activateChange, error) {
	change := activateChange{File: w.short(path), Action: "keep"}
	src, err := durable.ReadFile(path)
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
		e.Where.File = w.short(path)
		return change, e
	}
	if err == nil && !remove {
		for _, f := range skills.CheckBlock(text, w.short(path)) {
			w.ui.Warn("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
		}
	}
	if err != nil || dry || bytes.Equal(text, src) {
		return change, err
	}
	perm := fs.FileMode(0o644)
	if info, err := os.Lstat(path); err == nil {
		if !info.Mode().IsRegular() {
			return change, diag.New(diag.Failed, "not_a_file", "%s is not a regular file, so it is not changed", w.short(path))
		}
		perm = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return change, err
	}
	return change, durable.WriteFile(path, text, perm)
}
