package mcp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/scope/scopetest"
	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/spec/diag"
)

// A shelf is the skills of a test, by name. Those with an error cannot be served.
type shelf map[string]struct {
	inspect.Offer
	err error
}

func (s shelf) put(name string, files map[string]string) {
	o := inspect.Offer{Name: name, Description: "Does " + name + ".", Front: fmt.Appendf(nil, `{"name":%q,"description":"Does %s.","z":1,"a":"<&>"}`, name, name), Files: map[string][]byte{"SKILL.md": []byte("# " + name + "\n")}}
	for file, text := range files {
		o.Files[file] = []byte(text)
	}
	one := s[name]
	one.Offer = o
	s[name] = one
}

func (s shelf) fail(name string, err error) {
	one := s[name]
	one.Name, one.err = name, err
	s[name] = one
}

func (s shelf) skills() Skills {
	return Skills{
		Offers: func(_ context.Context, after string, each func(inspect.Offer, error) bool) error {
			for _, name := range slices.Sorted(maps.Keys(s)) {
				if name > after && !each(s[name].Offer, s[name].err) {
					break
				}
			}
			return nil
		},
		Offer: func(_ context.Context, name string) (inspect.Offer, error) {
			one, ok := s[name]
			if !ok {
				return inspect.Offer{}, diag.New(diag.Misuse, "unknown_skill", "no skill called %q is installed", name)
			}
			if one.err != nil {
				return inspect.Offer{}, one.err
			}
			return one.Offer, nil
		},
	}
}

// A reply is what the server answers to one line.
type reply struct {
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// into reads a result that must not be an error.
func (r reply) into(t *testing.T, v any) {
	t.Helper()
	if r.Error != nil {
		t.Fatalf("%d: %s", r.Error.Code, r.Error.Message)
	}
	if err := json.Unmarshal(r.Result, v); err != nil {
		t.Fatalf("%v: %s", err, r.Result)
	}
}

// ask sends requests, each a method and its parameters as JSON, to a server of its own and returns the answers and the log.
func ask(t testing.TB, s Skills, requests ...[2]string) (replies []reply, log string) {
	t.Helper()
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	for i, r := range requests {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, i+1, r[0], r[1]) + "\n"
	}
	var out, told bytes.Buffer
	if err := Serve(t.Context(), Options{Tools: []string{SkillText}, Skills: s, In: io.NopCloser(strings.NewReader(in)), Out: nothing{&out}, Log: &told}); err != nil {
		t.Fatal(err)
	}
	replies = make([]reply, len(requests)+1)
	for line := range strings.Lines(out.String()) {
		var one struct {
			ID int
			reply
		}
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		replies[one.ID] = one.reply
	}
	return replies, told.String()
}

func uriParam(uri string) string { return `{"uri":` + quote(uri) + `}` }

// The extension is announced with the tools of skills, and with them alone.
func TestExtensionCapabilities(t *testing.T) {
	var first struct{ Capabilities map[string]any }
	replies, _ := ask(t, shelf{}.skills())
	replies[0].into(t, &first)
	if got := fmt.Sprint(first.Capabilities["extensions"], first.Capabilities["resources"]); got != "map[io.modelcontextprotocol/skills:map[directoryRead:true]] map[]" {
		t.Errorf("got %s", got)
	}
	first.Capabilities = nil
	replies, _ = ask(t, Skills{}, [2]string{methodList, "{}"})
	replies[0].into(t, &first)
	if first.Capabilities["extensions"] != nil || first.Capabilities["resources"] != nil || replies[1].Error == nil || replies[1].Error.Code != -32601 {
		t.Errorf("without the extension: %v, %+v", first.Capabilities, replies[1])
	}
}

