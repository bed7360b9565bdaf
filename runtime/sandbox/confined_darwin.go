package sandbox

import (
	"context"
	"fmt"
	"io/fs"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/skl-project/skl/spec/diag"
)

// seatbeltProgram is Apple's own; a program of that name in PATH would be somebody else's.
const seatbeltProgram = "/usr/bin/sandbox-exec"

func probe() Report { return tried() }

// tried is asked for at every start of a program, and the answer stays the same.
var tried = sync.OnceValue(func() Report {
	if executable(seatbeltProgram) != nil {
		return reportFor(None)
	}
	// A profile is tried: below another sandbox the system refuses one.
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	j := &job{private: "/private/tmp"}
	j.Dir = "/private/tmp"
	cmd := exec.CommandContext(ctx, seatbeltProgram, "-p", seatbeltProfile(j, 0), "/usr/bin/true")
	cmd.Env = []string{}
	if out, err := cmd.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out[:min(len(out), 200)]))
		return Report{Missing: []string{fmt.Sprintf("%s does not work here, perhaps because this is a sandbox already (%v: %s): programs can do what you can do", seatbeltProgram, err, said)}}
	}
	return reportFor(Seatbelt)
})

func reportFor(tier Tier) Report {
	if tier != Seatbelt {
		return Report{Missing: []string{"there is no " + seatbeltProgram + ": programs can do what you can do"}}
	}
	return Report{
		Tier:     Seatbelt,
		Enforced: []string{"files", "network", "processes", "environment"},
		Missing: []string{
			"whether a path outside exists, and its size and times, can be found out by asking for it",
			"processor time, file sizes and the number of processes are bounded by the time limit only",
			"memory is not bounded",
			"sandbox-exec is a tool that Apple has deprecated",
		},
	}
}

// confined runs j below sandbox-exec. With hosts, the proxy is a port of the loopback interface, which other programs
// of this machine can reach while the program runs.
func confined(ctx context.Context, j *job) (int, error) {
	// A profile speaks of real paths; /tmp and /var are links.
	j.Read, j.Write, j.Protect = slices.Clone(j.Read), slices.Clone(j.Write), slices.Clone(j.Protect)
	for i, path := range j.Protect {
		j.Protect = append(j.Protect, resolved(path)) // a link, and what it leads to
		j.Protect[i] = filepath.Join(resolved(filepath.Dir(path)), filepath.Base(path))
	}
	for _, list := range [][]string{j.Read, j.Write} {
		for i, path := range list {
			list[i] = realPath(path)
		}
	}
	j.Dir = realPath(j.Dir)
	port := 0
	if j.Hosts != nil {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, diag.New(diag.Failed, "sandbox_start", "opening a proxy: %w", err)
		}
		p := newProxy(j.Hosts, j.Log)
		defer p.close()
		go p.serve(listener)
		port = listener.Addr().(*net.TCPAddr).Port
		j.Env = append(append([]string(nil), j.Env...), proxyEnvironment(port)...)
	}
	argv := append([]string{"sandbox-exec", "-p", seatbeltProfile(j, port), j.program}, j.Argv[1:]...)
	return plain(ctx, j, seatbeltProgram, argv)
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// ChangeTime is the time of the last change of a file or of what is known about it, in nanoseconds.
func ChangeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}

func guard() {}
