package sandbox

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/runtime/internal/scratch"
	"github.com/skl-project/skl/runtime/sandbox/internal/stage"
	"github.com/skl-project/skl/spec/diag"
)

// shmSize bounds a private /dev/shm, in bytes. It is memory.
const shmSize = 256 << 20

// unixVersion is the Landlock version that can tell whose socket a path names. Below it the sockets of the system
// (a container engine's, an agent's) could be reached by path, so programs get no Unix sockets but pairs.
const unixVersion = 9

// facts is what a machine offers. It does not change while a process lives.
type facts struct {
	best     Tier
	landlock int   // version; 0: none
	flags    byte  // of stage.Has…, for Tier1
	why      error // why there is no better tier
}

var machine = sync.OnceValue(func() facts {
	var f facts
	if _, ok := here(); !ok {
		f.why = errors.New("the system calls of this processor (" + runtime.GOARCH + ") are not known")
		return f
	}
	f.landlock = landlockVersion()
	for _, tier := range []Tier{Tier1, Tier2, Tier3} {
		if tier != Tier3 && f.landlock == 0 {
			if f.why == nil {
				f.why = errors.New("the kernel has no landlock")
			}
			continue
		}
		flags, err := try(tier, f.landlock)
		if err == nil {
			f.best, f.flags = tier, flags
			return f
		}
		if f.why == nil {
			f.why = err
		}
	}
	return f
})

func probe() Report { return reportFor(machine().best) }

// reportFor describes a tier that this machine has.
func reportFor(tier Tier) Report {
	f := machine()
	r := Report{Tier: tier}
	if tier == None {
		r.Missing = append(r.Missing, "nothing is confined: "+f.why.Error())
		return r
	}
	r.Enforced = []string{"network", "kernel", "limits", "environment"}
	missing := func(when bool, sentence string) {
		if when {
			r.Missing = append(r.Missing, sentence)
		}
	}
	if tier != Tier3 {
		r.Enforced = append([]string{"files"}, r.Enforced...)
	}
	if tier == Tier1 || (tier == Tier2 && f.landlock >= 6) {
		r.Enforced = append(r.Enforced, "processes")
	}
	missing(tier != Tier1 && f.best == tier && f.why != nil, "there are no namespaces: "+errorText(f.why))
	missing(tier == Tier3, "every file of yours can be read and written: the kernel has no landlock")
	missing(tier != Tier3, "whether a path outside exists, and its size and times, can be found out by asking for it")
	missing(tier == Tier2, "whether a process exists can be found out by asking for its number")
	missing(tier == Tier3, "the processes of the machine are visible")
	missing(tier == Tier3 || (tier == Tier2 && f.landlock < 6), "your other processes can be signalled")
	missing(tier != Tier3 && f.landlock < 3, "files outside whose names are known can be emptied where you may write them")
	missing(tier != Tier3 && f.landlock < 5, "device files that can be opened take every control request")
	missing(tier != Tier1, "protected files of the working directory can be changed while a program runs; they are restored afterwards")
	missing(tier == Tier1 && f.flags&stage.HasProc == 0, "there is no /proc: some programs need it")
	missing(tier != Tier1, "there is no /proc and no /dev/shm: some programs need them")
	missing(os.Geteuid() == 0 && (tier != Tier1 || f.flags&stage.HasPidMax == 0),
		"the number of processes is not bounded for user 0 but by the time limit")
	missing(true, "memory is not bounded")
	return r
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// try goes through a whole start but for the program.
func try(tier Tier, version int) (flags byte, err error) {
	dir, remove, err := scratch.New("sandbox")
	if err != nil {
		return 0, err
	}
	defer remove()
	j := &job{Command: Command{Dir: dir, Argv: []string{"probe"}}, private: dir, report: Report{Tier: tier}}
	// A machine that cannot pin has no tier 1.
	j.shield = &shield{pins: []pin{{Pin: stage.Pin{Kind: stage.Seal, Path: realOf(dir)}}}}
	check(&j.Command, j.report)
	s, err := launch(j, version, true)
	if err != nil {
		return 0, err
	}
	defer s.end()
	return s.flags, s.started()
}

// confined runs j through a stage.
func confined(ctx context.Context, j *job) (int, error) {
	s, err := launch(j, machine().landlock, false)
	if err != nil {
		return 0, err
	}
	defer s.end()
	stop := context.AfterFunc(ctx, s.kill)
	defer stop()
	if j.Hosts != nil {
		listener, err := s.listener()
		if err != nil {
			return 0, s.explain(err)
		}
		p := newProxy(j.Hosts, j.Log)
		defer p.close()
		go p.serve(listener)
	}
	if err := s.started(); err != nil {
		return 0, err
	}
	status, err := s.status()
	if err != nil {
		if ctx.Err() != nil {
			return -1, errStopped
		}
		return 0, diag.New(diag.Failed, "sandbox_start", "the sandbox of %s ended before it: %w", j.program, err)
	}
	if status.Signaled() {
		return 128 + int(status.Signal()), nil
	}
	return status.ExitStatus(), nil
}

// A stageProcess is the running stage of one job, seen from outside.
type stageProcess struct {
	job    *job
	cmd    *exec.Cmd
	socket *net.UnixConn
	flags  byte
	pid    int // of the program, where its number means something here
	once   sync.Once
}

// launch starts a stage and sends it its orders.
func launch(j *job, version int, dry bool) (*stageProcess, error) {
	fail := func(err error) (*stageProcess, error) {
		return nil, diag.New(diag.Failed, "sandbox_start", "starting the sandbox: %w", err)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "sandbox"), os.NewFile(uintptr(pair[1]), "sandbox")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return fail(err)
	}
	s := &stageProcess{job: j, socket: conn.(*net.UnixConn)}
	s.cmd = exec.Command("/proc/self/exe")
	s.cmd.Args = []string{"skl", "__sandbox", filepath.Base(j.Argv[0])}
	s.cmd.Env = []string{stage.Variable + "=3"}
	s.cmd.Stdout, s.cmd.Stderr = j.stdoutWriter(), j.stderrWriter()
	s.cmd.WaitDelay = patience
	s.cmd.ExtraFiles = []*os.File{theirs}
	s.cmd.SysProcAttr = attributes(j.report.Tier)
	config := orders(j, version, dry)
	if config.Landlock {
		rules, err := ruleset(j, version)
		if err != nil {
			s.socket.Close()
			return nil, err
		}
		defer rules.Close()
		s.cmd.ExtraFiles = append(s.cmd.ExtraFiles, rules)
	}
	feed, err := input(s.cmd, j.Stdin)
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		s.socket.Close()
		return fail(err)
	}
	feed()
	body := config.Encode()
	head := binary.LittleEndian.AppendUint32(nil, uint32(len(body)))
	if _, err := s.socket.Write(append(head, body...)); err != nil {
		err = s.explain(err)
		s.end()
		return nil, err
	}
	return s, nil
}

