package resource

import (
	"iter"
	"slices"
	"strings"
	"unicode"
)

// lines yields the lines of src without their ends, CR LF read as LF, and their numbers from 1.
func lines(src string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for n := 1; src != ""; n++ {
			line, rest, _ := strings.Cut(src, "\n")
			if !yield(n, strings.TrimSuffix(line, "\r")) {
				return
			}
			src = rest
		}
	}
}

// fence follows the fenced blocks of Markdown from line to line.
type fence struct {
	mark string // that opened the block, "" outside
}

// step reads the next line and reports whether it is fenced: a part of a block, or one of its two fence lines.
func (f *fence) step(line string) (fenced bool) {
	t := strings.TrimLeft(line, " \t")
	mark := fenceMark(t)
	switch {
	case f.mark == "" && mark != "":
		f.mark = mark
		return true
	case f.mark == "":
		return false
	case mark != "" && mark[0] == f.mark[0] && len(mark) >= len(f.mark) && strings.TrimSpace(t[len(mark):]) == "":
		f.mark = ""
	}
	return true
}

func fenceMark(t string) string {
	for _, c := range [...]string{"`", "~"} {
		if n := len(t) - len(strings.TrimLeft(t, c)); n >= 3 {
			if c == "`" && strings.Contains(t[n:], "`") {
				return "" // inline code
			}
			return t[:n]
		}
	}
	return ""
}

// sectionName reads the line "# === NAME ===".
func sectionName(line string) (string, bool) {
	t, ok := strings.CutPrefix(strings.TrimSpace(line), "#")
	if !ok {
		return "", false
	}
	t = strings.TrimSpace(t)
	if !strings.HasPrefix(t, "===") || !strings.HasSuffix(t, "===") {
		return "", false
	}
	name := strings.TrimSpace(strings.Trim(t, "="))
	return name, name != ""
}

func foldName(name string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(strings.ToLower(name)), "_"), "-", "_")
}

// ScriptSections returns the names of the sections in order.
func ScriptSections(src string) []string {
	var out []string
	for _, line := range lines(src) {
		if name, ok := sectionName(line); ok {
			out = append(out, name)
		}
	}
	return out
}

// ScriptSection returns the text of the section NAME ("# === NAME ===") of a
// script, ok false if there is none. Names compare without case, blanks equal underscores. A section that
// is Markdown with one fenced block gives the block.
func ScriptSection(src, name string) (string, bool) {
	want := foldName(strings.Trim(name, "`\"' "))
	if want == "" {
		return "", false
	}
	var body []string
	in := false
	for _, line := range lines(src) {
		if n, ok := sectionName(line); ok {
			if in {
				break
			}
			in = foldName(n) == want
			continue
		}
		if in {
			body = append(body, line)
		}
	}
	if !in {
		return "", false
	}
	if block, ok := onlyBlock(body); ok {
		body = block
	}
	return trimBlank(body), true
}

// onlyBlock returns the lines of the one fenced block of a section that is Markdown. A script that writes
// Markdown through a here-document is no Markdown: "<<" stands before its fence.
func onlyBlock(body []string) (block []string, ok bool) {
	var f fence
	from := -1
	for i, line := range body {
		was := f.mark != ""
		fenced := f.step(line)
		switch {
		case fenced && !was:
			if from >= 0 {
				return nil, false
			}
			from = i + 1
		case was && f.mark == "":
			block = body[from:i]
			ok = true
		case !fenced && from < 0 && strings.Contains(line, "<<"):
			return nil, false
		}
	}
	return block, ok && f.mark == ""
}

func trimBlank(body []string) string {
	for len(body) > 0 && strings.TrimSpace(body[0]) == "" {
		body = body[1:]
	}
	for len(body) > 0 && strings.TrimSpace(body[len(body)-1]) == "" {
		body = body[:len(body)-1]
	}
	return strings.Join(body, "\n")
}

// heading reads a Markdown heading; level is 0 for other lines.
func heading(line string) (level int, text string) {
	t := strings.TrimLeft(line, " ")
	if len(line)-len(t) > 3 {
		return 0, ""
	}
	level = len(t) - len(strings.TrimLeft(t, "#"))
	if level == 0 || level > 6 || len(t) > level && t[level] != ' ' && t[level] != '\t' {
		return 0, ""
	}
	text = strings.TrimSpace(t[level:])
	if cut := strings.TrimRight(text, "#"); cut == "" || strings.HasSuffix(cut, " ") {
		text = strings.TrimSpace(cut)
	}
	return level, text
}

