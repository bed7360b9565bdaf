package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

//go:noinline
func badInput(h, format string, args ...any) *diag.Error {
	e := diag.New(diag.Misuse, CodeInput, format, args...)
	e.Message = "the input of " + h + ": " + e.Message
	return e
}

// decode reads an input strictly: one object, no field twice, none that into does not
// have, none spelled in another case.
func decode(tool string, input json.RawMessage, fields string, into any) error {
	if len(input) > maxInput {
		return badInput(tool, "has %d bytes, and at most %d are taken", len(input), maxInput)
	}
	if len(bytes.TrimSpace(input)) == 0 {
		input = json.RawMessage("{}")
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return badInput(tool, "is not a JSON object")
	}
	known, seen := strings.Fields(fields), map[string]bool{}
	for dec.More() {
		t, err := dec.Token()
		name, _ := t.(string)
		if err != nil {
			return badInput(tool, "is not a JSON object")
		}
		if !slices.Contains(known, name) {
			return badInput(tool, "there is no field %q; the fields are %s", diag.Brief(name, 100), strings.Join(known, ", "))
		}
		if seen[name] {
			return badInput(tool, "the field %q is there twice", name)
		}
		seen[name] = true
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return badInput(tool, "is not a JSON object")
		}
	}
	if _, err := dec.Token(); err != nil || len(bytes.TrimSpace(input[dec.InputOffset():])) > 0 {
		return badInput(tool, "is not a JSON object alone")
	}
	if err := json.Unmarshal(input, into); err != nil {
		if e, ok := err.(*json.UnmarshalTypeError); ok {
			return badInput(tool, "%s is a %s, and should be a %s", e.Field, e.Value, e.Type)
		}
		return badInput(tool, "is not a JSON object")
	}
	return nil
}

// isObject reports whether s is one JSON object of a tolerable size.
func isObject(s json.RawMessage) bool {
	s = bytes.TrimSpace(s)
	return len(s) <= maxInput && len(s) > 0 && s[0] == '{' && json.Valid(s)
}

// schema makes a JSON Schema of an object. Each field is "name type description"; a name with ! is required.
func schema(fields ...string) json.RawMessage {
	type property struct {
		Type        string `json:"type"`
		Description string `json:"description"`
	}
	s := struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
		More       bool                `json:"additionalProperties"`
	}{Type: "object", Properties: map[string]property{}}
	for _, f := range fields {
		name, rest, _ := strings.Cut(f, " ")
		kind, description, _ := strings.Cut(rest, " ")
		if bare, required := strings.CutSuffix(name, "!"); required {
			name = bare
			s.Required = append(s.Required, name)
		}
		s.Properties[name] = property{kind, description}
	}
	out, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return out
}

// builtins makes the built-in tools, sorted by name.
func builtins() []*handler {
	const path = "a path below the working directory; skill:PATH is a file of the skill, result:N what a call gave"
	all := []*handler{
		{name: "bash", effect: External, prepare: prepareBash,
			description: "Run a bash command in the working directory, confined, and return what it prints. Of long output the start and the end are given.",
			schema:      schema("command! string the command line", "timeout_seconds integer seconds until it is stopped: 120 unless given, 600 at most")},
		{name: "edit", effect: Filesystem, prepare: prepareEdit,
			description: "Replace text in a file. old_string has to occur exactly once, unless replace_all is set.",
			schema: schema("path! string "+path, "old_string! string the text to replace, exactly as it stands in the file", "new_string! string what to put in its place",
				"replace_all boolean replace every occurrence")},
		{name: "fetch", effect: Network, prepare: prepareFetch,
			description: "Get a text over https from one of the hosts that are allowed. At most 1 MiB.",
			schema:      schema("url! string the address")},
		{name: "glob", effect: None, prepare: prepareGlob,
			description: "List files by a pattern: * and ? within a name, ** across directories, {a,b} for either. .git and node_modules are left out. At most 1,000, sorted.",
			schema:      schema("pattern! string as in **/*.go, relative to path", "path string the directory to search: the working directory unless given; skill: is the skill's")},
		{name: "grep", effect: None, prepare: prepareGrep,
			description: "Search files for a regular expression (RE2), line by line. .git, node_modules and binary files are left out. At most 1,000 lines.",
			schema: schema("pattern! string the regular expression", "path string the file or directory to search: the working directory unless given; skill: is the skill's, result:N what a call gave",
				"glob string only files with this path or name, as in *.go", "ignore_case boolean do not regard case", "files_only boolean list the files alone")},
		{name: "list", effect: None, prepare: prepareList,
			description: "List a directory. Directories end in a slash, links in @.",
			schema:      schema("path string the directory: the working directory unless given; skill: is the skill's")},
		{name: "read", effect: None, prepare: prepareRead,
			description: "Read a text file, at most 256 KiB at a time.",
			schema:      schema("path! string "+path, "offset integer the first line, from 1", "limit integer how many lines")},
		{name: "write", effect: Filesystem, prepare: prepareWriteInput,
			description: "Write a file with this content, in place of what it held. Directories are made.",
			schema:      schema("path! string a path below the working directory", "content! string the whole content")},
	}
	for _, h := range all {
		h.wire = h.name
	}
	return all
}

// finalize is there for a skill without a tree: it gives its result. Who runs the skill takes it from the input.
var finalize = &handler{name: "finalize", wire: "finalize", effect: None, prepare: prepareFinalize,
	description: "End the work on the skill with its result, which is all that is handed on. Nothing is asked after it.",
	schema:      json.RawMessage(`{"type":"object","properties":{"result":{"description":"the result: a text, or a value where the skill wants one"}},"required":["result"],"additionalProperties":false}`)}

func prepareFinalize(_ *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct{ Result json.RawMessage }
	if err := decode("finalize", input, "result", &in); err != nil {
		return nil, err
	}
	if in.Result == nil {
		return nil, badInput("finalize", "it needs a result")
	}
	return &use{detail: "finalize", do: func(context.Context) (string, error) { return "The result is taken: this is the end.", nil }}, nil
}

// timeoutOf bounds what was asked for.
func timeoutOf(seconds int) time.Duration {
	if seconds <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(min(seconds, 1<<20))*time.Second, maxTimeout)
}