// attributes are the namespaces of a tier. The user keeps its number; the capabilities are those of the new user
// namespace, which the stage needs to set it up and the program never gets.
func attributes(tier Tier) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setsid: true}
	if tier != Tier1 {
		return a
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
		unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	return a
}

// orders says in the stage's words what j is.
func orders(j *job, version int, dry bool) stage.Config {
	tier := j.report.Tier
	c := stage.Config{
		Namespaces: tier == Tier1, Landlock: tier != Tier3, Proxy: j.Hosts != nil, DryRun: dry,
		Path: j.program, Dir: j.Dir, Argv: j.Argv, Env: j.Env,
	}
	var families []uint32
	if tier == Tier1 {
		for _, p := range j.shield.pins {
			c.Pins = append(c.Pins, p.Pin)
		}
		families = []uint32{unix.AF_INET, unix.AF_INET6}
		c.ProcAccess = rightsProc & handled(version)
		c.ShmAccess = rightsWrite & handled(version) &^ uint64(unix.LANDLOCK_ACCESS_FS_EXECUTE)
		c.ShmSize = shmSize
		// The limit of a user does not bind user 0, and this one does.
		if os.Geteuid() == 0 && pidMaxIsPrivate() {
			c.PidMax = uint64(max(j.Limits.Processes, 301))
		}
	}
	if tier != Tier3 && version >= unixVersion {
		families = append(families, unix.AF_UNIX)
	}
	if j.Hosts != nil {
		c.Env = append(append([]string(nil), c.Env...), proxyEnvironment(stage.ProxyPort)...)
	}
	cpu, _ := here()
	c.Filter = filterProgram(cpu, families)
	processes := uint64(j.Limits.Processes)
	if tier != Tier1 {
		processes += running() // counted for the user everywhere; in a user namespace only there
	}
	for _, l := range []stage.Limit{
		{Resource: unix.RLIMIT_CORE},
		{Resource: unix.RLIMIT_CPU, Value: uint64((j.Limits.CPU + time.Second - 1) / time.Second)},
		{Resource: unix.RLIMIT_FSIZE, Value: uint64(j.Limits.FileSize)},
		{Resource: unix.RLIMIT_NOFILE, Value: uint64(j.Limits.OpenFiles)},
		{Resource: unix.RLIMIT_NPROC, Value: processes},
	} {
		var now unix.Rlimit
		if unix.Getrlimit(int(l.Resource), &now) == nil {
			l.Value = min(l.Value, now.Max) // what is lower already cannot be raised
		}
		c.Limits = append(c.Limits, l)
	}
	return c
}

