package registry

import (
	"context"
	"errors"
	"time"

	"github.com/skl-project/skl/registry/blob"
	"github.com/skl-project/skl/registry/meta"
)

// GCOptions bound a collection.
type GCOptions struct {
	Grace  time.Duration // what is younger is spared; 0 means that of the Registry
	DryRun bool          // only count
}

// A GCReport says what a collection removed.
type GCReport struct {
	Drafts  int   `json:"drafts"`  // manifests that were never published
	Links   int   `json:"links"`   // blobs taken out of a repository
	Blobs   int   `json:"blobs"`   // removed for good
	Bytes   int64 `json:"bytes"`   // of them
	Uploads int   `json:"uploads"` // abandoned
}

// Bounds of one transaction, so that pushes never wait long for it.
const (
	gcBatch = 200                    // rows, where one statement removes them
	gcTime  = 200 * time.Millisecond // where each takes statements of its own, and the database may be far away
)

// GC removes what nothing needs: drafts past their time, links that no manifest names, blobs without a
// link, abandoned uploads. It works while the registry serves. A push that runs at the same time is safe:
// whatever was stored or asked for within the grace window stays, a blob that is stored
// again while gc decides is spared by the blob store, and who comes later than that finds out in the transaction that needs the blob.
func (g *Registry) GC(ctx context.Context, opt GCOptions) (GCReport, error) {
	g.sweep.Lock()
	defer g.sweep.Unlock()
	if opt.Grace == 0 {
		opt.Grace = g.grace()
	}
	before := g.now().Add(-opt.Grace)
	var report GCReport
	work := func(ctx context.Context) error {
		steps := []func(context.Context, time.Time, GCOptions, *GCReport) error{g.gcDrafts, g.gcLinks, g.gcBlobs, g.gcUploads}
		for _, step := range steps {
			if err := step(ctx, before, opt, &report); err != nil {
				return err
			}
		}
		return nil
	}
	if opt.DryRun {
		return report, work(ctx)
	}
	err := g.alone(ctx, "gc", work)
	return report, err
}

// grace is how long what nothing needs stays.
func (g *Registry) grace() time.Duration {
	if g.Grace <= 0 {
		return time.Hour
	}
	return g.Grace
}

// keepDrafts is how many days an unpublished manifest stays, unless its namespace says otherwise.
const keepDrafts = 7

// gcDrafts removes manifests that were never published, and what is attached to them.
func (g *Registry) gcDrafts(ctx context.Context, before time.Time, opt GCOptions, report *GCReport) error {
	for after := ""; ; {
		var page []meta.Namespace
		err := g.view(ctx, func(tx *meta.Tx) (err error) {
			page, err = tx.Namespaces(ctx, after, 1000)
			return err
		})
		if err != nil {
			return err
		}
		for _, ns := range page {
			after = ns.Name
			days := ns.Policy.KeepDrafts
			if days <= 0 {
				days = keepDrafts
			}
			limit := g.now().AddDate(0, 0, -days)
			if limit.After(before) {
				limit = before
			}
			if err := g.gcDraftsOf(ctx, ns.Name, limit, opt, report); err != nil {
				return err
			}
		}
		if len(page) < 1000 {
			return nil
		}
	}
}

func (g *Registry) gcDraftsOf(ctx context.Context, namespace string, before time.Time, opt GCOptions, report *GCReport) error {
	if opt.DryRun {
		return g.view(ctx, func(tx *meta.Tx) error {
			drafts, err := tx.StaleDrafts(ctx, namespace, before, 0)
			report.Drafts += len(drafts)
			return err
		})
	}
	for {
		n := 0
		err := g.update(ctx, func(tx *meta.Tx) error {
			n = 0
			drafts, err := tx.StaleDrafts(ctx, namespace, before, gcBatch)
			for began := time.Now(); len(drafts) > 0 && (n == 0 || time.Since(began) < gcTime); drafts = drafts[1:] {
				m := drafts[0]
				gone, err := dropDraft(ctx, tx, m)
				if err != nil {
					return err
				}
				n += gone
			}
			return err
		})
		if err != nil {
			return err
		}
		report.Drafts += n
		if n == 0 { // entries become stale by themselves when their index is gone
			return nil
		}
	}
}

