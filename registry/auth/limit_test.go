package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/skl-project/skl/registry/auth"
	"github.com/skl-project/skl/spec/diag"
)

// clock is a time that tests move.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func TestLimiter(t *testing.T) {
	c := &clock{noon}
	l := auth.NewLimiter(map[auth.Class]auth.Rate{auth.Reads: {PerMinute: 60, Burst: 3}, auth.Writes: {PerMinute: 6}, auth.Downloads: {}}, c.now)
	for i := range 3 {
		if v := l.Allow(auth.Reads, "a"); !v.OK || v.Remaining != 2-i || v.Limit != 60 {
			t.Errorf("read %d: %+v", i, v)
		}
	}
	v := l.Allow(auth.Reads, "a")
	if v.OK || v.RetryAfter != time.Second || v.Reset != 3*time.Second || v.Remaining != 0 {
		t.Errorf("the fourth read: %+v", v)
	}
	if v := l.Allow(auth.Reads, "b"); !v.OK {
		t.Errorf("another key: %+v", v)
	}
	if v := l.Allow(auth.Writes, "a"); !v.OK || v.Burst != 6 {
		t.Errorf("another class: %+v", v)
	}
	for range 1000 {
		if v := l.Allow(auth.Downloads, "a"); !v.OK || v.Limit != 0 {
			t.Fatalf("a class without a limit: %+v", v)
		}
	}
	c.Time = c.Add(v.RetryAfter)
	if v := l.Allow(auth.Reads, "a"); !v.OK {
		t.Errorf("after RetryAfter: %+v", v)
	}
	c.Time = c.Add(time.Hour)
	if v := l.Allow(auth.Reads, "a"); !v.OK || v.Remaining != 2 {
		t.Errorf("after an hour: %+v", v)
	}
	var none *auth.Limiter
	if v := none.Allow(auth.Reads, "a"); !v.OK {
		t.Errorf("a nil Limiter: %+v", v)
	}
}

func TestLimitHeaders(t *testing.T) {
	c := &clock{noon}
	l := auth.NewLimiter(map[auth.Class]auth.Rate{auth.Reads: {PerMinute: 30, Burst: 2}}, c.now)
	for i, want := range []string{
		"RateLimit-Limit: 2, RateLimit-Remaining: 1, RateLimit-Reset: 2, RateLimit-Policy: \"read\";q=30;w=60, RateLimit: \"read\";r=1;t=2, Retry-After: ",
		"RateLimit-Limit: 2, RateLimit-Remaining: 0, RateLimit-Reset: 4, RateLimit-Policy: \"read\";q=30;w=60, RateLimit: \"read\";r=0;t=4, Retry-After: ",
		"RateLimit-Limit: 2, RateLimit-Remaining: 0, RateLimit-Reset: 4, RateLimit-Policy: \"read\";q=30;w=60, RateLimit: \"read\";r=0;t=4, Retry-After: 2",
	} {
		h := http.Header{}
		l.Allow(auth.Reads, "a").WriteTo(h)
		got := ""
		for _, name := range []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset", "RateLimit-Policy", "RateLimit", "Retry-After"} {
			got += ", " + name + ": " + h.Get(name)
		}
		if got[2:] != want {
			t.Errorf("request %d:\n got %s\nwant %s", i+1, got[2:], want)
		}
	}
	h := http.Header{}
	l.Allow(auth.Writes, "a").WriteTo(h)
	if len(h) != 0 {
		t.Errorf("no limit, but headers: %v", h)
	}
}

// More keys than are remembered cost no more memory, and those in use keep their count.
func TestManyKeys(t *testing.T) {
	c := &clock{noon}
	l := auth.NewLimiter(map[auth.Class]auth.Rate{auth.Reads: {PerMinute: 1}}, c.now)
	l.Allow(auth.Reads, "mine")
	for i := range 100_000 {
		l.Allow(auth.Reads, fmt.Sprint(i))
		if i%1000 == 0 && l.Allow(auth.Reads, "mine").OK {
			t.Fatalf("after %d others, the used bucket is full again", i)
		}
	}
	if !l.Allow(auth.Reads, "0").OK {
		t.Error("the oldest key was not forgotten")
	}
}

