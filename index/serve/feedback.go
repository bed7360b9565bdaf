package serve

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// Limits of what is remembered.
const (
	feedbackDays    = 30
	feedbackQueries = 10_000
	feedbackExpands = 50_000
	halfLife        = 7 * 24 * time.Hour     // after which an event counts half
	priorsFor       = 20 * time.Second       // after which priors are computed anew, when they are used
	priorsWait      = 200 * time.Millisecond // for them, at most
	firstRanks      = 5                      // of GlobHitRateAtK
	smoothing       = 20                     // handles as good as the mean that are added to each group
	leastSample     = 50                     // handles returned before there are priors
	usefulWeight    = 2                      // of an expansion that was called useful, against one that was only made
)

// A Feedback remembers which handles were returned and which of them were expanded, to rank better. Paths are
// kept relative to their repository, and no text of files is. It is bounded: 30 days, 10,000 queries, 50,000 expansions.
// Several processes may use one file. Recording does not wait for the disk; what the disk refuses is lost.
// It may be used concurrently. A nil Feedback records nothing and knows nothing.
type Feedback struct {
	db     *sql.DB
	events chan func(*sql.Tx) error
	stop   chan struct{} // closed by Close
	done   chan struct{} // closed when the writer has ended

	mu     sync.Mutex // guards what follows
	closed bool
	lost   int
	priors map[string]*livePriors
}

// livePriors are the priors of a repository whose index is open.
type livePriors struct {
	now     atomic.Pointer[Priors]
	at      atomic.Int64 // nanoseconds since 1970, of the last computation
	version atomic.Int64 // grows when they change
}

const feedbackSchema = `
CREATE TABLE IF NOT EXISTS query_events (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, repo TEXT NOT NULL, text TEXT NOT NULL, glob TEXT NOT NULL, handles INTEGER NOT NULL, tokens INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS query_repo ON query_events (repo, at);
CREATE TABLE IF NOT EXISTS query_handles (event INTEGER NOT NULL REFERENCES query_events (id) ON DELETE CASCADE, rank INTEGER NOT NULL, handle TEXT NOT NULL, path TEXT NOT NULL, type TEXT NOT NULL, area TEXT NOT NULL, tokens INTEGER NOT NULL, PRIMARY KEY (event, rank)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS query_handle ON query_handles (handle, event);
CREATE TABLE IF NOT EXISTS expand_events (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, repo TEXT NOT NULL, event INTEGER REFERENCES query_events (id) ON DELETE SET NULL, rank INTEGER, handle TEXT NOT NULL, path TEXT NOT NULL, type TEXT NOT NULL, area TEXT NOT NULL, tokens INTEGER NOT NULL, useful INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS expand_repo ON expand_events (repo, at);
CREATE INDEX IF NOT EXISTS expand_event ON expand_events (event);
PRAGMA user_version = 1;`

// OpenFeedback opens feedback.db in a directory, which is made if it is missing, and forgets what is too old. A damaged
// file is replaced: it only holds what makes answers a little better.
func OpenFeedback(ctx context.Context, dir string) (*Feedback, error) {
	if err := durable.MkdirPrivate(dir); err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "feedback.db")
	f, err := openFeedback(ctx, file)
	// Only a damaged file is replaced: a busy one is another process's, and one of a later version has what that needs.
	damage, ok := errors.AsType[*sqlite.Error](err)
	if !ok || damage.Code()&0xff != sqlite3.SQLITE_CORRUPT && damage.Code()&0xff != sqlite3.SQLITE_NOTADB {
		return f, err
	}
	for _, name := range []string{file, file + "-wal", file + "-shm"} {
		if err := os.Remove(name); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
	}
	return openFeedback(ctx, file)
}

