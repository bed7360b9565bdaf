//go:build linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An escape is something that a confined program must not be able to do.
type escape struct {
	name    string
	needs   Tier // the least tier that prevents it; 0: every tier
	root    bool // works outside for user 0 only
	maybe   bool // may not work outside, for lack of a device or a kernel option
	lethal  bool // may end the program that tries
	signals bool // prevented by Landlock's scopes where there are no namespaces
	try     func(target) error
}

func escapes() []escape {
	list := append(fileEscapes(), networkEscapes()...)
	list = append(list, processEscapes()...)
	return append(list, kernelEscapes()...)
}

func read(path string) error {
	_, err := os.ReadFile(path)
	return err
}

func fileEscapes() []escape {
	return []escape{
		{name: "read a file outside", needs: Tier2, try: func(t target) error { return read(t.Secret) }},
		{name: "read a key", needs: Tier2, try: func(t target) error { return read(filepath.Join(t.Home, ".ssh/id_ed25519")) }},
		{name: "read skl's configuration", needs: Tier2, try: func(t target) error { return read(filepath.Join(t.Home, ".config/skl/config.toml")) }},
		{name: "read the password file", needs: Tier2, root: true, try: func(target) error { return read("/etc/shadow") }},
		{name: "list a home", needs: Tier2, try: func(t target) error { _, err := os.ReadDir(t.Home); return err }},
		{name: "list the root", needs: Tier2, try: func(target) error { _, err := os.ReadDir("/"); return err }},
		{name: "list root's home", needs: Tier2, root: true, try: func(target) error { _, err := os.ReadDir("/root"); return err }},
		{name: "write outside", needs: Tier2, try: func(t target) error { return os.WriteFile(filepath.Join(t.Outside, "new"), nil, 0o600) }},
		{name: "make a directory outside", needs: Tier2, try: func(t target) error { return os.Mkdir(filepath.Join(t.Outside, "dir"), 0o700) }},
		{name: "write below /tmp", needs: Tier2, try: func(t target) error {
			f, err := os.CreateTemp("/tmp", "skl-probe-") // nobody else has a file of that name
			if err != nil {
				return err
			}
			return errors.Join(f.Close(), os.Remove(f.Name()))
		}},
		{name: "empty a file outside", needs: Tier2, try: func(t target) error { return os.Truncate(t.Victim, 0) }},
		{name: "follow a symbolic link", needs: Tier2, try: func(t target) error {
			link := filepath.Join(t.Work, "link")
			if err := os.Symlink(t.Secret, link); err != nil {
				return err
			}
			return read(link)
		}},
		{name: "make a hard link", needs: Tier2, try: func(t target) error {
			if err := os.Link(t.Secret, filepath.Join(t.Work, "hard")); err != nil {
				return err
			}
			return read(filepath.Join(t.Work, "hard"))
		}},
		{name: "move a file out", needs: Tier2, try: func(t target) error {
			from := filepath.Join(t.Work, "mine")
			if err := os.WriteFile(from, nil, 0o600); err != nil {
				return err
			}
			return os.Rename(from, filepath.Join(t.Outside, "mine"))
		}},
		{name: "move a file in", needs: Tier2, try: func(t target) error {
			return os.Rename(t.Victim, filepath.Join(t.Work, "victim"))
		}},
		{name: "go through the stage's root", needs: Tier2, try: func(t target) error { return read(fmt.Sprintf("/proc/%d/root%s", os.Getppid(), t.Secret)) }},
		{name: "go through the parent's root", needs: Tier2, try: func(t target) error { return read(fmt.Sprintf("/proc/%d/root%s", t.Parent, t.Secret)) }},
		{name: "go through the stage's directory", needs: Tier2, try: func(target) error { _, err := os.ReadDir(fmt.Sprintf("/proc/%d/cwd", os.Getppid())); return err }},
		{name: "change the core pattern", needs: Tier2, root: true, try: func(target) error {
			f, err := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}},
		{name: "trigger a system request", needs: Tier2, root: true, maybe: true, try: func(target) error {
			f, err := os.OpenFile("/proc/sysrq-trigger", os.O_WRONLY, 0)
			if err == nil {
				f.Close()
			}
			return err
		}},
		{name: "open the kernel log", needs: Tier2, root: true, maybe: true, try: func(target) error { return open("/dev/kmsg") }},
		{name: "open the memory of the machine", needs: Tier2, root: true, maybe: true, try: func(target) error { return open("/dev/mem") }},
		{name: "open a terminal", needs: Tier2, maybe: true, try: func(target) error { return open("/dev/ptmx") }},
		{name: "open the terminal of the person", maybe: true, try: func(target) error { return open("/dev/tty") }},
		{name: "make a device", root: true, try: func(t target) error {
			return unix.Mknod(filepath.Join(t.Work, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 11)))
		}},
		{name: "make a setuid file", try: func(t target) error {
			path := filepath.Join(t.Work, "suid")
			if err := os.WriteFile(path, nil, 0o700); err != nil {
				return err
			}
			return unix.Chmod(path, 0o4755)
		}},
		{name: "create a setuid file", try: func(t target) error {
			_, err := unix.Open(filepath.Join(t.Work, "suid2"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
			return err
		}},
		{name: "use an inherited descriptor", maybe: true, try: func(t target) error {
			for fd := 3; fd < 512; fd++ {
				var stat unix.Stat_t
				if unix.Fstat(fd, &stat) == nil && stat.Ino == t.Inode {
					return nil
				}
			}
			return errors.New("there is none")
		}},
		{name: "write more than the limit", lethal: true, try: func(t target) error {
			f, err := os.Create(filepath.Join(t.Work, "large"))
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteAt([]byte("x"), defaultFileSize+1) // a hole: nothing is used up
			return err
		}},
	}
}

func open(path string) error {
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOCTTY, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func hello(network, address string) error {
	c, err := net.DialTimeout(network, address, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(10 * time.Second))
	if network == "udp" {
		if _, err := c.Write([]byte("hello")); err != nil {
			return err
		}
	}
	_, err = io.ReadFull(c, make([]byte, 5))
	return err
}

func socket(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind, protocol)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

func networkEscapes() []escape {
	return []escape{
		{name: "connect by TCP", try: func(t target) error { return hello("tcp", t.TCP) }},
		{name: "send by UDP", try: func(t target) error { return hello("udp", t.UDP) }},
		{name: "ask a name server", try: func(t target) error {
			r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				var d net.Dialer
				return d.DialContext(ctx, "udp", t.UDP)
			}}
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			_, err := r.LookupHost(ctx, "secret-in-a-name.example")
			if dns, ok := errors.AsType[*net.DNSError](err); ok && !strings.Contains(dns.Err, "dial") && !strings.Contains(dns.Err, "refused") && !dns.IsTimeout {
				return nil // the question left: the echo is a bad answer
			}
			return hello("udp", t.UDP)
		}},
		{name: "open a raw socket", root: true, try: func(target) error { return socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP) }},
		{name: "open a packet socket", root: true, maybe: true, try: func(target) error { return socket(unix.AF_PACKET, unix.SOCK_RAW, 0) }},
		{name: "open a netlink socket", try: func(target) error { return socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE) }},
		{name: "open a vsock socket", maybe: true, try: func(target) error { return socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0) }},
		{name: "open a key socket", maybe: true, root: true, try: func(target) error { return socket(unix.AF_KEY, unix.SOCK_RAW, 2) }},
		{name: "open a crypto socket", maybe: true, try: func(target) error { return socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0) }},
		{name: "connect to an abstract socket", try: func(t target) error { return hello("unix", t.Abstract) }},
		{name: "connect to a socket by path", try: func(t target) error { return hello("unix", t.Socket) }},
		{name: "point a socket pair elsewhere", try: func(t target) error {
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
			if err != nil {
				return err
			}
			defer unix.Close(pair[0])
			defer unix.Close(pair[1])
			return unix.Connect(pair[0], &unix.SockaddrUnix{Name: t.Datagram})
		}},
	}
}

