package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/runtime/internal/scratch"
	"github.com/skl-project/skl/runtime/sandbox"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
)

const maxOutput = 64 << 10 // of a program: half of it from the start, half from the end

func prepareBash(d *Dispatcher, input json.RawMessage) (*use, error) {
	var in struct {
		Command string
		Timeout int `json:"timeout_seconds"`
	}
	if err := decode("bash", input, "command timeout_seconds", &in); err != nil {
		return nil, err
	}
	if strings.TrimSpace(in.Command) == "" || strings.ContainsRune(in.Command, 0) || in.Timeout < 0 {
		return nil, badInput("bash", "it needs a command without NUL, and a timeout that is not negative")
	}
	shell, ok := d.shell()
	if !ok {
		return nil, failed("there is no bash or sh on PATH")
	}
	if err := d.namesSecret(in.Command); err != nil {
		return nil, err
	}
	text := in.Command
	line, err := Commands(in.Command, d.insideForShell)
	u := &use{detail: in.Command, parts: line.Commands, writes: line.Writes, matches: matchCommand, opaque: err, runs: true}
	u.patterned = func() { text = line.Text }
	u.do = func(ctx context.Context) (string, error) {
		out := headTail{half: halfOutput}
		if d.keeps() {
			out.half = maxKept/2 - 100
		}
		err := d.program(ctx, u, sandbox.Command{Argv: []string{shell, "-c", text}, Timeout: timeoutOf(in.Timeout), Stdout: &out, Stderr: &out}, "bash")
		return ended(out.String()), err
	}
	return u, nil
}

// shell finds bash, or else sh.
func (c *core) shell() (string, bool) {
	for _, name := range []string{"bash", "sh"} {
		if path, ok := c.look(name); ok {
			return path, true
		}
	}
	return "", false
}

// insideForShell accepts a file of a redirection: below the working directory, and one that write may write
// if it is written. The sandbox holds when a link changes later; this says no before anything runs.
func (d *Dispatcher) insideForShell(path string, write bool) error {
	if path == "/dev/null" {
		return nil
	}
	p, err := d.work.find(path)
	if err != nil {
		return err
	}
	defer p.close()
	if !write {
		return d.patternDenied(d.table.must("read"), fileUse(p.shown()))
	}
	if err := p.writable(); err != nil {
		return err
	}
	return d.denied(d.table.must("write"), fileUse(p.shown()))
}

// namesSecret refuses a line that names a file of the working directory which is not read for its name. It is for models that do
// not think of it: a program opens what it likes, and a name may be made up at run time.
func (d *Dispatcher) namesSecret(line string) error {
	for _, word := range words(line) {
		for _, path := range pathsIn(word) {
			if !secrets.Named(filepath.ToSlash(d.work.real) + "/" + path) { // of most words nothing is looked up
				continue
			}
			p, _ := d.reached(path)
			if p == nil {
				continue
			}
			err := p.readable()
			there := p.info != nil
			p.close()
			if err != nil && there {
				return err
			}
		}
	}
	return nil
}

// program runs c, which is what u does, in the working directory, and says when it did not succeed.
func (d *Dispatcher) program(ctx context.Context, u *use, c sandbox.Command, name string) error {
	h := d.table.must("bash")
	c.Dir, c.Floor, c.Off = d.work.real, d.config.Floor, d.config.Off
	c.Aside = d.config.Aside
	if c.Aside == "" {
		dir, remove, err := scratch.New("undone")
		if err != nil {
			return failed("making a directory: %w", cause(err))
		}
		defer remove()
		c.Aside = dir
	}
	c.Env = append(append([]string{}, d.env()...), c.Env...)
	if d.config.Path != "" {
		c.Env = append(c.Env, "PATH="+d.config.Path)
	}
	c.Env = lastOf(c.Env)
	c.Read = append(c.Read, d.interpreterDirs()...)
	if d.own != nil {
		c.Read = append(c.Read, d.own.real)
	}
	// A skill that does not declare the effect does not have it through a program either.
	c.ReadOnly = d.declared != nil && !d.declared[Filesystem]
	var all bool
	if c.Protect, c.Watch, c.Planted, all = d.guarded(); all {
		c.ReadOnly = true
	}
	if d.tooMany() {
		fmt.Fprintf(c.Stderr, "[more than %d directories: what programs leave for agents, editors and git in deeper ones is not looked for]\n", maxDirs)
	}
	if len(d.config.Hosts) > 0 && d.has(Network, h) {
		c.Hosts = d.config.Hosts
	}
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	c.MaxOutput = 1 << 30 // the end is kept too, so that all of it has to come
	files, unknown := d.census()
	defer func() { u.did.Changed, u.did.Unknown = d.since(files, unknown) }()
	started := time.Now()
	r, err := d.config.Exec(ctx, c)
	if c.Hosts != nil && errors.Is(err, diag.Code("sandbox_network")) {
		// Without any network is always possible, and the program may not need it.
		fmt.Fprintf(c.Stderr, "[no network: %v]\n", err)
		c.Hosts = nil
		r, err = d.config.Exec(ctx, c)
	}
	name = diag.Printable(name)
	if d.config.Aside == "" {
		r.Aside = ""
	}
	switch {
	case ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return ctx.Err()
	case err != nil && ctx.Err() != nil:
		return err
	case err != nil:
		if _, ok := errors.AsType[*diag.Error](err); ok {
			return err // with what the sandbox says was changed
		}
		return failed("running %s: %w", name, err)
	case len(r.Changed) > 0:
		return diag.New(diag.Failed, CodeProtected, "while %s ran, this was changed, which programs may not write: %s; %s", name, d.listed(r.Changed), diag.Printable(r.Mended(d.below)))
	case r.TimedOut:
		return failed("%s was stopped after %s", name, time.Since(started).Round(time.Second))
	case r.ExitCode != 0:
		return failed("%s ended with status %d", name, r.ExitCode)
	case r.Truncated:
		return failed("%s printed more than %d bytes", name, c.MaxOutput)
	}
	return nil
}

