package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

// JournalVersion is the version of the format that is written. Version 1 is read too: its records have no checksums, and
// those that are added to it have none either.
const JournalVersion = 2

// Limits of a journal that is read.
const (
	MaxJournal = 1 << 30  // bytes
	MaxRecord  = 32 << 20 // bytes of one line
)

// RecordType says what a Record is.
type RecordType string

const (
	HeaderRecord   RecordType = "header"       // the first: Version, Skill, Plan, Args
	ResumeRecord   RecordType = "resumed"      // another process goes on from here
	StartedRecord  RecordType = "started"      // an effect begins
	ReleasedRecord RecordType = "released"     // it waits for a person and did nothing: it is as if it had not begun
	DoneRecord     RecordType = "done"         // it ended: Output or Text, or Err
	TurnRecord     RecordType = "turn"         // a leaf goes on with tools: Text that was said besides, Usage of the turn
	ToolStarted    RecordType = "tool.started" // a leaf calls a tool
	ToolDone       RecordType = "tool.done"    // it answered
	EndRecord      RecordType = "end"          // Status, and Key of what failed
)

// A Record is one line of a journal.
type Record struct {
	Type RecordType `json:"t"`
	Time time.Time  `json:"time,omitzero"`

	Version int    `json:"version,omitempty"` // header
	Skill   string `json:"skill,omitempty"`
	Plan    string `json:"plan,omitempty"` // digest of the skill's folder
	Args    string `json:"args,omitempty"`

	Key    string `json:"key,omitempty"`  // path of the visit, "!", ordinal within the visit
	Kind   string `json:"kind,omitempty"` // model, ask, script, tool, exists, read, write, dispatch
	Node   string `json:"node,omitempty"`
	Digest string `json:"digest,omitempty"` // of what went in
	Acts   bool   `json:"acts,omitempty"`   // changes something outside

	Output json.RawMessage `json:"output,omitempty"`
	Text   string          `json:"text,omitempty"`
	How    string          `json:"how,omitempty"` // who answered; of a tool that was denied, the code of the error
	Model  string          `json:"model,omitempty"`
	Usage  *model.Usage    `json:"usage,omitempty"`
	Err    *RecordedError  `json:"error,omitempty"`
	Did    *Deed           `json:"did,omitempty"` // of a tool, a script or a write

	Call   int             `json:"call,omitempty"` // of a tool: from 1 within its leaf; again the same when it waited for leave and is made
	Name   string          `json:"name,omitempty"` // of a tool, as the model called it
	Tool   string          `json:"tool,omitempty"` // its canonical name; also of a done effect that is a tool's call
	Input  json.RawMessage `json:"input,omitempty"`
	Status Status          `json:"status,omitempty"` // of a tool: ok, error, denied, suspended, skipped or repeated; of the run
}

// A RecordedError is an error as a journal keeps it.
type RecordedError struct {
	Class   int      `json:"class"`
	Code    string   `json:"code"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`

	Where diag.Position `json:"where,omitzero"`
}

func recordError(err error) *RecordedError {
	r := &RecordedError{Class: int(diag.ClassOf(err)), Message: err.Error()}
	if e, ok := errors.AsType[*diag.Error](err); ok {
		r.Code, r.Message, r.Hints, r.Where = e.Code, e.Message, e.Hints, e.Where
	}
	return r
}

func (r *RecordedError) err() error {
	return &diag.Error{Class: diag.Class(r.Class), Code: r.Code, Message: r.Message, Hints: r.Hints, Where: r.Where}
}

// A Journal keeps the records of one run in order. Its method is called by one goroutine at a time.
type Journal interface {
	// Append keeps r. With sync it returns after r and all before it will survive a loss of power;
	// without, they survive the end of this process by any signal.
	Append(r Record, sync bool) error
}

// A writer appends the records of a run to its journal. One that cannot be written stops the run. Its method may be called concurrently.
type writer struct {
	to     Journal // nil: nothing is kept
	mu     sync.Mutex
	broken error // guarded by mu
}

func (w *writer) append(r Record, sync bool) error {
	if w.to == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	r.Time = time.Now().UTC()
	if err := w.to.Append(r, sync); err != nil {
		w.broken = diag.New(diag.Failed, CodeJournal, "writing the journal: %w", err)
	}
	return w.broken
}

// A Memory is a journal that ends with the process. Its zero value is empty.
type Memory struct {
	mu      sync.Mutex
	records []Record // guarded by mu
}

// Append implements Journal.
func (j *Memory) Append(r Record, _ bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.records = append(j.records, r)
	return nil
}

// Records returns what was appended so far.
func (j *Memory) Records() []Record {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.records)
}

// JournalName is the file of a journal in the directory of its run.
const JournalName = "journal.jsonl"

// A File is a journal on disk, one JSON value a line, in a directory of its own that is locked while it is open.
//
// Each record is written with one call and kept back nowhere, so that kill -9 loses nothing that was completed. Records of
// effects that act are synced before the run goes on. A loss of power can lose others since the last sync: answers of models and people, which are then
// asked for again. A torn last line is dropped when the journal is read.
//
// Each line ends with a checksum over itself and all before it, so that a line that was changed, lost, doubled or moved on
// the disk is found. It is no signature: who can write the file can make another one.
type File struct {
	f      *os.File
	unlock func()
	sum    chain
}

