package tlog_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	xtlog "golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/registry/tlog"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/testdata/long"
)

// memory is a log's storage.
type memory struct {
	records [][]byte
	hashes  []tlog.Hash
}

func (m *memory) Size(context.Context) (int64, error) { return int64(len(m.records)), nil }

func (m *memory) Hashes(_ context.Context, indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index < 0 || index >= int64(len(m.hashes)) {
			return nil, fmt.Errorf("no hash %d", index)
		}
		out[i] = m.hashes[index]
	}
	return out, nil
}

func (m *memory) Records(_ context.Context, first, n int64) ([][]byte, error) {
	if first < 0 || first+n > int64(len(m.records)) {
		return nil, fmt.Errorf("no records %d to %d", first, first+n)
	}
	return m.records[first : first+n], nil
}

func (m *memory) Append(_ context.Context, index int64, record []byte, stored []tlog.Hash) error {
	if index != int64(len(m.records)) || tlog.HashIndex(index) != int64(len(m.hashes)) {
		return fmt.Errorf("record %d does not follow", index)
	}
	m.records = append(m.records, record)
	m.hashes = append(m.hashes, stored...)
	return nil
}

// clone is a log that goes its own way from here.
func (m *memory) clone() *memory {
	return &memory{append([][]byte(nil), m.records...), append([]tlog.Hash(nil), m.hashes...)}
}

var start = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func record(i int) tlog.Record {
	return tlog.Record{
		Action: tlog.Publish, Name: "acme/pdf", Version: fmt.Sprintf("1.0.%d", i),
		Manifest: fmt.Sprintf("sha256:%064x", i), Tree: fmt.Sprintf("tree-sha256:%064x", i), By: "alice", At: tlog.At(start),
	}
}

func release(i int) tlog.Release {
	r := record(i)
	return tlog.Release{Name: r.Name, Version: r.Version, Manifest: r.Manifest, Tree: r.Tree}
}

func grow(t testing.TB, m *memory, n int) {
	t.Helper()
	for range n {
		if _, err := tlog.Append(context.Background(), m, record(len(m.records))); err != nil {
			t.Fatal(err)
		}
	}
}

func newKey(t testing.TB) tlog.Key {
	t.Helper()
	key, err := tlog.NewKey("registry.example/log")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, key tlog.Key, m *memory, at time.Time) []byte {
	t.Helper()
	note, err := key.Sign(context.Background(), m, at)
	if err != nil {
		t.Fatal(err)
	}
	return note
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if !errors.Is(err, diag.Code(code)) || diag.ClassOf(err) != diag.Refused {
		t.Errorf("error %v, want one of class Refused with code %s", err, code)
	}
}

// truth is the tree hash by the definition in RFC 6962, section 2.1.
func truth(records [][]byte) tlog.Hash {
	switch n := len(records); n {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return sha256.Sum256(append([]byte{0}, records[0]...))
	default:
		k := 1
		for k*2 < n {
			k *= 2
		}
		left, right := truth(records[:k]), truth(records[k:])
		return sha256.Sum256(append(append([]byte{1}, left[:]...), right[:]...))
	}
}

// Roots and proofs of all sizes agree with the definition.
func TestTree(t *testing.T) {
	m, ctx := new(memory), t.Context()
	for size := range int64(70) {
		if root, err := tlog.Root(ctx, m, size); err != nil || root != truth(m.records) {
			t.Fatalf("root of %d = %v, %v; want %v", size, root, err, truth(m.records))
		}
		for index := range size {
			path, err := tlog.Inclusion(ctx, m, index, size)
			if err != nil {
				t.Fatal(err)
			}
			if err := xtlog.CheckRecord(path, size, truth(m.records), index, xtlog.RecordHash(m.records[index])); err != nil {
				t.Errorf("record %d of %d: %v", index, size, err)
			}
			path, err = tlog.Consistency(ctx, m, index+1, size)
			if err != nil {
				t.Fatal(err)
			}
			if err := xtlog.CheckTree(path, size, truth(m.records), index+1, truth(m.records[:index+1])); err != nil {
				t.Errorf("%d in %d: %v", index+1, size, err)
			}
		}
		grow(t, m, 1)
	}
	for _, bad := range [][2]int64{{-1, 5}, {5, 5}, {6, 5}, {0, 71}, {0, 0}} {
		if _, err := tlog.Inclusion(ctx, m, bad[0], bad[1]); !errors.Is(err, diag.Code("log_range")) {
			t.Errorf("Inclusion(%v): %v", bad, err)
		}
	}
	if _, err := tlog.Consistency(ctx, m, 0, 5); !errors.Is(err, diag.Code("log_range")) {
		t.Errorf("Consistency(0, 5): %v", err)
	}
}

