package source

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

type taken []string

func (s *taken) File(p string, _ bool, _ int64, _ io.Reader) error { *s = append(*s, p); return nil }
func (s *taken) Link(p, _ string) error                            { *s = append(*s, p); return nil }

func TestCanceling(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var got taken
	sink := Canceling(ctx, &got)
	if err := sink.File("a", false, 0, strings.NewReader("")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := sink.File("b", false, 0, strings.NewReader("")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
	if len(got) != 1 || got[0] != "a" {
		t.Errorf("it took %q", got)
	}
}
