// Package cli is the command line of skl: one file per command, each with its
// flags, one call into a library and one call to print. The contract is the table of
// commands in the project's documentation; nothing here decides anything that a library could.
package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/memory"
	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// env is all of the process that a command may touch.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	environ        []string // of the programs that it starts
	cwd            string
	terminal       bool // questions can be asked: stdin and stderr are terminals
	screen         bool // stdout is a terminal
	errScreen      bool // stderr is one
	parses         bool // command lines are read, and not carried out
	own            bool // the process does nothing else
}

// Main runs the process's command line and returns its exit status.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	cwd, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "skl:", err)
		return 1
	}
	tty := func(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
	return invoke(ctx, os.Args[1:], env{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, environ: os.Environ(), cwd: cwd,
		own: true, terminal: tty(os.Stdin) && tty(os.Stderr),
		screen: tty(os.Stdout), errScreen: tty(os.Stderr),
	})
}

// A Process is what a command line knows of the process that it runs in.
type Process struct {
	Dir            string   // the working directory
	Environ        []string // NAME=VALUE; of two with one name the last counts
	Stdout, Stderr io.Writer
}

// Run carries out one command line in a process that is not its own, and returns the exit status: nobody can be asked, and
// standard input is empty. Tests that try thousands of inputs use it. It may be called concurrently. The directory for temporary
// files, the umask, the user, the PATH in which programs are looked for, and what a registry that it serves sees of the environment are
// those of the calling process.
func Run(ctx context.Context, args []string, p Process) int {
	values := make(map[string]string, len(p.Environ))
	for _, one := range p.Environ {
		name, value, _ := strings.Cut(one, "=")
		values[name] = value
	}
	getenv := func(name string) string { return values[name] }
	return invoke(ctx, args, env{stdin: strings.NewReader(""), stdout: p.Stdout, stderr: p.Stderr, getenv: getenv, environ: append([]string{}, p.Environ...), cwd: p.Dir})
}

// Parses reports what is wrong with a command line as the program reads it: its commands, flags, and how many arguments it has. Nothing
// is carried out.
func Parses(args []string) error {
	e := env{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, getenv: func(string) string { return "" }, parses: true}
	app := newApp(e, &ui.UI{In: e.stdin, Out: e.stdout, Err: e.stderr}, false)
	return app.Run(append([]string{"skl"}, reorder(app, args)...))
}

// interrupted is the exit status after Ctrl-C.
const interrupted = 130

// invoke carries out one command line and returns its exit status (0 to 5, 130).
func invoke(ctx context.Context, args []string, e env) int {
	out := &output{to: e.stdout}
	e.stdout = out
	u := &ui.UI{In: e.stdin, Out: e.stdout, Err: e.stderr, Screen: e.screen, Interrupt: ctx.Done()}
	app := newApp(e, u, asksForHelp(args))
	err := app.RunContext(ctx, append([]string{"skl"}, reorder(app, args)...))
	u.Close()
	if lost := out.lost(); err == nil && lost != nil {
		err = diag.New(diag.Failed, "output_lost", "the result could not be written: %w", lost).
			Hint("look where it goes to: is the disk full?")
	}
	_, told := errors.AsType[report.Shown](err)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ask.ErrLeft):
		u.Note("left; nothing was changed")
		return interrupted
	case ctx.Err() != nil || errors.Is(err, ask.ErrStopped):
		stopped, ran := errors.AsType[interruption](err)
		left, half := errors.AsType[remainder](err)
		switch {
		case ran && isUnfinished(stopped):
			if !told {
				u.Error(stopped)
			}
		case ran:
			u.Note("interrupted; the run is suspended")
		case half:
			u.Note("interrupted; %s", left.what)
			u.Hint("%s", left.next)
		default:
			u.Note("interrupted; nothing half-done is left behind")
		}
		return interrupted
	}
	err = scope.Unwritable(unreadable(err))
	if !told {
		u.Error(err)
	}
	return int(diag.ClassOf(err))
}

// A remainder is the error of what was interrupted, and leaves something that the next try goes on with.
type remainder struct {
	error
	what, next string // next is the command to type
}

