package search

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"net/url"
	"os"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
)

// A serviceKey is the key of an index service that was given none, where its user's own programs find it. It is for one address
// and one start: whoever listens there later is another.
type serviceKey struct {
	Addr string `json:"addr"`
	Key  string `json:"key"`
}

// keyFile is where the key of a service lies that keeps its state in dir.
func keyFile(dir string) string { return filepath.Join(serviceDir(dir), "key.json") }

// serviceDir is where a service keeps all but its list of repositories, with its state in dir.
func serviceDir(dir string) string { return filepath.Join(dir, "index-service") }

// newKey makes a key.
func newKey() string { return rand.Text() + rand.Text() }

// keepKey writes k for the programs of this user alone, until forget is called.
func keepKey(dir string, k serviceKey) (forget func(), err error) {
	text, err := json.Marshal(k)
	if err != nil {
		return nil, err
	}
	path := keyFile(dir)
	if err := durable.WriteFile(path, append(text, '\n'), 0o600); err != nil {
		return nil, err
	}
	return func() { os.Remove(path) }, nil
}

// serviceKey is the key to send to the service at address: that of the environment, or the one that a service of this user at exactly
// that address was started with.
func (s *Searcher) serviceKey(address string) (string, error) {
	if key := s.Scope.Getenv(ServiceKey); key != "" {
		return key, nil
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" {
		return "", nil
	}
	var k serviceKey
	if err := scope.ReadState(keyFile(s.Scope.Dirs.State), &k); err != nil {
		return "", err
	}
	if host, _, err := net.SplitHostPort(k.Addr); err != nil || host == "" || u.Host != k.Addr {
		return "", nil
	}
	return k.Key, nil
}
