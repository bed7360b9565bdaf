package within

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Junction makes path a junction to the directory target, an absolute path on a disk of this machine. It needs no
// privilege, and means the same wherever it is moved. What cannot be made leaves nothing behind.
func (d *Dir) Junction(target, path string) error {
	if !filepath.IsAbs(target) || len(filepath.VolumeName(target)) != 2 {
		return &os.LinkError{Op: "junction", Old: target, New: path, Err: errors.ErrUnsupported}
	}
	return d.do(path, func(o ops, name string) error {
		parent, err := openDir(o, filepath.Dir(name))
		if err != nil {
			return err
		}
		defer parent.Close()
		if err := junctionAt(parent, filepath.Base(name), target); err != nil {
			return &os.LinkError{Op: "junction", Old: target, New: path, Err: err}
		}
		if text, err := o.Readlink(name); err != nil || filepath.Clean(text) != filepath.Clean(target) {
			return &os.LinkError{Op: "junction", Old: target, New: path, Err: errors.Join(errors.ErrUnsupported, err, o.Remove(name))}
		}
		return nil
	})
}

// junctionAt makes the new directory name in parent, and a junction of it while it is open, so that nobody puts
// another thing in its place.
func junctionAt(parent *os.File, name, target string) error {
	text, err := windows.NewNTUnicodeString(name)
	if err != nil {
		return err
	}
	attributes := &windows.OBJECT_ATTRIBUTES{RootDirectory: windows.Handle(parent.Fd()), ObjectName: text}
	attributes.Length = uint32(unsafe.Sizeof(*attributes))
	var h windows.Handle
	err = windows.NtCreateFile(&h, windows.FILE_WRITE_ATTRIBUTES|windows.DELETE|windows.SYNCHRONIZE, attributes, new(windows.IO_STATUS_BLOCK), nil,
		windows.FILE_ATTRIBUTE_NORMAL, 0, windows.FILE_CREATE,
		windows.FILE_DIRECTORY_FILE|windows.FILE_OPEN_REPARSE_POINT|windows.FILE_OPEN_FOR_BACKUP_INTENT|windows.FILE_SYNCHRONOUS_IO_NONALERT, 0, 0)
	if errors.Is(err, windows.STATUS_OBJECT_NAME_COLLISION) {
		return fs.ErrExist
	}
	if err != nil {
		return err
	}
	defer windows.CloseHandle(h)
	data := mountPoint(target)
	var n uint32
	if err := windows.DeviceIoControl(h, windows.FSCTL_SET_REPARSE_POINT, &data[0], uint32(len(data)), nil, 0, &n, nil); err != nil {
		gone := byte(1)
		windows.SetFileInformationByHandle(h, windows.FileDispositionInfo, &gone, 1)
		return err
	}
	return nil
}

// mountPoint is a REPARSE_DATA_BUFFER of a junction to target.
func mountPoint(target string) []byte {
	substitute, shown := utf16.Encode([]rune(`\??\`+target)), utf16.Encode([]rune(target))
	le := binary.LittleEndian
	names := le.AppendUint16(nil, 0)                            // where the substitute name begins, in bytes
	names = le.AppendUint16(names, uint16(2*len(substitute)))   // its length
	names = le.AppendUint16(names, uint16(2*len(substitute)+2)) // where the shown name begins
	names = le.AppendUint16(names, uint16(2*len(shown)))        // its length
	for _, name := range [][]uint16{substitute, shown} {
		for _, unit := range name {
			names = le.AppendUint16(names, unit)
		}
		names = le.AppendUint16(names, 0)
	}
	b := le.AppendUint32(nil, windows.IO_REPARSE_TAG_MOUNT_POINT)
	b = le.AppendUint16(b, uint16(len(names)))
	b = le.AppendUint16(b, 0)
	return append(b, names...)
}