// Every page has 50 entries, whole; a skill that cannot be served is said once, and an empty shelf is an empty list.
func TestSkillsList(t *testing.T) {
	s := shelf{}
	for i := range 101 {
		s.put(fmt.Sprintf("skill-%03d", i), map[string]string{"a b.md": "x"})
	}
	s.fail("skill-050", diag.New(diag.Refused, "mcp_not_served", "it has \x1b[31m more than 512 files"))
	var names []string
	cursor := ""
	for range 3 {
		replies, log := ask(t, s.skills(), [2]string{methodList, `{"cursor":` + quote(cursor) + `}`}, [2]string{methodList, `{"cursor":` + quote(cursor) + `}`}, [2]string{methodListed, `{}`})
		var p listedSkills
		replies[1].into(t, &p)
		for _, e := range p.Skills {
			names = append(names, e.URI)
			if len(e.Resources) != 2 || e.Resources[0].URI >= e.Resources[1].URI || e.Resources[1].URI != strings.TrimSuffix(e.URI, "SKILL.md")+"a%20b.md" {
				t.Errorf("resources %+v", e.Resources)
			}
		}
		if !strings.Contains(string(replies[1].Result), `"resultType":"complete"`) || !strings.Contains(string(replies[1].Result), `"ttlMs":0`) || p.CacheScope != "private" {
			t.Errorf("got %.200s", replies[1].Result)
		}
		if n := strings.Count(log, "skill-050 is not served as resources: "); cursor == "" && n != 1 || strings.Contains(log, "\x1b") {
			t.Errorf("the log is %q", log)
		}
		if cursor = p.NextCursor; cursor == "" {
			break
		}
	}
	if len(names) != 100 || !slices.IsSorted(names) || len(slices.Compact(names)) != 100 || cursor != "" {
		t.Errorf("%d entries, cursor %q: %q", len(names), cursor, names)
	}
	replies, _ := ask(t, shelf{}.skills(), [2]string{methodList, `{}`}, [2]string{methodList, `null`}, [2]string{methodListed, `{}`})
	for _, r := range replies[1:] {
		if r.Error != nil || !strings.Contains(string(r.Result), `:[]`) {
			t.Errorf("an empty shelf: %+v %s", r.Error, r.Result)
		}
	}
}

// An entry is what a read of each file gives, by size and digest; text is text, and anything else a blob.
func TestSkillsGetAndRead(t *testing.T) {
	s := shelf{}
	files := map[string]string{"docs/ü 100%.md": "\ufeffdébut\r\n\u2028<&>", "empty.txt": "", "logo.png": "\x89PNG\x00", "nul.txt": "a\x00b", "bad": "\xff", "LICENSE": "free"}
	s.put("pdf", files)
	replies, _ := ask(t, s.skills(), [2]string{methodGet, uriParam("skill://pdf/SKILL.md")}, [2]string{methodListed, `{}`})
	var got gotSkill
	replies[1].into(t, &got)
	var front struct{ Name, A string }
	if err := json.Unmarshal(got.Skill.Front, &front); err != nil || front.Name != "pdf" || front.A != "<&>" || bytes.Index(got.Skill.Front, []byte(`"z":1`)) > bytes.Index(got.Skill.Front, []byte(`"a":`)) {
		t.Errorf("frontmatter %s, %v", got.Skill.Front, err)
	}
	if got.ResultType != complete || got.CacheScope != "private" || !strings.Contains(string(replies[1].Result), `"ttlMs":0`) || len(got.Skill.Resources) != 7 {
		t.Errorf("got %s", replies[1].Result)
	}
	types := map[string]string{}
	for _, r := range got.Skill.Resources {
		replies, _ := ask(t, s.skills(), [2]string{methodRead, uriParam(r.URI)})
		var read sdk.ReadResourceResult
		replies[1].into(t, &read)
		c := read.Contents[0]
		data := []byte(c.Text)
		if c.Text == "" {
			data = c.Blob
		}
		if sum := fmt.Sprintf("sha256:%x", sha256.Sum256(data)); sum != r.Digest || len(data) != r.Size || c.URI != r.URI || read.CacheScope != "private" {
			t.Errorf("%s: %d bytes, %s, scope %q; the entry says %+v", r.URI, len(data), sum, read.CacheScope, r)
		}
		types[r.URI] = fmt.Sprint(c.MIMEType, " ", c.Blob != nil)
	}
	want := map[string]string{"skill://pdf/SKILL.md": "text/markdown false", "skill://pdf/docs/%C3%BC%20100%25.md": "text/markdown false", "skill://pdf/empty.txt": "text/plain true",
		"skill://pdf/logo.png": "image/png true", "skill://pdf/nul.txt": "application/octet-stream true", "skill://pdf/bad": "application/octet-stream true", "skill://pdf/LICENSE": "text/plain false"}
	if !maps.Equal(types, want) {
		t.Errorf("got  %v\nwant %v", types, want)
	}
	if want := `[{"description":"Does pdf.","mimeType":"text/markdown","name":"pdf","size":6,"uri":"skill://pdf/SKILL.md"}]`; !strings.Contains(string(replies[2].Result), want) || !strings.Contains(string(replies[2].Result), `"cacheScope":"private"`) {
		t.Errorf("resources/list gives %s", replies[2].Result)
	}
}