// One call with many records stores the same as many calls with one.
func TestAppendMany(t *testing.T) {
	one, many, r := new(memory), new(memory), long.Rand(t, 1)
	grow(t, one, 300)
	for len(many.records) < 300 {
		var batch []tlog.Record
		for i := range min(1+r.IntN(40), 300-len(many.records)) {
			batch = append(batch, record(len(many.records)+i))
		}
		want := int64(len(many.records))
		if first, err := tlog.Append(t.Context(), many, batch...); err != nil || first != want {
			t.Fatalf("Append = %d, %v; want %d", first, err, want)
		}
	}
	if fmt.Sprint(one) != fmt.Sprint(many) {
		t.Error("the logs differ")
	}
	if _, err := tlog.Append(t.Context(), many, tlog.Record{Action: "publish"}); !errors.Is(err, diag.Code("log_record")) {
		t.Errorf("a record without a name: %v", err)
	}
	if len(many.records) != 300 {
		t.Error("a refused record was stored")
	}
}

// An Example of the whole way: append, sign, prove, and verify without a network.
func Example() {
	ctx, storage := context.Background(), new(memory)
	key, _ := tlog.NewKey("registry.example")
	index, _ := tlog.Append(ctx, storage, tlog.Record{
		Action: tlog.Publish, Name: "acme/pdf", Version: "1.4.2", Tree: "tree-sha256:aa", At: "2026-11-21T10:00:00Z",
	})
	checkpoint, _ := key.Sign(ctx, storage, time.Now())
	proof, _ := tlog.NewProof(ctx, storage, key.Public(), checkpoint, index)

	fmt.Println(proof.Verify(tlog.Release{Name: "acme/pdf", Version: "1.4.2", Tree: "tree-sha256:aa"}))
	fmt.Println(proof.Verify(tlog.Release{Name: "acme/pdf", Version: "1.4.2", Tree: "tree-sha256:bb"}))
	// Output:
	// <nil>
	// the log registry.example has acme/pdf@1.4.2 with tree-sha256:aa, not with tree-sha256:bb
}

// A proof of a log of 10,000 entries verifies offline, survives the lock, and fails when anything is changed.
func TestProof(t *testing.T) {
	m, ctx, key := new(memory), t.Context(), newKey(t)
	grow(t, m, 10_000)
	note := sign(t, key, m, start)
	for _, index := range []int64{0, 1, 255, 256, 4711, 8191, 8192, 9999} {
		p, err := tlog.NewProof(ctx, m, key.Public(), note, index)
		if err != nil {
			t.Fatal(err)
		}
		p, err = tlog.Decode(p.Encode())
		if err != nil {
			t.Fatal(err)
		}
		want := release(int(index))
		if err := p.Verify(want); err != nil {
			t.Errorf("entry %d: %v", index, err)
		}
		wantCode(t, p.Verify(release(int(index)+1)), "log_proof")
		wantCode(t, p.Verify(tlog.Release{Name: want.Name, Version: want.Version}), "log_proof")
		wantCode(t, p.Verify(tlog.Release{Name: "acme/other", Version: want.Version, Tree: want.Tree}), "log_proof")
		wantCode(t, p.Verify(tlog.Release{Name: want.Name, Version: want.Version, Tree: want.Tree, Manifest: release(3).Tree}), "log_proof")

		changed := p
		changed.Index ^= 1
		wantCode(t, changed.Verify(want), "log_proof")
		changed = p
		changed.Hashes = append([]tlog.Hash{{1}}, p.Hashes[1:]...)
		wantCode(t, changed.Verify(want), "log_proof")
		changed = p
		changed.Hashes = p.Hashes[1:]
		wantCode(t, changed.Verify(want), "log_proof")
		changed = p
		changed.Record = []byte(strings.Replace(string(p.Record), "alice", "mallo", 1))
		wantCode(t, changed.Verify(want), "log_proof")
		changed = p
		changed.Checkpoint = []byte(strings.Replace(string(p.Checkpoint), "10000", "20000", 1))
		wantCode(t, changed.Verify(want), "log_signature")
		changed = p
		changed.Key = newKey(t).Public()
		wantCode(t, changed.Verify(want), "log_signature")
		for _, index := range []int64{-1, 10_000, 1 << 60} {
			changed = p
			changed.Index = index
			wantCode(t, changed.Verify(want), "log_proof")
		}
	}
}

