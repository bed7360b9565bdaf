// Package harness is what the tests of the command line share: scripts and their commands, places in which skl runs, servers that it
// talks to. Each folder beside it tests one area: install, trust, registry, run; documents and requirements; agents; hostile input;
// process, for what only a process of its own shows.
package harness

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/internal/memory"
)

// built is the program that scripts run wherever they run skl. Without it a line "skl …" is carried out in the process of the tests,
// and "exec skl …" starts that process anew, which then is skl. builtDir has it and nothing else.
var built, builtDir = os.Getenv("SKL_TEST_PROGRAM"), ""

// Main is the TestMain of a package. Its test program answers to "skl", and to the names of more, as those programs would; a
// directory that has them comes first in the PATH.
func Main(m *testing.M, more map[string]func() int) {
	programs := map[string]func() int{"skl": cli.Main}
	maps.Copy(programs, more)
	os.Exit(asPrograms(m, programs))
}

func asPrograms(m *testing.M, programs map[string]func() int) int {
	name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	if peak := os.Getenv(PeakVariable); peak != "" && name == "skl" {
		defer writePeak(peak)
	}
	if program := programs[name]; program != nil {
		return program()
	}
	dir, err := os.MkdirTemp("", "skl-test-programs-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	self, err := os.Executable()
	for name := range programs {
		err = errors.Join(err, linkOrCopy(self, filepath.Join(dir, name+suffix)))
	}
	if built != "" {
		builtDir = filepath.Join(dir, "built")
		err = errors.Join(err, os.Mkdir(builtDir, 0o755), linkOrCopy(built, filepath.Join(builtDir, "skl"+suffix)))
	}
	if err = errors.Join(err, os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	memory.Set(memory.Command) // as in a process of its own: most of what a command allocates outlives it by little
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // scripts wait for disks and for other programs more than they compute
		flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0)))
	}
	return m.Run()
}

// PeakVariable names a file to which skl, as which this test program was started, writes its peak memory in KiB. The kernel's own
// figure for a child counts its parent's memory too.
const PeakVariable = "SKL_TEST_PEAK"

func writePeak(path string) {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			os.WriteFile(path, []byte(strings.TrimSuffix(strings.TrimSpace(value), " kB")), 0o600)
		}
	}
}

// linkOrCopy makes a second name of a program, which the program is then started by.
func linkOrCopy(from, to string) error {
	if os.Link(from, to) == nil {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// Repository is the directory that has go.mod, seen from the folder of each of these packages.
var Repository = filepath.Join("..", "..", "..", "..")
