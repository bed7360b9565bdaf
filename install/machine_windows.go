package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/windows"
)

func machine() (dir, problem string, err error) {
	base, err := windows.KnownFolderPath(windows.FOLDERID_ProgramData, windows.KF_FLAG_DONT_VERIFY)
	if err != nil {
		return "", "", fmt.Errorf("finding %%ProgramData%%: %w", err)
	}
	dir = filepath.Join(base, "skl")
	for _, name := range []string{".", "config.toml", "skl.toml", "skl.lock", "skills", "enforced", `enforced\skills`} {
		path := filepath.Join(dir, name)
		info, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		switch {
		case err != nil:
			problem = err.Error()
		case !info.IsDir() && !info.Mode().IsRegular():
			problem = path + " leads elsewhere"
		default:
			problem = writers(path)
		}
		if problem != "" {
			break
		}
	}
	return dir, problem, nil
}

// changes are the rights to change a file, a directory or what is in it.
const changes = windows.FILE_WRITE_DATA | windows.FILE_APPEND_DATA | windows.FILE_WRITE_EA | windows.FILE_WRITE_ATTRIBUTES |
	fileDeleteChild | windows.DELETE | windows.WRITE_DAC | windows.WRITE_OWNER | windows.GENERIC_WRITE | windows.GENERIC_ALL

const fileDeleteChild = 0x40

// writers says who other than administrators owns path or can change it, "" if nobody.
func writers(path string) string {
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return fmt.Sprintf("the owner of %s cannot be read: %v", path, err)
	}
	return writersIn(path, sd)
}

// writersIn is writers for a path with this security descriptor.
func writersIn(path string, sd *windows.SECURITY_DESCRIPTOR) string {
	owner, _, err := sd.Owner()
	if err != nil || !administers(owner) {
		return fmt.Sprintf("%s belongs to %s, who is not an administrator", path, owner)
	}
	dacl, _, err := sd.DACL()
	if err != nil || dacl == nil {
		return "anyone can write to " + path
	}
	for i := range uint32(dacl.AceCount) {
		var ace *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(dacl, i, &ace); err != nil {
			return fmt.Sprintf("the rights to %s cannot be read: %v", path, err)
		}
		if ace.Header.AceType == windows.ACCESS_DENIED_ACE_TYPE || ace.Mask&changes == 0 {
			continue
		}
		if ace.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			return fmt.Sprintf("%s has rights of an unknown kind", path)
		}
		// CREATOR OWNER stands for whoever makes something, which only those with another right can.
		if sid := (*windows.SID)(unsafe.Pointer(&ace.SidStart)); !administers(sid) && !sid.IsWellKnown(windows.WinCreatorOwnerSid) {
			return fmt.Sprintf("%s can write to %s", sid, path)
		}
	}
	return ""
}

// trustedInstaller is the service that installs Windows itself.
const trustedInstaller = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

func administers(sid *windows.SID) bool {
	return sid != nil && (sid.IsWellKnown(windows.WinBuiltinAdministratorsSid) || sid.IsWellKnown(windows.WinLocalSystemSid) || sid.String() == trustedInstaller)
}

// machineRights: administrators and the system everything, users read and run; nothing is inherited from above.
const machineRights = "O:BAD:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;FRFX;;;BU)"

// makeMachine makes the directory with its rights, so that nobody has others for a moment.
func makeMachine(dir string) error {
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		return nil // Machine has looked at it
	}
	sd, err := windows.SecurityDescriptorFromString(machineRights)
	if err != nil {
		return err
	}
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	attributes := &windows.SecurityAttributes{Length: uint32(unsafe.Sizeof(windows.SecurityAttributes{})), SecurityDescriptor: sd}
	if err := windows.CreateDirectory(name, attributes); err != nil {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return nil
}
