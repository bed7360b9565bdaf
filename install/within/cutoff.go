package within

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// A record says what an edit is about to do, so that what a process left that was killed can be taken back. It lies in a directory of the
// user's own: one in the folder would be written by whoever wrote that.
type record struct {
	Dir    string         `json:"dir"`    // the folder
	Temp   string         `json:"temp"`   // name of the directory in it
	Staged bool           `json:"staged"` // all is written there, and the first step may have been done
	Steps  []recordedStep `json:"steps"`
}

type recordedStep struct {
	Path string `json:"path"` // relative to the folder, with slashes
	Was  string `json:"was"`  // digest of what it holds; "": it is not there
	Now  string `json:"now"`  // digest of what it shall hold; "": it goes
}

// maxRecord bounds the file of a record, in bytes.
const maxRecord = 64 << 20

// sum is the digest of a content, "" of none.
func sum(data []byte) string {
	if data == nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// keep writes a record to a directory, which it makes, and gives what removes it; where the directory is "" none is kept.
func (r *record) keep(dir string) (forget func(), err error) {
	if dir == "" {
		return func() {}, nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	if err := durable.MkdirPrivate(dir); err != nil {
		return nil, err
	}
	name := sha256.Sum256([]byte(r.Dir + "\x00" + r.Temp))
	at := filepath.Join(dir, hex.EncodeToString(name[:12])+".json")
	if err := Anywhere().WriteFile(at, text, 0o600); err != nil {
		return nil, err
	}
	return func() { Anywhere().Remove(at) }, nil
}

// over says that no step is to be taken back any more: what is in the directory goes.
func (r *record) over(dir string) {
	if r.Staged {
		r.Staged = false
		r.keep(dir)
	}
}

var tempForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + regexp.QuoteMeta(editMark) + `[0-9]{1,20}$`) })

// parseRecord reads a record. One that no edit wrote is an error.
func parseRecord(data []byte) (r *record, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r == nil || !filepath.IsAbs(r.Dir) || filepath.Clean(r.Dir) != r.Dir || !tempForm().MatchString(r.Temp) {
		return nil, errors.New("it names no folder, or no directory of an edit")
	}
	for _, s := range r.Steps {
		if name := filepath.FromSlash(s.Path); !filepath.IsLocal(name) || name == "." || name == r.Temp || strings.HasPrefix(name, r.Temp+string(filepath.Separator)) || s.Was == "" && s.Now == "" {
			return nil, fmt.Errorf("%q is no file of the folder", s.Path)
		}
	}
	return r, nil
}

// TakeBack takes back what edits left that were cut off: those of folders that wanted accepts, whose records lie in a directory. What somebody wrote since
// stays. It gives those of which a step may have been done. An edit that is under way in another process is left alone, and so is one on
// a file system without locks, of which nothing can say that it is over: that is the error [ErrUnsettled].
func TakeBack(records string, wanted func(dir string) bool) (folders []string, err error) {
	var unsettled error
	entries, err := Anywhere().ReadDir(records)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		at := filepath.Join(records, e.Name())
		if !e.Type().IsRegular() || filepath.Ext(at) != ".json" {
			continue
		}
		data, err := Anywhere().ReadFile(at, maxRecord)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return folders, err
		}
		r, err := parseRecord(data)
		if err != nil {
			return folders, diag.New(diag.Unmet, "journal_corrupt", "%s, which says what was being changed, cannot be read: %w", at, err).Hint("rm %s", diag.Quote(at))
		}
		if !wanted(r.Dir) {
			continue
		}
		back, err := r.takeBack()
		if back {
			folders = append(folders, r.Dir)
		}
		if errors.Is(err, durable.ErrLocked) {
			continue
		}
		if errors.Is(err, ErrUnsettled) {
			unsettled = errors.Join(unsettled, fmt.Errorf("%s: %w", filepath.Join(r.Dir, r.Temp), err))
			continue
		}
		if err != nil {
			return folders, fmt.Errorf("%s: %w", r.Dir, err)
		}
		Anywhere().Remove(at)
	}
	return folders, unsettled
}

// ErrUnsettled says that an edit may be under way, or was cut off, and that the file system cannot tell which.
var ErrUnsettled = errors.New("a change is under way here, or was cut off: this file system has no locks to tell which")

// takeBack undoes the steps that were done, the last one first. It is false where there can be none.
func (r *record) takeBack() (back bool, err error) {
	root, err := os.OpenRoot(r.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e := editor{in: &Dir{r.Dir, root}, root: root, temp: filepath.Join(r.Dir, r.Temp)}
	defer e.in.Close()
	if info, err := e.in.Lstat(e.temp); err != nil || !info.IsDir() {
		return false, nil
	}
	unlock, err := durable.Lock(atOnce(), e.temp, nil)
	if err != nil && !errors.Is(err, durable.ErrLocked) {
		return false, ErrUnsettled
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	for i := len(r.Steps) - 1; i >= 0 && r.Staged; i-- {
		s := step{at: filepath.Join(r.Dir, filepath.FromSlash(r.Steps[i].Path)), slot: filepath.Join(e.temp, strconv.Itoa(i))}
		if err := e.restore(&s, r.Steps[i]); err != nil {
			return true, err
		}
	}
	return r.Staged, e.in.RemoveAll(e.temp)
}

// restore takes one step back, by what the file and its slot hold now.
func (e *editor) restore(s *step, r recordedStep) error {
	if e.in.Exists(s.slot+aside) && !e.in.Exists(s.at) { // between the two moves of an exchange
		if err := e.link(s.slot+aside, s.at); err != nil {
			return err
		}
	}
	file, errFile := e.sumOf(s.at)
	slot, errSlot := e.sumOf(s.slot)
	if err := errors.Join(errFile, errSlot); err != nil {
		return err
	}
	switch {
	case r.Was == "" && file == r.Now && (slot == "" || e.same(s)): // it was put, or has both names for a moment
		if err := e.in.Remove(s.at); err != nil {
			return err
		}
		e.removeEmpty(s.at)
	case file == "" && r.Was == "": // not even put; its directory may be there
		e.removeEmpty(s.at)
	case slot == "" || slot == r.Now && slot != r.Was: // it was not put, or somebody wrote another one
	case file == "":
		if _, err := e.in.MkdirAll(filepath.Dir(s.at), 0o755); err != nil {
			return err
		}
		return e.link(s.slot, s.at)
	case file == r.Now:
		return e.exchange(s)
	case slot != r.Was: // two texts of somebody else
		if err := e.keep(s, errKept); !errors.Is(err, errKept) {
			return err
		}
	}
	return nil
}

// same reports whether a file and its slot are two names of one.
func (e *editor) same(s *step) bool {
	file, errFile := e.in.Lstat(s.at)
	slot, errSlot := e.in.Lstat(s.slot)
	return errFile == nil && errSlot == nil && os.SameFile(file, slot)
}

var errKept = errors.New("it has no place")

// sumOf is the digest of a file, "" where none is. What is no file has the digest "-".
func (e *editor) sumOf(at string) (string, error) {
	info, err := e.in.Lstat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "-", nil
	}
	data, err := e.in.ReadFile(at, info.Size()+1)
	if err != nil {
		return "", err
	}
	return sum(append([]byte{}, data...)), nil
}
