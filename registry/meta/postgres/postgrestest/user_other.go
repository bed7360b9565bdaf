//go:build !unix

package postgrestest

import (
	"errors"
	"os/exec"
)

func give(string) error { return nil }

func as(*exec.Cmd) {}

func kill(int, func() ([]int, error)) error { return errors.ErrUnsupported }
