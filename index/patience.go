package index

import (
	"context"
	"time"
)

const (
	patient   = 4                      // times Options.FirstAnswer: how long a query waits for an index of no more than lazyAbove files that does not exist yet
	leastLook = 400 * time.Millisecond // a query takes to see what changed, however short its time is
	leastRead = 4                      // the part of Options.FirstAnswer that reading gets after it, so that each question comes further
)

// A patience is the time in which a query has the index follow the files. When it ends, the answer comes from what there is.
type patience struct {
	begin       time.Time
	first, time time.Duration
}

// patience begins now. Where there is no index yet, it is longer.
func (x *Index) patience(ctx context.Context) patience {
	p := patience{time.Now(), x.o.FirstAnswer, x.o.FirstAnswer}
	if v, err := x.view(ctx); err == nil {
		defer v.Close()
		if len(v.Files()) == 0 {
			p.time *= patient
		}
	}
	return p
}

func (p patience) over() bool { return time.Since(p.begin) >= p.time }

// looking is for seeing what changed.
func (p patience) looking(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithDeadline(ctx, p.begin.Add(max(p.time, leastLook)))
}

// reading is for storing what changed; of very much, less, since that will take several questions anyway.
func (p patience) reading(ctx context.Context, many bool) (context.Context, context.CancelFunc) {
	if many {
		p.time = p.first
	}
	end := p.begin.Add(p.time)
	if least := time.Now().Add(p.first / leastRead); end.Before(least) {
		end = least
	}
	return context.WithDeadline(ctx, end)
}