// A record that takes a release back does not prove that it was published.
func TestProofOfYank(t *testing.T) {
	m, key := new(memory), newKey(t)
	yank := record(0)
	yank.Action = tlog.Yank
	if _, err := tlog.Append(t.Context(), m, yank); err != nil {
		t.Fatal(err)
	}
	p, err := tlog.NewProof(t.Context(), m, key.Public(), sign(t, key, m, start), 0)
	if err != nil {
		t.Fatal(err)
	}
	wantCode(t, p.Verify(release(0)), "log_proof")
}

func TestTile(t *testing.T) {
	m, ctx := new(memory), t.Context()
	grow(t, m, 70_000)
	for path, want := range map[string]int{
		"tile/0/000":             256 * 32,
		"tile/0/x001/x000/000":   -1,
		"tile/0/272":             256 * 32,
		"tile/0/273":             -1, // 70,000 = 273·256 + 112
		"tile/0/273.p/112":       112 * 32,
		"tile/0/273.p/1":         32,
		"tile/0/273.p/113":       -1,
		"tile/0/000.p/7":         7 * 32, // still served though it is full now
		"tile/1/000":             256 * 32,
		"tile/1/001.p/17":        17 * 32,
		"tile/1/001.p/18":        -1,
		"tile/2/000.p/1":         32,
		"tile/2/000":             -1,
		"tile/3/000.p/1":         -1,
		"tile/entries/273.p/1":   -2,
		"tile/entries/273.p/112": -2,
		"tile/entries/273.p/113": -1,
		"tile/entries/000":       -2,
		"tile/data/000":          -1,
		"tile/8/0/000":           -1,
		"tile/-1/000":            -1,
		"tile/00/000":            -1,
		"tile/0/0":               -1,
		"tile/0/0000":            -1,
		"tile/0/x000/000":        -1,
		"tile/0/000.p/0":         -1,
		"tile/0/000.p/256":       -1,
		"tile/0/000.p/01":        -1,
		"tile/0/../0/000":        -1,
		"/tile/0/000":            -1,
		"tile/0/000/":            -1,
		"tile/64/000.p/1":        -1,
		"tile/0/x999/x999/x999/x999/x999/x999/x999/999": -1,
		"": -1,
	} {
		data, err := tlog.Tile(ctx, m, path)
		switch {
		case want == -1 && !errors.Is(err, tlog.ErrNoTile):
			t.Errorf("%q: %d bytes, %v; want ErrNoTile", path, len(data), err)
		case want >= 0 && (err != nil || len(data) != want):
			t.Errorf("%q: %d bytes, %v; want %d", path, len(data), err, want)
		case want == -2 && err != nil:
			t.Errorf("%q: %v", path, err)
		}
	}
	bundle, err := tlog.Tile(ctx, m, "tile/entries/273.p/1")
	text := m.records[273*256]
	if err != nil || string(bundle) != string([]byte{byte(len(text) >> 8), byte(len(text))})+string(text) {
		t.Errorf("a bundle of one record is %q, %v", bundle, err)
	}
}

