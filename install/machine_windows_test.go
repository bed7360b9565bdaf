package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// The administrator's directory is below the ProgramData of the system, never in \etc of the drive that happens to be current.
func TestMachine(t *testing.T) {
	t.Setenv("ProgramData", t.TempDir()) // the user's variables move nothing
	dir, _, err := machine()
	if err != nil || !filepath.IsAbs(dir) || filepath.Base(dir) != "skl" || strings.HasPrefix(dir, os.TempDir()) || strings.Contains(dir, `\etc\`) {
		t.Errorf("%s, %v", dir, err)
	}
}

// Others than administrators must neither own it nor be able to write to it.
func TestWriters(t *testing.T) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		t.Fatal(err)
	}
	for sddl, want := range map[string]string{
		machineRights: "",
		"O:SYD:P(A;OICI;FA;;;BA)(A;OICIIO;FA;;;CO)":       "",
		"O:BAD:P(A;;FA;;;BA)(D;;FA;;;WD)":                 "",
		"O:BAD:P(A;;FA;;;BA)(A;;FRFW;;;BU)":               "can write to",
		"O:BAD:P(A;;FA;;;BA)(A;OICIIO;0x2;;;WD)":          "can write to", // to what is made in it
		"O:BAD:P(A;;FA;;;BA)(A;;WO;;;BU)":                 "can write to",
		"O:BUD:P(A;;FA;;;BA)":                             "not an administrator",
		"O:" + user.User.Sid.String() + "D:P(A;;FA;;;BA)": "not an administrator",
	} {
		sd, err := windows.SecurityDescriptorFromString(sddl)
		if err != nil {
			t.Fatalf("%s: %v", sddl, err)
		}
		if got := writersIn("DIR", sd); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", sddl, got, want)
		}
	}
	if got := writers(t.TempDir()); got == "" {
		t.Error("a user's own directory could be the administrator's")
	}
}

func TestMakeMachine(t *testing.T) {
	if windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil {
		t.Skip("wine keeps no owners")
	}
	dir := filepath.Join(t.TempDir(), "skl")
	if err := makeMachine(dir); err != nil {
		t.Skipf("only administrators can give it away: %v", err)
	}
	if got := writers(dir); got != "" {
		t.Error(got)
	}
	if err := makeMachine(dir); err != nil {
		t.Error(err)
	}
}
