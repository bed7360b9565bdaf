package documents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// TestJSON compares what --json prints with the field lists of the contract and with the
// program's own schemas.
func TestJSON(t *testing.T) {
	f := harness.NewGitForge(t)
	f.Repository("tools", []harness.Node{harness.Dir("skills",
		harness.Dir("pdf", harness.File("SKILL.md", "---\nname: pdf\ndescription: Fills forms.\nmetadata:\n  version: \"1.0\"\n---\n# PDF\n")),
		harness.Dir("notes", harness.File("SKILL.md", "---\nname: notes\ndescription: Takes notes.\n---\n# Notes\n")))})
	ref := "git+" + f.Http + "/tools.git"
	m := harness.NewMachine(t)

	changes := func(action string, args ...string) {
		t.Helper()
		out := harness.HasFields(t, args[0], m.Answer(0, args...), harness.InstallFields)
		harness.OneOf(t, "lock", out["lock"], "changed unchanged")
		if out["ok"] != true {
			t.Errorf("ok is %v", out["ok"])
		}
		for _, c := range harness.Objects(t, out["changes"]) {
			change := harness.HasFields(t, "a change", c, harness.ChangeFields)
			harness.OneOf(t, "action", change["action"], action)
			harness.HasFields(t, "permissions", change["permissions"], "added removed")
			harness.Objects(t, change["links"])
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
	m.Write(".claude/skills/pdf2/SKILL.md", []byte("---\nname: pdf\ndescription: Mine.\n---\n"))
	m.Write(".agents/skills/broken/SKILL.md", []byte("no frontmatter"))
	m.Write(".agents/skills/derived/SKILL.md", []byte("---\nname: derived\ndescription: x\nskill_format: corteza.skill/v1\ngenerated_from:\n  ecosystem: r\n  package: dplyr\n  version: 1.1.0\n  source_hash: sha256:"+strings.Repeat("0", 64)+"\n---\n"))
	out := harness.HasFields(t, "list", m.Answer(0, "list", "--all", "--host", "claude-code", "--host", "codex"), harness.ListFields)
	for _, r := range harness.Objects(t, out["roots"]) {
		root := harness.HasFields(t, "a root", r, harness.RootFields)
		harness.OneOf(t, "state", root["state"], "ok missing alias untrusted unreadable")
	}
	states := map[any]bool{}
	for _, r := range harness.Objects(t, out["skills"]) {
		if o, ok := r.(map[string]any); ok && o["name"] == "canopy" { // which has limits besides
			delete(o, "tools")
			delete(o, "side_effects")
		}
		record := harness.HasFields(t, "a record", r, harness.RecordFields)
		harness.OneOf(t, "scope", record["scope"], "managed session project user package system")
		harness.OneOf(t, "state", record["state"], "active shadowed disabled untrusted invalid unsupported gated")
		states[record["state"]] = true
		for _, h := range harness.Objects(t, record["hosts"]) {
			use := harness.HasFields(t, "a host", h, "host use")
			harness.OneOf(t, "use", use["use"], "loads listed hidden unread untrusted unstable off")
		}
		for _, w := range harness.Objects(t, record["warnings"]) {
			harness.HasFields(t, "a warning", w, "code message")
		}
		harness.Objects(t, record["shadows"])
		if record["signature"] != nil {
			harness.HasFields(t, "signature", record["signature"], "state signer")
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

	m.Write("bad/SKILL.md", []byte("---\nname: Bad\n---\n"))
	out = m.Answer(3, "lint", "bad")
	if out["ok"] != false {
		t.Errorf("lint: ok is %v", out["ok"])
	}
	for _, f := range harness.Objects(t, out["findings"]) {
		finding := harness.HasFields(t, "a finding", f, harness.FindingFields)
		harness.OneOf(t, "severity", finding["severity"], "error warning info")
	}

	if out := m.Answer(0, "verify"); out["ok"] != true {
		t.Errorf("verify: %v", out)
	}
	m.Write(".agents/skills/pdf/SKILL.md", []byte("edited"))
	for _, command := range []string{"verify", "check", "status"} {
		if out := m.Answer(3, command); out["ok"] != false {
			t.Errorf("%s: ok is %v", command, out["ok"])
		}
	}
	for _, args := range [][]string{{"version"}, {"outdated"}, {"info", "notes"}, {"read", "notes"}, {"which", "notes"}, {"why", "notes"}, {"diff", "pdf"}, {"trust", "list"}, {"cache", "dir"}, {"cache", "gc", "--dry-run"},
		{"source", "list"}, {"digest", "bad"}, {"new", "fresh"}, {"pack", ".agents/skills/fresh", "-o", "fresh.tar.gz"}, {"disable", "notes"}, {"enable", "notes"}, {"init"}} {
		m.Answer(0, args...)
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
		out := m.Answer(c.status, c.args...)
		failure := harness.HasFields(t, "the error", harness.HasFields(t, "an error", out, "error")["error"], harness.ErrorFields)
		if failure["code"] != c.code {
			t.Errorf("skl %q: code %v, want %s", c.args, failure["code"], c.code)
		}
		harness.Objects(t, failure["hints"])
		harness.Objects(t, failure["candidates"])
		harness.HasFields(t, "where", failure["where"], harness.WhereFields)
		if _, ok := failure["retryable"].(bool); !ok {
			t.Errorf("retryable is %v", failure["retryable"])
		}
	}
	m.Write("skl.toml", []byte("[skills]\npdf = 1\n"))
	where := harness.HasFields(t, "where", m.Answer(1, "status")["error"].(map[string]any)["where"], harness.WhereFields)
	if where["file"] != "skl.toml" || where["line"] != 2.0 || where["column"] == 0.0 {
		t.Errorf("the place of the mistake is %v", where)
	}
}

// TestSchemas asks for the schema of every command that "help all" lists, which it has or has not
// as the list in the refusal says.
func TestSchemas(t *testing.T) {
	m := harness.NewMachine(t)
	status, stdout, _ := m.Run("schema", "nothing", "--json")
	var out struct{ Error struct{ Candidates []string } }
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || status != 2 || len(out.Error.Candidates) < 20 {
		t.Fatalf("exit %d, %v: %s", status, err, stdout)
	}
	for _, command := range out.Error.Candidates {
		s := m.Schema(command)
		if s.Type != "object" || len(s.Properties) == 0 || s.Defs["error"] == nil {
			t.Errorf("skl schema %s describes no object, or no error", command)
		}
		if _, err := s.Resolve(nil); err != nil {
			t.Errorf("skl schema %s: %v", command, err)
		}
	}
}
