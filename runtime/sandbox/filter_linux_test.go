//go:build amd64 || arm64

package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// decide runs a filter on one system call, as the kernel would, for the instructions that filters here have.
func decide(t *testing.T, program []byte, arch uint32, number uint32, args ...uint64) uint32 {
	t.Helper()
	data := binary.LittleEndian.AppendUint32(nil, number)
	data = binary.LittleEndian.AppendUint32(data, arch)
	data = binary.LittleEndian.AppendUint64(data, 0)
	for i := range 6 {
		var v uint64
		if i < len(args) {
			v = args[i]
		}
		data = binary.LittleEndian.AppendUint64(data, v)
	}
	var a uint32
	for pc := 0; pc*8 < len(program); pc++ {
		i := program[pc*8:]
		code, yes, no, k := binary.NativeEndian.Uint16(i), i[2], i[3], binary.NativeEndian.Uint32(i[4:])
		holds := false
		switch code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.LittleEndian.Uint32(data[k:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= k
			continue
		case unix.BPF_RET | unix.BPF_K:
			return k
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == k
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= k
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&k != 0
		default:
			t.Fatalf("instruction %d: unknown code %#x", pc, code)
		}
		if holds {
			pc += int(yes)
		} else {
			pc += int(no)
		}
	}
	t.Fatal("the program has no end")
	return 0
}

func TestFilter(t *testing.T) {
	cpu, ok := here()
	if !ok {
		t.Skip("no filter for this processor")
	}
	inside := filterProgram(cpu, []uint32{unix.AF_INET, unix.AF_INET6})
	closed := filterProgram(cpu, nil)
	if n := len(inside) / 8; n > 4096 {
		t.Fatalf("%d instructions, the kernel takes 4,096", n)
	}
	for _, c := range []struct {
		name   string
		number uint32
		args   []uint64
		want   uint32
		closed uint32
	}{
		{"read", unix.SYS_READ, nil, allow, allow},
		{"execve", unix.SYS_EXECVE, nil, allow, allow},
		{"an unknown call", 4000, nil, allow, allow},
		{"ptrace", unix.SYS_PTRACE, nil, deny, deny},
		{"clone a thread", unix.SYS_CLONE, []uint64{unix.CLONE_VM | unix.CLONE_THREAD}, allow, allow},
		{"clone a namespace", unix.SYS_CLONE, []uint64{unix.CLONE_NEWUSER}, deny, deny},
		{"clone3", unix.SYS_CLONE3, nil, never, never},
		{"ioctl of a terminal", unix.SYS_IOCTL, []uint64{0, unix.TCGETS}, allow, allow},
		{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, deny, deny},
		{"TIOCSTI with high bits", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI | 1<<32}, deny, deny},
		{"an internet socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, allow, deny},
		{"a raw socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_RAW | unix.SOCK_CLOEXEC}, deny, deny},
		{"a Unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, deny, deny},
		{"a netlink socket", unix.SYS_SOCKET, []uint64{unix.AF_NETLINK, unix.SOCK_DGRAM}, deny, deny},
		{"a pair of streams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_NONBLOCK}, allow, allow},
		{"a pair for datagrams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, deny, deny},
		{"open to read, rubbish as mode", unix.SYS_OPENAT, []uint64{0, 0, unix.O_RDONLY, 0o6755}, allow, allow},
		{"open a directory, rubbish as mode", unix.SYS_OPENAT, []uint64{0, 0, unix.O_DIRECTORY, 0o6755}, allow, allow},
		{"create", unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT, 0o755}, allow, allow},
		{"create setuid", unix.SYS_OPENAT, []uint64{0, 0, unix.O_CREAT, 0o4755}, deny, deny},
		{"a nameless setuid file", unix.SYS_OPENAT, []uint64{0, 0, unix.O_TMPFILE | unix.O_RDWR, 0o4755}, deny, deny},
		{"fchmod setgid", unix.SYS_FCHMOD, []uint64{0, 0o2755}, deny, deny},
		{"openat2", unix.SYS_OPENAT2, nil, never, never},
	} {
		if got := decide(t, inside, cpu.arch, c.number, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
		if got := decide(t, closed, cpu.arch, c.number, c.args...); got != c.closed {
			t.Errorf("%s without network: %#x, want %#x", c.name, got, c.closed)
		}
	}
	for _, number := range cpu.denied {
		if got := decide(t, inside, cpu.arch, number); got != deny {
			t.Errorf("call %d: %#x", number, got)
		}
	}
	if got := decide(t, inside, unix.AUDIT_ARCH_I386, unix.SYS_READ); got != kill {
		t.Errorf("another processor's call: %#x", got)
	}
	if got := decide(t, inside, cpu.arch, x32Bit|unix.SYS_READ); cpu.x32 && got != kill {
		t.Errorf("an x32 call: %#x", got)
	}
}