// dropDraft removes a draft, with the release that waits for its signature, and all that is attached to it.
func dropDraft(ctx context.Context, tx *meta.Tx, m meta.Manifest) (removed int, err error) {
	r, err := tx.ReleaseByManifest(ctx, m.Repo, m.Root)
	switch {
	case err == nil && r.State == meta.Draft:
		err = tx.DeleteRelease(ctx, r.Namespace, r.Name, r.Version)
	case errors.Is(err, meta.ErrNotFound):
		err = nil
	}
	if err != nil {
		return 0, err
	}
	return tx.DeleteTree(ctx, m.Repo, m.Root)
}

func (g *Registry) gcLinks(ctx context.Context, before time.Time, opt GCOptions, report *GCReport) error {
	if opt.DryRun {
		return nil
	}
	for {
		var n int
		err := g.update(ctx, func(tx *meta.Tx) (err error) {
			n, err = tx.UnlinkGarbage(ctx, before, gcBatch)
			return err
		})
		if err != nil {
			return err
		}
		report.Links += n
		if n < gcBatch {
			return nil
		}
	}
}

// gcBlobs removes blobs that nothing links: first their rows, then the bytes. A crash in
// between leaves bytes without a row, which the walk over the store finds the next time.
func (g *Registry) gcBlobs(ctx context.Context, before time.Time, opt GCOptions, report *GCReport) error {
	for !opt.DryRun {
		var gone []string
		err := g.update(ctx, func(tx *meta.Tx) (err error) {
			if held, err := g.held(ctx, tx); err != nil || held {
				gone = nil
				return err
			}
			gone, err = tx.ForgetGarbage(ctx, gcBatch)
			return err
		})
		if err != nil {
			return err
		}
		if len(gone) < gcBatch {
			break
		}
	}
	for info, err := range g.Blobs.Blobs(ctx) {
		if err != nil {
			return Explain(err)
		}
		if !info.Modified.Before(before) {
			continue
		}
		known := true
		err := g.view(ctx, func(tx *meta.Tx) (err error) {
			known, err = tx.KnownBlob(ctx, info.Digest.String())
			return err
		})
		if err != nil {
			return err
		}
		if known {
			continue
		}
		if !opt.DryRun {
			err := g.sweepBlob(ctx, info.Digest, before)
			if errors.Is(err, blob.ErrRecent) || errors.Is(err, blob.ErrNotFound) {
				continue
			}
			if err != nil {
				return Explain(err)
			}
		}
		report.Blobs++
		report.Bytes += info.Size
	}
	return nil
}

// sweepBlob removes a blob that nothing needs while it goes, unless it was stored since that time: its error is ErrRecent then. No transaction comes
// to need it meanwhile, so each finds it there for good, or gone. A store that is elsewhere asks the metadata itself.
func (g *Registry) sweepBlob(ctx context.Context, d blob.Digest, before time.Time) error {
	if _, remote := g.Blobs.(blob.Remote); remote {
		return g.Blobs.Delete(ctx, d, before)
	}
	return g.update(ctx, func(tx *meta.Tx) error {
		known, err := tx.KnownBlob(ctx, d.String())
		if err == nil && known {
			err = blob.About(d, blob.ErrRecent)
		}
		if err != nil {
			return err
		}
		return g.Blobs.Delete(ctx, d, before)
	})
}

// gcUploads removes sessions that nobody goes on with, and what interrupted uploads left in the store.
func (g *Registry) gcUploads(ctx context.Context, before time.Time, opt GCOptions, report *GCReport) error {
	if limit := g.now().Add(-uploadAge); opt.Grace >= time.Hour && before.After(limit) {
		before = limit
	}
	for u, err := range g.Blobs.Uploads(ctx) {
		if err != nil {
			return Explain(err)
		}
		if !u.Modified.Before(before) {
			continue
		}
		release, err := g.hold(u.ID)
		if err != nil {
			continue // its client came back
		}
		report.Uploads++
		if !opt.DryRun {
			err = g.Blobs.Abort(ctx, u.ID)
		}
		release()
		if err != nil {
			return Explain(err)
		}
	}
	for !opt.DryRun {
		var n int64
		err := g.update(ctx, func(tx *meta.Tx) (err error) {
			n, err = tx.DropStaleUploads(ctx, before, gcBatch)
			return err
		})
		if err != nil {
			return err
		}
		if n < gcBatch {
			return nil
		}
	}
	return nil
}