func (r remainder) Unwrap() error { return r.error }

// An output is standard output, and remembers that not all of it arrived: what is printed and lost is no success.
type output struct {
	to  io.Writer
	mu  sync.Mutex
	err error // the first
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.to.Write(p)
	if err != nil {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.err = cmp.Or(o.err, err)
	}
	return n, err
}

// Fd is that of the file that o writes to, an invalid one if it is none.
func (o *output) Fd() uintptr {
	if f, ok := o.to.(*os.File); ok {
		return f.Fd()
	}
	return ^uintptr(0)
}

// File is what o writes to, nil if that is no file.
func (o *output) File() *os.File {
	f, _ := o.to.(*os.File)
	return f
}

func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// unreadable says what to do about an error of a file that may not be read, or where no regular file stands though one belongs there.
func unreadable(err error) error {
	path, at := errors.AsType[*fs.PathError](err)
	if _, told := errors.AsType[*diag.Error](err); told || !at {
		return err
	}
	if errors.Is(err, fs.ErrPermission) && isReading(path.Op) {
		before, _, _ := strings.Cut(err.Error(), path.Error())
		e := diag.New(diag.Failed, "unreadable", "%s%s cannot be read: %w", diag.Printable(before), diag.Printable(path.Path), path.Err)
		if !filepath.IsAbs(path.Path) {
			return e.Hint("see whose it is: ls -l")
		}
		return e.Hint("see whose it is: ls -ld %s", diag.Quote(path.Path))
	}
	if !errors.Is(err, durable.ErrIrregular) && !errors.Is(err, durable.ErrTooLarge) {
		return err
	}
	return diag.New(diag.Refused, "irregular_file", "%s is not read: %w", diag.Printable(path.Path), path.Err).
		Hint("ls -l shows what it is; skl reads regular files only")
}

// isReading reports whether what the system was asked for is to read something.
func isReading(op string) bool {
	switch op {
	case "open", "openat", "read", "readdir", "readdirent", "lstat", "stat", "statat", "fstatat", "readlink", "readlinkat", "CreateFile":
		return true
	}
	return false
}

func globalFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "project", Aliases: []string{"C"}, Usage: "work in `DIR`"},
		&cli.StringFlag{Name: "scope", Usage: "`SCOPE`: project, user or managed"},
		&cli.BoolFlag{Name: "global", Aliases: []string{"g"}, Usage: "the same as --scope user"},
		&cli.StringSliceFlag{Name: "root", Usage: "also search `DIR` for skills (repeatable)"},
		&cli.BoolFlag{Name: "json", Usage: "print one JSON value"},
		&cli.BoolFlag{Name: "offline", Usage: "use no network"},
		&cli.StringFlag{Name: "config", Usage: "read configuration from `FILE`"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print results and errors only"},
		&cli.BoolFlag{Name: "yes", Aliases: []string{"y"}, Usage: "answer choices with their default"},
		&cli.BoolFlag{Name: "no-color", Usage: "no colours"},
		&cli.BoolFlag{Name: "no-unicode", Usage: "signs of ASCII only"},
		&cli.BoolFlag{Name: "verbose", Aliases: []string{"v"}, Usage: "say more"},
	}
}

// versionFlag is what people try first. It belongs to skl alone: the flags of commands called --version mean others.
func versionFlag() cli.Flag {
	return &cli.BoolFlag{Name: "version", Aliases: []string{"V"}, Usage: "print the version"}
}

func init() { cli.HelpFlag = helpFlag{} }

// helpFlag is --help. All commands of the process share it, and cli's own writes into itself where it is applied: apps side by side would race.
type helpFlag struct{}

func (helpFlag) String() string         { return cli.FlagStringer(helpFlag{}) }
func (helpFlag) Names() []string        { return []string{"help", "h"} }
func (helpFlag) IsSet() bool            { return false }
func (helpFlag) IsVisible() bool        { return true }
func (helpFlag) TakesValue() bool       { return false }
func (helpFlag) GetUsage() string       { return "show help" }
func (helpFlag) GetCategory() string    { return "" }
func (helpFlag) GetValue() string       { return "" }
func (helpFlag) GetDefaultText() string { return "" }
func (helpFlag) GetEnvVars() []string   { return nil }

