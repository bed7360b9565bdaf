//go:build unix

package sandbox

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// seatbeltProfile is the text of a profile for macOS' sandbox-exec: everything is forbidden but what it names.
// port is that of the proxy on the loopback interface; 0 allows no network at all.
//
// Paths are given as strings of the profile language and so cannot leave them.
func seatbeltProfile(j *job, port int) string {
	var b strings.Builder
	line := func(parts ...string) { b.WriteString("(" + strings.Join(parts, " ") + ")\n") }
	line("version 1")
	line("deny default")
	line("allow process-fork")
	line("allow process-exec*", paths(slices.Concat(seatbeltReadable(), []string{j.Dir}, j.Read, j.Write, []string{j.private})))
	line("allow process-info* (target same-sandbox)")
	line("allow signal (target same-sandbox)")
	line("allow sysctl-read")
	line("allow file-read-metadata")
	line("allow file-read* (literal \"/\")", paths(append(seatbeltReadable(), j.Read...)))
	if j.ReadOnly {
		line("allow file-read*", paths([]string{j.Dir}))
	}
	line("allow file-read* file-write*", paths(writable(j)))
	if len(j.Protect) > 0 {
		// The last rule that fits counts. Whoever moves a directory could put another one in its place.
		line("deny file-write*", paths(j.Protect))
		line("deny file-write-unlink", literals(above(j)...))
	}
	line("allow file-read* file-write-data", literals("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"))
	// Shells pass these on as files, and Python's multiprocessing needs semaphores.
	line("allow file-read* file-write-data", literals("/dev/stdin", "/dev/stdout", "/dev/stderr"), paths([]string{"/dev/fd"}))
	line("allow ipc-posix-sem")
	// Shared memory under the names that OpenMP's runtime, Python's multiprocessing and torch take, and no other program's.
	line("allow ipc-posix-shm*", `(ipc-posix-name-regex #"^/__KMP_REGISTERED_LIB_[0-9]+$")`, `(ipc-posix-name-regex #"^/psm_[0-9a-f]+$")`,
		`(ipc-posix-name-regex #"^/torch_[0-9]+_[0-9]+_[0-9]+$")`)
	line("allow mach-lookup (global-name \"com.apple.system.opendirectoryd.libinfo\") (global-name \"com.apple.trustd\")")
	if port > 0 {
		line("allow network-outbound (remote ip \"localhost:" + strconv.Itoa(port) + "\")")
	}
	return b.String()
}

// above is the directories from those that may be written down to what is protected.
func above(j *job) []string {
	var out []string
	for _, path := range j.Protect {
		for dir := filepath.Dir(path); filepath.Dir(dir) != dir && slices.ContainsFunc(writable(j), func(root string) bool {
			return root == dir || strings.HasPrefix(dir, strings.TrimSuffix(root, "/")+"/")
		}); dir = filepath.Dir(dir) {
			if !slices.Contains(out, dir) {
				out = append(out, dir)
			}
		}
	}
	slices.Sort(out)
	return out
}

func writable(j *job) []string {
	w := append([]string{j.private}, j.Write...)
	if !j.ReadOnly {
		w = append(w, j.Dir)
	}
	return w
}

// seatbeltReadable is what programs need of the system. /etc is a link to /private/etc there.
func seatbeltReadable() []string {
	return []string{"/usr", "/bin", "/sbin", "/System", "/Library/Apple", "/Library/Developer/CommandLineTools",
		"/Applications/Xcode.app/Contents", "/private/var/db/xcode_select_link", "/Library/Frameworks", "/opt/homebrew", "/opt/local", "/nix/store", "/private/etc/ssl", "/private/etc/localtime", "/private/var/db/timezone",
		"/private/var/db/dyld", "/private/var/select"}
}

func paths(list []string) string {
	var out []string
	for _, p := range list {
		out = append(out, "(subpath "+quoted(filepath.Clean(p))+")")
	}
	return strings.Join(out, " ")
}

func literals(list ...string) string {
	var out []string
	for _, p := range list {
		out = append(out, "(literal "+quoted(p)+")")
	}
	return strings.Join(out, " ")
}

// quoted is a string of the profile language: only the quote and the backslash mean something.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}
