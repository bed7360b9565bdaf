package stage

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers that package syscall does not have. Those of system calls are the same on every processor.
const (
	sysLandlockAddRule      = 445
	sysLandlockRestrictSelf = 446
	sysCloseRange           = 436
	closeRangeCloexec       = 4

	prSetDumpable       = 4
	prSetSeccomp        = 22
	prCapbsetDrop       = 24
	prSetSecurebits     = 28
	prSetChildSubreaper = 36
	prSetNoNewPrivs     = 38
	prCapAmbient        = 47
	capAmbientClearAll  = 4

	// no capabilities for user 0, no ambient ones, both for good
	secureBits = 1<<0 | 1<<1 | 1<<6 | 1<<7

	siocSIFFlags = 0x8914
	maxFD        = 4096 // closed one by one where close_range(2) is missing
)

func init() {
	if value, ok := syscall.Getenv(Variable); ok && value == "3" {
		main()
	}
}

// main never returns: a process that was asked to be a stage must not become skl.
func main() {
	closeOthers()
	var c Config
	body, ok := readConfig()
	if ok {
		c, ok = Decode(body)
	}
	if !ok {
		fail(ReadConfig, syscall.EBADMSG)
	}
	prctl(prSetDumpable, 0)
	if c.Namespaces {
		syscall.Sethostname([]byte("sandbox"))
	} else {
		prctl(prSetChildSubreaper, 1)
	}
	flags := prepare(&c)
	type started struct {
		pid  int
		step Step
		err  syscall.Errno
	}
	result := make(chan started)
	go func() {
		// The thread is never given back, so it ends with this function: nothing of the stage goes on running in
		// the program's Landlock domain, where the program could trace it.
		runtime.LockOSThread()
		if step, err := restrict(&c); err != 0 {
			result <- started{0, step, err}
			return
		}
		if c.DryRun {
			result <- started{}
			return
		}
		pid, err := syscall.ForkExec(c.Path, c.Argv, &syscall.ProcAttr{Dir: c.Dir, Env: c.Env,
			Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}})
		if err != nil {
			errno, _ := err.(syscall.Errno)
			result <- started{0, Start, errno}
			return
		}
		result <- started{pid: pid}
	}()
	r := <-result
	if r.err != 0 || (r.pid == 0 && !c.DryRun) {
		fail(r.step, r.err)
	}
	// Pipes end when their last writer closes them, and this process is to outlive the program.
	for fd := range 3 {
		syscall.Close(fd)
	}
	send(append([]byte{'S', flags}, word(uint32(r.pid))...), nil)
	if c.DryRun {
		syscall.Exit(0)
	}
	go func() {
		var one [1]byte
		for {
			if n, err := syscall.Read(Socket, one[:]); n <= 0 && err != syscall.EINTR {
				break
			}
		}
		if !c.Namespaces {
			reap(r.pid)
		}
		syscall.Exit(0) // process 1: the kernel kills the others
	}()
	status, ok := wait(r.pid)
	if !c.Namespaces {
		reap(r.pid)
	}
	if ok {
		send(append([]byte{'X'}, word(uint32(status))...), nil)
	}
	syscall.Exit(0)
}

// closeOthers keeps whatever the parent left open by accident from reaching the program.
func closeOthers() {
	syscall.CloseOnExec(Socket)
	syscall.CloseOnExec(Ruleset)
	if _, _, err := syscall.RawSyscall(sysCloseRange, Ruleset+1, ^uintptr(0)>>32, closeRangeCloexec); err != 0 {
		for fd := Ruleset + 1; fd < maxFD; fd++ {
			syscall.CloseOnExec(fd)
		}
	}
}

func readConfig() ([]byte, bool) {
	var head [4]byte
	if !readFull(head[:]) {
		return nil, false
	}
	n := uint32(head[0]) | uint32(head[1])<<8 | uint32(head[2])<<16 | uint32(head[3])<<24
	if n > MaxConfig {
		return nil, false
	}
	body := make([]byte, n)
	return body, readFull(body)
}

