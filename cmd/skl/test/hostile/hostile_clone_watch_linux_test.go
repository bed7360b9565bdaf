package hostile

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/skl-project/skl/cmd/skl/test/harness"
)

const (
	patience    = 30 * time.Second // that a command may take, on a machine that is busy
	maxResident = 300 << 10        // KiB of memory that it may take
)

// look lists everything below dir: kind, mode, owner, links, times, and content. Paths
// are slash-separated and relative to dir; those in leave are left out with all below them.
func look(dir string, leave map[string]bool) map[string]string {
	out := map[string]string{}
	filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		if leave[rel] {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err != nil {
			out[rel] = err.Error()
			return nil
		}
		info, err := os.Lstat(path)
		if err != nil {
			out[rel] = err.Error()
			return nil
		}
		s := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%s %d:%d inode %d links %d changed %d.%09d", info.Mode(), s.Uid, s.Gid, s.Ino, s.Nlink, s.Mtim.Sec, s.Mtim.Nsec)
		// The time of change of a directory says what its time of modification says, and moves
		// also when a file system settles; that of a file tells who put its old time back.
		switch {
		case info.Mode().IsRegular():
			stamp := fmt.Sprintf("%s inode changed %d.%09d %d bytes", text, s.Ctim.Sec, s.Ctim.Nsec, s.Size)
			sum, ok := sums.Load(path + stamp)
			if !ok {
				sum = sum256(path)
				sums.Store(path+stamp, sum)
			}
			text = fmt.Sprintf("%s %x", stamp, sum)
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			text += " to " + target
		}
		out[rel] = text
		return nil
	})
	return out
}

// sums are the digests of files that have not changed since: nobody here can put back the time
// at which an inode changed.
var sums sync.Map

func sum256(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	h := sha256.New()
	io.Copy(h, f)
	return h.Sum(nil)[:8]
}

// differ says what is different between two looks, as "PATH: WHAT".
func differ(before, after map[string]string) (out []string) {
	for path, was := range before {
		switch is, ok := after[path]; {
		case !ok:
			out = append(out, path+": is gone")
		case is != was:
			out = append(out, path+": "+what(was, is))
		}
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			out = append(out, path+": is new")
		}
	}
	slices.Sort(out)
	return out
}

// what is different between the descriptions of one path.
func what(was, is string) string {
	a, b := strings.Fields(was), strings.Fields(is)
	switch {
	case a[0] != b[0]:
		return "was " + a[0] + ", is " + b[0]
	case was[0] == 'd':
		return "entries changed"
	case a[len(a)-1] != b[len(b)-1]:
		return "content changed"
	}
	return "was touched"
}

// An ending is what a command did and how it ended.
type ending struct {
	status         int // -1 if it was killed
	stdout, stderr string
	peak           int // KiB
	late           bool
	answered       bool     // the last question of the agent
	programs       []string // that were started besides skl
	sockets        []string // addresses that were connected to or bound, as "connect HOST:PORT"
	probed         bool     // skl found out how well this machine confines
	opened         []string // with world.opens: files below the clone, or the directory of git that it has, sorted
}

// findTracer is the path of strace, or "" where there is none or it may not trace.
func findTracer(t *testing.T) string {
	strace, err := exec.LookPath("strace")
	if err == nil {
		err = exec.Command(strace, "-f", "-qq", "-e", "trace=execve", "-o", os.DevNull, "true").Run()
	}
	if err == nil {
		return strace
	}
	if os.Getenv("SKL_TEST_REQUIRE") == "all" {
		t.Fatal("strace is needed, to count programs and sockets: ", err)
	}
	t.Log("skipped: programs and sockets are not counted without strace: ", err)
	return ""
}

