//go:build !unix

package files_test

import "time"

// cpuTime is not known.
func cpuTime() time.Duration { return 0 }
