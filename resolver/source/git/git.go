// Package git reads skills out of git repositories.
//
// A skill is what a commit holds below one directory: the bytes of its blobs
// and their executable bits, as "git cat-file" gives them. There is no checkout.
// .gitattributes is not applied, filters and hooks never run, links are handed
// over as their text, and a submodule below a skill is refused (PKG-SUBMODULE).
//
// # What is fetched
//
// One commit without history and without files, which is the list of all its
// files, then in one request the files that are needed. Several ways
// lead there, tried in this order until one can:
//
//  1. git's smart HTTP, spoken by this package: kilobytes and two or three requests (wire.go)
//  2. the installed git program, the same without files, then with them: it has the
//     user's ssh configuration and credential helpers (sysgit.go)
//  3. go-git with all files of the commit (gogit.go)
//  4. go-git with the whole history, for a commit that is no tip and that the server does not give by id
//
// ssh starts at 2. A file URL is opened in this process, whatever Git says (file.go).
//
// # What is refused
//
//   - URLs that [ref.CheckGitURL] refuses; redirects from https to http.
//   - Objects whose content does not have the id they were asked by (E_DIGEST).
//     Ids are SHA-1 with collision detection; SHA-256 repositories cannot be read.
//   - A commit the server does not have (E_COMMIT).
//   - More than 64 MiB of content in one request (256 MiB with history), more than
//     [Source.MaxPack] bytes of pack, more than a million objects or paths.
//   - Refs whose names git check-ref-format refuses; they are left out.
//
// # Errors
//
// All are *[diag.Error] except those of a context and of a Sink. Their codes:
// invalid_ref, invalid_commit and unknown_path (what was asked for); git_not_found,
// git_auth, network, git_server and offline (the place cannot be read); git_protocol,
// git_object_format, git_failed and git_too_large (it can, but not by skl); E_COMMIT, E_DIGEST
// and PKG-SUBMODULE (refused). No URL in them holds a user or password, except that of ssh.
package git

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// A Doer sends HTTP requests and follows redirects. It owns credentials: which
// are sent to which origin, and that none follow a redirect to another one.
type Doer interface {
	Do(*http.Request) (*http.Response, error)
}

// A Source is the [source.Source] of refs of kind Git. Set its fields before
// the first call; HTTP is required. Its methods may be called concurrently.
//
// A Source asks a server once in its life for each of its refs, commits and files.
// Nothing needs to be closed.
type Source struct {
	HTTP     Doer
	CacheDir string   // may be deleted at any time; "" means no cache, and no use of the git program
	Offline  bool     // only CacheDir and file URLs are read
	Environ  []string // environment of the git program, as os.Environ returns it
	Git      string   // path of the git program; "" means that of PATH in Environ, "-" means none
	MaxPack  int64    // bytes of one pack; 0 means 512 MiB
	Progress diag.Progress
	// Reach is where a clone URL is fetched from, which may be a mirror; nil means from itself.
	Reach func(cloneURL string) string

	mu    sync.Mutex
	repos map[string]*repo // by URL
}

var (
	_ source.Source = (*Source)(nil)
	_ source.Tagger = (*Source)(nil)
	_ source.Dater  = (*Source)(nil)
)

