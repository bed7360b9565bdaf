package screen

import "strings"

// Version is a version as a reader wants it: without a tag, the commit and the day.
func Version(version string) string {
	rest, ok := strings.CutPrefix(version, "0.0.0-")
	if !ok {
		return version
	}
	at, commit, ok := strings.Cut(rest, "-")
	if !ok || len(at) != 14 || len(commit) < 8 || strings.Trim(at, "0123456789") != "" {
		return version
	}
	months := [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}
	month := int(at[4]-'0')*10 + int(at[5]-'0')
	if month < 1 || month > 12 {
		return version
	}
	return commit[:8] + " (" + strings.TrimPrefix(at[6:8], "0") + " " + months[month-1] + " " + at[:4] + ")"
}
