package tool

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/runtime/internal/scratch"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

const (
	maxScript       = 1 << 20
	maxScriptOutput = 1 << 20
	maxVariable     = 96 << 10 // bytes of one binding; systems refuse 128 KiB
	maxEnv          = 512 << 10
)

// Script runs a script of the skill, or one of its sections, in the working directory, as the tool bash
// does and under its rules. The result is what it printed to its standard output, exactly, and at most 1 MiB; of a
// script that fails, what it printed to its standard error too. The error is that of a script which did not begin: a
// diag.Refused, or CodeUnasked, a diag.NeedsInput.
//
// The interpreter follows from the file's extension, or else from its first line: bash or sh for .sh, python3
// for .py, node for .js, .mjs and .cjs, pwsh for .ps1. A whole file runs where it stands in the skill, if
// it is there unchanged, so that it finds its neighbours; all else from a private directory.
//
// A binding since_tag is in the environment by its own name, unless that is no name of a variable or one that programs
// take orders from, such as PATH (see [Reserved]). It is there as SKL_ARG_SINCE_TAG in any case: letters in upper
// case, everything that is no letter or digit as _. Two bindings with one such name and different values are refused.
// SKL_SKILL_DIR is the skill's directory and SKL_WORK_DIR the working directory. Python neither reads nor writes __pycache__.
func (d *Dispatcher) Script(ctx context.Context, s run.Script) (model.ToolResult, run.Deed, error) {
	u := d.scriptUse(s.Path)
	text, err := d.script(ctx, s, u)
	if err != nil {
		return model.ToolResult{Text: bounded(text, maxResult) + err.Error(), IsError: true}, u.did, kept(err)
	}
	return model.ToolResult{Text: bounded(text, maxScriptOutput)}, u.did, nil
}

// script runs s, which is what u does.
func (d *Dispatcher) script(ctx context.Context, s run.Script, u *use) (string, error) {
	h := d.scriptHandler()
	if err := d.reachable(h, false); err != nil {
		return "", err
	}
	u.input = s.Text
	if s.Section != "" {
		u.detail += ", section " + s.Section
	}
	if err := d.permit(h, u); err != nil {
		return "", err
	}
	if len(s.Text) > maxScript || strings.ContainsRune(s.Text, 0) {
		return "", badInput(s.Path, "a script has at most %d bytes, and no NUL", maxScript)
	}
	interpreter, ext, err := d.interpreter(s)
	if err != nil {
		return "", err
	}
	env, err := d.bindings(s.Env)
	if err != nil {
		return "", err
	}
	if err := d.consent(ctx, h.effect, h, u); err != nil {
		return "", err
	}
	file, remove, err := d.scriptFile(s, ext)
	if err != nil {
		return "", err
	}
	defer remove()
	argv := append(slices.Clone(interpreter), file)
	stdout, stderr := headTail{half: maxScriptOutput / 2}, headTail{half: halfOutput}
	err = d.program(ctx, u, sandbox.Command{
		Argv: argv, Env: env, Read: []string{filepath.Dir(file)}, Timeout: maxTimeout, Stdout: &stdout, Stderr: &stderr,
	}, s.Path)
	switch {
	case err != nil:
		return bounded(ended(stdout.String()), maxResult/2) + ended(stderr.String()), err
	case stdout.left() > 0:
		return "", failed("%s printed %d bytes, and at most %d are taken", diag.Printable(s.Path), stdout.total, maxScriptOutput)
	}
	return stdout.String(), nil
}

