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
	if v := d.V1; v != nil && v.Tools != nil {
		if v.Tools.Limited {
			losses = append(losses, "tools.allow limits no agent")
		}
		switch {
		case len(v.Tools.Deny) == 0 || host == "claude" && has(KeyNoTools):
		case host == "claude":
			var names []string
			for _, t := range v.Tools.Deny {
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
