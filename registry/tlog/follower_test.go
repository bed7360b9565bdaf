package tlog_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
)

// server is a registry's log over HTTP; fields can be exchanged while it runs.
type server struct {
	log        *memory
	checkpoint []byte
	asked      []string
	breaks     string // a path that answers with a flipped bit
	url        string
}

func newServer(t *testing.T) *server {
	s := new(server)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/")
		s.asked = append(s.asked, path)
		data := s.checkpoint
		if path != "checkpoint" {
			var err error
			if data, err = tlog.Tile(r.Context(), s.log, path); err != nil {
				http.Error(w, err.Error(), http.StatusNotFound)
				return
			}
		}
		if path == s.breaks {
			data = append([]byte(nil), data...)
			data[len(data)/2] ^= 1
		}
		w.Write(data)
	}))
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) fetch(ctx context.Context, path string) ([]byte, error) {
	resp, err := http.Get(s.url + "/" + path)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", path, resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 8<<20))
}

// client is a follower of s that keeps its state in saved.
type client struct {
	*tlog.Follower
	saved []byte
	now   time.Time
}

func newClient(s *server, public string) *client {
	c := &client{now: start.Add(time.Minute)}
	c.Follower = &tlog.Follower{
		Offer: func(context.Context) (string, error) { return public + "\n", nil },
		Load:  func(context.Context) ([]byte, error) { return c.saved, nil },
		Save:  func(_ context.Context, state []byte) error { c.saved = state; return nil },
		Fetch: s.fetch,
		Now:   func() time.Time { return c.now },
	}
	return c
}

// An honest log is followed from any size to any larger one, at the price of a few tiles.
func TestFollow(t *testing.T) {
	for _, sizes := range [][]int{{0, 1, 2, 3}, {1, 256, 257, 600, 600}, {255, 65_536, 65_537, 70_000}, {0, 0, 300}} {
		key, s := newKey(t), newServer(t)
		s.log = new(memory)
		c := newClient(s, key.Public())
		for _, size := range sizes {
			grow(t, s.log, size-len(s.log.records))
			s.checkpoint = sign(t, key, s.log, start)
			s.asked = nil
			seen, err := c.Update(t.Context())
			if err != nil || seen.Size != int64(size) {
				t.Fatalf("%v: at %d: %v, %v", sizes, size, seen, err)
			}
			if len(s.asked) > 8 {
				t.Errorf("%v: at %d: %d requests: %q", sizes, size, len(s.asked), s.asked)
			}
			if pinned, last, err := c.Known(t.Context()); pinned != key.Public() || last.Size != int64(size) || err != nil {
				t.Errorf("Known = %q, %v, %v", pinned, last, err)
			}
		}
	}
}

// A registry that lies: how, and what its clients say.
func TestLies(t *testing.T) {
	for _, lie := range []struct {
		name, code string
		tell       func(t *testing.T, key tlog.Key, s *server, c *client)
	}{
		{"rollback", "log_rollback", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.log = new(memory)
			grow(t, s.log, 499)
			s.checkpoint = sign(t, key, s.log, c.now)
		}},
		{"to an empty log", "log_rollback", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.log = new(memory)
			s.checkpoint = sign(t, key, s.log, c.now)
		}},
		{"fork of the same size", "log_fork", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.log = new(memory)
			grow(t, s.log, 499)
			other := record(499)
			other.Tree = "tree-sha256:evil"
			tlog.Append(t.Context(), s.log, other)
			s.checkpoint = sign(t, key, s.log, c.now)
		}},
		{"fork that goes on", "log_fork", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.log = new(memory)
			grow(t, s.log, 200)
			other := record(200)
			other.Tree = "tree-sha256:evil"
			tlog.Append(t.Context(), s.log, other)
			grow(t, s.log, 600)
			s.checkpoint = sign(t, key, s.log, c.now)
		}},
		{"the tiles of the old log under the checkpoint of a fork", "log_proof", func(t *testing.T, key tlog.Key, s *server, c *client) {
			fork := new(memory)
			tlog.Append(t.Context(), fork, tlog.Record{Action: tlog.Publish, Name: "evil", At: tlog.At(start)})
			grow(t, fork, 600)
			s.checkpoint = sign(t, key, fork, c.now)
			grow(t, s.log, 101)
		}},
		{"freeze", "log_frozen", func(t *testing.T, key tlog.Key, s *server, c *client) {
			c.now = c.now.Add(25 * time.Hour)
		}},
		{"freeze of a log that grew a little", "log_frozen", func(t *testing.T, key tlog.Key, s *server, c *client) {
			grow(t, s.log, 5)
			s.checkpoint = sign(t, key, s.log, start)
			c.now = c.now.Add(25 * time.Hour)
		}},
		{"from the future", "log_frozen", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.checkpoint = sign(t, key, s.log, c.now.Add(2*time.Hour))
		}},
		{"another key of the same name", "log_signature", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.checkpoint = sign(t, newKey(t), s.log, c.now)
		}},
		{"another key, offered and used", "log_signature", func(t *testing.T, key tlog.Key, s *server, c *client) {
			other := newKey(t)
			c.Offer = func(context.Context) (string, error) { return other.Public(), nil }
			s.checkpoint = sign(t, other, s.log, c.now)
		}},
		{"a changed size", "log_signature", func(t *testing.T, key tlog.Key, s *server, c *client) {
			s.checkpoint = []byte(strings.Replace(string(s.checkpoint), "\n500\n", "\n501\n", 1))
		}},
		{"another origin, signed by the key", "log_signature", func(t *testing.T, key tlog.Key, s *server, c *client) {
			root, _ := tlog.Root(t.Context(), s.log, 500)
			s.checkpoint, _ = key.SignCheckpoint(tlog.Checkpoint{Origin: "other.example", Size: 500, Root: root, Time: c.now.Truncate(time.Second)})
		}},
		{"no note at all", "log_signature", func(t *testing.T, key tlog.Key, s *server, c *client) { s.checkpoint = []byte("<html>") }},
		{"a flipped bit in a tile", "log_proof", func(t *testing.T, key tlog.Key, s *server, c *client) {
			grow(t, s.log, 100)
			s.checkpoint, s.breaks = sign(t, key, s.log, c.now), "tile/0/002.p/88"
		}},
	} {
		t.Run(lie.name, func(t *testing.T) {
			key, s := newKey(t), newServer(t)
			s.log = new(memory)
			grow(t, s.log, 500)
			s.checkpoint = sign(t, key, s.log, start)
			c := newClient(s, key.Public())
			if _, err := c.Update(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := string(c.saved)
			lie.tell(t, key, s, c)
			seen, err := c.Update(t.Context())
			wantCode(t, err, lie.code)
			if seen.Size != 0 {
				t.Errorf("a refused checkpoint was returned: %v", seen)
			}
			if string(c.saved) != before {
				t.Error("what was remembered changed")
			}
		})
	}
}

