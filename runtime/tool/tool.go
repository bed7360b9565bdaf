// Package tool is what the leaves, subagents and scripts of a skill can do:
// the built-in tools, those of MCP servers that a person named, those that skl
// gives to one skill ([Own]), and the one place where each call is allowed or denied.
//
//   - A call is decided for the handler that its name resolves to, never for
//     the name: "bash", "Bash", "run_terminal_cmd" are one tool.
//   - Every policy must allow it: the skill's tools.allow and tools.deny, the
//     person's, and those that [Dispatcher.Narrow] added. A denial wins over
//     everything. A subagent's policy is added to the others, so it can only
//     narrow. A script of the skill counts as bash.
//   - Every effect must be declared by the skill, if it declares any, and must
//     have been granted: by --allow, by an earlier answer, or by an answer now. Where
//     nobody can be asked, the call waits: nothing happened, and its error is a diag.NeedsInput.
//     read, glob, grep and list have none; write and edit need filesystem,
//     fetch network, bash, scripts and MCP tools external. An MCP tool that the skill's tools.allow names is declared by that.
//   - Files are reached below the working directory only, and below the skill's
//     own directory for reading. Links are followed by hand, so that what was
//     judged is what is opened. Only regular files are opened.
//   - A directory that sandbox.CheckDir refuses, such as the person's home, is out of reach as a whole, for programs too unless
//     Config.Off.
//   - Files whose names say that they hold secrets (secrets.Named) are not read, edited or searched, nor named in a command line,
//     unless --allow names them: read(.env). What programs do with the files of the working directory nobody sees.
//   - write and edit change nothing in .git, the skill, a protected root, or what agents, editors,
//     shells, CI services and the like act on by themselves, in whatever directory: see spots.
//   - Programs run through Config.Exec, which confines them. They get no
//     environment but Config.Env, and no network but Config.Hosts.
//   - Programs are kept from the same, but for directories that package managers fill;
//     of .git from config and hooks, also of submodules and of repositories below, and from what leads git elsewhere.
//     On Linux with namespaces (tier 1) and on macOS they cannot change it. Where the
//     directory that would hold it is not there, for most of what is missing itself, as all of it below the working directory,
//     and in all other tiers for everything, it is compared afterwards: a difference
//     is an error that names the files, and is put back.
//     With Config.Off nothing is kept or compared.
//   - fetch sends no credential and reaches only hosts of Config.Hosts.
//
// A long result, of more than 16 KiB, is kept in Config.Results where the model may read: it is given the first lines
// and the last ones, and reads on with read and grep, in result:N. What read gives is never kept: its path is there.
//
// Limits: an input has at most 1 MiB; a result 256 KiB, of fetch 1 MiB, of bash 64 KiB
// (its start and its end), one that is kept 1 MiB, and all that are kept 64 MiB; read, write and edit take files of at most 16 MiB, grep
// of 4 MiB; glob, grep and list give 1,000 results and visit 200,000 entries;
// fetch has 30 s, bash 120 s by default and 10 min at most, a script 10 min and 1 MiB of output.
//
// A pattern in parentheses belongs to its tool: a path with *, ** and {a,b} for
// the tools of files, a command with * for bash (see [Commands]), a host or an
// address with * for fetch. An MCP tool has no patterns: allowed with one it is
// out of reach, denied with one it is denied.
//
// It follows corteza.skill/v1 (spec/corteza.skill-v1.md). A name in tools.allow
// that nothing answers to is out of reach, and [Dispatcher.Could] says so; such
// a name in tools.deny is an error of [New].
//
// Errors are *diag.Error with the codes below.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// Codes of errors.
const (
	CodeUnknown    = "tool_unknown"      // no such tool, or more than one
	CodeDenied     = "tool_denied"       // a policy, or a call that may only read
	CodeEffect     = "effect_denied"     // an effect to which a person said no
	CodeUnasked    = "effect_unanswered" // an effect to which nobody agreed yet, and nobody can be asked
	CodeUndeclared = "effect_undeclared" // an effect that the skill does not declare
	CodeOutside    = "path_outside"      // not below the working directory
	CodeProtected  = "path_protected"    // inside, but never written
	CodeInput      = "tool_input"        // an input that the tool does not take
	CodeFailed     = "tool_failed"       // the tool did not do it
	CodeServer     = "tool_server"       // an MCP server does not start or answer
	CodeInvoke     = "invocation_deny"   // model_invocation does not allow it
	CodeAllow      = "invalid_allow"     // --allow holds something unknown
)

