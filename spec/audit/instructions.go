package audit

import (
	"path"
	"strings"

	"github.com/skl-project/skl/spec/skill"
)

// instructed are the folders and the ends of names of Markdown that agents read as they read SKILL.md: agents, commands and prompts, whose
// frontmatter gives tools and hooks, and whose body runs commands when it is loaded.
const (
	instructed = " agents subagents commands prompts chatmodes output-styles workflows rules "
	instructs  = " .agent.md .prompt.md .chatmode.md .instructions.md "
)

// ofAgent reports whether agents act on the frontmatter of a file of Markdown.
func ofAgent(name string) bool {
	name = strings.ToLower(name)
	base := path.Base(name)
	end := path.Ext(strings.TrimSuffix(base, path.Ext(base))) + path.Ext(base)
	return base == strings.ToLower(skill.FileName) || has(instructed, path.Base(path.Dir(name))) || has(instructs, end)
}

// instructions reads what such a file says of itself.
func (a *auditor) instructions(src string) {
	front, body, ok := frontmatter(src)
	line := 1
	if ok {
		line += strings.Count(src[:len(src)-len(body)], "\n")
		a.orders(front)
	}
	for _, f := range skill.BodyFeatures([]byte(body)) {
		if f.Kind == skill.LoadCommand {
			a.add(Load, "", line+f.Line-1)
			a.command(f.Text, line+f.Line-1)
		}
	}
}

// frontmatter is the text between the first two lines of "---", with an empty line before it, and what follows.
func frontmatter(src string) (front, body string, ok bool) {
	first, rest, ok := strings.Cut(src, "\n")
	if !ok || strings.TrimRight(first, " \r") != "---" {
		return "", src, false
	}
	for body = rest; body != ""; {
		var text string
		before := len(rest) - len(body)
		if text, body, _ = strings.Cut(body, "\n"); strings.TrimRight(text, " \r") == "---" {
			return "\n" + rest[:before], body, true
		}
	}
	return "", src, false
}

// orders reads a frontmatter: tools, hooks, servers, and how an agent is asked.
func (a *auditor) orders(front string) {
	list, err := parseConfig("front.yaml", []byte(front))
	if err != nil || len(list) == 0 {
		a.forgiven(front)
		return
	}
	c := config{a, true, ""}
	for _, f := range list[0].fields {
		switch key := strings.ToLower(bare.Replace(f.key)); key {
		case "tools", "allowedtools":
			a.wants(f.value)
		case "hooks":
			c.hooks(f.value, f.line)
		case "mcpservers":
			c.walk(f.value, "", 0)
		case "permissionmode":
			c.mode(&f.value)
		case "context", "agent":
			if f.value.text == "fork" || key == "agent" && f.value.text != "" && path.Base(path.Dir(a.path)) != "prompts" {
				a.add(Agent, "", f.line)
			}
		}
	}
}

// wants notes the tools of a list, or of a text with commas between them.
func (a *auditor) wants(n node) {
	for _, item := range n.items {
		a.wants(item)
	}
	depth := 0
	for _, name := range strings.FieldsFunc(n.text, func(r rune) bool {
		switch r {
		case '(':
			depth++
		case ')':
			depth--
		}
		return depth == 0 && (r == ',' || r == ' ')
	}) {
		a.add(Tool, strings.Trim(name, "\"'"), n.line)
	}
	for _, f := range n.fields { // of others: {bash: true}
		if f.value.text != "false" {
			a.add(Tool, f.key, f.line)
		}
	}
}

// forgiven reads the lines of a frontmatter that is no YAML, as hosts do.
func (a *auditor) forgiven(front string) {
	number := 0
	for text := range strings.Lines(front) {
		number++
		key, val, ok := strings.Cut(strings.TrimRight(text, "\r\n"), ":")
		if key = strings.ToLower(bare.Replace(key)); ok && (key == "tools" || key == "allowedtools") {
			a.wants(node{line: number, text: strings.Trim(val, " []")})
		}
	}
	if starts.get().MatchString(front) {
		a.add(Dynamic, "", 1)
	}
}

// mode notes how an agent asks before it acts: not at all is a wish for all tools.
func (c config) mode(v *node) {
	switch strings.ToLower(bare.Replace(v.text)) {
	case "bypasspermissions", "dontask", "auto", "never", "dangerfullaccess", "yolo":
		c.add(Tool, "*", v.line)
	case "acceptedits", "autoedit":
		c.add(Tool, "Edit", v.line)
		c.add(Tool, "Write", v.line)
	}
}

// consents notes a setting by which an agent no longer asks.
func (c config) consents(key string, v *node) {
	if !c.ofAgents {
		return
	}
	switch key {
	case "defaultmode", "approvalpolicy", "sandboxmode", "permissionmode", "approvalmode", "defaultapprovalmode":
		c.mode(v)
	case "enableallprojectmcpservers":
		if v.text == "true" {
			c.add(Tool, "mcp__*", v.line)
		}
	case "enabledmcpjsonservers":
		for _, item := range v.items {
			c.add(Tool, "mcp__"+item.text, item.line)
		}
	case "additionaldirectories", "writableroots":
		for _, item := range v.items {
			c.use(Writes, item.text, item.line)
		}
	case "skipdangerousmodepermissionprompt", "autoaccept", "autoapprove", "alwaysallow", "chat.tools.autoapprove", "chat.tools.global.autoapprove":
		if v.text == "true" {
			c.add(Tool, "*", v.line)
		}
		for _, item := range v.items {
			c.add(Tool, item.text, item.line)
		}
	}
}
