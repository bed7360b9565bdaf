package roots

import "unicode/utf8"

// isBuiltin reports whether a host has a command of that name of its own.
func isBuiltin(key string) bool {
	switch key {
	case "add-dir", "agents", "bug", "clear", "compact", "config", "context", "copy", "cost", "doctor", "exit", "export",
		"feedback", "help", "hooks", "ide", "init", "login", "logout", "mcp", "memory", "model", "models", "new",
		"permissions", "plan", "plugin", "quit", "resume", "review", "rewind", "sessions", "settings", "share", "skills",
		"stats", "status", "theme", "tools", "undo", "usage", "vim":
		return true
	}
	return false
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
