package roots

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/skl-project/skl/install/durable"
)

const (
	stateDir  = ".skl"
	skillFile = "SKILL.md"
)

// cacheMagic names the format of a cache; another one is as good as no cache.
const cacheMagic = "skl stat cache 11\n"

// A change less than this before reading began says nothing: the file may have
// changed again within one tick of the file system's clock. The
// ticks of Linux are at most 10 ms.
const clockTick = 10 * time.Millisecond

// A Cache remembers what the skills of one root were found to be, and the stamps of
// every file and directory that this rests on.
// The zero Cache knows nothing.
type Cache struct {
	written int64 // nanoseconds since 1970, when reading began
	skills  map[string]cached
	bare    bool // the root has no receipts; not in a file
}

// A cached skill is its finding and the stamps it depends on.
type cached struct {
	finding
	stamps    []stamped // of the skill's directory, and of all directories and files in it
	receiptAt stamp     // zero if there was none
}

// Caches is the directory that holds the caches of roots, below the user's own cache directory. None is ever read from a root or a
// project: whoever wrote it could say of any file that it did not change. "" holds none.
type Caches string

// CachesIn are the caches below skl's cache directory; "" gives none.
func CachesIn(cacheDir string) Caches {
	if cacheDir == "" {
		return ""
	}
	return Caches(filepath.Join(cacheDir, "stat"))
}

// file is where the cache of the root with a real path is.
func (c Caches) file(real string) string {
	sum := sha256.Sum256([]byte(real))
	return filepath.Join(string(c), hex.EncodeToString(sum[:16]))
}

// Load reads the cache of root. A cache that is missing, damaged, of another format or of another user is an empty one.
func (c Caches) Load(root string) Cache {
	real, err := filepath.EvalSymlinks(root)
	if c == "" || err != nil {
		return Cache{}
	}
	return c.load(real)
}

func (c Caches) load(real string) Cache {
	file := c.file(real)
	info, err := os.Lstat(file)
	if err != nil || !durable.Owned(info) {
		return Cache{}
	}
	data, _, err := readFile(file, nil)
	if err != nil {
		return Cache{}
	}
	cache := parseCache(data)
	_, err = statPath(filepath.Join(real, stateDir))
	cache.bare = errors.Is(err, fs.ErrNotExist)
	return cache
}

// Fresh reports whether the skill in root/name, a slash-separated path
// relative to root, and its receipt are as they were when the cache was written.
func (c Cache) Fresh(root, name string) bool {
	_, ok := c.lookup(root, candidate{rel: name, real: filepath.Join(root, filepath.FromSlash(name))})
	return ok
}

// lookup returns what is known of a skill, if nothing changed since.
func (c Cache) lookup(root string, at candidate) (finding, bool) {
	known, ok := c.skills[at.rel]
	if !ok {
		return finding{}, false
	}
	var receipt status
	if !c.bare {
		var err error
		if receipt, err = statPath(receiptOf(root, at.rel)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return finding{}, false
		}
	}
	if receipt.stamp != known.receiptAt || !c.settled(receipt.ctime) {
		return finding{}, false
	}
	return known.finding, known.unchanged(at.real, at.skillFile, c.written)
}

// settled reports whether a change at the time ctime was over when c was read.
func (c Cache) settled(ctime int64) bool { return ctime < c.written-int64(clockTick) }

// unchanged reports whether every file and directory still has its stamp. What has none is not known. skill is the stamp of SKILL.md as it was just
// found; zero if it was not looked at.
func (k cached) unchanged(dir string, skill stamp, written int64) bool {
	if len(k.stamps) == 0 {
		return false
	}
	dir += string(filepath.Separator)
	for _, s := range k.stamps {
		if s.at.ctime >= written-int64(clockTick) {
			return false
		}
		if s.path == skillFile && skill != (stamp{}) {
			if skill != s.at {
				return false
			}
			continue
		}
		if st, err := statPath(dir + filepath.FromSlash(s.path)); err != nil || st.stamp != s.at {
			return false
		}
	}
	return true
}

// Update brings the cache of root up to date: what is still fresh is kept, other skills are read. Commands that write to root
// call it last. Skills that were written within the last tick are left out: a listing reads them.
func (c Caches) Update(root string) error {
	real, err := filepath.EvalSymlinks(root)
	if c == "" || err != nil {
		return err
	}
	old := c.load(real)
	found, err := (&searcher{root: root}).search(real)
	if err != nil {
		return err
	}
	next := Cache{skills: make(map[string]cached, len(found))}
	var stale []candidate
	for _, f := range found {
		if _, ok := old.lookup(root, f); ok {
			next.skills[f.rel] = old.skills[f.rel]
		} else {
			stale = append(stale, f)
		}
	}
	next.read(root, stale)
	return c.write(real, next)
}

// write replaces the cache of the root with a real path.
func (c Caches) write(real string, next Cache) error {
	file := c.file(real)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return next.writeTo(file)
}

// read adds the skills in list to c, as of now, but for those with stamps that are
// too young to be trusted.
func (c *Cache) read(root string, list []candidate) {
	c.written = time.Now().UnixNano() // before the first byte is read: what changes later is younger
	read := make([]cached, len(list))
	inParallel(len(list), func(s *scanner, i int) { read[i] = inspect(s, root, list[i].rel, list[i].real, nil) })
	for i, f := range list {
		if read[i].stamps != nil && c.settled(read[i].youngest()) {
			c.skills[f.rel] = read[i]
		}
	}
}

