package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/registry/client/origin"
	"github.com/skl-project/skl/registry/gate"
	"github.com/skl-project/skl/spec/diag"
)

// Bounds of the service.
const (
	maxRequests  = 64 // at once; more are told to come again
	maxReindexes = 2  // at once; more wait
	requestTime  = time.Minute
	headerTime   = 10 * time.Second
	bodyTime     = 10 * time.Second // for each byte of a body; see gate.Body
	answerTime   = 90 * time.Second // for the client to take the answer
	idleTime     = 2 * time.Minute
	drainTime    = 15 * time.Second // for running requests at shutdown
	lockTime     = 300 * time.Millisecond
)

// DefaultAddr is where the service listens if nothing else is said.
const DefaultAddr = "127.0.0.1:3000"

// ServiceOptions configure a Service. Open and StateDir are needed.
type ServiceOptions struct {
	Open     OpenFunc
	StateDir string       // where index-service.json is; made if missing. One service at a time
	Key      string       // that requests have to send in X-Api-Key; "" for none, on loopback only
	Hosts    []string     // names, "host" or "host:port", that it answers to on loopback besides those of loopback
	Version  string       // shown by GET /status
	Logger   *slog.Logger // nil discards
}

// A Service answers for a list of repositories, which survives restarts. Close it at the end. It may be used concurrently.
type Service struct {
	o        ServiceOptions
	repos    *repos
	indexes  *indexes
	feedback *Feedback
	metrics  metrics
	release  func()
	handler  http.Handler
	slots    chan struct{} // of requests
	gate     *gate.Gate
	work     chan struct{} // of reindexes

	running  sync.WaitGroup
	jobsLock sync.Mutex
	jobs     map[string]*job     // by id of the repository
	caches   map[string]*answers // the same
	closed   bool
}

// A job is a reindex that runs.
type job struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// NewService opens the state. Its error has the code service_running if another service uses it.
func NewService(ctx context.Context, o ServiceOptions) (*Service, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir := filepath.Join(o.StateDir, "index-service")
	if err := durable.MkdirPrivate(dir); err != nil {
		return nil, err
	}
	locking, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	release, err := hold(locking, dir)
	if err != nil {
		return nil, err
	}
	list, err := loadRepos(filepath.Join(o.StateDir, "index-service.json"))
	if err != nil {
		release()
		return nil, err
	}
	feedback, err := OpenFeedback(ctx, dir)
	if err != nil {
		// Answers are right without it.
		o.Logger.Warn("feedback is not recorded", "error", err)
		feedback = nil
	}
	s := &Service{o: o, repos: list, feedback: feedback, release: release, slots: make(chan struct{}, maxRequests), gate: gate.New(gate.Options{Logger: o.Logger}), work: make(chan struct{}, maxReindexes),
		jobs: make(map[string]*job), caches: make(map[string]*answers)}
	s.indexes = &indexes{open: o.Open, feedback: feedback}
	s.handler = s.routes()
	return s, nil
}

// Handler answers requests.
func (s *Service) Handler() http.Handler { return s.handler }

// Close ends reindexes, stores what was recorded and closes the indexes.
func (s *Service) Close() error {
	s.jobsLock.Lock()
	if s.closed {
		s.jobsLock.Unlock()
		return nil
	}
	s.closed = true
	for _, j := range s.jobs {
		j.cancel()
	}
	s.jobsLock.Unlock()
	s.running.Wait()
	err := s.indexes.close()
	if e := s.feedback.Close(); err == nil {
		err = e
	}
	s.release()
	return err
}

// CheckAddr refuses an address that others than this machine can reach if there is no key. Names other than localhost are
// refused as well then, as nobody knows what they will mean.
func CheckAddr(addr, key string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return diag.New(diag.Misuse, "invalid_address", "%q is not an address with a port", addr).Hint("use %s", DefaultAddr)
	}
	if key != "" || origin.Loopback(host) {
		return nil
	}
	return diag.New(diag.Refused, codeAddress, "%s can be reached from other machines, and the service has no key", addr).
		Hint("give it a key, or use %s", DefaultAddr)
}

// Serve serves l until ctx is done, then lets running requests end, at most 15 s, and returns nil. It refuses a listener that
// [CheckAddr] refuses.
func (s *Service) Serve(ctx context.Context, l net.Listener) error {
	if err := CheckAddr(l.Addr().String(), s.o.Key); err != nil {
		l.Close()
		return err
	}
	server := &http.Server{
		Handler: s.handler, ReadHeaderTimeout: headerTime, WriteTimeout: requestTime + answerTime, IdleTimeout: idleTime,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug),
		ConnState: s.gate.State, ConnContext: s.gate.Context,
		BaseContext: func(net.Listener) context.Context { return context.WithoutCancel(ctx) },
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(s.gate.Listener(l)) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	if err := server.Shutdown(drain); err != nil {
		s.o.Logger.Warn("some requests were cut off at shutdown")
		server.Close()
	}
	<-failed
	return nil
}

