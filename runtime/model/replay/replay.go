// Package replay answers requests from a file, and writes such files.
//
// A file is lines of JSON, one answer each:
//
//	{"path":"1.2/3#1","node":"1.2","purpose":"leaf","digest":"sha256:…","text":"Two files."}
//	{"node":"1.3","purpose":"condition","value":{"value":true,"reason":"both are there"}}
//	{"node":"1.4","error":"model_refused"}
//
// A line says for what it is by path, node or digest (at least one), and
// optionally purpose; and what is answered by exactly one of text, value
// (when there is a schema) and error (a code of package model). "model" names
// who answered at first. Empty lines and lines that begin with # are skipped;
// an unknown field is an error, so that a misspelt one does not match everything in silence.
//
//   - For a request the lines with its path count; without any, the lines with
//     its node; without any, the lines with its [Digest]. Of these, the lines
//     with its purpose count; without any, the lines that name no purpose.
//   - The first request that a path, node or digest decides takes the first of
//     its lines, the second the second; the last line stays for all later ones.
//     A loop so gets its answers in order, and one line can serve all rounds.
//   - Text that answers a schema is given as it is: [model.Checked] reads the
//     object in it. A value that answers a request for text is an error.
//   - Nothing is asked of anybody, and nothing costs anything: usage is zero.
//
// At most MaxFile bytes and MaxLines lines are read, of at most MaxLine bytes.
// A last line that a crash cut off is passed over.
package replay

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/skl-project/skl/runtime/model"
	"github.com/skl-project/skl/spec/diag"
)

const (
	MaxFile  = 64 << 20 // bytes
	MaxLine  = 8 << 20  // bytes
	MaxLines = 100_000
)

// CodeFile is the error of a file that cannot be read as answers.
const CodeFile = "replay_file"

// An Answer is a line of a file.
type Answer struct {
	Path    string          `json:"path,omitempty"`
	Node    string          `json:"node,omitempty"`
	Purpose model.Purpose   `json:"purpose,omitempty"`
	Digest  string          `json:"digest,omitempty"`
	Model   string          `json:"model,omitempty"`
	Text    *string         `json:"text,omitempty"`
	Value   json.RawMessage `json:"value,omitempty"`
	Code    string          `json:"error,omitempty"` // of the error that the answer was
}

// check says what is wrong with a, or "".
func (a Answer) check() string {
	n := 0
	for _, there := range []bool{a.Text != nil, a.Value != nil, a.Code != ""} {
		if there {
			n++
		}
	}
	switch {
	case a.Path == "" && a.Node == "" && a.Digest == "":
		return "it has no path, node or digest"
	case n != 1:
		return "it needs exactly one of text, value and error"
	}
	return ""
}

// Parse reads answers; name is for errors, which have code [CodeFile] and the line.
func Parse(name string, file []byte) ([]Answer, error) {
	bad := func(line int, format string, args ...any) error {
		return diag.New(diag.Misuse, CodeFile, "the recorded answers cannot be read: "+format, args...).At(diag.Position{File: name, Line: line})
	}
	if len(file) > MaxFile {
		return nil, bad(0, "more than %d bytes", MaxFile)
	}
	var answers []Answer
	for number := 1; len(file) > 0; number++ {
		line, rest, whole := bytes.Cut(file, []byte("\n"))
		file = rest
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		if len(line) > MaxLine {
			return nil, bad(number, "the line has more than %d bytes", MaxLine)
		}
		if len(answers) == MaxLines {
			return nil, bad(number, "more than %d answers", MaxLines)
		}
		if !whole && !json.Valid(line) {
			break // the crash of who recorded it
		}
		var a Answer
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&a); err != nil {
			return nil, bad(number, "%w", err)
		}
		if _, err := d.Token(); err != io.EOF {
			return nil, bad(number, "more than one object on the line")
		}
		if string(a.Value) == "null" {
			a.Value = nil
		}
		if wrong := a.check(); wrong != "" {
			return nil, bad(number, "%s", wrong)
		}
		answers = append(answers, a)
	}
	return answers, nil
}

// Load reads the answers of a file, see [Parse].
func Load(path string) ([]Answer, error) {
	f, err := os.Open(path)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil, diag.New(diag.Misuse, CodeFile, "there is no file %s with recorded answers", path)
		}
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return Parse(path, b)
}

