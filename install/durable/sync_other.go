//go:build unix && !linux

package durable

import "errors"

// Exchange is not available here.
func Exchange(a, b string) error { return errors.ErrUnsupported }

// SyncTree makes all that was written below dir durable.
func SyncTree(dir string) error { return syncEach(dir) }
