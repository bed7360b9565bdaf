package registry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
)

// Of two processes one collects garbage, and counts of them are of those that live.
func TestLeases(t *testing.T) {
	f := open(t, meta.Policy{})
	other := &registry.Registry{Blobs: f.Blobs, Meta: f.Meta, Key: f.Key, Now: f.Now, Replica: "other"}
	ctx := t.Context()
	if err := f.Meta.Update(ctx, func(tx *meta.Tx) error {
		_, err := tx.TakeLease(ctx, "gc", "somebody", 60e9)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.GC(ctx, registry.GCOptions{}); code(err) != "lease_held" {
		t.Errorf("gc beside another: %v", err)
	}
	if _, err := f.GC(ctx, registry.GCOptions{DryRun: true}); err != nil {
		t.Errorf("a look beside another: %v", err)
	}
	if err := f.Meta.Update(ctx, func(tx *meta.Tx) error { return tx.DropLease(ctx, "gc", "somebody") }); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*registry.Registry{f.Registry, other, f.Registry} {
		if _, err := g.GC(ctx, registry.GCOptions{}); err != nil {
			t.Error(err)
		}
	}
	for i, want := range []int{1, 2, 2} {
		n, err := []*registry.Registry{f.Registry, other, f.Registry}[i].Beat(ctx)
		if n != want || err != nil {
			t.Errorf("beat %d: %d, %v", i, n, err)
		}
	}
	if err := other.Leave(ctx); err != nil {
		t.Error(err)
	}
	if n, err := f.Beat(ctx); n != 1 || err != nil {
		t.Errorf("after one left: %d, %v", n, err)
	}
}

// A lease is given to one, grows an epoch with each other holder, and ends.
func TestLeaseEpochs(t *testing.T) {
	f := open(t, meta.Policy{})
	take := func(holder string, lasts int64) (epoch int64, err error) {
		ctx := context.Background()
		err = f.Meta.Update(ctx, func(tx *meta.Tx) error {
			epoch, err = tx.TakeLease(ctx, "x", holder, time.Duration(lasts)*time.Millisecond)
			return err
		})
		return epoch, err
	}
	for i, step := range []struct {
		holder string
		lasts  int64 // ms
		epoch  int64 // 0 is refused
	}{{"a", 60_000, 1}, {"b", 60_000, 0}, {"a", 60_000, 1}, {"a", -1, 1}, {"b", 60_000, 2}, {"a", 60_000, 0}, {"b", -1, 2}, {"a", 60_000, 3}} {
		epoch, err := take(step.holder, step.lasts)
		if step.epoch == 0 && !errors.Is(err, meta.ErrExists) || step.epoch != 0 && (err != nil || epoch != step.epoch) {
			t.Errorf("step %d: %d, %v", i, epoch, err)
		}
	}
}
