package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// syncTime is how long Sync waits for a system that is slow to tell.
const syncTime = 200 * time.Millisecond

// Sync returns when what changed before the call has been told to [Watcher.Changes]. Systems tell changes in order, so it
// makes one of its own, in Walker.Marks, and waits for that. If it is not told within 200 ms, or cannot be made, or comes while
// rules wait to be read anew, everything may have changed. Without Walker.Marks it does nothing. Its error is that of ctx.
func (x *Watcher) Sync(ctx context.Context) error {
	if x.marks == "" {
		return nil
	}
	told := make(chan struct{})
	x.mu.Lock()
	x.marked++
	name := filepath.Join(x.marks, fmt.Sprintf("%d-%d", os.Getpid(), x.marked))
	if x.awaited == nil {
		x.awaited = make(map[string]chan struct{})
	}
	x.awaited[name] = told
	x.mu.Unlock()
	defer func() {
		x.mu.Lock()
		delete(x.awaited, name)
		x.mu.Unlock()
	}()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		x.tellAll(nil)
		return ctx.Err()
	}
	f.Close()
	defer os.Remove(name)
	late := time.NewTimer(syncTime)
	defer late.Stop()
	select {
	case <-told:
	case <-x.done:
	case <-late.C:
		x.tellAll(nil)
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// isMark says whether an event is of a file of Sync, and wakes the one that waits for it.
func (x *Watcher) isMark(name string) bool {
	if x.marks == "" || !strings.HasPrefix(name, x.marks+string(filepath.Separator)) {
		return false
	}
	if x.stale {
		x.tellAll(nil) // what happened to files that the old rules leave out was not told
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if told, ok := x.awaited[name]; ok {
		close(told)
		delete(x.awaited, name)
	}
	return true
}