const (
	maxInput  = 1 << 20
	maxResult = 256 << 10
	maxFile   = 16 << 20
)

// A Config says what there is and what is allowed. Its zero value but for WorkDir
// can read files below WorkDir and nothing else; a nil func denies.
type Config struct {
	Skill       string       // its name, for questions
	Digest      string       // of the skill's tree: what an answer is remembered for; "" for this run only
	WorkDir     string       // existing directory, absolute
	SkillDir    string       // the skill's own, readable; "" for none
	Protected   []string     // further directories that are never written: roots of skills
	Agents      []string     // names of files and directories of agents, with slashes, that are never written in whatever directory
	Keys        []string     // directories of skl's own, with what the person agreed to: whatever holds one, or lies in one, is out of reach
	Aside       string       // an existing directory for what programs planted and had undone; "": it is not kept
	Results     string       // a directory for long results of calls, made when it is needed, of this run alone; "": they are cut
	Policy      *skill.Tools // the skill's; nil: no limit
	SideEffects []string     // the skill's side_effects; nil: undeclared, so that each effect is asked for
	Finalize    bool         // there is a tool finalize, by which a skill without a tree gives its result
	OwnFiles    bool         // files below SkillDir may be read although tools.allow names no read: they are what the skill's text goes on with
	Person      *skill.Tools // what the person allows at most; nil: no limit
	Grants      []Grant      // what the person agreed to before
	Limit       *Grant       // what may be granted at most, whoever agrees; nil: no limit
	Hosts       []string     // "host", "host:port" or "*.host" that fetch and programs may reach

	Consent    func(ctx context.Context, a Ask) (Answer, error) // asks the person; nil: nobody can be asked
	Remembered Store                                            // earlier answers; nil: none

	Exec   func(ctx context.Context, c sandbox.Command) (sandbox.Result, error) // sandbox.Run; nil: no programs
	Probe  func() sandbox.Report                                                // sandbox.Probe; nil: whether Floor holds here shows when a program runs
	Floor  sandbox.Tier                                                         // least confinement of programs
	Off    bool                                                                 // run programs unconfined: the person said so
	Env    []string                                                             // NAME=value for programs; nil: PATH and LANG of a plain system
	Path   string                                                               // the person's PATH, where interpreters and servers are looked up; "" is that of Env
	Home   string                                                               // the person's home, which neither WorkDir nor an interpreter's directory may hold; "" is unknown
	Proxy  func(string) string                                                  // HTTPS_PROXY, HTTP_PROXY, NO_PROXY for fetch; nil: no proxy
	Client *origin.Client                                                       // for MCP servers with a URL; nil: a new one

	Servers []Server
	Own     []Own // tools that skl gives to this skill

	// Lacking is told, once, which tools models are not shown since they cannot work here. It is called when a model is shown tools for the first time.
	Lacking func([]Lack)
}

// A Dispatcher lets tools be called. Its methods may be called concurrently. It implements run.Tools.
type Dispatcher struct {
	*core
	policies []policy
	narrowed bool
}

