package search

import (
	"context"
	"os"
	"os/exec"
	"slices"

	"github.com/skl-project/skl/index"
)

// background is the variable that says, with one of "on", "yes", "true" and "1", that a process may go on when a command has ended.
const background = "SKL_INDEX_BACKGROUND"

// mayGoOn reports what the variable says: nothing outlives a command that was not told so. A value that means neither is taken as off.
func (s *Searcher) mayGoOn() bool {
	switch v := s.Scope.Getenv(background); v {
	case "on", "yes", "true", "1":
		return true
	case "", "off", "no", "false", "0":
	default:
		s.Scope.Tell.Warn("%s is %q and is taken as off: it is on or off", background, v)
	}
	return false
}

// goOn starts, unless somebody indexes the directory already, a process of this program that reads what an answer did not cover. It
// outlives this one, at a lower priority, and ends when everything is indexed. Whether it runs is returned.
func (s *Searcher) goOn(ctx context.Context, x searched, p Place, missing bool) bool {
	one, ok := x.(*index.Index)
	if !missing || !ok || !s.mayGoOn() {
		return false
	}
	if one.Busy(ctx) {
		return true
	}
	program, err := os.Executable()
	if err != nil {
		return false
	}
	args := []string{"skl", "index", "--path", one.Root()}
	for _, pattern := range p.LeftOut {
		args = append(args, "--left-out", pattern)
	}
	cmd := &exec.Cmd{Path: program, Args: args, Dir: one.Root(), Env: append(slices.Clip(s.Scope.Environ), background+"=off")}
	detach(cmd)
	if cmd.Start() != nil {
		return false // the next question goes on where this one ended
	}
	lower(cmd.Process.Pid)
	_ = cmd.Process.Release()
	return true
}