// A directory has its files and directories, in pages; what is none is an error.
func TestDirectoryRead(t *testing.T) {
	s := shelf{}
	files := map[string]string{"docs/one.md": "1", "docs/two/three.md": "3", "docs.md": "d"}
	for i := range 60 {
		files[fmt.Sprintf("many/%02d.txt", i)] = ""
	}
	s.put("pdf", files)
	for dir, want := range map[string]string{
		"skill://pdf":          "SKILL.md docs/ docs.md many/",
		"skill://pdf/docs":     "one.md two/",
		"skill://pdf/docs/two": "three.md",
	} {
		replies, _ := ask(t, s.skills(), [2]string{methodDir, uriParam(dir)})
		var got readDirectory
		replies[1].into(t, &got)
		var names []string
		for _, r := range got.Resources {
			name := r.Name
			if r.MIMEType == directoryType {
				name += "/"
			}
			names = append(names, name)
			if r.URI != dir+"/"+r.Name {
				t.Errorf("%s has %+v", dir, r)
			}
		}
		if strings.Join(names, " ") != want || got.ResultType != complete || got.NextCursor != "" {
			t.Errorf("%s: %q %+v", dir, names, got)
		}
	}
	replies, _ := ask(t, s.skills(), [2]string{methodDir, uriParam("skill://pdf/many")})
	var first, second readDirectory
	replies[1].into(t, &first)
	replies, _ = ask(t, s.skills(), [2]string{methodDir, `{"uri":"skill://pdf/many","cursor":` + quote(first.NextCursor) + `}`},
		[2]string{methodDir, `{"uri":"skill://pdf/docs","cursor":` + quote(first.NextCursor) + `}`})
	replies[1].into(t, &second)
	if len(first.Resources) != 50 || len(second.Resources) != 10 || second.Resources[0].Name != "50.txt" || second.NextCursor != "" {
		t.Errorf("pages of %d and %d, then %q", len(first.Resources), len(second.Resources), second.NextCursor)
	}
	if replies[2].Error == nil || replies[2].Error.Code != -32602 {
		t.Errorf("the cursor of another directory: %+v %s", replies[2].Error, replies[2].Result)
	}
}

