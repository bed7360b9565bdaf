package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// scripted is a model that answers by the path of the visit. Lines of its script:
//
//	PATH = text, or JSON where an object is asked for; several lines for one path answer one after another
//	PATH ! code message      an error
//	PATH $ tool {"in":"put"} a tool call before the next answer of that path, unless it is told that it was called
//	* = …                    any other path
type scripted struct {
	mu       sync.Mutex
	lines    map[string][]string // by path, what is left
	served   map[string]int      // answers given, by path
	requests map[string]model.Request
	alone    bool
	person   bool
	deaf     bool // makes its calls whatever it is told
}

func newScripted(script string) *scripted {
	m := &scripted{lines: map[string][]string{}, served: map[string]int{}, requests: map[string]model.Request{}}
	for line := range strings.Lines(script) {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		at, rest, _ := strings.Cut(line, " ")
		m.lines[at] = append(m.lines[at], strings.TrimSpace(rest))
	}
	return m
}

func (m *scripted) Name() string { return "scripted" }

func (m *scripted) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: !m.alone, Person: m.person}
}

func (m *scripted) Fill(ctx context.Context, r model.Request) (model.Reply, error) {
	line, tools, err := m.next(r)
	if err != nil {
		return model.Reply{}, err
	}
	for _, t := range tools {
		name, input, _ := strings.Cut(t, " ")
		if !m.deaf && strings.Contains(r.Prompt, t+"\n→") {
			continue // it was told that this was called, and what it gave
		}
		if r.Call == nil {
			return model.Reply{}, fmt.Errorf("%s: no tools", r.Path)
		}
		r.Call(ctx, name, json.RawMessage(input))
	}
	reply := model.Reply{Model: "scripted-1", Usage: model.Usage{Calls: 1, InputTokens: 10, OutputTokens: 5}}
	switch {
	case strings.HasPrefix(line, "! "):
		code, message, _ := strings.Cut(line[2:], " ")
		class := diag.Failed
		if code == model.CodeNoAnswer {
			class = diag.NeedsInput
		}
		return model.Reply{}, diag.New(class, code, "%s", message)
	case r.Schema == nil:
		reply.Text = line
	case json.Valid([]byte(line)):
		reply.Value = json.RawMessage(line)
	default:
		reply.Value, _ = json.Marshal(line)
	}
	return reply, nil
}

func (m *scripted) next(r model.Request) (line string, tools []string, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[r.Path] = r
	at := r.Path
	if _, ok := m.lines[at]; !ok {
		at = "*"
	}
	for len(m.lines[at]) > 0 {
		line = m.lines[at][0]
		if at != "*" {
			m.lines[at] = m.lines[at][1:]
		}
		if t, ok := strings.CutPrefix(line, "$ "); ok {
			tools = append(tools, t)
			continue
		}
		m.served[r.Path]++
		return strings.TrimPrefix(strings.TrimPrefix(line, "="), " "), tools, nil
	}
	return "", nil, diag.New(diag.Failed, model.CodeNoAnswer, "the script has no answer for %s (%s)\n%s", r.Path, r.Purpose, r.Prompt)
}

// project is the tools of a test: a folder in memory, scripts by their outputs, and a log of what acted.
type project struct {
	mu      sync.Mutex
	files   map[string]string
	scripts map[string]string // "path § section" → output; "! text" fails, "refuse" refuses
	acted   []string
	leave   error  // what needs a person's leave has this error; nil: it was given
	granted string // the input of a write that leave was given for
	env     map[string]string
	tools   map[string]string // those of ops: name → result; "! text" fails; a name with "!" behind it acts
}

func (p *project) For(readOnly bool) []model.Tool {
	tools := []model.Tool{{Name: "read"}}
	if !readOnly {
		tools = append(tools, model.Tool{Name: "write"})
	}
	for name := range p.tools {
		if harmless := !strings.HasSuffix(name, "!"); harmless || !readOnly {
			tools = append(tools, model.Tool{Name: strings.TrimSuffix(name, "!")})
		}
	}
	return tools
}

