package skill

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// PolicyFile is where Codex reads who may start a skill, and PolicyText what it says of one that the model may not start.
const (
	PolicyFile = "agents/openai.yaml"
	PolicyText = "policy:\n  " + KeyNoImplicit + ": false\n"
)

// claudeTools are tools of corteza.skill/v1 as Claude Code calls them.
var claudeTools = map[string]string{
	"bash": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "grep": "Grep", "glob": "Glob", "list": "LS", "fetch": "WebFetch", "web_search": "WebSearch",
}

// claudeAlone are tools of Claude Code that skl run has nothing like.
const claudeAlone = " Agent AskUserQuestion BashOutput EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree KillBash KillShell LSP ListMcpResourcesTool Monitor " +
	"NotebookEdit NotebookRead PowerShell ReadMcpResourceTool SendMessage Skill SlashCommand Task TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate " +
	"TodoRead TodoWrite ToolSearch Workflow "

// claudeTool is the tool that Claude Code calls by a name, perhaps with a pattern; zero for one that skl run has nothing like. Its error is that of [ParseTool].
func claudeTool(name string) (Tool, error) {
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, _ := strings.Cut(rest, "__")
		if tool == "" {
			tool = "*"
		}
		return ParseTool(server + "::" + tool)
	}
	t, err := ParseTool(name)
	if err != nil || t.Namespace != "" {
		return t, err
	}
	for own, known := range claudeTools {
		if t.Name == known {
			t.Name = own
		}
	}
	switch {
	case t.Name == "MultiEdit":
		t.Name = "edit"
	case strings.Contains(claudeAlone, " "+t.Name+" "):
		return Tool{}, nil
	}
	return t, nil
}

// isKnownTool reports whether a name is that of a tool, to Claude Code or in corteza.skill/v1.
func isKnownTool(name string) bool {
	t, err := claudeTool(name)
	return err == nil && (claudeTools[t.Name] != "" || t == (Tool{}))
}

// toHost adds the keys by which the host of a target keeps the limits that src sets, at the end of the frontmatter; every other byte
// stays, and what has them stays as it is. Those of Codex stand in [PolicyFile]. The losses are the limits that the host does not keep
// all the same.
//
// Its error is that of [Read], or cannot_convert.
func toHost(src []byte, target string) (Translation, error) {
	r, err := convertible(src)
	if err != nil {
		return Translation{}, err
	}
	d, eol := r.doc, r.lineBreak()
	var t Translation
	text := r.switches(target)
	if target == "codex" {
		t.Policy = !d.Invocation.ByModel()
		if !d.Invocation.ByUser() {
			t.Losses = append(t.Losses, d.enforce("model_invocation", "people can start it in Codex: model_invocation is "+string(d.Invocation)))
		}
	}
	if d.Tools != nil {
		if d.Tools.Limited {
			t.Losses = append(t.Losses, d.enforce("tools.allow", "tools.allow limits no agent"))
		}
		switch {
		case len(d.Tools.Deny) == 0 || target == "claude" && r.has(KeyNoTools):
		case target == "claude":
			text += KeyNoTools + ": " + quoted(strings.Join(claudeNames(d.Tools.Deny), ", ")) + eol
		default:
			t.Losses = append(t.Losses, d.enforce("tools.deny", "tools.deny does not limit it there"))
		}
	}
	for _, key := range d.RunOnly() {
		t.Losses = append(t.Losses, d.enforce(key, key+": no agent keeps it"))
	}
	if r.fm.flowRoot && text != "" {
		return Translation{}, cannotConvert("the frontmatter is written in braces")
	}
	if text != "" {
		t.Losses = append(t.Losses, Loss{Code: LossEncoding, Field: "model_invocation", From: "model_invocation", To: "top level", Severity: diag.SeverityInfo,
			Text: "keys of " + target + " are added at the end, and later conversions leave them"})
	}
	t.Text = Apply(src, []diag.Fix{{Start: r.fm.end, End: r.fm.end, Text: text}})
	after, err := Read(t.Text)
	if err != nil || after.Invocation != d.Invocation {
		return Translation{}, cannotConvert("the keys of %s say something else already", target).Hint("skl lint")
	}
	return t, nil
}

func (r *reader) has(key string) bool { _, ok := find(r.fm.root, key); return ok }

// switches are the lines that tell a host who may start the skill.
func (r *reader) switches(target string) (text string) {
	if target == "codex" {
		return ""
	}
	if !r.doc.Invocation.ByModel() && !r.has(KeyNoModel) {
		text += KeyNoModel + ": true" + r.lineBreak()
	}
	if !r.doc.Invocation.ByUser() && !r.has(keyUser) {
		text += keyUser + ": false" + r.lineBreak()
	}
	return text
}

// claudeNames are tools as Claude Code calls them, each once.
func claudeNames(tools []Tool) []string {
	var names []string
	for _, t := range tools {
		name, rest, _ := strings.Cut(t.String(), "(")
		if known := claudeTools[name]; known != "" {
			name = known
		}
		if rest != "" {
			name += "(" + rest
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
