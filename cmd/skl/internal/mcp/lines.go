package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Bounds of what is read.
const (
	maxLine   = 16 << 20 // bytes of a message
	maxBatch  = 1 << 20  // bytes of a batch
	maxAtOnce = 1000     // messages of a batch
)

// Codes of errors of JSON-RPC 2.0.
const (
	parseError     = -32700
	invalidRequest = -32600
)

// A lines is the input of a server, which passes on messages alone: the SDK ends the session with the first line that is none.
// Any other line is answered here. A batch, which MCP had in 2025-03-26 alone, is passed on message by message. Memory is bounded by
// maxLine whatever comes.
type lines struct {
	in   io.Closer
	from *bufio.Reader
	out  *shared
	next []byte // what was read and not passed on yet
	n    int    // lines that were read
	err  error  // that ended the input
}

func newLines(in io.ReadCloser, out *shared) *lines {
	return &lines{in: in, from: bufio.NewReaderSize(in, 64<<10), out: out}
}

func (l *lines) Close() error { return l.in.Close() }

// Read gives bytes of one message at a time.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.next) == 0 {
		if l.err != nil {
			return 0, l.err
		}
		if err := l.line(); err != nil {
			return 0, err
		}
	}
	n := copy(p, l.next)
	l.next = l.next[n:]
	return n, nil
}

// line reads the next line. Its error is that of an answer that could not be written.
func (l *lines) line() error {
	var text []byte
	long := false
	l.n++
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(text)+len(part) > maxLine; !long {
			text = append(text, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		l.err = err // of the line after this one
		break
	}
	text = bytes.TrimSpace(text)
	switch {
	case long:
		return l.refuse(nil, parseError, fmt.Sprintf("is longer than %d bytes", maxLine))
	case len(text) == 0:
		return nil
	case !utf8.Valid(text):
		return l.refuse(nil, parseError, "is not UTF-8")
	case text[0] != '[':
		return l.message(text)
	}
	if len(text) > maxBatch {
		return l.refuse(nil, invalidRequest, fmt.Sprintf("is a batch of more than %d bytes", maxBatch))
	}
	var batch []json.RawMessage
	if err := json.Unmarshal(text, &batch); err != nil {
		return l.refuse(nil, parseError, "is not JSON: "+err.Error())
	}
	if len(batch) == 0 || len(batch) > maxAtOnce {
		return l.refuse(nil, invalidRequest, fmt.Sprintf("is a batch of %d messages, and takes 1 to %d", len(batch), maxAtOnce))
	}
	for _, one := range batch {
		if err := l.message(one); err != nil {
			return err
		}
	}
	return nil
}

// message passes text on if it is one.
func (l *lines) message(text []byte) error {
	var whole json.RawMessage
	if err := json.Unmarshal(text, &whole); err != nil { // DecodeMessage takes more
		return l.refuse(nil, parseError, "is not JSON: "+err.Error())
	}
	_, err := jsonrpc.DecodeMessage(text)
	if err == nil {
		l.next = append(append(l.next, text...), '\n')
		return nil
	}
	var asked struct{ ID json.RawMessage }
	_ = json.Unmarshal(text, &asked) // what is no object has no id
	return l.refuse(asked.ID, invalidRequest, "is not a message of JSON-RPC 2.0: "+err.Error())
}

// refuse answers a line that is not passed on.
func (l *lines) refuse(id json.RawMessage, code int, why string) error {
	if len(id) == 0 || id[0] == '{' || id[0] == '[' || id[0] == 't' || id[0] == 'f' {
		id = json.RawMessage("null")
	}
	_, err := fmt.Fprintf(l.out, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`+"\n", id, code, quote(fmt.Sprintf("line %d %s", l.n, why)))
	return err
}

// A shared output is written by the SDK and by lines, each message as a whole.
type shared struct {
	io.WriteCloser
	mu sync.Mutex
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.WriteCloser.Write(p)
}