// scripted is the call of a tool that the fixture has.
func (p *project) scripted(name, input string) (result model.ToolResult, did run.Deed, ok bool) {
	out, ok := p.tools[name]
	if acts, found := p.tools[name+"!"]; found {
		out, ok, did = acts, true, run.Deed{Leave: run.LeaveAllow}
		p.acted = append(p.acted, name+" "+input)
	}
	text, failed := strings.CutPrefix(out, "! ")
	return model.ToolResult{Text: strings.ReplaceAll(text, `\n`, "\n"), IsError: failed}, did, ok
}

func (p *project) Call(_ context.Context, name string, input json.RawMessage, readOnly bool) (model.ToolResult, string, run.Deed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, acts := p.tools[name+"!"]; acts && p.leave != nil {
		return model.ToolResult{Text: "not allowed: " + p.leave.Error(), IsError: true}, name, run.Deed{}, p.leave
	}
	if result, did, ok := p.scripted(name, string(input)); ok {
		return result, strings.Replace(name, "__", "::", 1), did, nil
	}
	switch {
	case name == "read":
		return model.ToolResult{Text: "contents"}, "read", run.Deed{}, nil
	case name == "write" && !readOnly && p.leave != nil && string(input) != p.granted:
		return model.ToolResult{Text: "not allowed: " + p.leave.Error(), IsError: true}, "write", run.Deed{}, p.leave
	case name == "write" && !readOnly:
		p.acted = append(p.acted, "write "+string(input))
		return model.ToolResult{Text: "written"}, "write", run.Deed{Leave: run.LeaveAllow}, nil
	}
	return model.ToolResult{Text: "not allowed", IsError: true}, "", run.Deed{}, diag.New(diag.Refused, "tool_denied", "not allowed")
}

func (p *project) Reads(name string) bool {
	_, harmless := p.tools[name]
	return harmless
}

func (p *project) Identity(name string, input json.RawMessage) string {
	if name == "read" {
		return ""
	}
	return name + " " + string(input)
}

func (p *project) Script(_ context.Context, s run.Script) (model.ToolResult, run.Deed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave != nil {
		return model.ToolResult{}, run.Deed{}, p.leave
	}
	key := s.Path
	if s.Section != "" {
		key += " § " + s.Section
	}
	p.env = s.Env
	out, ok := p.scripts[key]
	switch {
	case !ok || out == "refuse":
		return model.ToolResult{}, run.Deed{}, diag.New(diag.Refused, "tool_denied", "the policy has no bash")
	case strings.HasPrefix(out, "! "):
		p.acted = append(p.acted, key)
		return model.ToolResult{Text: out[2:], IsError: true}, run.Deed{Leave: run.LeaveKept}, nil
	}
	p.acted = append(p.acted, key)
	return model.ToolResult{Text: strings.ReplaceAll(out, `\n`, "\n") + "\n"}, run.Deed{Leave: run.LeaveKept}, nil
}

func (p *project) ReadFile(name string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := p.files[path.Clean(name)]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}

func (p *project) WriteFile(_ context.Context, name string, data []byte) (run.Deed, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.leave != nil {
		return run.Deed{}, p.leave
	}
	name = path.Clean(name)
	p.files[name] = string(data)
	p.acted = append(p.acted, "file "+name)
	return run.Deed{Leave: run.LeaveAllow, Changed: []run.Change{{Path: name, What: run.Created, Bytes: int64(len(data))}}}, nil
}

func (p *project) Exists(name string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name = path.Clean(name)
	for f := range p.files {
		if f == name || strings.HasPrefix(f, name+"/") {
			return true, nil
		}
	}
	return false, nil
}

// fixture is one txtar file.
type fixture struct {
	archive *txtar.Archive
	plan    *plan.Plan
	refused error
	args    string
}

