package screen

import (
	"strings"

	"github.com/rivo/uniseg"
)

// Width is the number of columns that printable text takes.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// head is the longest start of s of at most n columns that splits no grapheme.
func head(s string, n int) string {
	end, state := 0, -1
	for rest := s; rest != ""; {
		cluster, after, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if n -= w; n < 0 {
			break
		}
		end, rest, state = end+len(cluster), after, next
	}
	return s[:end]
}

// tail is the longest end of s of at most n columns that splits no grapheme.
func tail(s string, n int) string {
	var widths, sizes []int
	state := -1
	for rest := s; rest != ""; {
		cluster, after, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		widths, sizes = append(widths, w), append(sizes, len(cluster))
		rest, state = after, next
	}
	start := len(s)
	for i := len(widths) - 1; i >= 0 && n >= widths[i]; i-- {
		n, start = n-widths[i], start-sizes[i]
	}
	return s[start:]
}

// Cut shortens printable text to n columns, with the ellipsis at its end.
func (k Look) Cut(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	ellipsis := k.Sign(Ellipsis)
	if n < Width(ellipsis) {
		return ""
	}
	return strings.TrimRight(head(s, n-Width(ellipsis)), " ") + ellipsis
}

// CutMiddle shortens a path or a URL to n columns: its first and its last element stay, if they fit.
func (k Look) CutMiddle(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	ellipsis := k.Sign(Ellipsis)
	if n < Width(ellipsis)+2 {
		return k.Cut(s, n)
	}
	room := n - Width(ellipsis)
	first, last := strings.IndexByte(s, '/'), strings.LastIndexByte(s, '/')
	if scheme := strings.Index(s, "://"); scheme >= 0 {
		if slash := strings.IndexByte(s[scheme+3:], '/'); slash >= 0 {
			first = scheme + 3 + slash
		}
	}
	if first >= 0 && last > first && Width(s[:first+1])+Width(s[last:]) <= room {
		// More of the end, element by element, while it fits.
		for {
			before := strings.LastIndexByte(s[:last], '/')
			if before <= first || Width(s[:first+1])+Width(s[before:]) > room {
				return s[:first+1] + ellipsis + s[last:]
			}
			last = before
		}
	}
	end := tail(s, room*2/3)
	return head(s, room-Width(end)) + ellipsis + end
}
