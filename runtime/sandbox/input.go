package sandbox

import (
	"io"
	"os"
	"os/exec"
)

// input connects r with the standard input of cmd. What it returns is called after the start.
//
// A regular file is handed over as it is. Everything else is copied into a pipe: a terminal must not get into the
// sandbox, and a reader that blocks must not keep Run from returning. Its goroutine is the one that nobody awaits.
func input(cmd *exec.Cmd, r io.Reader) (func(), error) {
	if f, ok := r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			cmd.Stdin = f
			return func() {}, nil
		}
	}
	if r == nil {
		return func() {}, nil
	}
	w, err := cmd.StdinPipe()
	return func() {
		go func() {
			io.Copy(w, r)
			w.Close()
		}()
	}, err
}
