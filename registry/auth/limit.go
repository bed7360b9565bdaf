package auth

import (
	"container/list"
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
)

// A Class is a kind of request with a limit of its own.
type Class string

const (
	Reads     Class = "read"
	Writes    Class = "write"
	Downloads Class = "download"
	Failures  Class = "auth-failure" // wrong credentials, by address; not given to Allow
)

// A Rate is a bucket: so many requests at once, refilled at so many each minute.
type Rate struct {
	PerMinute int // 0 means no limit
	Burst     int // 0 means PerMinute
}

// maxKeys is how many keys of each class are remembered, those used last. A key that was forgotten starts with a full bucket, so
// more clients than this weaken the limits and do not exhaust memory (about 200 bytes each).
const maxKeys = 1 << 15

// A Limiter counts requests by key: an address, or a token's id. Make one with NewLimiter; its
// methods may be called concurrently. A nil Limiter allows everything.
//
// Guessing. Each wrong credential takes from the bucket Failures of its address. While that is
// empty, credentials from there are not looked at, right or wrong, but for tokens that were right
// from the same address within the last maxKeys such: a guesser next to a build machine behind one
// address does not stop it, and a new token has to wait until the bucket has refilled a little.
type Limiter struct {
	now   func() time.Time
	rates map[Class]Rate
	share atomic.Int64 // processes that share the limits; 0 is 1

	mu      sync.Mutex // guards what follows
	buckets map[Class]*recent[string, bucket]
	seen    *recent[seenKey, struct{}]
}

type seenKey struct {
	network string
	hash    Hash
}

// NewLimiter returns a Limiter with these rates; a class without one has no limit. A nil now means time.Now.
func NewLimiter(rates map[Class]Rate, now func() time.Time) *Limiter {
	if now == nil {
		now = time.Now
	}
	l := &Limiter{now: now, rates: make(map[Class]Rate), buckets: make(map[Class]*recent[string, bucket]), seen: newRecent[seenKey, struct{}]()}
	for class, r := range rates {
		if r.PerMinute <= 0 {
			continue
		}
		if r.Burst <= 0 {
			r.Burst = r.PerMinute
		}
		l.rates[class], l.buckets[class] = r, newRecent[string, bucket]()
	}
	return l
}

// DefaultRates are per address; for tokens a multiple of them suits.
func DefaultRates() map[Class]Rate {
	return map[Class]Rate{Reads: {PerMinute: 6000}, Writes: {PerMinute: 1200}, Downloads: {PerMinute: 3000}, Failures: {PerMinute: 20}}
}

// Share says that so many processes share the limits: each gives its part of them, so that all together do not give more.
func (l *Limiter) Share(processes int) {
	if l != nil {
		l.share.Store(int64(processes))
	}
}

// A Verdict is the state of a bucket after a request.
type Verdict struct {
	OK         bool
	Class      Class
	Limit      int           // requests each minute; 0 means that there is no limit
	Burst      int           // requests at once
	Remaining  int           // requests at once, now
	Reset      time.Duration // until the bucket is full
	RetryAfter time.Duration // until the next request is allowed; 0 if it was
}

// Allow takes one request of class from key's bucket, if it holds one.
func (l *Limiter) Allow(class Class, key string) Verdict { return l.take(class, key, 1) }

