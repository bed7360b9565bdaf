// Package hosts knows the agent programs that load skills: which directories
// each reads, in which order, where its skills are written, what shows that it
// is used, and what it does with several copies of one name.
//
// The facts are a table inside the binary (table.txt). Where a program was
// measured, the measurement holds; where only its directories are known, the
// first directory that has a name wins. Programs change: the answers are about
// the versions that were measured, and "unstable" is one of them.
//
// The package touches no file, environment or clock of its own: an [Env]
// brings them.
package hosts

import (
	_ "embed"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/spell"
)

// Canonical is the directory below a project or a home directory that holds
// the one real copy of every skill; most hosts read it, others get links.
const Canonical = ".agents/skills"

// A Scope says whose directories are meant.
type Scope string

const (
	Project Scope = "project"
	User    Scope = "user"
)

// A Rule says what a host does with several copies of one name.
type Rule string

const (
	FirstWins Rule = "first" // the strongest is loaded, the others are hidden
	ListsAll  Rule = "all"   // every copy is shown to the model, none is preferred
	AnyWins   Rule = "any"   // one is loaded, and not always the same
)

// A Host is one agent program. Project directories are relative to the
// project; user directories and Detected paths may start with "~" or hold
// ${VAR} and ${VAR:-default}. All are slash-separated.
type Host struct {
	ID   string // "claude-code"
	Name string // "Claude Code"

	ProjectWrite string   // where its project skills are written
	ProjectReads []string // strongest first
	UserWrite    string   // "" if the host has no user skills
	UserReads    []string // strongest first
	Detect       []string // any exists: used on this machine
	Evidence     []string // any exists in a project: used there

	Rule      Rule
	UserFirst bool     // user directories are stronger than the project's
	ByDir     bool     // a skill's identity is its directory's name, not the frontmatter's
	Flat      bool     // skills are found directly below a root only
	Unlinked  bool     // a SKILL.md that is a link is not read
	Whole     bool     // a SKILL.md directly in a root makes the root one skill, which hides those below it
	Merged    bool     // of several paths to one directory it knows the one that it meets first, in no order
	ByKind    bool     // a stronger project directory is so at every level; else the nearer level comes first
	Trust     bool     // project skills need the host's own trust in the folder
	CwdOnly   bool     // project skills are found in the working directory only, not in its parents
	Honours   []string // keys by which a skill limits itself, and that the host keeps: see skill.Gate. Those of a host that was not measured are not known
	Measured  bool     // the host was started to see what it honours
	Withholds bool     // the model is not told of a skill with "disable-model-invocation: true" or "paths", but of another copy of its name

	Undotted []string // names of directories whose skills directories are not searched in those that start with a dot; "*" is all
}

// An Env is what the answers depend on outside the table. Nil funcs deny: no
// variable is set, nothing exists.
type Env struct {
	Home    string // the user's home directory
	Project string // top directory of the project; "" for none
	Cwd     string // inside Project; "" means Project itself
	Getenv  func(string) string
	Stat    func(path string) (fs.FileInfo, error)

	// ReadFile reads a file of an agent's settings, in which it keeps what its user trusts too. nil: there is none.
	ReadFile func(path string) ([]byte, error)
	// ReadProject reads one of those in Project, which somebody else may have written: never through a link that leads out. nil: there is none.
	ReadProject func(path string) ([]byte, error)
	// Real follows the links in a path. nil: there are none.
	Real func(path string) (string, error)
}

//go:embed table.txt
var text string

// table is parsed on first use; it is never changed.
var table = sync.OnceValue(func() []Host { return parseTable(text) })

// All returns every known host, in the order of the table.
// The caller must not change what the hosts point to.
func All() []Host { return slices.Clone(table()) }

// Configuration returns the files and directories, below a project or a home, by which the known hosts are configured or in which
// they look for skills. Of a directory with a dot all belongs to its host, unless hosts share it or the project has it for other
// things too; directories without a dot are left out, since any project may call its own so.
func Configuration() []string {
	var out []string
	for _, h := range table() {
		for _, p := range slices.Concat(h.ProjectReads, h.Evidence, h.UserReads, h.Detect) {
			if _, byDefault, ok := strings.Cut(p, ":-"); ok {
				p = strings.Replace(byDefault, "}", "", 1)
			}
			p = strings.TrimPrefix(p, "~/")
			top, rest, _ := strings.Cut(p, "/")
			switch {
			case top == "" || top[0] == '$' || top == ".local":
				continue
			case top == ".config":
				p = top + "/" + strings.Split(rest, "/")[0]
			case top == ".github" || top == ".agents":
			case top[0] == '.':
				p = top
			case rest != "" || p == "skills":
				continue
			}
			if !slices.Contains(out, p) {
				out = append(out, p)
			}
		}
	}
	return out
}

// NameOf is what people call the host with that id; an id that is not known is its own name.
func NameOf(id string) string {
	if h, ok := Find(id); ok {
		return h.Name
	}
	return id
}

