package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// A Server is an MCP server that the person named. It is started when a tool of it may be called, and stopped
// by [Dispatcher.Close]. It runs unconfined, as the person's own program.
type Server struct {
	Name    string        // the namespace of its tools
	Command []string      // program and arguments, spoken to over its standard input and output
	Env     []string      // NAME=value besides PATH, HOME and LANG, which are all it gets otherwise
	Dir     string        // where it runs; "" is the working directory
	URL     string        // instead of Command: of its streamable HTTP endpoint
	Header  http.Header   // for URL, sent to its origin only
	Start   time.Duration // until it has listed its tools; 0 means 20 s
	Timeout time.Duration // of a call; 0 means 2 min
}

const (
	maxServerTools = 512
	maxDescription = 4 << 10 // bytes
	maxSchema      = 64 << 10
)

func (s Server) check() error {
	if _, err := skill.ParseTool(s.Name + "::x"); err != nil || len(s.Name) > 48 {
		return diag.New(diag.Misuse, CodeServer, "an MCP server cannot be called %q: letters, digits, \".\", \"_\" and \"-\", at most 48", diag.Printable(s.Name))
	}
	if (len(s.Command) == 0) == (s.URL == "") {
		return diag.New(diag.Misuse, CodeServer, "the MCP server %q needs a command or a URL, and not both", s.Name)
	}
	return nil
}

// A server is a Server and its process.
type server struct {
	config Server
	client *origin.Client
	shared *Config

	mu      sync.Mutex // guards what follows
	started bool
	closed  bool
	session *mcp.ClientSession
	err     error // why it did not start
}

// state says whether start was called, and how it went.
func (s *server) state() (started bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.started, s.err
}

