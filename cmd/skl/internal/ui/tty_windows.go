package ui

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// readable waits until f has bytes, at most for d.
func readable(f *os.File, d time.Duration) (bool, error) {
	event, err := windows.WaitForSingleObject(windows.Handle(f.Fd()), uint32(d.Milliseconds()))
	return event == windows.WAIT_OBJECT_0, err
}

// suspend does nothing: there is no ctrl-z.
func suspend(<-chan os.Signal) {}

// obeys prepares a terminal for the sequences that are sent to it.
func obeys(fd uintptr) bool {
	var mode uint32
	if windows.GetConsoleMode(windows.Handle(fd), &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(windows.Handle(fd), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// watchContinued does nothing: there is no ctrl-z.
func watchContinued(chan os.Signal) func() { return func() {} }
