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

// ToHost adds the keys by which host, one of claude, copilot and codex, keeps the limits that src sets, at the end of the frontmatter;
// every other byte stays, and what has them stays as it is. Those of Codex stand in [PolicyFile], which policy says is needed. The losses are the limits that
// the host does not keep all the same.
//
// Its error is that of [Read], or cannot_convert.
func ToHost(src []byte, host string) (out []byte, policy bool, losses []string, err error) {
	r, err := convertible(src)
	if err != nil {
		return nil, false, nil, err
	}
	d, eol := r.doc, r.lineBreak()
	has := func(key string) bool { _, ok := find(r.fm.root, key); return ok }
	var text string
	if host == "codex" {
		policy = !d.Invocation.ByModel()
		if !d.Invocation.ByUser() {
			losses = append(losses, "people can start it in Codex: model_invocation is "+string(d.Invocation))
		}
	} else {
		if !d.Invocation.ByModel() && !has(KeyNoModel) {
			text += KeyNoModel + ": true" + eol
		}
		if !d.Invocation.ByUser() && !has("user-invocable") {
			text += "user-invocable: false" + eol
		}
	}
	if d.Tools != nil {
		if d.Tools.Limited {
			losses = append(losses, "tools.allow limits no agent")
		}
		switch {
		case len(d.Tools.Deny) == 0 || host == "claude" && has(KeyNoTools):
		case host == "claude":
			var names []string
			for _, t := range d.Tools.Deny {
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
			text += KeyNoTools + ": " + quoted(strings.Join(names, ", ")) + eol
		default:
			losses = append(losses, "tools.deny does not limit it there")
		}
	}
	if keys := d.RunOnly(); len(keys) > 0 {
		losses = append(losses, strings.Join(keys, ", ")+": no agent keeps it")
	}
	if r.fm.flowRoot && text != "" {
		return nil, false, nil, cannotConvert("the frontmatter is written in braces")
	}
	out = Apply(src, []diag.Fix{{Start: r.fm.end, End: r.fm.end, Text: text}})
	after, err := Read(out)
	if err != nil || after.Invocation != d.Invocation {
		return nil, false, nil, cannotConvert("the keys of %s say something else already", host).Hint("skl lint")
	}
	return out, policy, losses, nil
}
