package tool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/runtime/run"
	"github.com/skl-project/skl/runtime/sandbox"
)

// A census of the working directory before and after a program shows which files it changed.

const (
	maxCensus  = 10_000   // files that are looked at
	maxChanges = 100      // of one program that are told
	maxDigest  = 1 << 20  // bytes of a file whose digest is told
	allDigests = 16 << 20 // bytes of all of them
)

// A census is what the files of the working directory were at one time, by path with slashes. What is in .git, and in directories that package
// managers fill, is not in it.
type census map[string]stamp

// A stamp is equal for files that did not change.
type stamp struct {
	changed, written, size int64
	mode                   fs.FileMode
}

var errMany = errors.New("too many files")

// census looks at the files that there are. unknown says why it does not know all of them, and then there is none.
func (c *core) census() (files census, unknown string) {
	if c.crowded.Load() {
		return nil, crowd
	}
	files = census{}
	blind := false
	err := filepath.WalkDir(c.work.real, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			blind = true
			return nil
		case d.IsDir() && path != c.work.real && (isDotGit(d.Name()) || slices.Contains(packages, d.Name())):
			return fs.SkipDir
		case d.IsDir():
			return nil
		case len(files) == maxCensus:
			return errMany
		}
		if info, err := d.Info(); err == nil && !sandbox.IsPlaceholder(info) {
			rel, _ := filepath.Rel(c.work.real, path)
			files[filepath.ToSlash(rel)] = stamp{sandbox.ChangeTime(info), info.ModTime().UnixNano(), info.Size(), info.Mode()}
		}
		return nil
	})
	switch {
	case errors.Is(err, errMany):
		c.crowded.Store(true)
		return nil, crowd
	case err != nil || blind:
		return files, "not all directories can be read"
	}
	return files, ""
}

const crowd = "there are too many files to look at"

// since are the changes from the census was to now, and why there may be more.
func (c *core) since(was census, unknown string) ([]run.Change, string) {
	if was == nil {
		return nil, unknown
	}
	now, unseen := c.census()
	if now == nil {
		return nil, unseen
	}
	var out []run.Change
	for path, s := range now {
		before, there := was[path]
		switch {
		case !there:
			out = append(out, run.Change{Path: path, What: run.Created, Bytes: s.size})
		case before != s:
			out = append(out, run.Change{Path: path, What: run.Changed, Bytes: s.size})
		}
	}
	for path := range maps.Keys(was) {
		if _, there := now[path]; !there {
			out = append(out, run.Change{Path: path, What: run.Deleted})
		}
	}
	slices.SortFunc(out, func(a, b run.Change) int { return strings.Compare(a.Path, b.Path) })
	unknown = cmp.Or(unknown, unseen)
	if more := len(out) - maxChanges; more > 0 {
		out, unknown = out[:maxChanges], fmt.Sprintf("%d more files changed", more)
	}
	left := int64(allDigests)
	for i := range out {
		if left -= out[i].Bytes; left >= 0 && out[i].What != run.Deleted {
			out[i].Digest = c.digestOf(out[i].Path)
		}
	}
	return out, unknown
}

// digestOf is the digest of a small file below the working directory, "" if it is not read.
func (c *core) digestOf(path string) string {
	p, err := c.work.find(path)
	if err != nil {
		return ""
	}
	defer p.close()
	data, err := p.readAll(maxDigest)
	if err != nil {
		return ""
	}
	return digest(data)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// changed is what became of the file at p, whose text is data now; was is whether it was there.
func (p *place) changed(data []byte, was bool) []run.Change {
	what := run.Created
	if was {
		what = run.Changed
	}
	return []run.Change{{Path: p.shown(), What: what, Bytes: int64(len(data)), Digest: digest(data)}}
}
