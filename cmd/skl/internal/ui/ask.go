package ui

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/spec/diag"
)

// CanAsk reports whether questions can be put to a person.
func (u *UI) CanAsk() bool { return u.Terminal && !u.JSON }

// Confirm asks a yes-or-no question that is not a mere choice, so that --yes does
// not answer it.
func (u *UI) Confirm(question string) (bool, error) {
	if !u.CanAsk() {
		return false, ask.ErrNobody
	}
	u.clear()
	fmt.Fprintf(u.Err, "? %s [y/N] ", diag.Printable(question))
	line, err := u.readLine()
	if err != nil {
		return false, err
	}
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), nil
}

// Answer asks a question that only the person can answer, so that --yes does not: one of options, by its number, its text
// or the start of it, or any line when there are none.
func (u *UI) Answer(question string, options []string) (string, error) {
	if !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	fmt.Fprintf(u.Err, "? %s\n", diag.Printable(question))
	for i, o := range options {
		fmt.Fprintf(u.Err, "  %2d %s\n", i+1, diag.Printable(o))
	}
	for {
		fmt.Fprint(u.Err, "> ")
		line, err := u.readLine()
		if err != nil {
			return "", err
		}
		if len(options) == 0 && line != "" {
			return line, nil
		}
		if i := matchOption(line, options); i >= 0 {
			return options[i], nil
		}
	}
}

// matchOption is the option that a person typed: its number, its text, or a start of exactly one; -1 for none.
func matchOption(line string, options []string) int {
	if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(options) {
		return n - 1
	}
	found := -1
	for i, o := range options {
		switch {
		case strings.EqualFold(o, line):
			return i
		case line != "" && len(line) <= len(o) && strings.EqualFold(o[:len(line)], line):
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
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
	io.WriteString(u.Err, text)
}

// Choose asks which of several options are wanted and returns their indexes.
// An empty answer takes the defaults, as does --yes. Answers are numbers, ranges
// (2-5), "all" or labels, separated by spaces or commas.
func (u *UI) Choose(question string, options []ask.Option) ([]int, error) {
	var chosen []int
	for i, o := range options {
		if o.Default {
			chosen = append(chosen, i)
		}
	}
	if u.Yes && len(chosen) > 0 {
		return chosen, nil
	}
	if !u.CanAsk() {
		return nil, ask.ErrNobody
	}
	u.clear()
	u.showOptions(question, options)
	for {
		fmt.Fprintf(u.Err, "  numbers, names or \"all\"%s: ", map[bool]string{true: "; Enter takes [x]"}[len(chosen) > 0])
		line, err := u.readLine()
		if err != nil {
			return nil, err
		}
		if line == "" && len(chosen) > 0 {
			return chosen, nil
		}
		picked, err := parseChoice(line, options)
		if err == nil && len(picked) > 0 {
			return picked, nil
		}
		if err != nil {
			fmt.Fprintf(u.Err, "  %s\n", diag.Printable(err.Error()))
		}
	}
}

func (u *UI) showOptions(question string, options []ask.Option) {
	width := 0
	for _, o := range options {
		width = max(width, utf8.RuneCountInString(diag.Printable(o.Label)))
	}
	fmt.Fprintf(u.Err, "? %s\n", diag.Printable(question))
	for i, o := range options {
		mark := " "
		if o.Default {
			mark = "x"
		}
		fmt.Fprintf(u.Err, "  %2d [%s] %-*s  %s\n", i+1, mark, width, diag.Printable(o.Label), diag.Printable(o.Detail))
	}
}

func parseChoice(line string, options []ask.Option) ([]int, error) {
	var picked []int
	add := func(i int) {
		if !slices.Contains(picked, i) {
			picked = append(picked, i)
		}
	}
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return r == ' ' || r == ',' }) {
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
			return "", ask.ErrNobody
		}
		return strings.TrimSpace(a.line), nil
	}
}
