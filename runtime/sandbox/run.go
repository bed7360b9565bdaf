package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/internal/scratch"
	"github.com/skl-project/skl/spec/diag"
)

// The limits that the package comment states.
const (
	defaultTimeout   = 10 * time.Minute
	defaultCPU       = 5 * time.Minute
	defaultOutput    = 8 << 20
	defaultFileSize  = 1 << 30
	defaultOpenFiles = 1024
	defaultProcesses = 512
	defaultPath      = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// A job is a Command whose defaults are filled in, and what belongs to one run of it.
type job struct {
	Command
	report  Report
	program string // absolute path
	private string // directory that is removed afterwards
	stdout  *limited
	stderr  *limited
	shield  *shield
}

func run(ctx context.Context, c Command) (Result, error) {
	report := Probe()
	if c.ceiling != None && report.Tier.rank() > c.ceiling.rank() {
		report = reportFor(c.ceiling)
	}
	if c.Off {
		report = Report{Missing: []string{"the sandbox is switched off: the program can do what you can do"}}
	} else if !report.Tier.atLeast(c.Floor) {
		return Result{}, diag.New(diag.Refused, "sandbox_floor", "a sandbox of %s is required, and this machine offers: %s; %s",
			c.Floor, report.Tier, strings.Join(report.Missing, "; ")).Hint("--sandbox auto takes the best that this machine has")
	}
	if err := check(&c, report); err != nil {
		return Result{}, err
	}
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	private, remove, err := scratch.New("sandbox")
	if err != nil {
		return Result{}, diag.New(diag.Failed, "sandbox_start", "making a private directory: %w", err)
	}
	defer remove()
	for _, name := range []string{"home", "tmp"} {
		if err := os.Mkdir(filepath.Join(private, name), 0o700); err != nil {
			return Result{}, diag.New(diag.Failed, "sandbox_start", "making a private directory: %w", err)
		}
	}
	j := &job{Command: c, report: report, private: private}
	j.Env = environment(c.Env, private)
	if j.program, err = lookup(c.Argv[0], c.Dir, j.Env); err != nil {
		return Result{}, err
	}
	j.stdout = &limited{to: c.Stdout, left: c.MaxOutput}
	if j.stderr = j.stdout; !same(c.Stdout, c.Stderr) {
		j.stderr = &limited{to: c.Stderr, left: c.MaxOutput}
	}
	if j.shield, err = raise(j); err != nil {
		return Result{}, err
	}
	defer j.shield.drop()
	return j.run(ctx)
}

// run starts the program, and says which of the two reasons to stop it was the reason.
func (j *job) run(ctx context.Context) (Result, error) {
	limit, cancel := context.WithTimeout(ctx, j.Timeout)
	defer cancel()
	var code int
	var err error
	if j.report.Tier == None {
		code, err = plain(limit, j, j.program, j.Argv)
	} else {
		code, err = confined(limit, j)
	}
	d := j.shield.drop()
	result := Result{ExitCode: code, Truncated: j.stdout.cut() || j.stderr.cut(), Changed: d.changed, Restored: d.restored, Aside: d.aside, Report: j.report}
	switch {
	case ctx.Err() != nil:
		return Result{}, result.meanwhile(ctx.Err())
	case limit.Err() != nil && (err != nil || code != 0):
		result.ExitCode, result.TimedOut = -1, true
		return result, nil
	case err != nil:
		return Result{}, result.meanwhile(err)
	}
	return result, nil
}

// meanwhile is err, with what would have been in Changed.
func (r *Result) meanwhile(err error) error {
	if len(r.Changed) == 0 {
		return err
	}
	return fmt.Errorf("%w; meanwhile this was changed: %s; %s", err, diag.Printable(strings.Join(r.Changed, ", ")), r.Mended(func(path string) string { return path }))
}

// check fills in the defaults of c and refuses what cannot be a command.
func check(c *Command, report Report) error {
	misuse := func(format string, args ...any) error {
		return diag.New(diag.Misuse, "sandbox_command", format, args...)
	}
	if len(c.Argv) == 0 || c.Argv[0] == "" {
		return misuse("there is no program to run")
	}
	for _, text := range [][]string{c.Argv, c.Env, c.Read, c.Write, c.Protect, c.Watch, {c.Dir}} {
		for _, s := range text {
			if strings.ContainsRune(s, 0) {
				return misuse("%q holds a zero byte", s)
			}
		}
	}
	for _, path := range append(append([]string{c.Dir}, c.Read...), c.Write...) {
		if !filepath.IsAbs(path) {
			return misuse("%q is not an absolute path", path)
		}
	}
	for _, path := range slices.Concat(c.Protect, c.Watch) {
		if rel, err := filepath.Rel(c.Dir, path); !filepath.IsAbs(path) || err != nil || rel == "." || !filepath.IsLocal(rel) {
			return misuse("%q is not below the working directory", path)
		}
	}
	if info, err := os.Stat(c.Dir); err != nil || !info.IsDir() {
		return misuse("%s is not a directory", c.Dir)
	}
	if c.Hosts != nil && !c.Off && report.Tier != Tier1 && report.Tier != Seatbelt {
		return diag.New(diag.Refused, "sandbox_network", "hosts cannot be allowed one by one in a sandbox of %s", report.Tier)
	}
	if !c.Off {
		if err := checkScope(c); err != nil {
			return err
		}
	}
	set(&c.Timeout, defaultTimeout)
	set(&c.MaxOutput, defaultOutput)
	set(&c.Limits.CPU, defaultCPU)
	set(&c.Limits.FileSize, defaultFileSize)
	set(&c.Limits.OpenFiles, defaultOpenFiles)
	set(&c.Limits.Processes, defaultProcesses)
	return nil
}

func set[T time.Duration | int64 | int](p *T, def T) {
	if *p <= 0 {
		*p = def
	}
}

// checkScope refuses to open what CheckDir does: rights can only be granted to whole trees.
func checkScope(c *Command) error {
	home, _ := os.UserHomeDir()
	for _, path := range c.Write {
		if _, err := os.Stat(path); err != nil {
			return diag.New(diag.Failed, "sandbox_start", "opening %s for the sandbox: %w", path, err)
		}
	}
	for _, path := range slices.Concat([]string{c.Dir}, c.Read, c.Write) {
		if err := CheckDir(path, home); err != nil {
			return err
		}
	}
	return nil
}

// environment is env, and defaults for the names that env leaves out.
func environment(env []string, private string) []string {
	has := map[string]bool{}
	for _, e := range env {
		name, _, _ := strings.Cut(e, "=")
		has[name] = true
	}
	out := append([]string(nil), env...)
	for _, e := range [][2]string{
		{"HOME", filepath.Join(private, "home")}, {"TMPDIR", filepath.Join(private, "tmp")},
		{"PATH", pathOfSystem()}, {"LANG", "C.UTF-8"},
		// git gives up where it may not read the machine's configuration, and that may hold a token
		{"GIT_CONFIG_NOSYSTEM", "1"},
	} {
		if !has[e[0]] {
			out = append(out, e[0]+"="+e[1])
		}
	}
	return out
}

// pathOfSystem is a fixed PATH where there is a fixed place for programs.
func pathOfSystem() string {
	if os.PathSeparator == '/' {
		return defaultPath
	}
	return os.Getenv("PATH")
}

// lookup finds a program the way a shell would that has only env.
func lookup(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || filepath.IsAbs(name) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	var path string
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			path = value
		}
	}
	for _, in := range filepath.SplitList(path) {
		if !filepath.IsAbs(in) {
			continue
		}
		for _, suffix := range programSuffixes() {
			if p := filepath.Join(in, name+suffix); executable(p) == nil {
				return p, nil
			}
		}
	}
	return "", diag.New(diag.Failed, "sandbox_program", "there is no program %q in %s", name, path)
}

