package sandbox

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/spec/diag"
)

// Landlock rights. A right that a kernel does not know is left out of both sides: see handled.
const (
	rightsFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	rightsRead  = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	rightsWrite = rightsRead | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_MAKE_DIR |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	rightsDevice = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	rightsProc   = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
)

// readable is what every program may read: enough to start it, and nothing that is anybody's secret. /etc/ssl/private
// is why /etc/ssl is not here as a whole.
func readable() []string {
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
		"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/passwd", "/etc/group", "/etc/hosts",
		"/etc/host.conf", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/localtime", "/etc/timezone", "/etc/alternatives",
		"/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/pki/tls/certs", "/etc/pki/ca-trust/extracted",
		"/etc/ca-certificates", "/etc/mime.types", "/etc/protocols", "/etc/services", "/etc/os-release",
		"/etc/debian_version", "/etc/locale.alias", "/etc/terminfo", "/etc/inputrc",
		"/sys/devices/system/cpu",
	}
}

func landlockVersion() int {
	v, _, err := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if err != 0 {
		return 0
	}
	return int(v)
}

// handled are the rights on files that a kernel of this version can take away, and so does.
func handled(version int) uint64 {
	all := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	for _, later := range []struct {
		version int
		right   uint64
	}{
		{2, unix.LANDLOCK_ACCESS_FS_REFER}, {3, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{5, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV}, {9, unix.LANDLOCK_ACCESS_FS_RESOLVE_UNIX},
	} {
		if version >= later.version {
			all |= later.right
		}
	}
	return all
}

// ruleset makes the Landlock ruleset of j and opens every path of it, so that what the rules mean is decided here, once.
// The caller closes it.
func ruleset(j *job, version int) (*os.File, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: handled(version)}
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
	}
	// A kernel refuses a longer structure than its own only where the rest is not zero.
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, diag.New(diag.Failed, "sandbox_start", "making a landlock ruleset: %w", errno)
	}
	rules := os.NewFile(fd, "landlock ruleset")
	write := append([]string{j.private}, j.Write...)
	read := append(readable(), j.Read...)
	if j.ReadOnly {
		read = append(read, j.Dir)
	} else {
		write = append(write, j.Dir)
	}
	for _, group := range []struct {
		paths  []string
		rights uint64
		must   bool
	}{
		{read, rightsRead, false}, {write, rightsWrite, true},
		{[]string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"}, rightsDevice, false},
	} {
		for _, path := range group.paths {
			err := addRule(rules, path, group.rights&attr.Handled_access_fs)
			if err != nil && (group.must || !isAbsent(err)) {
				rules.Close()
				return nil, diag.New(diag.Failed, "sandbox_start", "opening %s for the sandbox: %w", path, err)
			}
		}
	}
	return rules, nil
}

// isAbsent covers what the caller could not read either.
func isAbsent(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ELOOP)
}

func addRule(rules *os.File, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= rightsFile // the kernel refuses rules about the entries of a file
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, rules.Fd(), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
