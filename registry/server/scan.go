package server

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/skl-project/skl/registry"
	"github.com/skl-project/skl/spec/diag"
)

// Exit statuses of a scanner, after those of skl itself.
const (
	scanQuarantine = 3
	scanRefuse     = 4
)

// maxScanOutput bounds what is read of a scanner's answer, in bytes.
const maxScanOutput = 4 << 10

// ScanCommand is a scan hook that runs a program, without a shell, with the path of the release's zip
// archive as last argument. Exit status 0 lets the release pass, 3 holds it in quarantine, 4 refuses
// it, and the first line of its output says why. Anything else, and a scan that takes longer than
// timeout, fails the publish with code unavailable: nothing is published unseen.
func ScanCommand(command []string, timeout time.Duration, tempDir string) func(context.Context, registry.Candidate) (registry.Verdict, error) {
	return func(ctx context.Context, c registry.Candidate) (registry.Verdict, error) {
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		f, err := os.CreateTemp(tempDir, "scan-*.zip")
		if err != nil {
			return registry.Verdict{}, err
		}
		defer os.Remove(f.Name())
		_, err = f.Write(c.Zip)
		if err = errors.Join(err, f.Close()); err != nil {
			return registry.Verdict{}, err
		}
		cmd := exec.CommandContext(ctx, command[0], append(command[1:len(command):len(command)], f.Name())...)
		cmd.Env = append(os.Environ(), "SKL_SCAN_NAME="+c.Release.Repo(), "SKL_SCAN_VERSION="+c.Release.Version, "SKL_SCAN_MANIFEST="+c.Release.Manifest)
		var out clipped
		cmd.Stdout = &out
		cmd.WaitDelay = time.Second // a child that outlives it keeps its output open
		err = cmd.Run()
		reason, _, _ := strings.Cut(strings.TrimSpace(out.kept.String()), "\n")
		reason = diag.Printable(strings.TrimSpace(reason))
		status := cmd.ProcessState.ExitCode()
		switch {
		case err == nil:
			return registry.Verdict{}, nil
		case ctx.Err() == nil && status == scanQuarantine:
			return registry.Verdict{Quarantine: true, Reason: reason}, nil
		case ctx.Err() == nil && status == scanRefuse:
			return registry.Verdict{Refuse: true, Reason: reason}, nil
		}
		e := diag.New(diag.Failed, "unavailable", "the scanner gave no verdict, so nothing was published")
		e.Err, e.Retryable = err, true
		return registry.Verdict{}, e
	}
}

// clipped keeps the beginning of what is written to it.
type clipped struct{ kept bytes.Buffer }

func (c *clipped) Write(p []byte) (int, error) {
	if room := maxScanOutput - c.kept.Len(); room > 0 {
		c.kept.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
