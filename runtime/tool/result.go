package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

const (
	maxGiven   = 16 << 10 // of a result that a model is given as a whole, in bytes, where longer ones are kept
	givenStart = 6 << 10  // of a longer one
	givenEnd   = 2 << 10
	maxKept    = 1 << 20  // of a result that is kept
	maxAllKept = 64 << 20 // of all results of a run
)

const resultPrefix = "result:"

// keptResults are the results of calls that are too long to be given as a whole. read and grep find them as result:N. Each is seen by those alone
// who have the limits of the one that made the call: to a subagent that may read less, it would tell what that one read.
type keptResults struct {
	mu    sync.Mutex
	last  int   // number of the newest
	bytes int64 // of all
	ready bool  // last and bytes count what an earlier process of the run kept
	trees map[string]*tree
}

// resultsOf is the directory of those with the limits of d, below Config.Results.
func (d *Dispatcher) resultsOf() (string, error) {
	narrowed := d.policies[len(d.base):]
	if len(narrowed) == 0 {
		return "all", nil
	}
	var limits []any
	for _, p := range narrowed {
		limits = append(limits, p.Tools)
	}
	text, err := json.Marshal(limits)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), err
}

// keeps reports whether a long result is kept: there is a place for it, and d could read it afterwards.
func (d *Dispatcher) keeps() bool {
	if d.config.Results == "" {
		return false
	}
	read := d.table.must("read")
	return d.reachable(read, true) == nil && d.permit(read, fileUse(resultPrefix+"1")) == nil
}

// given is the result of a call of h as a model gets it: text as a whole, or where it is long its start and its end, and how to read the rest.
func (d *Dispatcher) given(h *handler, text string) string {
	if len(text) > maxGiven && h != d.table.must("read") && d.keeps() {
		kept := bounded(text, maxKept)
		if n, err := d.keep(kept); err == nil {
			return excerpt(kept, n)
		}
	}
	switch h {
	case d.table.must("fetch"):
		return bounded(text, maxFetch+100)
	case d.table.must("bash"):
		return bothEnds(text)
	}
	return bounded(text, maxResult)
}

// bothEnds is what is given of the output of a program that is not kept: its start and its end, of which the last says how it went.
func bothEnds(text string) string {
	if len(text) <= maxOutput {
		return bounded(text, maxOutput)
	}
	h := headTail{half: halfOutput}
	_, _ = h.Write([]byte(text)) // it has no errors
	return bounded(h.String(), maxOutput)
}

// excerpt is the start and the end of text, which is result n, in whole lines where they are not too long.
func excerpt(text string, n int) string {
	start := givenStart
	if at := strings.LastIndexByte(text[:start], '\n') + 1; at > givenStart/2 {
		start = at
	}
	for !utf8.RuneStart(text[start]) {
		start--
	}
	end := len(text) - givenEnd
	if at := strings.IndexByte(text[end:], '\n') + 1; at > 0 && at < givenEnd/2 {
		end += at
	}
	for !utf8.RuneStart(text[end]) {
		end++
	}
	note := fmt.Sprintf("[left out: %d bytes, from line %d on. All of it, %s, is %s%d, which read and grep take as a path]\n",
		end-start, 1+strings.Count(text[:start], "\n"), diag.Count(lines(text), "line"), resultPrefix, n)
	return ended(text[:start]) + note + text[end:]
}

// lines is how many lines text has.
func lines(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// keep writes text down as a result of d and returns its number.
func (d *Dispatcher) keep(text string) (int, error) {
	d.kept.mu.Lock()
	defer d.kept.mu.Unlock()
	if err := d.kept.count(d.config.Results); err != nil {
		return 0, err
	}
	if d.kept.bytes+int64(len(text)) > maxAllKept {
		return 0, failed("the results of a run have %d bytes at most", maxAllKept)
	}
	t, err := d.results(true)
	if err != nil {
		return 0, err
	}
	n := d.kept.last + 1
	f, err := t.root.OpenFile(strconv.Itoa(n), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	_, err = f.WriteString(text)
	for _, then := range []func() error{f.Sync, f.Close} {
		if failed := then(); err == nil {
			err = failed
		}
	}
	if err != nil {
		return 0, err
	}
	d.kept.last, d.kept.bytes = n, d.kept.bytes+int64(len(text))
	return n, nil
}

// count counts what an earlier process of the run kept, once. s.mu is held.
func (s *keptResults) count(dir string) error {
	if s.ready {
		return nil
	}
	of, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for _, limits := range of {
		files, err := os.ReadDir(filepath.Join(dir, limits.Name()))
		if err != nil {
			return err
		}
		for _, file := range files {
			n, err := strconv.Atoi(file.Name())
			if err != nil {
				continue
			}
			s.last = max(s.last, n)
			if info, err := file.Info(); err == nil {
				s.bytes += info.Size()
			}
		}
	}
	s.ready = true
	return nil
}

// results is the tree of the results of d; d.kept.mu is held. Without create it is nil where there are none.
func (d *Dispatcher) results(create bool) (*tree, error) {
	name, err := d.resultsOf()
	if err != nil {
		return nil, err
	}
	if t := d.kept.trees[name]; t != nil {
		return t, nil
	}
	dir := filepath.Join(d.config.Results, name)
	if create {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	} else if !isThere(dir) {
		return nil, nil
	}
	t, err := openTree(dir, resultPrefix)
	if err != nil {
		return nil, err
	}
	t.readOnly, t.owner = true, "what was kept of the run"
	if d.kept.trees == nil {
		d.kept.trees = map[string]*tree{}
	}
	d.kept.trees[name] = t
	return t, nil
}

// findResult finds what result:NAME means.
func (d *Dispatcher) findResult(name string) (*place, error) {
	none := diag.New(diag.Failed, CodeFailed, "there is no result %q here", diag.Brief(resultPrefix+name, 100))
	if n, err := strconv.Atoi(name); err != nil || n < 1 || strconv.Itoa(n) != name {
		return nil, none
	}
	d.kept.mu.Lock()
	t, err := d.results(false)
	d.kept.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if t == nil {
		return nil, none
	}
	p, err := t.find(name)
	if err == nil && p.info == nil {
		p.close()
		return nil, none
	}
	return p, err
}

// close releases the directories.
func (s *keptResults) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.trees {
		t.close()
	}
	s.trees = nil
}
