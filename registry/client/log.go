package client

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// maxTile bounds an answer of the log, in bytes: 256 entries of tlog.MaxRecord.
const maxTile = 8 << 20

// A Log follows the transparency log of one registry, and checks that releases are in it.
//
// The key that the registry names first is kept for ever; so is the newest checkpoint,
// in a directory of its own for each registry. In each run the first Check asks for the newest
// checkpoint, which must continue the one that is kept and must not be old. A registry that had a log
// once must prove every release.
//
// Errors are those of registry/tlog, all of class Refused: log_fork, log_rollback, log_frozen, log_signature,
// log_proof, log_states. Nothing is remembered of what was refused. Its methods may be called concurrently.
type Log struct {
	Key    string           // of the log, when it is known beforehand; it is set before first use
	MaxAge time.Duration    // of a checkpoint; 0 means 24 hours
	Now    func() time.Time // nil means time.Now

	client *Client
	dir    string

	once     sync.Once // sets follower
	follower *tlog.Follower

	mu     sync.Mutex // guards what follows; held while the log is asked
	asked  bool       // the newest checkpoint was seen in this run
	none   bool       // the registry has no log
	said   States     // what Withdrawn was told last, at the time told
	told   time.Time
	tiles  map[string][]byte // what was fetched; a tile never changes
	stored int               // bytes in tiles
}

// NewLog returns the Log of c's registry, which keeps its memory below dir.
func NewLog(c *Client, dir string) *Log {
	return &Log{client: c, dir: filepath.Join(dir, hexSum([]byte(c.URL()))[:32])}
}

// Check verifies that the release v is in the log, and returns the proof for the lock: it is nil only if the registry
// never had a log.
func (l *Log) Check(ctx context.Context, v wire.Version) (*lock.Log, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.none && v.Log == nil {
		return nil, nil
	}
	if err := durable.MkdirPrivate(l.dir); err != nil {
		return nil, err
	}
	unlock, err := durable.Lock(ctx, l.dir, nil)
	if err != nil {
		return nil, err
	}
	defer unlock()
	f := l.followed()
	if v.Log == nil {
		return nil, l.absent(ctx, f, v)
	}
	if !l.asked {
		if _, err := f.Update(ctx); err != nil {
			return nil, l.named(err)
		}
		l.asked = true
	}
	e := tlog.Encoded{Origin: v.Log.Origin, Index: v.Log.Index, Entry: v.Log.Record, Proof: v.Log.Hashes, Checkpoint: v.Log.Checkpoint}
	proof, err := tlog.Decode(e)
	if err == nil {
		err = f.Check(ctx, proof, tlog.Release{Name: v.Namespace + "/" + v.Name, Version: v.Version, Manifest: v.Manifest, Tree: v.Tree})
	}
	if err != nil {
		return nil, l.named(err)
	}
	return &lock.Log{Origin: e.Origin, Index: e.Index, Entry: e.Entry, Checkpoint: e.Checkpoint, Proof: e.Proof}, nil
}

// absent judges a release without a proof.
func (l *Log) absent(ctx context.Context, f *tlog.Follower, v wire.Version) error {
	key, _, err := f.Known(ctx)
	if err != nil {
		return l.named(err)
	}
	if key == "" {
		about, err := l.client.About(ctx)
		if err != nil {
			return err
		}
		if key = about.Log; key == "" {
			l.noteNone()
			return nil
		}
	}
	return l.named(diag.New(diag.Refused, "log_proof", "%s/%s@%s comes without a proof that it is in the log", v.Namespace, v.Name, v.Version))
}

// noteNone remembers that the registry has no log. That this cannot be kept costs a question. mu is held.
func (l *Log) noteNone() {
	l.none = true
	if durable.MkdirPrivate(l.dir) == nil {
		_ = os.WriteFile(filepath.Join(l.dir, "none"), nil, 0o600)
	}
}

// None reports whether the registry said, now or when it was last asked, that it has no log. It asks nobody.
func (l *Log) None() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := os.Lstat(filepath.Join(l.dir, "none"))
	return l.none || err == nil
}

// Update asks for the newest checkpoint, checks that it continues the last one, and returns it.
func (l *Log) Update(ctx context.Context) (tlog.Checkpoint, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := durable.MkdirPrivate(l.dir); err != nil {
		return tlog.Checkpoint{}, err
	}
	unlock, err := durable.Lock(ctx, l.dir, nil)
	if err != nil {
		return tlog.Checkpoint{}, err
	}
	defer unlock()
	c, err := l.followed().Update(ctx)
	l.asked = l.asked || err == nil
	return c, l.named(err)
}

