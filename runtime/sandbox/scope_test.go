package sandbox_test

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
)

// Nothing works where a person's own keys are, above that, or where skl keeps its own, by whatever name.
func TestCheckDir(t *testing.T) {
	top := t.TempDir()
	home := filepath.Join(top, "home", "a")
	config, state := filepath.Join(home, ".config", "skl"), filepath.Join(top, "state")
	for _, dir := range []string{filepath.Join(config, "x"), state, filepath.Join(home, "src", "app"), filepath.Join(home, ".ssh", "keys"), filepath.Join(top, "home", "b")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(top, "link")
	linked := os.Symlink(home, link) == nil
	for dir, why := range map[string]string{
		home: "your own keys", filepath.Join(top, "home"): "your own keys", top: "your own keys", "/": "your own keys", home + "/src/..": "your own keys",
		filepath.Join(home, ".config"): "holds what skl keeps", config: "holds what skl keeps", filepath.Join(config, "x"): "lies in what skl keeps", state: "holds what skl keeps",
		filepath.Join(state, "not", "there"): "lies in what skl keeps",
		filepath.Join(home, ".ssh"):          "for keys", filepath.Join(home, ".SSH", "keys"): "for keys",
		filepath.Join(home, "src"): "", filepath.Join(home, "src", "app"): "", filepath.Join(top, "home", "b"): "", filepath.Join(top, "home", "not there"): "",
	} {
		err := sandbox.CheckDir(dir, home, config, "", state)
		if why == "" && err == nil || why != "" && errors.Is(err, diag.Code(sandbox.CodeDir)) && strings.Contains(err.Error(), why) {
			continue
		}
		t.Errorf("%s: %v, want %q", dir, err, why)
	}
	if err := sandbox.CheckDir(link, home); linked && !errors.Is(err, diag.Code(sandbox.CodeDir)) {
		t.Errorf("by a link: %v", err)
	}
	if err := sandbox.CheckDir(home, link); linked && !errors.Is(err, diag.Code(sandbox.CodeDir)) {
		t.Errorf("a home that is a link: %v", err)
	}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && filepath.IsAbs(u.HomeDir) {
		if err := sandbox.CheckDir(u.HomeDir, home); !errors.Is(err, diag.Code(sandbox.CodeDir)) {
			t.Errorf("the home of the account, with another in HOME: %v", err)
		}
	}
	if err := sandbox.CheckDir(home, ""); err != nil {
		t.Errorf("without a home: %v", err)
	}
}
