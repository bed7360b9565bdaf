// Package trace turns the events of a run into something to read: a live tree
// on a terminal, one line per node elsewhere, the banners and the log file of canopy-debug,
// JSON lines, and a report of a run or of one node afterwards. Spans for
// OpenTelemetry are made by trace/otlp.
//
// A Sink takes events one at a time, in the order in which they happen; [Tee] serialises them. Whatever came
// from a skill, a model or a tool passes diag.Printable before it is written.
package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/spec/diag"
)

// A Sink receives events. Close flushes what is buffered.
type Sink interface {
	Event(run.Event)
	Close() error
}

// Tee gives events to all sinks, one event at a time; it may be called concurrently. Nil
// sinks are left out.
func Tee(sinks ...Sink) Sink {
	t := &tee{}
	for _, s := range sinks {
		if s != nil {
			t.sinks = append(t.sinks, s)
		}
	}
	return t
}

type tee struct {
	mu    sync.Mutex
	sinks []Sink
}

func (t *tee) Event(e run.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.sinks {
		s.Event(e)
	}
}

func (t *tee) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var first error
	for _, s := range t.sinks {
		if err := s.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// JSONL writes each event as one line of JSON. What a terminal would obey is escaped.
func JSONL(w io.Writer) Sink { return &jsonl{w: w} }

type jsonl struct {
	w   io.Writer
	err error
}

func (j *jsonl) Event(e run.Event) {
	if j.err != nil {
		return
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if j.err = enc.Encode(e); j.err == nil {
		_, j.err = j.w.Write(escaped(b.Bytes()))
	}
}

func (j *jsonl) Close() error { return j.err }

// escaped writes DEL, the second range of control characters, and what reorders or hides text, as JSON escapes.
func escaped(text []byte) []byte {
	plain := true
	for _, c := range text {
		plain = plain && c < 0x7f
	}
	if plain {
		return text
	}
	out := make([]byte, 0, len(text)+16)
	for _, r := range string(text) {
		if r != '\n' && r >= 0x7f && diag.Printable(string(r)) != string(r) {
			for _, unit := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, "\\u%04x", unit)
			}
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// ReadJSONL reads what JSONL wrote. A torn last line, which a crash leaves, is dropped.
// Its error has code trace_corrupt.
func ReadJSONL(r io.Reader) ([]run.Event, error) {
	var events []run.Event
	lines := bufio.NewReader(r)
	for {
		text, err := lines.ReadBytes('\n')
		torn := err == io.EOF
		if err != nil && !torn {
			return nil, err
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			var e run.Event
			err := json.Unmarshal(text, &e)
			switch {
			case err == nil:
				events = append(events, e)
			case !torn:
				return nil, diag.New(diag.Failed, "trace_corrupt", "event %d cannot be read: %w", len(events)+1, err)
			}
		}
		if torn {
			return events, nil
		}
	}
}

const maxPairs = 20

// pairs writes the members of a JSON object as "a=1  b=2", sorted; "" if there are none.
func pairs(value json.RawMessage, width int) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || len(members) == 0 {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if len(out) == maxPairs {
			out = append(out, "…")
			break
		}
		out = append(out, cut(name, width)+"="+plain(members[name], width))
	}
	return strings.Join(out, "  ")
}

// plain is a JSON value as a person reads it: a string without quotes.
func plain(value json.RawMessage, width int) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return cut(s, width)
	}
	return cut(string(value), width)
}

// symbol is the sign of a status.
func symbol(s run.Status) string {
	switch s {
	case run.OK, run.Pass, "":
		return "✓"
	case run.Skipped:
		return "⊘"
	case run.Suspended:
		return "⏸"
	case run.Ended:
		return "■"
	}
	return "✗"
}
