package ui

import (
	"bytes"
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// A keyboard gives the bytes of keys as they are pressed.
type keyboard interface {
	// wait returns what was typed, nothing after d.
	wait(d time.Duration) ([]byte, error)
	// release gives the terminal back, until raw takes it again.
	release()
	raw() error
}

// A console is the keyboard of a real terminal.
type console struct {
	f      *os.File
	before *term.State
}

func (c *console) raw() error {
	was, err := term.MakeRaw(int(c.f.Fd()))
	if c.before == nil { // later it may be raw already: a shell gave it back as it was
		c.before = was
	}
	return err
}

func (c *console) release() { term.Restore(int(c.f.Fd()), c.before) }

func (c *console) wait(d time.Duration) ([]byte, error) {
	ready, err := readable(c.f, d)
	if err != nil || !ready {
		return nil, err
	}
	b := make([]byte, 256)
	n, err := c.f.Read(b)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return b[:n], err
}

// keys takes the keyboard for single keys; nil if there is none, or what is shown must not move.
func (u *UI) keys() keyboard {
	if u.Still || !u.CanAsk() {
		return nil
	}
	if u.keyboard != nil {
		return u.keyboard
	}
	if f, ok := u.In.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &console{f: f}
	}
	return nil
}

// escapeWait is how long an escape waits for the rest of its sequence.
const escapeWait = 50 * time.Millisecond

// eachKey draws, and calls press for each key until it says that it is done. It redraws when the size of the terminal
// changes, and when turn says so, which is called again and again and says after how long at most; it may be nil. What it drew is
// gone when it returns.
func (u *UI) eachKey(k keyboard, draw func(look screen.Look, height int) []screen.Line, press func(key) outcome, turn func(time.Time) (bool, time.Duration)) error {
	if err := k.raw(); err != nil {
		return ask.ErrNobody
	}
	r := &region{w: u.Err}
	look, height := u.errLook(), u.height()
	show := func() {
		look, height = u.errLook(), u.height()
		r.draw(look, draw(look, height))
	}
	hidden := func(yes bool) {
		io.WriteString(u.Err, map[bool]string{true: "\x1b[?25l", false: "\x1b[?25h"}[yes])
	}
	hidden(true)
	continued := make(chan os.Signal, 1)
	defer watchContinued(continued)()
	defer func() {
		r.erase(u.errLook())
		hidden(false)
		k.release()
	}()
	d := &decoder{}
	if u.lines != nil { // typed ahead
		ahead, _ := u.lines.Peek(u.lines.Buffered())
		u.lines.Discard(len(ahead))
		d.rest = append(d.rest, ahead...)
	}
	d.rest, u.ahead = append(d.rest, u.ahead...), nil
	show()
	for {
		select {
		case <-u.Interrupt:
			return context.Canceled
		case <-continued: // somebody else stopped it
			if err := k.raw(); err != nil {
				return ask.ErrNobody
			}
			r.forget()
			hidden(true)
			show()
		default:
		}
		pause := 200 * time.Millisecond
		if turn != nil {
			changed, again := turn(time.Now())
			if changed {
				show()
			}
			pause = min(pause, again)
		}
		if d.waiting() {
			pause = escapeWait
		}
		b, err := k.wait(pause)
		if err != nil {
			return ask.ErrNobody
		}
		d.rest = append(d.rest, b...)
		pressed := 0
		for {
			key, ok := d.one()
			if !ok && len(b) == 0 && d.waiting() {
				if keys := d.idle(); len(keys) > 0 {
					key, ok = keys[0], true
				}
			}
			if !ok {
				break
			}
			pressed++
			switch press(key) {
			case accepted:
				u.ahead = typedAhead(d.rest)
				return nil
			case left:
				return ask.ErrLeft
			case stopped:
				return ask.ErrStopped
			case paused:
				r.erase(u.errLook())
				hidden(false)
				k.release()
				suspend(continued)
				if err := k.raw(); err != nil {
					return ask.ErrNobody
				}
				hidden(true)
			}
		}
		if now := u.errLook(); pressed > 0 || now.Width != look.Width || u.height() != height {
			show()
		}
	}
}

// forget drops what was typed before a question was there.
func (u *UI) forget(k keyboard) error {
	u.ahead = nil
	if u.lines != nil {
		u.lines.Discard(u.lines.Buffered())
	}
	if err := k.raw(); err != nil {
		return err
	}
	defer k.release()
	for {
		if b, err := k.wait(0); err != nil || len(b) == 0 {
			return err
		}
	}
}

// typedAhead is what was typed behind a key that answered, without the Enter that only ends it, for whoever asks next.
func typedAhead(rest []byte) []byte {
	out := bytes.ReplaceAll(rest, []byte("\r"), []byte("\n"))
	return bytes.TrimPrefix(out, []byte("\n"))
}