func processEscapes() []escape {
	return []escape{
		{name: "signal the parent", needs: Tier2, signals: true, try: func(t target) error { return unix.Kill(t.Parent, 0) }},
		{name: "signal the parent's group", needs: Tier2, signals: true, try: func(t target) error { return unix.Kill(-t.Group, 0) }},
		{name: "signal the stage", needs: Tier2, signals: true, try: func(target) error { return unix.Kill(os.Getppid(), unix.SIGCONT) }},
		{name: "see the processes of the machine", needs: Tier2, try: func(t target) error {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", t.Parent))
			if err == nil && !strings.Contains(string(b), "-test.") {
				err = errors.New("that is another process")
			}
			return err
		}},
		{name: "read the parent's environment", needs: Tier2, try: func(t target) error { return read(fmt.Sprintf("/proc/%d/environ", t.Parent)) }},
		{name: "open the parent's memory", needs: Tier2, try: func(t target) error { return open(fmt.Sprintf("/proc/%d/mem", t.Parent)) }},
		{name: "open the stage's memory", needs: Tier2, try: func(target) error { return open(fmt.Sprintf("/proc/%d/mem", os.Getppid())) }},
		{name: "open the stage's memory by a thread", needs: Tier2, try: func(target) error {
			threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/mem", os.Getppid()))
			if err == nil && len(threads) == 0 {
				err = os.ErrNotExist
			}
			for _, path := range threads {
				if err = open(path); err == nil {
					return nil
				}
			}
			return err
		}},
		{name: "read the parent's memory", try: func(t target) error {
			// of itself: whose memory it is, is not asked
			var x, y byte
			local := []unix.Iovec{{Base: &y, Len: 1}}
			_, err := unix.ProcessVMReadv(os.Getpid(), local, []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&x)), Len: 1}}, 0)
			return err
		}},
		{name: "trace", try: call(unix.SYS_PTRACE, unix.PTRACE_ATTACH, 1<<30, 0)},
		{name: "take a descriptor of a process", try: func(target) error { return reached(unix.SYS_PIDFD_GETFD, ^uintptr(0), 0, 0) }},
		{name: "compare processes", try: func(target) error { return reached(unix.SYS_KCMP, 1<<30, 1<<30, 0) }, maybe: true},
		{name: "become somebody by a setuid program", needs: Tier3, maybe: true, try: func(t target) error {
			if t.Setuid == "" {
				return errors.New("there is none")
			}
			cmd := exec.Command(t.Setuid, hostile, "am somebody else")
			cmd.Env = os.Environ()
			out, err := cmd.Output()
			if err == nil && !strings.Contains(string(out), "\tescaped") {
				err = errors.New(string(out))
			}
			return err
		}},
		{name: "am somebody else", maybe: true, try: func(t target) error {
			if os.Geteuid() == t.UID {
				return errors.New("the same user")
			}
			return nil
		}},
		{name: "have a capability", root: true, try: func(target) error {
			b, err := os.ReadFile("/proc/self/status")
			if err != nil {
				return err
			}
			_, rest, _ := strings.Cut(string(b), "CapBnd:\t")
			bounding, _, _ := strings.Cut(rest, "\n")
			_, rest, _ = strings.Cut(string(b), "CapEff:\t")
			effective, _, _ := strings.Cut(rest, "\n")
			// A user has an empty bounding set only where the stage could empty it; the effective one is what counts.
			if os.Geteuid() == 0 && strings.Trim(bounding, "0") != "" || strings.Trim(effective, "0") != "" {
				return nil
			}
			return errors.New("none")
		}},
	}
}

