package main

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
	listFields    = "roots[] skills[]"
	rootFields    = "id path scope priority trust_ceiling state host"
	recordFields  = "name qualified description path root scope priority trust state shadowed_by shadows hosts source version digest format signature generated_from warnings"
	installFields = "ok changes lock"
	changeFields  = "action name from to version source commit digest root links files bytes permissions signer hosts"
	findingFields = "file line column rule severity message fix"
	errorFields   = "code message hints where retryable candidates"
	whereFields   = "file line column"
)

// answer runs skl ARGS --json, wants the status, and returns the one JSON value it prints, which
// must be as "skl schema COMMAND" says.
func (m *machine) answer(status int, args ...string) map[string]any {
	m.t.Helper()
	return m.answerAs(args[0], status, args...)
}

// answerAs is answer for a subcommand, which has a form of its own.
func (m *machine) answerAs(command string, status int, args ...string) map[string]any {
	m.t.Helper()
	got, stdout, stderr := m.run(append(args, "--json")...)
	if got != status {
		m.t.Fatalf("skl %q: exit %d, want %d\n%s%s", args, got, status, stdout, stderr)
	}
	dec := json.NewDecoder(strings.NewReader(stdout))
	var value map[string]any
	if err := dec.Decode(&value); err != nil || dec.More() {
		m.t.Fatalf("skl %q does not print one JSON value: %v\n%s", args, err, stdout)
	}
	schema := m.schema(command)
	if _, failed := value["error"]; failed {
		schema = schema.Defs["error"]
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		m.t.Fatalf("skl schema %s: %v", args[0], err)
	}
	if err := resolved.Validate(value); err != nil {
		m.t.Errorf("skl %q is not what its schema says: %v\n%s", args, err, stdout)
	}
	return value
}

func (m *machine) schema(command string) *jsonschema.Schema {
	m.t.Helper()
	status, stdout, stderr := m.run(append([]string{"schema"}, strings.Fields(command)...)...)
	var s jsonschema.Schema
	if err := json.Unmarshal([]byte(stdout), &s); err != nil || status != 0 {
		m.t.Fatalf("skl schema %s: exit %d, %v\n%s", command, status, err, stderr)
	}
	return &s
}

