package harness

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// Field lists of the contract with users (cli.md), each as "name name[] name{}": [] holds
// objects, {} is one, and ? may be null.
const (
	ListFields    = "roots[] skills[] budgets[]"
	RootFields    = "id path scope priority trust_ceiling state host"
	RecordFields  = "name qualified description path root scope priority trust state shadowed_by shadows hosts source version digest format signature generated_from warnings"
	InstallFields = "ok changes lock"
	ChangeFields  = "action name from to version source commit digest root links files bytes permissions signer hosts"
	FindingFields = "file line column rule severity message fix"
	ErrorFields   = "code message hints where retryable candidates"
	WhereFields   = "file line column"
)

// Answer runs skl ARGS --json, wants the status, and returns the one JSON value it prints, which
// must be as "skl schema COMMAND" says.
func (m *Machine) Answer(status int, args ...string) map[string]any {
	m.T.Helper()
	return m.AnswerAs(args[0], status, args...)
}

// AnswerAs is answer for a subcommand, which has a form of its own.
func (m *Machine) AnswerAs(command string, status int, args ...string) map[string]any {
	m.T.Helper()
	got, stdout, stderr := m.Run(append(args, "--json")...)
	if got != status {
		m.T.Fatalf("skl %q: exit %d, want %d\n%s%s", args, got, status, stdout, stderr)
	}
	dec := json.NewDecoder(strings.NewReader(stdout))
	var value map[string]any
	if err := dec.Decode(&value); err != nil || dec.More() {
		m.T.Fatalf("skl %q does not print one JSON value: %v\n%s", args, err, stdout)
	}
	schema := m.Schema(command)
	if _, failed := value["error"]; failed {
		schema = schema.Defs["error"]
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		m.T.Fatalf("skl schema %s: %v", args[0], err)
	}
	if err := resolved.Validate(value); err != nil {
		m.T.Errorf("skl %q is not what its schema says: %v\n%s", args, err, stdout)
	}
	return value
}

// Schema is that of what a command prints.
func (m *Machine) Schema(command string) *jsonschema.Schema {
	m.T.Helper()
	status, stdout, stderr := m.Run(append([]string{"schema"}, strings.Fields(command)...)...)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || status != 0 {
		m.T.Fatalf("skl schema %s: exit %d, %v\n%s", command, status, err, stderr)
	}
	return &s
}

// HasFields wants exactly these keys.
func HasFields(t *testing.T, what string, value any, fields string) map[string]any {
	t.Helper()
	object, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%s is %v, want an object", what, value)
	}
	want := strings.Fields(strings.NewReplacer("[]", "", "{}", "").Replace(fields))
	slices.Sort(want)
	if have := slices.Sorted(maps.Keys(object)); !slices.Equal(have, want) {
		t.Errorf("%s has the fields\n%v, want\n%v", what, have, want)
	}
	return object
}

// Objects wants a list.
func Objects(t *testing.T, value any) []any {
	t.Helper()
	list, ok := value.([]any)
	if !ok {
		t.Fatalf("%v is not a list", value)
	}
	return list
}

// OneOf wants value to be one of the words.
func OneOf(t *testing.T, what string, value any, words string) {
	t.Helper()
	if text, ok := value.(string); !ok || !slices.Contains(strings.Fields(words), text) {
		t.Errorf("%s is %v, want one of %s", what, value, words)
	}
}
