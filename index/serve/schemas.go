package serve

import (
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tools describes the seven tools. An agent pays for this text in every conversation, so what canopy_query explains is
// not explained again, and answers are described by their outermost fields: canopy_agent_readme says the rest.
func tools() []*mcp.Tool {
	tool := func(name, description, in, out string, changes bool) *mcp.Tool {
		no := false
		t := &mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(in)}
		if out != "" {
			t.OutputSchema = json.RawMessage(out)
		}
		t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: !changes, OpenWorldHint: &no}
		if changes { // of the cache alone
			t.Annotations.DestructiveHint, t.Annotations.IdempotentHint = &no, true
		}
		return t
	}
	const (
		explained = `"pattern":{"type":"string","description":"words to search for"},
			"patterns":{"type":"array","items":{"type":"string"}},
			"match":{"enum":["any","all"],"description":"of patterns"},
			"literal":{"type":"string","description":"exact text; complete"},
			"regex":{"type":"string","description":"RE2 over lines; complete"},
			"symbol":{"type":"string","description":"name of a definition"},
			"section":{"type":"string","description":"part of a Markdown heading"},
			"parent":{"type":"string","description":"enclosing symbol, such as a class"},
			"kind":{"enum":["definition","reference","any"]},
			"glob":{"type":"string","description":"such as src/**/*.ts"},
			"query":{"type":"string","description":"S-expression, for combinations"}`
		plain = `"pattern":{"type":"string"},"patterns":{"type":"array","items":{"type":"string"}},"match":{"enum":["any","all"]},
			"literal":{"type":"string"},"regex":{"type":"string"},"symbol":{"type":"string"},"section":{"type":"string"},"parent":{"type":"string"},
			"kind":{"enum":["definition","reference","any"]},"glob":{"type":"string"},"query":{"type":"string"}`
		path   = `"path":{"type":"string"}`
		tokens = `"max_tokens":{"type":"integer","minimum":1}`
		open   = `{"type":"object","additionalProperties":false,"properties":{`
		list   = `{"type":"array","items":{"type":"object"}}`
		whole  = `{"type":"integer"}`
		wrong  = `"code":{"type":"string"},"message":{"type":"string"},"hint":{"type":"string"}`
		answer = `{"type":"object","properties":{`
	)
	return []*mcp.Tool{
		tool("canopy_query", "Search a repository's code and documents. Gives handles with previews and token counts, best first; expand those you need. Needs one of pattern, patterns, literal, regex, symbol, section, parent, query.",
			open+`"path":{"type":"string","description":"absolute path of the repository; may be left out if there is one"},`+explained+
				`,"limit":{"type":"integer","minimum":1,"maximum":200,"description":"default 16"},"expand_budget":{"type":"integer","minimum":0,"description":"tokens of content to include"},"max_tokens":{"type":"integer","minimum":1,"description":"of the answer"}}}`,
			answer+`"handles":`+list+`,"ref_handles":`+list+`,"total_tokens":`+whole+`,"total_matches":`+whole+`,"truncated":{"type":"boolean"},`+wrong+`}}`, false),
		tool("canopy_evidence_pack", "Start here: compact ranked evidence without text, and guidance whether to expand or to refine. Search parameters as in canopy_query.",
			open+path+`,`+plain+`,"max_handles":{"type":"integer","minimum":1,"maximum":64,"description":"default 8"},"max_per_file":{"type":"integer","minimum":1,"maximum":8,"description":"default 2"},"plan":{"type":"boolean","description":"let the server add the definitions of names that it found; default false"},`+tokens+`}}`,
			answer+`"handles":`+list+`,"files":`+list+`,"expand_suggestion":{"type":"array","items":{"type":"string"}},"guidance":{"type":"object"},`+wrong+`}}`, false),
		tool("canopy_expand", "Text of handles, as it is in the files now.",
			open+path+`,"handle_ids":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":200},`+tokens+`},"required":["handle_ids"]}`,
			answer+`"contents":`+list+`,"failed":`+list+`,"truncated":{"type":"boolean"},`+wrong+`}}`, false),
		tool("canopy_index", "Index files now. Rarely needed: queries index by themselves.",
			open+path+`,"glob":{"type":"string","description":"\"**\" for all"},`+tokens+`},"required":["glob"]}`,
			answer+`"added":`+whole+`,"changed":`+whole+`,"removed":`+whole+`,"generation":`+whole+`,`+wrong+`}}`, true),
		tool("canopy_status", "What is indexed.", open+path+`,`+tokens+`}}`,
			answer+`"files_indexed":`+whole+`,"total_tokens":`+whole+`,"repo_root":{"type":"string"},`+wrong+`}}`, false),
		tool("canopy_invalidate", "Forget what is indexed of the files that glob matches, or of all; they are indexed again when needed.",
			open+path+`,"glob":{"type":"string"},`+tokens+`}}`,
			answer+`"invalidated":`+whole+`,`+wrong+`}}`, true),
		tool("canopy_agent_readme", "How to use these tools well.", open+tokens+`}}`, "", false),
	}
}
