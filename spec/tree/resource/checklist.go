package resource

import (
	"strings"
	"unicode"
)

// ParseChecklist reads every line "- [ ] text".
func ParseChecklist(src string) Checklist {
	var c Checklist
	var pre []string
	var f fence
	item, sub := -1, -1 // columns of the open item and of its open bullet
	for n, line := range lines(src) {
		col, rest := indent(line)
		if f.step(line) {
			// A block below an item is a part of it as far as it is deeper.
			if item >= 0 && col > item && rest != "" {
				c.join(rest, sub, col)
			} else {
				pre = append(pre, line)
				item, sub = -1, -1
			}
			continue
		}
		text, isBullet := bullet(rest)
		box, isBox := "", false
		if isBullet {
			box, isBox = checkbox(text)
		}
		switch {
		case isBox:
			it := Item{Text: box, Line: n}
			it.Text, it.Halt = haltMark(box)
			c.Items = append(c.Items, it)
			item, sub = col, -1
		case rest == "":
			if item < 0 {
				pre = append(pre, "")
			}
		case item < 0 || col <= item:
			pre = append(pre, line)
			item, sub = -1, -1
		case isBullet && text != "":
			last := &c.Items[len(c.Items)-1]
			last.Subs = append(last.Subs, text)
			sub = col
		default:
			if sub >= 0 && col <= sub {
				sub = -1
			}
			c.join(rest, sub, col)
		}
	}
	c.Preamble = trimBlank(pre)
	c.Halts = saysHalt(c.Preamble)
	return c
}

// join adds a continuation line to the last item, or to its last bullet when the line is deeper than that.
func (c *Checklist) join(text string, sub, col int) {
	last := &c.Items[len(c.Items)-1]
	to := &last.Text
	if sub >= 0 && col > sub {
		to = &last.Subs[len(last.Subs)-1]
	}
	if *to != "" {
		*to += " "
	}
	*to += strings.TrimSpace(text)
}

// indent counts columns, tabs to the next multiple of 4.
func indent(line string) (col int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col, strings.TrimRight(line[i:], " \t")
		}
	}
	return col, ""
}

func bullet(rest string) (text string, ok bool) {
	if rest == "" || !strings.ContainsRune("-*+", rune(rest[0])) {
		return "", false
	}
	if len(rest) > 1 && rest[1] != ' ' && rest[1] != '\t' {
		return "", false
	}
	return strings.TrimSpace(rest[1:]), true
}

func checkbox(text string) (string, bool) {
	if len(text) < 3 || text[0] != '[' || text[2] != ']' || !strings.ContainsRune(" xX", rune(text[1])) {
		return "", false
	}
	rest := text[3:]
	if rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false // a link
	}
	return strings.TrimSpace(rest), true
}

// haltMark reads the prefix "(halt)" of an item, bold or not.
func haltMark(text string) (rest string, halt bool) {
	for _, mark := range [...]string{"**(halt)**", "(halt)"} {
		if len(text) >= len(mark) && strings.EqualFold(text[:len(mark)], mark) {
			return strings.TrimSpace(text[len(mark):]), true
		}
	}
	return text, false
}

// saysHalt looks for a sentence that lets a failing item stop the skill (ruling 5.24): it speaks of
// the skill and of halting or stopping, or of something that fails the skill, and denies nothing.
func saysHalt(preamble string) bool {
	for _, paragraph := range strings.Split(strings.ReplaceAll(preamble, "\n#", "\n\n#"), "\n\n") {
		for _, sentence := range strings.FieldsFunc(paragraph, func(r rune) bool { return strings.ContainsRune(".!?;", r) }) {
			if sentenceHalts(sentence) {
				return true
			}
		}
	}
	return false
}

func sentenceHalts(sentence string) bool {
	words := strings.FieldsFunc(strings.ToLower(sentence), func(r rune) bool {
		return !unicode.IsLetter(r) && r != '\'' && r != '’'
	})
	skill, stop, fail := false, false, false
	for i, w := range words {
		switch w {
		case "skill", "skill's":
			skill = true
		case "halt", "halts", "halted", "stop", "stops", "stopped":
			stop = true
		case "fail", "fails", "failed":
			// "an item that fails" judges the item; "fails the skill" and "the skill fails" judge the skill.
			for _, near := range words[max(0, i-2):min(len(words), i+3)] {
				fail = fail || near == "skill"
			}
		case "not", "never", "no", "cannot", "without", "nothing":
			return false
		}
		if strings.HasSuffix(w, "n't") || strings.HasSuffix(w, "n’t") {
			return false
		}
	}
	return skill && (stop || fail)
}
