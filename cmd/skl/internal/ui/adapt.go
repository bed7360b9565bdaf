package ui

import (
	"os/exec"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// Wishes are what the command line says about looks.
type Wishes struct {
	NoColor, NoUnicode bool
}

// Adapt sets what u may show from the environment, u.Screen, u.ErrScreen and wishes:
//
//   - colours where the stream is a terminal, or CLICOLOR_FORCE=1; never with NO_COLOR or --no-color, nor on TERM=dumb;
//   - signs of ASCII with --no-unicode, and on a terminal whose locale has no UTF-8; words with SKL_PLAIN=1 or TERM=dumb;
//   - nothing that moves with SKL_PLAIN=1 or TERM=dumb.
//
// Each stream is judged by itself.
func (u *UI) Adapt(getenv func(string) string, w Wishes) {
	dumb := getenv("TERM") == "dumb"
	u.Still = dumb || getenv("SKL_PLAIN") == "1"
	u.Pager = pagerOf(getenv, exec.LookPath)
	force := getenv("CLICOLOR_FORCE") == "1"
	never := w.NoColor || getenv("NO_COLOR") != ""
	u.Color, u.Signs = adapted(u.Out, u.Screen, force, never, dumb)
	u.ErrColor, u.ErrSigns = adapted(u.Err, u.ErrScreen, force, never, dumb)
	if u.Screen && !utf8Locale(getenv) {
		u.Signs = screen.ASCII
	}
	if u.ErrScreen && !utf8Locale(getenv) {
		u.ErrSigns = screen.ASCII
	}
	if w.NoUnicode {
		u.Signs, u.ErrSigns = screen.ASCII, screen.ASCII
	}
	if getenv("SKL_PLAIN") == "1" || dumb && u.Screen {
		u.Signs = screen.Words
	}
	if getenv("SKL_PLAIN") == "1" || dumb && u.ErrScreen {
		u.ErrSigns = screen.Words
	}
}

// adapted says whether a stream takes colours, and prepares its terminal for them.
func adapted(stream any, terminal, force, never, dumb bool) (bool, screen.Signs) {
	if f, ok := stream.(interface{ Fd() uintptr }); ok && terminal && !obeys(f.Fd()) {
		return false, screen.Unicode
	}
	return !never && (force || terminal && !dumb), screen.Unicode
}

// utf8Locale reports whether the locale writes UTF-8. One that is not set says nothing against it.
func utf8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := strings.ToLower(getenv(name)); v != "" {
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return true
}
