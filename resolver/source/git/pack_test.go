package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source/git/gittest"
)

// Packs that git makes, with deltas by offset and by id, hold the objects that git says.
func TestReadPackAgreesWithGit(t *testing.T) {
	gittest.Need(t)
	dir := gittest.Init(t, "deltas")
	random := rand.New(rand.NewPCG(1, 2))
	lines := make([]string, 2000)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d %x", i, random.Uint64())
	}
	for i := range 12 {
		lines[i*100] += " changed"
		gittest.Commit(t, dir, gittest.Files{"big.txt": strings.Join(lines, "\n"), fmt.Sprintf("d/%d.txt", i): lines[i]})
	}
	gittest.Git(t, dir, "tag", "-a", "-m", "notes", "v1.0.0")
	want := make(map[string]string)
	for line := range strings.Lines(gittest.Git(t, dir, "cat-file", "--batch-all-objects", "--batch-check")) {
		f := strings.Fields(line)
		want[f[0]] = f[1] + " " + f[2]
	}
	ids := gittest.Git(t, dir, "rev-list", "--objects", "--no-object-names", "--all")
	for _, option := range []string{"--delta-base-offset", "--no-reuse-delta", "--window=0"} {
		pack := gittest.Bytes(t, dir, []byte(ids+"\n"), "pack-objects", "--stdout", "--quiet", option)
		set := newObjectSet(maxObjects)
		if err := readPack(iotest.OneByteReader(bytes.NewReader(pack)), defaultMaxPack, set); err != nil {
			t.Fatalf("%s: %v", option, err)
		}
		got := make(map[string]string)
		for id, o := range set.byID {
			got[id.String()] = fmt.Sprintf("%s %d", o.kind, len(o.data))
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: %d objects, git has %d", option, len(got), len(want))
		}
	}
}

// A piece is one entry of a pack made by hand.
type piece struct {
	kind plumbing.ObjectType
	size int    // what the header says; 0 means the truth
	base []byte // id of the base of a delta by id
	back int    // of a delta by offset, the number of pieces back to its base
	data []byte
}

func handMade(pieces ...piece) []byte {
	b := []byte("PACK\x00\x00\x00\x02")
	b = binary.BigEndian.AppendUint32(b, uint32(len(pieces)))
	var starts []int
	for i, p := range pieces {
		starts = append(starts, len(b))
		size := p.size
		if size == 0 {
			size = len(p.data)
		}
		head := []byte{byte(p.kind)<<4 | byte(size&15)}
		for size >>= 4; size > 0; size >>= 7 {
			head[len(head)-1] |= 0x80
			head = append(head, byte(size&0x7f))
		}
		if p.kind == plumbing.OFSDeltaObject {
			back := byte(0x7f)
			if p.back <= i {
				back = byte(len(b) - starts[i-p.back])
			}
			head = append(head, back)
		}
		b = append(append(b, head...), p.base...)
		var z bytes.Buffer
		w := zlib.NewWriter(&z)
		w.Write(p.data)
		w.Close()
		b = append(b, z.Bytes()...)
	}
	sum := sha1.Sum(b)
	return append(b, sum[:]...)
}

// A delta may come before its base, and a delta of a delta too.
func TestDeltaBeforeItsBase(t *testing.T) {
	text := []byte("hello, hello")
	middle := []byte("hello!")
	idOf := func(data []byte) []byte {
		id := plumbing.ComputeHash(plumbing.BlobObject, data)
		return id[:]
	}
	pack := handMade(
		piece{kind: plumbing.REFDeltaObject, base: idOf(middle), data: []byte{6, 7, 0x90, 6, 1, '?'}},
		piece{kind: plumbing.REFDeltaObject, base: idOf(text), data: []byte{12, 6, 0x90, 5, 1, '!'}},
		piece{kind: plumbing.BlobObject, data: text},
	)
	set := newObjectSet(1000)
	if err := readPack(bytes.NewReader(pack), 1000, set); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"hello, hello", "hello!", "hello!?"} {
		if data, ok := set.get(plumbing.ComputeHash(plumbing.BlobObject, []byte(want)), plumbing.BlobObject); !ok || string(data) != want {
			t.Errorf("no %q in the pack", want)
		}
	}
	if want := int64(12 + 6 + 7); set.size != want {
		t.Errorf("size %d, want %d: the deltas are gone", set.size, want)
	}
}

