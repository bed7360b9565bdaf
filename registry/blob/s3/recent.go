package s3

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/skl-project/skl/registry/blob"
)

// A recent is an order of files by their last use. It holds no pointers and less than 100 bytes for each: a cache has hundreds of
// thousands of small ones.
type recent struct {
	at    map[half]uint32 // slots
	slots []slot          // a ring; the first has no file, the newest is after it and the oldest before it
	free  []uint32
	long  map[uint32]blob.Digest // of SHA-512, by slot
}

// A slot is one file. Its name is the digest, or the SHA-256 of one that is longer.
type slot struct {
	name         [sha256.Size]byte
	size         int64 // bytes
	newer, older uint32
}

// A half is how a name begins. Nobody finds two that begin with the same 16 bytes.
type half [sha256.Size / 2]byte

func newRecent() *recent {
	return &recent{at: map[half]uint32{}, slots: make([]slot, 1), long: map[uint32]blob.Digest{}}
}

func nameOf(d blob.Digest) (name [sha256.Size]byte) {
	if d.Algorithm() != blob.SHA256 {
		return sha256.Sum256([]byte(d.String()))
	}
	hex.Decode(name[:], []byte(d.Hex())) // a digest has nothing but digits
	return name
}

// find returns the slot of d, 0 if it has none.
func (r *recent) find(d blob.Digest) uint32 {
	name := nameOf(d)
	return r.at[half(name[:])]
}

// add makes d, which has no slot, the newest.
func (r *recent) add(d blob.Digest, size int64) {
	i := uint32(len(r.slots))
	if n := len(r.free); n > 0 {
		i, r.free = r.free[n-1], r.free[:n-1]
	} else {
		r.slots = append(r.slots, slot{})
	}
	name := nameOf(d)
	r.slots[i] = slot{name: name, size: size}
	r.at[half(name[:])] = i
	if d.Algorithm() != blob.SHA256 {
		r.long[i] = d
	}
	r.link(i)
}

// use makes a slot the newest.
func (r *recent) use(i uint32) {
	r.unlink(i)
	r.link(i)
}

// remove frees a slot, and returns the size of its file.
func (r *recent) remove(i uint32) (size int64) {
	size = r.slots[i].size
	r.unlink(i)
	delete(r.at, half(r.slots[i].name[:]))
	delete(r.long, i)
	r.slots[i] = slot{}
	r.free = append(r.free, i)
	return size
}

// link puts a slot that is in no place before all others.
func (r *recent) link(i uint32) {
	next := r.slots[0].older
	r.slots[i].newer, r.slots[i].older = 0, next
	r.slots[next].newer, r.slots[0].older = i, i
}

func (r *recent) unlink(i uint32) {
	newer, older := r.slots[i].newer, r.slots[i].older
	r.slots[newer].older, r.slots[older].newer = older, newer
}

// newer is the slot that was used next after i; of 0 it is the oldest, and 0 is the end.
func (r *recent) newer(i uint32) uint32 { return r.slots[i].newer }

// newest is the slot that was used last, 0 if there is none.
func (r *recent) newest() uint32 { return r.slots[0].older }

// digest is that of a slot.
func (r *recent) digest(i uint32) blob.Digest {
	if d, ok := r.long[i]; ok {
		return d
	}
	d, _ := blob.ParseDigest(blob.SHA256 + ":" + hex.EncodeToString(r.slots[i].name[:]))
	return d
}
