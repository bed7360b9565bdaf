// Package keep ends the servers that tests share when the process of the tests ends, however that is.
package keep

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// OnFreePort has start try free ports of 127.0.0.1, for somebody else may take one meanwhile.
func OnFreePort(start func(port int) error) error {
	var failed []error
	for range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		if err = start(port); err == nil {
			return nil
		}
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// Start starts a server in dir, with what it prints in the file log there, and waits until answers says that it does, which is given the error that the
// process ends with. Then it is kept as by [Until]; one that does not answer is killed, and dir stays.
func Start(cmd *exec.Cmd, signal, dir string, answers func(ended <-chan error) error) (end func() error, err error) {
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if err := answers(ended); err != nil {
		cmd.Process.Kill()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("%s does not start: %w: %s", filepath.Base(cmd.Path), err, text)
	}
	return Until(cmd.Process.Pid, signal, dir)
}

// pipes keep what waits for this process to end waiting. What nobody refers to would be closed.
var pipes []io.Closer

// Until starts a shell that waits for this process to end, sends the process pid the signal, waits for it to end, and removes dir. It does so
// before when end is called, which waits for that.
func Until(pid int, signal, dir string) (end func() error, err error) {
	keeper := exec.Command("sh", "-c", `trap "" INT TERM HUP; read -r line; kill -"$2" "$1"; while kill -0 "$1"; do sleep 0.1; done; rm -rf "$3"`,
		"sh", strconv.Itoa(pid), signal, dir)
	pipe, err := keeper.StdinPipe() // it ends with this process
	if err == nil {
		err = keeper.Start()
	}
	if err != nil {
		return nil, err
	}
	pipes = append(pipes, pipe)
	return func() error {
		pipe.Close()
		return keeper.Wait()
	}, nil
}