// core is what a Dispatcher and those narrowed from it share.
type core struct {
	config   Config
	base     []policy        // of the Dispatcher that New made
	declared map[Effect]bool // nil: undeclared
	work     *tree
	own      *tree // nil: the skill has no directory
	table    table
	files    sync.Mutex    // held over each change of a file, so that edits do not lose each other
	asking   chan struct{} // holds a token while nobody is asked
	answered sync.Mutex
	answers  map[Effect]bool // guarded by answered
	interp   interpreters
	marks    marks
	nest     nest
	crowded  atomic.Bool // there are too many files for a census
	told     sync.Once   // Config.Lacking was
	kept     keptResults
}

// New makes a Dispatcher. Its error names the denied tool that nothing answers
// to, the invalid server, or the directory that cannot be opened.
func New(config Config) (*Dispatcher, error) {
	c := &core{config: config, asking: make(chan struct{}, 1), answers: map[Effect]bool{}}
	c.asking <- struct{}{}
	c.marks = newMarks(c.config.Agents)
	if config.SideEffects != nil {
		c.declared = map[Effect]bool{}
		for _, e := range config.SideEffects {
			c.declared[Effect(e)] = e != string(None)
		}
	}
	if err := c.table.init(config.Servers, config.Client, &c.config); err != nil {
		return nil, err
	}
	d := &Dispatcher{core: c}
	for _, p := range []struct {
		tools *skill.Tools
		owner string
	}{{config.Policy, "the skill"}, {config.Person, "your policy"}} {
		if p.tools == nil {
			continue
		}
		if err := c.table.checkDenials(p.tools, p.owner); err != nil {
			return nil, err
		}
		d.policies = append(d.policies, policy{*p.tools, p.owner})
	}
	if err := c.openTrees(); err != nil {
		return nil, err
	}
	if config.Policy != nil && config.OwnFiles {
		d.policies[0].Tools = c.withOwnFiles(*config.Policy)
	}
	c.base = d.policies
	return d, nil
}

// withOwnFiles is p with leave to read files of the skill, if p names the tools that are allowed and no read.
func (c *core) withOwnFiles(p skill.Tools) skill.Tools {
	read := c.table.must("read")
	if !p.Limited || c.own == nil || strings.ContainsAny(c.own.prefix, "*?[]{}\\") || slices.ContainsFunc(p.Allow, func(t skill.Tool) bool { return c.table.means(t, read) }) {
		return p
	}
	p.Allow = append(slices.Clone(p.Allow), skill.Tool{Name: "read", Pattern: c.own.prefix + "**"})
	return p
}

func (c *core) openTrees() (err error) {
	if c.work, err = openTree(c.config.WorkDir, ""); err != nil {
		return err
	}
	c.work.closed, c.work.named = sandbox.CheckDir(c.work.real, c.config.Home, c.config.Keys...), c.namedByPerson
	protected := c.config.Protected
	if c.config.SkillDir != "" {
		prefix := "skill:"
		own, err := openTree(c.config.SkillDir, prefix)
		if err != nil {
			c.work.close()
			return err
		}
		own.readOnly, own.owner = true, "the skill"
		own.closed = sandbox.CheckDir(own.real, c.config.Home, c.config.Keys...)
		if rel, ok := c.work.relative(own.real); ok {
			own.prefix = strings.TrimPrefix(rel+"/", "./")
		}
		c.own, protected = own, append([]string{own.real}, protected...)
	}
	c.work.protect(protected, "the skill, or to a directory of skills")
	kept, seen := c.spotPaths()
	var there []string
	for _, name := range slices.Concat(kept, seen) {
		if path := c.inWork(name); isThere(path) {
			there = append(there, path)
		}
	}
	c.work.isSpot = c.marks.hold
	c.work.protect(there, "what programs act on by themselves")
	return nil
}

// Close stops the servers and releases the directories. On a narrowed Dispatcher it does nothing.
func (d *Dispatcher) Close() error {
	if d.narrowed {
		return nil
	}
	err := d.table.close()
	d.work.close()
	d.kept.close()
	if d.own != nil {
		d.own.close()
	}
	return err
}

