package durable

import (
	"bytes"
	"crypto/sha1"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// authored is the folder dir of an author on a disk without modes: what the repository around it tracks has the mode of
// git's index, so that a checkout has the same digest on every system; any other file is executable if it starts with #!.
func authored(fsys fs.FS, dir string) fs.FS {
	var tracked map[string]bool // read once, when the first file is looked at
	read := false
	return WithModes(fsys, func(name string) bool {
		if !read {
			tracked, read = gitModes(dir), true
		}
		if executable, ok := tracked[name]; ok {
			return executable
		}
		return isScript(fsys, name)
	})
}

// gitModes tells which of the files below dir that the git repository around it tracks are executable, by slash path
// relative to dir. It is empty if there is no repository or its index cannot be read.
func gitModes(dir string) map[string]bool {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil
	}
	for top := abs; ; top = filepath.Dir(top) {
		if info, err := os.Lstat(filepath.Join(top, ".git")); err == nil {
			prefix, err := filepath.Rel(top, abs)
			if err != nil {
				return nil
			}
			index, err := ReadFile(filepath.Join(gitDir(top, info), "index"))
			if err != nil {
				return nil
			}
			if prefix = filepath.ToSlash(prefix) + "/"; prefix == "./" {
				prefix = ""
			}
			return indexModes(index, prefix)
		}
		if filepath.Dir(top) == top {
			return nil
		}
	}
}

// gitDir is where the repository at top keeps its index: in .git, or where the file .git of a worktree says.
func gitDir(top string, info fs.FileInfo) string {
	path := filepath.Join(top, ".git")
	if info.IsDir() {
		return path
	}
	text, err := ReadFile(path)
	to, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return path
	}
	if to = filepath.FromSlash(to); filepath.IsAbs(to) {
		return to
	}
	return filepath.Join(top, to)
}

// Of an entry of git's index: what comes before its flags, and its mode in it.
const (
	indexFixed = 60
	indexMode  = 24
)

// indexModes reads git's index, versions 2 to 4, as gitformat-index describes it. It returns whether each regular file
// below prefix, "" or a path with a final slash, is executable; nil if data is not such an index with SHA-1 ids.
func indexModes(data []byte, prefix string) map[string]bool {
	if len(data) < 12+sha1.Size || string(data[:4]) != "DIRC" {
		return nil
	}
	body, sum := data[:len(data)-sha1.Size], data[len(data)-sha1.Size:]
	if want := sha1.Sum(body); !bytes.Equal(sum, want[:]) && !bytes.Equal(sum, make([]byte, sha1.Size)) { // zeros: index.skipHash
		return nil
	}
	version, count := binary.BigEndian.Uint32(body[4:]), binary.BigEndian.Uint32(body[8:])
	if version < 2 || version > 4 {
		return nil
	}
	modes := make(map[string]bool)
	var name []byte
	for at := 12; count > 0; count-- {
		entry := body[at:]
		if len(entry) < indexFixed+2 {
			return nil
		}
		mode, size := binary.BigEndian.Uint32(entry[indexMode:]), indexFixed+2
		if entry[indexFixed]&0x40 != 0 { // extended: two more bytes of flags
			size += 2
		}
		if version == 4 { // the path is the one before, less some bytes at its end, and a text
			less, n := indexVarint(entry[min(size, len(entry)):])
			if n == 0 || less > uint64(len(name)) {
				return nil
			}
			size, name = size+n, name[:uint64(len(name))-less]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(entry[min(size, len(entry)):], 0)
		if end < 0 {
			return nil
		}
		name = append(name, entry[size:size+end]...)
		size += end + 1
		if version < 4 {
			size = (size + 7) &^ 7 // with 1 to 8 zeros after the path
		}
		if at += size; at > len(body) {
			return nil
		}
		if rel, ok := strings.CutPrefix(string(name), prefix); ok && mode&0o170000 == 0o100000 {
			modes[rel] = mode&0o111 != 0
		}
	}
	return modes
}

// indexVarint reads a number as git's packs write offsets: n is the bytes that it takes, 0 if there is none.
func indexVarint(data []byte) (v uint64, n int) {
	for i, b := range data {
		if i == 8 {
			return 0, 0
		}
		if i > 0 {
			v++
		}
		if v = v<<7 | uint64(b&0x7f); b&0x80 == 0 {
			return v, i + 1
		}
	}
	return 0, 0
}
