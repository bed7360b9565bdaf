package memory_test

import (
	"os"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/memory"
)

// TestAfterTheFirst holds that the use that was chosen counts from the first collection on, whether it was chosen before or later.
func TestAfterTheFirst(t *testing.T) {
	if os.Getenv("GOGC") != "" {
		t.Skip("skipped: GOGC says how garbage is collected")
	}
	t.Setenv("GOMEMLIMIT", "off") // of this process
	memory.Set(memory.Index)
	await := func(want int) {
		t.Helper()
		percent := 0
		for range 100 {
			runtime.GC()
			percent = debug.SetGCPercent(-1)
			debug.SetGCPercent(percent)
			if percent == want {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("the heap may grow by %d %%, not by %d", percent, want)
	}
	await(400)
	memory.Set(memory.Server)
	await(100)
	memory.Set(memory.Use{})
	await(300)
}