// Whatever is wrong with a request is -32602 with a reason, no skill is read for a URI that is none, and a failure of the disk is -32603.
func TestExtensionRefuses(t *testing.T) {
	s := shelf{}
	s.put("pdf", map[string]string{"docs/one.md": "1"})
	s.fail("mine", diag.New(diag.Refused, "invocation_deny", "mine may not be read by a model"))
	s.fail("lost", fmt.Errorf("reading: %w", io.ErrUnexpectedEOF))
	served := s.skills()
	type refusal struct {
		method, params string
		code           int
		says           string
	}
	refusals := []refusal{
		{methodGet, `{}`, -32602, "uri is missing"}, {methodGet, `null`, -32602, "uri is missing"}, {methodGet, `{"uri":7}`, -32602, "uri is not a string"},
		{methodGet, `[1]`, -32602, "not an object"}, {methodGet, `{"URI":"skill://pdf/SKILL.md"}`, -32602, "uri is missing"},
		{methodGet, uriParam("skill://pdf"), -32602, "is not the SKILL.md"}, {methodGet, uriParam("skill://pdf/docs/SKILL.md"), -32602, "is not the SKILL.md"},
		{methodGet, uriParam("skill://none/SKILL.md"), -32602, `no skill called "none"`}, {methodGet, uriParam("skill://mine/SKILL.md"), -32602, "may not be read by a model"},
		{methodGet, uriParam("skill://lost/SKILL.md"), -32603, "unexpected EOF"}, {methodRead, uriParam("skill://lost/SKILL.md"), -32603, "unexpected EOF"},
		{methodRead, uriParam("skill://mine/SKILL.md"), -32602, "may not be read by a model"}, {methodRead, uriParam("skill://none/SKILL.md"), -32602, "none"},
		{methodRead, uriParam("skill://pdf"), -32602, "is not a file"}, {methodRead, uriParam("skill://pdf/docs"), -32602, "is not a file"},
		{methodRead, uriParam("skill://pdf/skill.md"), -32602, "is not a file"}, {methodRead, uriParam("skill://x/pdf/SKILL.md"), -32602, `"x"`},
		{methodRead, `{}`, -32602, "invalid URI"}, {methodRead, `{"uri":7}`, -32602, ""},
		{methodDir, `{}`, -32602, "uri is missing"}, {methodDir, uriParam("skill://pdf/SKILL.md"), -32602, "is not a directory"},
		{methodDir, uriParam("skill://pdf/doc"), -32602, "is not a directory"}, {methodDir, uriParam("skill://mine"), -32602, "may not be read by a model"},
		{methodDir, `{"uri":"skill://pdf","cursor":[]}`, -32602, "cursor is not a string"},
		{methodList, `{"cursor":7}`, -32602, "cursor is not a string"}, {methodList, `{"cursor":"xx"}`, -32602, "cursor is not one"},
		{methodList, `{"cursor":` + quote(cursorOf(methodDir, "a")) + `}`, -32602, "cursor is not one"}, {methodListed, `{"cursor":"xx"}`, -32602, "cursor is not one"},
	}
	var requests [][2]string
	for _, r := range refusals {
		requests = append(requests, [2]string{r.method, r.params})
	}
	replies, _ := ask(t, served, requests...)
	for i, r := range refusals {
		if e := replies[i+1].Error; e == nil || e.Code != r.code || !strings.Contains(e.Message, r.says) {
			t.Errorf("%s %s: %+v %s", r.method, r.params, e, replies[i+1].Result)
		}
	}

	served.Offer = func(_ context.Context, name string) (inspect.Offer, error) {
		t.Errorf("%q was read", name)
		return inspect.Offer{}, nil
	}
	requests = nil
	for _, uri := range hostileURIs {
		if json.Valid([]byte(quote(uri))) {
			requests = append(requests, [2]string{methodGet, uriParam(uri)}, [2]string{methodRead, uriParam(uri)}, [2]string{methodDir, uriParam(uri)})
		}
	}
	replies, _ = ask(t, served, requests...)
	for i, r := range replies[1:] {
		if r.Error == nil || r.Error.Code != -32602 {
			t.Errorf("%q: %+v %s", requests[i], r.Error, r.Result)
		}
	}
}

