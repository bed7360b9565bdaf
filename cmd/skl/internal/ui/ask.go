package ui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// ErrNoTerminal is returned by questions that nobody can be asked.
var ErrNoTerminal = errors.New("nobody to ask: not a terminal")

// CanAsk reports whether questions can be put to a person.
func (u *UI) CanAsk() bool { return u.Terminal && !u.JSON }

// Confirm asks a yes-or-no question that is not a mere choice, so that --yes does
// not answer it.
func (u *UI) Confirm(question string) (bool, error) {
	if !u.CanAsk() {
		return false, ErrNoTerminal
	}
	u.clear()
	fmt.Fprintf(u.Err, "? %s [y/N] ", diag.Printable(question))
	line, err := u.readLine()
	if err != nil {
		return false, err
	}
	return strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"), nil
}

// An Option of a Choose question.
type Option struct {
	Label   string
	Detail  string
	Default bool
}

// Choose asks which of several options are wanted and returns their indexes.
// An empty answer takes the defaults, as does --yes. Answers are numbers, ranges
// (2-5), "all" or labels, separated by spaces or commas.
func (u *UI) Choose(question string, options []Option) ([]int, error) {
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
		return nil, ErrNoTerminal
	}
	u.clear()
	for {
		fmt.Fprintf(u.Err, "? %s\n", diag.Printable(question))
		for i, o := range options {
			mark := " "
			if o.Default {
				mark = "x"
			}
			fmt.Fprintf(u.Err, "  %2d [%s] %s  %s\n", i+1, mark, diag.Printable(o.Label), diag.Printable(o.Detail))
		}
		fmt.Fprintf(u.Err, "  numbers, names or \"all\"; Enter takes [x]: ")
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

func parseChoice(line string, options []Option) ([]int, error) {
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
		if i := slices.IndexFunc(options, func(o Option) bool { return o.Label == word }); i >= 0 {
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

func (u *UI) readLine() (string, error) {
	if u.lines == nil {
		u.lines = bufio.NewReader(io.LimitReader(u.In, 1<<20))
	}
	line, err := u.lines.ReadString('\n')
	if err != nil && line == "" {
		return "", ErrNoTerminal
	}
	return strings.TrimSpace(line), nil
}