// repo returns the one repo of a URL.
func (s *Source) repo(rawURL string) (*repo, error) {
	if err := ref.CheckGitURL(rawURL); err != nil {
		return nil, diag.New(diag.Misuse, "invalid_ref", "%q is not a clone URL: %w", diag.Printable(show(rawURL)), err)
	}
	if s.Reach != nil {
		if rawURL = s.Reach(rawURL); ref.CheckGitURL(rawURL) != nil {
			return nil, diag.New(diag.Misuse, "invalid_ref", "%q is not a clone URL", diag.Printable(show(rawURL)))
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r, ok := s.repos[rawURL]; ok {
		return r, nil
	}
	r := newRepo(rawURL)
	r.offline = s.Offline && !strings.HasPrefix(rawURL, "file:")
	r.rungs = s.ladder(rawURL)
	if s.CacheDir != "" && !strings.HasPrefix(rawURL, "file:") {
		r.cache = &cache{dir: filepath.Join(s.CacheDir, "git", urlKey(rawURL))}
	}
	if s.repos == nil {
		s.repos = make(map[string]*repo)
	}
	s.repos[rawURL] = r
	return r, nil
}

// ladder returns the ways to read rawURL, the cheapest first.
func (s *Source) ladder(rawURL string) []rung {
	maxPack := s.MaxPack
	if maxPack == 0 {
		maxPack = defaultMaxPack
	}
	scheme, _, _ := strings.Cut(rawURL, ":")
	if scheme == "file" {
		return []rung{&folder{url: rawURL}}
	}
	var rungs []rung
	if scheme != "ssh" {
		var total int64
		rungs = append(rungs, &wire{http: s.HTTP, url: rawURL, maxPack: maxPack, got: func(n int) {
			total += int64(n)
			s.Progress.Send(diag.Event{Stage: "fetch", Name: show(rawURL), Done: total})
		}})
	}
	if program := s.program(); program != "" && s.CacheDir != "" {
		for _, lean := range []bool{true, false} {
			rungs = append(rungs, &sysgit{program: program, environ: s.Environ, url: rawURL, cache: filepath.Join(s.CacheDir, "git"), lean: lean})
		}
	}
	for _, whole := range []bool{false, true} {
		rungs = append(rungs, &gogit{http: s.HTTP, url: rawURL, whole: whole, maxPack: maxPack})
	}
	return rungs
}

// program returns the path of the git program, or "".
func (s *Source) program() string {
	if s.Git == "-" {
		return ""
	} else if s.Git != "" {
		return s.Git
	}
	for _, kv := range s.Environ {
		key, value, _ := strings.Cut(kv, "=")
		if !strings.EqualFold(key, "PATH") {
			continue
		}
		for _, dir := range filepath.SplitList(value) {
			if !filepath.IsAbs(dir) {
				continue // a relative directory is whatever lies below the working directory
			}
			if p, err := exec.LookPath(filepath.Join(dir, "git")); err == nil {
				return p
			}
		}
	}
	return ""
}

func urlKey(rawURL string) string { return fmt.Sprintf("%x", sumOf(rawURL))[:40] }

// Versions lists the tags and branches of r's repository, with the commits they stand for.
func (s *Source) Versions(ctx context.Context, r ref.Ref) ([]source.Release, error) {
	repo, err := s.repo(r.URL)
	if err != nil {
		return nil, err
	}
	s.Progress.Send(diag.Event{Stage: "resolve", Name: show(r.URL)})
	refs, err := repo.refs(ctx)
	if err != nil {
		return nil, err
	}
	return releases(refs), nil
}

// Tagged implements [source.Tagger]. A version that is made of a commit is compared by [Source.Fetch].
func (s *Source) Tagged(ctx context.Context, r ref.Ref, skill lock.Skill) (commits []string, err error) {
	releases, err := s.Versions(ctx, r)
	for _, release := range releases {
		ofSkill := release.Version != "" && (release.Skill == "" || release.Skill == skill.Name)
		switch {
		case release.Kind != source.Tag || skill.RefKind == lock.Tag && release.Name != r.Version && release.Version != strings.TrimPrefix(r.Version, "v"):
		case ofSkill && release.Version == skill.Version:
			commits = append(commits, string(release.Commit))
		case skill.RefKind != lock.Tag || ofSkill || !strings.HasPrefix(skill.Version, "0.0.0-"):
		case release.Version == "":
			commits = append(commits, string(skill.Commit)) // the tag is no version, and moves as a branch does
		default:
			commits = append(commits, string(release.Commit)) // a version of another skill
		}
	}
	return commits, err
}

// Made implements [source.Dater]: the time of the committer.
func (s *Source) Made(ctx context.Context, rawURL, commit string) (time.Time, error) {
	repo, err := s.repo(rawURL)
	if err != nil {
		return time.Time{}, err
	}
	id, err := commitID(rawURL, ref.Commit(commit))
	if err != nil {
		return time.Time{}, err
	}
	snap, err := repo.open(ctx, id)
	if err != nil {
		return time.Time{}, err
	}
	return snap.when, nil
}

// commitID checks a commit id of outside.
func commitID(rawURL string, commit ref.Commit) (plumbing.Hash, error) {
	switch _, ok := ref.ParseCommit(string(commit)); {
	case !ok:
		return plumbing.ZeroHash, diag.New(diag.Misuse, "invalid_commit", "%q is not a full commit id: 40 hex digits", diag.Printable(string(commit)))
	case len(commit) == 64:
		return plumbing.ZeroHash, objectFormatError(rawURL, "sha256")
	}
	return plumbing.NewHash(string(commit)), nil
}

// Prefetch loads the files of skills, in one request per repository and
// commit, so that Fetch of each has nothing left to ask. It may leave files to
// Fetch: it is for speed alone. Skills of other sources are passed over.
func (s *Source) Prefetch(ctx context.Context, skills []lock.Skill) error {
	type place struct {
		url    string
		commit ref.Commit
	}
	byPlace := make(map[place][]lock.Skill)
	var order []place
	for _, skill := range skills {
		if skill.Source != "git" {
			continue
		}
		p := place{skill.URL, skill.Commit}
		if byPlace[p] == nil {
			order = append(order, p)
		}
		byPlace[p] = append(byPlace[p], skill)
	}
	for _, p := range order {
		if err := s.prefetch(ctx, p.url, p.commit, byPlace[p]); err != nil {
			return err
		}
	}
	return nil
}
