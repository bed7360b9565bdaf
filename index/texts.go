package index

import (
	"os"
	"path/filepath"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/internal/bounded"
	"github.com/skl-project/skl/index/store"
)

// maxTexts is how many bytes of files are kept in memory.
const maxTexts = 48 << 20

// texts are the bytes of indexed files that were read lately, by their numbers. What belongs to a number never changes.
type texts struct{ *bounded.Map[int64, kept] }

type kept struct {
	text  []byte
	stamp files.Stamp
	read  int64
}

func (k kept) size() int { return len(k.text) + 128 }

func newTexts() texts { return texts{bounded.New[int64, kept](maxTexts)} }

// of returns the bytes of f if its file is still what was indexed. With buf, for one look at each of many files, what was read before
// stays in memory rather than these, and they are valid until buf is used again.
func (t texts) of(root string, f *store.File, buf *[]byte) ([]byte, bool) {
	if k, ok := t.Get(f.ID); ok {
		info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(f.Path)))
		if err == nil && info.Mode().IsRegular() && files.StampOf(info) == k.stamp && settled(k.stamp, k.read) {
			return k.text, true
		}
	}
	if t.HasRoom(int(f.Stamp.Size)) {
		buf = nil
	}
	begin := time.Now()
	data, stamp, err := readFile(root, f.Path, buf)
	if err != nil || stamp.Size != f.Stamp.Size {
		return nil, false
	}
	// With a stamp that shows every change, the bytes need not be compared.
	if (stamp != f.Stamp || stamp.CTime == 0 || !settled(stamp, f.Read)) && hashOf(data) != f.Hash {
		return nil, false
	}
	if buf == nil {
		k := kept{data, stamp, begin.UnixNano()}
		t.Keep(f.ID, k, k.size())
	}
	return data, true
}
