package run

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
)

// A session is what the machines of one run share.
type session struct {
	r       *Runner
	plan    *plan.Plan
	args    string
	past    *history // nil: a fresh run; what is in it is guarded by mu
	sink    bool     // somebody wants events
	journal writer
	budget  *budget

	mu     sync.Mutex        // held while an event is told, too
	denied []DeniedCall      // guarded by mu
	held   map[string]string // guarded by mu: the answers in the journal that those of Runner.Answers differ from, by the keys of these
	asking sync.Mutex        // one question at a time
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

func (s *session) deny(d DeniedCall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = append(s.denied, d)
}

func (s *session) denials() []DeniedCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.denied)
}

// called is the skill in a command, for hints.
func (s *session) called() string { return cmp.Or(s.r.Called, s.plan.Skill.Name) }

// again is the command that resumes this run with a flag, for hints.
func (s *session) again(flag, value string) string {
	words := []string{"skl", "resume", s.r.Name, flag, "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// strands tells the Runner how many more parts of the run are at work.
func (s *session) strands(more int) {
	if s.r.Strands != nil {
		s.r.Strands(more)
	}
}

// await waits for other parts of the run, and does not count as one that is at work meanwhile.
func (s *session) await(wait func()) {
	s.strands(-1)
	wait()
	s.strands(1)
}
