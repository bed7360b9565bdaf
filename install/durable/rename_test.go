package durable

import (
	"errors"
	"io/fs"
	"testing"
	"time"
)

// A rename of a file open elsewhere is retried for a bounded time; any other error is returned at once.
func TestRetry(t *testing.T) {
	held := errors.New("open in another program")
	for _, tt := range []struct {
		name   string
		errs   int // how often it fails
		err    error
		want   error
		atMost time.Duration
	}{
		{"at once", 0, held, nil, 0},
		{"after a while", 3, held, nil, 100 * time.Millisecond},
		{"never", 1 << 20, held, held, retryFor + 100*time.Millisecond},
		{"for another reason", 3, fs.ErrNotExist, fs.ErrNotExist, 0},
	} {
		calls, slept := 0, time.Duration(0)
		err := retry(func() error {
			if calls++; calls <= tt.errs {
				return tt.err
			}
			return nil
		}, func(err error) bool { return errors.Is(err, held) }, func(d time.Duration) { slept += d })
		if err != tt.want || slept > tt.atMost {
			t.Errorf("%s: %v after %v", tt.name, err, slept)
		}
	}
}
