package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/runtime/model/modeltest"
	"github.com/skl-project/skl/testdata/long"
)

// A realClient is one of the five agent programs that TestClientsAgreeOnLayouts starts.
type realClient struct {
	host, variable, program string
	cache                   string // it unpacks itself there
	version                 string
	start                   func(c realClient, l *layout, ask string) (answer, error)
}

// An answer is what a client showed at one start: the real directories of copies. Of Claude Code, which names none,
// those of all copies with the marker that it showed.
type answer struct {
	shown    []string
	commands []string // of Claude Code: the names of all commands
	command  []string // what the command "ask" ran; nil if that was not asked
}

// realClients finds the agent programs, in the order of the table of results.
func realClients(t *testing.T) []realClient {
	all := []realClient{
		{host: "claude-code", variable: "SKL_TEST_CLAUDE", program: "claude", start: startClaude},
		{host: "codex", variable: "SKL_TEST_CODEX", program: "codex", start: startCodex},
		{host: "github-copilot", variable: "SKL_TEST_COPILOT", program: "copilot", start: startCopilot},
		{host: "gemini-cli", variable: "SKL_TEST_GEMINI", program: "gemini", start: startGemini},
		{host: "opencode", variable: "SKL_TEST_OPENCODE", program: "opencode", start: startOpencode},
	}
	cache := t.TempDir()
	for i := range all {
		c := &all[i]
		c.cache = cache
		c.program = long.Agent(t, c.variable, c.program)
		out, err := c.run(t.TempDir(), t.TempDir(), nil, "--version")
		if err != nil {
			t.Fatal(err)
		}
		c.version = regexp.MustCompile(`\d+\.\d+\.\d+`).FindString(string(out))
	}
	return all
}