func openFeedback(ctx context.Context, file string) (*Feedback, error) {
	q := url.Values{"_pragma": {"busy_timeout(2000)", "journal_mode(wal)", "synchronous(normal)", "foreign_keys(1)"}, "_txlock": {"immediate"}}
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: filepath.ToSlash(file)}).EscapedPath()+"?"+q.Encode())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(2)
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		db.Close()
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	if version > 1 {
		db.Close()
		return nil, fmt.Errorf("%s was made by a later version of skl", file)
	}
	if version == 0 {
		if _, err := db.ExecContext(ctx, feedbackSchema); err != nil {
			db.Close()
			return nil, fmt.Errorf("opening %s: %w", file, err)
		}
		_ = os.Chmod(file, 0o600) // the directory is closed to others already
	}
	f := &Feedback{db: db, events: make(chan func(*sql.Tx) error, 256), stop: make(chan struct{}), done: make(chan struct{})}
	if err := f.prune(ctx, time.Now()); err != nil {
		db.Close()
		return nil, fmt.Errorf("opening %s: %w", file, err)
	}
	go f.write()
	return f, nil
}

// prune forgets what is beyond the limits.
func (f *Feedback) prune(ctx context.Context, now time.Time) error {
	old := now.Add(-feedbackDays * 24 * time.Hour).Unix()
	for _, table := range []struct {
		name string
		most int
	}{{"query_events", feedbackQueries}, {"expand_events", feedbackExpands}} {
		if _, err := f.db.ExecContext(ctx, "DELETE FROM "+table.name+" WHERE at < ? OR id <= (SELECT max(id) FROM "+table.name+") - ?", old, table.most); err != nil {
			return err
		}
	}
	return nil
}

// write stores events, many in one transaction, until Close.
func (f *Feedback) write() {
	defer close(f.done)
	stored := 0
	for {
		select {
		case first := <-f.events:
			f.store(first)
		case <-f.stop:
			for len(f.events) > 0 {
				f.store(<-f.events)
			}
			return
		}
		if stored++; stored%1000 == 0 && f.prune(context.Background(), time.Now()) != nil {
			f.lose()
		}
	}
}

// store writes first and the events that already wait.
func (f *Feedback) store(first func(*sql.Tx) error) {
	tx, err := f.db.Begin()
	if err != nil {
		f.lose()
		return
	}
	err = first(tx)
	for n := min(len(f.events), 63); err == nil && n > 0; n-- {
		err = (<-f.events)(tx)
	}
	if err == nil {
		err = tx.Commit()
	} else {
		_ = tx.Rollback() // the error before is the one that counts
	}
	if err != nil {
		f.lose()
	}
}

func (f *Feedback) lose() {
	f.mu.Lock()
	f.lost++
	f.mu.Unlock()
}

// record gives an event to the writer.
func (f *Feedback) record(event func(*sql.Tx) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	select {
	case f.events <- event:
	default:
		f.lost++ // rather than that a query waits
	}
}

