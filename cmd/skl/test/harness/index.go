package harness

import (
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// Services are the index services that scripts have started.
type Services struct{ Registries }

// Command implements: service start [NAME=VALUE…] [FLAGS…] | service stop. The service is the real program in a process
// of its own, on a free port; its address is in SERVICE_URL.
func (s *Services) Command(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || args[0] != "start" && args[0] != "stop" {
		ts.Fatalf("usage: service start|stop [NAME=VALUE…] [FLAGS…]")
	}
	key := filepath.Join(ts.Getenv("WORK"), "service")
	if args[0] == "stop" {
		s.stop(ts, key)
		return
	}
	var env []string
	flags := args[1:]
	for len(flags) > 0 && !strings.HasPrefix(flags[0], "-") {
		env, flags = append(env, flags[0]), flags[1:]
	}
	ready, p := s.start(ts, append([]string{"index", "serve", "--addr", "127.0.0.1:0", "--json"}, flags...), env...)
	s.mu.Lock()
	if s.open == nil {
		s.open = map[string]*registryProcess{}
	}
	s.open[key] = p
	s.mu.Unlock()
	ts.Defer(func() { s.stop(ts, key) })
	setenv(ts, "SERVICE_URL", ready.URL)
}
