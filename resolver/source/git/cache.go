package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/order"
)

// cache keeps what came over the network, as packs in one directory per URL:
// COMMIT.pack has a commit with its trees, COMMIT-KEY.pack some of its blobs. Packs
// are verified when they are read, as those of a server are; one that cannot be
// read is as good as none. So nothing here needs to survive a crash, and
// errors of writing are dropped. A nil cache is empty and stays so.
type cache struct{ dir string }

func (c *cache) commit(id plumbing.Hash) (*objectSet, bool) {
	if c == nil {
		return nil, false
	}
	return c.read(id.String() + ".pack")
}

func (c *cache) putCommit(id plumbing.Hash, set *objectSet) {
	if c != nil {
		c.write(id.String()+".pack", set.byID)
	}
}

// blobs returns the blobs of commit that are cached, as far as it must look to find ids; nil for none.
func (c *cache) blobs(commit plumbing.Hash, ids []plumbing.Hash) *objectSet {
	if c == nil {
		return nil
	}
	all := newObjectSet(maxObjects)
	missing := slices.Clone(ids)
	names, _ := filepath.Glob(filepath.Join(c.dir, commit.String()+"-*.pack"))
	for _, name := range names {
		set, ok := c.read(filepath.Base(name))
		if !ok || !all.room(set.size) {
			continue
		}
		for id, o := range set.byID {
			all.byID[id] = o
		}
		all.size += set.size
		missing = slices.DeleteFunc(missing, func(id plumbing.Hash) bool { _, ok := all.byID[id]; return ok })
		if len(missing) == 0 {
			break
		}
	}
	return all
}

func (c *cache) putBlobs(commit plumbing.Hash, ids []plumbing.Hash, set *objectSet) {
	if c == nil {
		return
	}
	ids = slices.Clone(ids)
	order.Sort(ids, func(a, b plumbing.Hash) int { return bytes.Compare(a[:], b[:]) })
	var key strings.Builder
	blobs := make(map[plumbing.Hash]gitObject, len(ids))
	for _, id := range ids {
		key.Write(id[:])
		blobs[id] = set.byID[id]
	}
	c.write(fmt.Sprintf("%s-%x.pack", commit, sumOf(key.String()))[:40+1+16]+".pack", blobs)
}

func (c *cache) read(name string) (*objectSet, bool) {
	f, err := os.Open(filepath.Join(c.dir, name))
	if err != nil {
		return nil, false
	}
	defer f.Close()
	set := newObjectSet(maxObjects)
	if err := readPack(f, defaultMaxPack, set); err != nil {
		return nil, false
	}
	return set, true
}

// write makes a pack beside its place and renames it, so that another process never reads half of one.
func (c *cache) write(name string, objects map[plumbing.Hash]gitObject) {
	if durable.MkdirPrivate(c.dir) != nil {
		return
	}
	f, err := os.CreateTemp(c.dir, ".new-")
	if err != nil {
		return
	}
	_, err = f.Write(encodePack(objects))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = durable.Rename(f.Name(), filepath.Join(c.dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
}

// encodePack returns objects as a pack without deltas.
func encodePack(objects map[plumbing.Hash]gitObject) []byte {
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	binary.Write(&b, binary.BigEndian, uint32(len(objects)))
	// Trees are mostly hashes, and packing them would cost more than fetching them did.
	z, err := zlib.NewWriterLevel(&b, zlib.NoCompression)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	for _, o := range objects {
		size := uint64(len(o.data))
		head := []byte{byte(o.kind)<<4 | byte(size&15)}
		for size >>= 4; size > 0; size >>= 7 {
			head[len(head)-1] |= 0x80
			head = append(head, byte(size&0x7f))
		}
		b.Write(head)
		z.Reset(&b)
		z.Write(o.data)
		z.Close()
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
}