// interpreter finds the program for a script, and the extension that it expects.
func (d *Dispatcher) interpreter(s run.Script) (argv []string, ext string, err error) {
	ext = strings.ToLower(filepath.Ext(s.Path))
	var names []string
	switch ext {
	case ".sh", ".bash":
		names = []string{"bash", "sh"}
	case ".py":
		names = []string{"python3", "python"}
	case ".js", ".mjs", ".cjs":
		names = []string{"node"}
	case ".ps1":
		names = []string{"pwsh"}
	default:
		names, ext = shebang(s.Text)
	}
	if names == nil {
		return nil, "", diag.New(diag.Refused, CodeDenied, "%s is not run: neither its name nor its first line names bash, sh, python3, node or pwsh", diag.Printable(s.Path))
	}
	for _, name := range names {
		path, ok := d.look(name)
		if !ok {
			continue
		}
		if path = unshimmed(path); strings.HasPrefix(name, "pwsh") {
			return []string{path, "-NoProfile", "-NonInteractive", "-File"}, ext, nil
		}
		return []string{path}, ext, nil
	}
	return nil, "", failed("%s needs %s, which is not on PATH", diag.Printable(s.Path), names[0])
}

// shebang reads the first line of a script.
func shebang(text string) (names []string, ext string) {
	line, _, _ := strings.Cut(text, "\n")
	rest, ok := strings.CutPrefix(strings.TrimRight(line, "\r"), "#!")
	words := strings.Fields(rest)
	if !ok || len(words) == 0 {
		return nil, ""
	}
	if filepath.Base(words[0]) == "env" && len(words) > 1 {
		words = words[1:]
		if words[0] == "-S" && len(words) > 1 {
			words = words[1:]
		}
	}
	switch filepath.Base(words[0]) {
	case "bash":
		return []string{"bash"}, ".sh"
	case "sh":
		return []string{"sh", "bash"}, ".sh"
	case "python", "python3":
		return []string{"python3", "python"}, ".py"
	case "node", "nodejs":
		return []string{"node"}, ".js"
	case "pwsh":
		return []string{"pwsh"}, ".ps1"
	}
	return nil, ""
}

// bindings makes the variables of a script.
func (d *Dispatcher) bindings(values map[string]string) ([]string, error) {
	// Python keeps nothing beside the scripts, which would change the skill that was agreed to, and runs nothing out of __pycache__.
	env := []string{"SKL_WORK_DIR=" + d.work.real, "PYTHONPYCACHEPREFIX=" + os.DevNull, "PYTHONDONTWRITEBYTECODE=1"}
	if d.own != nil {
		env = append(env, "SKL_SKILL_DIR="+d.own.real)
	}
	total := 0
	from := map[string]string{}
	for name, value := range values {
		variable := Variable(name)
		if other, taken := from[variable]; taken && values[other] != value {
			a, b := min(name, other), max(name, other)
			return nil, badInput("the script", "the bindings %q and %q are both %s", diag.Printable(a), diag.Printable(b), variable)
		}
		from[variable] = name
		total += len(variable) + len(value)
		if len(value) > maxVariable || total > maxEnv || strings.ContainsRune(value, 0) {
			return nil, badInput("the script", "the binding %q has a NUL, or is too large: at most %d bytes, and %d for all", diag.Printable(name), maxVariable, maxEnv)
		}
		env = append(env, variable+"="+value)
		if !Reserved(name) {
			env = append(env, name+"="+value)
		}
	}
	slices.Sort(env)
	return slices.Compact(env), nil
}

// Reserved reports whether a binding is not given to scripts by its own name: it is no name of a
// variable, or shells, linkers and interpreters read that variable to decide what to run.
func Reserved(binding string) bool {
	name := strings.ToUpper(binding)
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return true
		}
	}
	switch name {
	case "", "_", "PATH", "HOME", "TMPDIR", "TMP", "TEMP", "ENV", "IFS", "CDPATH", "SHELL", "SHELLOPTS", "BASHOPTS", "PS1", "PS4", "PROMPT_COMMAND", "POSIXLY_CORRECT",
		"GLOBIGNORE", "FUNCNEST", "EXECIGNORE", "PWD", "OLDPWD", "UID", "EUID", "USER", "LOGNAME", "EDITOR", "VISUAL", "PAGER", "BROWSER", "LESSOPEN", "LESSCLOSE", "LANGUAGE", "LANG",
		"TERM", "TERMINFO", "PATHEXT", "COMSPEC", "SYSTEMROOT", "WINDIR", "APPDATA", "USERPROFILE", "GCONV_PATH", "HOSTALIASES", "LOCPATH", "NLSPATH", "PSMODULEPATH":
		return true
	}
	for _, prefix := range []string{"SKL_", "LD_", "DYLD_", "BASH_", "PYTHON", "NODE_", "NPM_", "GIT_", "SSH_", "PERL", "RUBY", "JAVA_", "GLIBC_", "MALLOC_", "LC_", "XDG_", "DOTNET_", "COMPLUS_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return strings.HasSuffix(name, "_PROXY")
}

