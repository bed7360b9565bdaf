package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// Bounds of a Client.
const (
	waitTime    = 5 * time.Minute // for a repository to be ready, if Client.Wait is 0
	pollFirst   = 50 * time.Millisecond
	pollLast    = 500 * time.Millisecond
	maxAnswer   = 64 << 20 // bytes
	provenances = 10_000   // handles of which the source is remembered
)

// A Client asks a service. Configure its fields before the first call. It may be used concurrently.
type Client struct {
	URL      string        // of the service: http://127.0.0.1:3000
	Key      string        // "" if the service has none
	HTTP     *http.Client  // nil means one that follows no redirect, so that the key goes nowhere else
	Wait     time.Duration // for a repository to be ready; 0 means 5 minutes
	Local    OpenFunc      // opens the index of what is not committed; nil leaves that to the service
	CacheDir string        // where copies of what is not committed are; "" like a nil Local
	Dirty    DirtyFunc     // nil like a nil Local
}

// A DirtyFunc returns what is not committed in the repository at root: relative paths with slashes, sorted, also of files that are gone.
// In what is no repository nothing is.
type DirtyFunc func(ctx context.Context, root string) ([]string, error)

// Open returns the index of a repository at the service, which is asked to index it if nobody did. It is an [OpenFunc].
//
// Uncommitted files are answered from the disk here, before all other matches, and matches of the service in those
// files are left out. So a service that is behind, or that has another working tree, gives no answer that is wrong
// here.
func (c *Client) Open(ctx context.Context, root string, o Opening) (Index, error) {
	x := &remote{c: c, root: root, known: make(map[string]provenance)}
	if c.Local != nil && c.Dirty != nil && c.CacheDir != "" {
		x.overlay = &overlay{root: root, cache: c.CacheDir, dirty: c.Dirty, open: c.Local, opening: Opening{Prior: o.Prior}}
	}
	var added Added
	if err := c.post(ctx, "/repos/add", AddRequest{Path: root}, &added); err != nil {
		return nil, err
	}
	x.id = added.RepoID
	if err := c.ready(ctx, x.id, o.Progress); err != nil {
		return nil, err
	}
	return x, nil
}

