package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// A filter is a seccomp program in the making: classic BPF over struct seccomp_data, whose fields lie at these offsets.
type filter []unix.SockFilter

const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16 // eight bytes each, low half first: all processors here are little endian

	x32Bit = 0x40000000 // x86-64: the number of a system call of the x32 mode

	// every flag of clone(2) that makes a namespace; new time namespaces cannot be asked for there
	cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

	allow = unix.SECCOMP_RET_ALLOW
	kill  = unix.SECCOMP_RET_KILL_PROCESS
	deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	never = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filterProgram builds the filter for a processor. families are the protocol families of socket(2) that are left;
// the filter denies what is on a list, so that programs of the future still run, and gives the errors that libraries
// know how to live with: clone3 looks as if the kernel had none, since its flags lie in memory that a filter cannot
// read, and callers then use clone.
func filterProgram(cpu processor, families []uint32) []byte {
	var f filter
	f.load(offsetArch)
	f.unless(cpu.arch, kill)
	f.load(offsetNumber)
	if cpu.x32 {
		f.jump(unix.BPF_JGE, x32Bit, 0, 1)
		f.ret(kill)
	}
	f.when(cpu.clone3, never)
	f.when(cpu.openat2, never) // its mode lies in memory; callers then use openat
	for _, number := range cpu.denied {
		f.when(number, deny)
	}
	f.section(cpu.clone, func(f *filter) {
		f.load(offsetArgs)
		f.jump(unix.BPF_JSET, cloneNamespaces, 0, 1)
		f.ret(deny)
	})
	for _, c := range cpu.modes {
		// A program must not leave files behind that turn others into the person who ran it.
		f.section(c.number, func(f *filter) {
			if c.flags != 0 {
				f.load(offsetArgs + 8*c.flags)
				f.jump(unix.BPF_JSET, unix.O_CREAT|unix.O_TMPFILE&^unix.O_DIRECTORY, 1, 0)
				f.ret(allow)
			}
			f.load(offsetArgs + 8*c.mode)
			f.jump(unix.BPF_JSET, unix.S_ISUID|unix.S_ISGID, 0, 1)
			f.ret(deny)
		})
	}
	f.section(cpu.ioctl, func(f *filter) {
		f.load(offsetArgs + 8)
		// typing into a terminal, pasting into a console, taking over its messages, becoming its owner
		for _, request := range []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCCONS, unix.TIOCSCTTY} {
			f.when(request, deny)
		}
	})
	f.section(cpu.socket, func(f *filter) {
		f.load(offsetArgs + 8)
		f.op(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
		f.when(unix.SOCK_RAW, deny)
		f.when(unix.SOCK_PACKET, deny)
		f.load(offsetArgs)
		for _, family := range families {
			f.when(family, allow)
		}
		f.ret(deny)
	})
	f.section(cpu.socketpair, func(f *filter) {
		// Datagram pairs can be pointed at other sockets later; streams cannot.
		f.load(offsetArgs)
		f.unless(unix.AF_UNIX, deny)
		f.load(offsetArgs + 8)
		f.op(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, 0xf)
		f.when(unix.SOCK_DGRAM, deny)
	})
	f.ret(allow)
	return f.bytes()
}

func (f *filter) op(code uint16, k uint32) { *f = append(*f, unix.SockFilter{Code: code, K: k}) }

func (f *filter) load(offset uint32) { f.op(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, offset) }

func (f *filter) ret(action uint32) { f.op(unix.BPF_RET|unix.BPF_K, action) }

// jump skips yes instructions if the comparison holds, else no.
func (f *filter) jump(compare uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | compare | unix.BPF_K, Jt: yes, Jf: no, K: k})
}

// when ends with action if the loaded value is k.
func (f *filter) when(k, action uint32) {
	f.jump(unix.BPF_JEQ, k, 0, 1)
	f.ret(action)
}

// unless ends with action if the loaded value is not k.
func (f *filter) unless(k, action uint32) {
	f.jump(unix.BPF_JEQ, k, 1, 0)
	f.ret(action)
}

// section runs body for one system call, whose number is loaded, and allows what body does not decide.
func (f *filter) section(number uint32, body func(*filter)) {
	var inner filter
	body(&inner)
	inner.ret(allow)
	f.jump(unix.BPF_JEQ, number, 0, uint8(len(inner)))
	*f = append(*f, inner...)
}

// bytes lays the program out as an array of struct sock_filter.
func (f filter) bytes() []byte {
	var b []byte
	for _, i := range f {
		b = binary.NativeEndian.AppendUint16(b, i.Code)
		b = append(b, i.Jt, i.Jf)
		b = binary.NativeEndian.AppendUint32(b, i.K)
	}
	return b
}

// A processor is what a filter has to know about one: its name for the kernel, and numbers of system calls.
type processor struct {
	arch uint32
	x32  bool // has a second numbering with x32Bit set

	clone, clone3, ioctl, socket, socketpair, openat2 uint32

	modes  []modeArg // calls that give a file its mode
	denied []uint32
}

// A modeArg says which argument of a system call is the mode of a file, and which holds the flags that decide whether
// it is looked at; 0 where it always is.
type modeArg struct{ number, mode, flags uint32 }