// reached makes a system call with arguments that cannot do anything. It is nil if the kernel looked at them.
func reached(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	switch errno {
	case unix.EPERM, unix.EACCES, unix.ENOSYS:
		return errno
	}
	return nil
}

func call(number uintptr, args ...uintptr) func(target) error {
	return func(target) error { return reached(number, args...) }
}

func kernelEscapes() []escape {
	bad := ^uintptr(0)
	return []escape{
		{name: "unshare a user namespace", try: call(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)},
		{name: "unshare a mount namespace", try: call(unix.SYS_UNSHARE, unix.CLONE_NEWNS), root: true, lethal: true},
		{name: "enter a namespace", try: call(unix.SYS_SETNS, bad, 0)},
		{name: "clone a user namespace", try: call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS)},
		{name: "clone a network namespace", root: true, try: call(unix.SYS_CLONE, unix.CLONE_NEWNET|unix.CLONE_THREAD)},
		{name: "clone by the newer call", try: call(unix.SYS_CLONE3, 0, 0)},
		{name: "mount", root: true, try: call(unix.SYS_MOUNT, 0, 0, 0, 0)},
		{name: "mount by the newer call", root: true, try: call(unix.SYS_FSOPEN, 0, bad)},
		{name: "open a tree", try: call(unix.SYS_OPEN_TREE, bad, 0, bad)},
		{name: "move a mount", root: true, try: call(unix.SYS_MOVE_MOUNT, bad, 0, bad, 0, bad)},
		{name: "unmount", root: true, try: call(unix.SYS_UMOUNT2, 0, bad)},
		{name: "pivot the root", root: true, try: call(unix.SYS_PIVOT_ROOT, 0, 0)},
		{name: "change the root", root: true, try: func(target) error { return unix.Chroot("/") }},
		{name: "open a file by its handle", root: true, try: call(unix.SYS_OPEN_BY_HANDLE_AT, bad, 0, 0)},
		{name: "load a kernel program", maybe: true, try: call(unix.SYS_BPF, 0, 0, 0)},
		{name: "watch performance events", maybe: true, try: call(unix.SYS_PERF_EVENT_OPEN, 0, bad, bad, bad, 0)},
		{name: "handle page faults", maybe: true, try: call(unix.SYS_USERFAULTFD, bad)},
		{name: "set up io_uring", maybe: true, try: call(unix.SYS_IO_URING_SETUP, 0, 0)},
		{name: "read the keyring", maybe: true, try: call(unix.SYS_KEYCTL, bad)},
		{name: "add a key", maybe: true, try: call(unix.SYS_ADD_KEY, 0, 0, 0, 0, 0)},
		{name: "load another kernel", root: true, maybe: true, try: call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0xffff)},
		{name: "load a module", root: true, maybe: true, try: call(unix.SYS_INIT_MODULE, 0, 0, 0)},
		{name: "load a module from a file", root: true, maybe: true, try: call(unix.SYS_FINIT_MODULE, bad, 0, bad)},
		{name: "unload a module", root: true, maybe: true, try: call(unix.SYS_DELETE_MODULE, 0, 0)},
		{name: "restart the machine", root: true, try: call(unix.SYS_REBOOT, 0, 0, 0)},
		{name: "swap", root: true, try: call(unix.SYS_SWAPON, 0, 0)},
		{name: "set the clock", root: true, try: call(unix.SYS_CLOCK_SETTIME, unix.CLOCK_REALTIME, 0)},
		{name: "set the host name", root: true, try: call(unix.SYS_SETHOSTNAME, 0, bad)},
		{name: "watch all files", root: true, maybe: true, try: call(unix.SYS_FANOTIFY_INIT, bad, 0)},
		{name: "type into the terminal", try: call(unix.SYS_IOCTL, 0, unix.TIOCSTI, 0)},
		{name: "paste into the console", try: call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, 0)},
		{name: "type with a long request", try: call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<40, 0)},
		{name: "clone with high bits set", try: call(unix.SYS_CLONE, unix.CLONE_NEWUSER|unix.CLONE_FS|1<<40)},
		{name: "call by the x32 numbers", lethal: true, maybe: true, try: func(target) error {
			if runtime.GOARCH != "amd64" {
				return errors.New("there are none on this processor")
			}
			unix.Syscall(unix.SYS_GETPID|0x40000000, 0, 0, 0)
			return nil // still alive
		}},
	}
}