// youngest returns the latest change time among k's stamps.
func (k cached) youngest() int64 {
	at := k.receiptAt.ctime
	for _, s := range k.stamps {
		at = max(at, s.at.ctime)
	}
	return at
}

// writeTo replaces file by c. It does not sync: a cache that a crash damaged is
// recognized by its checksum.
func (c Cache) writeTo(file string) error {
	f, err := os.CreateTemp(filepath.Dir(file), ".skl-stat-") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(c.format())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// format returns the written form: the magic line, numbers as varints and
// strings with their length, and a CRC-32 of all of it.
func (c Cache) format() []byte {
	b := []byte(cacheMagic)
	b = binary.AppendVarint(b, c.written)
	b = binary.AppendUvarint(b, uint64(len(c.skills)))
	for _, name := range slices.Sorted(maps.Keys(c.skills)) {
		k := c.skills[name]
		b = appendText(b, name)
		b = k.finding.append(b)
		b = appendStamp(b, k.receiptAt)
		b = binary.AppendUvarint(b, uint64(len(k.stamps)))
		for _, s := range k.stamps {
			b = appendStamp(appendText(b, s.path), s.at)
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func parseCache(data []byte) Cache {
	body := len(data) - 4
	if body < len(cacheMagic) || string(data[:len(cacheMagic)]) != cacheMagic ||
		crc32.ChecksumIEEE(data[:body]) != binary.LittleEndian.Uint32(data[body:]) {
		return Cache{}
	}
	r := cacheReader{rest: string(data[len(cacheMagic):body])}
	c := Cache{written: r.number()}
	n := r.count()
	c.skills = make(map[string]cached, n)
	for range n {
		name := r.text()
		var k cached
		k.finding = r.finding()
		k.receiptAt = r.stamp()
		k.stamps = make([]stamped, r.count())
		for i := range k.stamps {
			k.stamps[i] = stamped{r.text(), r.stamp()}
		}
		c.skills[name] = k
	}
	if r.bad || r.rest != "" {
		return Cache{}
	}
	return c
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendTexts(b []byte, list []string) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, s := range list {
		b = appendText(b, s)
	}
	return b
}

func appendStamp(b []byte, s stamp) []byte {
	b = binary.AppendVarint(b, s.size)
	b = binary.AppendVarint(b, s.mtime)
	b = binary.AppendVarint(b, s.ctime-s.mtime)
	return binary.AppendUvarint(b, s.inode)
}

// A cacheReader takes values off the front. After a value that is not there it
// is bad and gives zeros.
type cacheReader struct {
	rest string
	bad  bool
}

func (r *cacheReader) unsigned() uint64 {
	var v uint64
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		c := r.rest[i]
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.rest = r.rest[i+1:]
			return v
		}
	}
	r.rest, r.bad = "", true
	return 0
}

func (r *cacheReader) number() int64 {
	u := r.unsigned()
	return int64(u>>1) ^ -int64(u&1)
}

// count reads the length of a list whose elements have at least one byte.
func (r *cacheReader) count() int {
	n := r.unsigned()
	if n > uint64(len(r.rest)) {
		r.rest, r.bad = "", true
		return 0
	}
	return int(n)
}

func (r *cacheReader) text() string {
	n := r.count()
	s := r.rest[:n]
	r.rest = r.rest[n:]
	return s
}

func (r *cacheReader) texts() []string {
	n := r.count()
	if n == 0 {
		return nil
	}
	list := make([]string, n)
	for i := range list {
		list[i] = r.text()
	}
	return list
}

func (r *cacheReader) stamp() stamp {
	s := stamp{size: r.number(), mtime: r.number()}
	s.ctime = s.mtime + r.number()
	s.inode = r.unsigned()
	return s
}

// append adds f's written form to b; cacheReader.finding reads it.
func (f finding) append(b []byte) []byte {
	for _, s := range f.fields() {
		b = appendText(b, *s)
	}
	b = appendTexts(b, f.nested)
	flat := make([]string, 0, 2*len(f.notes))
	for _, w := range f.notes {
		flat = append(flat, w.Code, w.Message)
	}
	b = appendTexts(b, flat)
	pairs := make([]string, 0, 2*len(f.generatedFrom))
	for _, k := range slices.Sorted(maps.Keys(f.generatedFrom)) {
		pairs = append(pairs, k, f.generatedFrom[k])
	}
	return appendTexts(b, pairs)
}

func (r *cacheReader) finding() finding {
	var f finding
	for _, s := range f.fields() {
		*s = r.text()
	}
	f.nested = r.texts()
	for pair := range slices.Chunk(r.texts(), 2) {
		if len(pair) == 2 {
			f.notes = append(f.notes, Warning{pair[0], pair[1]})
		}
	}
	for pair := range slices.Chunk(r.texts(), 2) {
		if len(pair) == 2 {
			if f.generatedFrom == nil {
				f.generatedFrom = make(map[string]string)
			}
			f.generatedFrom[pair[0]] = pair[1]
		}
	}
	return f
}

// exists reports whether path is there, as a link or anything else.
func exists(path string) bool {
	_, err := statPath(path)
	return err == nil
}
