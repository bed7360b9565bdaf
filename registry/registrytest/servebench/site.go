package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/skl-project/skl/registry/registrytest/program"
)

// A site is a registry: one process, or several that serve the same.
type site struct {
	name    string
	servers []*server
	behind  []int // processes of the database and the bucket, which others may be children of
}

// A server is a process.
type server struct {
	*program.Program
	dir   string
	start func() *program.Program // starts it, also anew
	ready time.Duration           // from its start until /readyz says so; 0 if nobody asked
	idle  float64                 // MiB
}

// url is where a client asks.
func (s *site) url(client int) string { return s.servers[client%len(s.servers)].URL }

// nameOf is what the tables call one of its servers.
func (s *site) nameOf(server int) string {
	if len(s.servers) == 1 {
		return s.name
	}
	return fmt.Sprintf("%s, %d", s.name, server+1)
}

func (s *site) stop() {
	for _, p := range s.servers {
		p.Stop()
	}
}

func startDistribution(registry, dir string) *server {
	program.Check(os.MkdirAll(dir, 0o755))
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, formatter: text, accesslog: {disabled: true}}\n"+
		"storage:\n  filesystem: {rootdirectory: %q, maxthreads: 100}\n  delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:0\"}\n", filepath.Join(dir, "data"))
	program.Check(os.WriteFile(config, []byte(text), 0o644))
	command := exec.Command(registry, "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	return &server{Program: program.Start("distribution", command, "listening on ")}
}

// startOurs runs the registry as anybody would, open as the other one is, and waits until it is ready.
func startOurs(skl, dir string, args ...string) *server {
	program.Check(os.MkdirAll(dir, 0o755))
	s := &server{dir: dir, start: func() *program.Program {
		return program.Registry(skl, dir, append([]string{"--data", filepath.Join(dir, "data")}, args...)...)
	}}
	s.run()
	return s
}

// run starts a server and waits until it is ready.
func (s *server) run() {
	began := time.Now()
	s.Program = s.start()
	for ; ; time.Sleep(time.Millisecond) {
		answer, err := http.Get(s.URL + "/readyz")
		program.Check(err)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			s.ready = time.Since(began)
			return
		}
		if time.Since(began) > time.Minute {
			program.Check(fmt.Errorf("%s is not ready", s.URL))
		}
	}
}

// end ends a server of ours in order.
func (s *server) end() {
	program.Check(s.Command.Process.Signal(os.Interrupt))
	s.Command.Wait()
	s.Stop()
}

// again ends a server of ours and starts it anew, on the data that it has.
func (s *server) again() {
	s.end()
	s.run()
}

// watch starts the peak anew.
func (s *server) watch() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.Command.Process.Pid), []byte("5"), 0)
}

// worked is the processor time that the servers of a site have used, and what is behind them, in seconds.
func (s *site) worked() (servers, behind float64) {
	all := processes()
	for _, p := range s.servers {
		servers += all[p.Command.Process.Pid].seconds
	}
	for pid, p := range all {
		for _, root := range s.behind {
			if pid == root || p.parent == root {
				behind += p.seconds
			}
		}
	}
	return servers, behind
}

// A process is what /proc says of one: its time is with that of its children that ended.
type process struct {
	name    string
	parent  int
	seconds float64
}

func processes() map[int]process {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	program.Check(err)
	all := map[int]process{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		stat := string(text)
		open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		pid, err := strconv.Atoi(strings.TrimSpace(stat[:open]))
		program.Check(err)
		fields := strings.Fields(stat[end+1:]) // the third field on
		p := process{name: stat[open+1 : end]}
		p.parent, err = strconv.Atoi(fields[1])
		program.Check(err)
		for _, ticks := range fields[11:15] { // user, system, and those of children
			n, err := strconv.ParseFloat(ticks, 64)
			program.Check(err)
			p.seconds += n / 100 // clock ticks: Linux has 100 a second towards programs
		}
		all[pid] = p
	}
	return all
}

// children are the processes of some names that this one started.
func children(names ...string) (pids []int) {
	for pid, p := range processes() {
		for _, name := range names {
			if p.parent == os.Getpid() && p.name == name {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}
