package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/skl-project/skl/index/chunk"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/lang"
)

// texts are files of every kind that index/chunk divides.
var texts = map[string]string{
	"a.go":     "// Package a is one.\npackage a\n\nimport \"fmt\"\n\n// A T is a type.\ntype T struct{ n int }\n\n// M says it.\nfunc (t *T) M() { fmt.Println(t.n) }\n\nfunc generic[K comparable](k K) K { return k }\n",
	"b.py":     "class A:\n    \"\"\"An A.\"\"\"\n    def m(self, x):\n        return other(x)\n\ndef other(x): return A().m(x)\n",
	"c.ts":     "export const f = async (a: T) => { await g(a) }\nexport class C<T> extends B { m(): void { this.n() } }\n",
	"d.md":     "---\ntitle: x\n---\n\nIntro.\n\n# One\n\ntext\n\n## Two `code`\n\n```go\nx := 1\n```\n\n# Three\n",
	"SKILL.md": "---\nname: x\ndescription: Does x.\n---\n\n# X\n\n## Tree\n\n- do it\n  - then that\n",
	"e.txt":    strings.Repeat("line after line of plain text, with é and 日本語\n", 200),
	"f.bin":    "\x00\x01",
	"g.empty":  "",
	"h.broken": "\xff\xfe\x80 not UTF-8\n",
}

// Law: what was encoded is decoded as it was.
func TestOutlineRoundTrip(t *testing.T) {
	for path, text := range texts {
		roundTrip(t, path, []byte(text))
	}
}

func roundTrip(t *testing.T, path string, text []byte) {
	t.Helper()
	o := chunk.Split(path, text)
	got, err := decodeOutline(appendOutline(nil, &o))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	want := chunk.Outline{Nodes: o.Nodes, Pieces: o.Pieces}
	if len(want.Nodes) == 0 {
		want.Nodes = []chunk.Part{}
	}
	if len(want.Pieces) == 0 {
		want.Pieces = []chunk.Piece{}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: decoded\n%+v\nwant\n%+v", path, got, want)
	}
	refs, err := decodeReferences(appendReferences(nil, o.References), nil)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if len(refs)+len(o.References) > 0 && !reflect.DeepEqual(refs, o.References) {
		t.Errorf("%s: decoded references\n%+v\nwant\n%+v", path, refs, o.References)
	}
}

// Law: Decode(Append(Split(text))) == Split(text), whatever the text and its language.
func FuzzOutlineRoundTrip(f *testing.F) {
	for path, text := range texts {
		f.Add(path, []byte(text))
	}
	f.Fuzz(func(t *testing.T, path string, text []byte) {
		if len(text) < 1<<16 {
			roundTrip(t, path, text)
		}
	})
}

