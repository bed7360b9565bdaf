package run

import (
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/order"
)

// Canonical gives events the order of a sequential walk, whatever order the children of PARALLEL finished in, and takes off
// what is not part of the canonical form: times, and whether they were replayed. The same journal gives the same canonical events.
// It takes what Runner.Events received in one run, and changes nothing of it.
func Canonical(events []Event) []Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Replayed, out[i].Took, out[i].Time = false, 0, time.Time{}
	}
	arrange(out)
	orderTools(out)
	return out
}

// arrange orders the events inside each PARALLEL by its children.
func arrange(events []Event) {
	for i := 0; i < len(events); i++ {
		if events[i].Kind != NodeStarted || events[i].Type != "PARALLEL" {
			continue
		}
		path := events[i].Path
		end := len(events)
		for j := i + 1; j < len(events); j++ {
			if events[j].Path == path && events[j].Kind == NodeDone {
				end = j
				break
			}
		}
		// Events of other visits may stand between, when this block is itself in a child: they stay where they are.
		var at []int
		for j := i + 1; j < end; j++ {
			if childOf(events[j].Path, path) >= 0 {
				at = append(at, j)
			}
		}
		inside := make([]Event, len(at))
		for k, j := range at {
			inside[k] = events[j]
		}
		order.Stable(inside, func(a, b Event) int { return childOf(a.Path, path) - childOf(b.Path, path) })
		for k, j := range at {
			events[j] = inside[k]
		}
	}
}

// childOf is the index of the child of parent that the visit at path is in, -1 if it is in none.
func childOf(path, parent string) int {
	rest, ok := strings.CutPrefix(path, parent)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return -1
	}
	n := 0
	for i := 1; i < len(rest) && rest[i] >= '0' && rest[i] <= '9'; i++ {
		n = n*10 + int(rest[i]-'0')
	}
	return n
}

// orderTools orders the tool calls of each leaf by their number.
func orderTools(events []Event) {
	for i := 0; i < len(events); i++ {
		j := i
		for j < len(events) && events[j].Call > 0 && events[j].Path == events[i].Path {
			j++
		}
		if j > i {
			order.Stable(events[i:j], func(a, b Event) int { return a.Call - b.Call })
			i = j - 1
		}
	}
}
