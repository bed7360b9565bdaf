package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// endGrace is how long questions that were read may still be answered after the input ended.
const endGrace = 30 * time.Second

// A patient transport tells of the end of the input once every request before it has its answer: a client that pipes
// its questions in closes the input behind the last one. Nobody is waited for longer than endGrace, and not at all where
// the server asked the client something, which can answer no more.
type patient struct{ sdk.Transport }

func (t patient) Connect(ctx context.Context) (sdk.Connection, error) {
	c, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &patientConn{Connection: c, changed: make(chan struct{}, 1), closed: make(chan struct{})}, nil
}

type patientConn struct {
	sdk.Connection
	changed chan struct{} // has a value after asked or open changed
	closed  chan struct{}
	once    sync.Once

	mu    sync.Mutex
	open  int // requests of the client without an answer
	asked int // requests of the server without an answer
}

// count adds to what is open, and wakes who waits for it.
func (c *patientConn) count(open, asked int) {
	c.mu.Lock()
	c.open += open
	c.asked += asked
	c.mu.Unlock()
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

func (c *patientConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	msg, err := c.Connection.Read(ctx)
	if errors.Is(err, io.EOF) {
		c.settle(ctx)
		return msg, err
	}
	switch m := msg.(type) {
	case *jsonrpc.Request:
		if m.IsCall() {
			c.count(1, 0)
		}
	case *jsonrpc.Response:
		c.count(0, -1)
	}
	return msg, err
}

func (c *patientConn) Write(ctx context.Context, msg jsonrpc.Message) error {
	if m, ok := msg.(*jsonrpc.Request); ok && m.IsCall() {
		c.count(0, 1)
	}
	err := c.Connection.Write(ctx, msg)
	if _, ok := msg.(*jsonrpc.Response); ok {
		c.count(-1, 0)
	}
	return err
}

// settle returns when no request is open, or nothing is worth waiting for any more.
func (c *patientConn) settle(ctx context.Context) {
	end := time.NewTimer(endGrace)
	defer end.Stop()
	for {
		c.mu.Lock()
		done := c.open <= 0 || c.asked > 0
		c.mu.Unlock()
		if done {
			return
		}
		select {
		case <-c.changed:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		case <-end.C:
			return
		}
	}
}

func (c *patientConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Connection.Close()
}
