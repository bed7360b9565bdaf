package report

import (
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// OrDash is s, or a dash where there is nothing.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Cut shortens s to n runes, on one line.
func Cut(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// Mark stands before what is right, or not.
func Mark(ok bool) screen.Sign {
	if !ok {
		return screen.Failed
	}
	return screen.Done
}

// PrintableLines makes each line safe for a terminal.
func PrintableLines(text string) string {
	var out []byte
	for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		out = append(out, diag.Printable(line)...)
		out = append(out, '\n')
	}
	return string(out)
}
