package within

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"
)

// A junction leads to its directory, also after it was moved; where none can be made nothing is left.
func TestJunction(t *testing.T) {
	top := t.TempDir()
	d, err := Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	target, path, moved := filepath.Join(top, "target"), filepath.Join(top, "stage"), filepath.Join(top, "final")
	if err := errors.Join(os.Mkdir(target, 0o700), os.WriteFile(filepath.Join(target, "file"), []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := d.Junction(`..\target`, path); err == nil {
		t.Error("a relative target was taken")
	}
	if err := d.Junction(target, path); err != nil {
		if _, err := os.Lstat(path); err == nil {
			t.Error("what could not be made is left")
		}
		if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
			t.Skipf("wine: %v", err)
		}
		t.Fatal(err)
	}
	if err := d.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(moved, "file")); err != nil || string(got) != "x" {
		t.Errorf("through the junction: %q, %v", got, err)
	}
	if err := d.Junction(target, moved); !errors.Is(err, os.ErrExist) {
		t.Errorf("over another: %v", err)
	}
	if err := d.Remove(moved); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(target, "file")); err != nil {
		t.Error("removing the junction removed what it leads to")
	}
}
