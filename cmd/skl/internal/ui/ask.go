package ui

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// CanAsk reports whether questions can be put to a person.
func (u *UI) CanAsk() bool { return u.Terminal && !u.JSON }

// Confirm asks a yes-or-no question that is not a mere choice, so that --yes does not answer it. Enter is no, and a key that
// was pressed before the question was there is no answer.
func (u *UI) Confirm(question string) (bool, error) {
	if !u.CanAsk() {
		return false, ask.ErrNobody
	}
	if k := u.keys(); k != nil {
		if err := u.forget(k); err != nil {
			return false, ask.ErrNobody
		}
		letter, err := u.Letters(question, []ask.Letter{{Key: "y", Word: "yes"}, {Key: "n", Word: "no"}}, "n")
		return letter == "y", err
	}
	u.clear()
	fmt.Fprintf(u.Err, "%s %s [y/N] ", u.errLook().Sign(screen.Ask), diag.Printable(question))
	line, err := u.readLine()
	if err != nil {
		return false, err
	}
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), nil
}

// Letters asks a question that one letter answers, without Enter; Enter takes the usual one, if there is one, and escape is n, or
// leaves where there is no n. Where nothing may move, the answer is a line.
func (u *UI) Letters(question string, letters []ask.Letter, usual string) (string, error) {
	if !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	var choices []string
	for _, l := range letters {
		key := l.Key
		if key == usual {
			key = strings.ToUpper(key)
		}
		choices = append(choices, "["+key+"]"+l.Word[len(l.Key):])
	}
	look := u.errLook()
	line := screen.Prose(2, look.Mark(screen.Ask), screen.T(" "+question+"  "), screen.Span{Style: screen.Cyan, Text: strings.Join(choices, "  ")})
	k := u.keys()
	if k == nil {
		return u.lettersByLine(strings.TrimSuffix(look.Lines(line), "\n"), letters, usual)
	}
	answer := ""
	err := u.eachKey(k, func(look screen.Look, _ int) []screen.Line { return look.Wrapped(line) }, func(k key) outcome {
		switch {
		case k.kind == keyStop:
			return stopped
		case k.kind == keyPause:
			return paused
		case k.kind == keyEnter:
			answer = usual
		case k.kind == keyEscape: // a no, and never a yes
			if slices.ContainsFunc(letters, func(l ask.Letter) bool { return l.Key == "n" }) {
				answer = "n"
				break
			}
			return left
		case k.kind == keyChar:
			for _, l := range letters {
				if strings.EqualFold(l.Key, k.char) {
					answer = l.Key
				}
			}
		}
		if answer == "" {
			return goesOn
		}
		return accepted
	}, nil)
	line.Left = append(line.Left, screen.Span{Style: screen.Bold, Text: "  " + answer})
	u.Show(u.errLook().Lines(line))
	return answer, err
}

// lettersByLine is Letters where an answer is a line.
func (u *UI) lettersByLine(question string, letters []ask.Letter, usual string) (string, error) {
	for {
		io.WriteString(u.Err, question+" ")
		line, err := u.readLine()
		if err != nil {
			return "", err
		}
		for _, l := range letters {
			if strings.EqualFold(line, l.Key) || strings.EqualFold(line, l.Word) {
				return l.Key, nil
			}
		}
		if usual != "" {
			return usual, nil // what is not understood is not a yes
		}
	}
}

// Say asks for one line in a person's own words; empty is none.
func (u *UI) Say(question string) (string, error) {
	if !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	fmt.Fprint(u.Err, "? "+diag.Printable(question)+" > ")
	return u.readLine()
}

// Talk shows what a model says to the person, line by line, and gives what they say to it: one line, empty to end.
func (u *UI) Talk(words string) (string, error) {
	if !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	for line := range strings.Lines(strings.TrimRight(words, "\n") + "\n") {
		fmt.Fprintln(u.Err, diag.Printable(strings.TrimRight(line, "\r\n")))
	}
	fmt.Fprint(u.Err, "(an empty line ends) > ")
	return u.readLine()
}

// Line waits for a line that a person types; its error is io.EOF when there will be none.
func (u *UI) Line(ctx context.Context) (string, error) {
	if !u.CanAsk() {
		return "", io.EOF
	}
	line, err := u.readLine()
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case errors.Is(err, ask.ErrNobody):
		return "", io.EOF
	}
	return line, err
}

// Show writes text for the person beside the result. It must be printable already, line by line.
func (u *UI) Show(text string) {
	u.clear()
	io.WriteString(u.Err, u.Typed.Steps(text))
}

// Choose asks which of several options are wanted and returns their indexes, in ascending order. On a terminal it is a
// picker; where nothing may move, numbers. --yes takes the defaults.
func (u *UI) Choose(c ask.Choice) ([]int, error) {
	var chosen []int
	for i, o := range c.Options {
		if o.Default {
			chosen = append(chosen, i)
		}
	}
	if u.Yes && len(chosen) > 0 {
		return chosen, nil
	}
	if !u.CanAsk() || u.Yes { // who answers yes to all does not pick
		return nil, ask.ErrNobody
	}
	u.clear()
	k := u.keys()
	if k == nil {
		return u.chooseByNumber(c, chosen)
	}
	p := newPicker(c)
	if err := u.pick(k, p); err != nil {
		return nil, err
	}
	picked := p.picked()
	look := u.errLook()
	u.Show(look.Row(screen.L(look.Mark(screen.Ask), screen.T(" "+c.Question+"  "), screen.Span{Style: screen.Cyan, Text: p.summary()}), look.Width-1) + "\n")
	u.same(c, picked)
	return picked, nil
}

