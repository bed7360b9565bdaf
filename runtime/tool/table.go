package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/spell"
)

// A handler is a tool.
type handler struct {
	namespace, name string // namespace is "" for a built-in tool
	wire            string
	description     string
	schema          json.RawMessage
	effect          Effect
	prepare         func(d *Dispatcher, input json.RawMessage) (*use, error)
	script          bool // bash, as a script of the skill uses it
	own             bool // an [Own]
	treeOnly        bool // no model may call it
}

// String is the canonical name.
//
//go:noinline
func (h *handler) String() string { return skill.Tool{Namespace: h.namespace, Name: h.name}.String() }

// overlaps reports whether calls of h change nothing, so that those of one turn may run at once.
func (h *handler) overlaps() bool {
	return h.effect == None || h.namespace == "" && h.name == "fetch"
}

// orScript is h in a sentence.
func (h *handler) orScript() string {
	switch {
	case h == nil:
		return "a tool"
	case h.script:
		return "running a script (bash)"
	}
	return h.String()
}

// closed says why h has nothing to work on.
func (h *handler) closed(d *Dispatcher) error {
	if h.namespace == "" && (h.name == "write" || h.name == "edit" || h.name == "bash" && !d.config.Off || h.reads() && (d.own == nil || d.own.closed != nil)) {
		return d.work.closed
	}
	return nil
}

// reads reports whether h is a tool that reads files, those of the skill too.
func (h *handler) reads() bool {
	return h.namespace == "" && (h.name == "read" || h.name == "glob" || h.name == "grep" || h.name == "list")
}

// canonicalOf is the built-in tool that a host's spelling means. The second result is false for a
// name that no host is known to use; the first is "" for one that skl has no tool for.
func canonicalOf(name string) (string, bool) {
	switch name {
	case "read", "Read", "read_file", "readFile", "view", "View", "cat", "NotebookRead":
		return "read", true
	case "write", "Write", "write_file", "writeFile", "create_file", "createFile":
		return "write", true
	case "edit", "Edit", "edit_file", "editFiles", "str_replace", "replace", "MultiEdit":
		return "edit", true
	case "glob", "Glob", "file_search", "find_files", "fileSearch":
		return "glob", true
	case "grep", "Grep", "grep_search", "search_file_content", "search_files", "textSearch":
		return "grep", true
	case "list", "ls", "LS", "list_dir", "list_directory", "listDirectory":
		return "list", true
	case "bash", "Bash", "shell", "Shell", "sh", "exec", "execute", "terminal", "run_terminal_cmd", "run_in_terminal",
		"runInTerminal", "run_shell_command", "run_command", "execute_command", "local_shell", "BashOutput":
		return "bash", true
	case "fetch", "Fetch", "WebFetch", "web_fetch", "webfetch", "fetch_webpage":
		return "fetch", true
	case "finalize":
		return "finalize", true
	case "Task", "task", "Agent", "agent", "runSubagent", "TodoWrite", "todowrite", "todoread", "TodoRead", "update_plan", "WebSearch", "web_search",
		"NotebookEdit", "KillShell", "KillBash", "ExitPlanMode", "AskUserQuestion", "Skill", "skill", "SlashCommand", "apply_patch", "patch", "search",
		"powershell", "pwsh", "PowerShell", "python", "node", "memory", "save_memory", "google_web_search", "multiedit":
		return "", true
	}
	return "", false
}

func builtinNames() []string {
	return []string{"bash", "edit", "fetch", "glob", "grep", "list", "read", "write"}
}

// A table holds all tools. Built-in ones are there from the start; those of servers join once, all
// together, so that their wire names do not depend on who was first.
type table struct {
	builtins []*handler // sorted
	servers  []*server  // sorted by name

	mu      sync.Mutex // guards what follows
	started bool
	remote  []*handler // sorted by canonical name
}

