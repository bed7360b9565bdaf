//go:build unix

package git

import (
	"syscall"
	"testing"
)

// cpu is the time this process has used, in milliseconds; the server's children are not in it.
func cpu(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}
