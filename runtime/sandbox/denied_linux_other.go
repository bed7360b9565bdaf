//go:build linux && !amd64 && !arm64

package sandbox

// here knows no other processor: a filter with wrong numbers would be worse than none.
func here() (processor, bool) { return processor{}, false }