// Create makes the journal of a new run in dir, which must exist. It fails if there is one.
func Create(dir string) (*File, error) {
	unlock, err := lock(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(dir, JournalName), os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err == nil {
		err = durable.SyncDir(dir)
	}
	if err != nil {
		unlock()
		return nil, diag.New(diag.Failed, CodeJournal, "creating the journal in %s: %w", dir, err)
	}
	return &File{f: f, unlock: unlock, sum: chain{on: true}}, nil
}

// Open reads the journal in dir and opens it for appending, for Resume. There are no records if the process that made the
// journal died before the first was whole: nothing happened then, and the journal is as [Create] makes it, for Run.
func Open(dir string) (*File, []Record, error) {
	unlock, err := lock(dir)
	if err != nil {
		return nil, nil, err
	}
	name := filepath.Join(dir, JournalName)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		unlock()
		return nil, nil, diag.New(diag.Failed, CodeJournal, "opening the journal: %w", err)
	}
	records, size, sum, err := readRecords(f, name)
	if err != nil && unbegun(f) {
		sum, err = chain{on: true}, nil
	}
	if err == nil {
		err = f.Truncate(size) // the torn line, so that the next record does not join it
	}
	if err != nil {
		f.Close()
		unlock()
		return nil, nil, err
	}
	return &File{f, unlock, sum}, records, nil
}

// unbegun says whether f ends within its first record, which is the head.
func unbegun(f *os.File) bool {
	const head = `{"t":"header",`
	text, err := io.ReadAll(io.NewSectionReader(f, 0, MaxRecord))
	return err == nil && bytes.IndexByte(text, '\n') < 0 && string(text[:min(len(text), len(head))]) == head[:min(len(text), len(head))]
}

func lock(dir string) (func(), error) {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	unlock, err := durable.Lock(ctx, dir, nil)
	if errors.Is(err, durable.ErrLocked) {
		return nil, diag.New(diag.Failed, CodeBusy, "the run in %s is in the hands of another process", dir)
	}
	if err != nil {
		return nil, diag.New(diag.Failed, CodeJournal, "locking the run: %w", err)
	}
	return unlock, nil
}

// Append implements Journal.
func (j *File) Append(r Record, sync bool) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	line, next := b.Bytes(), j.sum
	if err == nil {
		line = next.seal(line)
	}
	if err == nil && len(line) > MaxRecord {
		err = errors.New("a record above the limit of 32 MiB")
	}
	if err == nil {
		_, err = j.f.Write(line)
	}
	if err == nil {
		j.sum = next
	}
	if err == nil && sync {
		err = j.f.Sync()
	}
	return err
}

// Close syncs the journal and lets others have it.
func (j *File) Close() error {
	err := j.f.Sync()
	err = errors.Join(err, j.f.Close())
	j.unlock()
	return err
}

// ReadFile reads the journal in dir, for Replay and for looking at; it takes no lock.
func ReadFile(dir string) ([]Record, error) {
	name := filepath.Join(dir, JournalName)
	f, err := os.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, diag.New(diag.Misuse, CodeJournal, "there is no journal in %s", dir)
		}
		return nil, diag.New(diag.Failed, CodeJournal, "opening the journal: %w", err)
	}
	defer f.Close()
	records, _, _, err := readRecords(f, name)
	return records, err
}

// ReadRecords reads a journal from r; name is for messages.
func ReadRecords(r io.Reader, name string) ([]Record, error) {
	records, _, _, err := readRecords(r, name)
	return records, err
}

// readRecords also returns the size of the part that is whole, and the checksum at its end.
func readRecords(r io.Reader, name string) (records []Record, size int64, sum chain, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	damaged := func(line int, what string) error {
		return diag.New(diag.Failed, CodeJournal, "%s: line %d %s", name, line, what).Hint("the journal was changed or damaged after it was written; to start anew: skl run NAME")
	}
	for line := 1; ; line++ {
		text, err := readLine(in)
		if err == io.EOF {
			break // what stands after the last line end was torn off
		}
		if err != nil {
			return nil, 0, chain{}, diag.New(diag.Failed, CodeJournal, "%s: %w", name, err).At(diag.Position{Line: line})
		}
		var rec Record
		if err := json.Unmarshal(text, &rec); err != nil {
			if _, err := in.Peek(1); err == io.EOF && bytes.IndexByte(text, 0) >= 0 {
				break // the last line, of which a part never reached the disk when the power went
			}
			return nil, 0, chain{}, damaged(line, "is not a record")
		}
		if line == 1 {
			if err := checkHead(rec, name); err != nil {
				return nil, 0, chain{}, err
			}
			sum.on = rec.Version > 1
		}
		if !sum.check(text) {
			return nil, 0, chain{}, damaged(line, "does not have its checksum")
		}
		if size += int64(len(text)); size > MaxJournal {
			return nil, 0, chain{}, diag.New(diag.Failed, CodeJournal, "%s is larger than 1 GiB", name)
		}
		records = append(records, rec)
	}
	if len(records) == 0 {
		return nil, 0, chain{}, checkHead(Record{}, name)
	}
	return records, size, sum, nil
}

func checkHead(head Record, name string) error {
	switch {
	case head.Type != HeaderRecord:
		return diag.New(diag.Failed, CodeJournal, "%s is not a journal of a run", name)
	case head.Version < 1 || head.Version > JournalVersion:
		return diag.New(diag.Failed, CodeJournal, "%s has version %d of the format; this program reads up to version %d", name, head.Version, JournalVersion)
	}
	return nil
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > MaxRecord {
			return nil, errors.New("a line above the limit of 32 MiB")
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return line, err
	}
}