// ready waits until a repository is ready.
func (c *Client) ready(ctx context.Context, id string, progress diag.Progress) error {
	wait := cmp.Or(c.Wait, waitTime)
	ctx, cancel := context.WithTimeoutCause(ctx, wait, diag.New(diag.Failed, codeNotReady, "the service was not ready after %s", wait).Hint("ask again later, or without a service"))
	defer cancel()
	asked := false
	for pause := pollFirst; ; pause = min(2*pause, pollLast) {
		var r Repo
		if err := c.get(ctx, "/repos/"+url.PathEscape(id), &r); err != nil {
			return err
		}
		switch {
		case r.Status == stateReady:
			return nil
		case r.Status == stateError && asked:
			return diag.New(diag.Failed, codeNotReady, "the service could not index %s: %s", r.Name, diag.Printable(r.Error))
		case !asked && r.Status != stateIndexing:
			if err := c.post(ctx, "/reindex", ReindexRequest{Repo: id}, &Reindexing{}); err != nil {
				return err
			}
			asked = true
		}
		progress.Send(diag.Event{Stage: "index", Name: r.Name})
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (c *Client) get(ctx context.Context, path string, answer any) error {
	return c.do(ctx, http.MethodGet, path, nil, answer)
}

func (c *Client) post(ctx context.Context, path string, body, answer any) error {
	return c.do(ctx, http.MethodPost, path, encode(body), answer)
}

// do asks the service. Its error is a *Problem if the service says one.
func (c *Client) do(ctx context.Context, method, path string, body []byte, answer any) error {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, bytes.NewReader(body))
	if err != nil {
		return diag.New(diag.Misuse, "invalid_service_url", "%q is not the URL of a service", c.URL).Hint("use http://%s", DefaultAddr)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.Key != "" {
		r.Header.Set("X-Api-Key", c.Key)
	}
	client := c.HTTP
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	response, err := client.Do(r)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return diag.New(diag.Failed, "service_unreachable", "no service answers at %s: %w", c.URL, err).Hint("skl index serve%s", addrFlag(c.URL))
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return fmt.Errorf("reading the answer of %s: %w", c.URL, err)
	}
	if len(data) > maxAnswer {
		return diag.New(diag.Failed, "service_answer", "the answer of %s has more than %d bytes", c.URL, maxAnswer)
	}
	if response.StatusCode >= 300 {
		p := new(Problem)
		if json.Unmarshal(data, p) != nil || p.Code == "" {
			return diag.New(diag.Failed, "service_answer", "%s answered %s, not as an index service does", c.URL, response.Status)
		}
		return p
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return diag.New(diag.Failed, "service_answer", "the answer of %s is not that of an index service: %w", c.URL, err)
	}
	return nil
}

// A provenance says where a handle came from.
type provenance struct {
	local      bool
	generation uint64
}

// remote is the index of a service, with what is not committed laid over it.
type remote struct {
	c       *Client
	root    string
	id      string
	overlay *overlay // nil for none

	mu    sync.Mutex // guards what follows
	known map[string]provenance
	order []string // ids of known, the oldest first
}

// Root implements [Index].
func (x *remote) Root() string { return x.root }

// Close implements [Index].
func (x *remote) Close() error { return x.overlay.close() }

// Generation implements [Index].
func (x *remote) Generation(ctx context.Context) (uint64, error) {
	var r Repo
	err := x.c.get(ctx, "/repos/"+url.PathEscape(x.id), &r)
	return r.Generation, err
}

// remember keeps where handles come from; the oldest make room.
func (x *remote) remember(id string, p provenance) {
	if _, ok := x.known[id]; !ok {
		x.order = append(x.order, id)
	}
	x.known[id] = p
	for len(x.order) > provenances {
		delete(x.known, x.order[0])
		x.order = x.order[1:]
	}
}

// Query implements [Index].
func (x *remote) Query(ctx context.Context, q query.Query) (query.Result, error) {
	var there query.Result
	body := QueryRequest{Repo: x.id, MaxTokens: MaxTokens}
	body.Query, body.Limit, body.ExpandBudget = q.Expr.String(), q.Limit, q.ExpandBudget
	if err := x.c.post(ctx, "/query", body, &there); err != nil {
		return query.Result{}, err
	}
	dirty, here, err := x.overlay.look(ctx)
	if err != nil {
		return query.Result{}, err
	}
	if len(dirty) > 0 {
		var local query.Result
		if here != nil {
			if local, err = here.Query(ctx, q); err != nil {
				return query.Result{}, err
			}
		}
		source(local.Handles, local.RefHandles, "local", "", 0)
		there = mergeResults(local, there, dirty, q)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range there.Handles {
		x.remember(h.ID, provenance{h.Source == "local", h.Generation})
	}
	return there, nil
}

// Evidence implements [Index].
func (x *remote) Evidence(ctx context.Context, q query.Query, o rank.PackOptions) (query.Pack, error) {
	var there Planned
	no := false // whoever asks does the planning
	body := EvidenceRequest{Repo: x.id, MaxTokens: min(o.MaxTokens, MaxTokens), PackConfig: PackConfig{MaxHandles: o.MaxHandles, MaxPerFile: o.MaxPerFile, Plan: &no}}
	body.Query, body.Limit = q.Expr.String(), q.Limit
	if err := x.c.post(ctx, "/evidence_pack", body, &there); err != nil {
		return query.Pack{}, err
	}
	dirty, here, err := x.overlay.look(ctx)
	if err != nil {
		return query.Pack{}, err
	}
	if len(dirty) > 0 {
		var local query.Pack
		if here != nil {
			if local, err = here.Evidence(ctx, q, o); err != nil {
				return query.Pack{}, err
			}
		}
		for i := range local.Handles {
			local.Handles[i].Source = "local"
		}
		there.Pack = mergePacks(local, there.Pack, dirty, o)
	}
	there.QueryText = q.Text
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, h := range there.Handles {
		x.remember(h.ID, provenance{h.Source == "local", h.Generation})
	}
	return there.Pack, nil
}

// Expand implements [Index]. A handle goes to where it came from. One that nobody remembers is looked for here first: what is
// not committed is the newer text.
func (x *remote) Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error) {
	_, here, err := x.overlay.look(ctx)
	if err != nil {
		return query.Expansion{}, err
	}
	var local, there []string
	generations := make(map[string]uint64)
	x.mu.Lock()
	for _, id := range ids {
		p, known := x.known[id]
		if here != nil && (p.local || !known) {
			local = append(local, id)
			continue
		}
		there = append(there, id)
		if known {
			generations[id] = p.generation
		}
	}
	x.mu.Unlock()
	byID := make(map[string]query.Content)
	var out query.Expansion
	left := maxTokens
	if len(local) > 0 {
		e, err := here.Expand(ctx, local, left)
		if err != nil {
			return query.Expansion{}, err
		}
		for _, c := range e.Contents {
			byID[c.HandleID] = c
			left -= c.TokenCount
		}
		out.Truncated = e.Truncated
		for _, f := range e.FailedIDs {
			there = append(there, f.HandleID) // the service may know it
		}
	}
	if len(there) > 0 && (maxTokens == 0 || left > 0) {
		e, err := x.expandThere(ctx, there, generations, left)
		if err != nil {
			return query.Expansion{}, err
		}
		for _, c := range e.Contents {
			byID[c.HandleID] = c
		}
		out.FailedIDs, out.Truncated = e.FailedIDs, out.Truncated || e.Truncated
	} else if len(there) > 0 {
		out.Truncated = true
	}
	for _, id := range ids {
		if c, ok := byID[id]; ok {
			out.Contents = append(out.Contents, c)
			delete(byID, id) // an id that was given twice is answered once
		}
	}
	return out, nil
}

// expandThere expands at the service. Handles of an older generation fail one by one: the others are asked for again.
func (x *remote) expandThere(ctx context.Context, ids []string, generations map[string]uint64, maxTokens int) (query.Expansion, error) {
	var failed []query.Failure
	for range 2 {
		body := ExpandRequest{Repo: x.id, MaxTokens: min(cmp.Or(maxTokens, MaxTokens), MaxTokens)}
		for _, id := range ids {
			body.Handles = append(body.Handles, ExpandHandle{id, generations[id]})
		}
		var out query.Expansion
		err := x.c.post(ctx, "/expand", body, &out)
		if err == nil {
			out.FailedIDs = append(out.FailedIDs, failed...)
			return out, nil
		}
		p, ok := errors.AsType[*Problem](err)
		if !ok || len(p.Handles) == 0 {
			return query.Expansion{}, err
		}
		failed = append(failed, p.Handles...)
		bad := make(map[string]bool)
		for _, f := range p.Handles {
			bad[f.HandleID] = true
		}
		var rest []string
		for _, id := range ids {
			if !bad[id] {
				rest = append(rest, id)
			}
		}
		if len(rest) == 0 || len(rest) == len(ids) {
			break
		}
		ids = rest
	}
	return query.Expansion{FailedIDs: failed}, nil
}

// Update implements [Index]: the service reindexes, and this waits for it. anew changes nothing: a service reads what has changed.
func (x *remote) Update(ctx context.Context, glob glob.Glob, anew bool) (index.Report, error) {
	began := time.Now()
	if err := x.c.post(ctx, "/reindex", ReindexRequest{Repo: x.id, Glob: glob.String()}, &Reindexing{}); err != nil {
		return index.Report{}, err
	}
	if err := x.c.ready(ctx, x.id, nil); err != nil {
		return index.Report{}, err
	}
	generation, err := x.Generation(ctx)
	return index.Report{Generation: generation, Elapsed: time.Since(began)}, err
}

// Invalidate implements [Index]. The service's index belongs to all of its clients, so it is made to agree with the files, and nothing is forgotten.
func (x *remote) Invalidate(ctx context.Context, glob glob.Glob) (int, error) {
	_, err := x.Update(ctx, glob, true)
	return 0, err
}

// Status implements [Index]. An older service tells no more than the state of the repository.
func (x *remote) Status(ctx context.Context) (s query.Status, err error) {
	at := "/repos/" + url.PathEscape(x.id)
	if err := x.c.get(ctx, at+"/index", &s); err == nil {
		return s, nil
	}
	var r Repo
	if err := x.c.get(ctx, at, &r); err != nil {
		return query.Status{}, err
	}
	return query.Status{RepoRoot: cmp.Or(r.RepoRoot, filepath.Clean(x.root)), FileDiscovery: "service", Generation: r.Generation}, nil
}

// addrFlag makes a service listen where address asks for it: "" if it does so by itself.
func addrFlag(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == DefaultAddr || u.Port() == "" {
		return ""
	}
	return " --addr " + u.Host
}
