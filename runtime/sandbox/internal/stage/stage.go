// Package stage is what runs between skl and a confined program on Linux.
//
// The parent starts skl's own binary again, with [Variable] in the environment and one end of a socket pair as file
// descriptor [Socket]. Before any other work the new process notices the variable, reads a [Config] from the socket,
// takes its rights away, starts the program and waits for it. It stays as the parent of everything that the program
// starts: in a PID namespace it is process 1.
//
// This happens in a package initialiser and not in main. The language orders initialisers by import path among those
// whose imports are ready, and this package imports nothing but syscall, so it is reached about 10 ms of CPU before
// main is: that is the difference between a sandbox that starts in time and one that does not. The price for everyone
// else is one look into the environment. For the same reason nothing here may import fmt, os, time or x/sys.
//
// The rights are taken from one thread, which starts the program and then ends. The first thread keeps the
// capabilities of its own user namespace, so that the program, which lives in a Landlock domain, can neither trace nor
// signal it. The process holds no secrets: it is a fresh image and its memory is not dumpable.
//
// Protocol on the socket: the parent sends one Config. The stage answers with messages that begin with one letter:
//
//	L                       carries the listening socket of 127.0.0.1:ProxyPort
//	S flags pid(4)          the program runs; flags say which extras were granted
//	X status(4)             the program ended with this wait status
//	E step(1) errno(4)      nothing was started
//
// When the parent's end closes, the stage kills what it started and ends.
package stage

const (
	// Variable tells a process that it is a stage. Its value is the number of the socket.
	Variable = "SKL_SANDBOX_STAGE"
	// Socket is the file descriptor of the socket pair.
	Socket = 3
	// Ruleset is the file descriptor of the Landlock ruleset, if there is one.
	Ruleset = 4
	// ProxyPort is the port of the proxy inside a network namespace of its own, where every port is free.
	ProxyPort = 3128
	// MaxConfig bounds an encoded Config, in bytes.
	MaxConfig = 8 << 20
)

// Flags of the message S.
const (
	HasProc   = 1 << iota // /proc shows the processes of this sandbox only
	HasShm                // /dev/shm is private
	HasPidMax             // the namespace bounds the number of processes
)

// A Step is what a stage was doing when it gave up.
type Step byte

// Steps of a stage, in their order.
const (
	ReadConfig Step = iota
	MountTree
	Protect
	OpenProxy
	Landlock
	Privileges
	Limits
	Seccomp
	Start
)

func (s Step) String() string {
	names := [...]string{"reading the configuration", "mounting", "protecting files", "opening the proxy", "landlock", "dropping privileges",
		"setting limits", "seccomp", "starting the program"}
	if int(s) < len(names) {
		return names[s]
	}
	return "an unknown step"
}

// A Limit is a soft and hard resource limit of setrlimit(2).
type Limit struct {
	Resource uint32
	Value    uint64
}

// A Pin keeps what is at a path from being moved, replaced or removed, by making it a mount point of the namespace.
type Pin struct {
	Kind PinKind
	Path string // absolute, without links but for a last one of kind Link
}

// A PinKind is what may still be done at the path of a Pin.
type PinKind uint8

// Kinds of pins.
const (
	Hold PinKind = iota // a directory that stays where it is; what is in it may be written
	Link                // a symbolic link that stays as it is, where the kernel can do that
	Seal                // a file or directory that is read-only, with all that is below it
)

// A Config is everything that a stage does. The zero Config confines nothing.
type Config struct {
	Namespaces bool   // the process is the first one of new namespaces
	Proxy      bool   // send a listening socket
	Landlock   bool   // a ruleset is at descriptor Ruleset
	DryRun     bool   // end with S where the program would be started
	PidMax     uint64 // bound of the PID namespace; 0 leaves it. Before Linux 6.14 the bound is the host's: leave it
	ProcAccess uint64 // Landlock rights for the private /proc; 0 mounts none
	ShmAccess  uint64 // the same for the private /dev/shm
	ShmSize    uint64 // bytes
	Pins       []Pin  // only with Namespaces; directories come before what is in them
	Limits     []Limit
	Filter     []byte // seccomp program: struct sock_filter in memory order
	Path       string // program, absolute
	Dir        string
	Argv, Env  []string
}

