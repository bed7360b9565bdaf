package agents

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

// An extensionEntry is the entry of a skill, as a client of the Skills extension reads it.
type extensionEntry struct {
	URI         string         `json:"uri"`
	Frontmatter map[string]any `json:"frontmatter"`
	Resources   []struct {
		URI    string `json:"uri"`
		Digest string `json:"digest"`
		Size   int    `json:"size"`
	} `json:"resources"`
}

type uriParams struct {
	mcp.ParamsBase
	URI string `json:"uri,omitempty"`
}

type extensionResult struct {
	mcp.ResultBase
	ResultType string           `json:"resultType"`
	TTLMs      *int             `json:"ttlMs"`
	CacheScope string           `json:"cacheScope"`
	Skills     []extensionEntry `json:"skills"`
	Skill      extensionEntry   `json:"skill"`
	Resources  []mcp.Resource   `json:"resources"`
}

// skillsHere puts one skill that models may have where the user's are, one that they may not, and one into the project, which is not trusted.
func skillsHere(t *testing.T, p *harness.Place) {
	t.Helper()
	dir := installed(t, p, "open", "---\nname: open\ndescription: Opens. Use when asked.\nlicense: MIT\nmetadata:\n  since: 2024-01-02\n  tags: [a, 7, true]\n---\n\nOpen it.\n")
	harness.WriteFile(t, filepath.Join(dir, "assets", "a b.bin"), "\x00\xff\x00")
	installed(t, p, "mine", "---\nname: mine\ndescription: Is mine. Use when asked.\nskill_format: corteza.skill/v1\nmodel_invocation: user-only\n---\n\nThe secret of mine.\n")
	harness.WriteFile(t, filepath.Join(p.Project, ".agents", "skills", "loose", "SKILL.md"), "---\nname: loose\ndescription: Is loose. Use when asked.\n---\n\nThe secret of loose.\n")
}

// A client of the extension at the newest version of the protocol lists, gets, reads and verifies the skills that models may have, and no others.
func TestMCPExtension(t *testing.T) {
	p := harness.NewPlace(t)
	skillsHere(t, p)
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	for _, method := range []string{"skills/list", "skills/get", "resources/directory/read"} {
		if err := mcp.AddSendingCustomMethod[*uriParams, *extensionResult](client, method); err != nil {
			t.Fatal(err)
		}
	}
	cmd := p.Command("mcp", "--tools", "skills")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	defer session.Close()
	ask := func(method, uri string) (*extensionResult, error) {
		return mcp.CallCustomMethod[*uriParams, *extensionResult](ctx, session, method, &uriParams{URI: uri})
	}
	start := session.InitializeResult()
	if start.ProtocolVersion < "2026-07-28" || fmt.Sprint(start.Capabilities.Extensions["io.modelcontextprotocol/skills"]) != "map[directoryRead:true]" || start.Capabilities.Resources == nil {
		t.Errorf("the server says %s, %+v", start.ProtocolVersion, start.Capabilities)
	}

	list, err := ask("skills/list", "")
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	var entry extensionEntry
	var names []string
	for _, e := range list.Skills {
		names = append(names, e.URI)
		if e.URI == "skill://open/SKILL.md" {
			entry = e
		}
	}
	if entry.URI == "" || slices.Contains(names, "skill://mine/SKILL.md") || slices.Contains(names, "skill://loose/SKILL.md") {
		t.Fatalf("skills/list has %q\n%s", names, &stderr)
	}
	if list.ResultType != "complete" || list.CacheScope != "private" || list.TTLMs == nil || *list.TTLMs != 0 {
		t.Errorf("the list is %+v", list)
	}
	if want := map[string]any{"name": "open", "description": "Opens. Use when asked.", "license": "MIT", "metadata": map[string]any{"since": "2024-01-02", "tags": []any{"a", 7.0, true}}}; !reflect.DeepEqual(entry.Frontmatter, want) {
		t.Errorf("frontmatter %v, want %v", entry.Frontmatter, want)
	}
	if got, err := ask("skills/get", entry.URI); err != nil || got.ResultType != "complete" || !reflect.DeepEqual(got.Skill, entry) {
		t.Errorf("skills/get gives %+v, %v; the list has %+v", got, err, entry)
	}
	verifyEntry(t, ctx, session, entry)
	if got, err := ask("resources/directory/read", "skill://open/assets"); err != nil || len(got.Resources) != 2 || got.Resources[0].URI != "skill://open/assets/a%20b.bin" || got.Resources[1].MIMEType != "inode/directory" {
		t.Errorf("the directory has %+v, %v", got, err)
	}
	resources, err := session.ListResources(ctx, nil)
	if err != nil || !slices.ContainsFunc(resources.Resources, func(r *mcp.Resource) bool {
		return r.URI == entry.URI && r.Name == "open" && r.MIMEType == "text/markdown"
	}) || slices.ContainsFunc(resources.Resources, func(r *mcp.Resource) bool { return r.Name == "mine" || r.Name == "loose" }) {
		t.Errorf("resources/list has %+v, %v", resources, err)
	}

	for uri, why := range map[string]string{"skill://mine/SKILL.md": "user-only", "skill://loose/SKILL.md": "not trusted", "skill://none/SKILL.md": "no skill"} {
		_, got := ask("skills/get", uri)
		_, read := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
		for _, err := range []error{got, read} {
			if e, ok := errors.AsType[*jsonrpc.Error](err); !ok || e.Code != -32602 || !strings.Contains(e.Message, why) {
				t.Errorf("%s: %v", uri, err)
			}
		}
	}
}

