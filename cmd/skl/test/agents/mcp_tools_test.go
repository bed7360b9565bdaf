package agents

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/resolver/source/git/gittest"
)

const controllerFile = `/** Lets people in. */
export class AuthController {
  /** Checks the token of a request. */
  authenticate(req: Request): boolean {
    return this.validate(req.token);
  }

  validate(token: string): boolean {
    return token.length > 0;
  }
}
`

const loginFile = `import { AuthController } from "./auth";

const auth = new AuthController();

export function login(req: Request) {
  return auth.authenticate(req);
}
`

// tool calls a tool, and returns its text and its structured answer. An error has to be {code, message, hint}.
func (a *agent) tool(name string, arguments map[string]any) (text string, value map[string]any, isError bool) {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), time.Minute)
	defer cancel()
	result, err := a.session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		a.t.Fatalf("%s %v: %v\n%s", name, arguments, err, a.stderr)
	}
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			text += t.Text
		}
	}
	value, _ = result.StructuredContent.(map[string]any)
	return text, value, result.IsError
}

// finds calls a tool that must answer.
func (a *agent) finds(name string, arguments map[string]any) map[string]any {
	a.t.Helper()
	text, value, isError := a.tool(name, arguments)
	if isError || value == nil {
		a.t.Fatalf("%s %v says %s", name, arguments, text)
	}
	return value
}

// denied calls a tool that must answer with an error of this code, and returns its message and hint.
func (a *agent) denied(code, name string, arguments map[string]any) string {
	a.t.Helper()
	text, value, isError := a.tool(name, arguments)
	var said struct{ Code, Message, Hint string }
	if err := json.Unmarshal([]byte(text), &said); err != nil || !isError || said.Message == "" {
		a.t.Errorf("%s %v: %v, error %v: %s", name, arguments, err, isError, text)
		return ""
	}
	if said.Code != code || value["code"] != code {
		a.t.Errorf("%s %v: got %+v and %v, want %s", name, arguments, said, value, code)
	}
	return said.Message + " | " + said.Hint
}

