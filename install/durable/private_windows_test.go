package durable

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// A file of secrets grants rights to its user, the system and administrators, and inherits none.
func TestPrivateFiles(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("wine has modes instead of rights")
	}
	path := filepath.Join(t.TempDir(), "key")
	if err := WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "secret" {
		t.Fatalf("%q, %v", got, err)
	}
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	for _, everybody := range []string{";;;WD)", ";;;BU)", ";;;AU)"} {
		if strings.Contains(sd.String(), everybody) {
			t.Errorf("rights %s", sd)
		}
	}
}