// A shard is a repository whose index is open.
type shard struct {
	Repo
	Index
	answers *answers
}

// at opens the index of a repository.
func (s *Service) at(ctx context.Context, id string) (shard, error) {
	r, err := s.repos.get(id)
	if err != nil {
		return shard{}, err
	}
	g, ok := findGit(r.RepoRoot)
	if !ok {
		return shard{}, diag.New(diag.Failed, codeNotReady, "the repository %s is not at %s any more", r.Name, r.RepoRoot).Hint("DELETE /repos/%s removes it from the list", id)
	}
	r.CommitSHA = g.commit()
	o, err := s.indexes.of(ctx, r.RepoRoot)
	if err != nil {
		return shard{}, err
	}
	s.metrics.request(id)
	s.jobsLock.Lock()
	defer s.jobsLock.Unlock()
	a := s.caches[id]
	if a == nil {
		a = new(answers)
		s.caches[id] = a
	}
	return shard{r, o.x, a}, nil
}

// holds tells what the index of a repository holds.
func (s *Service) holds(ctx context.Context, id string) (any, error) {
	at, err := s.at(ctx, id)
	if err != nil {
		return nil, err
	}
	return at.Index.Status(ctx)
}

// seen keeps what an answer says of the state of a repository.
func (s *Service) seen(at shard, generation uint64) {
	// The file has it from the next change of status on: a generation is shown, and never relied on.
	_, err := s.repos.change(at.RepoID, false, func(r *Repo) { r.Generation, r.CommitSHA = generation, at.CommitSHA })
	if err != nil {
		s.o.Logger.Debug("state of a repository", "error", err)
	}
}

// cachedAnswer gives the answer to a request, from the cache if nothing has changed since. make says of which generation its answer is, and
// whether it is whole.
func cachedAnswer[T any](ctx context.Context, s *Service, at shard, request string, make func() (answer T, generation uint64, whole bool, err error)) (T, error) {
	var none T
	request = fmt.Sprint(request, "\x00", at.CommitSHA, "\x00", s.feedback.version(at.RepoRoot))
	generation, err := at.Index.Generation(ctx)
	if err != nil {
		return none, err
	}
	if v, ok := at.answers.get(cacheKey{generation, request}); ok {
		// The generation is what the index knows. To expand nothing makes it look at the files.
		if _, err := at.Expand(ctx, nil, 0); err != nil {
			return none, err
		}
		now, err := at.Index.Generation(ctx)
		if err != nil {
			return none, err
		}
		if now == generation {
			s.metrics.cache(true)
			return v.(T), nil
		}
	}
	s.metrics.cache(false)
	v, generation, whole, err := make()
	if err != nil {
		return none, err
	}
	s.seen(at, generation)
	if whole {
		at.answers.put(cacheKey{generation, request}, v)
	}
	return v, nil
}

func (s *Service) query(ctx context.Context, body []byte) (any, error) {
	in, err := readQuestion(body, "repo", false)
	if err != nil {
		return nil, err
	}
	q, err := in.Params.Compile()
	if err != nil {
		return nil, err
	}
	at, err := s.at(ctx, in.Where)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	r, err := cachedAnswer(ctx, s, at, "query "+string(encode(in.Params)), func() (query.Result, uint64, bool, error) {
		r, err := at.Query(ctx, q)
		source(r.Handles, r.RefHandles, "service", at.CommitSHA, r.Generation)
		return r, r.Generation, r.NotIndexed == 0, err
	})
	if err != nil {
		return nil, err
	}
	r = r.Within(bounded(in.MaxTokens))
	s.metrics.query(time.Since(began), in.Params)
	s.feedback.queried(at.RepoRoot, q.Text, in.Params.Glob, r.Handles)
	return r, nil
}