// names lists the tools that the server offers.
func (a *agent) names() (names []string) {
	a.t.Helper()
	for tool, err := range a.session.Tools(a.t.Context(), nil) {
		if err != nil {
			a.t.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

// handles are the answer's, which must have at least one.
func handles(t *testing.T, answer map[string]any, list string) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, h := range harness.Objects(t, answer[list]) {
		out = append(out, h.(map[string]any))
	}
	if len(out) == 0 {
		t.Fatalf("no %s in %v", list, answer)
	}
	return out
}

// codeProject is a place with a little repository.
func codeProject(t *testing.T) *harness.Place {
	p := harness.NewPlace(t)
	harness.WriteFile(t, filepath.Join(p.Project, "src", "auth.ts"), controllerFile)
	harness.WriteFile(t, filepath.Join(p.Project, "src", "login.ts"), loginFile)
	harness.WriteFile(t, filepath.Join(p.Project, "README.md"), "# Demo\n\n## Installation\n\nCopy the files.\n")
	return p
}

// Each group has its tools, and a server offers those of the groups that it is asked for.
func TestMCPGroups(t *testing.T) {
	code := []string{"canopy_agent_readme", "canopy_evidence_pack", "canopy_expand", "canopy_index", "canopy_invalidate", "canopy_query", "canopy_status"}
	skills := []string{"skill_read", "skill_search"}
	run := []string{"skill_resume", "skill_run"}
	author := []string{"skill_apply", "skill_look", "skill_plan"}
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{nil, slices.Concat(code, skills, run, author)},
		{[]string{"--tools", "code"}, code},
		{[]string{"--tools", "skills"}, skills},
		{[]string{"--tools", "run"}, run},
		{[]string{"--tools", "author"}, author},
		{[]string{"--tools", "skills,code"}, slices.Concat(code, skills)},
		{[]string{"--tools", "code", "--tools", "run"}, slices.Concat(code, run)},
	} {
		slices.Sort(tt.want)
		if got := newAgent(t, codeProject(t), tt.args...).names(); !slices.Equal(got, tt.want) {
			t.Errorf("skl mcp %q offers %q, want %q", tt.args, got, tt.want)
		}
	}
}

// The guidance of a pack says in each field the same of a question that is answered, one that is half answered, and one that cannot be.
func TestMCPGuidance(t *testing.T) {
	p := codeProject(t)
	a := newAgent(t, p, "--tools", "code")
	for _, tt := range []struct {
		name, question string
		stop           bool
		action, band   string
		least, most    float64 // confidence
		expand, more   float64
		next, why      string
	}{
		{"answered", "authenticate", true, "expand_then_answer", "high", 0.7, 1, 2, 0, "Expand the first 2 suggested handles, then answer.", "has the name that was asked for"},
		{"nearly answered", "where is the token of a request checked", false, "refine_query", "medium", 0.35, 0.7, 3, 1, "Ask once more with", "has nearly all words of the question"},
		{"half answered", "token expiry in the session database", false, "refine_query", "low", 0.001, 0.35, 2, 1, "Ask once more with", "shares few words with the question"},
		{"not answerable", "kubernetes ingress annotations", false, "refine_query", "low", 0, 0, 0, 2, "Ask again with other words", "Nothing matches."},
	} {
		pack := a.finds("canopy_evidence_pack", map[string]any{"pattern": tt.question, "path": p.Project})
		g := harness.HasFields(t, "guidance", pack["guidance"], "stop_querying recommended_action suggested_expand_count max_additional_queries confidence confidence_band next_step rationale")
		confidence, ok := g["confidence"].(float64)
		next, why := fmt.Sprint(g["next_step"]), fmt.Sprint(g["rationale"])
		if g["stop_querying"] != tt.stop || g["recommended_action"] != tt.action || g["confidence_band"] != tt.band || !ok || confidence < tt.least || confidence > tt.most ||
			g["suggested_expand_count"] != tt.expand || g["max_additional_queries"] != tt.more || !strings.HasPrefix(next, tt.next) || !strings.Contains(why, tt.why) {
			t.Errorf("a question that is %s has the guidance %v", tt.name, g)
		}
		if suggested := harness.Objects(t, pack["expand_suggestion"]); float64(len(suggested)) < tt.expand {
			t.Errorf("a question that is %s has %d handles to expand", tt.name, len(suggested))
		}
	}
}

// A client calls every tool of the group code, in the order that the readme tells agents.
func TestMCPCode(t *testing.T) {
	p := codeProject(t)
	before := harness.Listing(p.Project, func(path string) string { b, _ := os.ReadFile(path); return string(b) })
	a := newAgent(t, p, "--tools", "code")
	here := func(arguments map[string]any) map[string]any {
		arguments["path"] = p.Project
		return arguments
	}
	if text, _, isError := a.tool("canopy_agent_readme", nil); isError || !strings.Contains(text, "canopy_evidence_pack") {
		t.Errorf("the readme is %q", text)
	}
	if s := a.finds("canopy_status", here(map[string]any{})); s["files_total"] != 3.0 || s["files_indexed"] != 0.0 {
		t.Errorf("before anything was asked: %v", s)
	}
	pack := a.finds("canopy_evidence_pack", here(map[string]any{"pattern": "checks the token"}))
	guidance := harness.HasFields(t, "guidance", pack["guidance"], "stop_querying recommended_action suggested_expand_count max_additional_queries confidence confidence_band next_step rationale")
	harness.OneOf(t, "recommended_action", guidance["recommended_action"], "refine_query expand_then_answer")
	if h := handles(t, pack, "handles")[0]; h["preview"] != nil || h["content"] != nil || h["score"] == nil {
		t.Errorf("a handle of a pack is %v", h)
	}
	class := handles(t, a.finds("canopy_query", here(map[string]any{"symbol": "AuthController", "kind": "definition"})), "handles")[0]
	if class["node_type"] != "class" || class["file_path"] != "src/auth.ts" || fmt.Sprint(class["line_range"]) != "[2 11]" {
		t.Errorf("the class is %v", class)
	}
	uses := a.finds("canopy_query", here(map[string]any{"symbol": "authenticate", "kind": "reference"}))
	if r := handles(t, uses, "ref_handles")[0]; r["ref_type"] != "call" || r["qualifier"] != "auth" || r["preview"] != "return auth.authenticate(req);" {
		t.Errorf("the use is %v", r)
	}
	methods := a.finds("canopy_query", here(map[string]any{"parent": "AuthController"}))
	method := handles(t, methods, "handles")[0]
	text, value, isError := a.tool("canopy_expand", here(map[string]any{"handle_ids": []any{method["id"], class["id"]}}))
	if want := "// " + method["id"].(string) + "\nauthenticate(req: Request): boolean {\n"; isError || !strings.HasPrefix(text, want) || len(harness.Objects(t, value["contents"])) != 2 {
		t.Errorf("expand gave\n%s\nand %v", text, value)
	}
	if r := a.finds("canopy_index", here(map[string]any{"glob": "**/*.md"})); r["added"] == nil || r["generation"] == nil {
		t.Errorf("index gave %v", r)
	}
	if r := a.finds("canopy_invalidate", here(map[string]any{"glob": "src/**"})); r["invalidated"] != 2.0 {
		t.Errorf("invalidate gave %v", r)
	}
	// A forgotten file is found again, and so is one written a moment ago.
	handles(t, a.finds("canopy_query", here(map[string]any{"symbol": "login"})), "handles")
	harness.WriteFile(t, filepath.Join(p.Project, "new.py"), "def fresh():\n    return 1\n")
	if h := handles(t, a.finds("canopy_query", here(map[string]any{"symbol": "fresh"})), "handles")[0]; h["file_path"] != "new.py" {
		t.Errorf("the new file gave %v", h)
	}
	os.Remove(filepath.Join(p.Project, "new.py"))
	if after := harness.Listing(p.Project, func(path string) string { b, _ := os.ReadFile(path); return string(b) }); !slices.Equal(before, after) {
		t.Errorf("the project holds\n%q\nand held\n%q", after, before)
	}
	// The path may be left out if there is one root only.
	handles(t, a.finds("canopy_query", map[string]any{"symbol": "login"}), "handles")
	// The person sees what agents did. It is written when the server has ended.
	a.session.Close()
	if out := p.Must("index", "feedback"); !strings.Contains(out, "searches in 7 days") {
		t.Errorf("index feedback says %s", out)
	}
}

// Errors are answers with a code and a hint, so that a model can mend its call.
func TestMCPCodeErrors(t *testing.T) {
	p := codeProject(t)
	outside := filepath.Join(filepath.Dir(p.Project), "other")
	harness.WriteFile(t, filepath.Join(outside, "outside.txt"), "needle\n")
	a := newAgent(t, p, "--tools", "code")
	for _, tt := range []struct {
		code, tool string
		arguments  map[string]any
		says       string
	}{
		{"path_refused", "canopy_query", map[string]any{"path": outside, "pattern": "needle"}, p.Project},
		{"path_refused", "canopy_query", map[string]any{"path": filepath.Join(p.Project, "..", "other"), "pattern": "needle"}, p.Project},
		{"path_refused", "canopy_query", map[string]any{"path": "/", "pattern": "needle"}, p.Project},
		{"path_refused", "canopy_status", map[string]any{"path": filepath.Join(outside, "nowhere")}, p.Project},
		{"invalid_request", "canopy_query", map[string]any{"path": "src", "pattern": "x"}, "not absolute"},
		{"invalid_request", "canopy_status", map[string]any{"path": filepath.Join(p.Project, "nowhere")}, "nowhere"},
		{"query_parse", "canopy_query", map[string]any{"path": p.Project}, "pattern"},
		{"query_parse", "canopy_query", map[string]any{"path": p.Project, "query": "(grp \"x\")"}, "grep"},
		{"glob_pattern", "canopy_query", map[string]any{"path": p.Project, "pattern": "x", "glob": "["}, "["},
		{"invalid_request", "canopy_query", map[string]any{"path": p.Project, "patern": "x"}, "pattern"},
		{"invalid_request", "canopy_query", map[string]any{"path": p.Project, "pattern": 7}, "string"},
		{"invalid_request", "canopy_query", map[string]any{"path": p.Project, "pattern": "x", "kind": "function"}, "definition"},
		{"invalid_request", "canopy_query", map[string]any{"path": p.Project, "pattern": "x", "limit": 1000}, "200"},
		{"invalid_request", "canopy_query", map[string]any{"path": p.Project, "pattern": "x", "max_tokens": -1}, "max_tokens"},
		{"invalid_request", "canopy_expand", map[string]any{"path": p.Project}, "handle"},
		{"handle_not_found", "canopy_expand", map[string]any{"path": p.Project, "handle_ids": []any{"h000000000000000000000000"}}, "query again"},
		{"handle_not_found", "canopy_expand", map[string]any{"path": p.Project, "handle_ids": []any{"src/auth.ts"}}, "query again"},
		{"invalid_request", "canopy_index", map[string]any{"path": p.Project}, "glob"},
		{"glob_pattern", "canopy_invalidate", map[string]any{"path": p.Project, "glob": "{"}, "{"},
	} {
		if said := a.denied(tt.code, tt.tool, tt.arguments); !strings.Contains(said, tt.says) {
			t.Errorf("%s %v says %q, which has no %q", tt.tool, tt.arguments, said, tt.says)
		}
	}
	if os.Symlink(outside, filepath.Join(p.Project, "link")) == nil {
		a.denied("path_refused", "canopy_query", map[string]any{"path": filepath.Join(p.Project, "link"), "pattern": "needle"})
		if r := a.finds("canopy_query", map[string]any{"path": p.Project, "literal": "needle"}); r["total_matches"] != 0.0 {
			t.Errorf("what a link leads to was searched: %v", r)
		}
	}
	// With --path another directory may be searched, and the working directory may not.
	a = newAgent(t, p, "--tools", "code", "--path", outside)
	handles(t, a.finds("canopy_query", map[string]any{"path": outside, "literal": "needle"}), "handles")
	a.denied("path_refused", "canopy_query", map[string]any{"path": p.Project, "pattern": "login"})
}

// Every tool keeps its answer within max_tokens, about.
func TestMCPMaxTokens(t *testing.T) {
	p := codeProject(t)
	for i := range 60 {
		harness.WriteFile(t, filepath.Join(p.Project, "many", fmt.Sprintf("f%02d.go", i)), fmt.Sprintf("package many\n\n// Needle%d finds a needle in a stack of hay, and says how long that took.\nfunc Needle%d() string {\n\treturn %q\n}\n", i, i, strings.Repeat("hay ", 100)))
	}
	installed(t, p, "long", "---\nname: long\ndescription: Is long. Use when there is time.\n---\n\n# Long\n\n"+strings.Repeat("Say what is to be said, and say it again.\n", 2000))
	a := newAgent(t, p)
	ids := []any{}
	for _, h := range handles(t, a.finds("canopy_query", map[string]any{"pattern": "needle", "limit": 60}), "handles") {
		ids = append(ids, h["id"])
	}
	for _, tt := range []struct {
		tool      string
		arguments map[string]any
	}{
		{"canopy_query", map[string]any{"pattern": "needle", "limit": 60}},
		{"canopy_query", map[string]any{"pattern": "needle", "limit": 60, "expand_budget": 50000}},
		{"canopy_evidence_pack", map[string]any{"pattern": "needle", "max_handles": 60, "max_per_file": 8}},
		{"canopy_expand", map[string]any{"handle_ids": ids[:8]}},
		{"canopy_status", map[string]any{}},
		{"canopy_index", map[string]any{"glob": "**"}},
		{"canopy_invalidate", map[string]any{"glob": "many/**"}},
		{"canopy_agent_readme", map[string]any{}},
		{"skill_search", map[string]any{"task": "say what is to be said"}},
		{"skill_read", map[string]any{"name": "long"}},
	} {
		tt.arguments["max_tokens"] = 300
		text, value, isError := a.tool(tt.tool, tt.arguments)
		structured, _ := json.Marshal(value)
		if most := 300*4 + 600; isError || len(text) > most || tt.tool != "canopy_expand" && len(structured) > most {
			t.Errorf("%s: error %v, %d bytes of text, %d of structure", tt.tool, isError, len(text), len(structured))
		}
	}
}

const sectionedSkill = `---
name: forms
description: Fills PDF forms and flattens them. Use when a PDF form is to be filled.
---

# Forms

Fill them with care.

## Rules

Never guess a value.

### Dates

Write them as 2026-01-31.

## Tools

Take what is there.
`

// A client finds a skill for a task, and reads of it what it needs.
func TestMCPSkills(t *testing.T) {
	p := harness.NewPlace(t)
	dir := filepath.Join(p.Home, ".agents", "skills")
	harness.WriteFile(t, filepath.Join(dir, "forms", "SKILL.md"), sectionedSkill)
	harness.WriteFile(t, filepath.Join(dir, "forms", "references", "fields.md"), "# Fields\n\nEach has a name.\n")
	harness.WriteFile(t, filepath.Join(dir, "forms", "assets", "logo.bin"), "\x00\x01\x02")
	harness.WriteFile(t, filepath.Join(dir, "notes", "SKILL.md"), "---\nname: notes\ndescription: Takes notes of meetings. Use when somebody speaks.\n---\n\n# Notes\n")
	harness.WriteFile(t, filepath.Join(p.Project, ".agents", "skills", "loose", "SKILL.md"), "---\nname: loose\ndescription: Of the project. Use when asked.\n---\n")
	a := newAgent(t, p, "--tools", "skills")

	found := a.finds("skill_search", map[string]any{"task": "fill the fields of a pdf form"})
	best := handles(t, found, "skills")[0]
	if best["name"] != "forms" || best["installed"] != true || len(harness.Objects(t, best["why"])) == 0 || len(best["description"].(string)) > 120 {
		t.Errorf("the best is %v", best)
	}
	if found := a.finds("skill_search", map[string]any{"task": "bake a chocolate cake"}); found["no_good_match"] != true {
		t.Errorf("for a cake: %v", found)
	}
	a.denied("invalid_request", "skill_search", map[string]any{"task": " "})
	a.denied("invalid_request", "skill_search", map[string]any{"task": "x", "limit": 1000})

	whole := a.finds("skill_read", map[string]any{"name": "forms"})
	if whole["text"] != sectionedSkill || whole["next"] != nil || fmt.Sprint(whole["files"]) != "[SKILL.md assets/logo.bin references/fields.md]" {
		t.Errorf("the skill is %v", whole)
	}
	if part := a.finds("skill_read", map[string]any{"name": "forms", "section": "rules"}); part["text"] != "## Rules\n\nNever guess a value.\n\n### Dates\n\nWrite them as 2026-01-31.\n\n" && part["text"] != "## Rules\n\nNever guess a value.\n\n### Dates\n\nWrite them as 2026-01-31." {
		t.Errorf("the section is %q", part["text"])
	}
	if other := a.finds("skill_read", map[string]any{"name": "forms", "file": "references/fields.md"}); other["text"] != "# Fields\n\nEach has a name.\n" || other["files"] != nil {
		t.Errorf("the other file is %v", other)
	}
	// Pages put together are the file.
	text, next := "", 0
	for range 100 {
		page := a.finds("skill_read", map[string]any{"name": "forms", "max_tokens": 20, "next": next})
		text += page["text"].(string)
		if page["next"] == nil {
			next = 0
			break
		}
		if next == 0 && fmt.Sprint(page["sections"]) != "[Forms Rules Dates Tools]" {
			t.Errorf("the sections are %v", page["sections"])
		}
		next = int(page["next"].(float64))
	}
	if text != sectionedSkill || next != 0 {
		t.Errorf("the pages are\n%s", text)
	}
	for _, tt := range []struct {
		code      string
		arguments map[string]any
		says      string
	}{
		{"unknown_skill", map[string]any{"name": "form"}, "forms"},
		{"mcp_path", map[string]any{"name": "./forms"}, "by name"},
		{"mcp_path", map[string]any{"name": filepath.Join(dir, "forms")}, "by name"},
		{"untrusted", map[string]any{"name": "loose"}, "skl trust allow"},
		{"no_such_file", map[string]any{"name": "forms", "file": "../notes/SKILL.md"}, ""},
		{"no_such_file", map[string]any{"name": "forms", "file": "references/field.md"}, "references/fields.md"},
		{"not_text", map[string]any{"name": "forms", "file": "assets/logo.bin"}, "logo.bin"},
		{"no_such_section", map[string]any{"name": "forms", "section": "rulez"}, "Rules"},
		{"invalid_page", map[string]any{"name": "forms", "next": 100000}, "next"},
		{"invalid_page", map[string]any{"name": "forms", "next": -1}, "next"},
		{"invalid_request", map[string]any{"name": "forms", "fil": "x"}, "file"},
		{"invalid_request", map[string]any{"name": 7}, "string"},
		{"invalid_request", map[string]any{}, "name"},
		{"invalid_request", map[string]any{"name": "forms", "max_tokens": -5}, "max_tokens"},
	} {
		if said := a.denied(tt.code, "skill_read", tt.arguments); !strings.Contains(said, tt.says) {
			t.Errorf("skill_read %v says %q, which has no %q", tt.arguments, said, tt.says)
		}
	}
}

// With --service the tools ask a service for what is committed, and the files here for what is not.
func TestMCPService(t *testing.T) {
	gittest.Need(t)
	p := codeProject(t)
	os.RemoveAll(filepath.Join(p.Project, ".git"))
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "state"}} {
		gittest.Git(t, p.Project, args...)
	}
	cmd := p.Command("index", "serve", "--addr", "127.0.0.1:0", "--json")
	cmd.Env = append(cmd.Env, "SKL_INDEX_KEY=open-sesame")
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	var ready harness.ReadyLine
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || json.Unmarshal([]byte(line), &ready) != nil {
		t.Fatalf("the service says %q, %v", line, err)
	}
	refused := newAgent(t, p, "--tools", "code", "--service", ready.URL)
	refused.denied("unauthorized", "canopy_query", map[string]any{"symbol": "login"})

	cmd2 := p.Command("mcp", "--tools", "code", "--service", ready.URL)
	cmd2.Env = append(cmd2.Env, "SKL_INDEX_KEY=open-sesame")
	a := &agent{t: t, p: p, stderr: new(bytes.Buffer)}
	cmd2.Stderr = a.stderr
	a.connect(&mcp.CommandTransport{Command: cmd2})
	committed := handles(t, a.finds("canopy_query", map[string]any{"symbol": "login", "kind": "definition"}), "handles")[0]
	if committed["source"] != "service" || committed["commit_sha"] == nil || committed["generation"] == nil {
		t.Errorf("what is committed: %v", committed)
	}
	if s := a.finds("canopy_status", map[string]any{}); s["files_indexed"].(float64) < 2 || s["files_indexed"] != s["files_total"] || s["file_discovery"] != "watch" {
		t.Errorf("status over the service: %v", s)
	}
	harness.WriteFile(t, filepath.Join(p.Project, "src", "login.ts"), "// Another one.\n"+loginFile)
	edited := handles(t, a.finds("canopy_query", map[string]any{"symbol": "login", "kind": "definition"}), "handles")[0]
	if edited["source"] != "local" || fmt.Sprint(edited["line_range"]) != "[6 8]" {
		t.Errorf("what is edited: %v", edited)
	}
	if text, _, isError := a.tool("canopy_expand", map[string]any{"handle_ids": []any{edited["id"]}}); isError || !strings.Contains(text, "function login") {
		t.Errorf("expand gave %s", text)
	}
}
