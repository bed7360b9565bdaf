//go:build !darwin && !dragonfly && !freebsd && !netbsd && !openbsd

package files

// watchable is 0: a watch takes no open file.
func watchable() int { return 0 }
