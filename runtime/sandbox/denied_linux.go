//go:build amd64 || arm64

package sandbox

import "golang.org/x/sys/unix"

// here is the processor that this binary was built for.
func here() (processor, bool) {
	return processor{
		arch: auditArch, x32: hasX32,
		clone: unix.SYS_CLONE, clone3: unix.SYS_CLONE3, ioctl: unix.SYS_IOCTL,
		socket: unix.SYS_SOCKET, socketpair: unix.SYS_SOCKETPAIR,
		openat2: unix.SYS_OPENAT2,
		modes: append([]modeArg{
			{unix.SYS_FCHMOD, 1, 0}, {unix.SYS_FCHMODAT, 2, 0}, {unix.SYS_FCHMODAT2, 2, 0}, {unix.SYS_OPENAT, 3, 2},
			{unix.SYS_MKNODAT, 2, 0}, {unix.SYS_MKDIRAT, 2, 0},
		}, modesHere()...),
		denied: append([]uint32{
			// other processes
			unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE,
			unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_MOVE_PAGES, unix.SYS_MIGRATE_PAGES,
			// large parts of the kernel that scripts do not need
			unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
			unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
			unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
			unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
			// namespaces and mounts
			unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_CHROOT, unix.SYS_PIVOT_ROOT,
			unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT,
			unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR,
			// files by a handle, which no path rule can judge
			unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_OPEN_BY_HANDLE_AT,
			// the machine
			unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE,
			unix.SYS_DELETE_MODULE, unix.SYS_REBOOT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL,
			unix.SYS_QUOTACTL_FD, unix.SYS_SYSLOG, unix.SYS_VHANGUP, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
			unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
		}, deniedHere()...),
	}, true
}
