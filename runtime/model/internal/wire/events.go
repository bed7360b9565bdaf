package wire

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxEvent is how long an event may be, and a line of it. A turn of MaxTurn
// bytes in one event has room, also when each of its characters is escaped.
const maxEvent = 32 << 20 // bytes

// Events reads a stream of server-sent events. An event without data is
// skipped, and so is one that the stream ends in.
type Events struct {
	Name string // of the event that Next read; "" if it has none
	Data []byte // of that event; valid until the next call of Next

	body  io.ReadCloser
	lines *bufio.Scanner
	err   error
}

func newEvents(body io.ReadCloser) *Events {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxEvent)
	return &Events{body: body, lines: lines}
}

// Next reads an event. It is false at the end of the stream and after an error.
func (e *Events) Next() bool {
	e.Name, e.Data = "", e.Data[:0]
	some := false // a line of data, be it empty
	for e.err == nil && e.lines.Scan() {
		line := e.lines.Bytes() // without its \n or \r\n
		if len(line) == 0 {
			if len(e.Data) > 0 {
				return true
			}
			e.Name, some = "", false
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			e.Name = string(value)
		case "data":
			if some {
				e.Data = append(e.Data, '\n')
			}
			if some = true; len(e.Data)+len(value) > maxEvent {
				e.err = errLong
				break
			}
			e.Data = append(e.Data, value...)
		}
	}
	return false
}

var errLong = fmt.Errorf("an event of it is longer than %d bytes", maxEvent)

// Err is what the stream ended with; nil if it ended in order.
func (e *Events) Err() error {
	if e.err == nil && errors.Is(e.lines.Err(), bufio.ErrTooLong) {
		return errLong
	}
	if e.err != nil {
		return e.err
	}
	return e.lines.Err()
}

// Close ends the request.
func (e *Events) Close() error { return e.body.Close() }

// Decode reads an event that is an object of JSON into v, which is zero. A
// field of another kind than the protocol says stays zero: services that are
// not the first ones to speak it add their own. What is no object is a Broken.
func Decode(data []byte, v any) error {
	if trimmed := bytes.TrimLeft(data, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return &Broken{Why: "an event of it is not a JSON object"}
	}
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok || err == nil {
		return nil
	}
	return Breaks(err)
}