// Narrow is d with one more policy, which a call has to pass besides all others: what a
// subagent gets. Whatever t says, it can call nothing that d cannot.
func (d *Dispatcher) Narrow(t skill.Tools) *Dispatcher {
	policies := append(d.policies[:len(d.policies):len(d.policies)], policy{t, "the subagent's policy"})
	return &Dispatcher{core: d.core, policies: policies, narrowed: true}
}

// For returns what may be called, by wire names, sorted. It starts the MCP servers that
// a policy lets through, at most once; one that does not start is left out, and [Dispatcher.Could] says why.
func (d *Dispatcher) For(readOnly bool) []model.Tool {
	d.startServers()
	d.tellLacks()
	var out []model.Tool
	for _, h := range d.table.all() {
		if h.treeOnly || d.reachable(h, readOnly) != nil {
			continue
		}
		description := h.description
		if patterns := d.patterns(h); patterns != "" {
			description += " Allowed here only: " + patterns + "."
		}
		if denials := d.harmlessOnly(); h == d.table.must("bash") && len(denials) > 0 {
			description += " Denied: " + strings.Join(denials, ", ") + ", and so every command that is not known to be harmless, such as cat, grep, find or git status."
		}
		out = append(out, model.Tool{Name: h.wire, Description: description, Schema: h.schema, ReadOnly: h.overlaps()})
	}
	return out
}

// Call runs the tool that name resolves to, if every rule lets it. The error is that of a call which did not take place:
// a diag.Refused, or CodeUnasked, a diag.NeedsInput. What went wrong in a call is in the result alone.
func (d *Dispatcher) Call(ctx context.Context, name string, input json.RawMessage, readOnly bool) (result model.ToolResult, canonical string, did run.Deed, err error) {
	h, err := d.resolve(name)
	if err != nil {
		return refusal(err), "", run.Deed{}, asRefused(err)
	}
	text, did, err := d.call(ctx, h, input, readOnly)
	whole := text
	text = d.given(h, text)
	if err != nil {
		r := refusal(err)
		return model.ToolResult{Text: ended(text) + r.Text, IsError: true}, h.String(), did, kept(err)
	}
	if whole == text {
		whole = ""
	}
	return model.ToolResult{Text: text, Whole: bounded(whole, maxKept)}, h.String(), did, nil
}

// kept is err if it kept a call from taking place, else nil.
func kept(err error) error {
	if isDenied(err) || errors.Is(err, diag.Code(CodeUnasked)) {
		return err
	}
	return nil
}

// asRefused is the error of a name that nothing answers to: such a call is refused, whatever the class of err.
func asRefused(err error) error {
	if isDenied(err) {
		return err
	}
	return diag.New(diag.Refused, CodeUnknown, "%w", err)
}

// call decides and then acts. The text may be there besides an error: what a program printed before it failed.
func (d *Dispatcher) call(ctx context.Context, h *handler, input json.RawMessage, readOnly bool) (text string, did run.Deed, err error) {
	if err := ctx.Err(); err != nil {
		return "", run.Deed{}, err
	}
	if err := d.reachable(h, readOnly); err != nil {
		return "", run.Deed{}, err
	}
	if h.treeOnly && !run.ByTree(ctx) {
		return "", run.Deed{}, diag.New(diag.Refused, CodeDenied, "%s is called by ops of the tree, and by no model", h)
	}
	u, err := h.prepare(d, input)
	if err != nil {
		return "", run.Deed{}, err
	}
	defer u.close()
	u.input = string(input)
	if err := d.permit(h, u); err != nil {
		return "", run.Deed{}, err
	}
	if err := d.consent(ctx, h.effect, h, u); err != nil {
		return "", run.Deed{}, err
	}
	text, err = u.do(ctx)
	return text, u.did, err
}

// resolve finds the handler that name means. Servers are started only for a name that could be theirs.
func (d *Dispatcher) resolve(name string) (*handler, error) {
	if h, ok := d.table.builtin(name); ok {
		return h, nil
	}
	if strings.Contains(name, "_") || strings.Contains(name, "::") {
		d.startServers()
	}
	return d.table.resolve(name)
}

