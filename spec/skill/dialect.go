package skill

import (
	"slices"
	"strings"
)

// A KeyDoc describes a frontmatter key beyond the base format.
type KeyDoc struct {
	Key     string   // "metadata.KEY" for one inside metadata
	Type    string   // what it holds
	Dialect string   // whose key it is: a host, or canopy, intent
	Hosts   []string // agents that read it, by host id
	Text    string   // what it does there
}

// Keys returns every key of a known dialect, sorted.
func Keys() []KeyDoc { return slices.Clone(hostKeys) }

// LookupKey returns the description of a dialect's key. Keys of the base format
// and of corteza.skill are not among them, except arguments, which means something
// else to Claude Code.
func LookupKey(key string) (KeyDoc, bool) {
	switch key { // Claude Code takes these in three spellings
	case "display_name", "displayName":
		key = "display-name"
	case "default_enabled", "defaultEnabled":
		key = "default-enabled"
	}
	i, ok := slices.BinarySearchFunc(hostKeys, key, func(k KeyDoc, key string) int { return strings.Compare(k.Key, key) })
	if !ok {
		return KeyDoc{}, false
	}
	return hostKeys[i], true
}

// hostKeys is sorted by key.
var hostKeys = []KeyDoc{
	{"agent", "string", "claude-code", []string{"claude-code"}, "subagent type when context is fork"},
	{"argument-hint", "string", "claude-code", []string{"claude-code", "github-copilot"}, "shown after the name when a person invokes the skill"},
	{"arguments", "string or list of names", "claude-code", []string{"claude-code"}, "names that the body uses as $name"},
	{"background", "bool", "claude-code", []string{"claude-code"}, "false keeps a forked skill in the foreground"},
	{"command-arg-mode", "string", "openclaw", []string{"openclaw"}, "raw: arguments are passed unparsed"},
	{"command-dispatch", "string", "openclaw", []string{"openclaw"}, "tool: the command calls a tool without the model"},
	{"command-tool", "string", "openclaw", []string{"openclaw"}, "the tool that command-dispatch calls"},
	{"context", "string", "claude-code", []string{"claude-code", "github-copilot"}, "fork: the skill runs in a subagent"},
	{"default-enabled", "bool", "claude-code", []string{"claude-code"}, "whether a plugin's skill starts enabled"},
	{"disable-model-invocation", "bool", "claude-code", []string{"claude-code", "github-copilot", "openclaw", "cursor", "vtcode"}, "true: only people invoke the skill"},
	{"disallowed-tools", "string or list", "claude-code", []string{"claude-code"}, "tools that are taken away while the skill is active"},
	{"display-name", "string", "claude-code", []string{"claude-code"}, "name shown to people"},
	{"effort", "string", "claude-code", []string{"claude-code"}, "reasoning effort while the skill is active"},
	{"fallback", "string", "claude-code", []string{"claude-code"}, "skill used when this one cannot be"},
	{"framework", "bool", "intent", []string{"intent"}, "the skill teaches a framework"},
	{"homepage", "string", "openclaw", []string{"openclaw"}, "link shown to people"},
	{"hooks", "map", "claude-code", []string{"claude-code"}, "commands that run on events while the skill is active"},
	{"library", "string", "intent", []string{"intent"}, "package that the skill teaches"},
	{"library_version", "string", "intent", []string{"intent"}, "version of that package"},
	{"metadata.argument-hint", "string", "canopy", []string{"canopy"}, "argument-hint where only metadata is portable"},
	{"metadata.canopy-contracts", "string", "canopy", []string{"canopy"}, "strict: inputs and outputs of operations are checked"},
	{"metadata.canopy-features", "list or string", "canopy", []string{"canopy"}, "slices of the language that the tree needs"},
	{"metadata.clawdbot", "map", "openclaw", []string{"openclaw"}, "older name of metadata.openclaw"},
	{"metadata.openclaw", "map", "openclaw", []string{"openclaw"}, "needs, installers and looks of the skill"},
	{"metadata.short-description", "string", "codex", []string{"codex"}, "description for lists"},
	{"metadata.user-invocable", "string", "canopy", []string{"canopy"}, "user-invocable where only metadata is portable"},
	{"model", "string", "claude-code", []string{"claude-code"}, "model that runs the skill"},
	{"paths", "string or list of globs", "claude-code", []string{"claude-code", "cursor"}, "files whose use activates the skill"},
	{"requires", "list", "intent", []string{"intent"}, "skills that should be loaded first"},
	{"shell", "string", "claude-code", []string{"claude-code"}, "bash or powershell, for commands in the body"},
	{"sources", "list", "intent", []string{"intent"}, "documents that the skill was written from"},
	{"type", "string", "intent", []string{"intent"}, "kind of the skill"},
	{"user-invocable", "bool", "claude-code", []string{"claude-code", "github-copilot", "openclaw"}, "false: only the model invokes the skill"},
	{"when-to-use", "string", "vtcode", []string{"vtcode"}, "when the model should use the skill"},
	{"when_to_use", "string", "claude-code", []string{"claude-code"}, "when the model should use the skill; counts with the description"},
}