func (s *Service) evidence(ctx context.Context, body []byte) (any, error) {
	in, err := readQuestion(body, "repo", true)
	if err != nil {
		return nil, err
	}
	if _, _, err := in.Compile(); err != nil {
		return nil, err
	}
	at, err := s.at(ctx, in.Where)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	// Handles expanded lately come last in a pack, so an answer holds until the next expansion.
	request := fmt.Sprint("evidence ", at.answers.expansions.Load(), string(encode(in.EvidenceParams)))
	p, err := cachedAnswer(ctx, s, at, request, func() (Planned, uint64, bool, error) {
		p, err := Evidence(ctx, at.Index, in.EvidenceParams)
		for i := range p.Handles {
			h := &p.Handles[i]
			h.Source, h.CommitSHA, h.Generation = "service", at.CommitSHA, p.Generation
		}
		return p, p.Generation, p.NotIndexed == 0, err
	})
	if err != nil {
		return nil, err
	}
	fitPack(&p, bounded(in.MaxTokens))
	s.metrics.query(time.Since(began), in.Params)
	s.feedback.queried(at.RepoRoot, p.QueryText, in.Params.Glob, handlesOf(p.Handles))
	return p, nil
}

// An ExpandRequest asks for the text of handles.
type ExpandRequest struct {
	Repo      string         `json:"repo"`
	Handles   []ExpandHandle `json:"handles"`
	MaxTokens int            `json:"max_tokens,omitempty" jsonschema:"of the answer; default 20000"`
}

// An ExpandHandle is a handle, and the generation of the answer it was in.
type ExpandHandle struct {
	ID         string `json:"id"`
	Generation uint64 `json:"generation,omitempty" jsonschema:"refuses the request if it is not the current one"`
}

// expand gives the text of handles. One whose generation is not the current one fails the request, since its
// caller relies on it; another that has no text fails only if there is no other.
func (s *Service) expand(ctx context.Context, body []byte) (any, error) {
	var in ExpandRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	ids := make([]string, len(in.Handles))
	said := make(map[string]uint64)
	for i, h := range in.Handles {
		ids[i] = h.ID
		if h.Generation != 0 {
			said[h.ID] = h.Generation
		}
	}
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	at, err := s.at(ctx, in.Repo)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	current, err := at.Index.Generation(ctx)
	if err != nil {
		return nil, err
	}
	if p := stale(in.Handles, current); p != nil {
		return nil, p
	}
	e, err := at.Expand(ctx, ids, bounded(in.MaxTokens))
	if err != nil {
		return nil, err
	}
	if len(said) > 0 {
		// Expand reads files that have changed; then the text is not that of the generation which was checked before.
		if current, err = at.Index.Generation(ctx); err != nil {
			return nil, err
		}
		if p := stale(in.Handles, current); p != nil {
			return nil, p
		}
	}
	if len(e.Contents) == 0 && len(e.FailedIDs) > 0 {
		return nil, handleProblem(e.FailedIDs)
	}
	if e.Contents == nil {
		e.Contents = []query.Content{}
	}
	at.answers.expansions.Add(1)
	s.metrics.expand(time.Since(began), e.Contents)
	s.feedback.expanded(at.RepoRoot, e.Contents)
	return e, nil
}

// stale is the problem of handles of other generations; nil if there are none.
func stale(handles []ExpandHandle, current uint64) *Problem {
	var old []query.Failure
	for _, h := range handles {
		if h.Generation != 0 && h.Generation != current {
			old = append(old, query.Failure{HandleID: h.ID, Code: codeStale, Message: "the repository has changed since this handle was given"})
		}
	}
	if old == nil {
		return nil
	}
	p := handleProblem(old)
	p.Message = "the repository has changed since these handles were given: " + cmp.Or(old[0].HandleID, "?")
	if len(old) > 1 {
		p.Message += " and others"
	}
	p.Hint = "" // that of the table
	return p
}

// A FeedbackRequest says what a client did with handles.
type FeedbackRequest struct {
	Repo     string   `json:"repo"`
	Query    string   `json:"query,omitempty" jsonschema:"the query that returned the handles; default: the last one that did"`
	Expanded []string `json:"expanded,omitempty" jsonschema:"handles that the client expanded without asking the service"`
	Useful   []string `json:"useful,omitempty" jsonschema:"handles that answered"`
}

// A FeedbackAnswer says how many of the handles were known.
type FeedbackAnswer struct {
	Recorded int `json:"recorded"`
}

func (s *Service) report(ctx context.Context, body []byte) (any, error) {
	var in FeedbackRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	r, err := s.repos.get(in.Repo)
	if err != nil {
		return nil, err
	}
	if err := checkIDs(append(slices.Clone(in.Expanded), in.Useful...)); err != nil {
		return nil, err
	}
	for _, list := range [][]string{in.Expanded, in.Useful} {
		for i, id := range list {
			if list[i], err = query.ParseID(id); err != nil {
				return nil, err
			}
		}
	}
	n, err := s.feedback.RecordReport(ctx, r.RepoRoot, in.Query, in.Expanded, in.Useful, time.Now())
	return FeedbackAnswer{n}, err
}

// raw is an answer that is JSON already.
type raw = json.RawMessage
