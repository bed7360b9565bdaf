package index

import (
	"fmt"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/store"
)

// A scan of many files does not displace texts read before, and the kept texts stay within their bounds.
func TestTexts(t *testing.T) {
	const each = 3 << 20
	var list []*store.File
	planted := map[string]string{}
	for i := range maxTexts/each + 3 {
		planted[fmt.Sprintf("%02d.txt", i)] = strings.Repeat(string(rune('a'+i)), each)
	}
	dir := plant(t, planted)
	for i := range len(planted) {
		path := fmt.Sprintf("%02d.txt", i)
		data, stamp, err := readFile(dir, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &store.File{ID: int64(i + 1), Path: path, Stamp: stamp, Hash: hashOf(data)})
	}
	kept := newTexts()
	check := func(text []byte, ok bool, i int) {
		t.Helper()
		if !ok || string(text) != planted[list[i].Path] {
			t.Fatalf("%s: %v, %d bytes", list[i].Path, ok, len(text))
		}
		size := 0
		for _, f := range list {
			if k, ok := kept.Get(f.ID); ok {
				size += k.size()
			}
		}
		if size > maxTexts {
			t.Fatalf("%d bytes are kept", size)
		}
	}
	buf := new([]byte)
	for range 2 {
		for i, f := range list {
			text, ok := kept.of(dir, f, buf)
			check(text, ok, i)
		}
	}
	room := (maxTexts) / (each + 128)
	for i := range list {
		if _, ok := kept.Get(list[i].ID); ok != (i < room) {
			t.Errorf("file %d is kept: %v", i, ok)
		}
	}
	last := len(list) - 1
	text, ok := kept.of(dir, list[last], nil)
	check(text, ok, last)
	n := 0
	for _, f := range list {
		if _, ok := kept.Get(f.ID); ok {
			n++
		}
	}
	if _, ok := kept.Get(list[last].ID); !ok || n != room {
		t.Errorf("%d files are kept, the last read among them: %v", n, ok)
	}
	put(t, dir, list[last].Path, strings.Repeat("?", each))
	for _, b := range []*[]byte{nil, buf} {
		if _, ok := kept.of(dir, list[last], b); ok {
			t.Error("a file that was written is still what it was")
		}
	}
	if _, ok := kept.of(dir, &store.File{ID: 99, Path: "none.txt", Stamp: files.Stamp{Size: each}}, buf); ok {
		t.Error("a file that is not there has a text")
	}
}
