package tlog

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/skl-project/skl/spec/diag"
)

// Verify reads the whole log and checks that its hashes follow from its records, and that the
// tree is the one that checkpoint, signed by the key public, describes. Each, if not nil, is given every record in order,
// after it was compared with the tree's hashes; an error of it ends Verify. Entries that came after the
// checkpoint are checked too.
// Errors: log_signature, log_checkpoint, log_rollback when entries are missing, log_fork, log_proof.
func Verify(ctx context.Context, r Reader, checkpoint []byte, public string, each func(index int64, record []byte) error) (Checkpoint, error) {
	c, err := OpenCheckpoint(checkpoint, public)
	if err != nil {
		return Checkpoint{}, err
	}
	size, err := r.Size(ctx)
	if err != nil {
		return Checkpoint{}, err
	}
	if size < c.Size {
		return Checkpoint{}, diag.New(diag.Refused, "log_rollback", "the log %s has %d entries, and %d were signed", c.Origin, size, c.Size)
	}
	var tree frontier
	agree := func() error {
		if tree.size == c.Size && tree.root() != c.Root {
			return diag.New(diag.Refused, "log_fork", "the %d entries of the log %s are not the ones that were signed", c.Size, c.Origin)
		}
		return nil
	}
	if err := agree(); err != nil {
		return Checkpoint{}, err
	}
	for first := int64(0); first < size; first += width {
		n := min(width, size-first)
		records, err := r.Records(ctx, first, n)
		if err != nil {
			return Checkpoint{}, err
		}
		if int64(len(records)) != n {
			return Checkpoint{}, diag.New(diag.Refused, "log_proof", "the log %s lost entries from %d on", c.Origin, first+int64(len(records)))
		}
		// The hashes of n records lie together.
		indexes := make([]int64, 0, 2*n)
		for i := HashIndex(first); i < HashIndex(first+n); i++ {
			indexes = append(indexes, i)
		}
		stored, err := hashes(ctx, r).ReadHashes(indexes)
		if err != nil {
			return Checkpoint{}, err
		}
		for i, record := range records {
			index := first + int64(i)
			for _, h := range tree.add(tlog.RecordHash(record)) {
				if len(stored) == 0 || stored[0] != h {
					return Checkpoint{}, diag.New(diag.Refused, "log_proof", "entry %d of the log %s, or a hash above it, was changed", index, c.Origin)
				}
				stored = stored[1:]
			}
			if err := agree(); err != nil {
				return Checkpoint{}, err
			}
			if each != nil {
				if err := each(index, record); err != nil {
					return Checkpoint{}, err
				}
			}
		}
	}
	return c, nil
}

// A frontier is the right edge of a tree: the roots of its complete subtrees, largest first.
type frontier struct {
	size  int64
	roots []Hash
}

// add appends a leaf and returns it with the subtrees that it completes, as they are stored.
func (f *frontier) add(leaf Hash) []Hash {
	made := []Hash{leaf}
	for n := f.size; n&1 == 1; n >>= 1 {
		last := len(f.roots) - 1
		made = append(made, tlog.NodeHash(f.roots[last], made[len(made)-1]))
		f.roots = f.roots[:last]
	}
	f.roots = append(f.roots, made[len(made)-1])
	f.size++
	return made
}

// root is the hash of the whole tree.
func (f *frontier) root() Hash {
	if f.size == 0 {
		empty, err := tlog.TreeHash(0, nil)
		if err != nil {
			panic(err) // cannot be: nothing is read
		}
		return empty
	}
	h := f.roots[len(f.roots)-1]
	for i := len(f.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(f.roots[i], h)
	}
	return h
}

// Remote returns the checkpoint of a registry's log, and a Reader of the entries it covers.
// Nothing that the Reader gives is proven: it is for Verify. It is for one goroutine.
func Remote(ctx context.Context, fetch Fetch, public string) (Reader, []byte, error) {
	checkpoint, err := fetch(ctx, "checkpoint")
	if err != nil {
		return nil, nil, err
	}
	c, err := OpenCheckpoint(checkpoint, public)
	if err != nil {
		return nil, nil, err
	}
	return &remote{fetch: fetch, c: c, last: make(map[int]cached)}, checkpoint, nil
}

type remote struct {
	fetch Fetch
	c     Checkpoint
	last  map[int]cached // by level, the tile read last
}

type cached struct {
	tile tlog.Tile
	data []byte
}

func (r *remote) Size(context.Context) (int64, error) { return r.c.Size, nil }

func (r *remote) Hashes(ctx context.Context, indexes []int64) ([]Hash, error) {
	out := make([]Hash, len(indexes))
	for i, index := range indexes {
		t := tlog.TileForIndex(height, index)
		data, err := r.tile(ctx, t.L, t.N)
		if err != nil {
			return nil, err
		}
		t.W = len(data) / tlog.HashSize
		if out[i], err = tlog.HashFromTile(t, data, index); err != nil {
			return nil, diag.New(diag.Refused, "log_proof", "the log %s serves a tile that cannot be: %w", r.c.Origin, err)
		}
	}
	return out, nil
}

func (r *remote) Records(ctx context.Context, first, n int64) ([][]byte, error) {
	var out [][]byte
	for at := first; at < first+n; {
		data, err := r.tile(ctx, entries, at>>height)
		if err != nil {
			return nil, err
		}
		t := r.last[entries].tile
		records, err := parseEntries(data, t.W)
		if err != nil {
			return nil, diag.New(diag.Refused, "log_proof", "%s of the log %s is malformed: %w", tilePath(t), r.c.Origin, err)
		}
		from := at - t.N<<height
		to := min(int64(t.W), from+first+n-at)
		if from >= to {
			return nil, fmt.Errorf("the log has no record %d", at)
		}
		out = append(out, records[from:to]...)
		at += to - from
	}
	return out, nil
}

// tile fetches the tile of a level with number n, as wide as the checkpoint allows.
func (r *remote) tile(ctx context.Context, level int, n int64) ([]byte, error) {
	have := r.c.Size>>(height*max(0, level)) - n<<height
	if have <= 0 {
		return nil, fmt.Errorf("%w: level %d, number %d", ErrNoTile, level, n)
	}
	t := tlog.Tile{H: height, L: level, N: n, W: int(min(width, have))}
	if known, ok := r.last[level]; ok && known.tile == t {
		return known.data, nil
	}
	data, err := r.fetch(ctx, tilePath(t))
	if err != nil {
		return nil, err
	}
	if level != entries && len(data) != t.W*tlog.HashSize {
		return nil, diag.New(diag.Refused, "log_proof", "%s of the log %s has %d bytes instead of %d", tilePath(t), r.c.Origin, len(data), t.W*tlog.HashSize)
	}
	r.last[level] = cached{t, data}
	return data, nil
}
