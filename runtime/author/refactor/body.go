package refactor

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/skl-project/skl/spec/tree"
)

// normal is a body without what does not count: line ends, blanks at line ends, blank lines around it, and how far each level is indented.
// Text in fences keeps its indentation.
func normal(body string) string {
	var out strings.Builder
	var levels []int // columns of the lines that are open around
	fence := ""
	for line := range strings.SplitSeq(strings.Trim(strings.ReplaceAll(body, "\r\n", "\n"), "\n"), "\n") {
		line = strings.TrimRight(line, " \t\r")
		text := strings.TrimLeft(line, " \t")
		mark := fenceMark(text)
		switch {
		case fence != "":
			out.WriteString(line + "\n")
			if mark != "" && mark[0] == fence[0] && len(mark) >= len(fence) && mark == text {
				fence = ""
			}
			continue
		case text == "":
			out.WriteByte('\n')
			continue
		case mark != "":
			fence = mark
		}
		column := width(line[:len(line)-len(text)])
		for len(levels) > 0 && levels[len(levels)-1] > column {
			levels = levels[:len(levels)-1]
		}
		if len(levels) == 0 || levels[len(levels)-1] < column {
			levels = append(levels, column)
		}
		out.WriteString(strings.Repeat("\t", min(len(levels)-1, maxLevels)) + text + "\n")
	}
	return strings.TrimRight(out.String(), "\n")
}

// maxLevels bounds how much a hostile staircase of lines can grow.
const maxLevels = 2 * tree.MaxDepth

// fenceMark is the run of three or more backticks or tildes that text begins with, "" if there is none.
func fenceMark(text string) string {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return ""
	}
	n := len(text) - len(strings.TrimLeft(text, text[:1]))
	if n < 3 {
		return ""
	}
	return text[:n]
}

// width is the column behind blanks; a tab goes to the next multiple of 4.
func width(blanks string) int {
	column := 0
	for i := range len(blanks) {
		if column++; blanks[i] == '\t' {
			column = (column + 3) / 4 * 4
		}
	}
	return column
}

// signature is what the heading of an op says but for its name.
func signature(op *tree.Op) string {
	var b strings.Builder
	for _, p := range op.Params {
		b.WriteString("<" + p.Name)
		if p.Optional {
			b.WriteByte('?')
		}
		b.WriteByte('\n')
	}
	for _, t := range op.Outs {
		b.WriteString(">" + t.Name)
		if t.Group {
			b.WriteByte('}')
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// digest is the SHA-256 of texts, each told from the next.
func digest(texts ...string) string {
	h := sha256.New()
	for _, s := range texts {
		sum := sha256.Sum256([]byte(s))
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil))
}
