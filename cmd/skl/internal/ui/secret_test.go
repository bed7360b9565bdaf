package ui

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
)

// A secret is not read from what is no terminal, where it would have been echoed or logged.
func TestSecretNeedsTerminal(t *testing.T) {
	for _, u := range []*UI{{}, {Terminal: true}, {Terminal: true, JSON: true}} {
		var out bytes.Buffer
		u.In, u.Out, u.Err = strings.NewReader("secret\n"), &out, &out
		if text, err := u.Secret("token"); text != "" || !errors.Is(err, ask.ErrNobody) || out.Len() > 0 {
			t.Errorf("%+v: %q, %v, prints %q", u, text, err, &out)
		}
	}
}