func (f *fixture) file(name string) string {
	for _, x := range f.archive.Files {
		if x.Name == name {
			return string(x.Data)
		}
	}
	return ""
}

// load reads the skill of a fixture. Notes "### …" at the end of a line are no part of it.
func load(t testing.TB, file string) *fixture {
	t.Helper()
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{archive: a}
	f.args = strings.TrimSpace(f.file("args"))
	skills := map[string]fstest.MapFS{}
	for _, x := range a.Files {
		dir, rest := "skill", strings.TrimPrefix(x.Name, "skill/")
		if after, ok := strings.CutPrefix(x.Name, "deps/"); ok {
			dir, rest, _ = strings.Cut(after, "/")
		} else if rest == x.Name {
			continue
		}
		if skills[dir] == nil {
			skills[dir] = fstest.MapFS{}
		}
		skills[dir][rest] = &fstest.MapFile{Data: uncomment(x.Data)}
	}
	parse := func(dir string) (*tree.Skill, error) {
		if skills[dir] == nil {
			return nil, nil
		}
		return tree.Load(skills[dir], "")
	}
	skill, err := parse("skill")
	if err != nil {
		t.Fatal(err)
	}
	delete(skills, "skill")
	f.plan, f.refused = plan.New(t.Context(), skill, plan.Options{NoLint: true, Find: parse, Depends: slices.Sorted(maps.Keys(skills))})
	return f
}

func uncomment(data []byte) []byte {
	var out strings.Builder
	for line := range strings.Lines(string(data)) {
		if i := strings.Index(line, " ### "); i >= 0 {
			line = strings.TrimRight(line[:i], " ") + "\n"
		}
		out.WriteString(line)
	}
	return []byte(out.String())
}

// world makes what a fixture runs in, anew.
func (f *fixture) world(t testing.TB) (*run.Runner, *scripted, *project) {
	t.Helper()
	m := newScripted(f.file("model"))
	p := &project{files: map[string]string{}, scripts: map[string]string{}}
	for _, x := range f.archive.Files {
		if name, ok := strings.CutPrefix(x.Name, "project/"); ok {
			p.files[name] = string(x.Data)
		}
	}
	for name, value := range pairs(f.file("scripts")) {
		p.scripts[name] = value
	}
	p.tools = pairs(f.file("tools"))
	r := &run.Runner{Model: m, Tools: p, KeepEvents: true, SkillsRoot: ".agents/skills"}
	for id, text := range pairs(f.file("answers")) {
		if r.Answers == nil {
			r.Answers = map[string]run.Answer{}
		}
		r.Answers[id] = run.Answer{Text: text}
	}
	for line := range strings.Lines(f.file("options")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch word {
		case "", "effects":
		case "deterministic":
			r.Deterministic = true
		case "sequential":
			r.AllowSequential = true
		case "settle":
			r.DispatchSettle = true
		case "alone":
			m.alone = true
		case "no-model":
			r.Model = nil
		case "no-tools":
			r.Tools = nil
		case "ask-negative":
			r.AskNegative = run.Negative(rest)
		case "until":
			r.Until = rest
		case "set":
			if r.Set == nil {
				r.Set = map[string]json.RawMessage{}
			}
			node, value, _ := strings.Cut(rest, " ")
			r.Set[node] = json.RawMessage(value)
		case "limit":
			var name string
			var n int
			fmt.Sscan(rest, &name, &n)
			switch name {
			case "calls":
				r.Limits.Calls = n
			case "tokens":
				r.Limits.Tokens = n
			case "nodes":
				r.Limits.Nodes = n
			case "iterations":
				r.Limits.Iterations = n
			case "depth":
				r.Limits.Depth = n
			}
		default:
			t.Fatalf("option %q", word)
		}
	}
	return r, m, p
}

func pairs(text string) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), " = "); ok {
			out[k] = v
		}
	}
	return out
}
