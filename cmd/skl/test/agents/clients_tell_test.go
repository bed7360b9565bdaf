package agents

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/skl-project/skl/cmd/skl/test/harness"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver/source/git/gittest"
)

// tellCase is a set of skills, and how a client is started with it.
type tellCase struct {
	n       int
	lengths []int  // of the descriptions, in turn
	file    string // settings below the home, for the client
	text    string
	args    []string
}

// TestClientsTell compares what Claude Code, Codex and Copilot tell a model of sets of 10 to 400 skills with what skl list says of each skill:
// whole descriptions, parts, names alone and nothing. The first two sets have lengths that no rule was made from.
func TestClientsTell(t *testing.T) {
	gittest.Need(t)
	mixed := []int{31, 977, 160, 402, 88, 611, 240, 5}
	sets := []tellCase{{n: 10, lengths: mixed}, {n: 50, lengths: mixed}, {n: 150, lengths: mixed}, {n: 400, lengths: mixed}, {n: 150, lengths: []int{250}}}
	small := map[string]tellCase{
		"claude-code": {file: ".claude/settings.json", text: `{"model": "claude-sonnet-4-5"}`},
		"codex":       {file: ".codex/config.toml", text: "model_context_window = 128000\n"},
	}
	for _, c := range realClients(t) {
		send := map[string]func(realClient, *harness.Place, []string) (string, error){"claude-code": claudeList, "codex": codexList, "github-copilot": copilotList}[c.host]
		if send == nil {
			continue
		}
		for _, set := range sets {
			variants := []tellCase{set}
			if s, ok := small[c.host]; ok {
				s.n, s.lengths = set.n, set.lengths
				variants = append(variants, s)
			}
			for _, v := range variants {
				t.Run(fmt.Sprintf("%s/%d-%d-%s", c.host, v.n, len(v.lengths), v.file), func(t *testing.T) { compareTold(t, c, v, send) })
			}
		}
	}
}

func compareTold(t *testing.T, c realClient, set tellCase, send func(realClient, *harness.Place, []string) (string, error)) {
	p := harness.NewPlace(t)
	root := map[string]string{"claude-code": ".claude/skills"}[c.host]
	if root == "" {
		root = ".agents/skills"
	}
	whole := map[string]string{}
	for i := range set.n {
		name, where := fmt.Sprintf("skill-%03d", i), p.Project
		if i%9 == 4 {
			where = p.Home
		}
		dir := filepath.Join(where, filepath.FromSlash(root), name)
		whole[name] = strings.TrimSpace(strings.Repeat("Reads tables, writes reports. ", 40)[:set.lengths[i%len(set.lengths)]])
		write(t, filepath.Join(dir, "SKILL.md"), "---\nname: "+name+"\ndescription: \""+whole[name]+"\"\n---\n\n# Skill\n")
	}
	gittest.Git(t, p.Project, "init", "-q")
	if set.file != "" {
		write(t, filepath.Join(p.Home, filepath.FromSlash(set.file)), set.text)
	}
	list, err := send(c, p, set.args)
	if err != nil {
		t.Fatal(err)
	}
	var listing roots.Listing
	out, err := p.Command("list", "--all", "--json", "--host", c.host).Output()
	if err == nil {
		err = json.Unmarshal(out, &listing)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wrong, seen := 0, 0
	for _, r := range listing.Skills {
		description, ours := whole[r.Name]
		if !ours || len(r.Hosts) == 0 {
			continue
		}
		seen++
		said, h := told(c.host, list, r.Name), r.Hosts[0]
		want := hosts.Told{Chars: len(description), Of: len(description), Named: true}
		if h.Told != nil {
			want = *h.Told
		}
		if said != (hosts.Told{Chars: want.Chars, Named: want.Named}) {
			if wrong++; wrong < 5 {
				t.Errorf("%s: the model is told %+v, skl says %s %+v", r.Name, said, h.Use, want)
			}
		}
	}
	if seen != set.n || wrong > 0 {
		t.Errorf("%d of %d skills are told otherwise; %d were listed; %+v", wrong, set.n, seen, listing.Budgets)
	}
}

// told is what a list says of a skill.
func told(host, list, name string) (t hosts.Told) {
	if host == "github-copilot" {
		_, block, ok := strings.Cut(list, "<name>"+name+"</name>")
		if ok {
			_, block, _ = strings.Cut(block, "<description>")
			block, _, _ = strings.Cut(block, "</description>")
			return hosts.Told{Chars: len(html.UnescapeString(block)), Named: true}
		}
		return hosts.Told{Named: regexp.MustCompile(`[ :]` + name + `(,|\n|$)`).MatchString(list)}
	}
	for line := range strings.Lines(list) {
		rest, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "- "+name)
		if !ok {
			continue
		}
		if at := strings.LastIndex(rest, "(file: "); at >= 0 {
			rest = rest[:at]
		}
		rest = strings.TrimPrefix(strings.TrimPrefix(rest, ":"), " ")
		if host == "codex" { // one blank before the path
			rest = strings.TrimSuffix(rest, " ")
		}
		return hosts.Told{Chars: len(rest), Named: true}
	}
	return t
}

// recorder answers every request of a model with a refusal, and keeps the longest text that names a skill.
func recorder() (server *httptest.Server, list func() string) {
	var mu sync.Mutex
	var said []string
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		said = texts(said, body)
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"enough"}}`)
	}))
	return server, func() string {
		mu.Lock()
		defer mu.Unlock()
		return mostNamed(said)
	}
}

func mostNamed(said []string) (best string) {
	for _, s := range said {
		if strings.Count(s, "skill-0") > strings.Count(best, "skill-0") {
			best = s
		}
	}
	return best
}

func claudeList(c realClient, p *harness.Place, _ []string) (string, error) {
	server, list := recorder()
	defer server.Close()
	_, err := c.run(p.Home, p.Project, []string{"ANTHROPIC_BASE_URL=" + server.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test", "CLAUDE_CODE_MAX_RETRIES=0"}, "-p", "hello")
	return list(), refused(err, list())
}

func copilotList(c realClient, p *harness.Place, _ []string) (string, error) {
	server, list := recorder()
	defer server.Close()
	_, err := c.run(p.Home, p.Project, []string{"COPILOT_OFFLINE=true", "COPILOT_PROVIDER_BASE_URL=" + server.URL + "/v1", "COPILOT_PROVIDER_API_KEY=key-of-a-test", "COPILOT_MODEL=gpt-test"}, "-p", "hello")
	return list(), refused(err, list())
}

// refused is the error of a client that asked nothing: that it ends with one is what the server is for.
func refused(err error, list string) error {
	if list != "" {
		return nil
	}
	return fmt.Errorf("no list of skills was sent: %v", err)
}

func codexList(c realClient, p *harness.Place, _ []string) (string, error) {
	out, err := c.run(p.Home, p.Project, nil, "debug", "prompt-input", "hello")
	if err != nil {
		return "", err
	}
	return mostNamed(texts(nil, bytes.TrimSpace(out))), nil
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