func (f helpFlag) Apply(set *flag.FlagSet) error {
	for _, name := range f.Names() {
		set.Bool(name, false, f.GetUsage())
	}
	return nil
}

// A command is one word of skl and everything the help, the completion and the
// schema need to know of it.
type command struct {
	name, args string // "install", "[REF…] [NAME…]"
	usage      string // one line for lists
	group      string // heading in the help; "" only appears in "help all"
	aliases    []string
	example    string // lines to type
	flags      []cli.Flag
	output     any       // zero value of what --json prints; nil if it has no JSON form
	complete   string    // what its arguments are: "skill", "host", "dir", "command", "topic", "shell", ""
	instead    string    // hint if an argument is one too many; "%s" is the argument
	sub        []command // subcommands, which replace run
	memory     memory.Use
	run        func(ctx context.Context, w *world, c *cli.Context) error
	// alone reports whether a call needs nothing of this machine: it works without a home, and whatever is wrong with settings and
	// project. Its world has the person and the process alone. nil is never.
	alone func(c *cli.Context) bool
}

// always is the alone of a command that only says what skl is.
func always(*cli.Context) bool { return true }

// newApp builds the command line. Help pages are only written if help is asked for: every
// start would pay for them.
func newApp(e env, u *ui.UI, help bool) *cli.App {
	app := &cli.App{
		Name: "skl", Usage: "package manager for agent skills",
		Writer: u.HelpWriter(), ErrWriter: e.stderr, Reader: e.stdin,
		HideVersion: true, HideHelpCommand: true, Suggest: false,
		DisableSliceFlagSeparator: true,                                             // a value may hold a comma; namesIn and splitList divide what is a list
		Flags:                     append(globalFlags(), versionFlag(), helpFlag{}), // a command called help keeps cli from adding it
		ExitErrHandler:            func(*cli.Context, error) {},
		OnUsageError:              usageErrorOf(""),
		Before:                    func(c *cli.Context) error { return configure(u, e, c) },
		Action: func(c *cli.Context) error {
			if name := c.Args().First(); name != "" {
				return unknownCommand(name, c.Args().Tail())
			}
			if c.Bool("version") {
				return printVersion(u)
			}
			return bare(e, u, c)
		},
	}
	if help {
		app.CustomAppHelpTemplate = rootHelp()
	}
	for _, c := range commands() {
		app.Commands = append(app.Commands, c.build(e, u, help))
	}
	app.Commands = append(app.Commands, mergeDriver(e, u))
	return app
}

func (c command) build(e env, u *ui.UI, help bool) *cli.Command {
	out := &cli.Command{
		Name: c.name, Aliases: c.aliases, Usage: c.usage, ArgsUsage: c.args, Category: c.group, Flags: c.flags,
		HideHelpCommand: true, OnUsageError: usageErrorOf(c.name),
	}
	if help {
		out.CustomHelpTemplate = c.help()
	}
	for _, s := range c.sub {
		s = c.below(s)
		built := s.build(e, u, help)
		built.Name = strings.TrimPrefix(s.name, c.name+" ")
		out.Subcommands = append(out.Subcommands, built)
	}
	out.Action = func(ctx *cli.Context) error {
		if c.run == nil {
			if word := ctx.Args().First(); word != "" {
				return diag.New(diag.Misuse, "unknown_command", "unknown command %q", c.name+" "+word).Hint("skl %s --help", c.name)
			}
			u.Help(c.help())
			return nil
		}
		u.Typed = typed(ctx)
		if err := c.surplus(ctx.Args().Slice()); err != nil || e.parses {
			return err
		}
		if e.own {
			memory.Set(c.memory)
		}
		if c.alone != nil && c.alone(ctx) {
			return c.run(ctx.Context, &world{ui: u, env: e}, ctx)
		}
		w, err := newWorld(e, u, ctx)
		if err != nil {
			return err
		}
		return c.run(ctx.Context, w, ctx)
	}
	return out
}

