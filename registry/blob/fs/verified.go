package fs

import (
	"bytes"
	"container/list"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/skl-project/skl/registry/blob"
)

// An identity changes when a file is written or replaced. Ctime and inode are 0 where
// the system does not tell them.
type identity struct {
	inode, size, modified, changed int64
}

func (i identity) String() string {
	return fmt.Sprintf("/%x/%x/%x/%x", i.inode, i.size, i.modified, i.changed)
}

// verified remembers which files held what their name says, a bounded number of them, for a while.
type verified struct {
	mu     sync.Mutex // guards what follows
	byName map[blob.Digest]*list.Element
	recent *list.List // of entry, last used first
}

type entry struct {
	digest blob.Digest
	id     identity
	until  time.Time
}

func (v *verified) has(d blob.Digest, id identity) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	e, ok := v.byName[d]
	if !ok {
		return false
	}
	if known := e.Value.(entry); known.id != id || time.Now().After(known.until) {
		v.remove(e)
		return false
	}
	v.recent.MoveToFront(e)
	return true
}

// add remembers a file that was just hashed, unless it is so young that a change since
// then could have left its times as they are: many systems count them in steps of milliseconds.
func (v *verified) add(d blob.Digest, id identity) {
	if time.Now().UnixNano()-max(id.changed, id.modified) > int64(100*time.Millisecond) {
		v.remember(d, id)
	}
}

func (v *verified) remember(d blob.Digest, id identity) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byName == nil {
		v.byName, v.recent = make(map[blob.Digest]*list.Element), list.New()
	}
	if e, ok := v.byName[d]; ok {
		v.remove(e)
	}
	v.byName[d] = v.recent.PushFront(entry{d, id, time.Now().Add(trust)})
	if v.recent.Len() > known {
		v.remove(v.recent.Back())
	}
}

func (v *verified) drop(d blob.Digest) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if e, ok := v.byName[d]; ok {
		v.remove(e)
	}
}

func (v *verified) remove(e *list.Element) {
	delete(v.byName, e.Value.(entry).digest)
	v.recent.Remove(e)
}

// file is large content: the open file, which by SyscallConn a server can hand to the kernel whole.
type file struct {
	f    *os.File
	size int64
}

func (f *file) Read(p []byte) (int, error)                   { return f.f.Read(p) }
func (f *file) ReadAt(p []byte, off int64) (int, error)      { return f.f.ReadAt(p, off) }
func (f *file) Seek(offset int64, whence int) (int64, error) { return f.f.Seek(offset, whence) }
func (f *file) WriteTo(w io.Writer) (int64, error)           { return f.f.WriteTo(w) }
func (f *file) SyscallConn() (syscall.RawConn, error)        { return f.f.SyscallConn() }
func (f *file) Close() error                                 { return f.f.Close() }
func (f *file) Size() int64                                  { return f.size }

// memory is small content, which was hashed as it is.
type memory struct{ content *bytes.Reader }

func newMemory(content []byte) memory { return memory{bytes.NewReader(content)} }

func (m memory) Read(p []byte) (int, error)                   { return m.content.Read(p) }
func (m memory) ReadAt(p []byte, off int64) (int, error)      { return m.content.ReadAt(p, off) }
func (m memory) Seek(offset int64, whence int) (int64, error) { return m.content.Seek(offset, whence) }
func (m memory) Size() int64                                  { return m.content.Size() }
func (m memory) Close() error                                 { return nil }
