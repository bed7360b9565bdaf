package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/model"
)

// errTime is why the time budget ended a context.
var errTime = errors.New("out of time")

// A budget is what a run may use, and what it has used. Its methods may be called concurrently.
type budget struct {
	limits   Limits
	deadline time.Time // zero: none

	mu     sync.Mutex
	usage  model.Usage // guarded by mu
	visits int         // guarded by mu
}

// newBudget begins now.
func newBudget(r *Runner) *budget {
	b := &budget{limits: r.Limits}
	if r.Limits.Time > 0 && (r.Model == nil || !r.Model.Capabilities().Person) {
		b.deadline = time.Now().Add(r.Limits.Time)
	}
	return b
}

// out is the suspension of a run whose budget is spent.
func out(format string, args ...any) error {
	return suspendSignal{message: "out of budget, " + fmt.Sprintf(format, args...)}
}

// visit counts the visit of a node, if there is one left.
func (b *budget) visit() error {
	limit := b.limits.Nodes
	if limit == 0 {
		limit = 1_000_000
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.visits >= limit {
		return out("nodes: %d", limit)
	}
	b.visits++
	return nil
}

// spend counts what a request cost; nil is nothing.
func (b *budget) spend(u *model.Usage) {
	if u == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usage = b.usage.Add(*u)
}

func (b *budget) spent() (usage model.Usage, visits int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.usage, b.visits
}

// left reports what has run out once more is spent, as a suspension.
func (b *budget) left(more model.Usage) error {
	u, _ := b.spent()
	u = u.Add(more)
	switch l := b.limits; {
	case l.Calls > 0 && u.Calls >= l.Calls:
		return out("calls: %d of %d", u.Calls, l.Calls)
	case l.Tokens > 0 && u.InputTokens+u.OutputTokens >= l.Tokens:
		return out("tokens: %d of %d", u.InputTokens+u.OutputTokens, l.Tokens)
	case l.Dollars > 0 && u.Dollars >= l.Dollars:
		return out("dollars: %.4f of %.4f", u.Dollars, l.Dollars)
	}
	return b.timeLeft()
}

// timeLeft reports that the time is spent, as a suspension.
func (b *budget) timeLeft() error {
	if b.deadline.IsZero() || time.Now().Before(b.deadline) {
		return nil
	}
	return b.inTime(errTime)
}

// timed is ctx, which the time budget ends with errTime.
func (b *budget) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, b.deadline, errTime)
}

// inTime is err, or the suspension of a run whose time is up.
func (b *budget) inTime(err error) error {
	if err == errTime {
		return out("time: %s", b.limits.Time)
	}
	return err
}