// below is s, a subcommand of c, as a page of its own: with its whole name, and with the examples of c that call it. A page that
// only lists subcommands has their examples.
func (c command) below(s command) command {
	s.name = c.name + " " + s.name
	lines := slices.DeleteFunc(strings.Split(c.example, "\n"), func(line string) bool { return !strings.HasPrefix(line+" ", "skl "+s.name+" ") })
	lines = append(lines, strings.Split(s.example, "\n")...)
	for _, leaf := range s.sub {
		lines = append(lines, strings.Split(leaf.example, "\n")...)
	}
	seen := map[string]bool{"": true} // both pages may have the same example
	s.example = strings.Join(slices.DeleteFunc(lines, func(line string) bool {
		again := seen[line]
		seen[line] = true
		return again
	}), "\n")
	return s
}

// surplus refuses arguments beyond those that the usage line of c names. A line with "…" takes any number.
func (c command) surplus(args []string) error {
	if strings.Contains(c.args, "…") || len(args) <= len(strings.Fields(c.args)) {
		return nil
	}
	most := len(strings.Fields(c.args))
	if len(c.sub) > 0 && most == 0 {
		return diag.New(diag.Misuse, "unknown_command", "unknown command %q", c.name+" "+args[0]).Hint("skl %s --help", c.name)
	}
	e := diag.New(diag.Misuse, "usage", "skl %s takes no arguments", c.name)
	if most > 0 {
		e = diag.New(diag.Misuse, "usage", "skl %s takes at most %s: unexpected %q", c.name, diag.Count(most, "argument"), args[most])
	}
	if c.instead != "" {
		return e.Hint("%s", strings.ReplaceAll(c.instead, "%s", diag.Quote(args[most])))
	}
	return e.Hint("skl %s --help", c.name)
}

// asksForHelp reports whether one of args may be the help flag.
func asksForHelp(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		return strings.HasPrefix(arg, "-") && (name == "help" || name == "h")
	})
}

func configure(u *ui.UI, e env, c *cli.Context) error {
	u.JSON, u.Quiet, u.Yes, u.Verbose = c.Bool("json"), c.Bool("quiet"), c.Bool("yes"), c.Bool("verbose")
	ci := e.getenv("CI") != "" && e.getenv("CI") != "false"
	u.Terminal = e.terminal && !ci
	u.ErrScreen = e.errScreen
	u.Adapt(e.getenv, ui.Wishes{NoColor: c.Bool("no-color") || ci && e.getenv("CLICOLOR_FORCE") != "1", NoUnicode: c.Bool("no-unicode")})
	if s := c.String("scope"); s != "" && s != "user" && c.Bool("global") {
		return diag.New(diag.Misuse, "usage", "--global is --scope user, and --scope %s was given too", s)
	}
	if s := c.String("scope"); s != "" && s != "project" && s != "user" && s != "managed" {
		return diag.New(diag.Misuse, "unknown_scope", "unknown scope %q", s).Meant("project", "user", "managed")
	}
	return nil
}

// usageErrorOf explains a wrong flag of a command, whose name holds those of the commands above it.
func usageErrorOf(command string) cli.OnUsageErrorFunc {
	return func(c *cli.Context, err error, _ bool) error { return usageError(c, command, err) }
}

func usageError(c *cli.Context, command string, err error) error {
	text := err.Error()
	e := diag.New(diag.Misuse, "usage", "%s", text)
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		name = strings.TrimLeft(name, "-")
		e.Message = "unknown flag " + dashed(name)
		if len(name) > 1 {
			e.Candidates = spell.Nearest(dashed(name), knownFlags(c), 3)
		}
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		e.Message = "flag " + dashed(strings.TrimLeft(name, "-")) + " needs a value"
	}
	if command != "" {
		return e.Hint("skl %s --help", command)
	}
	return e.Hint("skl --help")
}

// dashed is the name of a flag as it is written.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// knownFlags is every long flag that the command takes.
func knownFlags(c *cli.Context) []string {
	flags := globalFlags()
	if c.Command != nil {
		flags = append(flags, c.Command.Flags...)
	}
	var out []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				out = append(out, dashed(name))
			}
		}
	}
	return out
}
