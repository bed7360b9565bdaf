package growth

import (
	"testing"
	"time"
)

var sink int

func spin(n int) {
	for range n {
		for i := range 20_000 {
			sink ^= i
		}
	}
}

// A cube is told from a line. A square mostly is: a busy machine can make its smaller input look slow.
func TestTimes(t *testing.T) {
	if small, large := Times(20, 4, 10, 0, func(n int) { spin(n) }); large > 10*small {
		t.Errorf("a line: %v and %v", small, large)
	}
	if small, large := Times(6, 4, 10, 0, func(n int) { spin(n * n * n) }); large <= 10*small {
		t.Errorf("a cube: %v and %v", small, large)
	}
	if _, large := Times(1, 4, 10, time.Minute, func(int) {}); large != 0 {
		t.Errorf("what is below the least was measured at four times its size: %v", large)
	}
}

// A machine that is busy at times makes no growth of a line.
func TestTimesBeside(t *testing.T) {
	calls := 0
	small, large := Times(20, 4, 10, 0, func(n int) {
		if calls++; n > 20 && calls < 5 {
			time.Sleep(200 * time.Millisecond)
		}
		spin(n)
	})
	if large > 10*small {
		t.Errorf("%v and %v", small, large)
	}
}
