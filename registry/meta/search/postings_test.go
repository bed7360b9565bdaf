package search

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

// A block is what was written, for a few skills and for many, also after changes, and what is in a field is found without reading the rest.
func TestBlock(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var want [blockSkills]field
	var raw []byte
	forms := map[byte]int{}
	for _, n := range []int{1, 2, 100, 1000, 2000, blockSkills, blockSkills, -3000, -blockSkills, 300, -100, -blockSkills, -blockSkills, -20 * blockSkills, 1} {
		change := map[uint16]field{}
		for range max(n, -n) {
			in := field(0)
			if n > 0 {
				in = field(r.IntN(4))
			}
			change[uint16(r.IntN(blockSkills))] = in
		}
		change[blockSkills-1] = field(r.IntN(2)) // of the last
		var sorted []posting
		for _, at := range slices.Sorted(maps.Keys(change)) {
			sorted = append(sorted, posting{at, change[at]})
			want[at] = change[at]
		}
		var err error
		if raw, err = changeBlock(raw, sorted); err != nil {
			t.Fatal(err)
		}
		if want == [blockSkills]field{} != (raw == nil) || len(raw) > 1+fields*setBytes {
			t.Fatalf("after %d there are %d bytes", n, len(raw))
		}
		if raw == nil {
			continue
		}
		forms[raw[0]]++
		if got := wholeBlock(t, raw); got != want {
			t.Errorf("after %d the skills are others", n)
		}
		l := (&state{last: blockSkills - 1}).none()
		if err := addBlock([fields][]uint64{l[0], l[1], l[2]}, raw); err != nil {
			t.Fatal(err)
		}
		for f := anywhere; f <= named; f++ {
			for i, in := range want {
				if l.in(f).has(int64(i)) != (in >= f) {
					t.Errorf("after %d skill %d is in %d: %v", n, i, f, in)
				}
			}
		}
	}
	if forms[listed] < 4 || forms[set] < 4 {
		t.Errorf("blocks of each form: %v", forms)
	}
}

func wholeBlock(t *testing.T, raw []byte) (all [blockSkills]field) {
	if err := readBlock(raw, func(i int, in field) { all[i] = in }); err != nil {
		t.Fatal(err)
	}
	return all
}

func FuzzBlock(f *testing.F) {
	f.Add([]byte{}, uint16(0), uint8(1), uint16(9))
	f.Add([]byte{listed, 5, 7, 0xff, 0x7f}, uint16(1), uint8(0), uint16(4095))
	f.Add(append([]byte{set}, make([]byte, fields*setBytes)...), uint16(7), uint8(2), uint16(5))
	f.Fuzz(func(t *testing.T, raw []byte, at uint16, in uint8, step uint16) {
		if readBlock(raw, func(int, field) {}) != nil {
			return
		}
		want := wholeBlock(t, raw)
		var changes []posting
		for i := int(at) % blockSkills; i < blockSkills; i += int(step) + 1 {
			changes = append(changes, posting{uint16(i), field(in % 4)})
			want[i] = field(in % 4)
		}
		out, err := changeBlock(raw, changes)
		if err != nil {
			t.Fatal(err)
		}
		var got [blockSkills]field
		if out != nil {
			got = wholeBlock(t, out)
		}
		if got != want {
			t.Errorf("%x with %v reads as %x", raw, changes, out)
		}
	})
}

func FuzzEntry(f *testing.F) {
	f.Add(newEntry(cell{1, 2, true}, []string{"pdf", "pdfs"}, []string{"pd", "数据"}, []string{"pdf", "x"}).encode())
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEntry(raw)
		if err != nil || len(raw) == 0 {
			return
		}
		again, err := decodeEntry(e.encode())
		if err != nil || !reflect.DeepEqual(e, again) {
			t.Errorf("%x reads as %+v and then as %+v, %v", raw, e, again, err)
		}
	})
}

func TestEntry(t *testing.T) {
	e, err := decodeEntry(newEntry(cell{7, 2, true}, []string{"pdf", "forms"}, []string{"pdf", "acme", "fills"}, []string{"formula", "acme", "x"}).encode())
	if err != nil || e.cell != (cell{7, 2, true}) {
		t.Errorf("%+v, %v", e, err)
	}
	for word, want := range map[string][3]bool{
		"pdf": {true, true, true}, "p": {true, true, true}, "form": {true, true, true}, "formu": {true, false, false}, "acme": {true, true, false},
		"fil": {true, true, false}, "pdfs": {}, "b": {}, "z": {}, "xx": {}, "x": {true, false, false},
	} {
		for f := anywhere; f <= named; f++ {
			if got := e.narrowest(word) >= f; got != want[f-1] {
				t.Errorf("%q in field %d: %v", word, f, got)
			}
		}
	}
	keys := e.keys()
	for key, want := range map[string]field{"p*": named, "fo*": named, "fi*": said, "f*": named, "x*": anywhere, "a*": said, "acme": said, "x": anywhere, "xx*": 0} {
		if keys[key] != want {
			t.Errorf("key %q has %d, want %d", key, keys[key], want)
		}
	}
}
