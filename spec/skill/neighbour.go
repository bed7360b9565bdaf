package skill

import (
	"slices"
	"strings"
)

// RuntimeName is the skill that explains trees to agents. It comes with every runtime, so that no skill has to name it.
const RuntimeName = "canopy-runtime"

const maxNeighbourText = 1000 // bytes of compatibility that are looked through: it has 500 characters at most by rule

// Neighbours are the words of compatibility that are names as skills have them, without the skill's own, in order: those beside which it wants to
// be installed are among them, and so are other words. It may be called of nil.
func (d *Document) Neighbours() (names []string) {
	if d == nil {
		return nil
	}
	text := d.Compatibility[:min(len(d.Compatibility), maxNeighbourText)]
	for _, word := range strings.FieldsFunc(text, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) {
		if word != d.Name && CheckName(word, "") == nil && !slices.Contains(names, word) {
			names = append(names, word)
		}
	}
	return names
}

// Neighbour reports whether a path of the skill may lead into the skill of that name beside it: its compatibility says so, or the name is RuntimeName.
func (d *Document) Neighbour(name string) bool {
	return name == RuntimeName || slices.Contains(d.Neighbours(), name)
}
