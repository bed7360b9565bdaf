package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A server is a registry that runs as a process.
type server struct {
	name    string
	url     string
	command *exec.Cmd
	idle    float64 // MiB
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
		for lines := bufio.NewScanner(logs); lines.Scan(); {
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
		return &server{name: name, url: "http://" + strings.TrimPrefix(host, "http://"), command: command}
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
func startOurs(program, dir string) *server {
	check(os.MkdirAll(dir, 0o755))
	command := exec.Command(program, "registry", "serve", "--open", "--addr", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--json")
	command.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME=", "SKL_CONFIG=")
	return start("skl", command, `"addr":"`)
}

func (s *server) stop() {
	s.command.Process.Kill()
	s.command.Wait()
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

// worked is the processor time that the server has used, in seconds.
func (s *server) worked() float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.command.Process.Pid))
	check(err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // the third field on
	var user, system float64
	fmt.Sscan(fields[11], &user)
	fmt.Sscan(fields[12], &system)
	return (user + system) / 100 // clock ticks: Linux has 100 a second towards programs
}

// watch starts the peak anew.
func (s *server) watch() {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.command.Process.Pid), []byte("5"), 0)
}
