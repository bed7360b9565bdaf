//go:build unix

package roots

import (
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/skl-project/skl/install/durable"
)

// statPath describes path itself, not what it links to.
func statPath(path string) (status, error) {
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Lstat(path, &st) }); err != nil {
		return status{}, &fs.PathError{Op: "lstat", Path: path, Err: err}
	}
	return toStatus(&st), nil
}

func toStatus(st *unix.Stat_t) status {
	s := status{stamp: stamp{size: int64(st.Size), mtime: st.Mtim.Nano(), ctime: st.Ctim.Nano(), inode: uint64(st.Ino)}}
	switch uint32(st.Mode) & unix.S_IFMT {
	case unix.S_IFREG:
		s.kind = regular
		s.executable = durable.HasModes && st.Mode&0o111 != 0
	case unix.S_IFDIR:
		s.kind = directory
		s.size = 0
	case unix.S_IFLNK:
		s.kind = link
	}
	return s
}

// readFile reads the regular file path into buf, growing it if needed, and
// describes what it read. It opens no link, pipe or device, and costs four
// system calls: an os.File costs twice as much.
func readFile(path string, buf []byte) ([]byte, status, error) {
	fail := func(op string, err error) ([]byte, status, error) {
		return nil, status{}, &fs.PathError{Op: op, Path: path, Err: err}
	}
	var fd int
	err := ignoringEINTR(func() (err error) {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		return err
	})
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := ignoringEINTR(func() error { return unix.Fstat(fd, &st) }); err != nil {
		return fail("fstat", err)
	}
	s := toStatus(&st)
	switch {
	case s.kind != regular:
		return fail("read", fs.ErrInvalid)
	case s.size > maxTreeBytes:
		return fail("read", errTooLarge)
	case int64(cap(buf)) <= s.size:
		buf = make([]byte, s.size+1)
	}
	buf = buf[:cap(buf)]
	n := 0
	for n < len(buf) { // one more byte than the size, so that growth is seen
		var m int
		err := ignoringEINTR(func() (err error) { m, err = unix.Read(fd, buf[n:]); return err })
		if err != nil {
			return fail("read", err)
		}
		if m == 0 {
			break
		}
		n += m
	}
	if int64(n) != s.size {
		return fail("read", errChanging)
	}
	return buf[:n], s, nil
}

func ignoringEINTR(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}
