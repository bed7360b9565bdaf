package registry

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"sync"

	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/registry/meta"
	"github.com/skl-project/skl/registry/tlog"
)

// withdrawn is the feed of releases that were taken back, as it was made last. It changes with an event of the audit trail only.
type withdrawn struct {
	mu   sync.Mutex // guards what follows
	at   int64      // id of the newest event then
	text []byte     // nil until it was made
}

// States is the feed of the releases that were taken back: a wire.States. The newest checkpoint has its digest.
func (g *Registry) States(ctx context.Context) (text []byte, err error) {
	err = g.view(ctx, func(tx *meta.Tx) error {
		text, err = g.states(ctx, tx)
		return err
	})
	return text, err
}

func (g *Registry) states(ctx context.Context, tx *meta.Tx) ([]byte, error) {
	last, err := tx.Events(ctx, meta.AuditQuery{Limit: 1})
	if err != nil {
		return nil, err
	}
	at := int64(0)
	if len(last) > 0 {
		at = last[0].ID
	}
	g.withdrawn.mu.Lock()
	known, text := g.withdrawn.at, g.withdrawn.text
	g.withdrawn.mu.Unlock()
	if text != nil && known == at {
		return text, nil
	}
	list, err := tx.Withdrawn(ctx)
	if err != nil {
		return nil, err
	}
	feed := wire.States{V: 1, Releases: []wire.ReleaseState{}}
	for _, w := range list {
		s := wire.ReleaseState{Of: wire.StateOf(w.Namespace+"/"+w.Name, w.Manifest), Manifest: w.Manifest, State: string(w.State), Since: w.Updated.UTC()}
		if w.Public {
			s.Name, s.Version, s.Reason = w.Namespace+"/"+w.Name, w.Version, w.Reason
		}
		feed.Releases = append(feed.Releases, s)
	}
	advisories, err := tx.Advisories(ctx, "")
	if err != nil {
		return nil, err
	}
	public := map[string]bool{}
	for _, a := range advisories {
		if _, known := public[a.Namespace]; !known {
			ns, err := tx.Namespace(ctx, a.Namespace)
			if err != nil {
				return nil, err
			}
			public[a.Namespace] = ns.Public
		}
		one, err := osv(ctx, tx, a, public[a.Namespace])
		if err != nil {
			return nil, err
		}
		feed.Advisories = append(feed.Advisories, one)
	}
	if text, err = json.Marshal(feed); err != nil {
		return nil, err
	}
	g.withdrawn.mu.Lock()
	defer g.withdrawn.mu.Unlock()
	if at >= g.withdrawn.at { // a reader of an older snapshot comes too late
		g.withdrawn.at, g.withdrawn.text = at, text
	}
	return text, nil
}

// Checkpoint is the signed state of the log. It names the feed of States, so that a client that follows the log
// notices a feed that is withheld or older than the log.
func (g *Registry) Checkpoint(ctx context.Context) (note []byte, err error) {
	return g.signHead(ctx, func(tx *meta.Tx, sign func(...string) ([]byte, error)) ([]byte, error) {
		text, err := g.states(ctx, tx)
		if err != nil {
			return nil, err
		}
		return sign(tlog.StatesLine(sha256.Sum256(text)))
	})
}
