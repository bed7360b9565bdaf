package content

import (
	"bytes"
	"strings"

	"github.com/skl-project/skl/spec/audit"
)

// steps reads the commands that a file of YAML has under keys such as run, as those of a script with the same lines.
func (s *scan) steps(f audit.File) {
	const (
		files list = " .yaml .yml "
		keys  list = " run command cmd script exec shell bash "
	)
	if !files.has(extension(f.Path)) || len(f.Data) > audit.MaxFileBytes {
		return
	}
	script, some := make([]byte, 0, len(f.Data)), false
	open, indent := false, 0
	for line := range bytes.Lines(f.Data) {
		text := bytes.TrimLeft(line, " ")
		at := len(line) - len(text)
		switch {
		case open && (at > indent || len(bytes.TrimSpace(text)) == 0):
			script = append(script, bytes.TrimRight(text, "\r\n")...)
		default:
			open = false
			item := bytes.TrimLeft(text, "- ")
			key, value, ok := strings.Cut(strings.TrimSpace(string(item[:min(len(item), 1000)])), ":")
			if !ok || !keys.has(key) {
				break
			}
			some, indent = true, at+len(text)-len(item)
			if value = strings.TrimSpace(value); value != "" && strings.IndexByte("|>", value[0]) >= 0 {
				open = true
			} else {
				script = append(script, strings.Trim(value, `"'`)...)
			}
		}
		script = append(script, '\n')
	}
	if !some {
		return
	}
	var commands []audit.Command
	audit.Trace([]audit.File{{Path: "steps.sh", Data: script}}, func(c audit.Command) {
		c.File = f.Path
		commands = append(commands, c)
	})
	s.trace(commands)
}
