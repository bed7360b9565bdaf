package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/diag"
)

// States of a repository.
const (
	statePending  = "pending" // nobody asked to index it yet; queries are answered all the same
	stateIndexing = "indexing"
	stateReady    = "ready"
	stateError    = "error" // the last reindex did not end; queries are tried
)

// A Repo is a repository that the service answers for.
type Repo struct {
	RepoID     string `json:"repo_id"` // a random UUID
	Name       string `json:"name"`
	RepoRoot   string `json:"repo_root,omitempty"`
	Status     string `json:"status"`     // pending, indexing, ready, error
	Generation uint64 `json:"generation"` // as of the last answer or reindex; 0 before the first
	CommitSHA  string `json:"commit_sha,omitempty"`
	Error      string `json:"error,omitempty"` // why Status is error
}

// A stateFile is index-service.json.
type stateFile struct {
	Version int    `json:"version"` // 1
	Repos   []Repo `json:"repos"`   // in the order they were added
}

// repos is the list of repositories, and its file. It may be used concurrently.
type repos struct {
	file string

	mu   sync.Mutex
	list []Repo
}

// loadRepos reads the file. A file that says something else is an error and stays as it is.
func loadRepos(file string) (*repos, error) {
	s := &repos{file: file}
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	var f stateFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, diag.New(diag.Failed, codeState, "%s is damaged: %w", file, err).Hint("move it away; repositories have to be added again")
	}
	if f.Version != 1 {
		return nil, diag.New(diag.Failed, codeState, "%s has version %d, which this skl does not know", file, f.Version)
	}
	for _, r := range f.Repos {
		if r.RepoID == "" || !filepath.IsAbs(r.RepoRoot) || len(s.list) == MaxRepos {
			return nil, diag.New(diag.Failed, codeState, "%s is damaged", file).Hint("move it away; repositories have to be added again")
		}
		if r.Status == stateIndexing || r.Status != stateReady && r.Status != stateError {
			r.Status = statePending // what was under way ended with the process
		}
		s.list = append(s.list, r)
	}
	return s, nil
}

// save writes the file. The lock is held, so that an older list never replaces a newer one.
func (s *repos) save() error {
	return durable.WriteFile(s.file, append(encodeIndented(stateFile{Version: 1, Repos: s.list}), '\n'), 0o600)
}

func encodeIndented(v any) []byte {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // a type of this package that JSON cannot hold
	}
	return b
}

// add adds a directory that was checked, or finds it.
func (s *repos) add(root, name string) (Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.RepoRoot == root {
			return r, nil
		}
	}
	if len(s.list) >= MaxRepos {
		return Repo{}, diag.New(diag.Misuse, "too_many_repos", "the service has %d repositories, which is the most", MaxRepos).Hint("DELETE /repos/{id} removes one")
	}
	r := Repo{RepoID: newUUID(), Name: cmp.Or(name, filepath.Base(root)), RepoRoot: root, Status: statePending}
	s.list = append(s.list, r)
	if err := s.save(); err != nil {
		s.list = s.list[:len(s.list)-1]
		return Repo{}, err
	}
	return r, nil
}

// get returns the repository of an id.
func (s *repos) get(id string) (Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.list {
		if r.RepoID == id {
			return r, nil
		}
	}
	if id == "" {
		return Repo{}, diag.New(diag.Misuse, codeInvalid, "repo is missing").Hint("POST /repos/add returns a repo_id")
	}
	return Repo{}, noRepo(id)
}

func noRepo(id string) error {
	if len(id) > 64 {
		id = id[:64]
	}
	return diag.New(diag.Misuse, codeRepo, "no repository %s", diag.Printable(id))
}

// remove removes one.
func (s *repos) remove(id string) (Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.list, func(r Repo) bool { return r.RepoID == id })
	if at < 0 {
		return Repo{}, noRepo(id)
	}
	before := s.list
	r := before[at]
	s.list = slices.Delete(slices.Clone(before), at, at+1)
	if err := s.save(); err != nil {
		s.list = before
		return Repo{}, err
	}
	return r, nil
}

// change applies f to a repository and writes the file if keep is set or the status is another one.
func (s *repos) change(id string, keep bool, f func(*Repo)) (Repo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.list {
		if s.list[i].RepoID != id {
			continue
		}
		before := s.list[i]
		f(&s.list[i])
		if keep || s.list[i].Status != before.Status {
			if err := s.save(); err != nil {
				return s.list[i], fmt.Errorf("writing the list of repositories: %w", err)
			}
		}
		return s.list[i], nil
	}
	return Repo{}, noRepo(id)
}

// all returns the repositories.
func (s *repos) all() []Repo {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Repo{}, s.list...)
}

// newUUID returns a random UUID, version 4.
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkRepo returns the canonical path of a directory that may be added: a git repository, and if own is set one that
// belongs to the user of the service.
func checkRepo(path string, own bool) (string, error) {
	bad := func(format string, args ...any) *diag.Error {
		return diag.New(diag.Misuse, codeInvalidRepo, format, args...)
	}
	shown := diag.Printable(path)
	switch {
	case path == "":
		return "", bad("path is missing")
	case len(path) > 4096 || strings.ContainsRune(path, 0):
		return "", bad("path is not a path")
	case !filepath.IsAbs(path):
		return "", bad("%s is not an absolute path", shown)
	}
	root, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", bad("there is no directory %s", shown)
	}
	if _, ok := findGit(root); !ok {
		return "", bad("%s is not a git repository", shown)
	}
	if own {
		for _, p := range []string{root, filepath.Join(root, ".git")} {
			info, err := os.Stat(p)
			if err != nil {
				return "", bad("there is no directory %s", shown)
			}
			if !durable.Owned(info) {
				return "", bad("%s belongs to another user", shown).Hint("without a key the service takes only repositories of its own user")
			}
		}
	}
	return root, nil
}

// hold takes the state directory for this process.
func hold(ctx context.Context, dir string) (release func(), err error) {
	release, err = durable.Lock(ctx, dir, nil)
	if errors.Is(err, durable.ErrLocked) || err != nil && ctx.Err() != nil {
		return nil, diag.New(diag.Failed, codeRunning, "another service runs with the state in %s", dir)
	}
	return release, err
}