// Variable is the name of the variable in which a script finds a binding.
func Variable(binding string) string {
	return "SKL_ARG_" + strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, binding)
}

// scriptFile is where the text stands for its interpreter to read.
func (d *Dispatcher) scriptFile(s run.Script, ext string) (path string, remove func(), err error) {
	if s.Section == "" && d.own != nil {
		if p, err := d.own.find(s.Path); err == nil {
			text, err := p.readAll(maxScript)
			rel := p.rel()
			p.close()
			if err == nil && string(text) == s.Text {
				return filepath.Join(d.own.real, filepath.FromSlash(rel)), func() {}, nil
			}
		}
	}
	dir, remove, err := scratch.New("script")
	if err != nil {
		return "", nil, failed("making a directory for %s: %w", s.Path, cause(err))
	}
	path = filepath.Join(dir, "script"+ext)
	if err := os.WriteFile(path, []byte(s.Text), 0o600); err != nil {
		remove()
		return "", nil, failed("writing %s: %w", s.Path, cause(err))
	}
	return path, remove, nil
}

// interpreters are directories that programs may read besides the system's: those of interpreters that the person
// has elsewhere, such as with pyenv or nvm.
type interpreters struct {
	once sync.Once
	dirs []string
}

func (c *core) interpreterDirs() []string {
	c.interp.once.Do(func() {
		seen := map[string]bool{}
		for _, name := range []string{"bash", "git", "node", "python3", "pwsh"} {
			path, ok := c.look(name)
			if !ok {
				continue
			}
			for _, p := range []string{path, unshimmed(path)} {
				if dir := c.prefixOf(p); dir != "" && !seen[dir] {
					seen[dir] = true
					c.interp.dirs = append(c.interp.dirs, dir)
				}
			}
		}
	})
	return c.interp.dirs
}

// prefixOf is the directory that a program needs to be read: the one above bin, unless that holds more than the
// program's own files; then the program alone. It is "" for programs of the system.
func (c *core) prefixOf(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	for _, system := range []string{"/usr/", "/bin/", "/sbin/", "/lib/", "/opt/homebrew/", "/System/", "/Library/"} {
		if strings.HasPrefix(real, system) && !strings.HasPrefix(real, "/usr/local/") {
			return ""
		}
	}
	dir := filepath.Dir(real)
	prefix := filepath.Dir(dir)
	if name := filepath.Base(dir); name != "bin" && name != "shims" {
		prefix = dir
	}
	home := c.config.Home
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	switch {
	case filepath.Dir(prefix) == prefix, prefix == "/usr", prefix == "/usr/local", prefix == "/opt":
		return real
	case home != "" && (prefix == home || holds(prefix, home)), filepath.Base(prefix) == ".local", holds(prefix, c.work.real):
		return real
	}
	return prefix
}

// holds reports whether dir is path or above it.
func holds(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// unshimmed is the program that a shim of pyenv runs, which saves running the shim; path itself when it is none.
func unshimmed(path string) string {
	dir := filepath.Dir(path)
	if filepath.Base(dir) != "shims" {
		return path
	}
	root := filepath.Dir(dir)
	data, err := os.ReadFile(filepath.Join(root, "version"))
	if err != nil || len(data) > 1024 {
		return path
	}
	for _, version := range strings.Fields(string(data)) {
		real := filepath.Join(root, "versions", version, "bin", filepath.Base(path))
		if filepath.IsLocal(version) && isExecutable(real) {
			return real
		}
	}
	return path
}

var _ run.Tools = (*Dispatcher)(nil)
