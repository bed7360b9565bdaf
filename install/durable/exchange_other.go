//go:build unix && !linux && !darwin

package durable

import (
	"errors"
	"os"
)

// ExchangeAt is not available here.
func ExchangeAt(dirA *os.File, a string, dirB *os.File, b string) error { return errors.ErrUnsupported }
