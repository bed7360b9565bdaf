package memory_test

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	_ "github.com/skl-project/skl/cmd/skl/internal/memory"
)

// TestAfterTheFirst holds that the first collection makes the runtime what it was.
func TestAfterTheFirst(t *testing.T) {
	for range 100 {
		runtime.GC()
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		if percent == 100 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the percentage of a start is still there")
}
