package oci

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A sender gives one piece of its content after each pause.
type sender struct {
	pieces []string
	rest   string // of the piece that is being read
	pause  time.Duration
	sent   func() // is called after each pause
}

func (s *sender) Read(p []byte) (int, error) {
	if s.rest == "" {
		if len(s.pieces) == 0 {
			return 0, io.EOF
		}
		time.Sleep(s.pause)
		s.sent()
		s.rest, s.pieces = s.pieces[0], s.pieces[1:]
	}
	n := copy(p, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// TestPauses: a client may take as long as it likes in all, while no pause is longer than the patience and its average is no slower than
// the slowest. The time of a bubble moves only by the pauses.
func TestPauses(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces int
		bytes  int // of each
		pause  time.Duration
		late   bool
	}{
		{"steady", 100, slowest, time.Second / 2, false},
		{"with pauses just below the patience", 20, 30 * slowest, patience - notice, false},
		{"one pause too long", 1, slowest, patience + 2*notice, true},
		{"a byte at a time", 100, 1, time.Second, true},
		{"a byte at a time, and soon at the end", 20, 1, time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var deadline time.Time
				late := false
				r := &sender{pause: tt.pause, sent: func() { late = late || time.Now().After(deadline) }}
				for range tt.pieces {
					r.pieces = append(r.pieces, strings.Repeat("x", tt.bytes))
				}
				q := &request{h: &Handler{}}
				b := &body{r: r, want: int64(tt.pieces * tt.bytes), pace: q.pace(func(at time.Time) error { deadline = at; return nil })}
				if _, err := io.Copy(io.Discard, b); err != nil {
					t.Fatal(err)
				}
				if late != tt.late {
					t.Errorf("late %v, want %v", late, tt.late)
				}
			})
		})
	}
}
