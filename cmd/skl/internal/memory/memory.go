// Package memory puts off the first collection of garbage to a heap of 16 MiB, where the runtime would begin at less than 4:
// the packages that are linked in allocate 3 MiB before main, so that every command, however short, would spend
// a quarter of its time on a collection that frees nothing. From the first collection on, the runtime is as it was
// found; with GOGC set, it stays as it was set.
//
// It works by being imported: packages are initialised in the order of their paths as far as their imports allow, and
// this one imports next to nothing. TestCollectionWaits in cmd/skl holds that it comes early enough.
package memory

import (
	"runtime"
	"runtime/debug"
)

const (
	usual = 100 // percent, without GOGC
	first = 400 // of the runtime's 4 MiB
)

func init() {
	if was := debug.SetGCPercent(first); was != usual {
		debug.SetGCPercent(was)
		return
	}
	runtime.AddCleanup(new([64]byte), func(percent int) { debug.SetGCPercent(percent) }, usual)
}
