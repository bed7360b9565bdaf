package index

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/text/encoding/unicode"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/store"
	"github.com/skl-project/skl/spec/diag"
)

// Some files have text, but no nodes: those over files.MaxFileBytes, and those in UTF-16. Literals and regular expressions are found in
// them by reading them; what is found is the file as a whole, with the line of the match.

const (
	window  = 1 << 20  // bytes that are searched at once
	maxLine = 32 << 20 // of a line that is searched as one; a longer one is cut
)

// A sighting is the first match in such a file. The zero sighting is none.
type sighting struct {
	line  int    // of the match, from 1
	lines int    // that the file has
	head  []byte // what it begins with, for a preview
}

// scanUndivided searches those that are stored, but for the paths of old, and the given ones of pending.
func (s *search) scanUndivided(old map[string]bool, pending []files.File, find finder, carry int) ([]hit, error) {
	var list []*store.File
	for _, f := range s.v.Files() {
		if f.Flags&(store.Large|store.UTF16) != 0 && !old[f.Path] && s.matters(f.Path) {
			list = append(list, f)
		}
	}
	for _, f := range pending {
		list = append(list, s.place(f))
	}
	found := make([]hit, len(list))
	stale := make([]bool, len(list))
	err := parallel(s.ctx, len(list), func(i int) {
		f := list[i]
		first, stamp := firstIn(s.ctx, filepath.Join(s.x.root, filepath.FromSlash(f.Path)), find, carry)
		if f.ID < 0 {
			f.Stamp = stamp
		} else if stamp != f.Stamp {
			stale[i] = true
			return
		}
		if first.line > 0 {
			found[i] = hit{file: f, node: wholeFile, line: first.line, base: weighPath(f.Path), seen: &first}
		}
	})
	if err != nil {
		return nil, err
	}
	var hits []hit
	for i, h := range found {
		if stale[i] {
			s.stale[list[i].Path] = list[i]
		}
		if h.file != nil {
			hits = append(hits, h)
		}
	}
	return hits, nil
}

// firstIn returns the first match in a file, and the stamp of what was read; that of a file that cannot be read, or changed meanwhile, is
// zero. carry is how many bytes more than those of a line a match may take, fewer than query.MaxText.
func firstIn(ctx context.Context, name string, find finder, carry int) (first sighting, stamp files.Stamp) {
	f, err := os.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return first, stamp
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil || !before.Mode().IsRegular() {
		return first, stamp
	}
	first, err = firstMatch(ctx, f, find, carry)
	after, err2 := f.Stat()
	if err != nil || err2 != nil || files.StampOf(after) != files.StampOf(before) {
		return sighting{}, stamp
	}
	return first, files.StampOf(before)
}

// firstMatch searches a text, in UTF-16 if it begins with its mark, in parts of whole lines.
func firstMatch(ctx context.Context, r io.Reader, find finder, carry int) (first sighting, err error) {
	buf := make([]byte, window)
	n, err := io.ReadFull(r, buf[:chunk.BinaryHead])
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return first, err
	}
	if chunk.IsUTF16(buf[:n]) {
		r = unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(io.MultiReader(bytes.NewReader(bytes.Clone(buf[:n])), r))
		n = 0
	} else if chunk.IsBinary(buf[:n]) {
		return first, nil
	}
	lines, searched := 0, 0 // before buf; bytes of it
	var last byte           // of the text
	for begin := true; ; begin = false {
		m, err := io.ReadFull(r, buf[n:])
		n += m
		end := err == io.ErrUnexpectedEOF || err == io.EOF
		if err != nil && !end {
			return first, err
		}
		if err := ctx.Err(); err != nil {
			return first, err
		}
		if begin {
			first.head = bytes.Clone(buf[:min(n, 4*previewBytes)])
		}
		if m > 0 {
			last = buf[n-1]
		}
		cut := n
		if !end && first.line == 0 {
			cut = bytes.LastIndexByte(buf[:n], '\n') + 1
			if cut <= searched && n < maxLine { // a line of this length needs more room
				buf = append(buf, make([]byte, len(buf))...)
				continue
			}
			if cut <= searched {
				cut = n
			}
		}
		if first.line == 0 {
			find(buf[:cut], func(at, _ int) {
				if first.line == 0 {
					first.line = lines + 1 + bytes.Count(buf[:at], []byte{'\n'})
				}
			})
		}
		if end {
			first.lines = lines + bytes.Count(buf[:n], []byte{'\n'})
			if last != '\n' {
				first.lines++
			}
			break
		}
		keep := cut
		if first.line == 0 {
			keep = max(0, cut-carry)
		}
		lines += bytes.Count(buf[:keep], []byte{'\n'})
		n = copy(buf, buf[keep:n])
		searched = cut - keep
	}
	if first.line == 0 {
		return sighting{}, nil
	}
	return first, nil
}

// part describes the whole of such a file.
func (s *sighting) part(f *store.File) chunk.Part {
	size := int(f.Stamp.Size)
	return chunk.Part{Type: chunk.File, Region: chunk.Region{End: size, FirstLine: 1, LastLine: s.lines}, Parent: -1, Tokens: size / 4}
}

// undivided returns the file that a handle of such a file is of.
func (s *search) undivided(id string) *store.File {
	for _, f := range s.v.Files() {
		if f.Flags&(store.Large|store.UTF16) != 0 && query.ID(f.Path, chunk.File, 0, int(f.Stamp.Size)) == id {
			return f
		}
	}
	return nil
}

// whyUndivided says why a file has no text to be shown.
func whyUndivided(f *store.File) string {
	if f.Flags&store.Large != 0 {
		return fmt.Sprintf("%s is larger than %d MiB: read the lines you need from the file itself", diag.Printable(f.Path), files.MaxFileBytes>>20)
	}
	return diag.Printable(f.Path) + " is in UTF-16: read it from the file itself"
}