// A configured key is not negotiable, and one that is no key is refused.
func TestPinnedKey(t *testing.T) {
	key, s := newKey(t), newServer(t)
	s.log = new(memory)
	grow(t, s.log, 3)
	s.checkpoint = sign(t, key, s.log, start)
	c := newClient(s, key.Public())
	c.Key = newKey(t).Public()
	_, err := c.Update(t.Context())
	wantCode(t, err, "log_signature")
	c = newClient(s, "no key")
	_, err = c.Update(t.Context())
	wantCode(t, err, "log_signature")
	c = newClient(s, key.Public())
	if _, err = c.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Key = newKey(t).Public()
	_, err = c.Update(t.Context())
	wantCode(t, err, "log_signature")
	c.Key, c.saved = "", []byte("garbage")
	if _, err = c.Update(t.Context()); !errors.Is(err, diag.Code("log_state")) {
		t.Errorf("damaged state: %v", err)
	}
}

// A network that fails is not a log that lies.
func TestFetchError(t *testing.T) {
	key, s := newKey(t), newServer(t)
	s.log = new(memory)
	grow(t, s.log, 3)
	s.checkpoint = sign(t, key, s.log, start)
	c := newClient(s, key.Public())
	c.Update(t.Context())
	grow(t, s.log, 3)
	s.checkpoint = sign(t, key, s.log, start)
	down := errors.New("network is down")
	c.Fetch = func(ctx context.Context, path string) ([]byte, error) {
		if path == "checkpoint" {
			return s.checkpoint, nil
		}
		return nil, down
	}
	if _, err := c.Update(t.Context()); !errors.Is(err, down) || diag.ClassOf(err) == diag.Refused {
		t.Errorf("Update = %v, want the error of the network", err)
	}
}

// A proof has to be of the log that everybody sees.
func TestCheck(t *testing.T) {
	key, s, ctx := newKey(t), newServer(t), t.Context()
	s.log = new(memory)
	grow(t, s.log, 300)
	old := sign(t, key, s.log, start.Add(-time.Hour))
	grow(t, s.log, 200)
	s.checkpoint = sign(t, key, s.log, start)
	c := newClient(s, key.Public())

	prove := func(m *memory, note []byte, index int64) tlog.Proof {
		p, err := tlog.NewProof(ctx, m, key.Public(), note, index)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	first := s.log.clone()
	first.records, first.hashes = first.records[:300], first.hashes[:tlog.HashIndex(300)]
	for _, p := range []tlog.Proof{prove(first, old, 7), prove(s.log, s.checkpoint, 7)} {
		if err := c.Check(ctx, p, release(7)); err != nil {
			t.Errorf("an honest proof: %v", err)
		}
	}
	wantCode(t, c.Check(ctx, prove(s.log, s.checkpoint, 8), release(7)), "log_proof")

	// A log made for one victim, of a size that the follower has seen.
	private := new(memory)
	grow(t, private, 299)
	evil := record(7)
	evil.Tree = "tree-sha256:evil"
	tlog.Append(ctx, private, evil)
	p := prove(private, sign(t, key, private, start), 299)
	wantCode(t, c.Check(ctx, p, tlog.Release{Name: evil.Name, Version: evil.Version, Tree: evil.Tree}), "log_fork")

	// One that is longer than what the registry shows to all.
	grow(t, private, 1000)
	p = prove(private, sign(t, key, private, start), 299)
	wantCode(t, c.Check(ctx, p, tlog.Release{Name: evil.Name, Version: evil.Version, Tree: evil.Tree}), "log_rollback")

	// An honest one that is newer than what was seen.
	grow(t, s.log, 10)
	s.checkpoint = sign(t, key, s.log, start)
	if err := c.Check(ctx, prove(s.log, s.checkpoint, 509), release(509)); err != nil {
		t.Errorf("a newer proof: %v", err)
	}
	other := newKey(t)
	p = prove(s.log, s.checkpoint, 7)
	p.Key = other.Public()
	wantCode(t, c.Check(ctx, p, release(7)), "log_signature")
}
