package git

import (
	"context"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/skl-project/skl/spec/diag"
)

// A rung is one way to read a repository. The ways are tried in order, the
// cheapest first: see [Source]. A rung that cannot do what is asked fails with
// unsupported or unreached; then the next one is tried. What it hands over is
// verified by the objectSet that takes it.
type rung interface {
	// refs lists HEAD, branches and tags.
	refs(ctx context.Context) ([]advert, error)
	// objects adds commit, its tree and the trees below, and may add blobs.
	objects(ctx context.Context, commit plumbing.Hash, to *objectSet) error
	// blobs adds blobs of commit.
	blobs(ctx context.Context, commit plumbing.Hash, ids []plumbing.Hash, to *objectSet) error
	// tag adds an annotated tag, and may add what it names.
	tag(ctx context.Context, id plumbing.Hash, to *objectSet) error
}

// An advert is a ref as a server lists it.
type advert struct {
	name   string        // "HEAD", "refs/heads/…", "refs/tags/…"
	id     plumbing.Hash // what it points to; of a tag, what that is a tag of, peeled
	symref string        // of HEAD, the branch it stands for, if known
	tag    plumbing.Hash // of an annotated tag, the tag itself; else zero
}

// wanted reports whether a ref is one that is ever used, and legal.
func wanted(name string) bool {
	if name == "HEAD" {
		return true
	}
	return (strings.HasPrefix(name, "refs/heads/") || strings.HasPrefix(name, "refs/tags/")) && legalRef(name)
}

// legalRef follows git check-ref-format, with --branch: a server may say anything, and what it
// calls its refs is shown, written to skl.lock and compared. Names that look like
// others on a terminal are not legal here either.
func legalRef(name string) bool {
	_, short, _ := strings.Cut(strings.TrimPrefix(name, "refs/"), "/")
	if strings.HasPrefix(short, "-") || diag.Printable(name) != name {
		return false
	}
	if strings.HasSuffix(name, ".") || strings.Contains(name, "..") || strings.Contains(name, "@{") || len(name) > 1024 {
		return false
	}
	for _, e := range strings.Split(name, "/") {
		if e == "" || e[0] == '.' || strings.HasSuffix(e, ".lock") {
			return false
		}
	}
	for _, r := range name {
		if r == ' ' || strings.ContainsRune(`~^:?*[\`, r) {
			return false
		}
	}
	return true
}