// A panic is an error of its request.
func TestExtensionPanics(t *testing.T) {
	s := shelf{}.skills()
	s.Offer = func(context.Context, string) (inspect.Offer, error) { panic("oh no") }
	replies, log := ask(t, s, [2]string{methodGet, uriParam("skill://pdf/SKILL.md")}, [2]string{methodRead, uriParam("skill://pdf/SKILL.md")}, [2]string{methodList, `{}`})
	for _, r := range replies[1:3] {
		if r.Error == nil || r.Error.Code != -32603 {
			t.Errorf("%+v", r.Error)
		}
	}
	if replies[3].Error != nil || strings.Count(log, "panic: oh no") != 2 {
		t.Errorf("%+v, the log is %q", replies[3].Error, log)
	}
}

// Requests that come at once are answered one after the other as far as they read skills, also after one that panicked. A search holds up searches alone.
func TestSkillsInTurn(t *testing.T) {
	var now, most, searching, searches atomic.Int32
	count := func(now, most *atomic.Int32) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
	}
	busy := func() { count(&now, &most) }
	var once sync.Once
	read := make(chan struct{}) // closed once something was read
	s := Skills{
		Search: func(ctx context.Context, _ string, _ int) (skillsearch.Answer, error) {
			select {
			case <-read:
			case <-ctx.Done():
			}
			count(&searching, &searches)
			return skillsearch.Answer{}, ctx.Err()
		},
		Read:   func(context.Context, string, string) (inspect.Text, error) { busy(); panic("oh no") },
		Offers: func(context.Context, string, func(inspect.Offer, error) bool) error { busy(); return nil },
		Offer: func(context.Context, string) (inspect.Offer, error) {
			busy()
			once.Do(func() { close(read) })
			return inspect.Offer{}, nil
		},
	}
	var requests [][2]string
	for range 5 {
		requests = append(requests, [2]string{methodList, `{}`}, [2]string{methodListed, `{}`}, [2]string{methodGet, uriParam("skill://pdf/SKILL.md")},
			[2]string{methodRead, uriParam("skill://pdf/SKILL.md")}, [2]string{methodDir, uriParam("skill://pdf")},
			[2]string{"tools/call", `{"name":"skill_read","arguments":{"name":"pdf"}}`}, [2]string{"tools/call", `{"name":"skill_search","arguments":{"task":"t"}}`})
	}
	replies, _ := ask(t, s, requests...)
	for i, r := range replies {
		if r.Result == nil && r.Error == nil {
			t.Errorf("%q has no answer", requests[i-1])
		}
	}
	if most.Load() != 1 || searches.Load() != 1 {
		t.Errorf("%d at once, and %d searches", most.Load(), searches.Load())
	}
}

// BenchmarkSkillsList reads 200 small skills from the disk, page by page, as a client does that has just connected.
func BenchmarkSkillsList(b *testing.B) {
	bench := scopetest.New(b)
	for i := range 200 {
		dir := filepath.Join(bench.Home, ".agents", "skills", fmt.Sprintf("skill-%03d", i))
		for file, text := range map[string]string{"SKILL.md": fmt.Sprintf("---\nname: skill-%03d\ndescription: Does it. Use when asked.\n---\n\n", i) + strings.Repeat("Do it well.\n", 100), "references/more.md": strings.Repeat("More.\n", 100)} {
			path := filepath.Join(dir, filepath.FromSlash(file))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	in := &inspect.Inspector{Applier: apply.New(bench.Scope(), scopetest.Nobody{}), Version: "test"}
	x := &extension{Skills: Skills{Offers: in.Offers, Offer: in.Offer}, log: io.Discard, said: map[string]bool{}}
	n := 0
	for b.Loop() {
		n = 0
		for cursor := ""; ; {
			p, err := x.list(b.Context(), &asked{text: json.RawMessage(`{"cursor":` + quote(cursor) + `}`)})
			if err != nil {
				b.Fatal(err)
			}
			n += len(p.Skills)
			if cursor = p.NextCursor; cursor == "" {
				break
			}
		}
	}
	if n < 200 {
		b.Errorf("%d skills are listed", n)
	}
	b.ReportMetric(float64(n), "skills")
}
