package author

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/diag"
)

// An ActivateRequest asks to tell agents without skl how to read trees, in the instruction files of the project.
type ActivateRequest struct {
	Hosts  []string // claude-code, github-copilot or agents; none is agents
	Remove bool     // take it out again
	DryRun bool
}

// An Activation is what became of one instruction file.
type Activation struct {
	Host   string `json:"host"`
	File   string `json:"file"`
	Action string `json:"action"` // create, append, replace, keep, remove
}

// Activate writes skl's block into instruction files, or takes it out, and touches nothing outside of it.
func (a *Author) Activate(q ActivateRequest) ([]Activation, error) {
	base := cmp.Or(a.Scope.Project, a.Scope.Cwd)
	if a.Scope.Foreign != nil {
		return nil, a.Scope.Foreign
	}
	dir, err := within.Open(base) // CLAUDE.md lies in the project, whatever the scope is
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	hosts := q.Hosts
	if len(hosts) == 0 {
		hosts = []string{"agents"}
	}
	out := []Activation{}
	for _, host := range hosts {
		name, err := skills.Target(dir.FS(base), host)
		if err != nil {
			return nil, err
		}
		change, err := a.activateFile(dir, filepath.Join(base, filepath.FromSlash(name)), q.Remove, q.DryRun)
		if err != nil {
			return nil, err
		}
		change.Host = host
		out = append(out, change)
	}
	return out, nil
}

// activateFile writes the marker block into one file, or takes it out.
func (a *Author) activateFile(dir *within.Dir, path string, remove, dry bool) (Activation, error) {
	change := Activation{File: a.Scope.Short(path), Action: "keep"}
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
		e.Where.File = a.Scope.Short(path)
		return change, e
	}
	if err == nil && !remove {
		for _, f := range skills.CheckBlock(text, a.Scope.Short(path)) {
			a.Scope.Tell.Warn("%s:%d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
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