// hasFields wants exactly these keys.
func hasFields(t *testing.T, what string, value any, fields string) map[string]any {
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

func objects(t *testing.T, value any) []any {
	t.Helper()
	list, ok := value.([]any)
	if !ok {
		t.Fatalf("%v is not a list", value)
	}
	return list
}

// oneOf wants value to be one of the words.
func oneOf(t *testing.T, what string, value any, words string) {
	t.Helper()
	if text, ok := value.(string); !ok || !slices.Contains(strings.Fields(words), text) {
		t.Errorf("%s is %v, want one of %s", what, value, words)
	}
}

// TestJSON compares what --json prints with the field lists of the contract and with the
// program's own schemas.
func TestJSON(t *testing.T) {
	f := newGitForge(t)
	f.repository("tools", []node{dir("skills",
		dir("pdf", file("SKILL.md", "---\nname: pdf\ndescription: Fills forms.\nmetadata:\n  version: \"1.0\"\n---\n# PDF\n")),
		dir("notes", file("SKILL.md", "---\nname: notes\ndescription: Takes notes.\n---\n# Notes\n")))})
	ref := "git+" + f.http + "/tools.git"
	m := newMachine(t)

	changes := func(action string, args ...string) {
		t.Helper()
		out := hasFields(t, args[0], m.answer(0, args...), installFields)
		oneOf(t, "lock", out["lock"], "changed unchanged")
		if out["ok"] != true {
			t.Errorf("ok is %v", out["ok"])
		}
		for _, c := range objects(t, out["changes"]) {
			change := hasFields(t, "a change", c, changeFields)
			oneOf(t, "action", change["action"], action)
			hasFields(t, "permissions", change["permissions"], "added removed")
			objects(t, change["links"])
		}
	}
	changes("add", "install", ref, "pdf", "notes", "--host", "claude-code", "--dry-run")
	changes("add", "install", ref, "pdf", "notes", "--host", "claude-code")
	changes("keep", "install")
	changes("keep", "update")
	changes("keep", "ci")
	changes("keep", "lock")
	changes("remove keep", "remove", "notes", "--dry-run")

	// A copy that hides another, one that is invalid, one of another project.
	m.write(".claude/skills/pdf2/SKILL.md", []byte("---\nname: pdf\ndescription: Mine.\n---\n"))
	m.write(".agents/skills/broken/SKILL.md", []byte("no frontmatter"))
	m.write(".agents/skills/derived/SKILL.md", []byte("---\nname: derived\ndescription: x\nskill_format: corteza.skill/v1\ngenerated_from:\n  ecosystem: r\n  package: dplyr\n  version: 1.1.0\n  source_hash: sha256:"+strings.Repeat("0", 64)+"\n---\n"))
	out := hasFields(t, "list", m.answer(0, "list", "--all", "--host", "claude-code", "--host", "codex"), listFields)
	for _, r := range objects(t, out["roots"]) {
		root := hasFields(t, "a root", r, rootFields)
		oneOf(t, "state", root["state"], "ok missing alias untrusted unreadable")
	}
	states := map[any]bool{}
	for _, r := range objects(t, out["skills"]) {
		record := hasFields(t, "a record", r, recordFields)
		oneOf(t, "scope", record["scope"], "managed session project user package system")
		oneOf(t, "state", record["state"], "active shadowed disabled untrusted invalid unsupported gated")
		states[record["state"]] = true
		for _, h := range objects(t, record["hosts"]) {
			use := hasFields(t, "a host", h, "host use")
			oneOf(t, "use", use["use"], "loads listed hidden unread untrusted unstable")
		}
		for _, w := range objects(t, record["warnings"]) {
			hasFields(t, "a warning", w, "code message")
		}
		objects(t, record["shadows"])
		if record["signature"] != nil {
			hasFields(t, "signature", record["signature"], "state signer")
		}
		if by := record["shadowed_by"]; (by != nil) != (record["state"] == "shadowed") {
			t.Errorf("%v is %v and shadowed_by is %v", record["qualified"], record["state"], by)
		}
	}
	for _, want := range []string{"active", "shadowed", "invalid"} {
		if !states[want] {
			t.Errorf("no copy is %s", want)
		}
	}

	m.write("bad/SKILL.md", []byte("---\nname: Bad\n---\n"))
	out = m.answer(3, "lint", "bad")
	if out["ok"] != false {
		t.Errorf("lint: ok is %v", out["ok"])
	}
	for _, f := range objects(t, out["findings"]) {
		finding := hasFields(t, "a finding", f, findingFields)
		oneOf(t, "severity", finding["severity"], "error warning info")
	}

	if out := m.answer(0, "verify"); out["ok"] != true {
		t.Errorf("verify: %v", out)
	}
	m.write(".agents/skills/pdf/SKILL.md", []byte("edited"))
	for _, command := range []string{"verify", "check", "status"} {
		if out := m.answer(3, command); out["ok"] != false {
			t.Errorf("%s: ok is %v", command, out["ok"])
		}
	}
	for _, args := range [][]string{{"version"}, {"outdated"}, {"info", "notes"}, {"read", "notes"}, {"which", "notes"}, {"why", "notes"}, {"diff", "pdf"}, {"trust", "list"}, {"cache", "dir"}, {"cache", "gc", "--dry-run"},
		{"source", "list"}, {"digest", "bad"}, {"new", "fresh"}, {"pack", ".agents/skills/fresh", "-o", "fresh.tar.gz"}, {"disable", "notes"}, {"enable", "notes"}, {"init"}} {
		m.answer(0, args...)
	}

	for _, c := range []struct {
		status int
		code   string
		args   []string
	}{
		{2, "unknown_skill", []string{"which", "noets"}},
		{2, "usage", []string{"list", "notes"}},
		{2, "usage", []string{"list", "--nope"}},
		{2, "unknown_host", []string{"list", "--host", "claude"}},
		{2, "invalid_ref", []string{"install", "a//b"}},
		{2, "ambiguous_ref", []string{"install", ref}},
		{3, "local_edits", []string{"ci"}},
		{3, "local_edits", []string{"remove", "pdf"}},
		{1, "offline", []string{"install", "o/r", "--offline"}},
	} {
		out := m.answer(c.status, c.args...)
		failure := hasFields(t, "the error", hasFields(t, "an error", out, "error")["error"], errorFields)
		if failure["code"] != c.code {
			t.Errorf("skl %q: code %v, want %s", c.args, failure["code"], c.code)
		}
		objects(t, failure["hints"])
		objects(t, failure["candidates"])
		hasFields(t, "where", failure["where"], whereFields)
		if _, ok := failure["retryable"].(bool); !ok {
			t.Errorf("retryable is %v", failure["retryable"])
		}
	}
	m.write("skl.toml", []byte("[skills]\npdf = 1\n"))
	where := hasFields(t, "where", m.answer(1, "status")["error"].(map[string]any)["where"], whereFields)
	if where["file"] != "skl.toml" || where["line"] != 2.0 || where["column"] == 0.0 {
		t.Errorf("the place of the mistake is %v", where)
	}
}

// TestSchemas asks for the schema of every command that "help all" lists, which it has or has not
// as the list in the refusal says.
func TestSchemas(t *testing.T) {
	m := newMachine(t)
	status, stdout, _ := m.run("schema", "nothing", "--json")
	var out struct{ Error struct{ Candidates []string } }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != 2 || len(out.Error.Candidates) < 20 {
		t.Fatalf("exit %d, %v: %s", status, err, stdout)
	}
	for _, command := range out.Error.Candidates {
		s := m.schema(command)
		if s.Type != "object" || len(s.Properties) == 0 || s.Defs["error"] == nil {
			t.Errorf("skl schema %s describes no object, or no error", command)
		}
		if _, err := s.Resolve(nil); err != nil {
			t.Errorf("skl schema %s: %v", command, err)
		}
	}
}