// run runs skl in the world, with nobody at a terminal.
func (w *world) run(args []string, d deed) ending {
	w.t.Helper()
	logs := filepath.Join(w.place, "logs")
	trace, peak := filepath.Join(logs, "trace"), filepath.Join(logs, "peak")
	os.Remove(trace)
	os.Remove(peak)
	argv := append([]string{w.skl}, args...)
	switch {
	case w.tracer != "" && w.opens:
		argv = append([]string{w.tracer, "-f", "-qq", "-y", "--seccomp-bpf", "-e", "trace=open,openat,openat2", "-e", "signal=none", "-s", "4096", "-o", trace}, argv...)
	case w.tracer != "":
		argv = append([]string{w.tracer, "-f", "-qq", "--seccomp-bpf", "-e", "trace=execve,execveat,connect,bind,sendto,sendmsg,socket", "-e", "signal=none", "-s", "200", "-o", trace}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.cwd, append(slices.Clone(w.env), harness.PeakVariable+"="+peak)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stderr = &stderr
	var end ending
	limit := patience
	if w.patience != 0 {
		limit = w.patience
	}
	var talk func()
	if d.agent {
		in, err1 := cmd.StdinPipe()
		out, err2 := cmd.StdoutPipe()
		if err := errors.Join(err1, err2); err != nil {
			w.t.Fatal(err)
		}
		talk = func() { end.answered = converse(in, io.TeeReader(out, &stdout), w.skill) }
	} else {
		cmd.Stdout = &stdout
	}
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	timer := time.AfterFunc(limit, func() { end.late = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil })
	if talk != nil {
		talk()
	}
	cmd.Wait()
	timer.Stop()
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left behind
	end.status, end.stdout, end.stderr = cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()
	if text, err := os.ReadFile(peak); err == nil {
		end.peak, _ = strconv.Atoi(string(text))
	}
	switch {
	case w.tracer != "" && w.opens:
		end.opened = w.openedFiles(trace)
	case w.tracer != "":
		end.read(trace, w.t)
	}
	return end
}

var (
	execLine = regexp.MustCompile(`^(\d+) +execve(?:at)?\((.*)`)
	ipLine   = regexp.MustCompile(`^\d+ +(connect|bind|sendto|sendmsg)\(.*sa_family=AF_INET6?, sin6?_port=htons\((\d+)\).*?"([0-9a-f.:]+)"`)
	unixLine = regexp.MustCompile(`^\d+ +(connect|bind|sendto|sendmsg)\(.*sa_family=AF_UNIX, sun_path=(\S+)`)
	openLine = regexp.MustCompile(`^(\d+) +socket\((AF_INET6?|AF_PACKET|AF_NETLINK), (\w+)`)
)

// nscd is what the C library asks for the account. Where there is a C compiler, the tests are built with it; the program as it is shipped is not.
const nscd = `"/var/run/nscd/socket"`

// read takes programs and addresses from what strace wrote. A socket that is opened and used for
// nothing but to see whether the system knows IPv6 is not counted; one whose address
// is another one's is.
//
// Two programs are documented: git, which is asked beside its own program whether the user
// configured credential helpers (none is configured here, so none may be asked), and skl itself, which finds out how well
// this machine confines, in a temporary directory that it removes and with a socket that it connects to nothing.
func (end *ending) read(trace string, t *testing.T) {
	asksGit := ""
	if git, err := exec.LookPath("git"); err == nil {
		asksGit = fmt.Sprintf("%q, [%q, \"config\", \"--get-regexp\", \"^credential\\\\.\"]", git, git)
	}
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal("strace wrote nothing: ", err)
	}
	defer f.Close()
	const probes = `"/proc/self/exe", ["skl", "__sandbox", "probe"], `
	execs, opened, called, probe := 0, "", false, map[string]bool{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := scan.Text()
		if m := execLine.FindStringSubmatch(line); m != nil {
			switch execs++; {
			case strings.HasPrefix(m[2], probes):
				probe[m[1]], end.probed = true, true
			case execs > 1 && (asksGit == "" || !strings.HasPrefix(m[2], asksGit)):
				end.programs = append(end.programs, m[2])
			}
			continue
		}
		if m := openLine.FindStringSubmatch(line); m != nil && !probe[m[1]] {
			opened = m[2] + " " + m[3]
		}
		if m := ipLine.FindStringSubmatch(line); m != nil && !(m[1] == "bind" && m[2] == "0") {
			end.sockets = append(end.sockets, m[1]+" "+m[3]+":"+m[2])
			called = true
		} else if m := unixLine.FindStringSubmatch(line); m != nil && !strings.HasPrefix(m[2], nscd) {
			end.sockets = append(end.sockets, m[1]+" unix:"+m[2])
		}
	}
	if execs == 0 {
		t.Error("strace saw no program at all")
	}
	if opened != "" && !called {
		end.sockets = append(end.sockets, "open "+opened)
	}
	slices.Sort(end.sockets)
	end.sockets = slices.Compact(end.sockets)
}

// converse is an agent: it asks for everything a clone could turn against it, and
// reports whether the last question was answered. It closes in.
func converse(in io.WriteCloser, out io.Reader, skill string) (answered bool) {
	defer in.Close()
	call := func(name string, arguments map[string]any) map[string]any {
		return map[string]any{"method": "tools/call", "params": map[string]any{"name": name, "arguments": arguments}}
	}
	messages := []map[string]any{
		{"method": "initialize", "params": map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "agent", "version": "1"}}},
		{"method": "tools/list"},
		call("skill_search", map[string]any{"task": "do evil"}),
		call("skill_read", map[string]any{"name": skill}),
		call("skill_read", map[string]any{"name": skill, "file": "../../../../../home/.netrc"}),
		call("canopy_query", map[string]any{"patterns": []string{"evil"}}),
		call("skill_run", map[string]any{"skill": skill}),
	}
	replies := bufio.NewReader(out)
	for i, m := range messages {
		m["jsonrpc"], m["id"] = "2.0", i+1
		text, err := json.Marshal(m)
		if err != nil {
			return false
		}
		if i == 1 {
			text = append([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n"), text...)
		}
		if _, err := in.Write(append(text, '\n')); err != nil {
			break
		}
		if !reply(replies, i+1) {
			break
		}
		answered = i == len(messages)-1
	}
	in.Close()
	io.Copy(io.Discard, replies)
	return answered
}

// reply reads up to the answer with this id.
func reply(r *bufio.Reader, id int) bool {
	for {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return false
		}
		var m struct{ ID any }
		if json.Unmarshal(line, &m) == nil && m.ID == float64(id) {
			return true
		}
	}
}

// copyTree copies from to to with links, modes, owners and times.
func copyTree(t *testing.T, from, to string) {
	t.Helper()
	if out, err := exec.Command("cp", "-a", from, to).CombinedOutput(); err != nil {
		t.Fatalf("cp -a: %v\n%s", err, out)
	}
}

// reset makes the clone, what is around it and the home what they were at first.
func (w *world) reset() {
	w.t.Helper()
	for _, part := range []string{"src", "home"} {
		dir, kept := filepath.Join(w.place, part), filepath.Join(w.place, "pristine", part)
		if maps.Equal(look(dir, nil), w.fresh[part]) {
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			w.t.Fatal(err)
		}
		copyTree(w.t, kept, dir)
		w.fresh[part] = look(dir, nil)
	}
}