// Verify finds every change, in the storage as well as over the network.
func TestVerify(t *testing.T) {
	key, s, ctx := newKey(t), newServer(t), t.Context()
	good := new(memory)
	grow(t, good, 700)
	note := sign(t, key, good, start)
	grow(t, good, 3)
	count := int64(0)
	c, err := tlog.Verify(ctx, good, note, key.Public(), func(index int64, text []byte) error {
		if r, err := tlog.ParseRecord(text); err != nil || r.Version != record(int(index)).Version || index != count {
			t.Errorf("record %d: %v, %v", index, r, err)
		}
		count++
		return nil
	})
	if err != nil || c.Size != 700 || count != 703 {
		t.Fatalf("Verify = %v, %v after %d records", c, err, count)
	}

	choice := long.Rand(t, 1)
	for range 200 {
		bad := good.clone()
		if i := choice.IntN(len(bad.records) + len(bad.hashes)); i < len(bad.records) {
			bad.records[i] = append([]byte(nil), bad.records[i]...)
			bad.records[i][choice.IntN(len(bad.records[i]))] ^= 1
		} else {
			bad.hashes[i-len(bad.records)][choice.IntN(32)] ^= 1
		}
		_, err := tlog.Verify(ctx, bad, note, key.Public(), nil)
		wantCode(t, err, "log_proof")
	}
	cut := good.clone()
	cut.records, cut.hashes = cut.records[:699], cut.hashes[:tlog.HashIndex(699)]
	_, err = tlog.Verify(ctx, cut, note, key.Public(), nil)
	wantCode(t, err, "log_rollback")
	other := new(memory)
	tlog.Append(ctx, other, tlog.Record{Action: tlog.Publish, Name: "other", At: tlog.At(start)})
	grow(t, other, 800)
	_, err = tlog.Verify(ctx, other, note, key.Public(), nil)
	wantCode(t, err, "log_fork")

	s.log, s.checkpoint = good, note
	r, got, err := tlog.Remote(ctx, s.fetch, key.Public())
	if err != nil {
		t.Fatal(err)
	}
	if c, err := tlog.Verify(ctx, r, got, key.Public(), nil); err != nil || c.Size != 700 {
		t.Errorf("over the network: %v, %v", c, err)
	}
	if len(s.asked) > 12 {
		t.Errorf("%d requests for 700 records: %q", len(s.asked), s.asked)
	}
	for _, path := range []string{"tile/0/001", "tile/0/002.p/188", "tile/entries/000", "tile/entries/002.p/188", "tile/1/000.p/2"} {
		s.breaks = path
		r, got, err := tlog.Remote(ctx, s.fetch, key.Public())
		if err != nil {
			t.Fatal(err)
		}
		_, err = tlog.Verify(ctx, r, got, key.Public(), nil)
		wantCode(t, err, "log_proof")
	}
	for _, size := range []int{0, 1, 256} {
		m := new(memory)
		grow(t, m, size)
		if c, err := tlog.Verify(ctx, m, sign(t, key, m, start), key.Public(), nil); err != nil || c.Size != int64(size) {
			t.Errorf("a log of %d: %v, %v", size, c, err)
		}
	}
}

// BenchmarkAppend asks what a log entry adds to a publish, storage aside.
func BenchmarkAppend(b *testing.B) {
	m, r := new(memory), record(7)
	for b.Loop() {
		if _, err := tlog.Append(context.Background(), m, r); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSign asks what a new checkpoint costs.
func BenchmarkSign(b *testing.B) {
	m, key := new(memory), newKey(b)
	grow(b, m, 10_000)
	for b.Loop() {
		sign(b, key, m, start)
	}
}

// BenchmarkVerifyProof asks what a proof adds to an install.
func BenchmarkVerifyProof(b *testing.B) {
	m, key := new(memory), newKey(b)
	grow(b, m, 10_000)
	p, err := tlog.NewProof(context.Background(), m, key.Public(), sign(b, key, m, start), 4711)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := p.Verify(release(4711)); err != nil {
			b.Fatal(err)
		}
	}
}
