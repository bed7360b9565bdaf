package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
)

// A session is what the machines of one run share.
type session struct {
	r    *Runner
	plan *plan.Plan
	args string
	past *history // nil: a fresh run
	sink bool     // somebody wants events

	began    time.Time
	deadline time.Time // of the time budget; zero: none

	mu     sync.Mutex
	usage  model.Usage  // guarded by mu
	visits int          // guarded by mu
	broken error        // guarded by mu: the journal failed
	denied []DeniedCall // guarded by mu
	asking sync.Mutex   // one question at a time
}

func (s *session) now() time.Time {
	if !s.sink {
		return time.Time{}
	}
	return time.Now()
}

func (s *session) callee(n *tree.Node) (plan.Callee, bool) {
	c, ok := s.plan.Callee(n)
	return c, ok && c.Op != nil
}

// journal appends a record. A journal that cannot be written stops the run.
func (s *session) journal(r Record, sync bool) error {
	if s.r.Journal == nil || s.past != nil && s.past.strict {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	r.Time = time.Now().UTC()
	if err := s.r.Journal.Append(r, sync); err != nil {
		s.broken = diag.New(diag.Failed, CodeJournal, "writing the journal: %w", err)
	}
	return s.broken
}

// spend counts what a request cost; nil is nothing.
func (s *session) spend(u *model.Usage) {
	if u == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.usage = s.usage.Add(*u)
}

// called is the skill in a command, for hints.
func (s *session) called() string { return cmp.Or(s.r.Called, s.plan.Skill.Name) }

// again is the command that resumes this run with a flag, for hints.
func (s *session) again(flag, value string) string {
	words := []string{"skl", "resume", s.r.Name, flag, "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// budget reports what has run out, as a suspension; budgetWith counts more that is spent.
func (s *session) budget() error { return s.budgetWith(model.Usage{}) }

func (s *session) budgetWith(more model.Usage) error {
	s.mu.Lock()
	u := s.usage.Add(more)
	s.mu.Unlock()
	l := s.r.Limits
	what := ""
	switch {
	case l.Calls > 0 && u.Calls >= l.Calls:
		what = fmt.Sprintf("calls: %d of %d", u.Calls, l.Calls)
	case l.Tokens > 0 && u.InputTokens+u.OutputTokens >= l.Tokens:
		what = fmt.Sprintf("tokens: %d of %d", u.InputTokens+u.OutputTokens, l.Tokens)
	case l.Dollars > 0 && u.Dollars >= l.Dollars:
		what = fmt.Sprintf("dollars: %.4f of %.4f", u.Dollars, l.Dollars)
	case !s.deadline.IsZero() && time.Now().After(s.deadline):
		what = fmt.Sprintf("time: %s", l.Time)
	default:
		return nil
	}
	return suspendSignal{message: "out of budget, " + what}
}

// timeLeft reports that the time budget is spent, as a suspension.
func (s *session) timeLeft() error {
	if s.deadline.IsZero() || time.Now().Before(s.deadline) {
		return nil
	}
	return s.inTime(errTime)
}

// timed is ctx, which the time budget ends with errTime.
func (s *session) timed(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.deadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, s.deadline, errTime)
}

var errTime = errors.New("out of time")
