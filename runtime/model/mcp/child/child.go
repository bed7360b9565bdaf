// Package child runs an agent program as a child process that answers one
// request of a model, and lends it the tools of that request.
//
//   - The program runs in a group of processes of its own. The group is killed
//     when the context ends, and when the program stays after its last word.
//   - It sees the variables that [Keep] takes, and nothing else of the
//     environment of skl.
//   - Its lines are read up to MaxLine bytes each and MaxOutput bytes in all;
//     of what it complains about the last 4 KiB are kept.
//   - Tools reach it through an MCP server on 127.0.0.1 that lives as long as
//     the request, at an address and with a token that nobody can guess. It has
//     the tools of the request and no other; each call goes through
//     Request.Call, which allows or denies.
package child

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/internal/family"
)

const (
	MaxLine   = 8 << 20   // bytes of a line
	MaxOutput = 256 << 20 // bytes of all lines
	tailBytes = 4 << 10   // of what the program complains about
	patience  = 10 * time.Second
)

// ErrDone tells [Run] that the line was the program's last word: what it still
// does is of no interest, and it is killed if it takes too long.
var ErrDone = errors.New("last line")

// A Command is a program to run. All of it is decided by the caller: nothing
// is taken from the process of skl.
type Command struct {
	Program string // a name that is looked up in PATH, or a path
	Args    []string
	Env     []string
	Dir     string
	Stdin   string
	Line    func(line []byte) error // receives what it prints, line by line, from one goroutine; an error ends the program
}

// An Exit is how a program ended.
type Exit struct {
	Code int    // -1 when a signal ended it
	Tail string // the end of its standard error, trimmed
}

// Run runs c and waits for its end. The error is ctx's when ctx ended, an
// [exec.Error] when the program is not there, [ErrTooLong], or what Line said;
// how the program judges itself is in Exit.
func Run(ctx context.Context, c Command) (Exit, error) {
	if err := ctx.Err(); err != nil {
		return Exit{}, err
	}
	cmd := exec.CommandContext(ctx, c.Program, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.Dir, c.Env, strings.NewReader(c.Stdin)
	complaints := &tail{}
	cmd.Stderr = complaints
	ownGroup(cmd)
	all := family.Of(cmd)
	cmd.Cancel = all.Kill
	// A grandchild that left the group could hold the pipes open for ever.
	cmd.WaitDelay = 2 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Exit{}, err
	}
	if err := all.Start(); err != nil {
		return Exit{}, err
	}
	defer all.End()
	lineErr := lines(out, c.Line)
	last := errors.Is(lineErr, ErrDone)
	var late *time.Timer
	switch {
	case last:
		// Reading on keeps the program from blocking on a full pipe while it ends.
		late = time.AfterFunc(patience, func() { all.Kill() })
		io.Copy(io.Discard, io.LimitReader(out, MaxOutput))
	case lineErr != nil:
		all.Kill()
	}
	waitErr := cmd.Wait()
	if late != nil {
		late.Stop()
	}
	exit := Exit{Code: cmd.ProcessState.ExitCode(), Tail: complaints.String()}
	switch {
	case last:
		// Said before ctx ended, it counts.
		return exit, nil
	case ctx.Err() != nil:
		return exit, ctx.Err()
	case lineErr != nil:
		return exit, lineErr
	}
	if _, isExit := errors.AsType[*exec.ExitError](waitErr); isExit || errors.Is(waitErr, exec.ErrWaitDelay) {
		waitErr = nil
	}
	return exit, waitErr
}

// ErrTooLong is a program that prints more than MaxLine or MaxOutput.
var ErrTooLong = errors.New("it printed more than is read")

// lines calls line for each line of r that is not empty.
func lines(r io.Reader, line func([]byte) error) error {
	limited := &io.LimitedReader{R: r, N: MaxOutput}
	s := bufio.NewScanner(limited)
	s.Buffer(make([]byte, 0, 64<<10), MaxLine)
	for s.Scan() {
		b := bytes.TrimSpace(s.Bytes())
		if len(b) == 0 {
			continue
		}
		if err := line(b); err != nil {
			return err
		}
	}
	if errors.Is(s.Err(), bufio.ErrTooLong) || limited.N <= 0 {
		return ErrTooLong
	}
	// Other errors are the pipe's end after a kill; Wait says more.
	return nil
}

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex // guards kept: a killed program's copying may outlive Wait
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-tailBytes):]...)
	t.kept = append(t.kept[:0], t.kept[max(0, len(t.kept)-tailBytes):]...)
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(t.kept)), "\uFFFD")
}

// Sentence is the last line of what the program complained about, for an error
// of one line: at most 300 bytes, "" when it said nothing.
func (e Exit) Sentence() string {
	s := e.Tail[strings.LastIndexByte(e.Tail, '\n')+1:]
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + " …"
	}
	return s
}

// String is "exit status 1: the last complaint".
func (e Exit) String() string {
	s := fmt.Sprintf("exit status %d", e.Code)
	if e.Code < 0 {
		s = "ended by a signal"
	}
	if said := e.Sentence(); said != "" {
		s += ": " + said
	}
	return s
}
