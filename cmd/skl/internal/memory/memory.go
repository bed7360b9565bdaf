// Package memory says how garbage is collected: the only place that does, and one [Use] for each command.
//
// It puts off the first collection to a heap of 16 MiB, where the runtime would begin at less than 4: the packages that are linked in
// allocate 3 MiB before main, so that every command, however short, would spend a quarter of its time on a collection that
// frees nothing. From the first collection on, the use of the command counts. What GOGC and GOMEMLIMIT say stays as they say it.
//
// The start works by being imported: packages are initialised in the order of their paths as far as their imports allow, and
// this one imports next to nothing. TestCollectionWaits in cmd/skl holds that it comes early enough.
package memory

import (
	"os"
	"runtime"
	"runtime/debug"
	"sync"
)

// A Use is how a command uses memory. The zero Use is Command.
type Use struct {
	percent int   // that a heap may grow by what is garbage, as GOGC
	limit   int64 // bytes beyond which that counts no more, as GOMEMLIMIT; 0 for none
}

// The uses of memory.
var (
	Command = Use{300, 0}         // it ends before its heap is worth collecting
	Index   = Use{400, 128 << 20} // it makes much garbage, does nothing else, and ends soon
	Server  = Use{100, 0}         // it stays, beside other programs
)

const first = 400 // percent of the runtime's 4 MiB

var state struct {
	sync.Mutex
	fixed  bool // GOGC says how
	begun  bool // the first collection is over
	chosen Use
}

func init() {
	state.chosen = Command
	if os.Getenv("GOGC") != "" {
		state.fixed = true
		return
	}
	debug.SetGCPercent(first)
	runtime.AddCleanup(new([64]byte), func(int) {
		state.Lock()
		defer state.Unlock()
		state.begun = true
		apply()
	}, 0)
}

// Set chooses the use of this process. It may be called at any time.
func Set(u Use) {
	if u == (Use{}) {
		u = Command
	}
	state.Lock()
	defer state.Unlock()
	if state.chosen = u; u.limit > 0 && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(u.limit)
	}
	if state.begun {
		apply()
	}
}

// apply is called with the lock held.
func apply() {
	if !state.fixed {
		debug.SetGCPercent(state.chosen.percent)
	}
}