// take takes n requests; none if n is 0: then OK says whether there is one.
func (l *Limiter) take(class Class, key string, n int) Verdict {
	if l == nil {
		return Verdict{OK: true, Class: class}
	}
	r, limited := l.rates[class]
	if !limited {
		return Verdict{OK: true, Class: class}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	take := l.buckets[class].get(key, func() bucket {
		b := rate.NewLimiter(rate.Limit(float64(r.PerMinute)/60), r.Burst)
		return func(now time.Time, need, n int) (bool, float64) {
			ok := b.TokensAt(now) >= float64(need)
			if ok && n > 0 {
				ok = b.AllowN(now, n)
			}
			return ok, max(0, b.TokensAt(now))
		}
	})
	// A request costs as much as if each of the others had given one as well.
	cost := int(min(max(l.share.Load(), 1), int64(r.Burst)))
	ok, left := take(l.now(), cost, n*cost)
	seconds := func(tokens float64) time.Duration {
		return time.Duration(tokens * 60 / float64(r.PerMinute) * float64(time.Second))
	}
	v := Verdict{OK: ok, Class: class, Limit: r.PerMinute, Burst: r.Burst, Remaining: int(left) / cost, Reset: seconds(float64(r.Burst) - left)}
	if !ok {
		v.RetryAfter = max(time.Millisecond, seconds(float64(cost)-left))
	}
	return v
}

// attempt reports whether a credential from ip may be looked at.
func (l *Limiter) attempt(ip netip.Addr, hash Hash) Verdict {
	if l == nil || !ip.IsValid() {
		return Verdict{OK: true}
	}
	v := l.take(Failures, gate.Network(ip), 0)
	if !v.OK {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.seen.has(seenKey{gate.Network(ip), hash}) {
			return Verdict{OK: true, Class: Failures}
		}
	}
	return v
}

func (l *Limiter) failed(ip netip.Addr) {
	if l != nil && ip.IsValid() {
		l.take(Failures, gate.Network(ip), 1)
	}
}

func (l *Limiter) succeeded(ip netip.Addr, hash Hash) {
	if l == nil || !ip.IsValid() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen.get(seenKey{gate.Network(ip), hash}, func() struct{} { return struct{}{} })
}

// WriteTo sets the headers about limits: RateLimit-Limit and its companions as many servers have
// them, RateLimit and RateLimit-Policy as the IETF draft (draft-ietf-httpapi-ratelimit-headers) has them, and Retry-After
// when the request was refused. Times are in whole seconds, rounded up.
func (v Verdict) WriteTo(h http.Header) {
	if v.Limit == 0 {
		return
	}
	reset := seconds(v.Reset)
	h.Set("RateLimit-Limit", strconv.Itoa(v.Burst))
	h.Set("RateLimit-Remaining", strconv.Itoa(v.Remaining))
	h.Set("RateLimit-Reset", strconv.Itoa(reset))
	h.Set("RateLimit-Policy", fmt.Sprintf("%q;q=%d;w=60", v.Class, v.Limit))
	h.Set("RateLimit", fmt.Sprintf("%q;r=%d;t=%d", v.Class, v.Remaining, reset))
	if !v.OK {
		h.Set("Retry-After", strconv.Itoa(max(1, seconds(v.RetryAfter))))
	}
}

func seconds(d time.Duration) int { return int(math.Ceil(d.Seconds())) }

// A LimitError says that a limit was reached. It is a *diag.Error with the code rate_limited; over HTTP it is a 429
// with the headers of its Verdict.
type LimitError struct{ Verdict Verdict }

func (e *LimitError) Error() string { return e.Unwrap().Error() }

// Unwrap makes it a *diag.Error.
func (e *LimitError) Unwrap() error {
	err := diag.New(diag.Failed, "rate_limited", "too many requests (%s): the next one is allowed in %d s", e.Verdict.Class, max(1, seconds(e.Verdict.RetryAfter)))
	err.Retryable = true
	return err
}

// A bucket gives n tokens if it has as many as are needed, and says what is left.
type bucket func(now time.Time, need, n int) (ok bool, left float64)

// recent is a map of the keys that were used last.
type recent[K comparable, V any] struct {
	byKey map[K]*list.Element
	order *list.List // of pair[K, V], last used first
}

type pair[K comparable, V any] struct {
	key   K
	value V
}

func newRecent[K comparable, V any]() *recent[K, V] {
	return &recent[K, V]{make(map[K]*list.Element), list.New()}
}

func (r *recent[K, V]) has(key K) bool {
	_, ok := r.byKey[key]
	return ok
}

func (r *recent[K, V]) get(key K, create func() V) V {
	if e, ok := r.byKey[key]; ok {
		r.order.MoveToFront(e)
		return e.Value.(pair[K, V]).value
	}
	v := create()
	r.byKey[key] = r.order.PushFront(pair[K, V]{key, v})
	if r.order.Len() > maxKeys {
		last := r.order.Back()
		delete(r.byKey, last.Value.(pair[K, V]).key)
		r.order.Remove(last)
	}
	return v
}