// running is the number of processes and threads of the machine, which bounds that of the user.
func running() uint64 {
	b, err := os.ReadFile("/proc/loadavg") // "0.10 0.20 0.30 2/345 6789"
	if err != nil {
		return 1 << 15
	}
	var total uint64
	_, rest, _ := strings.Cut(string(b), "/")
	for _, c := range []byte(rest) {
		if c < '0' || c > '9' {
			break
		}
		total = total*10 + uint64(c-'0')
	}
	return total
}

// pidMaxIsPrivate: since Linux 6.14 kernel.pid_max belongs to a PID namespace. Before, it was the host's, and user 0
// could write it.
func pidMaxIsPrivate() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	var version [2]int
	field := 0
	for _, c := range unix.ByteSliceToString(name.Release[:]) {
		if c == '.' && field == 0 {
			field = 1
		} else if c < '0' || c > '9' {
			break
		} else if version[field] < 1000 {
			version[field] = version[field]*10 + int(c-'0')
		}
	}
	return version[0] > 6 || (version[0] == 6 && version[1] >= 14)
}

// kill stops everything that the stage started.
func (s *stageProcess) kill() {
	if s.job.report.Tier == Tier1 {
		s.cmd.Process.Kill() // process 1 of its namespace
		return
	}
	s.socket.CloseWrite() // the stage then kills its children, and their orphans
	time.AfterFunc(patience, func() { s.cmd.Process.Kill() })
}

// end waits for the stage, which by then has ended or is about to.
func (s *stageProcess) end() {
	s.once.Do(func() {
		s.socket.Close()
		if s.job.report.Tier == Tier1 {
			s.cmd.Process.Kill()
		}
		s.cmd.Wait()
		if s.pid > 0 {
			syscall.Kill(-s.pid, syscall.SIGKILL) // if something killed the stage first
		}
	})
}

// A stageError is the stage's own word about why it gave up.
type stageError struct {
	step  stage.Step
	errno syscall.Errno
}

func (e *stageError) Error() string { return e.step.String() + ": " + e.errno.Error() }

func (e *stageError) Unwrap() error { return e.errno }

// message reads one message of the kind wanted, with the descriptor that it carries.
func (s *stageProcess) message(want byte, size int) (body []byte, file *os.File, err error) {
	buf, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := s.socket.ReadMsgUnix(buf, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, nil, err
	}
	if rn > 0 {
		if messages, err := unix.ParseSocketControlMessage(rights[:rn]); err == nil && len(messages) == 1 {
			if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
				unix.CloseOnExec(fds[0])
				file = os.NewFile(uintptr(fds[0]), "listener")
			}
		}
	}
	if buf[0] == 'E' {
		size = 5
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(s.socket, body); err != nil {
		return nil, file, err
	}
	switch buf[0] {
	case want:
		return body, file, nil
	case 'E':
		return nil, file, &stageError{stage.Step(body[0]), syscall.Errno(binary.LittleEndian.Uint32(body[1:]))}
	}
	return nil, file, errors.New("the sandbox answers out of turn")
}

func (s *stageProcess) listener() (net.Listener, error) {
	_, file, err := s.message('L', 0)
	if err == nil && file == nil {
		err = errors.New("the sandbox sent no socket")
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return net.FileListener(file)
}

// started waits until the program runs.
func (s *stageProcess) started() error {
	body, _, err := s.message('S', 5)
	if err != nil {
		return s.explain(err)
	}
	s.flags = body[0]
	if s.job.report.Tier != Tier1 {
		s.pid = int(binary.LittleEndian.Uint32(body[1:]))
	}
	return nil
}

func (s *stageProcess) status() (syscall.WaitStatus, error) {
	body, _, err := s.message('X', 4)
	if err != nil {
		return 0, err
	}
	s.pid = 0 // it may be somebody else's from now on
	return syscall.WaitStatus(binary.LittleEndian.Uint32(body)), nil
}

// explain tells a program that cannot be started from a sandbox that cannot.
func (s *stageProcess) explain(err error) error {
	if e, ok := errors.AsType[*stageError](err); ok && e.step == stage.Start {
		return diag.New(diag.Failed, "sandbox_program", "starting %s in the sandbox: %w", s.job.program, e.errno)
	}
	return diag.New(diag.Failed, "sandbox_start", "starting the sandbox: %w", err)
}

func (j *job) stdoutWriter() io.Writer {
	if j.stdout == nil {
		return nil
	}
	return j.stdout
}

func (j *job) stderrWriter() io.Writer {
	if j.stderr == nil {
		return nil
	}
	return j.stderr
}

// guard: a stage ends in its initialiser, so whoever gets here with the variable set was called wrongly.
func guard() {
	if os.Getenv(stage.Variable) != "" {
		os.Stderr.WriteString("skl: " + stage.Variable + " is not for people to set\n")
		os.Exit(int(diag.Misuse))
	}
}