// run starts the client, which sees no credentials and no network, and returns what it printed.
func (c realClient) run(home, dir string, env []string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, args...)
	cmd.Dir = dir
	cmd.Env = append([]string{"HOME=" + home, "USERPROFILE=" + home, "PATH=" + filepath.Dir(c.program) + ":" + os.Getenv("PATH"), "TERM=dumb", "NO_COLOR=1",
		"HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY=127.0.0.1",
		"COPILOT_CACHE_HOME=" + c.cache, "COPILOT_AUTO_UPDATE=false",
		"OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_AUTOUPDATE=1",
		"GEMINI_CLI_NO_RELAUNCH=true", "NODE_COMPILE_CACHE=" + filepath.Join(c.cache, "node"),
		"CLAUDE_CODE_MAX_RETRIES=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_TELEMETRY=1"}, env...)
	cmd.WaitDelay = time.Second // a child that outlives it keeps its output open
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s %s: %v\n%s%s", c.program, strings.Join(args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// directories are the real directories of SKILL.md files, sorted.
func directories(files []string) ([]string, error) {
	var dirs []string
	for _, file := range files {
		dir, err := filepath.EvalSymlinks(filepath.Dir(file))
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	slices.Sort(dirs)
	return dirs, nil
}

func startOpencode(c realClient, l *layout, _ string) (answer, error) {
	out, err := c.run(l.Home, l.cwd, nil, "debug", "skill")
	if err != nil {
		return answer{}, err
	}
	var list []struct{ Location string }
	if err := json.Unmarshal(out, &list); err != nil {
		return answer{}, fmt.Errorf("%v\n%s", err, out)
	}
	var files []string
	for _, s := range list {
		if s.Location != "<built-in>" {
			files = append(files, s.Location)
		}
	}
	dirs, err := directories(files)
	return answer{shown: dirs}, err
}

func startCopilot(c realClient, l *layout, _ string) (answer, error) {
	out, err := c.run(l.Home, l.cwd, nil, "skill", "list", "--json")
	if err != nil {
		return answer{}, err
	}
	var list []struct{ Path, Source string }
	if err := json.Unmarshal(out, &list); err != nil {
		return answer{}, fmt.Errorf("%v\n%s", err, out)
	}
	var files []string
	for _, s := range list {
		if s.Source != "builtin" {
			files = append(files, filepath.Join(s.Path, "SKILL.md"))
		}
	}
	dirs, err := directories(files)
	return answer{shown: dirs}, err
}

var geminiLocation = regexp.MustCompile(`(?m)^  Location: +(.*)$`)

func startGemini(c realClient, l *layout, _ string) (answer, error) {
	out, err := c.run(l.Home, l.cwd, nil, "skills", "list")
	if err != nil {
		return answer{}, err
	}
	var files []string
	for _, m := range geminiLocation.FindAllStringSubmatch(string(out), -1) {
		if strings.HasPrefix(m[1], filepath.Dir(l.Home)+"/") {
			files = append(files, m[1])
		}
	}
	dirs, err := directories(files)
	return answer{shown: dirs}, err
}

var (
	codexRoot = regexp.MustCompile("(?m)^- `(r[0-9]+)` = `(.*)`$")
	codexFile = regexp.MustCompile(`(?m)^- .*\(file: (.*)\)$`)
)

// startCodex reads the prompt that Codex would send to its model.
func startCodex(c realClient, l *layout, _ string) (answer, error) {
	out, err := c.run(l.Home, l.cwd, nil, "debug", "prompt-input", "hello")
	if err != nil {
		return answer{}, err
	}
	var items []struct{ Content []struct{ Text string } }
	if err := json.Unmarshal(out, &items); err != nil {
		return answer{}, fmt.Errorf("%v\n%s", err, out)
	}
	var files []string
	for _, item := range items {
		for _, part := range item.Content {
			if !strings.HasPrefix(part.Text, "<skills_instructions>") {
				continue
			}
			roots := map[string]string{}
			for _, m := range codexRoot.FindAllStringSubmatch(part.Text, -1) {
				roots[m[1]] = m[2]
			}
			for _, m := range codexFile.FindAllStringSubmatch(part.Text, -1) {
				file := m[1]
				if top, rest, ok := strings.Cut(file, "/"); ok && roots[top] != "" {
					file = filepath.Join(roots[top], rest)
				}
				if !strings.Contains(file, "/.system/") { // its own, which it puts into the user's directory
					files = append(files, file)
				}
			}
		}
	}
	dirs, err := directories(files)
	return answer{shown: dirs}, err
}

var (
	claudeListed = regexp.MustCompile(`(?m)^- .*(?:Copy|Body) (c[0-9]{3})\.`)
	claudeBase   = regexp.MustCompile(`(?m)^Base directory for this skill: (.*)$`)
)

// startClaude runs the command "ask" and reads what Claude Code sends to its model: the skills that it lists, and the text that
// the command stands for. The list names no directories: markers tell which copies these are.
func startClaude(c realClient, l *layout, ask string) (answer, error) {
	server := modeltest.NewAnthropic(modeltest.Turns(modeltest.Turn{Repeat: true, Text: "Done."}))
	defer server.Close()
	var mu sync.Mutex
	var said []string
	target, err := url.Parse(server.URL)
	if err != nil {
		return answer{}, err
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		mu.Lock()
		said = texts(said, body)
		mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	if ask == "" {
		ask = "hello"
	} else {
		ask = "/" + ask
	}
	out, err := c.run(l.Home, l.cwd, []string{"ANTHROPIC_BASE_URL=" + front.URL, "ANTHROPIC_API_KEY=sk-ant-of-a-test"},
		"-p", ask, "--output-format", "stream-json", "--verbose")
	if err != nil {
		return answer{}, err
	}
	var started struct {
		Commands []string `json:"slash_commands"`
	}
	first, _, _ := bytes.Cut(out, []byte("\n"))
	if err := json.Unmarshal(first, &started); err != nil {
		return answer{}, fmt.Errorf("%v\n%s", err, out)
	}
	mu.Lock()
	defer mu.Unlock()
	a := answer{commands: started.Commands, command: []string{}}
	for _, text := range said {
		for _, m := range claudeListed.FindAllStringSubmatch(text, -1) {
			a.shown = append(a.shown, l.marked(m[1])...)
		}
		for _, m := range claudeBase.FindAllStringSubmatch(text, -1) {
			if real, err := filepath.EvalSymlinks(m[1]); err == nil {
				a.command = append(a.command, real)
			}
		}
	}
	slices.Sort(a.shown)
	a.shown = slices.Compact(a.shown)
	return a, nil
}

// texts adds all texts in the request of a model to said, wherever they are in it.
func texts(said []string, request []byte) []string {
	var value any
	if json.Unmarshal(request, &value) != nil {
		return said
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			said = append(said, v)
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(value)
	return said
}

// at is what was laid in that real directory, or as a link to it.
func (l *layout) at(dir string) (all []laid) {
	for _, c := range l.copies {
		if real, err := filepath.EvalSymlinks(c.path); err == nil && real == dir {
			all = append(all, c)
		}
	}
	return all
}

// alike are the real directories of the copies with the marker of the one in dir.
func (l *layout) alike(dir string) (dirs []string) {
	for _, c := range l.at(dir) {
		if c.mark != "" {
			dirs = append(dirs, l.marked(c.mark)...)
		}
	}
	return dirs
}

// marked are the real directories of the copies with that marker.
func (l *layout) marked(mark string) (dirs []string) {
	for _, c := range l.copies {
		if c.mark == mark {
			if real, err := filepath.EvalSymlinks(c.path); err == nil {
				dirs = append(dirs, real)
			}
		}
	}
	return dirs
}
