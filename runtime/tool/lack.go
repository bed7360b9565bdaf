package tool

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/skill"
)

// A Lack is a tool, or uses of one, that the policies let through and that cannot work here, so that models are not shown it.
type Lack struct {
	Tool    string // as policies name it: "bash", "bash(gh *)", "tracker::*"
	Why     string
	Unknown bool // nothing answers to the name that tools.allow of the skill has
}

// tellLacks tells Config.Lacking, the first time that tools are shown to a model.
func (d *Dispatcher) tellLacks() {
	if d.config.Lacking == nil {
		return
	}
	d.told.Do(func() {
		if lacks := (&Dispatcher{core: d.core, policies: d.base}).lacks(); len(lacks) > 0 {
			d.config.Lacking(lacks)
		}
	})
}

// lacks are all lacks: of the built-in tools, of servers that were started, and of what tools.allow of the skill names.
func (d *Dispatcher) lacks() (out []Lack) {
	for _, h := range d.table.builtins {
		why := h.lack(d)
		if why == "" || d.open(h) != nil || h.name == "fetch" && !d.names(h) {
			continue // nobody is told of a tool that nobody asked for
		}
		out = append(out, Lack{Tool: h.String(), Why: why})
	}
	for _, s := range d.table.servers {
		if started, err := s.state(); started && err != nil {
			out = append(out, Lack{Tool: s.config.Name + "::*", Why: err.Error()})
		}
	}
	if d.config.Policy == nil {
		return out
	}
	bash := d.table.must("bash")
	for _, t := range d.config.Policy.Allow {
		if why := d.table.unreachable(t); why != "" && slices.ContainsFunc(out, func(l Lack) bool { return l.Tool == t.Namespace+"::*" }) {
			continue // its server does not start
		} else if why != "" {
			out = append(out, Lack{Tool: t.String(), Why: why, Unknown: wrongPattern(t) == nil})
		} else if program := d.absent(t); program != "" && bash.lack(d) == "" {
			out = append(out, Lack{Tool: t.String(), Why: notOnPath(program)})
		}
	}
	return out
}

// names reports whether tools.allow of the skill names h.
func (d *Dispatcher) names(h *handler) bool {
	return d.config.Policy != nil && d.config.Policy.Limited && d.anyMeans(d.config.Policy.Allow, h)
}

// lack says why h cannot work here, whoever allows it; "" if it can.
func (h *handler) lack(d *Dispatcher) string {
	if err := h.closed(d); err != nil {
		return err.Error()
	}
	return h.missing(d)
}

// missing says what h cannot do without; "" if it is there.
func (h *handler) missing(d *Dispatcher) string {
	if h.namespace != "" {
		return ""
	}
	switch h.name {
	case "bash":
		return d.bashMissing(h)
	case "fetch":
		if len(d.config.Hosts) == 0 {
			return "no host may be reached"
		}
	}
	return ""
}

// bashMissing says what running programs cannot do without. A script brings its own interpreter, and is no pattern's program.
func (d *Dispatcher) bashMissing(h *handler) string {
	if d.config.Exec == nil {
		return "programs cannot be run here"
	}
	if floor := d.config.Floor; floor != sandbox.None && !d.config.Off && d.config.Probe != nil {
		if r := d.config.Probe(); !r.Holds(floor) {
			return fmt.Sprintf("this machine confines programs with %s, and %s is asked for", r.Tier, floor)
		}
	}
	if h.script {
		return ""
	}
	if _, ok := d.shell(); !ok {
		return "neither bash nor sh is on PATH"
	}
	for _, p := range d.policies {
		if programs := d.allAbsent(p, h); len(programs) > 0 {
			return notOnPath(programs...)
		}
	}
	return ""
}

// allAbsent are the programs of the patterns by which p allows h, if none of them is here; nil if h is of use.
func (d *Dispatcher) allAbsent(p policy, h *handler) (programs []string) {
	if !p.Limited {
		return nil
	}
	for _, t := range p.Allow {
		if !d.table.means(t, h) {
			continue
		}
		program := d.absent(t)
		if program == "" {
			return nil
		}
		programs = append(programs, program)
	}
	return programs
}

func notOnPath(programs ...string) string {
	programs = slices.Compact(slices.Sorted(slices.Values(programs)))
	if len(programs) == 1 {
		return programs[0] + " is not on PATH"
	}
	return "none of " + strings.Join(programs, ", ") + " is on PATH"
}

// absent is the program that a pattern of bash begins with, if it is on no PATH of programs. It is "" for a program that is there, and where
// a pattern does not say which one it means: one by a path, by a pattern itself, one of the shell, a script of the skill.
func (d *Dispatcher) absent(t skill.Tool) string {
	if t.Pattern == "" || !d.table.means(t, d.table.must("bash")) || exeSuffix != "" {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimSuffix(t.Pattern, ":*"), " ")
	if name == "" || strings.ContainsAny(name, `*?[]{}()<>|&;$"'\=~/`) || ofShell(name) {
		return ""
	}
	for _, dir := range filepath.SplitList(d.pathOf()) {
		if !filepath.IsAbs(dir) || isExecutable(filepath.Join(dir, name)) {
			return ""
		}
	}
	if d.ownsFile(name) {
		return ""
	}
	return name
}

// ownsFile reports whether the skill has a file or directory at path.
func (d *Dispatcher) ownsFile(path string) bool {
	if d.own == nil {
		return false
	}
	p, err := d.own.find(path)
	if err != nil {
		return false
	}
	defer p.close()
	return p.info != nil
}

// ofShell reports whether a shell does name without a program: its commands, its reserved words.
func ofShell(name string) bool {
	switch name {
	case ".", ":", "[", "alias", "bg", "break", "builtin", "caller", "cd", "command", "continue", "declare", "dirs", "echo", "enable", "eval", "exec", "exit",
		"export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "mapfile", "popd", "printf", "pushd", "pwd", "read",
		"readarray", "readonly", "return", "set", "shift", "shopt", "source", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias",
		"unset", "wait", "if", "for", "while", "until", "case", "select", "function", "time", "!":
		return true
	}
	return false
}
