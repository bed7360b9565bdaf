package sandbox

import "golang.org/x/sys/unix"

const (
	auditArch = unix.AUDIT_ARCH_X86_64
	hasX32    = true
)

// deniedHere are calls that later processors never had.
func deniedHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS__SYSCTL,
		unix.SYS_SYSFS, unix.SYS_USTAT, unix.SYS_CREATE_MODULE, unix.SYS_QUERY_MODULE, unix.SYS_GET_KERNEL_SYMS}
}

func modesHere() []modeArg {
	return []modeArg{{unix.SYS_CHMOD, 1, 0}, {unix.SYS_OPEN, 2, 1}, {unix.SYS_CREAT, 1, 0}, {unix.SYS_MKNOD, 1, 0},
		{unix.SYS_MKDIR, 1, 0}}
}
