//go:build !unix

package gate

// maxFiles is how many descriptors this process may have open; 0 is not known.
func maxFiles() int { return 0 }
