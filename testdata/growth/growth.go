// Package growth measures how time grows with the size of the input, on a machine that does other things too.
package growth

import "time"

// rounds is how often both sizes are measured before a growth is believed.
const rounds = 5

// Times measures do(from) and do(times*from), and returns the shortest time of each. It measures again, up to five times, while the
// larger input takes more than most times as long: what else the machine does makes single times longer and never shorter, so that
// only the growth of do itself stays. It measures the larger input not at all if the smaller one takes less than least.
func Times(from, times int, most float64, least time.Duration, do func(n int)) (small, large time.Duration) {
	small, large = time.Hour, time.Hour
	once := func(n int) time.Duration {
		start := time.Now()
		do(n)
		return time.Since(start)
	}
	for round := 0; round < rounds; round++ {
		for range 2 {
			small = min(small, once(from))
		}
		if small < least {
			return small, 0
		}
		for range 2 {
			if large = min(large, once(times*from)); float64(large) <= most*float64(small) {
				return small, large
			}
		}
	}
	return small, large
}