func (t *table) init(servers []Server, client *origin.Client, config *Config) error {
	t.builtins = builtins()
	if config.Finalize {
		i, _ := slices.BinarySearchFunc(t.builtins, finalize.name, func(h *handler, name string) int { return cmp.Compare(h.name, name) })
		t.builtins = slices.Insert(t.builtins, i, finalize)
	}
	if err := t.addOwn(config.Own); err != nil {
		return err
	}
	for _, s := range servers {
		if err := s.check(); err != nil {
			return err
		}
		if slices.ContainsFunc(t.servers, func(o *server) bool { return o.config.Name == s.Name }) {
			return diag.New(diag.Misuse, CodeServer, "two MCP servers are called %q", s.Name)
		}
		t.servers = append(t.servers, &server{config: s, client: client, shared: config})
	}
	order.Sort(t.servers, func(a, b *server) int { return cmp.Compare(a.config.Name, b.config.Name) })
	return nil
}

// start starts the servers that wanted wants, at the same time, and waits. Only the first call does something.
func (t *table) start(wanted func(*server) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started {
		return
	}
	t.started = true
	var wg sync.WaitGroup
	found := make([][]*handler, len(t.servers))
	for i, s := range t.servers {
		if wanted(s) {
			wg.Go(func() { found[i] = s.start() })
		}
	}
	wg.Wait()
	t.remote = slices.Concat(found...)
	order.Sort(t.remote, func(a, b *handler) int { return cmp.Compare(a.String(), b.String()) })
	t.nameWires()
}

// nameWires gives each remote tool a wire name of its own, which no built-in tool or spelling of one has.
func (t *table) nameWires() {
	taken := map[string]bool{}
	for _, h := range t.remote {
		base := sanitized(h.namespace) + "__" + sanitized(h.name)
		wire := base[:min(len(base), maxWire)]
		for n := 2; taken[wire] || isBuiltin(wire); n++ {
			suffix := fmt.Sprintf("_%d", n)
			wire = base[:min(len(base), maxWire-len(suffix))] + suffix
		}
		taken[wire] = true
		h.wire = wire
	}
}

const maxWire = 64

func isBuiltin(name string) bool {
	_, known := canonicalOf(name)
	return known
}

// sanitized is a name with what providers do not take replaced.
//
//go:noinline
func sanitized(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' {
			return '_'
		}
		return r
	}, s)
}

