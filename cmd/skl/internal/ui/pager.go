package ui

import (
	"errors"
	"os"
	"os/exec"
	"strings"
)

// pagerOf is the program that long results are read with: SKL_PAGER, PAGER, or less where it is there. It is nil for none,
// which is also what "cat" and an empty SKL_PAGER mean. The words are those of the variable, without a shell.
func pagerOf(getenv func(string) string, look func(string) (string, error)) []string {
	text := getenv("SKL_PAGER")
	if text == "" {
		text = getenv("PAGER")
	}
	if text == "" {
		if _, err := look("less"); err != nil {
			return nil
		}
		text = "less"
	}
	words := strings.Fields(text)
	if len(words) == 0 || words[0] == "cat" {
		return nil
	}
	return words
}

// Paged writes a result as Page does; one that is higher than the terminal goes through the pager, where a person can be
// asked. A pager that does not start is as good as none.
func (u *UI) Paged(text Painted) {
	_, height := u.size(u.Out)
	var out *os.File // a pager has to see the terminal itself
	if f, ok := u.Out.(interface{ File() *os.File }); ok {
		out = f.File()
	}
	if !u.Screen || !u.Terminal || u.Still || out == nil || len(u.Pager) == 0 || strings.Count(string(text), "\n") < height {
		u.Page(text)
		return
	}
	u.clear()
	cmd := exec.Command(u.Pager[0], u.Pager[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(string(text)), out, u.Err
	cmd.Env = os.Environ()
	if os.Getenv("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX")
	}
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) && !strings.Contains(err.Error(), "broken pipe") {
		u.Page(text)
	}
}
