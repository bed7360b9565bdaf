package tool

import (
	"bytes"
	"encoding/json"
	"path"
	"slices"
	"strings"
)

// Identity is what calls have in common that would do the same: the canonical name of the tool and its input in one spelling. It is
// "" for a call that changes nothing and may be made as often as one likes, and for one that no tool or no rule could answer.
// It starts no server.
func (d *Dispatcher) Identity(name string, input json.RawMessage) string {
	h, err := d.table.resolve(name)
	if err != nil || h.overlaps() {
		return ""
	}
	dec := json.NewDecoder(bytes.NewReader(input))
	dec.UseNumber()
	var fields map[string]any
	if dec.Decode(&fields) != nil {
		return ""
	}
	if h.namespace == "" {
		if command, ok := fields["command"].(string); ok && h.name == "bash" {
			if changesNothing(command) {
				return ""
			}
			fields = map[string]any{"command": strings.TrimSpace(command)} // however long it may take
		}
		if p, ok := fields["path"].(string); ok {
			fields["path"] = path.Clean(p)
		}
	}
	spelled, err := json.Marshal(fields) // keys sorted
	if err != nil {
		return ""
	}
	return h.String() + " " + string(spelled)
}

// Reads reports whether no call of the tool that name means changes anything. It starts servers only for a name that could be one of theirs.
func (d *Dispatcher) Reads(name string) bool {
	h, err := d.resolve(name)
	return err == nil && h.effect == None
}

// changesNothing reports whether every command of a line is known to be harmless, and the line writes nothing.
func changesNothing(command string) bool {
	line, err := Commands(command, func(string, bool) error { return nil })
	return err == nil && len(line.Writes) == 0 && !slices.ContainsFunc(line.Commands, func(c string) bool {
		words := strings.Split(c, " ")
		return !harmless(c) || words[0] == "git" && slices.ContainsFunc(words, records)
	})
}
