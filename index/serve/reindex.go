package serve

import (
	"context"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// An AddRequest registers a repository.
type AddRequest struct {
	Path string `json:"path" jsonschema:"absolute path of a git repository"`
	Name string `json:"name,omitempty" jsonschema:"default: the name of the directory"`
}

// Added is the answer to it.
type Added struct {
	RepoID string `json:"repo_id"`
	Name   string `json:"name"`
}

func (s *Service) add(_ context.Context, body []byte) (any, error) {
	var in AddRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	if len(in.Name) > 200 || strings.ContainsAny(in.Name, "\x00\r\n\x1b") {
		return nil, diag.New(diag.Misuse, codeInvalid, "name is longer than 200 bytes or holds control characters")
	}
	root, err := checkRepo(in.Path, s.o.Key == "")
	if err != nil {
		return nil, err
	}
	r, err := s.repos.add(root, in.Name)
	return Added{r.RepoID, r.Name}, err
}

// A ReindexRequest asks to make the index agree with the files now.
type ReindexRequest struct {
	Repo string `json:"repo"`
	Glob string `json:"glob,omitempty" jsonschema:"only these files"`
}

// Reindexing is the answer to it.
type Reindexing struct {
	Generation uint64 `json:"generation" jsonschema:"before the reindex"`
	Status     string `json:"status" jsonschema:"indexing or already_indexing"`
	CommitSHA  string `json:"commit_sha,omitempty"`
}

// reindex starts one in the background. Queries are answered meanwhile. The generation changes if files have; handles stay good otherwise.
func (s *Service) reindex(ctx context.Context, body []byte) (any, error) {
	var in ReindexRequest
	if err := decode(body, &in); err != nil {
		return nil, err
	}
	only, err := glob.Parse(in.Glob)
	if err != nil {
		return nil, err
	}
	at, err := s.at(ctx, in.Repo)
	if err != nil {
		return nil, err
	}
	out := Reindexing{Status: stateIndexing, CommitSHA: at.CommitSHA}
	if out.Generation, err = at.Index.Generation(ctx); err != nil {
		return nil, err
	}
	s.jobsLock.Lock()
	defer s.jobsLock.Unlock()
	if s.closed {
		return nil, diag.New(diag.Failed, codeClosed, "the service is stopping")
	}
	if s.jobs[in.Repo] != nil {
		out.Status = "already_indexing"
		return out, nil
	}
	if _, err := s.repos.change(in.Repo, false, func(r *Repo) {
		r.Status, r.Error, r.CommitSHA, r.Generation = stateIndexing, "", at.CommitSHA, out.Generation
	}); err != nil {
		return nil, err
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &job{cancel: cancel, done: make(chan struct{})}
	s.jobs[in.Repo] = j
	s.metrics.reindex()
	s.running.Go(func() {
		defer cancel()
		defer close(j.done)
		s.run(work, at, only)
	})
	return out, nil
}

// run reindexes, and writes down how it ended.
func (s *Service) run(ctx context.Context, at shard, only glob.Glob) {
	began := time.Now()
	var generation uint64
	err := ctx.Err()
	select {
	case s.work <- struct{}{}:
		defer func() { <-s.work }()
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		generation, err = s.update(ctx, at, only)
	}
	s.jobsLock.Lock()
	delete(s.jobs, at.RepoID)
	s.jobsLock.Unlock()
	_, changed := s.repos.change(at.RepoID, false, func(r *Repo) {
		switch {
		case err == nil:
			r.Status, r.Error, r.Generation, r.CommitSHA = stateReady, "", generation, at.CommitSHA
		case ctx.Err() != nil: // the service stops, or the repository is removed
			r.Status = statePending
		default:
			p, _ := problem(err)
			r.Status, r.Error = stateError, p.Message
		}
	})
	s.o.Logger.Info("reindex", "repo", at.Name, "took", time.Since(began), "error", err, "state", changed)
}

// update makes the index agree with the files. A panic below is an error of this repository, and not the end of the service.
func (s *Service) update(ctx context.Context, at shard, only glob.Glob) (generation uint64, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = diag.New(diag.Failed, codeInternal, "the index of %s broke: %v", at.Name, caught)
		}
	}()
	report, err := at.Update(ctx, only, false)
	return report.Generation, err
}

// remove forgets a repository. Its index stays in the cache, where it is found again if the repository is added again.
func (s *Service) remove(ctx context.Context, id string) error {
	r, err := s.repos.remove(id)
	if err != nil {
		return err
	}
	s.jobsLock.Lock()
	j := s.jobs[id]
	delete(s.caches, id)
	s.jobsLock.Unlock()
	if j != nil {
		j.cancel()
		select {
		case <-j.done:
		case <-ctx.Done():
			return nil // it is removed; the index is closed with the service
		}
	}
	return s.indexes.drop(r.RepoRoot)
}

// list is what clients see of the repositories. Without the key they see that there are some.
func (s *Service) list(known bool) []Repo {
	all := s.repos.all()
	for i := range all {
		if !known {
			all[i] = Repo{RepoID: all[i].RepoID, Name: all[i].Name, Status: all[i].Status, Generation: all[i].Generation}
		}
	}
	return all
}

// Health is what GET /status says.
type Health struct {
	Service string `json:"service"` // "canopy-service", which is how clients recognise it
	Version string `json:"version,omitempty"`
	Repos   []Repo `json:"repos"`
}