// plain is a heading's text or a wanted name as they compare.
func plain(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.Trim(strings.TrimSpace(s), "`*"))), " ")
}

// MarkdownSection returns the text below the heading whose text, case folded, equals or
// starts with name, up to the next heading of that level.
func MarkdownSection(src, name string) (string, bool) {
	want := plain(name)
	if want == "" {
		return "", false
	}
	best, bestLevel, exact := 0, 0, false // line of the heading
	var f fence
	for n, line := range lines(src) {
		if f.step(line) {
			continue
		}
		level, text := heading(line)
		if level == 0 {
			continue
		}
		switch text = plain(text); {
		case text == want && !exact:
			best, bestLevel, exact = n, level, true
		case best == 0 && strings.HasPrefix(text, want):
			best, bestLevel = n, level
		}
	}
	if best == 0 {
		return "", false
	}
	var body []string
	f = fence{}
	for n, line := range lines(src) {
		fenced := f.step(line)
		if n <= best {
			continue
		}
		if level, _ := heading(line); !fenced && level > 0 && level <= bestLevel {
			break
		}
		body = append(body, line)
	}
	return trimBlank(body), true
}

// ScriptPart says which section of the script src a step runs that names none beyond doubt: words is what stands behind the path
// in the step. "for NAME" or "section NAME" names one. A script without sections runs whole, and so does one whose step says "whole" or "all sections"
// and nothing that takes from it. ok is false where none of that holds, since a script with sections never runs whole by mistake; and where
// the step names what looks like a section in the script and is none.
func ScriptPart(src, words string) (section string, ok bool) {
	words = strings.Join(strings.Fields(words), " ")
	names := ScriptSections(src)
	if len(names) == 0 {
		_, near := nearPart(src, words)
		return "", !near
	}
	if exceptions(words) {
		return "", false
	}
	name, rest := partNamed(names, words)
	switch {
	case name == "":
		return "", saysWhole(words)
	case saysWhole(words):
		return "", false
	}
	return name, len(sectionList(names, rest)) < 2
}

// partLeads stand in front of the name of a section.
var partLeads = [...]string{"for ", "section ", "§ ", "→ "}

// partNamed is the one of names that words name, "" if they name none, and what stands there.
func partNamed(names []string, words string) (name, rest string) {
	for _, lead := range partLeads {
		_, rest, found := strings.Cut(" "+words, " "+lead)
		if !found {
			continue
		}
		rest = strings.TrimPrefix(rest, "the ")
		first, _, _ := strings.Cut(rest, " ")
		head, _, _ := strings.Cut(rest, " section")
		for _, name := range names {
			for _, want := range [...]string{rest, head, first} {
				if foldName(strings.Trim(want, partMarks)) == foldName(name) {
					return name, rest
				}
			}
		}
	}
	return "", ""
}

// exceptions reports whether words take something from what they say: "for LOG and not all sections", "whole, except RM".
func exceptions(words string) bool {
	for word := range strings.FieldsFuncSeq(strings.ToLower(words), func(r rune) bool { return r != '\'' && r != '’' && !unicode.IsLetter(r) }) {
		switch word {
		case "not", "no", "never", "but", "except", "excluding", "without", "only", "skip", "unless", "instead", "none", "neither", "nor":
			return true
		}
		if strings.HasSuffix(word, "n't") || strings.HasSuffix(word, "n’t") {
			return true
		}
	}
	return false
}

// saysWhole reports whether words begin with "as a whole", "all sections" or the like, and what follows is another clause.
func saysWhole(words string) bool {
	clause := strings.ToLower(strings.Trim(words, partMarks+" "))
	for _, end := range [...]string{", ", "; ", ". ", ": ", " and ", " then ", " to ", " — ", " - ", " ("} {
		clause, _, _ = strings.Cut(clause, end)
	}
	whole, each, section := false, false, false
	for _, word := range strings.Fields(clause) {
		switch strings.Trim(word, partMarks) {
		case "whole", "entire", "entirely":
			whole = true
		case "all", "every", "each":
			each = true
		case "section", "sections":
			section = true
		case "as", "a", "the", "in", "its", "it", "of", "for", "with", "run", "script", "file", "":
		default:
			return false
		}
	}
	return whole || each && section
}

