package model

import (
	"crypto/rand"
	"slices"
	"strings"
)

// Mark draws a mark for the ends of data in a prompt: nobody can predict it, and none of texts contains it.
func Mark(texts ...string) string {
	for {
		mark := strings.ToLower(rand.Text()[:16]) // 80 bits
		if !slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, mark) }) {
			return mark
		}
	}
}

// Fence returns text between two lines of a mark of its own, named as data.
func Fence(text string) string {
	mark := Mark(text)
	return "(data, between two lines " + mark + ")\n" + mark + "\n" + strings.TrimRight(text, "\n") + "\n" + mark
}
