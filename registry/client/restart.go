package client

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/spec/diag"
)

// A registry that is being restarted, for a new version or a new configuration, is away for some seconds. What was under way goes on
// when it is back: after an answer, one that cannot be reached is asked again, up to restarts times, in some 15 seconds. One that never
// answered, such as a wrong port, is an error at once, unless something is sent to it with a credential: then it was one at login.
const (
	fewTries = 2 // further tries of what reads, whoever is asked
	restarts = 10
)

// backoff is the pause before try n, from 0.
func backoff(n int) time.Duration { return min(200*time.Millisecond<<n, 2*time.Second) }

// away reports whether err says that a registry did not answer.
func away(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && e.Retryable && e.Code == "network"
}

// unsent reports whether err says that a request did not even reach the registry.
func unsent(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// again tries something that can be done twice: at a registry that answered before, until it is back. Any other error that
// may pass is for the first tries.
func (o *OCI) again(ctx context.Context, t Target, try func() error) error {
	return o.persist(ctx, t, try, func(error) bool { return false })
}

// send is again for what is pushed, where a restart may be under way when it begins.
func (o *OCI) send(ctx context.Context, t Target, try func() error) error {
	return o.persist(ctx, t, try, func(err error) bool { return unsent(err) && o.loggedIn(ctx, t) })
}

// persist is again. Whether an unknown registry is one that is away is known by expected.
func (o *OCI) persist(ctx context.Context, t Target, try func() error, expected func(error) bool) error {
	for n, known := 0, false; ; n++ {
		err := try()
		e, ok := errors.AsType[*diag.Error](err)
		if err == nil || !ok || !e.Retryable || n >= restarts || ctx.Err() != nil {
			return err
		}
		if n >= fewTries {
			known = known || away(err) && o.download.Met(o.http.Base(t.Host)) || expected(err)
			if !known || !away(err) {
				return err
			}
			o.patience.Do(func() {
				if o.Warn != nil {
					o.Warn(t.Host + " does not answer; trying again for some 15 seconds")
				}
			})
		}
		if err := sleep(ctx, backoff(n)); err != nil {
			return err
		}
	}
}

// loggedIn reports whether there is a credential for the registry of t.
func (o *OCI) loggedIn(ctx context.Context, t Target) bool {
	if o.download.Credential == nil {
		return false
	}
	c, err := o.download.Credential(ctx, o.http.Base(t.Host))
	return err == nil && c != origin.Credential{}
}

// sleep waits for d, or for the end of ctx, which is its error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
