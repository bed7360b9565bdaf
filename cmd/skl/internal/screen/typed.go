package screen

import "strings"

// Typed are the flags of the command line that is running, by which a command that a person is told to type next means the same
// place, and does the same as this one.
type Typed struct {
	Places  []Flag // where: --project, --scope, --config, …
	Command string // this one
	Flags   []Flag // its own
}

// A Flag is one that was typed.
type Flag struct {
	Name, Text string // Text is the whole of it, quoted for the shell: "--project sub"
}

// placed are the commands that are of a project or scope, configured others that read the configuration, and indexed those of the index of
// a directory. Runs are found wherever they were started.
const (
	placed = " init install remove update list info read ci check status diff outdated which disable enable doctor run verify audit trust policy " +
		"source lock ack why search test graph activate "
	configured = " login logout registry publish sign attest yank deprecate resume "
	indexed    = " query evidence expand index "
)

// Retyped is a hint whose commands have the flags that were typed and that they lack.
func (t *Typed) Retyped(hint string) string {
	if t == nil || len(t.Places)+len(t.Flags) == 0 {
		return hint
	}
	parts := strings.Split(hint, "skl ")
	for i := 1; i < len(parts); i++ {
		if before := parts[i-1]; before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "(") || strings.HasSuffix(before, cyan) { // not the end of a word
			line, after, painted := strings.Cut(parts[i], "\x1b")
			if parts[i] = t.flagged(line); painted {
				parts[i] += "\x1b" + after
			}
		}
	}
	return strings.Join(parts, "skl ")
}

// cyan is what commands to type next are painted with.
const cyan = "\x1b[36m"

// Steps is a drawn page, of which the lines that say what to type next are retyped.
func (t *Typed) Steps(page string) string {
	if t == nil || len(t.Places)+len(t.Flags) == 0 {
		return page
	}
	lines := strings.Split(page, "\n")
	for i, line := range lines {
		word, _, _ := strings.Cut(strings.TrimPrefix(line, "\x1b[2m"), " ")
		if word, _, _ = strings.Cut(word, "\x1b"); word == "next" || word == "or" || word == "undo" {
			lines[i] = t.Retyped(line)
		}
	}
	return strings.Join(lines, "\n")
}

// flagged is one command without "skl", with its flags.
func (t *Typed) flagged(line string) string {
	word, rest, _ := strings.Cut(line, " ")
	name := strings.TrimRight(word, ",;.")
	here := strings.Contains(placed, " "+name+" ")
	before, own := "", ""
	for _, f := range t.Places {
		switch {
		case has(line, f.Name), f.Name == "root" && name == "install": // there it says where to install
		case here, f.Name == "project" && strings.Contains(indexed, " "+name+" "), f.Name == "config" && strings.Contains(configured, " "+name+" "):
			before += f.Text + " "
		}
	}
	if name == t.Command && name == word && rest != "" && rest[0] != '-' {
		for _, f := range t.Flags {
			if !has(line, f.Name) {
				own += " " + f.Text
			}
		}
	}
	return before + word + own + line[len(word):]
}

// has reports whether a command line has a flag, or another way to say the same.
func has(line, name string) bool {
	same := "--" + name
	switch name {
	case "project":
		same = "--project -C"
	case "global", "scope":
		same = "--global -g --scope"
	}
	for _, word := range strings.Fields(line) {
		if strings.Contains(" "+same+" ", " "+word+" ") {
			return true
		}
	}
	return false
}
