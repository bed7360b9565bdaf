package main

import (
	"bufio"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A site is a registry: one process, or several that serve the same.
type site struct {
	name    string
	servers []*server
	behind  []int // processes of the database and the bucket, which others may be children of
}

// A server is a process.
type server struct {
	url     string
	command *exec.Cmd
	ready   time.Duration // from its start until /readyz says so; 0 if nobody asked
	idle    float64       // MiB
}

// url is where a client asks.
func (s *site) url(client int) string { return s.servers[client%len(s.servers)].url }

func (s *site) stop() {
	for _, p := range s.servers {
		p.command.Process.Kill()
		p.command.Wait()
	}
}

// start runs a command and waits for the line in which it says, behind before, where it listens. Whatever it logs is read, as
// somebody would who keeps it.
func start(name string, command *exec.Cmd, before string) *server {
	logs, write, err := os.Pipe()
	check(err)
	command.Stdout, command.Stderr = write, write
	check(command.Start())
	write.Close()
	address, last := make(chan string, 1), ""
	go func() {
		lines := bufio.NewScanner(logs)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			last = lines.Text()
			if _, after, found := strings.Cut(last, before); found {
				host, _, _ := strings.Cut(after, `"`)
				select {
				case address <- strings.TrimSpace(host):
				default:
				}
			}
		}
		close(address)
	}()
	select {
	case host, ok := <-address:
		if !ok {
			log.Fatalf("%s ended: %s", name, last)
		}
		return &server{url: "http://" + strings.TrimPrefix(host, "http://"), command: command}
	case <-time.After(time.Minute):
		log.Fatalf("%s does not listen", name)
	}
	return nil
}

func startDistribution(program, dir string) *server {
	check(os.MkdirAll(dir, 0o755))
	config := filepath.Join(dir, "config.yml")
	text := fmt.Sprintf("version: 0.1\nlog: {level: info, formatter: text, accesslog: {disabled: true}}\n"+
		"storage:\n  filesystem: {rootdirectory: %q, maxthreads: 100}\n  delete: {enabled: true}\nhttp: {addr: \"127.0.0.1:0\"}\n", filepath.Join(dir, "data"))
	check(os.WriteFile(config, []byte(text), 0o644))
	command := exec.Command(program, "serve", config)
	command.Env = append(os.Environ(), "OTEL_TRACES_EXPORTER=none")
	return start("distribution", command, "listening on ")
}

// startOurs runs the registry as anybody would, open as the other one is: with its limits, its log of requests, its metrics and
// its garbage collection as they are when nothing is configured.
func startOurs(program, dir string, args ...string) *server {
	check(os.MkdirAll(dir, 0o755))
	command := exec.Command(program, append([]string{"registry", "serve", "--open", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--json"}, args...)...)
	command.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "SKL_CONFIG=")
	began := time.Now()
	s := start("skl", command, `"addr":"`)
	for ; ; time.Sleep(time.Millisecond) {
		answer, err := http.Get(s.url + "/readyz")
		check(err)
		answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			s.ready = time.Since(began)
			return s
		}
		if time.Since(began) > time.Minute {
			log.Fatalf("%s is not ready", s.url)
		}
	}
}

// again ends a server of ours in order and starts it anew, on the data that it has.
func (s *server) again() *server {
	check(s.command.Process.Signal(os.Interrupt))
	s.command.Wait()
	var args []string
	for i, a := range s.command.Args {
		if a == "--data" {
			args = s.command.Args[i+1:] // DIR/data, --json, and what is behind
		}
	}
	return startOurs(s.command.Path, filepath.Dir(args[0]), args[2:]...)
}

// memory reads a size from the process's status, in MiB.
func (s *server) memory(field string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.command.Process.Pid))
	check(err)
	for line := range strings.Lines(string(status)) {
		if after, found := strings.CutPrefix(line, field+":"); found {
			var kib float64
			fmt.Sscan(after, &kib)
			return kib / 1024
		}
	}
	return 0
}

// watch starts the peak anew.
func (s *server) watch() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.command.Process.Pid), []byte("5"), 0)
}

// worked is the processor time that the servers of a site have used, and what is behind them, in seconds.
func (s *site) worked() (servers, behind float64) {
	all := processes()
	for _, p := range s.servers {
		servers += all[p.command.Process.Pid].seconds
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
	check(err)
	all := map[int]process{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		stat := string(text)
		open, end := strings.IndexByte(stat, '('), strings.LastIndexByte(stat, ')')
		pid, err := strconv.Atoi(strings.TrimSpace(stat[:open]))
		check(err)
		fields := strings.Fields(stat[end+1:]) // the third field on
		p := process{name: stat[open+1 : end]}
		p.parent, err = strconv.Atoi(fields[1])
		check(err)
		for _, ticks := range fields[11:15] { // user, system, and those of children
			n, err := strconv.ParseFloat(ticks, 64)
			check(err)
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
