package diag

import "fmt"

// Count writes "1 file", "2 files". Compiled into each of the many places that call it, it would be 17 kB of the program.
//
//go:noinline
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// CountAre writes "1 file is", "2 files are".
func CountAre(n int, noun string) string { return Count(n, noun) + " " + IsAre(n) }

// IsAre is the verb of [Count].
func IsAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Size writes a number of bytes for people: 59 kB, 1.4 MB.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%d kB", (n+500)/1000)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}
