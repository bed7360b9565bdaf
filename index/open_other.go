//go:build !unix

package index

const openFlags = 0
