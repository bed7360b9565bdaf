//go:build !unix

package server

// maxFiles is how many descriptors this process may have open; 0 is not known.
func maxFiles() int { return 0 }