func programSuffixes() []string {
	if os.PathSeparator == '/' {
		return []string{""}
	}
	return []string{"", ".exe", ".com", ".bat", ".cmd"}
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return diag.New(diag.Failed, "sandbox_program", "there is no program %s", path)
	case info.IsDir() || (os.PathSeparator == '/' && info.Mode()&0o111 == 0):
		return diag.New(diag.Failed, "sandbox_program", "%s is not executable", path)
	}
	return nil
}

// A limited writer passes on its first bytes and swallows the others, so that the program does not see the end.
type limited struct {
	mu   sync.Mutex // guards left and over
	to   io.Writer
	left int64
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(b)
	if int64(n) > l.left {
		b, l.over = b[:l.left], true
	}
	l.left -= int64(len(b))
	if l.to == nil || len(b) == 0 {
		return n, nil
	}
	if _, err := l.to.Write(b); err != nil {
		// The reader is gone. The program is not to be blocked by it.
		l.to = nil
	}
	return n, nil
}

// same reports whether a and b are one writer, whose lines then keep their order.
func same(a, b io.Writer) bool {
	defer func() { recover() }() // of a type that cannot be compared: not the same
	return a != nil && a == b
}

func (l *limited) cut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.over
}

var errStopped = errors.New("the program was stopped")
