package ref

import "strings"

// IsWord reports whether text can only be a name, of a skill or a plugin, and no reference or path.
//
//go:noinline
func IsWord(text string) bool { return !strings.ContainsAny(text, "/:\\@#.") }
