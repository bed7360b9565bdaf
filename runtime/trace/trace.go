// Package trace turns the events of a run into something to read: a live tree
// on a terminal, one line per node elsewhere, the banners and the log file of canopy-debug,
// JSON lines, and a report of a run or of one node afterwards. Spans for
// OpenTelemetry are made by trace/otlp.
//
// A Sink takes events one at a time, in the order in which they happen; [Tee] serialises them. Whatever came
// from a skill, a model or a tool passes diag.Printable before it is written.
package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
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

// JSONL writes each event as one line of JSON.
func JSONL(w io.Writer) Sink { return &jsonl{enc: json.NewEncoder(w)} }

type jsonl struct {
	enc *json.Encoder
	err error
}

func (j *jsonl) Event(e run.Event) {
	if j.err == nil {
		j.err = j.enc.Encode(e)
	}
}

func (j *jsonl) Close() error { return j.err }

// ReadJSONL reads what JSONL wrote. A torn last line, which a crash leaves, is dropped.
func ReadJSONL(r io.Reader) ([]run.Event, error) {
	var events []run.Event
	dec := json.NewDecoder(r)
	for {
		var e run.Event
		switch err := dec.Decode(&e); err {
		case nil:
			events = append(events, e)
		case io.EOF, io.ErrUnexpectedEOF:
			return events, nil
		default:
			return events, diag.New(diag.Failed, "trace_corrupt", "event %d cannot be read: %w", len(events)+1, err)
		}
	}
}

// depth is how deep a visit is nested: "2/0>REVIEW/1" is 2.
func depth(path string) int {
	return strings.Count(path, "/") + strings.Count(path, ">")
}

// cut shortens text to n runes on one line.
func cut(text string, n int) string {
	text = diag.Printable(strings.Join(strings.Fields(text), " "))
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:max(n-1, 0)]) + "…"
}

// pairs writes the members of a JSON object as "a=1  b=2", sorted; "" if there are none.
func pairs(value json.RawMessage, width int) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil || len(members) == 0 {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		out = append(out, fmt.Sprintf("%s=%s", diag.Printable(name), plain(members[name], width)))
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