const partMarks = "`\"'.,:;()"

// sectionList is what text names in a row as sections, "LOG, RM and `Clean Up` sections": parts between commas and conjunctions, as long as
// they are one of names, or written like one. A part that is longer is read by its beginning, and is the last.
func sectionList(names []string, text string) []string {
	var list []string
	plural := false
	if head, _, found := strings.Cut(text, " sections"); found {
		text, plural = head, true
	}
	for _, joint := range [...]string{" and ", " & ", " or ", " plus ", " then ", " + ", ", ", ","} {
		text = strings.ReplaceAll(text, joint, "\x00")
	}
	for _, part := range strings.Split(text, "\x00") {
		part = strings.TrimSpace(part)
		for _, word := range [...]string{"and ", "or ", "then ", "for ", "the ", "section ", "§ "} {
			part = strings.TrimPrefix(part, word)
		}
		if part == "" {
			continue
		}
		first, _, long := strings.Cut(part, " ")
		head, _, _ := strings.Cut(part, " section")
		short := head == first
		if strings.HasPrefix(part, "`") { // what stands in backticks
			first, _, _ = strings.Cut(part[1:], "`")
			head, short = first, true
		}
		head, first = strings.Trim(head, partMarks), strings.Trim(first, partMarks)
		isHead := slices.ContainsFunc(names, func(name string) bool { return foldName(head) == foldName(name) })
		isFirst := slices.ContainsFunc(names, func(name string) bool { return foldName(first) == foldName(name) })
		switch {
		case isHead:
			list = append(list, head)
		case isFirst, short && (plural || long || part[0] == '`' || first != strings.ToLower(first)):
			list = append(list, first)
		default:
			return list
		}
	}
	return list
}

// nearPart is what words name that looks like a section of a script which has none: "# --- LOG ---", "// == LOG ==", "#region LOG".
func nearPart(src, words string) (name string, ok bool) {
	var names []string
	for _, line := range lines(src) {
		if name, ok := nearSection(line); ok && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	name, _ = partNamed(names, words)
	return name, name != ""
}

// nearSection reads a comment that marks a part of a script in another way than sectionName does.
func nearSection(line string) (name string, ok bool) {
	text := strings.TrimSpace(line)
	for _, lead := range [...]string{"#", "//", "--", ";", "%", "::", "REM "} {
		rest, found := strings.CutPrefix(text, lead)
		if !found {
			continue
		}
		if region, found := strings.CutPrefix(strings.TrimSpace(rest), "region "); found {
			rest = "==" + region
		}
		const fence = "=-*~#_+/%:<>[] "
		name := strings.Trim(rest, fence)
		marks := len(strings.ReplaceAll(rest, " ", "")) - len(strings.ReplaceAll(name, " ", ""))
		return name, marks >= 2 && name != "" && len(name) <= maxNear
	}
	return "", false
}

// maxNear is how long the name of a section is at most that a comment has by accident.
const maxNear = 80

// NoPart is what is wrong where ScriptPart finds none.
func NoPart(path, src, words string) string {
	words = strings.Join(strings.Fields(words), " ")
	if near, ok := nearPart(src, words); ok && len(ScriptSections(src)) == 0 {
		return path + " has no section " + near + ": one begins with the line # === " + near + " ==="
	}
	text := path + " has sections, and the step names none of them"
	if exceptions(words) {
		text = path + " has sections, and which of them the step means is not sure"
	}
	for _, lead := range partLeads {
		_, rest, found := strings.Cut(" "+words, " "+lead)
		if !found || exceptions(words) {
			continue
		}
		names := ScriptSections(src)
		list := sectionList(names, rest)
		if len(list) < 2 {
			continue
		}
		for _, want := range list {
			if !slices.ContainsFunc(names, func(name string) bool { return foldName(want) == foldName(name) }) {
				return path + " has no section " + want + ", its sections are: " + strings.Join(names, ", ") + "; a step runs one: write a Read for each"
			}
		}
		return "a step runs one section of " + path + ", and this one names " + strings.Join(list, ", ") + ": write a Read for each, or whole to run all of it"
	}
	if _, want, ok := strings.Cut(" "+words, " for "); ok && !strings.Contains(want, " ") {
		text = path + " has no section " + strings.Trim(want, "`\"'.")
	}
	return text + ", its sections are: " + strings.Join(ScriptSections(src), ", ") + "; write for `NAME`, or whole to run all of it"
}