func readFull(b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Read(Socket, b)
		if err == syscall.EINTR {
			continue
		}
		if n <= 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// prepare does what needs the capabilities of a new user namespace.
func prepare(c *Config) (flags byte) {
	if !c.Namespaces {
		return 0
	}
	if err := syscall.Mount("none", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		fail(MountTree, errno(err))
	}
	for _, p := range c.Pins {
		if err := pin(p); err != 0 && p.Kind != Link {
			fail(Protect, err)
		}
	}
	const safe = syscall.MS_NOSUID | syscall.MS_NODEV | syscall.MS_NOEXEC
	// A container that masks parts of /proc may not mount another one; the program then has none.
	if c.ProcAccess != 0 && syscall.Mount("proc", "/proc", "proc", safe, "") == nil && allow("/proc", c.ProcAccess, c) {
		flags |= HasProc
		if c.PidMax != 0 && writeNumber("/proc/sys/kernel/pid_max", c.PidMax) {
			flags |= HasPidMax
		}
	}
	size := "mode=1777,size=" + decimal(c.ShmSize)
	if c.ShmAccess != 0 && syscall.Mount("tmpfs", "/dev/shm", "tmpfs", safe, size) == nil && allow("/dev/shm", c.ShmAccess, c) {
		flags |= HasShm
	}
	loopback()
	if c.Proxy {
		listen()
	}
	return flags
}

// allow adds a rule for path, which exists only here, to the ruleset that the parent made.
func allow(path string, access uint64, c *Config) bool {
	if !c.Landlock {
		return true
	}
	fd, err := syscall.Open(path, oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	rule := struct { // packed: 12 bytes count
		access uint64
		fd     int32
	}{access, int32(fd)}
	_, _, e := syscall.RawSyscall6(sysLandlockAddRule, Ruleset, 1, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	return e == 0
}

// loopback brings lo up. Without it programs cannot even talk to themselves, which nothing here depends on.
func loopback() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(fd)
	request := struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}{name: [16]byte{'l', 'o'}, flags: syscall.IFF_UP | syscall.IFF_RUNNING}
	syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), siocSIFFlags, uintptr(unsafe.Pointer(&request)))
}

// listen opens the proxy's port in this network namespace and hands it to the parent, which answers from outside.
func listen() {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: ProxyPort, Addr: [4]byte{127, 0, 0, 1}})
	}
	if err == nil {
		err = syscall.Listen(fd, 64)
	}
	if err != nil {
		fail(OpenProxy, errno(err))
	}
	send([]byte{'L'}, syscall.UnixRights(fd))
	syscall.Close(fd)
}

// restrict takes the rights of the calling thread, for good. The order matters: what comes later may not be able to
// undo or to do what came before.
func restrict(c *Config) (Step, syscall.Errno) {
	for _, l := range c.Limits {
		rlimit := [2]uint64{l.Value, l.Value}
		if _, _, err := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, 0, uintptr(l.Resource), uintptr(unsafe.Pointer(&rlimit)),
			uintptr(unsafe.Pointer(&rlimit)), 0, 0); err != 0 {
			return Limits, err
		}
	}
	if err := prctl(prSetNoNewPrivs, 1); err != 0 {
		return Privileges, err
	}
	if err := dropCapabilities(); err != 0 {
		return Privileges, err
	}
	if c.Landlock {
		if _, _, err := syscall.RawSyscall(sysLandlockRestrictSelf, Ruleset, 0, 0); err != 0 {
			return Landlock, err
		}
	}
	if len(c.Filter) >= 8 {
		program := struct {
			length uint16
			filter *byte
		}{uint16(len(c.Filter) / 8), &c.Filter[0]}
		if _, _, err := syscall.RawSyscall(syscall.SYS_PRCTL, prSetSeccomp, 2, uintptr(unsafe.Pointer(&program))); err != 0 {
			return Seccomp, err
		}
	}
	return 0, 0
}

