package install

import (
	"os"

	"golang.org/x/sys/windows"
)

// ownerOf returns who owns path, and whether that is this user or the administrators, to
// whom Windows gives what an elevated process makes.
func ownerOf(path string) (owner string, mine bool, err error) {
	if _, err := os.Lstat(path); err != nil {
		return "", false, err
	}
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", false, err
	}
	sid, _, err := sd.Owner()
	if err != nil {
		return "", false, err
	}
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", false, err
	}
	return sid.String(), sid.Equals(user.User.Sid) || sid.IsWellKnown(windows.WinBuiltinAdministratorsSid), nil
}
