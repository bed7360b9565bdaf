package harness

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/runtime/model/modeltest"
)

// Models are the model services that scripts have started, by work directory.
type Models struct {
	mu   sync.Mutex
	open map[string]*modeltest.Server
}

// Command implements: model anthropic|openai FILE | model asked N [TEXT…] | model never TEXT…. The first starts a service on
// loopback that speaks the provider's protocol and answers by FILE (see modeltest), and points skl at it. The
// second demands that exactly N requests have come so far, and that every TEXT was in one of them; the third that some came,
// and no TEXT was in any.
func (m *Models) Command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: model anthropic|openai FILE, model asked N [TEXT…], model never TEXT…")
	}
	key := ts.Getenv("WORK")
	switch args[0] {
	case "asked":
		m.asked(ts, key, args[1], args[2:])
		return
	case "never":
		m.never(ts, key, args[1:])
		return
	}
	script, err := modeltest.LoadScript(ts.MkAbs(args[1]))
	ts.Check(err)
	var server *modeltest.Server
	switch args[0] {
	case "anthropic":
		server = modeltest.NewAnthropic(script)
		setenv(ts, "ANTHROPIC_BASE_URL", server.URL)
		setenv(ts, "ANTHROPIC_API_KEY", "sk-test")
	case "openai":
		server = modeltest.NewOpenAI(script)
		setenv(ts, "OPENAI_BASE_URL", server.URL)
		setenv(ts, "OPENAI_API_KEY", "sk-test")
	default:
		ts.Fatalf("unknown provider %q", args[0])
	}
	setenv(ts, "MODEL_URL", server.URL)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		m.open = map[string]*modeltest.Server{}
	}
	m.open[key] = server
	ts.Defer(server.Close)
}

func (m *Models) never(ts *testscript.TestScript, key string, texts []string) {
	m.mu.Lock()
	server := m.open[key]
	m.mu.Unlock()
	if server == nil || len(server.Requests()) == 0 {
		ts.Fatalf("no model was asked")
	}
	for _, r := range server.Requests() {
		for _, text := range texts {
			if strings.Contains(r.System+r.Text+string(r.Body), text) {
				ts.Fatalf("a request held %q:\n%s", text, r.Body)
			}
		}
	}
}

func (m *Models) asked(ts *testscript.TestScript, key, count string, texts []string) {
	m.mu.Lock()
	server := m.open[key]
	m.mu.Unlock()
	if server == nil {
		ts.Fatalf("no model was started")
	}
	requests := server.Requests()
	if got := fmt.Sprint(len(requests)); got != count {
		ts.Fatalf("the model was asked %s times, want %s", got, count)
	}
	var all strings.Builder
	for _, r := range requests {
		all.WriteString(r.System + "\n" + r.Text + "\n" + string(r.Body) + "\n")
	}
	for _, text := range texts {
		if !strings.Contains(all.String(), text) {
			ts.Fatalf("no request held %q:\n%s", text, all.String())
		}
	}
}
