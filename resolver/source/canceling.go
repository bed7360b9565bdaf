package source

import (
	"context"
	"io"

	"github.com/skl-project/skl/spec/bundle"
)

// Canceling returns a Sink that hands everything to sink until ctx ends, and then accepts no more files:
// its error is that of ctx. Unpacking what is on the disk already asks nobody else.
func Canceling(ctx context.Context, sink bundle.Sink) bundle.Sink { return canceling{ctx.Err, sink} }

type canceling struct {
	ended func() error // Err of the context
	bundle.Sink
}

func (c canceling) File(p string, executable bool, size int64, r io.Reader) error {
	if err := c.ended(); err != nil {
		return err
	}
	return c.Sink.File(p, executable, size, r)
}
