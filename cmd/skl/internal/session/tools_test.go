package session

import (
	"testing"

	"github.com/skl-project/skl/runtime/sandbox"
)

// Strict is the best confinement there is, and nothing less.
func TestSandboxFloor(t *testing.T) {
	for how, want := range map[string]sandbox.Tier{"auto": sandbox.None, "off": sandbox.None, "strict": sandbox.Tier1} {
		if got, err := sandboxFloor(how); err != nil || got != want {
			t.Errorf("%s: %v, %v", how, got, err)
		}
	}
	if _, err := sandboxFloor("perhaps"); err == nil {
		t.Error("perhaps is taken")
	}
}