// startServers starts the servers of which something could be called, by whomever: a subagent
// that is first does not decide for the others.
func (d *Dispatcher) startServers() {
	d.table.start(func(s *server) bool {
		_, _, err := d.effectOpen(External, &handler{namespace: s.config.Name, name: "*", effect: External})
		whole := &Dispatcher{core: d.core, policies: d.base}
		return err == nil && whole.couldReach(s.config.Name)
	})
}

// isDenied tells what a rule refused, also the sandbox's, from what went wrong.
func isDenied(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && e.Class == diag.Refused
}

// refusal is err as a model reads it.
func refusal(err error) model.ToolResult {
	text := err.Error()
	if isDenied(err) {
		text = "not allowed: " + text
	}
	return model.ToolResult{Text: bounded(text, maxResult), IsError: true}
}

// bounded is s as valid UTF-8 of at most limit bytes, and a note when something was cut.
func bounded(s string, limit int) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	if len(s) <= limit {
		return s
	}
	const note = "\n[cut: %d more bytes]"
	cut := limit - len(note) - 10
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + fmt.Sprintf(note, len(s)-cut)
}

// ReadFile reads a file of the working directory, of at most 16 MiB, for the tree itself: tools.allow
// does not limit it, a denial of read does.
func (d *Dispatcher) ReadFile(path string) ([]byte, error) {
	p, err := d.work.find(path)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := d.denied(d.table.must("read"), fileUse(p.shown())); err != nil {
		return nil, err
	}
	return p.readAll(maxFile)
}

// WriteFile replaces a file of the working directory, as the tool write does, and under the same rules.
func (d *Dispatcher) WriteFile(ctx context.Context, path string, data []byte) (run.Deed, error) {
	h := d.table.must("write")
	if err := d.reachable(h, false); err != nil {
		return run.Deed{}, err
	}
	u, err := d.prepareWrite(path, data)
	if err != nil {
		return run.Deed{}, err
	}
	defer u.close()
	u.input = string(data)
	if err := d.permit(h, u); err != nil {
		return run.Deed{}, err
	}
	if err := d.consent(ctx, h.effect, h, u); err != nil {
		return run.Deed{}, err
	}
	_, err = u.do(ctx)
	return u.did, err
}

// Exists reports whether there is something at path in the working directory.
func (d *Dispatcher) Exists(path string) (bool, error) {
	p, err := d.work.find(path)
	if err != nil {
		return false, err
	}
	defer p.close()
	return p.info != nil, nil
}

// failed makes the error of a tool that did not do its work.
//
//go:noinline
func failed(format string, args ...any) *diag.Error {
	return diag.New(diag.Failed, CodeFailed, format, args...)
}

// pathOf is Config.Path, or the PATH of the environment of programs.
func (c *core) pathOf() string {
	if c.config.Path != "" {
		return c.config.Path
	}
	for _, v := range c.env() {
		if rest, ok := strings.CutPrefix(v, "PATH="); ok {
			return rest
		}
	}
	return ""
}

// env is the environment of programs.
func (c *core) env() []string {
	if c.config.Env != nil {
		return c.config.Env
	}
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin", "LANG=C.UTF-8"}
}

// look finds a program on the person's PATH, never in the working directory or relative to it.
func (c *core) look(name string) (string, bool) {
	for _, dir := range filepath.SplitList(c.pathOf()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if path := filepath.Join(dir, name+exeSuffix); isExecutable(path) {
			if _, inside := c.work.relative(path); !inside {
				return path, true
			}
		}
	}
	return "", false
}

func isExecutable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && (exeSuffix != "" || info.Mode()&0o111 != 0)
}

const (
	defaultTimeout = 120 * time.Second
	maxTimeout     = 10 * time.Minute
)
