// Package family starts programs so that what they start ends with them.
//
// On Unix a family is a process group: whoever makes the command gives it one of its own by its SysProcAttr. On Windows it
// is a job object that the program is put into before it runs. Elsewhere only the program itself is ended.
package family

import "os/exec"

// A Family is a program and what it starts. Kill may be called at any time, from any goroutine.
type Family struct {
	cmd *exec.Cmd
	system
}

// Of is the family of cmd, which was not started.
func Of(cmd *exec.Cmd) *Family { return &Family{cmd: cmd} }

// Start starts the program, as [exec.Cmd.Start] does.
func (f *Family) Start() error { return f.start(f.cmd) }

// Kill ends every process of the family that still runs. Its error is [os.ErrProcessDone] if there is none.
func (f *Family) Kill() error { return f.kill(f.cmd) }

// End forgets the family once its program has ended. On Windows what the program left running ends with that.
func (f *Family) End() { f.end() }
