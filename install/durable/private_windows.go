package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Narrow does nothing: what lies in a profile is the user's own. Files of secrets have rights of their own wherever they are.
func Narrow(string) error { return nil }

// Owned reports that what was found is this user's: rights of files are what protects it.
func Owned(os.FileInfo) bool { return true }

// keepPrivate gives the rights to f to this user, the system and administrators alone. A disk without rights stays as it is.
func keepPrivate(f *os.File) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return err
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;;FA;;;" + user.User.Sid.String() + ")(A;;FA;;;SY)(A;;FA;;;BA)")
	if err != nil {
		return err
	}
	dacl, _, err := sd.DACL()
	if err != nil {
		return err
	}
	path := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetFinalPathNameByHandle(windows.Handle(f.Fd()), &path[0], uint32(len(path)), 0)
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(windows.UTF16ToString(path[:n]), windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	if errors.Is(err, windows.ERROR_NOT_SUPPORTED) || errors.Is(err, windows.ERROR_INVALID_FUNCTION) || errors.Is(err, windows.ERROR_NO_SECURITY_ON_OBJECT) {
		return nil
	}
	return err
}
