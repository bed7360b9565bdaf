package rds

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"strings"
	"testing"
)

// A writer writes objects as R does.
type writer struct{ bytes.Buffer }

func (w *writer) int(n int) { w.Write(binary.BigEndian.AppendUint32(nil, uint32(n))) }

func (w *writer) chars(s string) {
	w.int(typeChars)
	w.int(len(s))
	w.WriteString(s)
}

func (w *writer) strings(flags int, list ...string) {
	w.int(typeStrings | flags)
	w.int(len(list))
	for _, s := range list {
		w.chars(s)
	}
}

func (w *writer) names(list ...string) {
	w.int(typePairs | flagTag)
	w.int(typeSymbol)
	w.chars("names")
	w.strings(0, list...)
	w.int(markNil)
}

func object(body func(w *writer)) []byte {
	w := &writer{}
	w.WriteString("X\n")
	w.int(3)
	w.int(0x040202)
	w.int(0x030500)
	w.int(5)
	w.WriteString("UTF-8")
	body(w)
	return w.Bytes()
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	z.Write(data)
	z.Close()
	return b.Bytes()
}

// sample is list(a = c("x", "é"), b = 1:2, c = NULL) with what documentation does not need beside it.
func sample(w *writer) {
	w.int(typeList | flagAttributes)
	w.int(4)
	w.strings(0, "x", "é")
	w.int(typeInteger)
	w.int(2)
	w.int(1)
	w.int(2)
	w.int(markNil)
	w.int(typeEnvironment)
	w.int(0)
	for range 4 {
		w.int(markNil)
	}
	w.names("a", "b", "c", "d")
}

func TestRead(t *testing.T) {
	for name, data := range map[string][]byte{"plain": object(sample), "gzip": zipped(object(sample))} {
		v, err := Read(data)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if a := v.Named("a").Strings; len(a) != 2 || a[1] != "é" {
			t.Errorf("%s: a is %q", name, a)
		}
		if b := v.Named("b").Ints; len(b) != 2 || b[1] != 2 {
			t.Errorf("%s: b is %v", name, b)
		}
		if got := strings.Join(v.Names(), ""); got != "abcd" {
			t.Errorf("%s: names %q", name, got)
		}
	}
}

// TestLatin1 reads text that is in no UTF-8.
func TestLatin1(t *testing.T) {
	v, err := Read(object(func(w *writer) {
		w.int(typeStrings)
		w.int(1)
		w.int(typeChars | levelLatin1<<12)
		w.int(1)
		w.WriteByte(0xe9)
	}))
	if err != nil || v.String() != "é" {
		t.Errorf("%q, %v", v.Strings, err)
	}
}

func database(entry []byte, at ...int) (*DB, error) {
	index := zipped(object(func(w *writer) {
		w.int(typeList | flagAttributes)
		w.int(1)
		w.int(typeList | flagAttributes)
		w.int(1)
		w.int(typeInteger)
		w.int(len(at))
		for _, n := range at {
			w.int(n)
		}
		w.names("topic")
		w.names("variables")
	}))
	return Open(index, entry)
}

func TestDB(t *testing.T) {
	data := object(sample)
	entry := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), deflated(data)...)
	db, err := database(entry, 0, len(entry))
	if err != nil {
		t.Fatal(err)
	}
	v, err := db.Value("topic")
	if err != nil || v.Named("a").Strings[0] != "x" {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := db.Value("other"); err == nil {
		t.Error("an object that is not there")
	}
	for _, at := range [][]int{{-1, 5}, {0, len(entry) + 1}, {1 << 30, 1 << 30}, {0, 3}} {
		db, err := database(entry, at...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Value("topic"); err == nil {
			t.Errorf("%v points outside", at)
		}
	}
	if _, err := database(entry, 1); err == nil {
		t.Error("an index without lengths")
	}
}

// TestDamaged refuses what is no object, cut off, nested without end or a bomb.
func TestDamaged(t *testing.T) {
	whole := object(sample)
	for n := range whole {
		if _, err := Read(whole[:n]); err == nil {
			t.Errorf("%d bytes of %d", n, len(whole))
		}
	}
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"depth": {object(func(w *writer) {
			for range MaxDepth + 1 {
				w.int(typeList)
				w.int(1)
			}
			w.int(markNil)
		}), "nested deeper"},
		"bomb":      {zipped(make([]byte, MaxBytes+1)), "larger than 64 MiB"},
		"length":    {object(func(w *writer) { w.int(typeStrings); w.int(1 << 27) }), "longer than what is left"},
		"reference": {object(func(w *writer) { w.int(markReference | 7<<8) }), "leads nowhere"},
		"version":   {append([]byte("X\n\x00\x00\x00\x09"), make([]byte, 8)...), "version 9"},
		"type":      {object(func(w *writer) { w.int(typeBytecode) }), "type 21"},
		"text":      {[]byte("A\n3\n"), "XDR"},
	} {
		if _, err := Read(c.data); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := Read([]byte("\xfd7zXZ\x00")); !errors.Is(err, ErrCompression) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(object(sample))
	f.Add(zipped(object(sample)))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Read(data)
		if err != nil && (v.IsList || v.Strings != nil || v.Ints != nil) {
			t.Error("a value beside an error")
		}
	})
}
