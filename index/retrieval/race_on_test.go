//go:build race

package retrieval

// racing says that the race detector slows everything down.
const racing = true
