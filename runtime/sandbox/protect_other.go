//go:build !linux

package sandbox

// A pin and a placeholder belong to the mounts of Linux.
type (
	pin         struct{}
	placeholder struct{ path string }
)

func (*placeholder) remove() bool { return true }

func (*shield) plan(*job) (open, links []string, err error) { return nil, nil, nil }