// start starts the server and returns its tools; none if that fails.
func (s *server) start() []*handler {
	limit := s.config.Start
	if limit == 0 {
		limit = 20 * time.Second
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.started || s.closed {
		return nil
	}
	s.started = true
	transport, stderr := s.transport()
	client := mcp.NewClient(&mcp.Implementation{Name: "skl", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		s.err = s.failure("does not start", err, stderr)
		return nil
	}
	var tools []*handler
	for t, err := range session.Tools(ctx, nil) {
		if err != nil {
			s.err = s.failure("does not list its tools", err, stderr)
			session.Close()
			return nil
		}
		if h := s.handler(t); h != nil && len(tools) < maxServerTools {
			tools = append(tools, h)
		}
	}
	s.session = session
	return unique(tools)
}

// unique drops tools that a server lists twice: neither can be told from the other.
func unique(tools []*handler) []*handler {
	count := map[string]int{}
	for _, h := range tools {
		count[h.name]++
	}
	var out []*handler
	for _, h := range tools {
		if count[h.name] == 1 {
			out = append(out, h)
		}
	}
	return out
}

func (s *server) failure(what string, err error, stderr *headTail) *diag.Error {
	e := diag.New(diag.Failed, CodeServer, "the MCP server %s %s: %w", s.config.Name, what, err)
	if stderr != nil {
		if text := strings.TrimSpace(stderr.String()); text != "" {
			e.Message += " (" + diag.Brief(text, 300) + ")"
		}
	}
	return e
}

func (s *server) transport() (mcp.Transport, *headTail) {
	if s.config.URL != "" {
		client := s.client
		if client == nil {
			client = &origin.Client{UserAgent: "skl"}
		}
		var t http.RoundTripper = client.Anonymous()
		if s.config.Header != nil {
			t = headed{t, s.config.Header}
		}
		return &mcp.StreamableClientTransport{Endpoint: s.config.URL, HTTPClient: &http.Client{Transport: t}, DisableStandaloneSSE: true}, nil
	}
	c := core{config: *s.shared}
	cmd := exec.Command(s.config.Command[0], s.config.Command[1:]...)
	if path := lookPath(s.config.Command[0], c.pathOf()); path != "" {
		cmd.Path, cmd.Err = path, nil
	}
	cmd.Dir = s.config.Dir
	if cmd.Dir == "" {
		cmd.Dir = s.shared.WorkDir
	}
	cmd.Env = lastOf(append([]string{"PATH=" + c.pathOf(), "HOME=" + s.shared.Home, "LANG=C.UTF-8"}, s.config.Env...))
	if runtime.GOOS == "windows" {
		cmd.Env = append(cmd.Env, "USERPROFILE="+s.shared.Home)
	}
	stderr := headTail{half: 2 << 10}
	cmd.Stderr = &stderr
	cmd.WaitDelay = 2 * time.Second
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Second}, &stderr
}

// lookPath finds a program on a PATH that is not this process's own; "" for a name with a separator.
func lookPath(name, path string) string {
	if strings.ContainsAny(name, `/\`) {
		return ""
	}
	c := core{config: Config{Path: path}, work: &tree{real: "\x00", given: "\x00"}}
	found, _ := c.look(name)
	return found
}

// headed sends headers of its own.
type headed struct {
	http.RoundTripper
	header http.Header
}

// RoundTrip implements [http.RoundTripper].
func (h headed) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, values := range h.header {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return h.RoundTripper.RoundTrip(req)
}

// handler makes a tool of what the server lists; nil for a tool whose name or schema cannot be passed on. What the
// server says of itself, such as that a tool only reads, decides nothing.
func (s *server) handler(t *mcp.Tool) *handler {
	if t == nil || t.Name == "*" {
		return nil
	}
	if parsed, err := skill.ParseTool(s.config.Name + "::" + t.Name); err != nil || parsed.Name != t.Name || parsed.Pattern != "" {
		return nil
	}
	input, err := json.Marshal(t.InputSchema)
	if err != nil || !isObject(input) || len(input) > maxSchema {
		return nil
	}
	h := &handler{namespace: s.config.Name, name: t.Name, description: bounded(t.Description, maxDescription), schema: input, effect: External}
	h.prepare = func(_ *Dispatcher, input json.RawMessage) (*use, error) {
		if len(strings.TrimSpace(string(input))) == 0 {
			input = json.RawMessage("{}")
		}
		if !isObject(input) {
			return nil, badInput(h.String(), "is not a JSON object of at most %d bytes", maxInput)
		}
		return &use{
			detail: h.String() + " " + string(input),
			parts:  []string{h.String()},
			do:     func(ctx context.Context) (string, error) { return s.call(ctx, h, input) },
		}, nil
	}
	return h
}

func (s *server) call(ctx context.Context, h *handler, input json.RawMessage) (string, error) {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == nil {
		return "", diag.New(diag.Failed, CodeServer, "the MCP server %s does not run", s.config.Name)
	}
	limit := s.config.Timeout
	if limit == 0 {
		limit = 2 * time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	r, err := session.CallTool(ctx, &mcp.CallToolParams{Name: h.name, Arguments: input})
	if err != nil {
		return "", diag.New(diag.Failed, CodeServer, "%s: %w", h, err)
	}
	text := contentText(r)
	if r.IsError {
		return text + "\n", failed("%s says that it did not succeed", h)
	}
	return text, nil
}

// contentText is a result as text. What is no text is named.
func contentText(r *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range r.Content {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		switch c := c.(type) {
		case *mcp.TextContent:
			b.WriteString(bounded(c.Text, maxKept))
		case *mcp.ImageContent:
			fmt.Fprintf(&b, "[image %s, %d bytes]", diag.Printable(c.MIMEType), len(c.Data))
		case *mcp.AudioContent:
			fmt.Fprintf(&b, "[audio %s, %d bytes]", diag.Printable(c.MIMEType), len(c.Data))
		case *mcp.ResourceLink:
			fmt.Fprintf(&b, "[resource %s]", diag.Printable(c.URI))
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				b.WriteString(bounded(c.Resource.Text, maxKept))
			} else {
				b.WriteString("[resource]")
			}
		}
		if b.Len() > maxKept {
			break
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		if text, err := json.Marshal(r.StructuredContent); err == nil {
			b.Write(text)
		}
	}
	return b.String()
}

func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.session == nil {
		return nil
	}
	session := s.session
	s.session = nil
	// The exit status of a server that is told to stop says nothing.
	session.Close()
	return nil
}
