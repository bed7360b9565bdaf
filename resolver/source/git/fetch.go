package git

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/ref"
)

// Fetch streams what s.Commit holds below s.Path, sorted by path.
// Its errors have the codes E_COMMIT (the repository does not have the commit), E_DIGEST (other
// bytes than asked for), E_LOCK_CONTENT (s.Version is made of another time than the commit's), PKG-SUBMODULE and unknown_path, besides those of the network.
func (s *Source) Fetch(ctx context.Context, skill lock.Skill, sink bundle.Sink) error {
	repo, snap, err := s.open(ctx, skill.URL, skill.Commit)
	if err != nil {
		return err
	}
	if v, ofCommit := skill.Version, snap.version(); v != ofCommit && strings.HasPrefix(v, "0.0.0-") && strings.HasSuffix(v, ofCommit[len(ofCommit)-13:]) {
		return diag.New(diag.Refused, "E_LOCK_CONTENT", "it is locked as version %s, and its commit is %s", diag.Printable(v), ofCommit).
			Hint("see who changed it: git diff skl.lock").Hint("to write what the commit says: skl lock --upgrade %s", skill.Name)
	}
	files, err := snap.files(skill.Path)
	if err != nil {
		return err
	}
	// In portions, because sink may stop at its limit of entries, long before a hostile commit ends.
	for part := range slices.Chunk(files, 5001) {
		if err := s.stream(ctx, repo, snap, skill, part, sink); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) stream(ctx context.Context, repo *repo, snap *snapshot, skill lock.Skill, files []file, sink bundle.Sink) error {
	blobs, err := repo.load(ctx, snap, idsOf(files))
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := f.path
		if skill.Path != "" {
			name = f.path[len(skill.Path)+1:]
		}
		data := blobs[f.id]
		if f.mode&modeType == modeLink {
			err = sink.Link(name, string(data))
		} else {
			err = sink.File(name, f.mode&0o111 != 0, int64(len(data)), bytes.NewReader(data))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) open(ctx context.Context, rawURL string, commit ref.Commit) (*repo, *snapshot, error) {
	repo, err := s.repo(rawURL)
	if err != nil {
		return nil, nil, err
	}
	id, err := commitID(rawURL, commit)
	if err != nil {
		return nil, nil, err
	}
	snap, err := repo.open(ctx, id)
	return repo, snap, err
}

// files lists what is below dir, sorted by path; a submodule there is an error.
func (s *snapshot) files(dir string) ([]file, error) {
	id, ok, err := s.tree(dir)
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, diag.New(diag.Failed, source.CodePath, "%s has no directory %q at commit %.12s", show(s.url), diag.Printable(dir), s.commit)
	}
	var files []file
	submodule := ""
	err = s.walk(dir, id, func(string, int) bool { return true }, func(f file) {
		if f.mode&modeType == modeModule && submodule == "" {
			submodule = f.path
		}
		files = append(files, f)
	})
	if err != nil {
		return nil, err
	}
	if submodule != "" {
		return nil, diag.New(diag.Refused, "PKG-SUBMODULE", "%q in %s is a submodule: its files are in another repository",
			diag.Printable(submodule), show(s.url)).Hint("ask the author to keep the skill's files in its own directory")
	}
	order.Sort(files, func(a, b file) int { return cmp.Compare(a.path, b.path) })
	return files, nil
}

func idsOf(files []file) []plumbing.Hash {
	ids := make([]plumbing.Hash, len(files))
	for i, f := range files {
		ids[i] = f.id
	}
	return ids
}

// prefetch loads the files of skills that are all in one commit.
func (s *Source) prefetch(ctx context.Context, rawURL string, commit ref.Commit, skills []lock.Skill) error {
	repo, snap, err := s.open(ctx, rawURL, commit)
	if err != nil {
		return err
	}
	var ids []plumbing.Hash
	for _, skill := range skills {
		files, err := snap.files(skill.Path)
		if err != nil {
			continue // Fetch of that skill says so
		}
		ids = append(ids, idsOf(files)...)
	}
	_, err = repo.load(ctx, snap, ids)
	if isCode(err, "git_too_large") {
		return nil // one by one they may not be
	}
	return err
}

func isCode(err error, code string) bool { return errors.Is(err, diag.Code(code)) }
