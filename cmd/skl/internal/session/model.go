package session

import (
	"cmp"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/model/anthropic"
	"github.com/skl-project/skl/runtime/model/claudecode"
	"github.com/skl-project/skl/runtime/model/copilot"
	"github.com/skl-project/skl/runtime/model/manual"
	"github.com/skl-project/skl/runtime/model/openai"
	"github.com/skl-project/skl/runtime/model/replay"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// modelWords are what --model takes besides the names in the configuration.
var modelWords = []string{"anthropic", "openai", "claude-code", "copilot", "manual", "replay"}

// noModel is the model of a run that has none, because its tree is scripts, questions and files alone.
const noModel = "none"

// ChooseModel says which model a run uses when --model does not: that of the configuration, the one
// credential that is set or else the one program that is found, and a person on a terminal.
func (rs *Runs) ChooseModel(flag string) (string, error) {
	if spec := cmp.Or(flag, rs.Scope.Config.Run.Model); spec != "" {
		return spec, nil
	}
	var found []string
	for _, way := range [][2]string{{"ANTHROPIC_API_KEY", "anthropic"}, {"OPENAI_API_KEY", "openai"}} {
		if rs.Scope.Getenv(way[0]) != "" {
			found = append(found, way[1])
		}
	}
	if len(found) == 0 {
		for _, way := range [][2]string{{"claude", "claude-code"}, {"copilot", "copilot"}} {
			if _, err := rs.program(way[0]); err == nil {
				found = append(found, way[1])
			}
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return "", diag.New(diag.Misuse, "model_ambiguous", "several models could be used: %s", strings.Join(found, ", ")).
			Hint("--model %s, or [run] model in config.toml", found[0]).Meant(found...)
	case rs.Ask.CanAsk():
		return "manual", nil
	}
	return "", diag.New(diag.NeedsInput, "model_none", "no model is configured, and nobody can be asked").
		Hint("set ANTHROPIC_API_KEY or OPENAI_API_KEY, or install claude or copilot").
		Hint("--model openai with [model.openai] base_url in config.toml uses a server of your own").
		Hint("--model manual on a terminal, --model replay:FILE without a model")
}

// program finds a program in the user's PATH.
func (rs *Runs) program(name string) (string, error) {
	for _, dir := range filepath.SplitList(rs.Scope.Getenv("PATH")) {
		if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(path) {
			return path, nil
		}
	}
	return "", diag.New(diag.Misuse, model.CodeUnknown, "there is no program %s in PATH", name)
}

// checkModel refuses a model that nothing is called, before it is needed. "" is none yet.
func (rs *Runs) checkModel(spec string) error {
	name, _, _ := strings.Cut(spec, ":")
	kind := cmp.Or(rs.Scope.Config.Models[name].Kind, name)
	if spec == "" || spec == noModel || spec == "mcp" || slices.Contains([]string{"anthropic", "openai", "claude-code", "copilot", "manual", "replay"}, kind) {
		return nil
	}
	return rs.unknownModel(spec)
}

func (rs *Runs) unknownModel(spec string) error {
	name, _, _ := strings.Cut(spec, ":")
	words := append(slices.Sorted(maps.Keys(rs.Scope.Config.Models)), modelWords...)
	return diag.New(diag.Misuse, model.CodeUnknown, "there is no model %q", spec).Meant(spell.Nearest(name, words, 3)...).Hint("%s", "--model "+strings.Join(modelWords, "|"))
}

// PickModel opens the model that ChooseModel chooses.
func (rs *Runs) PickModel(flag string) (model.Model, error) {
	spec, err := rs.ChooseModel(flag)
	if err != nil {
		return nil, err
	}
	return rs.OpenModel(spec)
}

// OpenModel makes the model that spec names: anthropic[:ID], openai[:ID], a name of the configuration,
// claude-code, copilot, manual or replay:FILE. Checked asks again when an answer does not fit.
func (rs *Runs) OpenModel(spec string) (model.Model, error) {
	name, id, _ := strings.Cut(spec, ":")
	m := rs.Scope.Config.Models[name]
	kind := cmp.Or(m.Kind, name)
	if rs.Scope.Offline() && kind != "manual" && kind != "replay" && !loopback(cmp.Or(m.BaseURL, rs.Scope.Getenv(map[string]string{"anthropic": "ANTHROPIC_BASE_URL", "openai": "OPENAI_BASE_URL"}[kind]))) {
		return nil, diag.New(diag.Failed, "offline", "the model %s is reached over the network, and --offline is set", spec).Hint("--model replay:FILE, --model manual, or a server on this machine")
	}
	var out model.Model
	var err error
	switch kind {
	case "anthropic":
		out, err = anthropic.New(anthropic.Config{APIKey: rs.Scope.Getenv(cmp.Or(m.KeyEnv, "ANTHROPIC_API_KEY")), KeyName: m.KeyEnv, BaseURL: cmp.Or(m.BaseURL, rs.Scope.Getenv("ANTHROPIC_BASE_URL")),
			Model: cmp.Or(id, m.Model), Insecure: rs.insecure(m.BaseURL)})
	case "openai":
		out, err = openai.New(openai.Config{APIKey: rs.Scope.Getenv(cmp.Or(m.KeyEnv, "OPENAI_API_KEY")), KeyName: m.KeyEnv, BaseURL: cmp.Or(m.BaseURL, rs.Scope.Getenv("OPENAI_BASE_URL")),
			Model: cmp.Or(id, m.Model), API: m.API, Insecure: rs.insecure(m.BaseURL)})
	case "claude-code":
		var path string
		if path, err = rs.program("claude"); err == nil {
			out = claudecode.New(claudecode.Config{Program: path, Model: id, Env: rs.Scope.Environ})
		}
	case "copilot":
		var path string
		if path, err = rs.program("copilot"); err == nil {
			out = copilot.New(copilot.Config{Program: path, Model: id, Env: rs.Scope.Environ})
		}
	case "manual":
		if !rs.Ask.CanAsk() {
			return nil, diag.New(diag.NeedsInput, model.CodeNoAnswer, "--model manual needs a terminal").Hint("--model replay:FILE answers without one")
		}
		return manual.New(manual.Config{In: rs.Line, Out: rs.Show}), nil
	case "replay":
		if out, err = replay.Open(scope.Absolute(rs.Scope.Cwd, id)); err != nil {
			return nil, err
		}
	default:
		return nil, rs.unknownModel(spec)
	}
	if err != nil {
		return nil, err
	}
	return model.Checked(out, 0), nil
}

// loopback reports whether address leads to this machine.
func loopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && origin.Loopback(u.Host)
}

// insecure reports whether the configuration allows plain HTTP for the server at address.
func (rs *Runs) insecure(address string) bool {
	u, err := url.Parse(address)
	return err == nil && rs.Scope.Config.Origin(u.Host).Insecure
}