// pick lets a person choose. What previews say and show of their progress waits until it ends.
func (u *UI) pick(k keyboard, p *picker) error {
	v := newPreviewer(p, previewLimit)
	u.mute(true)
	defer u.mute(false)
	defer v.end()
	return u.eachKey(k, p.view, p.press, v.turn)
}

// same tells the command line that chooses the same.
func (u *UI) same(c ask.Choice, picked []int) {
	if c.Same == nil || u.Quiet {
		return
	}
	if line := c.Same(picked); line != "" {
		u.tell("same as:", dim, diag.Printable(line))
	}
}

// numbersShown is how many options a numbered question lists at a time.
const numbersShown = 20

// chooseByNumber asks for numbers, ranges (2-5), labels or "all", separated by spaces or commas. Of many options it first
// asks for a word to filter by. An empty answer takes the defaults.
func (u *UI) chooseByNumber(c ask.Choice, chosen []int) ([]int, error) {
	p := newPicker(c)
	look := u.errLook()
	u.Show(look.Lines(screen.Prose(2, look.Mark(screen.Ask), screen.T(" "+c.Question))))
	if len(c.Options) > numbersShown {
		fmt.Fprintf(u.Err, "  a word to filter by, or Enter for the first %d of %d: ", numbersShown, len(c.Options))
		word, err := u.readLine()
		if err != nil {
			return nil, err
		}
		p.setFilter(word)
	}
	u.showNumbers(p)
	for {
		fmt.Fprintf(u.Err, "  numbers, names or \"all\"%s: ", map[bool]string{true: "; Enter takes [x]"}[len(chosen) > 0])
		line, err := u.readLine()
		if err != nil {
			return nil, err
		}
		if line == "" && len(chosen) > 0 {
			return chosen, nil
		}
		picked, err := parseChoice(line, c.Options)
		if err == nil && len(picked) > 0 {
			u.same(c, picked)
			return picked, nil
		}
		if err == nil {
			continue
		}
		if p.setFilter(line); len(c.Options) > numbersShown && len(p.matches) > 0 {
			u.showNumbers(p)
			continue
		}
		u.Show("  " + diag.Printable(err.Error()) + "\n")
	}
}

// showNumbers lists what matches, by number.
func (u *UI) showNumbers(p *picker) {
	look := u.errLook()
	width := 0
	shown := p.matches[:min(len(p.matches), numbersShown)]
	for _, i := range shown {
		width = max(width, screen.Width(diag.Printable(p.options[i].Shown())))
	}
	for _, i := range shown {
		mark := " "
		if p.chosen[i] {
			mark = "x"
		}
		name := diag.Printable(p.options[i].Shown())
		name += strings.Repeat(" ", width-screen.Width(name))
		u.Show(look.Lines(screen.L(screen.T(fmt.Sprintf("  %2d [%s] %s  ", i+1, mark, name)), screen.T(strings.TrimSpace(p.options[i].Where+"  "+p.options[i].Detail)))))
	}
	if more := len(p.matches) - len(shown); more > 0 {
		u.Show(fmt.Sprintf("  %d more; another word narrows\n", more))
	}
}

func parseChoice(line string, options []ask.Option) ([]int, error) {
	var picked []int
	add := func(i int) {
		if !slices.Contains(picked, i) {
			picked = append(picked, i)
		}
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ',' }) {
		if word == "all" {
			for i := range options {
				add(i)
			}
			continue
		}
		if i := slices.IndexFunc(options, func(o ask.Option) bool { return o.Label == word }); i >= 0 {
			add(i)
			continue
		}
		from, to, isRange := strings.Cut(word, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.Atoi(from)
		b, errB := strconv.Atoi(to)
		if errA != nil || errB != nil || a < 1 || b > len(options) || a > b {
			return nil, fmt.Errorf("%q is not one of the numbers 1 to %d", word, len(options))
		}
		for i := a; i <= b; i++ {
			add(i - 1)
		}
	}
	slices.Sort(picked)
	return picked, nil
}

// readLine waits for a line, or for the interrupt.
func (u *UI) readLine() (string, error) {
	if u.lines == nil {
		u.lines = bufio.NewReader(io.LimitReader(u.In, 1<<20))
	}
	if len(u.ahead) > 0 {
		u.lines = bufio.NewReader(io.MultiReader(bytes.NewReader(u.ahead), u.lines))
		u.ahead = nil
	}
	type answer struct {
		line string
		err  error
	}
	got := make(chan answer, 1)
	go func() { // ends with the process if nobody answers
		line, err := u.lines.ReadString('\n')
		got <- answer{line, err}
	}()
	select {
	case <-u.Interrupt:
		fmt.Fprintln(u.Err)
		return "", context.Canceled
	case a := <-got:
		if a.err != nil && a.line == "" {
			fmt.Fprintln(u.Err) // behind the question, which has no answer
			return "", ask.ErrNobody
		}
		return strings.TrimSpace(a.line), nil
	}
}
