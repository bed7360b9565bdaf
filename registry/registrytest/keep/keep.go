// Package keep ends the servers that tests share when the process of the tests ends, however that is.
package keep

import (
	"io"
	"os/exec"
	"strconv"
)

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
