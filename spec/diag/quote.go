package diag

import "strings"

// Words are arguments of a command that a person is to type, each quoted where it needs it.
func Words(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = Quote(s)
	}
	return strings.Join(quoted, " ")
}

// Quote quotes a word for the shell where it needs it, for commands that a person is to type.
func Quote(s string) string {
	if s != "" && !strings.ContainsAny(s, " \t\n'\"\\$`!*?[]{}()<>|&;#~") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
