package graph

import "strings"

// advance holds the widths of the characters from blank to ~ in 1/1000 of the font
// size. They are those of a wide sans serif face, so that text in the narrower
// faces that most readers have never leaves its box.
var advance = [...]int16{
	318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337,
	636, 636, 636, 636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531,
	1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863, 748, 787,
	603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500,
	500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612,
	635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
}

// textWidth is how wide s is at most, in pixels.
func textWidth(s string, size int, bold bool) int {
	sum := 0
	for _, r := range s {
		sum += runeWidth(r)
	}
	if bold {
		sum += sum / 7
	}
	return (sum*size + 999) / 1000
}

func runeWidth(r rune) int {
	switch {
	case r >= ' ' && int(r-' ') < len(advance):
		return int(advance[r-' '])
	case r >= 0x300 && r < 0x370: // combining marks
		return 0
	case r < 0x1100:
		return 800
	case r >= 0x2010 && r < 0x2e80: // punctuation, arrows, symbols
		return 1000
	}
	return 1300 // wide scripts, pictures
}

// wrap breaks s at blanks, and inside words that are too long, into lines of at most
// width pixels.
func wrap(s string, size int, bold bool, width int) []string {
	var lines []string
	line, used := "", 0
	flush := func() {
		if line != "" {
			lines, line, used = append(lines, line), "", 0
		}
	}
	space := textWidth(" ", size, bold)
	for _, word := range strings.Fields(s) {
		w := textWidth(word, size, bold)
		if used > 0 && used+space+w > width {
			flush()
		}
		for w > width {
			cut := fitting(word, size, bold, width)
			lines = append(lines, word[:cut])
			word = word[cut:]
			w = textWidth(word, size, bold)
		}
		if word == "" {
			continue
		}
		if used > 0 {
			line += " "
			used += space
		}
		line += word
		used += w + 1
	}
	flush()
	return lines
}

// fitting is how many bytes of word fit, at least one character; a path breaks behind a slash.
func fitting(word string, size int, bold bool, width int) int {
	cut := len(word)
	for i := range word {
		if i > 0 && textWidth(word[:i], size, bold) > width {
			cut = prev(word, i)
			break
		}
	}
	if slash := strings.LastIndexAny(word[:cut], "/-_."); slash > cut/2 {
		return slash + 1
	}
	return cut
}

// prev is the start of the character before i, or i if that is the first.
func prev(s string, i int) int {
	p := 0
	for k := range s[:i] {
		p = k
	}
	if p == 0 {
		return i
	}
	return p
}

func widest(lines []string, size int, bold bool) int {
	w := 0
	for _, l := range lines {
		w = max(w, textWidth(l, size, bold))
	}
	return w
}
