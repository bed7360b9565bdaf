package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/skl-project/skl/index/chunk"
)

// Limits of what a store keeps in memory. What goes beyond is forgotten and read again.
const (
	maxKeptRows     = 4 << 20 // numbers of pieces, 8 bytes each
	maxKeptOutlines = 32 << 20
	maxKeptRefs     = 16 << 20
)

// A state is what is known of one generation. files and byID are not changed; the rest is filled under mu.
type state struct {
	generation uint64
	files      []*File // sorted by path
	byID       map[int64]*File
	order      map[int64]int // index in files
	pieces     int           // of all files
	tokens     int

	mu    sync.Mutex
	grams map[int64][]byte // nil until asked for
	rows  map[string][]Row
	kept  int // numbers in rows
	count map[string]int
}

// A View is one state of the store. It must be closed, and may be used concurrently.
type View struct {
	s     *Store
	state *state
	conn  *sql.Conn
	mu    sync.Mutex // guards tx
	tx    *sql.Tx
}

// View opens a view of the newest state.
func (s *Store) View(ctx context.Context) (*View, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	v := &View{s: s}
	generation, err := v.begin(ctx)
	if err != nil {
		return nil, s.explain(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == nil || s.state.generation != generation {
		st, err := load(v.tx, generation, s.state)
		if err != nil {
			v.Close()
			return nil, err
		}
		if s.state == nil || s.state.generation < generation {
			s.state = st
		}
		v.state = st
		return v, nil
	}
	v.state = s.state
	return v, nil
}

// begin begins a transaction that reads. Where another process was killed, or closes the database, it is locked for a moment, which is
// waited for until ctx ends.
func (v *View) begin(ctx context.Context) (generation uint64, err error) {
	for {
		// A connection is waited for until ctx ends, too; what it does then is short and must not be cut off.
		if v.conn, err = v.s.readers.Conn(ctx); err == nil {
			if v.tx, err = v.conn.BeginTx(context.WithoutCancel(ctx), &sql.TxOptions{ReadOnly: true}); err == nil {
				if generation, err = metaNumber(v.tx, "generation"); err == nil {
					return generation, nil
				}
			}
			v.Close()
		}
		if !isBusy(err) {
			return 0, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// Close ends the view.
func (v *View) Close() {
	if v.tx != nil {
		v.tx.Rollback()
	}
	v.conn.Close()
}

// load reads the files; filters of files that old has are taken from there.
func load(tx *sql.Tx, generation uint64, old *state) (*state, error) {
	st := &state{generation: generation, byID: make(map[int64]*File)}
	rows, err := tx.Query("SELECT id, path, facts FROM files")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var facts sql.RawBytes
	for rows.Next() {
		f := new(File)
		if err := rows.Scan(&f.ID, &f.Path, &facts); err != nil {
			return nil, scanned(err)
		}
		if err := decodeFacts(facts, f); err != nil {
			return nil, err
		}
		st.files = append(st.files, f)
		st.byID[f.ID] = f
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	st.settle()
	if old != nil {
		old.mu.Lock()
		defer old.mu.Unlock()
		if old.grams != nil {
			st.grams = make(map[int64][]byte, len(st.files))
			for id := range st.byID {
				if g, ok := old.grams[id]; ok {
					st.grams[id] = g
				}
			}
		}
	}
	return st, nil
}

// advance makes the state after an Apply from the one before, so that it need not be read.
func (s *Store) advance(before, generation uint64, gone []string, put, touched []File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.state
	if old == nil || old.generation != before {
		return // the next View reads it
	}
	drop := make(map[string]bool, len(gone))
	for _, p := range gone {
		drop[p] = true
	}
	st := &state{generation: generation, files: make([]*File, 0, len(old.files)+len(put)), byID: make(map[int64]*File, len(old.byID)+len(put))}
	fresh := make(map[int64]*File, len(touched))
	for i := range touched {
		fresh[touched[i].ID] = &touched[i]
	}
	for _, f := range old.files {
		if drop[f.Path] {
			continue
		}
		if n := fresh[f.ID]; n != nil {
			f = n
		}
		st.files = append(st.files, f)
		st.byID[f.ID] = f
	}
	for i := range put {
		f := put[i]
		st.files = append(st.files, &f)
		st.byID[f.ID] = &f
	}
	st.settle()
	old.mu.Lock()
	defer old.mu.Unlock()
	if before == generation { // the same files, with other stamps
		st.grams, st.rows, st.kept, st.count = old.grams, old.rows, old.kept, old.count
		old.grams, old.rows, old.kept, old.count = nil, nil, 0, nil
	} else if old.grams != nil {
		st.grams = make(map[int64][]byte, len(st.files))
		for id, g := range old.grams {
			if st.byID[id] != nil {
				st.grams[id] = g
			}
		}
	}
	s.state = st
}

// settle sorts the files, and sets what follows from them.
func (st *state) settle() {
	slices.SortFunc(st.files, func(a, b *File) int { return strings.Compare(a.Path, b.Path) })
	st.order = make(map[int64]int, len(st.files))
	for i, f := range st.files {
		st.order[f.ID] = i
		st.pieces += f.Pieces
		st.tokens += f.Tokens
	}
}

// Totals returns the number of pieces and tokens of all files.
func (v *View) Totals() (pieces, tokens int) { return v.state.pieces, v.state.tokens }

// Order returns where a file stands among all, by path.
func (v *View) Order(id int64) int { return v.state.order[id] }

// Generation returns the number of the state.
func (v *View) Generation() uint64 { return v.state.generation }

// Files returns all files, sorted by path. It must not be changed.
func (v *View) Files() []*File { return v.state.files }

// File returns the file of a number, nil if there is none.
func (v *View) File(id int64) *File { return v.state.byID[id] }

// ByPath returns the file of a path, nil if there is none.
func (v *View) ByPath(path string) *File {
	i, ok := slices.BinarySearchFunc(v.state.files, path, func(f *File, p string) int { return strings.Compare(f.Path, p) })
	if !ok {
		return nil
	}
	return v.state.files[i]
}

// Rows returns the pieces that have a term, in order. The list must not be changed.
func (v *View) Rows(term string) ([]Row, error) {
	if !isTerm(term) {
		return nil, nil // several would be a phrase, which this index cannot answer
	}
	st := v.state
	st.mu.Lock()
	rows, ok := st.rows[term]
	st.mu.Unlock()
	if ok {
		return rows, nil
	}
	rows, err := v.match(quote(term))
	if err != nil {
		return nil, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.kept += len(rows) + 8; st.kept > maxKeptRows || st.rows == nil {
		st.rows, st.kept = make(map[string][]Row), len(rows)+8
	}
	st.rows[term] = rows
	return rows, nil
}

// Prefixed returns the pieces that have a term which begins with prefix, in order.
func (v *View) Prefixed(prefix string) ([]Row, error) { return v.match(quote(prefix) + " *") }

// Terms returns the terms that begin with prefix, which has only letters, digits and underscores, in order, at most limit.
func (v *View) Terms(prefix string, limit int) (list []string, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	rows, err := v.tx.Query("SELECT term FROM vocabulary WHERE term >= ? AND term < ? LIMIT ?", prefix, prefix+"\xff", limit)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var term string
		if err := rows.Scan(&term); err != nil {
			return nil, err
		}
		list = append(list, term)
	}
	return list, rows.Err()
}

// quote makes a string of the query language of FTS5.
func quote(term string) string { return `"` + strings.ReplaceAll(term, `"`, `""`) + `"` }

// isTerm says whether the tokenizer leaves s as it is.
func isTerm(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < 0x80 && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return s != ""
}

func (v *View) match(expr string) ([]Row, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	// One long text costs a third of as many rows.
	var list sql.RawBytes
	q, err := v.tx.Query("SELECT group_concat(rowid) FROM terms WHERE terms MATCH ?", expr)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	if !q.Next() {
		return nil, q.Err()
	}
	if err := q.Scan(&list); err != nil || len(list) == 0 {
		return nil, err
	}
	rows := make([]Row, 0, len(list)/10+1)
	n := Row(0)
	for _, c := range list {
		if c == ',' {
			rows = append(rows, n)
			n = 0
			continue
		}
		n = n*10 + Row(c-'0')
	}
	rows = append(rows, n)
	return rows, v.checkRows(rows)
}

// checkRows says whether rows are of pieces that there are, in order: the full text index has no checksums.
func (v *View) checkRows(rows []Row) error {
	file, pieces, last := int64(-1), 0, Row(-1)
	for _, r := range rows {
		if r <= last {
			return errBlob
		}
		last = r
		if r.File() != file {
			f := v.state.byID[r.File()]
			if f == nil {
				return errBlob
			}
			file, pieces = f.ID, f.Pieces
		}
		if r.Piece() >= pieces {
			return errBlob
		}
	}
	return nil
}

// Count returns the number of pieces that have a term.
func (v *View) Count(term string) (int, error) {
	st := v.state
	st.mu.Lock()
	rows, ok := st.rows[term]
	n, counted := st.count[term]
	st.mu.Unlock()
	if ok {
		return len(rows), nil
	}
	if counted {
		return n, nil
	}
	v.mu.Lock()
	err := v.tx.QueryRow("SELECT doc FROM vocabulary WHERE term = ?", term).Scan(&n)
	v.mu.Unlock()
	if err != nil && err != sql.ErrNoRows {
		return 0, err
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.count == nil || len(st.count) > 1<<16 {
		st.count = make(map[string]int)
	}
	st.count[term] = n
	return n, nil
}

// Outline returns nodes and pieces of a file; it must not be changed. A file without text has an empty one.
func (v *View) Outline(f *File) (*chunk.Outline, error) {
	if o, ok := v.s.outlines.Get(f.ID); ok {
		return o, nil
	}
	blob, err := v.blob("SELECT outline FROM outlines WHERE id = ?", f.ID)
	if err != nil {
		return nil, err
	}
	o := &chunk.Outline{}
	if blob != nil {
		if blob, err = unseal(blob, f.Path); err != nil {
			return nil, err
		}
		made, err := decodeOutline(blob)
		if err != nil {
			return nil, err
		}
		o = &made
	}
	o.Language, o.Tokens, o.Binary = f.Language, f.Tokens, f.Flags&Binary != 0
	v.s.outlines.Keep(f.ID, o, 160*len(o.Nodes)+48*len(o.Pieces)+256)
	return o, nil
}

// References are those of a file, in the form in which they are stored.
type References struct {
	path   string
	sealed []byte // nil for none
}

// Named returns those whose names keep accepts, in order; nil accepts all.
func (r References) Named(keep func(name []byte) bool) ([]chunk.Reference, error) {
	if r.sealed == nil {
		return nil, nil
	}
	blob, err := unseal(r.sealed, r.path)
	if err != nil {
		return nil, err
	}
	return decodeReferences(blob, keep)
}

// perQuery is how many files one statement reads.
const perQuery = 256

// References reads the references of files, in their order.
func (v *View) References(files []*File) ([]References, error) {
	out := make([]References, len(files))
	at := make(map[int64]int)
	var missing []*File
	for i, f := range files {
		sealed, ok := v.s.refs.Get(f.ID)
		out[i] = References{f.Path, sealed}
		if !ok {
			at[f.ID] = i
			missing = append(missing, f)
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for some := range slices.Chunk(missing, perQuery) {
		ids := make([]byte, 0, 8*len(some))
		for i, f := range some {
			if i > 0 {
				ids = append(ids, ',')
			}
			ids = strconv.AppendInt(ids, f.ID, 10)
		}
		rows, err := v.tx.Query("SELECT id, refs FROM outlines WHERE id IN (" + string(ids) + ")")
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var id int64
			var sealed []byte
			if err = rows.Scan(&id, &sealed); err != nil {
				break
			}
			out[at[id]].sealed = sealed
			v.s.refs.Keep(id, sealed, len(sealed)+64)
		}
		if err := errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (v *View) blob(query string, id int64) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	var blob []byte
	if err := v.tx.QueryRow(query, id).Scan(&blob); err != nil && err != sql.ErrNoRows {
		return nil, err
	}
	return blob, nil
}

// Passing returns the files that may hold what gate asks for, sorted by path.
func (v *View) Passing(gate Gate) ([]*File, error) {
	st := v.state
	st.mu.Lock()
	defer st.mu.Unlock()
	if err := v.loadGrams(); err != nil {
		return nil, err
	}
	var list []*File
	for _, f := range st.files {
		if f.Flags&(Binary|Large) == 0 && gate.Passes(st.grams[f.ID]) {
			list = append(list, f)
		}
	}
	return list, nil
}

// loadGrams reads the filters that are not known yet. The lock of the state is held.
func (v *View) loadGrams() error {
	st := v.state
	if st.grams == nil {
		st.grams = make(map[int64][]byte, len(st.files))
	}
	after := int64(-1)
	for _, f := range st.files {
		if f.Flags&(Binary|Large) == 0 && st.grams[f.ID] == nil && (after < 0 || f.ID <= after) {
			after = f.ID - 1
		}
	}
	if after < 0 {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	rows, err := v.tx.Query("SELECT id, bits FROM grams WHERE id > " + strconv.FormatInt(after, 10))
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		var bits []byte
		if err := rows.Scan(&id, &bits); err != nil {
			return err
		}
		f := st.byID[id]
		if f == nil {
			return errBlob
		}
		if bits, err = unseal(bits, f.Path); err != nil {
			return err
		}
		if n := len(bits); n&(n-1) != 0 {
			return errBlob
		}
		st.grams[id] = bits
	}
	return rows.Err()
}
