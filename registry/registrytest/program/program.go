// Package program runs the servers that benchmarks measure, as anybody would run them. An error ends the benchmark, and with it all of them.
package program

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Program is a server that runs.
type Program struct {
	URL     string
	Command *exec.Cmd
}

// running are the programs to end after an error.
var running struct {
	mu  sync.Mutex
	all map[*Program]bool // guarded by mu
}

// Start runs a command and waits for the line in which it says, behind before, where it listens. Whatever it logs is read, as
// somebody would who keeps it.
func Start(name string, command *exec.Cmd, before string) *Program {
	logs, write, err := os.Pipe()
	Check(err)
	command.Stdout, command.Stderr = write, write
	Check(command.Start())
	write.Close()
	p := &Program{Command: command}
	running.mu.Lock()
	if running.all == nil {
		running.all = map[*Program]bool{}
	}
	running.all[p] = true
	running.mu.Unlock()
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
			Check(fmt.Errorf("%s ended: %s", name, last))
		}
		p.URL = "http://" + strings.TrimPrefix(host, "http://")
	case <-time.After(time.Minute):
		Check(fmt.Errorf("%s does not listen", name))
	}
	return p
}

// Registry runs "skl registry serve", open, with further arguments, its limits, its log of requests, its metrics and its garbage collection as they
// are when nothing is configured. Home is where it has its user's files.
func Registry(skl, home string, args ...string) *Program {
	command := exec.Command(skl, append([]string{"registry", "serve", "--open", "--addr", "127.0.0.1:0", "--json"}, args...)...)
	command.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "SKL_CONFIG=")
	return Start("skl", command, `"addr":"`)
}

// Stop kills the program.
func (p *Program) Stop() {
	running.mu.Lock()
	delete(running.all, p)
	running.mu.Unlock()
	p.Command.Process.Kill()
	p.Command.Wait()
}

// Memory reads a size from the program's status, in MiB.
func (p *Program) Memory(field string) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Command.Process.Pid))
	Check(err)
	for line := range strings.Lines(string(status)) {
		if after, found := strings.CutPrefix(line, field+":"); found {
			var kib float64
			fmt.Sscan(after, &kib)
			return kib / 1024
		}
	}
	return 0
}

// Check ends the benchmark and all that runs, if err is one.
func Check(err error) {
	if err == nil {
		return
	}
	running.mu.Lock() // for good
	for p := range running.all {
		p.Command.Process.Kill()
	}
	log.Fatal(err)
}
