package audit

import "slices"

// A Command is a program that a text starts.
type Command struct {
	Place
	Words []string   // its name and arguments; what is not known has a NUL
	Input [][]string // commands whose output it takes: before a pipe, in $(…) or <(…)
	Prose bool       // it stands in Markdown
}

// maxTraced is MaxPlaces for Trace.
const maxTraced = 512

// Trace is [Read] that keeps up to 512 places of a permission and tells command of each program that is started, in order of files.
func Trace(files []File, command func(Command)) Report { return read(files, maxTraced, command) }

// tell tells of a command, if anybody wants to know.
func (a *auditor) tell(words []value, input [][]string, line int, prose bool) {
	if a.told == nil || len(words) == 0 {
		return
	}
	if a.outer > 0 {
		line = a.outer
	}
	a.told(Command{Place{a.path, line}, texts(words), input, prose})
}

// texts are words as far as they are known; of several that a word may be, the first.
func texts(words []value) []string {
	out := make([]string, 0, len(words))
	for _, v := range words {
		out = append(out, v.or()[0])
	}
	return slices.Clip(out)
}