// Packs that lie: none is accepted, and none makes the reader hold more than its limit.
func TestHostilePacks(t *testing.T) {
	const limit = 1 << 20
	blob := func(data []byte) piece { return piece{kind: plumbing.BlobObject, data: data} }
	good := handMade(blob([]byte("x")))
	change := func(at int, b byte) []byte {
		c := bytes.Clone(good)
		c[at] = b
		return c
	}
	// Each delta copies its base twice: 64 KiB become 2 GiB in 15 steps.
	bomb := []piece{blob(make([]byte, 0x10000))}
	size := uint64(0x10000)
	for range 15 {
		d := binary.AppendUvarint(binary.AppendUvarint(nil, size), 2*size)
		for range 2 {
			for at := uint64(0); at < size; at += 0x10000 {
				d = append(d, 0x8f, byte(at), byte(at>>8), byte(at>>16), byte(at>>24))
			}
		}
		id := packID(bomb, limit*100)
		bomb = append(bomb, piece{kind: plumbing.REFDeltaObject, base: id[:], data: d})
		if size *= 2; size > 4*limit {
			break
		}
	}
	for _, c := range []struct {
		name string
		pack []byte
		want error
	}{
		{"empty", nil, errPack},
		{"wrong signature", change(0, 'Q'), errPack},
		{"version 3", change(7, 3), errPack},
		{"more objects announced than sent", change(11, 2), errPack},
		{"fewer objects announced than sent", change(11, 0), errPack},
		{"four billion objects announced", change(8, 0xff), errTooLarge},
		{"checksum", change(len(good)-1, good[len(good)-1]^1), errPack},
		{"deflate checksum", change(len(good)-21, good[len(good)-21]^1), errPack},
		{"cut off", good[:len(good)-25], errPack},
		{"no checksum", good[:len(good)-20], errPack},
		{"unknown type", handMade(piece{kind: 5, data: []byte("x")}), errPack},
		{"shorter than it says", handMade(piece{kind: plumbing.BlobObject, size: 100, data: []byte("x")}), errPack},
		{"longer than it says", handMade(piece{kind: plumbing.BlobObject, size: 1, data: []byte("xyz")}), errPack},
		{"a gigabyte announced", handMade(piece{kind: plumbing.BlobObject, size: 1 << 30, data: []byte("x")}), errTooLarge},
		{"too much in all", handMade(blob(make([]byte, limit/2)), blob(make([]byte, limit/2+1))), errTooLarge},
		{"delta bomb", handMade(bomb...), errTooLarge},
		{"delta that announces a gigabyte", handMade(blob([]byte("x")), piece{kind: plumbing.OFSDeltaObject, back: 1, data: binary.AppendUvarint([]byte{1}, 1<<30)}), errTooLarge},
		{"delta without base", handMade(piece{kind: plumbing.REFDeltaObject, base: make([]byte, 20), data: []byte{0, 0}}), errPack},
		{"delta whose base lies before the pack", handMade(piece{kind: plumbing.OFSDeltaObject, back: 1, data: []byte{0, 0}}), errPack},
		{"delta of itself", handMade(piece{kind: plumbing.OFSDeltaObject, data: []byte{0, 0}}), errPack},
		{"delta that copies from behind the end", handMade(blob([]byte("x")), piece{kind: plumbing.OFSDeltaObject, back: 1, data: []byte{1, 2, 0x91, 1, 2}}), errPack},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := newObjectSet(limit)
			err := readPack(bytes.NewReader(c.pack), defaultMaxPack, set)
			if !errors.Is(err, c.want) {
				t.Errorf("readPack: %v, want %v", err, c.want)
			}
			if set.size > limit {
				t.Errorf("%d bytes are held, at most %d are allowed", set.size, limit)
			}
		})
	}
}

