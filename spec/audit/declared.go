package audit

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// declared reads what a SKILL.md says of itself. One that cannot be read declares nothing; lint says why.
func (a *auditor) declared(src []byte) {
	doc, err := skill.Read(src)
	if err != nil {
		return
	}
	line := func(key string) int {
		for _, f := range doc.Fields {
			if f.Key == key {
				return f.KeySpan.Line
			}
		}
		return 1
	}
	for _, t := range doc.AllowedTools {
		a.add(Tool, t, line("allowed-tools"))
	}
	for _, f := range doc.Fields {
		if f.Key == "hooks" {
			a.hooks(f.Value)
		}
		if f.Key == "command-tool" && f.Value.Text != "" { // OpenClaw calls it without a model
			a.add(Tool, f.Value.Text, f.KeySpan.Line)
		}
		if f.Key == "context" && f.Value.Text == "fork" || f.Key == "agent" && f.Value.Text != "" {
			a.add(Agent, "", f.KeySpan.Line)
		}
	}
	if t := doc.Tools; t != nil {
		for _, allowed := range t.Allow {
			a.add(Allow, allowed.String(), line("tools"))
		}
		if t.Limited && len(t.Allow) == 0 {
			a.add(Allow, "-", line("tools"))
		}
		for _, denied := range t.Deny {
			a.add(Deny, denied.String(), max(line("tools"), line(skill.KeyNoTools)))
		}
	}
	for _, e := range doc.SideEffects {
		a.add(Effect, e, line("side_effects"))
	}
	if v := doc.V1; v != nil {
		for _, d := range v.LibraryDepends {
			manager := d.Ecosystem
			if manager == "" {
				manager = "r"
			}
			if manager == "pypi" {
				manager = "pip"
			}
			a.add(Package, manager+":"+d.Name, line("library_depends"))
		}
	}
	a.compatibility(doc.Compatibility, line("compatibility"))
	body := src[doc.Body:]
	for _, f := range skill.BodyFeatures(body) {
		if f.Kind == skill.LoadCommand {
			a.add(Load, "", doc.BodyLine+f.Line-1)
			a.command(f.Text, doc.BodyLine+f.Line-1)
		}
	}
	a.tree(string(body), doc)
}

// hooks reads the commands of Claude Code's hooks.
func (a *auditor) hooks(v skill.Value) {
	for _, f := range v.Fields {
		a.add(Hook, f.Key, f.KeySpan.Line)
		a.hookCommands(f.Value, 0)
	}
	if len(v.Fields) == 0 {
		a.add(Hook, "*", v.Line)
	}
}

func (a *auditor) hookCommands(v skill.Value, depth int) {
	for _, item := range v.Items {
		a.hookCommands(item, depth+1)
	}
	for _, f := range v.Fields {
		if f.Key == "command" && f.Value.Kind == skill.Scalar {
			a.command(f.Value.Text, f.Value.Line)
			continue
		}
		a.hookCommands(f.Value, depth+1)
	}
}

// command reads a command that is written at a line, whatever lines it has.
//
//go:noinline
func (a *auditor) command(text string, line int) {
	was := a.outer
	if was == 0 {
		a.outer = line
	}
	a.shell(text, line, false)
	a.outer = was
}

// compatibility reads the programs and the network that a sentence says are needed.
func (a *auditor) compatibility(text string, line int) {
	words := strings.FieldsFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '.' && r != '_' && r != '-'
	})
	words = words[:min(len(words), 200)]
	for i, w := range words {
		lower := strings.ToLower(strings.TrimRight(w, "."))
		from := max(0, i-3)
		negated := slices.ContainsFunc(words[from:i], func(w string) bool {
			return slices.Contains([]string{"no", "not", "without", "never", "optional", "optionally"}, strings.ToLower(w))
		})
		switch {
		case negated:
		case lower == "internet" || lower == "network":
			a.add(Net, "*", line)
		case slices.Contains(strings.Fields("git docker kubectl terraform aws az gcloud gh node npm npx pnpm yarn deno bun python python3 uv pip ruby perl php go cargo java mvn gradle dotnet ffmpeg pandoc pdftotext tesseract libreoffice soffice curl wget ssh psql mysql sqlite3 R Rscript pwsh powershell make cmake"), lower):
			a.add(Run, called(lower), line)
		}
	}
}

// tools reads the markers by which ops of a tree call a tool: nobody is asked whether that is what the step is for.
func (a *auditor) tools(src, name string) {
	for _, op := range tree.OpsOf(src, name) {
		if op.Tool != "" {
			a.add(Tool, op.Tool, op.ToolPos.Line)
		}
	}
}

// tree reads the nodes of a Canopy tree that start other agents, and the commands that its leaves name.
func (a *auditor) tree(body string, doc *skill.Document) {
	if !tree.HasTree([]byte(body)) {
		return
	}
	at := strings.Index(body, "## Tree")
	if at < 0 {
		return
	}
	text := body[at:]
	first, rest, _ := strings.Cut(text, "\n")
	if end := strings.Index(rest, "\n## "); end >= 0 {
		rest = rest[:end+1]
	}
	line := doc.BodyLine + strings.Count(body[:at+len(first)], "\n") + 1
	t, _ := tree.ParseTree(rest, skill.FileName, line, doc.Name, nil)
	if t == nil {
		return
	}
	tree.Walk(t.Nodes, func(n *tree.Node) bool {
		if n.Kind == tree.Explore || n.Kind == tree.Call && n.Bold {
			a.add(Agent, "", n.Pos.Line)
		}
		if n.Path != "" {
			a.use(Reads, n.Path, n.Pos.Line)
		}
		return true
	})
}
