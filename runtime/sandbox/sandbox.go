// Package sandbox runs programs that nobody has read: the scripts of a skill, and what a model wants to execute.
//
// A confined program can:
//
//   - read the system's programs and libraries (/usr, /bin, /lib*, a few files of /etc), and what Command.Read names;
//   - read and write its working directory unless Command.ReadOnly, what Command.Write names, and a private HOME and
//     TMPDIR that are removed after it;
//   - reach the hosts of Command.Hosts through a proxy in this process, and nothing else of any network;
//   - see the environment of Command.Env, HOME, TMPDIR, PATH, LANG, GIT_CONFIG_NOSYSTEM and the addresses of the proxy.
//
// It cannot: read the files of the person who runs it, see or signal or trace other processes, talk to their
// sockets, become another user, gain capabilities, make namespaces, mount, load code into the kernel, type into the
// terminal. It has no controlling terminal. It, and everything that it started, is gone when Run returns.
//
// How well that holds depends on the machine, and a [Report] says it:
//
//	Tier1     Linux: namespaces for users, processes, network, mounts, IPC and host name; Landlock; seccomp
//	Tier2     Linux where user namespaces are switched off: Landlock and seccomp; no network at all
//	Tier3     Linux before 5.13: seccomp; no network at all, but every file is open
//	Seatbelt  macOS: sandbox-exec
//	None      elsewhere: an ordinary child process
//
// Paths in Command.Protect stay as they are, although Dir is writable:
//
//	Tier1     Mounts of the program's own make it read-only, and keep the directories above it in their places. Where
//	          nothing is, an empty directory is put for as long as the program runs; it is sticky and nobody may write
//	          it, git takes no notice of it, and one that a killed process left behind is removed by the next run. Not
//	          kept is a path whose directory is missing as well. Nothing tells what can be reached by another name: by a
//	          hard link that was there before, or below a second mount of the same directory.
//	Seatbelt  The profile denies it, by name.
//	others    Nothing is kept, and what changed is put back when the program has ended.
//
// A path that is not kept is compared afterwards: by content up to 1 MiB per file and 32 MiB in all, else by size and times, and up
// to 20,000 files. Result.Changed names what differs. Files compared by content are put back, also where Watch names them, and
// planted ones are set aside; not where the directory above it was exchanged, and nothing outside of Dir.
//
// Before version 9 of Landlock nothing can tell whose Unix socket a path names, and programs then have none but
// connected pairs; otherwise a container engine or an agent of the person would answer them.
//
// In every tier programs for another processor mode (32 bit, x32) are killed, and a program that asks for a forbidden
// system call sees an ordinary error.
//
// Limits, unless a Command says otherwise: 10 minutes, 5 minutes of CPU per process, 8 MiB for each of the two outputs,
// 1 GiB per file, 1,024 open files, 512 processes and threads beyond those that are there.
//
// On Linux Run starts this very binary again; see
// internal/stage, which also says why there is no work in main. Importing the package is what makes that possible, and
// a main function calls [Main] to say so.
package sandbox

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"
)

// A Tier is how well a process can be confined here.
type Tier int

const (
	None     Tier = iota // nothing is enforced
	Tier3                // seccomp only: network off, files open
	Tier2                // Landlock and seccomp
	Tier1                // namespaces, Landlock, seccomp and limits
	Seatbelt             // macOS sandbox-exec; a floor of Tier2 is satisfied by it, one of Tier1 is not
)

// String is what a person reads in a report.
func (t Tier) String() string {
	switch t {
	case Tier3:
		return "tier 3 (seccomp)"
	case Tier2:
		return "tier 2 (landlock, seccomp)"
	case Tier1:
		return "tier 1 (namespaces, landlock, seccomp)"
	case Seatbelt:
		return "sandbox-exec"
	}
	return "not sandboxed"
}

// atLeast reports whether t confines no less than floor.
func (t Tier) atLeast(floor Tier) bool { return t.rank() >= floor.rank() }

func (t Tier) rank() int {
	if t == Seatbelt {
		return int(Tier2)
	}
	return int(t)
}

// A Report says what a sandbox enforces here.
type Report struct {
	Tier     Tier
	Enforced []string // of "files", "network", "processes", "kernel", "limits", "environment"
	Missing  []string // one sentence each, lower case, no period
}

