package draw

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/spec/diag"
)

// NewLog returns a handler that writes a line for each record of a server's log, for the person who watches it: of a
// request the time, the status, who asked for what, the bytes that went out and how long it took. look is asked anew for each line; show
// writes it.
func NewLog(level slog.Level, look func() screen.Look, show func(string)) slog.Handler {
	return &logHandler{level: level, look: look, show: show, mu: new(sync.Mutex)}
}

type logHandler struct {
	level slog.Level
	look  func() screen.Look
	show  func(string)
	attrs []slog.Attr
	mu    *sync.Mutex // one line at a time
}

func (h *logHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }
func (h *logHandler) WithGroup(string) slog.Handler                    { return h }
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *h
	next.attrs = append(append([]slog.Attr{}, h.attrs...), attrs...)
	return &next
}

func (h *logHandler) Handle(_ context.Context, r slog.Record) error {
	values := map[string]slog.Value{}
	var rest []string
	each := func(a slog.Attr) bool {
		values[a.Key] = a.Value
		rest = append(rest, a.Key+"="+a.Value.String())
		return true
	}
	for _, a := range h.attrs {
		each(a)
	}
	r.Attrs(each)
	look := h.look()
	at := dim(r.Time.Format(time.TimeOnly) + "  ")
	var line screen.Line
	if r.Message == "request" && values["status"].Kind() == slog.KindInt64 {
		line = requestLine(look, at, values)
	} else {
		mark := screen.T("")
		if r.Level >= slog.LevelWarn {
			mark = screen.Span{Style: screen.Yellow, Text: strings.ToLower(r.Level.String()) + "  "}
		}
		line = screen.Prose(10, at, mark, screen.T(r.Message+"  "), dim(strings.Join(rest, " ")))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.show(look.Lines(line))
	return nil
}

func requestLine(look screen.Look, at screen.Span, v map[string]slog.Value) screen.Line {
	status := v["status"].Int64()
	style := screen.Plain
	switch {
	case status >= 500:
		style = screen.Red
	case status >= 400:
		style = screen.Yellow
	}
	who := v["account"].String()
	if v["account"].Kind() != slog.KindString || who == "" {
		who = "-"
	}
	var sent int64
	if v["out"].Kind() == slog.KindInt64 {
		sent = v["out"].Int64()
	}
	right := diag.Size(sent)
	if v["took"].Kind() == slog.KindDuration {
		right += fmt.Sprintf("  %d ms", v["took"].Duration().Milliseconds())
	}
	left := []screen.Span{at, {Style: style, Text: fmt.Sprintf("%3d  ", status)}, screen.T(pad(diag.Printable(who), 8) + "  " + pad(v["method"].String(), 6) + " ")}
	path := diag.Printable(v["path"].String())
	if look.Width > 0 {
		path = look.CutMiddle(path, max(look.Width-34-len(right), 16))
	}
	return screen.Line{Left: append(left, screen.T(path)), Right: []screen.Span{dim(right)}}
}
