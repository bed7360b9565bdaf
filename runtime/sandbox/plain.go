package sandbox

import (
	"context"
	"errors"
	"os/exec"
	"time"

	"github.com/skl-project/skl/runtime/internal/family"
	"github.com/skl-project/skl/spec/diag"
)

// patience is how long pipes may stay open after a program has ended.
const patience = 2 * time.Second

// plain runs a program as an ordinary child with a process group of its own, which is killed as a whole.
func plain(ctx context.Context, j *job, program string, argv []string) (int, error) {
	cmd := exec.Command(program)
	cmd.Args, cmd.Dir, cmd.Env = argv, j.Dir, j.Env
	cmd.Stdout, cmd.Stderr = j.stdout, j.stderr
	cmd.WaitDelay = patience
	ownGroup(cmd)
	all := family.Of(cmd)
	feed, err := input(cmd, j.Stdin)
	if err == nil {
		err = all.Start()
	}
	if err != nil {
		return 0, diag.New(diag.Failed, "sandbox_program", "starting %s: %w", program, err)
	}
	defer all.End()
	feed()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		all.Kill()
		<-ended
		return -1, errStopped
	}
	all.Kill() // what it left running
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exitCode(exit), nil
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		return 0, diag.New(diag.Failed, "sandbox_start", "waiting for %s: %w", program, err)
	}
	return 0, nil
}