// verifyEntry compares each file of an entry with what a read of it gives.
func verifyEntry(t *testing.T, ctx context.Context, session *mcp.ClientSession, entry extensionEntry) {
	t.Helper()
	if len(entry.Resources) != 4 {
		t.Errorf("the entry has %+v", entry.Resources)
	}
	for _, r := range entry.Resources {
		read, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.URI})
		if err != nil || len(read.Contents) != 1 {
			t.Errorf("%s: %+v, %v", r.URI, read, err)
			continue
		}
		data := read.Contents[0].Blob
		if data == nil {
			data = []byte(read.Contents[0].Text)
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); sum != r.Digest || len(data) != r.Size || read.CacheScope != "private" {
			t.Errorf("%s: %d bytes with %s, scope %q; the entry says %+v", r.URI, len(data), sum, read.CacheScope, r)
		}
	}
}

// A client of an older protocol that knows nothing of the extension sees the same skills as resources, and one that does is answered.
func TestMCPExtensionOlder(t *testing.T) {
	p := harness.NewPlace(t)
	skillsHere(t, p)
	installed(t, p, "other", "---\nname: Other\ndescription: Has a name that no rule allows.\n---\n")
	cmd := p.Command("mcp", "--tools", "skills")
	cmd.Stdin = strings.NewReader(strings.Join([]string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"pipe","version":"1"}}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		`{"jsonrpc":"2.0","id":2,"method":"resources/list"}`,
		`{"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"skill://open/SKILL.md"}}`,
		`{"jsonrpc":"2.0","id":4,"method":"skills/list"}`,
		`{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"skill://mine/references/ops.md"}}`,
		`{"jsonrpc":"2.0","id":6,"method":"resources/read","params":{"uri":"skill://open/../mine/SKILL.md"}}`,
		`{"jsonrpc":"2.0","id":7,"method":"skills/get","params":{"uri":"skill://loose/SKILL.md"}}`,
	}, "\n") + "\n")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if strings.Contains(stdout.String(), "secret") {
		t.Errorf("what no model may have is in\n%s", &stdout)
	}
	answers := map[int]string{}
	for line := range strings.Lines(stdout.String()) {
		var one struct{ ID int }
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		answers[one.ID] = line
	}
	for id, want := range map[int]string{1: `"extensions":{"io.modelcontextprotocol/skills":{"directoryRead":true}}`, 2: `"uri":"skill://open/SKILL.md"`, 3: `Open it.`,
		4: `"resultType":"complete"`, 5: `"code":-32602`, 6: `"code":-32602`, 7: `"code":-32602`} {
		if !strings.Contains(answers[id], want) {
			t.Errorf("answer %d has no %s:\n%s", id, want, answers[id])
		}
	}
	if n := strings.Count(stderr.String(), "Other is not served as resources"); n != 1 {
		t.Errorf("said %d times why it is not served:\n%s", n, &stderr)
	}
}