// References are asked for by name: only those are decoded, each with the place it has.
func TestReferencesByName(t *testing.T) {
	refs := []chunk.Reference{
		{Kind: lang.Call, Name: "A", Region: chunk.Region{Start: 5, End: 6, FirstLine: 1, LastLine: 1}, Source: -1},
		{Kind: lang.Import, Name: "b", Qualifier: "x/b", Region: chunk.Region{Start: 9, End: 10, FirstLine: 2, LastLine: 2}, Source: 0},
		{Kind: lang.TypeRef, Name: "A", Qualifier: "b", Region: chunk.Region{Start: 20, End: 21, FirstLine: 3, LastLine: 3}, Source: 4},
	}
	blob := appendReferences(nil, refs)
	for _, tt := range []struct {
		name string
		want []chunk.Reference
	}{
		{"A", []chunk.Reference{refs[0], refs[2]}},
		{"b", []chunk.Reference{refs[1]}},
		{"x/b", nil}, // a qualifier is not a name
		{"", nil},
	} {
		got, err := decodeReferences(blob, func(n []byte) bool { return string(n) == tt.name })
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: got %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
}

// Law: damaged bytes give an error or an outline whose indexes are within bounds, and never panic.
func FuzzDecode(f *testing.F) {
	for path, text := range texts {
		o := chunk.Split(path, []byte(text))
		f.Add(appendOutline(nil, &o))
		f.Add(appendReferences(nil, o.References))
		f.Add(appendFacts(nil, &File{Path: path, Language: o.Language, Pieces: len(o.Pieces)}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<14 {
			return
		}
		if o, err := decodeOutline(b); err == nil {
			for i, n := range o.Nodes {
				if n.Parent < -1 || n.Parent >= i {
					t.Errorf("node %d has the parent %d", i, n.Parent)
				}
			}
			for i, p := range o.Pieces {
				if p.Node < 0 || p.Node >= len(o.Nodes) {
					t.Errorf("piece %d is shown as node %d of %d", i, p.Node, len(o.Nodes))
				}
			}
			if again, err := decodeOutline(appendOutline(nil, &o)); err != nil || !reflect.DeepEqual(again, o) {
				t.Errorf("encoded again: %v", err)
			}
		} else if !IsDamaged(err) {
			t.Errorf("%v is no reason to build it anew", err)
		}
		if refs, err := decodeReferences(b, nil); err == nil {
			for _, r := range refs {
				if r.Source < -1 {
					t.Errorf("a reference from node %d", r.Source)
				}
			}
		}
		var file File
		if err := decodeFacts(b, &file); err == nil && file.Pieces < 0 {
			t.Errorf("%+v", file)
		}
	})
}

// Bytes that were changed on the disk are noticed, wherever they are.
func TestSealNoticesDamage(t *testing.T) {
	text := []byte(texts["a.go"])
	o := chunk.Split("a.go", text)
	facts := File{Path: "a.go", Stamp: files.Stamp{Size: 9, MTime: -5, CTime: 1 << 60, Inode: 1<<64 - 1}, Hash: Hash{1, 15: 2}, Language: "go", Tokens: 7, Pieces: 3, Flags: Divided, Read: 1 << 60}
	for name, blob := range map[string][]byte{
		"outline": seal(appendOutline(nil, &o), "a.go"), "references": seal(appendReferences(nil, o.References), "a.go"),
		"facts": appendFacts(nil, &facts), "grams": seal(Grams(text, nil), "a.go"),
	} {
		if _, err := unseal(blob, "a.go"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := unseal(blob, "b.go"); !IsDamaged(err) {
			t.Errorf("%s of another file: %v", name, err)
		}
		for i := range blob {
			for _, bit := range []byte{1, 0x80} {
				bad := bytes.Clone(blob)
				bad[i] ^= bit
				if _, err := unseal(bad, "a.go"); !IsDamaged(err) {
					t.Fatalf("%s: bit %x of byte %d changed: %v", name, bit, i, err)
				}
			}
			if _, err := unseal(blob[:i], "a.go"); !IsDamaged(err) {
				t.Fatalf("%s: cut to %d bytes: %v", name, i, err)
			}
		}
	}
	got := File{Path: "a.go"}
	if err := decodeFacts(appendFacts(nil, &facts), &got); err != nil || got != facts {
		t.Errorf("facts: %+v, %v; want %+v", got, err, facts)
	}
}

func TestRow(t *testing.T) {
	for _, tt := range []struct {
		file  int64
		piece int
	}{{0, 0}, {1, 0}, {1, chunk.MaxPieces - 1}, {1<<47 - 1, 65535}} {
		if r := RowOf(tt.file, tt.piece); r.File() != tt.file || r.Piece() != tt.piece || r < 0 {
			t.Errorf("RowOf(%d, %d) is of %d, %d", tt.file, tt.piece, r.File(), r.Piece())
		}
	}
}

// A blob of random numbers cannot make the decoder take much memory.
func TestDecodeIsBounded(t *testing.T) {
	huge := binary.AppendUvarint(nil, 0)
	huge = binary.AppendUvarint(huge, 1<<39)
	if _, err := decodeOutline(huge); !errors.Is(err, errBlob) {
		t.Errorf("a number of nodes that cannot be: %v", err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, r.IntN(64))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		decodeOutline(b)
		decodeReferences(b, nil)
		decodeFacts(b, &File{Path: filepath.Base("x")})
	}
}

// Numbers that are no int on every system, by themselves or added up, are damage: a database may be made elsewhere, or by someone else.
func TestDecodeIsBoundedEverywhere(t *testing.T) {
	blob := func(numbers ...uint64) []byte {
		var b []byte
		for _, n := range numbers {
			b = binary.AppendUvarint(b, n)
		}
		return b
	}
	for name, b := range map[string][]byte{
		"a number of names":                 blob(1<<32 | 1),
		"a length of a name":                blob(1, 1<<32|1, 'a'),
		"a line":                            blob(0, 1, 0, 0, 0, 1<<31, 0, 0, 0, 0, 0, 0, 0, 0),
		"a start, added up over many nodes": append(blob(0, 2, 0, 2<<28, 0, 0, 0, 0, 0, 0, 0, 0, 0), blob(0, 2<<28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)...),
	} {
		if _, err := decodeOutline(b); !errors.Is(err, errBlob) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b := binary.AppendVarint(nil, 1)
	for range 7 {
		b = binary.AppendVarint(b, 1<<33)
	}
	b = seal(append(b, make([]byte, len(Hash{}))...), "x")
	if err := decodeFacts(b, &File{Path: "x"}); !errors.Is(err, errBlob) {
		t.Errorf("facts: %v", err)
	}
}
