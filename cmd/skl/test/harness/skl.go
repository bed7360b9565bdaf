package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
)

// scriptPatience is how long one command line may take. It ends what hangs; nothing is expected to take as long.
const scriptPatience = 5 * time.Minute

// skl ARGS…: carries out a command line of skl, which has to succeed, or with "!" to fail. Standard input is empty: a line that
// reads it, that goes on in the background or that is killed is an "exec skl …".
func inProcess(ts *testscript.TestScript, neg bool, args []string) {
	switch status := runSkl(ts, args); {
	case neg && status == 0:
		ts.Fatalf("unexpected command success")
	case !neg && status != 0:
		ts.Fatalf("skl exits with %d", status)
	}
}

// runSkl carries out one command line with the script's directory and variables, and returns its exit status.
func runSkl(ts *testscript.TestScript, args []string) int {
	status, _ := runSaid(ts, args)
	return status
}

// runSaid is runSkl, and what the command said on both of its outputs.
func runSaid(ts *testscript.TestScript, args []string) (int, string) {
	if built != "" {
		n := execStatus(ts, "skl", args)
		return n, ts.ReadFile("stdout") + ts.ReadFile("stderr")
	}
	var both, said strings.Builder
	var mu sync.Mutex
	process := cli.Process{Dir: ts.MkAbs("."), Environ: Environ(ts),
		Stdout: locked{&mu, io.MultiWriter(ts.Stdout(), &both)}, Stderr: locked{&mu, io.MultiWriter(ts.Stderr(), &said, &both)}}
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	status, fault := make(chan int, 1), make(chan string, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				fault <- fmt.Sprintf("panic: %v\n%s", r, debug.Stack())
			}
		}()
		status <- cli.Run(ctx, args, process)
	}()
	select {
	case n := <-status:
		checkHints(ts, said.String())
		if !testing.Short() {
			followHints(ts, args, n, said.String())
		}
		return n, both.String()
	case text := <-fault:
		ts.Fatalf("skl %s: %s", strings.Join(args, " "), text)
	case <-time.After(scriptPatience + 10*time.Second):
		stacks := make([]byte, 1<<20)
		ts.Fatalf("skl %s does not end:\n%s", strings.Join(args, " "), stacks[:runtime.Stack(stacks, true)])
	}
	return -1, ""
}

// A locked writer may be written to concurrently, as a file may.
type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}

// execStatus runs a program as exec does and returns its exit status.
func execStatus(ts *testscript.TestScript, program string, args []string) int {
	err := ts.Exec(program, args...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode()
	}
	ts.Check(err)
	return 0
}

// variables are the names of a script's environment, which testscript tells nobody.
type variables map[string]bool

type variablesKey struct{}

var envLine = regexp.MustCompile(`(?m)^(?:\[[^\]]*\] )*env (.*)$`)

// noteVariables remembers those that a script begins with.
func noteVariables(env *testscript.Env) {
	v := variables{}
	for _, one := range env.Vars {
		name, _, _ := strings.Cut(one, "=")
		v[name] = true
	}
	env.Values[variablesKey{}] = v
}

// noteEnvLines adds those that the lines "env NAME=VALUE" of a script set.
func noteEnvLines(env *testscript.Env, script string) {
	v := env.Values[variablesKey{}].(variables)
	for _, line := range envLine.FindAllStringSubmatch(script, -1) {
		for _, word := range strings.Fields(line[1]) {
			if name, _, ok := strings.Cut(word, "="); ok {
				v[strings.TrimLeft(name, "'")] = true
			}
		}
	}
}

// setenv is ts.Setenv for commands of ours.
func setenv(ts *testscript.TestScript, name, value string) {
	ts.Value(variablesKey{}).(variables)[name] = true
	ts.Setenv(name, value)
}

// Environ are the variables of a script, as a command of it has them.
func Environ(ts *testscript.TestScript) (out []string) {
	for _, name := range slices.Sorted(maps.Keys(ts.Value(variablesKey{}).(variables))) {
		out = append(out, name+"="+ts.Getenv(name))
	}
	return append(out, "PWD="+ts.MkAbs("."))
}
