package ui

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// oneKey is the number of options up to which the key of a digit answers.
const oneKey = 9

// Answer asks a question that only the person can answer, so that --yes does not: one of options, or any line when there are
// none. The digit of an option answers without Enter; so does a line that is its text or the start of it. Escape leaves.
// Where nothing may move, or the options are many, the number is a line too. An answer that is none says why, and the question stands.
func (u *UI) Answer(question string, options []string) (string, error) {
	if !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	if k := u.keys(); k != nil && len(options) > 0 && len(options) <= oneKey {
		return u.answerByKey(k, question, options)
	}
	look := u.errLook()
	fmt.Fprintf(u.Err, "%s %s\n", look.Sign(screen.Ask), diag.Printable(question))
	for i, o := range options {
		fmt.Fprintf(u.Err, "  %2d %s\n", i+1, diag.Printable(o))
	}
	for {
		io.WriteString(u.Err, "> ")
		line, err := u.readLine()
		if err != nil {
			return "", err
		}
		if len(options) == 0 && line != "" {
			return line, nil
		}
		i, why := matchOption(line, options)
		if i >= 0 {
			return options[i], nil
		}
		if len(options) == 0 {
			why = "type an answer, or end the input to answer later"
		}
		u.Show(look.Lines(screen.Prose(2, screen.T("  "+why))))
	}
}

func (u *UI) answerByKey(k keyboard, question string, options []string) (string, error) {
	typed, why, answer := "", "", -1
	err := u.eachKey(k, func(look screen.Look, _ int) []screen.Line { return answerRows(look, question, options, typed, why) }, func(k key) outcome {
		why = ""
		switch {
		case k.kind == keyStop:
			return stopped
		case k.kind == keyPause:
			return paused
		case k.kind == keyEscape && typed == "":
			return left
		case k.kind == keyEscape || k.kind == keyErase:
			typed = ""
		case k.kind == keyBackspace:
			_, n := utf8.DecodeLastRuneInString(typed)
			typed = typed[:len(typed)-n]
		case k.kind == keyEnter:
			if answer, why = matchOption(strings.TrimSpace(typed), options); answer < 0 {
				typed = ""
				return goesOn
			}
			return accepted
		case k.kind == keyChar && typed == "" && len(k.char) == 1 && '0' <= k.char[0] && k.char[0] <= '9':
			if answer, why = matchOption(k.char, options); answer >= 0 {
				return accepted
			}
		case k.kind == keyChar:
			typed += k.char
		}
		return goesOn
	}, nil)
	if err != nil {
		return "", err
	}
	return options[answer], nil // whoever asked says what became of it
}

// answerRows are a question and its options in one row where they fit, else in a row each; below, what was typed or why it is no answer.
func answerRows(look screen.Look, question string, options []string, typed, why string) []screen.Line {
	const later = "(esc: later)"
	row := screen.L(look.Mark(screen.Ask), screen.T(" "+question))
	width := screen.Width(diag.Printable("? " + question + later))
	var rows []screen.Line
	for i, o := range options {
		digit := screen.Span{Style: screen.Cyan, Text: strconv.Itoa(i + 1)}
		row.Left = append(row.Left, screen.T("   "), digit, screen.T(" "+o))
		width += screen.Width(diag.Printable("   1 " + o))
		rows = append(rows, look.Wrapped(screen.Prose(5, screen.T("   "), digit, screen.T(" "+o)))...)
	}
	row.Right = []screen.Span{{Style: screen.Dim, Text: later}}
	if width+2 < look.Width && !strings.Contains(question, "\n") {
		rows = []screen.Line{row}
	} else {
		head := look.Wrapped(screen.Prose(2, look.Mark(screen.Ask), screen.T(" "+question)))
		rows = append(append(head, rows...), screen.L(screen.Span{Style: screen.Dim, Text: "  " + later}))
	}
	switch {
	case typed != "":
		rows = append(rows, screen.L(screen.T("> "+typed)))
	case why != "":
		rows = append(rows, look.Wrapped(screen.Prose(2, screen.T("  "+why)))...)
	}
	return rows
}

// matchOption is the option that a person typed: its number, its text, or a start of exactly one. For none it is -1, and why.
func matchOption(line string, options []string) (found int, why string) {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return n - 1, ""
	}
	found = -1
	for i, o := range options {
		switch {
		case strings.EqualFold(o, line):
			return i, ""
		case line != "" && len(line) <= len(o) && strings.EqualFold(o[:len(line)], line):
			if found >= 0 {
				return -1, fmt.Sprintf("%q begins more than one of them: type more, or a number from 1 to %d", line, len(options))
			}
			found = i
		}
	}
	switch {
	case found >= 0:
	case line == "":
		why = fmt.Sprintf("type a number from 1 to %d", len(options))
	default:
		why = fmt.Sprintf("%q is not one of them: type a number from 1 to %d", diag.Clip(line, 40), len(options))
	}
	return found, why
}
