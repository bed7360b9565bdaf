package child

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

const (
	defaultTurns = 50
	maxAtOnce    = 16 // read-only calls that run at the same time
	maxHeader    = 64 << 10
)

// Server is the name under which the program knows the tools.
const Server = "skl"

// Tools is an MCP server for one request.
type Tools struct {
	URL   string // http://127.0.0.1:PORT/SECRET
	Token string // for the header Authorization: Bearer

	http   *http.Server
	cancel context.CancelFunc
	served sync.WaitGroup

	call func(context.Context, string, json.RawMessage) model.ToolResult
	gate chan struct{} // one place per read-only call
	// order lets read-only calls overlap; the others run alone, in the order they come.
	order sync.RWMutex

	mu     sync.Mutex // guards the fields below
	left   int        // calls that may still be made
	closed bool
	calls  sync.WaitGroup // added to under mu while not closed
}

// Serve starts a server for the tools of r. Calls see ctx as their parent and
// end with it. After MaxTurns calls of r each further one is answered by an
// error that says so. The caller closes the server before it answers r.
func Serve(ctx context.Context, r model.Request) (*Tools, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, diag.New(diag.Failed, "model_tools", "no address on 127.0.0.1 is free for the tools of node %s: %w", r.Node, err)
	}
	t := &Tools{Token: rand.Text(), call: r.Call, gate: make(chan struct{}, maxAtOnce), left: r.MaxTurns}
	if t.left <= 0 {
		t.left = defaultTurns
	}
	secret := "/" + rand.Text()
	t.URL = "http://" + listener.Addr().String() + secret
	ctx, t.cancel = context.WithCancel(ctx)

	server := sdk.NewServer(&sdk.Implementation{Name: Server, Version: "1"}, nil)
	for _, tool := range r.Tools {
		server.AddTool(&sdk.Tool{Name: tool.Name, Description: tool.Description, InputSchema: inputSchema(tool.Schema)}, t.handler(ctx, tool))
	}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	want := []byte("Bearer " + t.Token)
	t.http = &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			if err := origin.Accept(q); err != nil {
				http.Error(w, err.Error(), origin.AcceptStatus(err))
				return
			}
			if q.URL.Path != secret || subtle.ConstantTimeCompare([]byte(q.Header.Get("Authorization")), want) != 1 {
				http.NotFound(w, q)
				return
			}
			handler.ServeHTTP(w, q)
		}),
		ReadHeaderTimeout: 10 * time.Second,
		MaxHeaderBytes:    maxHeader,
	}
	t.served.Go(func() { t.http.Serve(listener) })
	return t, nil
}

// Close ends calls that still run, waits for them and stops the server. After
// it no tool of the request runs.
func (t *Tools) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.calls.Wait()
	t.http.Close()
	t.served.Wait()
}

func (t *Tools) handler(ctx context.Context, tool model.Tool) sdk.ToolHandler {
	return func(asked context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if refused := t.enter(); refused != "" {
			return result(model.ToolResult{Text: refused, IsError: true}), nil
		}
		defer t.calls.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(asked, cancel)()

		select {
		case t.gate <- struct{}{}:
			defer func() { <-t.gate }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if tool.ReadOnly {
			t.order.RLock()
			defer t.order.RUnlock()
		} else {
			t.order.Lock()
			defer t.order.Unlock()
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		input := q.Params.Arguments
		if len(input) == 0 {
			input = json.RawMessage("{}")
		}
		return result(t.call(ctx, tool.Name, input)), nil
	}
}

// enter counts a call, or says why it is not made.
func (t *Tools) enter() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return "the request is answered; no tool can be called for it any more"
	case t.left == 0:
		return "no more tools can be called for this request: give your answer now"
	}
	t.left--
	t.calls.Add(1)
	return ""
}

func result(r model.ToolResult) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Text}}, IsError: r.IsError}
}

// inputSchema is schema as an MCP server must show it: an object of type
// object. A schema that is none becomes one that takes every object, and the
// tool itself checks what it is given.
func inputSchema(schema json.RawMessage) any {
	var object map[string]any
	if json.Unmarshal(schema, &object) != nil || object == nil {
		object = map[string]any{}
	}
	object["type"] = "object"
	return object
}

// Settings is the file that tells the program where the tools are, in the form
// that agents share. More are fields of the server that only one of them knows.
func (t *Tools) Settings(more map[string]any) []byte {
	server := map[string]any{"type": "http", "url": t.URL, "headers": map[string]string{"Authorization": "Bearer " + t.Token}}
	maps.Copy(server, more)
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{Server: server}})
	if err != nil {
		panic(fmt.Sprint("a field of the settings is not JSON: ", err))
	}
	return b
}