// below is path as it is below the working directory.
func (d *Dispatcher) below(path string) string {
	if rel, ok := d.work.relative(path); ok {
		return rel
	}
	return path
}

// listed is paths as they are below the working directory, at most ten.
func (d *Dispatcher) listed(paths []string) string {
	var out []string
	for _, path := range paths[:min(len(paths), 10)] {
		out = append(out, diag.Printable(d.below(path)))
	}
	if more := len(paths) - len(out); more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, ", ")
}

// ended is text with a line end, so that something can follow it.
func ended(text string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text
}

// lastOf keeps the last value of each variable.
func lastOf(env []string) []string {
	at := map[string]int{}
	var out []string
	for _, v := range env {
		name, _, _ := strings.Cut(v, "=")
		if i, ok := at[name]; ok {
			out[i] = v
			continue
		}
		at[name] = len(out)
		out = append(out, v)
	}
	return out
}

// A headTail keeps the start and the end of what is written to it. It may be written to concurrently.
type headTail struct {
	half  int // bytes that are kept of each
	mu    sync.Mutex
	head  []byte
	tail  []byte // a ring once it is full
	next  int    // where the ring goes on
	total int64
}

const halfOutput = maxOutput/2 - 100

var _ io.Writer = (*headTail)(nil)

func (h *headTail) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(p)
	h.total += int64(n)
	room := min(len(p), h.half-len(h.head))
	h.head, p = append(h.head, p[:room]...), p[room:]
	if len(p) > h.half {
		p = p[len(p)-h.half:]
	}
	for len(p) > 0 {
		if len(h.tail) < h.half {
			room := min(len(p), h.half-len(h.tail))
			h.tail, p = append(h.tail, p[:room]...), p[room:]
			continue
		}
		k := copy(h.tail[h.next:], p)
		h.next, p = (h.next+k)%h.half, p[k:]
	}
	return n, nil
}

// left is how many bytes are not kept.
func (h *headTail) left() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.total - int64(len(h.head)+len(h.tail))
}

// String is all that is kept, with a note where something was left out.
func (h *headTail) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b bytes.Buffer
	b.Write(h.head)
	if left := h.total - int64(len(h.head)+len(h.tail)); left > 0 {
		fmt.Fprintf(&b, "\n[cut: %d bytes]\n", left)
	}
	b.Write(h.tail[h.next:])
	b.Write(h.tail[:h.next])
	return b.String()
}

// scriptHandler is bash, as a script of the skill uses it.
func (d *Dispatcher) scriptHandler() *handler {
	h := *d.table.must("bash")
	h.script = true
	return &h
}

// scriptUse is the use of bash that a script is: a command of its path alone. A denial with a pattern
// denies it, since what a script does is not known.
func (d *Dispatcher) scriptUse(path string) *use {
	u := &use{detail: path, parts: []string{strings.ReplaceAll(path, " ", string(markBlank))}, matches: matchCommand, runs: true}
	if len(d.harmlessOnly()) > 0 {
		u.opaque = diag.New(diag.Refused, CodeDenied, "the actions of a script are not known beforehand")
	}
	return u
}