// Encode writes c as its fields in order: numbers as 8 bytes, little endian, texts and lists after their length.
func (c *Config) Encode() []byte {
	var b []byte
	for _, v := range []bool{c.Namespaces, c.Proxy, c.Landlock, c.DryRun} {
		if v {
			b = append(b, 1)
		} else {
			b = append(b, 0)
		}
	}
	for _, v := range []uint64{c.PidMax, c.ProcAccess, c.ShmAccess, c.ShmSize, uint64(len(c.Pins))} {
		b = number(b, v)
	}
	for _, p := range c.Pins {
		b = text(number(b, uint64(p.Kind)), p.Path)
	}
	b = number(b, uint64(len(c.Limits)))
	for _, l := range c.Limits {
		b = number(number(b, uint64(l.Resource)), l.Value)
	}
	for _, s := range []string{string(c.Filter), c.Path, c.Dir} {
		b = text(b, s)
	}
	for _, list := range [][]string{c.Argv, c.Env} {
		b = number(b, uint64(len(list)))
		for _, s := range list {
			b = text(b, s)
		}
	}
	return b
}

// Decode reads what Encode wrote. It says false for anything else.
func Decode(b []byte) (Config, bool) {
	d := decoder{rest: b, ok: true}
	var c Config
	for _, p := range []*bool{&c.Namespaces, &c.Proxy, &c.Landlock, &c.DryRun} {
		*p = d.bit()
	}
	for _, p := range []*uint64{&c.PidMax, &c.ProcAccess, &c.ShmAccess, &c.ShmSize} {
		*p = d.number()
	}
	for n := d.length(16); n > 0 && d.ok; n-- {
		kind, path := d.number(), d.text()
		if kind > uint64(Seal) {
			d.ok = false
		}
		c.Pins = append(c.Pins, Pin{PinKind(kind), path})
	}
	for n := d.length(16); n > 0 && d.ok; n-- {
		resource, value := d.number(), d.number()
		if resource > 255 {
			d.ok = false
		}
		c.Limits = append(c.Limits, Limit{uint32(resource), value})
	}
	if filter := d.text(); filter != "" {
		c.Filter = []byte(filter)
	}
	c.Path, c.Dir = d.text(), d.text()
	for _, list := range []*[]string{&c.Argv, &c.Env} {
		for n := d.length(8); n > 0 && d.ok; n-- {
			*list = append(*list, d.text())
		}
	}
	if !d.ok || len(d.rest) != 0 {
		return Config{}, false
	}
	return c, true
}

func number(b []byte, v uint64) []byte {
	for range 8 {
		b = append(b, byte(v))
		v >>= 8
	}
	return b
}

func text(b []byte, s string) []byte { return append(number(b, uint64(len(s))), s...) }

// A decoder takes fields off the front of rest, and remembers the first that was not there.
type decoder struct {
	rest []byte
	ok   bool
}

func (d *decoder) take(n uint64) []byte {
	if !d.ok || n > uint64(len(d.rest)) {
		d.ok = false
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) bit() bool {
	b := d.take(1)
	if len(b) == 1 && b[0] > 1 {
		d.ok = false
	}
	return len(b) == 1 && b[0] == 1
}

func (d *decoder) number() uint64 {
	var v uint64
	for i, c := range d.take(8) {
		v |= uint64(c) << (8 * i)
	}
	return v
}

// length reads the length of a list whose entries have at least size bytes.
func (d *decoder) length(size uint64) uint64 {
	n := d.number()
	if n > uint64(len(d.rest))/size {
		d.ok = false
		return 0
	}
	return n
}

func (d *decoder) text() string { return string(d.take(d.number())) }
