package roots

import (
	"encoding/binary"
	"path/filepath"
	"strings"
	"time"
)

// coarse is how far the times of files lag behind the clock.
const coarse = 50 * time.Millisecond

// WrittenSince are those of paths, residue below dir, that the system says were written or changed since a time, by the clock that no archive

// WrittenSince are those of paths, residue below dir, that were written or changed since a time, by the clock of the system that no archive sets
// (on Windows by the time of writing); of the zero time all. Compiled Python that Python never compares with its source is left out:
// Python writes none by itself.
func WrittenSince(dir string, paths []string, since time.Time) (out []string) {
	after := int64(0)
	if !since.IsZero() {
		after = since.Add(-coarse).UnixNano()
	}
	for _, p := range paths {
		at := filepath.Join(dir, filepath.FromSlash(p))
		st, err := statPath(at)
		if err == nil && st.kind == regular && st.ctime >= after && !unchecked(at) {
			out = append(out, p)
		}
	}
	return out
}

// unchecked reports whether the file at path is compiled Python of the kind that PEP 552 calls unchecked, or cannot be read.
func unchecked(path string) bool {
	if !strings.HasSuffix(path, ".pyc") {
		return false
	}
	data, _, err := readFile(path, nil)
	if err != nil || len(data) < 8 {
		return true
	}
	flags := binary.LittleEndian.Uint32(data[4:8])
	return flags&1 != 0 && flags&2 == 0
}
