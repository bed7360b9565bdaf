package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/storer"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// maxHistorySteps bounds how far ~N goes.
const maxHistorySteps = 100_000

// ReadRevision returns a file as it is in a revision of the repository that dir, an absolute path, is in: a branch, a tag,
// a commit (also abbreviated), HEAD or @, each with any of ^, ^N, ~N, ^{} and ^{commit} behind it. The file's name is relative to dir. Nil without an
// error means that the revision has no such file. No program is run.
func ReadRevision(ctx context.Context, dir, rev, name string) ([]byte, error) {
	repo, err := openLocal(dir, true)
	if err != nil {
		return nil, diag.New(diag.Misuse, "no_repository", "%s is not in a git repository that can be read: %w", dir, err)
	}
	unknown := func(why string) error {
		return diag.New(diag.Misuse, "unknown_revision", "the repository has no revision %q%s", diag.Printable(rev), why).Hint("git fetch, or name another --base")
	}
	if repo.tree == "" {
		return nil, diag.New(diag.Misuse, "no_repository", "%s is in a bare repository", dir)
	}
	commit, err := repo.revision(ctx, rev)
	switch {
	case errors.Is(err, errAmbiguous):
		return nil, unknown(": " + err.Error())
	case errors.Is(err, plumbing.ErrObjectNotFound), errors.Is(err, plumbing.ErrReferenceNotFound):
		return nil, unknown("")
	case err != nil:
		return nil, err
	}
	inside, err := filepath.Rel(repo.tree, dir)
	if err != nil {
		return nil, err
	}
	data, err := repo.object(plumbing.CommitObject, commit, maxReadFile)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	}
	id, _, err := parseCommit(data)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	}
	names := strings.Split(path.Join(filepath.ToSlash(inside), name), "/")
	for i, name := range names {
		tree, err := repo.object(plumbing.TreeObject, id, maxReadFile)
		if err != nil {
			return nil, fmt.Errorf("revision %s: %w", rev, err)
		}
		e, ok, err := inTree(tree, name)
		if err != nil {
			return nil, fmt.Errorf("revision %s: %w", rev, err)
		}
		kind := 0o040000
		if i == len(names)-1 {
			kind = 0o100000
		}
		if !ok || int(e.mode)&int(modeType) != kind {
			return nil, nil
		}
		id = e.id
	}
	text, err := repo.object(plumbing.BlobObject, id, maxReadFile)
	if err != nil {
		return nil, fmt.Errorf("revision %s: %w", rev, err)
	}
	return text, nil
}

// inTree looks for a name in a tree.
func inTree(tree []byte, name string) (entry, bool, error) {
	for e, err := range treeEntries(tree) {
		if err != nil {
			return entry{}, false, err
		}
		if e.name == name {
			return e, true, nil
		}
	}
	return entry{}, false, nil
}

var errAmbiguous = errors.New("more than one commit begins so")

// revision is the commit that rev names. What it does not know is plumbing.ErrReferenceNotFound.
func (l *local) revision(ctx context.Context, rev string) (plumbing.Hash, error) {
	at := strings.IndexAny(rev, "^~")
	if at < 0 {
		at = len(rev)
	}
	id, err := l.named(rev[:at])
	if err != nil {
		return id, err
	}
	id = l.peel(id)
	for rest := rev[at:]; rest != ""; {
		op := rest[0]
		rest = rest[1:]
		if after, ok := strings.CutPrefix(rest, "{}"); ok && op == '^' {
			rest = after
			continue
		}
		if after, ok := strings.CutPrefix(rest, "{commit}"); ok && op == '^' {
			rest = after
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n := 1
		if digits > 0 {
			if n, err = strconv.Atoi(rest[:digits]); err != nil || n > maxHistorySteps {
				return id, plumbing.ErrReferenceNotFound
			}
			rest = rest[digits:]
		}
		switch {
		case op == '~':
			for range n {
				if err := ctx.Err(); err != nil {
					return id, err
				}
				if id, err = l.parent(id, 1); err != nil {
					return id, err
				}
			}
		case op == '^' && n > 0:
			if id, err = l.parent(id, n); err != nil {
				return id, err
			}
		case op != '^':
			return id, plumbing.ErrReferenceNotFound
		}
	}
	_, err = l.store.EncodedObjectSize(id)
	return id, err
}

// named is what a name without operators stands for, in the order in which git looks.
func (l *local) named(name string) (plumbing.Hash, error) {
	if name == "@" {
		name = "HEAD"
	}
	if plumbing.IsHash(name) {
		return plumbing.NewHash(name), nil
	}
	for _, rule := range plumbing.RefRevParseRules {
		full := plumbing.ReferenceName(fmt.Sprintf(rule, name))
		if full.Validate() != nil || full != plumbing.HEAD && !strings.HasPrefix(string(full), "refs/") {
			continue
		}
		r, err := storer.ResolveReference(l.store, full)
		if err == nil {
			return r.Hash(), nil
		}
		if !errors.Is(err, plumbing.ErrReferenceNotFound) {
			return plumbing.ZeroHash, err
		}
	}
	if i := strings.LastIndex(name, "-g"); i >= 0 { // as git describe says it
		name = name[i+2:]
	}
	return l.abbreviated(name)
}

// abbreviated is the only commit whose id begins so; at least four digits are needed.
func (l *local) abbreviated(digits string) (plumbing.Hash, error) {
	prefix, err := hex.DecodeString(digits[:len(digits)/2*2])
	if err != nil || len(digits) < 4 {
		return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
	}
	all, err := l.store.HashesWithPrefix(prefix)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	order.Sort(all, func(a, b plumbing.Hash) int { return strings.Compare(a.String(), b.String()) })
	var found []plumbing.Hash
	for _, id := range slices.Compact(all) {
		if !strings.HasPrefix(id.String(), strings.ToLower(digits)) {
			continue
		}
		if o, err := l.store.EncodedObject(plumbing.AnyObject, l.peel(id)); err == nil && o.Type() == plumbing.CommitObject {
			found = append(found, id)
		}
	}
	switch len(found) {
	case 0:
		return plumbing.ZeroHash, plumbing.ErrReferenceNotFound
	case 1:
		return found[0], nil
	}
	return plumbing.ZeroHash, fmt.Errorf("%w: %s and %s", errAmbiguous, found[0], found[1])
}

// parent is the n-th parent of a commit, from 1.
func (l *local) parent(id plumbing.Hash, n int) (plumbing.Hash, error) {
	data, err := l.object(plumbing.CommitObject, id, maxReadFile)
	if err != nil {
		return id, err
	}
	head, _, _ := strings.Cut(string(data), "\n\n")
	for _, line := range strings.Split(head, "\n") {
		if to, ok := strings.CutPrefix(line, "parent "); ok && plumbing.IsHash(to) {
			if n--; n == 0 {
				return plumbing.NewHash(to), nil
			}
		}
	}
	return id, plumbing.ErrReferenceNotFound
}