// dropCapabilities also empties the bounding set, so that user 0 does not get its capabilities back from execve.
// Without CAP_SETPCAP the set cannot be emptied, and then there is nothing that a program without privileges could
// gain from it: no_new_privs holds.
func dropCapabilities() syscall.Errno {
	prctl(prSetSecurebits, secureBits)
	for c := uintptr(0); c < 64; c++ {
		if err := prctl(prCapbsetDrop, c); err == syscall.EINVAL {
			break
		}
	}
	prctl(prCapAmbient, capAmbientClearAll)
	head := struct {
		version uint32
		pid     int32
	}{version: 0x20080522}
	var none [6]uint32
	_, _, err := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&none)), 0)
	return err
}

// wait reaps children until pid is among them. It is not ok if reap, which kills them, came first: then nobody knows how it would have ended.
func wait(pid int) (status syscall.WaitStatus, ok bool) {
	for {
		got, err := syscall.Wait4(-1, &status, 0, nil)
		if got == pid {
			return status, true
		}
		if err != nil && err != syscall.EINTR {
			return 0, false
		}
	}
}

// reap kills the session of pid and every process that came back to this one as an orphan, until none is left.
func reap(pid int) {
	self := syscall.Getpid()
	for range 2000 {
		for got := 1; got > 0; {
			var status syscall.WaitStatus
			var err error
			if got, err = syscall.Wait4(-1, &status, syscall.WNOHANG, nil); err == syscall.ECHILD {
				return // the usual end, at once
			}
		}
		syscall.Kill(-pid, syscall.SIGKILL)
		killChildren(self)
		pause := syscall.Timespec{Nsec: 500_000}
		syscall.Nanosleep(&pause, nil)
	}
}

// killChildren kills the processes whose parent is self.
func killChildren(self int) {
	dir, err := syscall.Open("/proc", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer syscall.Close(dir)
	buf := make([]byte, 32<<10)
	for {
		n, err := syscall.ReadDirent(dir, buf)
		if err != nil || n <= 0 {
			return
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			pid := integer(name)
			if pid > 1 && parentOf(name) == self {
				syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// parentOf reads the fourth field of a stat file. The second is a name in parentheses, which may hold anything.
func parentOf(pid string) int {
	fd, err := syscall.Open("/proc/"+pid+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	var buf [512]byte
	n, _ := syscall.Read(fd, buf[:])
	for i := n - 1; i > 0; i-- {
		if buf[i] != ')' || i+4 >= n {
			continue
		}
		end := i + 4
		for end < n && buf[end] != ' ' {
			end++
		}
		return integer(string(buf[i+4 : end]))
	}
	return 0
}

func integer(s string) int {
	if s == "" || len(s) > 9 {
		return 0
	}
	v := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0
		}
		v = v*10 + int(c-'0')
	}
	return v
}

func decimal(v uint64) string {
	var buf [20]byte
	i := len(buf)
	for {
		i--
		buf[i] = byte('0' + v%10)
		if v /= 10; v == 0 {
			return string(buf[i:])
		}
	}
}

func writeNumber(path string, v uint64) bool {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	_, err = syscall.Write(fd, []byte(decimal(v)))
	return err == nil
}

func prctl(option, arg uintptr) syscall.Errno {
	_, _, err := syscall.RawSyscall6(syscall.SYS_PRCTL, option, arg, 0, 0, 0, 0)
	return err
}

func word(v uint32) []byte { return []byte{byte(v), byte(v >> 8), byte(v >> 16), byte(v >> 24)} }

func errno(err error) syscall.Errno {
	if e, ok := err.(syscall.Errno); ok {
		return e
	}
	return syscall.EIO
}

func send(message, rights []byte) {
	for {
		if err := syscall.Sendmsg(Socket, message, rights, nil, syscall.MSG_NOSIGNAL); err != syscall.EINTR {
			return
		}
	}
}

func fail(step Step, err syscall.Errno) {
	send(append([]byte{'E', byte(step)}, word(uint32(err))...), nil)
	syscall.Exit(1)
}