// Guessing from one address ends in 429; what was right before still works from there, and others
// do not notice.
func TestGuessing(t *testing.T) {
	s, a := setup()
	c := &clock{noon}
	a.Now, a.Limiter = c.now, auth.NewLimiter(map[auth.Class]auth.Rate{auth.Failures: {PerMinute: 6, Burst: 3}}, c.now)
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	mine, fresh := s.add(nil), s.add(nil)
	try := func(ip netip.Addr, text string) error {
		_, err := a.Token(t.Context(), ip, text)
		return err
	}
	if err := try(here, mine); err != nil {
		t.Fatal(err)
	}
	guess, _, _ := auth.NewToken()
	for i, text := range []string{guess, "hunter2", guess} {
		if err := try(here, text); !errors.Is(err, diag.Code("unauthorized")) {
			t.Errorf("guess %d: %v", i, err)
		}
	}
	for _, text := range []string{guess, "hunter2", fresh} {
		var limit *auth.LimitError
		err := try(here, text)
		if !errors.As(err, &limit) || !errors.Is(err, diag.Code("rate_limited")) || limit.Verdict.RetryAfter <= 0 {
			t.Errorf("after three guesses: %v", err)
		}
	}
	if err := try(here, mine); err != nil {
		t.Errorf("a token that was right here before: %v", err)
	}
	if err := try(there, fresh); err != nil {
		t.Errorf("from another address: %v", err)
	}
	if _, err := a.Authenticate(request("")); err != nil {
		t.Errorf("without credentials: %v", err)
	}
	c.Time = c.Add(11 * time.Second)
	if err := try(here, fresh); err != nil {
		t.Errorf("after the bucket has refilled: %v", err)
	}
	// A revoked token is looked at, and found revoked, whatever was seen before.
	for id, stored := range s.byID {
		stored.Revoked = true
		s.byID[id] = stored
	}
	if err := try(here, mine); !errors.Is(err, diag.Code("unauthorized")) {
		t.Errorf("revoked: %v", err)
	}
}

// BenchmarkAllow asks what a limit adds to a request.
func BenchmarkAllow(b *testing.B) {
	l := auth.NewLimiter(auth.DefaultRates(), nil)
	for b.Loop() {
		l.Allow(auth.Reads, "192.0.2.1")
	}
}

// Processes that share a limit give together what one would give alone, also if there are more of them than the burst has requests.
func TestLimitShared(t *testing.T) {
	for _, processes := range []int{0, 1, 2, 3, 50} {
		c := &clock{noon}
		limiters := make([]*auth.Limiter, max(1, processes))
		for i := range limiters {
			limiters[i] = auth.NewLimiter(map[auth.Class]auth.Rate{auth.Reads: {PerMinute: 60, Burst: 12}}, c.now)
			limiters[i].Share(processes)
		}
		given := func() (n int) {
			for _, l := range limiters {
				for i := 0; ; i++ {
					v := l.Allow(auth.Reads, "a")
					if !v.OK {
						if each := max(1, 12/len(limiters)); v.RetryAfter <= 0 || v.RetryAfter > time.Duration(len(limiters))*time.Second || i > each {
							t.Errorf("%d processes, request %d: %+v", processes, i, v)
						}
						break
					}
					n++
				}
			}
			return n
		}
		if n := given(); n != max(12, len(limiters)) { // each gives one at least
			t.Errorf("%d processes give %d requests at once, want 12", processes, n)
		}
		c.Time = c.Add(12 * time.Second)
		if n := given(); n != max(12, len(limiters)) {
			t.Errorf("%d processes give %d requests after 12 s, want 12", processes, n)
		}
	}
	var none *auth.Limiter
	none.Share(2)
}