// Flush waits until what was recorded before can be read.
func (f *Feedback) Flush(ctx context.Context) error {
	if f == nil {
		return nil
	}
	// A transaction takes the events that wait when it begins. So the second of these is sent too late for the transaction
	// in which the first runs, and runs after its commit.
	for range 2 {
		ran := make(chan struct{})
		select {
		case f.events <- func(*sql.Tx) error { close(ran); return nil }:
		case <-f.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
		select {
		case <-ran:
		case <-f.done:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Close stores what was recorded and closes the file.
func (f *Feedback) Close() error {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	already := f.closed
	if f.closed = true; !already {
		close(f.stop)
	}
	f.mu.Unlock()
	<-f.done
	if already {
		return nil
	}
	return f.db.Close()
}

// RecordQuery records that a query of a repository, which its root names, returned handles in this order.
func (f *Feedback) RecordQuery(repo, text, glob string, handles []query.Handle, at time.Time) {
	if f == nil {
		return
	}
	if len(text) > 1024 {
		text = text[:1024]
	}
	tokens := 0
	list := make([]query.Handle, 0, len(handles))
	for _, h := range handles {
		tokens += h.TokenCount
		list = append(list, query.Handle{ID: h.ID, FilePath: h.FilePath, NodeType: h.NodeType, TokenCount: h.TokenCount})
	}
	f.record(func(tx *sql.Tx) error {
		done, err := tx.Exec("INSERT INTO query_events (at, repo, text, glob, handles, tokens) VALUES (?, ?, ?, ?, ?, ?)", at.Unix(), repo, text, glob, len(list), tokens)
		if err != nil {
			return err
		}
		event, err := done.LastInsertId()
		if err != nil {
			return err
		}
		for i, h := range list {
			if _, err := tx.Exec("INSERT INTO query_handles (event, rank, handle, path, type, area, tokens) VALUES (?, ?, ?, ?, ?, ?, ?)",
				event, i, h.ID, h.FilePath, h.NodeType, area(h.FilePath), h.TokenCount); err != nil {
				return err
			}
		}
		return nil
	})
}

// RecordExpand records that handles were expanded. Handles that no query returned count for their path alone.
func (f *Feedback) RecordExpand(repo string, contents []query.Content, at time.Time) {
	if f == nil {
		return
	}
	type expanded struct {
		id, path string
		tokens   int
	}
	list := make([]expanded, len(contents))
	for i, c := range contents {
		list[i] = expanded{c.HandleID, c.FilePath, c.TokenCount}
	}
	f.record(func(tx *sql.Tx) error {
		for _, c := range list {
			if _, err := tx.Exec(insertExpand, at.Unix(), repo, c.id, c.path, area(c.path), c.tokens, 0, repo, c.id, at.Add(-time.Hour).Unix(), ""); err != nil {
				return err
			}
		}
		return nil
	})
}

// insertExpand takes the type and the rank from the last query that returned the handle, not before a time and if possible with a text.
const insertExpand = `
WITH given (at, repo, handle, path, area, tokens, useful) AS (VALUES (?, ?, ?, ?, ?, ?, ?)),
last AS (SELECT h.event, h.rank, h.type FROM query_handles h JOIN query_events e ON e.id = h.event WHERE e.repo = ? AND h.handle = ? AND e.at >= ? ORDER BY e.text = ? DESC, e.id DESC LIMIT 1)
INSERT INTO expand_events (at, repo, event, rank, handle, path, type, area, tokens, useful)
SELECT given.at, given.repo, last.event, last.rank, given.handle, given.path, coalesce(last.type, ''), given.area, given.tokens, given.useful FROM given LEFT JOIN last`

// RecordReport records what a client says of handles: that it expanded them by itself, and that they were useful.
// text is the query that returned them; "" is the last one that did. It returns how many of them a query had returned before; others are passed over, since nothing is known of them.
func (f *Feedback) RecordReport(ctx context.Context, repo, text string, expanded, useful []string, at time.Time) (known int, err error) {
	if f == nil {
		return 0, nil
	}
	if err := f.Flush(ctx); err != nil {
		return 0, err
	}
	tx, err := f.db.BeginTx(ctx, nil)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback() // nothing after Commit
	for weight, ids := range map[int][]string{0: expanded, 1: useful} {
		for _, id := range ids {
			var path string
			var tokens int
			err := tx.QueryRowContext(ctx, "SELECT h.path, h.tokens FROM query_handles h JOIN query_events e ON e.id = h.event WHERE e.repo = ? AND h.handle = ? ORDER BY e.id DESC LIMIT 1", repo, id).Scan(&path, &tokens)
			if err == sql.ErrNoRows {
				continue
			}
			if err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, insertExpand, at.Unix(), repo, id, path, area(path), tokens, weight, repo, id, 0, text); err != nil {
				return 0, err
			}
			known++
		}
	}
	return known, tx.Commit()
}

// queried records a query that was answered now.
func (f *Feedback) queried(repo, text, glob string, handles []query.Handle) {
	f.RecordQuery(repo, text, glob, handles, time.Now())
}

// expanded records an expansion that was answered now.
func (f *Feedback) expanded(repo string, contents []query.Content) {
	f.RecordExpand(repo, contents, time.Now())
}

// area is the glob that stands for a part of a repository: the first two directories of a path.
func area(file string) string {
	dir := path.Dir(file)
	if dir == "." {
		return "*"
	}
	parts := strings.SplitN(dir, "/", 3)
	return strings.Join(parts[:min(len(parts), 2)], "/") + "/**"
}

// Priors say how much more or less often than the mean the handles of a group are expanded, from -1 to 1.
type Priors struct {
	Types map[string]float64 // by type of node
	Globs map[string]float64 // by the first two directories, as a glob: "src/auth/**"; "*" for files at the root
}

// Of is the prior of a handle: two thirds are that of its directory, a third that of its type.
func (p Priors) Of(nodeType, file string) float64 {
	if len(p.Types)+len(p.Globs) == 0 {
		return 0
	}
	return (2*p.Globs[area(file)] + p.Types[nodeType]) / 3
}

// Priors of a repository at a time. An event counts half after seven days. Before 50 handles were returned there are none.
func (f *Feedback) Priors(ctx context.Context, repo string, now time.Time) (Priors, error) {
	if f == nil {
		return Priors{}, nil
	}
	return f.computePriors(ctx, repo, now)
}

// prior returns a func that says what is known of a handle at this time, without waiting for the disk. It follows what is recorded
// within half a minute. It is nil if f is.
func (f *Feedback) prior(ctx context.Context, repo string) func(nodeType, path string) float64 {
	if f == nil {
		return nil
	}
	f.mu.Lock()
	l := f.priors[repo]
	f.mu.Unlock()
	if l == nil {
		now := time.Now()
		p, err := f.computePriors(ctx, repo, now)
		if err != nil {
			f.lose()
		}
		l = &livePriors{}
		l.at.Store(now.UnixNano())
		l.now.Store(&p)
		f.mu.Lock()
		if f.priors == nil {
			f.priors = make(map[string]*livePriors)
		}
		f.priors[repo] = l
		f.mu.Unlock()
	}
	return func(nodeType, path string) float64 {
		f.renew(repo, l, time.Now())
		return l.now.Load().Of(nodeType, path)
	}
}

// version tells apart the answers that different priors lead to.
func (f *Feedback) version(repo string) int64 {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	l := f.priors[repo]
	f.mu.Unlock()
	if l == nil {
		return 0
	}
	f.renew(repo, l, time.Now())
	return l.version.Load()
}

// renew computes priors that are too old. Who asks meanwhile has the old ones, and so has this answer if the disk is slow.
func (f *Feedback) renew(repo string, l *livePriors, now time.Time) {
	before := l.at.Load()
	if now.UnixNano()-before < int64(priorsFor) || !l.at.CompareAndSwap(before, now.UnixNano()) {
		return
	}
	soon, cancel := context.WithTimeout(context.Background(), priorsWait)
	defer cancel()
	p, err := f.computePriors(soon, repo, now)
	if err != nil {
		f.lose()
		return
	}
	if !p.same(*l.now.Load()) {
		l.version.Add(1)
	}
	l.now.Store(&p)
}

// same says whether two priors rank alike: their values fade all the time, by less than shows.
func (p Priors) same(q Priors) bool {
	near := func(a, b map[string]float64) bool {
		for k, v := range a {
			if w, ok := b[k]; !ok || math.Abs(v-w) > 0.01 {
				return false
			}
		}
		return len(a) == len(b)
	}
	return near(p.Types, q.Types) && near(p.Globs, q.Globs)
}

// A share is how much of what was returned was expanded.
type share struct{ expanded, returned float64 }

func (f *Feedback) computePriors(ctx context.Context, repo string, now time.Time) (Priors, error) {
	types, globs := make(map[string]share), make(map[string]share)
	var all share
	// Days are fine enough for a half-life of seven, and make a few rows of very many.
	for _, side := range []struct {
		text     string
		expanded bool
	}{
		{"SELECT h.type, h.area, e.at / 86400, count(*) FROM query_handles h JOIN query_events e ON e.id = h.event WHERE e.repo = ? GROUP BY 1, 2, 3", false},
		{fmt.Sprintf("SELECT type, area, at / 86400, sum(CASE useful WHEN 1 THEN %d ELSE 1 END) FROM expand_events WHERE repo = ? AND event IS NOT NULL GROUP BY 1, 2, 3", usefulWeight), true},
	} {
		if err := f.each(ctx, side.text, []any{repo}, func(scan func(...any) error) error {
			var kind, glob string
			var day int64
			var n float64
			if err := scan(&kind, &glob, &day, &n); err != nil {
				return err
			}
			age := max(float64(now.Unix()/86400-day), 0)
			n *= math.Exp2(-age / (halfLife.Hours() / 24))
			one := share{returned: n}
			if side.expanded {
				one = share{expanded: n}
			}
			types[kind], globs[glob], all = types[kind].plus(one), globs[glob].plus(one), all.plus(one)
			return nil
		}); err != nil {
			return Priors{}, err
		}
	}
	p := Priors{Types: map[string]float64{}, Globs: map[string]float64{}}
	if all.returned < leastSample || all.expanded == 0 {
		return p, nil
	}
	mean := all.expanded / all.returned
	for name, s := range types {
		p.Types[name] = s.against(mean)
	}
	for name, s := range globs {
		p.Globs[name] = s.against(mean)
	}
	return p, nil
}

func (s share) plus(o share) share { return share{s.expanded + o.expanded, s.returned + o.returned} }

// against compares a share with the mean: 0 if it is equal, towards -1 and 1 for less and more.
func (s share) against(mean float64) float64 {
	rate := (s.expanded + smoothing*mean) / (s.returned + smoothing)
	return (rate - mean) / (rate + mean)
}

func (f *Feedback) each(ctx context.Context, text string, args []any, row func(scan func(...any) error) error) error {
	rows, err := f.db.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// FeedbackMetrics say how well queries served over some days.
type FeedbackMetrics struct {
	GlobHitRateAtK         float64 `json:"glob_hit_rate_at_k"` // of the queries that led to an expansion, those where one of the first five handles was expanded
	K                      int     `json:"k"`
	HandleExpandAcceptRate float64 `json:"handle_expand_accept_rate"` // of the handles returned, those expanded
	AvgTokensPerExpand     float64 `json:"avg_tokens_per_expand"`
	SampleCount            int     `json:"sample_count"` // queries
	Days                   int     `json:"days"`
}

// Metrics of a repository over the last days, 1 to 30.
func (f *Feedback) Metrics(ctx context.Context, repo string, days int) (FeedbackMetrics, error) {
	if f == nil {
		return FeedbackMetrics{}, nil
	}
	if days < 1 || days > feedbackDays {
		return FeedbackMetrics{}, diag.New(diag.Misuse, codeInvalid, "days is %d; it goes from 1 to %d", days, feedbackDays)
	}
	since := time.Now().Add(-time.Duration(days) * 24 * time.Hour).Unix()
	m := FeedbackMetrics{K: firstRanks, Days: days}
	var returned, expanded, hit, answered int
	err := f.db.QueryRowContext(ctx, `SELECT
		(SELECT count(*) FROM query_events WHERE repo = ?1 AND at >= ?2),
		(SELECT coalesce(sum(handles), 0) FROM query_events WHERE repo = ?1 AND at >= ?2),
		(SELECT count(*) FROM (SELECT DISTINCT event, handle FROM expand_events WHERE repo = ?1 AND at >= ?2 AND event IS NOT NULL)),
		(SELECT coalesce(avg(tokens), 0) FROM expand_events WHERE repo = ?1 AND at >= ?2),
		(SELECT count(DISTINCT event) FROM expand_events WHERE repo = ?1 AND at >= ?2 AND rank < ?3),
		(SELECT count(DISTINCT event) FROM expand_events WHERE repo = ?1 AND at >= ?2 AND event IS NOT NULL)`, repo, since, firstRanks).
		Scan(&m.SampleCount, &returned, &expanded, &m.AvgTokensPerExpand, &hit, &answered)
	if err != nil {
		return FeedbackMetrics{}, err
	}
	if returned > 0 {
		m.HandleExpandAcceptRate = float64(expanded) / float64(returned)
	}
	if answered > 0 {
		m.GlobHitRateAtK = float64(hit) / float64(answered)
	}
	return m, nil
}
