package stage

import (
	"syscall"
	"unsafe"
)

// Numbers of the calls and flags that make mounts from descriptors. Landlock is younger than all of them.
const (
	sysOpenTree     = 428
	sysMoveMount    = 429
	sysOpenat2      = 437
	sysMountSetattr = 442

	atFDCWD         = -100
	atEmptyPath     = 0x1000
	atRecursive     = 0x8000
	oPath           = 0x200000
	resolveNoLinks  = 0x04
	openTreeClone   = 1
	moveFromEmpty   = 0x04
	moveToEmpty     = 0x40
	mountAttrRdonly = 1
)

// pin mounts what is at p.Path onto itself. The kernel then refuses to rename, replace or remove it, in this namespace
// alone. The path is looked up once and without following links, so that what changes meanwhile is an error and not
// another file.
func pin(p Pin) syscall.Errno {
	path, err := syscall.BytePtrFromString(p.Path)
	if err != nil {
		return syscall.EINVAL
	}
	empty := new(byte)
	how := struct{ flags, mode, resolve uint64 }{oPath | syscall.O_NOFOLLOW | syscall.O_CLOEXEC, 0, resolveNoLinks}
	at := atFDCWD
	place, _, e := syscall.Syscall6(sysOpenat2, uintptr(at), uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return e
	}
	defer syscall.Close(int(place))
	tree, _, e := syscall.Syscall(sysOpenTree, place, uintptr(unsafe.Pointer(empty)), openTreeClone|syscall.O_CLOEXEC|atEmptyPath|atRecursive)
	if e != 0 {
		return e
	}
	defer syscall.Close(int(tree))
	if p.Kind == Seal {
		attr := struct{ set, clear, propagation, userns uint64 }{set: mountAttrRdonly}
		if _, _, e := syscall.Syscall6(sysMountSetattr, tree, uintptr(unsafe.Pointer(empty)), atEmptyPath|atRecursive,
			uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0); e != 0 {
			return e
		}
	}
	_, _, e = syscall.Syscall6(sysMoveMount, tree, uintptr(unsafe.Pointer(empty)), place, uintptr(unsafe.Pointer(empty)),
		moveFromEmpty|moveToEmpty, 0)
	return e
}