// Open gives the model that answers from the file path, named replay:PATH.
func Open(path string) (model.Model, error) {
	answers, err := Load(path)
	if err != nil {
		return nil, err
	}
	return New("replay:"+path, answers), nil
}

// New gives a model that answers with answers. It may be used concurrently;
// which of two requests at the same moment takes the first line for a node is
// then open, and a path decides it.
func New(name string, answers []Answer) model.Model {
	r := &recorded{name: name, answers: answers, lines: map[string][]int{}, used: map[string]int{}}
	for i, a := range answers {
		for _, key := range []string{key('p', a.Path), key('n', a.Node), key('d', a.Digest)} {
			if len(key) > 1 {
				r.lines[key] = append(r.lines[key], i)
			}
		}
	}
	return r
}

// key keeps paths, nodes and digests apart.
func key(kind byte, s string) string { return string(kind) + s }

type recorded struct {
	name    string
	answers []Answer
	lines   map[string][]int // indices into answers, by key

	mu   sync.Mutex     // guards used
	used map[string]int // lines taken, by key and purpose
}

func (r *recorded) Name() string { return r.name }

func (r *recorded) Capabilities() model.Capabilities {
	return model.Capabilities{Tools: true, Parallel: true}
}

// Fill answers q, or has code model_no_answer.
func (r *recorded) Fill(ctx context.Context, q model.Request) (model.Reply, error) {
	if err := ctx.Err(); err != nil {
		return model.Reply{}, err
	}
	a, ok := r.take(q)
	if !ok {
		return model.Reply{}, diag.New(diag.NeedsInput, model.CodeNoAnswer, "%s has no answer for node %s (%s)", r.name, q.Node, q.Purpose).
			Hint(`add a line {"node":%q,"purpose":%q,%s}, or record anew with skl run --record FILE`, q.Node, q.Purpose, example(q))
	}
	reply := model.Reply{Model: a.Model, Value: a.Value}
	if reply.Model == "" {
		reply.Model = "replay"
	}
	switch {
	case a.Code != "":
		return model.Reply{}, diag.New(diag.Failed, a.Code, "the recorded answer for node %s is the error %s", q.Node, diag.Printable(a.Code))
	case a.Text != nil:
		reply.Text = *a.Text
	case q.Schema == nil:
		return model.Reply{}, diag.New(diag.Failed, model.CodeBadAnswer, "the recorded answer for node %s is a value, but a text is asked for", q.Node)
	}
	if q.Stream != nil && reply.Text != "" {
		q.Stream(reply.Text)
	}
	return reply, nil
}

func example(q model.Request) string {
	if q.Schema == nil {
		return `"text":"…"`
	}
	return `"value":{…}`
}

func (r *recorded) take(q model.Request) (Answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, key := range []string{key('p', q.Path), key('n', q.Node), key('d', Digest(q))} {
		var exact, open []int
		for _, i := range r.lines[key] {
			switch r.answers[i].Purpose {
			case q.Purpose:
				exact = append(exact, i)
			case "":
				open = append(open, i)
			}
		}
		fitting := exact
		if len(exact) == 0 {
			fitting = open
		}
		if len(fitting) == 0 {
			continue
		}
		count := key + "\x00" + string(q.Purpose)
		i := fitting[min(r.used[count], len(fitting)-1)]
		r.used[count]++
		return r.answers[i], true
	}
	return Answer{}, false
}

// Digest names what is asked, wherever in a tree it is asked: "sha256:" and 64
// digits, over purpose, system, prompt (with the word MARK for its mark), schema and the names of tools.
func Digest(q model.Request) string {
	h := sha256.New()
	field := func(s string) { fmt.Fprintf(h, "%d:%s", len(s), s) }
	field(string(q.Purpose))
	field(q.System)
	prompt := q.Prompt
	if q.Mark != "" {
		prompt = strings.ReplaceAll(prompt, q.Mark, "MARK")
	}
	field(prompt)
	field(string(compact(q.Schema)))
	for _, t := range q.Tools {
		field(t.Name)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// compact takes the spaces out of JSON, so that layout does not count.
func compact(b json.RawMessage) []byte {
	var out bytes.Buffer
	if json.Compact(&out, b) != nil {
		return b
	}
	return out.Bytes()
}
