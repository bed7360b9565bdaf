package ui

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/spec/diag"
)

// Secret asks for a token or passphrase, which is not shown while it is typed.
func (u *UI) Secret(question string) (string, error) {
	f, ok := u.In.(*os.File)
	if !ok || !u.CanAsk() {
		return "", ask.ErrNobody
	}
	u.clear()
	fmt.Fprintf(u.Err, "? %s: ", diag.Printable(question))
	defer fmt.Fprintln(u.Err)
	before, err := term.GetState(int(f.Fd()))
	if err != nil {
		return "", ask.ErrNobody
	}
	type answer struct {
		text []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() { // ends with the process if nobody answers
		text, err := term.ReadPassword(int(f.Fd()))
		got <- answer{text, err}
	}()
	select {
	case <-u.Interrupt:
		term.Restore(int(f.Fd()), before)
		return "", context.Canceled
	case a := <-got:
		if a.err != nil {
			return "", a.err
		}
		return strings.TrimSpace(string(a.text)), nil
	}
}