// Known returns the key that was kept, "" for none, and the newest checkpoint that was seen. It asks nobody.
func (l *Log) Known(ctx context.Context) (key string, last tlog.Checkpoint, err error) {
	return l.followed().Known(ctx)
}

// Meet asks the registry for its log, as the first Check does, and keeps its key. A registry without a log is no error.
func (l *Log) Meet(ctx context.Context) error {
	l.mu.Lock()
	met := l.asked || l.none
	if !met {
		about, err := l.client.About(ctx)
		if err != nil {
			l.mu.Unlock()
			return err
		}
		if met = about.Log == ""; met {
			l.noteNone()
		}
	}
	l.mu.Unlock()
	if met {
		return nil
	}
	_, err := l.Update(ctx)
	return err
}

// Locked verifies, without a network, the proof that a lock has for a release called
// namespace/name. If the key of the log is configured or was kept, there has to be a proof, and it has to be of that log.
func (l *Log) Locked(ctx context.Context, name string, s lock.Skill) error {
	known, _, kerr := l.Known(ctx)
	if kerr != nil {
		return l.named(kerr)
	}
	if s.Log == nil && known == "" {
		return nil
	}
	if s.Log == nil {
		e := diag.New(diag.Refused, "log_proof", "skl.lock has no proof that %s@%s is in the log", name, s.Version)
		return l.named(e.Hint("if nobody removed it, to fetch it: skl lock --upgrade %s", s.Name))
	}
	proof, err := tlog.Decode(tlog.Encoded{Origin: s.Log.Origin, Index: s.Log.Index, Entry: s.Log.Entry, Proof: s.Log.Proof, Checkpoint: s.Log.Checkpoint})
	if err == nil {
		err = proof.Verify(tlog.Release{Name: name, Version: s.Version, Manifest: string(s.Manifest), Tree: string(s.Tree)})
	}
	if err != nil {
		if e, ok := diag.Own(err); ok && len(e.Hints) == 0 { // nobody was asked: it is about the lock
			err = e.Hint("see who changed it: git diff skl.lock").Hint("or remove the entry, then: skl lock")
		}
		return l.named(err)
	}
	if known != "" && known != s.Log.Origin {
		err = diag.New(diag.Refused, "log_signature", "the proof for %s is of another log than the one that was seen first", name)
	}
	return l.named(err)
}

// Fetch reads a file of the log as C2SP tlog-tiles names it: "checkpoint", "tile/0/000". It is not checked.
func (l *Log) Fetch(ctx context.Context, path string) ([]byte, error) {
	q := call{method: http.MethodGet, path: append([]string{"log"}, strings.Split(path, "/")...), limit: maxTile}
	_, body, err := l.client.raw(ctx, q)
	return body, err
}

// fetch is Fetch with a memory of tiles.
func (l *Log) fetch(ctx context.Context, path string) ([]byte, error) {
	if tile, ok := l.tiles[path]; ok {
		return tile, nil
	}
	body, err := l.Fetch(ctx, path)
	if err == nil && strings.HasPrefix(path, "tile/") && l.stored+len(body) <= maxTile {
		if l.tiles == nil {
			l.tiles = map[string][]byte{}
		}
		l.tiles[path] = body
		l.stored += len(body)
	}
	return body, err
}

func (l *Log) followed() *tlog.Follower {
	l.once.Do(func() {
		path := filepath.Join(l.dir, "checkpoint")
		l.follower = &tlog.Follower{
			Key: l.Key, MaxAge: l.MaxAge, Now: l.Now, Fetch: l.fetch,
			Offer: func(ctx context.Context) (string, error) {
				about, err := l.client.About(ctx)
				return about.Log, err
			},
			Load: func(context.Context) ([]byte, error) {
				text, err := os.ReadFile(path)
				if errors.Is(err, fs.ErrNotExist) {
					return nil, nil
				}
				return text, err
			},
			Save: func(_ context.Context, state []byte) error { return durable.WriteFile(path, state, 0o600) },
		}
	})
	return l.follower
}

// named adds the registry and what to do to what the log gave away.
func (l *Log) named(err error) error {
	e, ok := diag.Own(err)
	if !ok || !strings.HasPrefix(e.Code, "log_") {
		return err
	}
	e.Message = l.client.Host() + ": " + e.Message
	if e.Class == diag.Refused && len(e.Hints) == 0 {
		e.Hint("ask the people who run %s; the log seen before is in %s", l.client.URL(), filepath.Join(l.dir, "checkpoint"))
	}
	return e
}
