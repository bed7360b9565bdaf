package search

import (
	"fmt"
	"testing"
)

// The lists kept for searches are bounded in number and in bytes.
func TestCacheBounded(t *testing.T) {
	for name, last := range map[string]int64{"short": 10, "long": 3_000_000} {
		t.Run(name, func(t *testing.T) {
			var l lists
			one := (&state{last: last}).none()
			size := 3 * 8 * len(one[0])
			for i := range 3 * maxLists {
				l.keep(fmt.Sprint(i), one)
				if got := l.get(fmt.Sprint(i)); got != one {
					t.Fatalf("list %d is not kept", i)
				}
				if len(l.kept) > maxLists || len(l.kept)*size > maxKept {
					t.Fatalf("it keeps %d lists of %d bytes", len(l.kept), size)
				}
			}
			if len(l.kept) != min(maxLists, maxKept/size) {
				t.Errorf("it keeps %d lists of %d bytes", len(l.kept), size)
			}
		})
	}
}