func (t *table) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.started = true // none is started after this
	var first error
	for _, s := range t.servers {
		if err := s.close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// all returns the tools: built-in ones, then those of servers that have been started.
func (t *table) all() []*handler {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append(slices.Clone(t.builtins), t.remote...)
}

// must is a built-in tool.
func (t *table) must(name string) *handler {
	for _, h := range t.builtins {
		if h.name == name {
			return h
		}
	}
	panic("tool: no built-in tool " + name)
}

// builtin finds the tool of a canonical built-in name, which no server can take.
func (t *table) builtin(name string) (*handler, bool) {
	for _, h := range t.builtins {
		if h.name == name {
			return h, true
		}
	}
	return nil, false
}

// spelled reports whether name is one of h's: canonical, on the wire, an alias.
func (h *handler) spelled(name string) bool {
	if h.own {
		return name == h.name
	}
	if h.namespace == "" {
		canonical, _ := canonicalOf(name)
		return canonical == h.name
	}
	return name == h.String() || name == h.wire ||
		name == sanitized(h.namespace)+"__"+sanitized(h.name) || name == sanitized(h.namespace)+"_"+sanitized(h.name)
}

// candidates are all tools that a name can mean.
func (t *table) candidates(name string) []*handler {
	if h, ok := t.builtin(name); ok {
		return []*handler{h}
	}
	var out []*handler
	for _, h := range t.all() {
		if h.namespace != "" && (name == h.String() || name == h.wire) {
			return []*handler{h} // names that are unique
		}
		if h.spelled(name) {
			out = append(out, h)
		}
	}
	return out
}

// resolve finds the one tool that name means.
func (t *table) resolve(name string) (*handler, error) {
	switch found := t.candidates(name); len(found) {
	case 1:
		return found[0], nil
	case 0:
		var all []string
		for _, h := range t.all() {
			all = append(all, h.String())
		}
		return nil, diag.New(diag.Refused, CodeUnknown, "there is no tool %q", diag.Brief(name, 200)).Meant(spell.Nearest(bounded(name, 200), all, 3)...)
	default:
		var meant []string
		for _, h := range found {
			meant = append(meant, h.String())
		}
		return nil, diag.New(diag.Refused, CodeUnknown, "the tool name %q can mean %s", diag.Brief(name, 200), strings.Join(meant, " or ")).Meant(meant...)
	}
}

// means reports whether an entry that allows means h: its name has to mean nothing else.
func (t *table) means(entry skill.Tool, h *handler) bool {
	if entry.Namespace != "" {
		return entry.Namespace == h.namespace && (entry.Name == "*" || entry.Name == h.name)
	}
	if b, ok := t.builtin(entry.Name); ok {
		return b.name == h.name && h.namespace == ""
	}
	// An alias that a server's tool could have as well is nobody's, whether or not the server has been started.
	others := h.namespace == "" && t.prefixed(entry.Name)
	for _, o := range t.all() {
		others = others || o.String() != h.String() && o.spelled(entry.Name)
	}
	return !others && h.spelled(entry.Name)
}

// couldMean reports whether an entry that denies means h, perhaps among others.
func (t *table) couldMean(entry skill.Tool, h *handler) bool {
	if entry.Namespace != "" {
		return entry.Namespace == h.namespace && (entry.Name == "*" || entry.Name == h.name)
	}
	return h.spelled(entry.Name)
}

// checkDenials refuses a denial that nothing can ever answer to: it is a misspelling, and would deny nothing. One whose pattern means
// nothing would deny more than anybody wrote.
// A namespace that no server has is let be: nothing of it can be called.
func (t *table) checkDenials(p *skill.Tools, owner string) error {
	for _, e := range p.Deny {
		if err := wrongPattern(e); err != nil {
			return diag.New(diag.Refused, "glob_pattern", "tools.deny of %s has %s, but %w", owner, diag.Printable(e.String()), err)
		}
		if _, ok := t.builtin(e.Name); e.Namespace != "" || ok || isBuiltin(e.Name) {
			continue
		}
		if t.prefixed(e.Name) {
			continue
		}
		return diag.New(diag.Refused, CodeUnknown, "tools.deny of %s names %q, and there is no such tool", owner, diag.Printable(e.String())).
			Meant(spell.Nearest(e.Name, builtinNames(), 3)...)
	}
	return nil
}

// prefixed reports whether a bare name could be one of a server's tool.
func (t *table) prefixed(name string) bool {
	return slices.ContainsFunc(t.servers, func(s *server) bool { return strings.HasPrefix(name, sanitized(s.config.Name)+"_") })
}

// unreachable says why an entry of tools.allow means nothing; "" when it does, or when that is not known yet.
func (t *table) unreachable(e skill.Tool) string {
	if e.Namespace == "" {
		canonical, known := canonicalOf(e.Name)
		if _, ok := t.builtin(cmp.Or(canonical, e.Name)); ok {
			if err := wrongPattern(e); err != nil {
				return err.Error()
			}
			return ""
		}
		if canonical == finalize.name {
			return "a tree ends by itself"
		}
		if known {
			return "skl has no such tool"
		}
	}
	t.mu.Lock()
	started := t.started
	t.mu.Unlock()
	named := slices.ContainsFunc(t.servers, func(s *server) bool {
		return s.config.Name == e.Namespace
	}) || e.Namespace == "" && t.prefixed(e.Name)
	switch {
	case !named && e.Namespace != "":
		return fmt.Sprintf("no MCP server is called %q", e.Namespace)
	case !named:
		return "there is no such tool"
	case !started:
		return ""
	}
	for _, h := range t.all() {
		if t.means(e, h) {
			if e.Pattern != "" {
				return "a tool of a server has no patterns"
			}
			return ""
		}
	}
	return "its server has no such tool, or was not started"
}
