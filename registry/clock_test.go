package registry_test

import (
	"sync"
	"testing"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/registry/meta"
)

// TestClock has the clock of the machine be wrong, and be set again: what the registry goes by is the database's.
func TestClock(t *testing.T) {
	f := open(t, meta.Policy{})
	var mu sync.Mutex
	var ahead time.Duration
	local := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return time.Now().Add(ahead)
	}
	for _, begins := range []time.Duration{0, 2 * time.Hour, -2 * time.Hour, 400 * time.Hour} {
		ahead = begins
		c, err := registry.OpenClock(t.Context(), f.Meta, local)
		if err != nil {
			t.Fatal(err)
		}
		near := func(what string, got, want time.Duration) {
			t.Helper()
			if (got - want).Abs() > 5*time.Second { // a machine that is busy
				t.Errorf("%s by %s, want %s", what, got, want)
			}
		}
		near("the machine is ahead", c.Ahead(), begins)
		near("the clock is wrong", time.Until(c.Now()), 0)
		mu.Lock()
		ahead -= time.Minute // as where a machine slept: what it counted is less than what passed
		mu.Unlock()
		near("the clock is behind", time.Until(c.Now()), -time.Minute)
		if err := c.Set(t.Context()); err != nil {
			t.Fatal(err)
		}
		near("the clock is wrong after it was set", time.Until(c.Now()), 0)
		near("the machine is ahead then", c.Ahead(), begins-time.Minute)
		if zone := c.Now().Location(); zone != time.UTC {
			t.Errorf("it tells the time of %s", zone)
		}
	}
}
