package durable

import (
	"os"
	"time"
)

// Bounds of [Retry].
const (
	retryFor   = 2 * time.Second
	retryPause = 5 * time.Millisecond // at first; it doubles up to 100 ms
)

// Rename is [os.Rename] with [Retry].
func Rename(from, to string) error { return Retry(func() error { return os.Rename(from, to) }) }

// Retry calls op again, for up to 2 s, while it fails because another program has a file open for a moment: on Windows,
// virus scanners and indexers do, and nobody can rename or delete what is open. It returns the last error.
func Retry(op func() error) error { return retry(op, busy, time.Sleep) }

func retry(op func() error, busy func(error) bool, sleep func(time.Duration)) error {
	err := op()
	for waited, pause := time.Duration(0), retryPause; err != nil && busy(err) && waited < retryFor; pause = min(2*pause, 100*time.Millisecond) {
		sleep(pause)
		waited += pause
		err = op()
	}
	return err
}