// A Command is a program to confine. The zero value of every limit is the default that the package states.
type Command struct {
	Argv     []string
	Dir      string    // working directory, absolute; HOME and TMPDIR are elsewhere, in a private directory
	Env      []string  // NAME=value; nothing else is inherited; wins over the names that the package sets
	Stdin    io.Reader // nil: empty. A reader that blocks is left behind when the program ends
	Stdout   io.Writer // receives at most MaxOutput bytes; nil: dropped
	Stderr   io.Writer // the same, counted apart; if it is Stdout, both go there in their order, and count together
	Read     []string  // further files and directories that may be read; those that do not exist are left out
	Write    []string  // further ones that may be written; they exist. Dir is writable unless ReadOnly
	ReadOnly bool

	// Protect names files and directories below Dir, absolute, that stay as they are. Where nothing is, nothing can be
	// made if the directory above it is there. See the package for what holds in which tier. It wins over Write.
	Protect []string
	// Watch names such paths that the program may write. Their changes are in Result.Changed too. A last element that starts
	// with * means what lies in Dir itself and has a name that ends so.
	Watch []string
	// Planted, unless nil, is called when the program has ended. It returns paths below Dir that were not there before and must not
	// be: they are set aside, and are in Result.Changed.
	Planted func() []string

	// Aside is a directory below which what was planted is kept; "": that for temporary files.
	Aside string

	Hosts   []string // host or host:port that may be reached, through a proxy; nil: no network. No port: 80 and 443
	Timeout time.Duration
	Floor   Tier // refuse below this tier
	Off     bool // run unconfined: the person said so

	// Log, if not nil, hears of every request to the proxy, as host:port. It is called concurrently.
	Log func(host string, allowed bool)

	MaxOutput int64 // bytes per stream
	Limits    Limits

	ceiling Tier // tests: confine with no more than this; 0 is the best tier
}

// Limits bound what one program uses. Zero fields are the defaults of the package.
type Limits struct {
	CPU       time.Duration // of each process, rounded up to seconds
	FileSize  int64         // bytes of each written file
	OpenFiles int           // per process
	Processes int           // and threads; a user's other processes do not count. See Report.Missing
}

// A Result is how a program ended.
type Result struct {
	ExitCode  int  // 128 + the signal's number if a signal ended it; -1 after a timeout
	Truncated bool // output was cut
	TimedOut  bool

	// Changed is what Protect and Watch name, or what is below it, and is not as it was before the program ran, whoever
	// did it: absolute paths, sorted, at most 100. With Off nothing is compared.
	Changed []string
	// Restored is what of Changed is as it was again, and Aside a directory, outside, with what was there instead; ""
	// if there was nothing. Whoever has looked at it removes it.
	Restored []string
	Aside    string
	Report   Report
}

// Mended says in words what became of Changed: what was put back and what not, with paths as name has them.
func (r *Result) Mended(name func(path string) string) string {
	var left []string
	for _, path := range r.Changed {
		if !slices.Contains(r.Restored, path) {
			left = append(left, name(path))
		}
	}
	text := "nothing was restored"
	switch {
	case len(left) == 0:
		text = "all of it was restored"
	case len(r.Restored) > 0:
		text = "it was restored, but for " + strings.Join(left[:min(len(left), 10)], ", ")
	}
	if r.Aside != "" {
		text += "; the files that were there instead are in " + r.Aside
	}
	return text
}

// Holds reports whether programs are confined here no less than floor says.
func (r Report) Holds(floor Tier) bool { return r.Tier.atLeast(floor) }

// Probe says what can be enforced here. The first call tries it, in about 10 ms; the others remember.
func Probe() Report { return probe() }

// Run runs c and waits for it. A program that ends, in whatever way, is a Result; errors are of four kinds:
//
//   - class Refused: sandbox_floor (this machine cannot confine as well as c.Floor wants), sandbox_network (c.Hosts
//     cannot be confined here), work_scope (c.Dir, c.Read or c.Write would open the person's own keys, see CheckDir);
//   - class Misuse: sandbox_command (c is not a command);
//   - class Failed: sandbox_program (it is not there or cannot be started), sandbox_start (everything else);
//   - the error of ctx, after which no process of c is left. It says what is in Changed otherwise.
//
// Run may be called concurrently.
func Run(ctx context.Context, c Command) (Result, error) { return run(ctx, c) }

// Main is the first thing that a main function calls. A process that was started as the stage of a sandbox never gets
// there: it was taken over while packages were initialised. The call keeps the package linked, and keeps a process
// that wrongly believes to be a stage from doing anything else.
func Main() { guard() }
