package packed

import (
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, want := range []string{"", "a\n", strings.Repeat("{\"a\": 1}\n", 10_000)} {
		if got := Text(Pack([]byte(want)))(); got != want {
			t.Errorf("%d bytes, want %d", len(got), len(want))
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("half a text is no text")
		}
	}()
	whole := Pack([]byte("a text"))
	Text(whole[:len(whole)-4])()
}