// Find returns the host with that id.
//
//go:noinline
func Find(id string) (Host, bool) {
	for _, h := range table() {
		if h.ID == id {
			return h, true
		}
	}
	return Host{}, false
}

// Suggest returns the ids that someone who wrote id may have meant, best
// first, at most five.
func Suggest(id string) []string {
	id = strings.ToLower(strings.TrimSpace(id))
	if id == "" {
		return nil
	}
	type guess struct {
		id   string
		cost int
	}
	var guesses []guess
	for _, h := range table() {
		cost := spell.Distance(id, h.ID, 99)
		switch {
		case h.ID == id || strings.EqualFold(h.Name, id):
			cost = 0
		case slices.Contains(strings.Split(h.ID, "-"), id):
			cost = 1
		case len(id) > 2 && (strings.Contains(h.ID, id) || strings.Contains(strings.ToLower(h.Name), id)):
			cost = 2
		case cost > max(1, len(id)/3):
			continue
		}
		guesses = append(guesses, guess{h.ID, cost})
	}
	order.Stable(guesses, func(a, b guess) int { return a.cost - b.cost })
	var ids []string
	for _, g := range guesses[:min(len(guesses), 5)] {
		ids = append(ids, g.id)
	}
	return ids
}

// parseTable reads the table's notation. The table is part of the program,
// so a mistake in it panics; a test reads it.
func parseTable(text string) []Host {
	var hosts []Host
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		if line[0] != ' ' {
			id, name, _ := strings.Cut(line, " ")
			own := "." + id
			hosts = append(hosts, Host{
				ID: id, Name: name, Rule: FirstWins,
				ProjectWrite: own + "/skills", ProjectReads: []string{own + "/skills"},
				UserWrite: "~/" + own + "/skills", UserReads: []string{"~/" + own + "/skills"},
				Detect: []string{"~/" + own}, Evidence: []string{own},
			})
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		hosts[len(hosts)-1].set(key, value)
	}
	return hosts
}

func (h *Host) set(key, value string) {
	var paths []string
	if value != "-" && value != "" {
		paths = strings.Split(value, " | ")
	}
	switch key {
	case "project":
		h.ProjectWrite, h.ProjectReads = written(paths)
		h.Evidence = nil
		if top, _, _ := strings.Cut(h.ProjectWrite, "/"); top[0] == '.' && top != ".agents" {
			h.Evidence = []string{top}
		}
	case "user":
		h.UserWrite, h.UserReads = written(paths)
	case "detect":
		h.Detect = paths
	case "evidence":
		h.Evidence = paths
	case "rule":
		rule, rest, _ := strings.Cut(value, " ")
		h.Rule, h.UserFirst = Rule(rule), rest == "user-first"
	case "identity":
		h.ByDir = value == "dir"
	case "flat":
		h.Flat = true
	case "undotted":
		if h.Undotted = paths; paths == nil {
			h.Undotted = []string{"*"}
		}
	case "unlinked":
		h.Unlinked = true
	case "whole":
		h.Whole = true
	case "honours":
		h.Honours, h.Measured = paths, true
	case "withholds":
		h.Withholds = true
	case "merged":
		h.Merged = true
	case "kinds":
		h.ByKind = true
	case "trust":
		h.Trust = true
	case "cwd":
		h.CwdOnly = true
	default:
		panic(fmt.Sprintf("hosts: table: unknown key %q of %s", key, h.ID))
	}
}

// written splits off the mark of the directory that is written.
func written(paths []string) (write string, reads []string) {
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "*"); ok {
			p, write = rest, rest
		}
		reads = append(reads, p)
	}
	if write == "" && len(reads) > 0 {
		write = reads[0]
	}
	return write, reads
}

// Expand turns a path of the table into an absolute one in the operating
// system's form. It is "" when the path depends on a variable that is not set.
// A variable's value counts only if it is absolute or starts with "~/".
func (e Env) Expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "${"); ok {
		expr, tail, _ := strings.Cut(rest, "}")
		name, byDefault, _ := strings.Cut(expr, ":-")
		value := byDefault
		if e.Getenv != nil {
			if v := e.Getenv(name); filepath.IsAbs(v) || strings.HasPrefix(v, "~/") {
				value = v
			}
		}
		if value == "" {
			return ""
		}
		path = value + tail
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		if e.Home == "" {
			return ""
		}
		path = e.Home + path[1:]
	}
	return filepath.Clean(filepath.FromSlash(path))
}

func (e Env) exists(path string) bool {
	if e.Stat == nil || path == "" {
		return false
	}
	_, err := e.Stat(path)
	return err == nil
}

// evidence returns the first of paths that exists in the project.
func (e Env) evidence(paths []string) string {
	if e.Project == "" {
		return ""
	}
	for _, p := range paths {
		if e.exists(filepath.Join(e.Project, filepath.FromSlash(p))) {
			return p
		}
	}
	return ""
}
