package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// A Recorder writes a file of answers. Its methods may be called concurrently.
//
// Each answer is one write of one line at the end of the file, so that after a
// crash the file has whole lines and at most one that is cut off. Recording
// never fails a run: what could not be written is the error of Close.
type Recorder struct {
	path string

	mu    sync.Mutex // guards the fields below
	file  *os.File
	size  int64
	lines int
	err   error // the first
}

// Create opens path for more answers. A file that is there must hold answers:
// they stay, which is how a resumed run goes on recording. A cut-off last line
// is removed. A new file has mode 0600, because answers can be private.
func Create(path string) (*Recorder, error) {
	r := &Recorder{path: path}
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		old = nil
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	answers, err := Parse(path, old)
	if err != nil {
		return nil, err
	}
	if r.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	r.size, r.lines = int64(len(old)), len(answers)
	if n := len(old); n > 0 && old[n-1] != '\n' {
		whole := bytes.LastIndexByte(old, '\n') + 1
		if json.Valid(bytes.TrimSpace(old[whole:])) {
			_, err = r.file.WriteString("\n")
			r.size++
		} else {
			err = r.file.Truncate(int64(whole))
			r.size = int64(whole)
		}
		if err != nil {
			r.file.Close()
			return nil, err
		}
	}
	return r, nil
}

// Add writes an answer.
func (r *Recorder) Add(a Answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return
	}
	if r.file == nil {
		r.err = os.ErrClosed
		return
	}
	if wrong := a.check(); wrong != "" {
		r.err = fmt.Errorf("an answer for %s is not recorded: %s", r.path, wrong)
		return
	}
	line, err := json.Marshal(a)
	if err != nil {
		r.err = fmt.Errorf("recording in %s: %w", r.path, err)
		return
	}
	line = append(line, '\n')
	if len(line) > MaxLine || r.size+int64(len(line)) > MaxFile || r.lines == MaxLines {
		r.err = diag.New(diag.Failed, CodeFile, "the answers are too large for %s, which takes %d bytes and %d answers: the rest is not recorded", r.path, MaxFile, MaxLines)
		return
	}
	n, err := r.file.Write(line)
	if err != nil {
		if n > 0 { // A full disk: leave whole lines.
			err = errors.Join(err, r.file.Truncate(r.size))
		}
		r.err = fmt.Errorf("recording in %s: %w", r.path, err)
		return
	}
	r.size += int64(n)
	r.lines++
}

// Close makes the file durable and says what went wrong since Create. A second
// Close says it again.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil {
		err := errors.Join(r.file.Sync(), r.file.Close(), durable.SyncDir(filepath.Dir(r.path)))
		r.file = nil
		if r.err == nil && err != nil {
			r.err = fmt.Errorf("recording in %s: %w", r.path, err)
		}
	}
	return r.err
}

// Record gives a model that answers as m and writes the answers to r, refusals
// and answers that do not fit among them. It goes around [model.Checked], so
// that a repaired answer is one line.
func Record(m model.Model, r *Recorder) model.Model { return recording{m, r} }

type recording struct {
	m model.Model
	r *Recorder
}

func (r recording) Name() string                     { return r.m.Name() }
func (r recording) Capabilities() model.Capabilities { return r.m.Capabilities() }

// Unwrap gives the model inside, for those that ask it for more.
func (r recording) Unwrap() model.Model { return r.m }

func (r recording) Fill(ctx context.Context, q model.Request) (model.Reply, error) {
	reply, err := r.m.Fill(ctx, q)
	a := Answer{Path: q.Path, Node: q.Node, Purpose: q.Purpose, Digest: Digest(q), Model: reply.Model}
	switch {
	case err == nil && q.Schema != nil && reply.Value != nil:
		a.Value = reply.Value
	case err == nil:
		a.Text = &reply.Text
	default:
		// Only what the model said is worth repeating; networks and keys are not.
		for _, code := range []string{model.CodeRefused, model.CodeBadAnswer, model.CodeTruncated} {
			if errors.Is(err, diag.Code(code)) {
				a.Code = code
			}
		}
		if a.Code == "" {
			return reply, err
		}
	}
	r.r.Add(a)
	return reply, err
}