// packID is the id of the last object of pieces.
func packID(pieces []piece, limit int64) plumbing.Hash {
	set := newObjectSet(limit)
	p := packReader{src: &tracked{r: bytes.NewReader(handMade(pieces...)), left: 1 << 30, sum: sha1.New(), buf: make([]byte, 4096)}, set: set}
	if err := p.read(); err != nil {
		panic(err)
	}
	return p.entries[len(p.entries)-1].id
}

// Law: what is read can be written and read again, and is the same.
func FuzzReadPack(f *testing.F) {
	text := plumbing.ComputeHash(plumbing.BlobObject, []byte("hello, hello"))
	f.Add(handMade(piece{kind: plumbing.BlobObject, data: []byte("x")}, piece{kind: plumbing.TreeObject}))
	f.Add(handMade(piece{kind: plumbing.REFDeltaObject, base: text[:], data: []byte{12, 6, 0x90, 5, 1, '!'}}, piece{kind: plumbing.BlobObject, data: []byte("hello, hello")}))
	f.Add(handMade(piece{kind: plumbing.BlobObject, data: []byte("x")}, piece{kind: plumbing.OFSDeltaObject, back: 1, data: []byte{1, 2, 0x90, 1, 1, 'y'}}))
	f.Fuzz(func(t *testing.T, pack []byte) {
		// The checksum would keep every mutation out.
		if len(pack) > 20 {
			sum := sha1.Sum(pack[:len(pack)-20])
			pack = append(bytes.Clone(pack[:len(pack)-20]), sum[:]...)
		}
		set := newObjectSet(1 << 16)
		if readPack(bytes.NewReader(pack), 1<<20, set) != nil {
			return
		}
		again := newObjectSet(1 << 16)
		if err := readPack(bytes.NewReader(encodePack(set.byID)), 1<<20, again); err != nil {
			t.Fatal(err)
		}
		if !maps.EqualFunc(set.byID, again.byID, func(a, b gitObject) bool { return a.kind == b.kind && bytes.Equal(a.data, b.data) }) {
			t.Errorf("%d objects became %d", len(set.byID), len(again.byID))
		}
	})
}

// Law: entries written as git writes them are read again as they were.
func FuzzTreeEntries(f *testing.F) {
	f.Add([]byte("100644 a\x0012345678901234567890"))
	f.Add([]byte("040000 d\x0012345678901234567890120000 x\x00abcdefghijklmnopqrst"))
	read := func(data []byte) (all []entry, err error) {
		for e, bad := range treeEntries(data) {
			if bad != nil {
				return nil, bad
			}
			all = append(all, e)
		}
		return all, nil
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		entries, err := read(data)
		if err != nil {
			return
		}
		var back []byte
		for _, e := range entries {
			back = fmt.Appendf(back, "%o %s\x00%s", e.mode, e.name, e.id[:])
		}
		if again, err := read(back); err != nil || !slices.Equal(again, entries) {
			t.Errorf("%v became %v, %v", entries, again, err)
		}
	})
}

// Law: what comes out of a band was in a line, and the reader ends.
func FuzzBandReader(f *testing.F) {
	f.Add([]byte("0006\x01a0006\x02b0007\x01cd0000"))
	f.Add([]byte("0007\x03no"))
	f.Add([]byte("0008ERR x"))
	f.Fuzz(func(t *testing.T, in []byte) {
		seen := 0
		out, err := io.ReadAll(&bandReader{p: newPktReader(bytes.NewReader(in)), seen: func(n int) { seen += n }})
		if len(out) != seen || len(out) > len(in) {
			t.Errorf("%d bytes came out, %d were seen, %d went in", len(out), seen, len(in))
		}
		if err == nil && !bytes.Contains(in, []byte("000")) {
			t.Errorf("%q has no flush and was read without an error", in)
		}
	})
}

// An offset that is larger than any base is refused, also where an int has 32 bits.
func TestDeltaFromFarAway(t *testing.T) {
	base := []byte("base")
	delta := []byte{4, 1, 0x80 | 0x0f | 0x10, 0xff, 0xff, 0xff, 0xff, 1}
	if got, err := patch(base, delta, func(int64) bool { return true }); !errors.Is(err, errPack) {
		t.Errorf("%q, %v", got, err)
	}
}
