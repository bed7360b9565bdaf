package roots

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/unicode/norm"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// A Drift is how a skill's directory differs from its receipt. Each path is
// in one list; lists are sorted. The zero Drift is no difference.
type Drift struct {
	Added   []string
	Missing []string
	Changed []string
	Form    []string // same content under a name in another form of Unicode: the names of the receipt
	Mode    []string // same content, other executable bit
	EOL     []string // same content but for line endings
	Links   []string // a link that became a file holding its text
	Residue []string // compiled Python and the like that the release does not hold, and that came from somebody; see [Own]
	Forged  bool     // the receipt's files do not have the tree digest it names

	Passed []string // residue that this machine wrote; no difference

	Tree bundle.Digest // of what is there; "" if that cannot be a bundle
}

// Any reports whether there is a difference.
func (d Drift) Any() bool {
	return d.Edited() || len(d.Missing)+len(d.Form)+len(d.Mode)+len(d.EOL)+len(d.Links)+len(d.Residue) > 0
}

// Edited reports whether there is content that a person may have written. The rest is what git does not carry, and nothing is lost
// when it is put right: files that are missing, modes, forms of names, line endings, links; and residue.
func (d Drift) Edited() bool {
	return d.Forged || len(d.Added)+len(d.Changed) > 0
}

// State names the worst that d has: drift, residue, incomplete, form, mode, link or eol; "" if there is no difference.
func (d Drift) State() string {
	for _, s := range []struct {
		name string
		is   bool
	}{{"drift", d.Edited()}, {"residue", len(d.Residue) > 0}, {"incomplete", len(d.Missing) > 0}, {"form", len(d.Form) > 0},
		{"mode", len(d.Mode) > 0}, {"link", len(d.Links) > 0}, {"eol", len(d.EOL) > 0}} {
		if s.is {
			return s.name
		}
	}
	return ""
}

// Paths are the paths whose content, mode or presence differs.
func (d Drift) Paths() map[string]bool {
	out := map[string]bool{}
	for _, list := range [][]string{d.Added, d.Missing, d.Changed, d.Mode} {
		for _, p := range list {
			out[p] = true
		}
	}
	return out
}

// An Own says which of paths, residue below the directory of a skill, this machine wrote: what runs there, and nothing that came with a
// project. Paths are relative to dir, with slashes. It may be called concurrently. nil: none.
type Own func(dir string, paths []string) []string

// A Look is what a comparison goes by besides the files. The zero Look reads everything and lets no residue pass.
type Look struct {
	Known Cache // trusted where size, times and inode of every file and directory of a skill are unchanged
	Own   Own
}

// Check compares the skill in root/name with its receipt.
// A directory that is not there has all its files missing. Errors are those
// of the file system, or *diag.Error with the code E_TOO_LARGE.
func (l Look) Check(root, name string, r Receipt) (Drift, error) {
	return l.check(new(scanner), root, name, r)
}

// CheckAll is [Look.Check] for many skills of one root at once, on as many
// goroutines as there are processors. The drifts are in the order of receipts;
// the first error ends it.
func (l Look) CheckAll(ctx context.Context, root string, receipts []Receipt) ([]Drift, error) {
	drifts := make([]Drift, len(receipts))
	errs := make([]error, len(receipts))
	inParallel(len(receipts), func(s *scanner, i int) {
		if errs[i] = ctx.Err(); errs[i] == nil {
			drifts[i], errs[i] = l.check(s, root, receipts[i].Name, receipts[i])
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return drifts, nil
}

// inParallel calls do for 0 … n-1 and returns when all calls have.
// Each goroutine has a scanner of its own.
func inParallel(n int, do func(s *scanner, i int)) {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			s := new(scanner)
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(s, i)
			}
		})
	}
	wg.Wait()
}

func (l Look) check(s *scanner, root, name string, r Receipt) (Drift, error) {
	dir := filepath.Join(root, name)
	if c, ok := l.Known.skills[name]; ok && c.tree == string(r.Tree) && c.unchanged(dir, stamp{}, l.Known.written) {
		return Drift{Tree: r.Tree}, nil
	}
	if st, err := statPath(dir); err == nil && st.kind != directory {
		return Drift{Changed: slices.Sorted(maps.Keys(r.Files))}, nil // a link is not followed: what it leads to was not installed here
	}
	found, err := s.scanTree(dir, r.claims())
	switch {
	case errors.Is(err, fs.ErrNotExist) && !exists(dir):
		return Drift{Missing: slices.Sorted(maps.Keys(r.Files))}, nil
	case errors.Is(err, errTooLarge):
		return Drift{}, diag.New(diag.Unmet, "E_TOO_LARGE", "%s holds more than a skill may: %w", dir, err)
	case err != nil:
		return Drift{}, err
	}
	found.takeNames(dir, r)
	if !durable.HasModes {
		found.takeModes(r)
	}
	return compare(dir, r, found, l.Own), nil
}

// claims returns the paths of the receipt that would else be taken for
// residue, and the directories that lead to them.
func (r Receipt) claims() map[string]bool {
	var claims map[string]bool
	for p := range r.Files {
		if !bundle.Residue(p) {
			continue
		}
		if claims == nil {
			claims = make(map[string]bool)
		}
		for ; p != "."; p = path.Dir(p) {
			claims[p] = true
		}
	}
	return claims
}

// compare works out the drift of what was found in dir.
func compare(dir string, r Receipt, found scan, own Own) Drift {
	d := Drift{Tree: found.tree()}
	seen := make(map[string]bool, len(found.entries))
	for _, e := range found.entries {
		seen[e.Path] = true
		d.compareFile(dir, e, r)
	}
	for _, p := range found.odd {
		seen[p] = true
		if _, ok := r.Files[p]; ok {
			d.Changed = append(d.Changed, p)
		} else {
			d.Added = append(d.Added, p)
		}
	}
	for p := range r.Files {
		if !seen[p] {
			d.Missing = append(d.Missing, p)
		}
	}
	d.takeForms(found, r)
	d.Added = append(d.Added, found.git...)
	if own != nil && len(found.residue) > 0 {
		d.Passed = own(dir, found.residue)
	}
	for _, p := range found.residue {
		if !slices.Contains(d.Passed, p) {
			d.Residue = append(d.Residue, p)
		}
	}
	slices.Sort(d.Added)
	slices.Sort(d.Changed)
	slices.Sort(d.Missing)
	slices.Sort(d.Residue)
	d.Forged = (d.Any() || d.Tree != r.Tree) && r.digest() != r.Tree
	return d
}

// Summary is what r says of the whole bundle, without its entries.
func (r Receipt) Summary() bundle.Summary {
	sum := bundle.Summary{Tree: r.Tree, Files: len(r.Files)}
	for _, f := range r.Files {
		sum.Bytes += f.Size
	}
	return sum
}

// digest is the tree digest of the files that r names.
func (r Receipt) digest() bundle.Digest {
	entries := make([]bundle.Entry, 0, len(r.Files))
	for p, f := range r.Files {
		entries = append(entries, bundle.Entry{Path: p, Kind: f.Mode, SHA256: f.SHA256})
	}
	return bundle.TreeDigest(entries)
}

// takeForms moves to Form what is missing by name alone: the same content is there, and its name is in another form of Unicode.
func (d *Drift) takeForms(found scan, r Receipt) {
	if len(d.Added) == 0 || len(d.Missing) == 0 {
		return
	}
	missing, added, taken := map[string]string{}, map[string]bool{}, map[string]bool{} // missing by NFC
	for _, p := range d.Missing {
		missing[norm.NFC.String(p)] = p
	}
	for _, p := range d.Added {
		added[p] = true
	}
	for _, e := range found.entries {
		if !added[e.Path] {
			continue
		}
		p, ok := missing[norm.NFC.String(e.Path)]
		if want := r.Files[p]; ok && want.SHA256 == e.SHA256 && (want.Mode == bundle.Link) == (e.Kind == bundle.Link) {
			delete(missing, norm.NFC.String(e.Path))
			taken[p], taken[e.Path] = true, true
			d.Form = append(d.Form, p)
		}
	}
	slices.Sort(d.Form)
	for _, list := range []*[]string{&d.Missing, &d.Added} {
		if *list = slices.DeleteFunc(*list, func(p string) bool { return taken[p] }); len(*list) == 0 {
			*list = nil
		}
	}
}

func (d *Drift) compareFile(dir string, e bundle.Entry, r Receipt) {
	want, ok := r.Files[e.Path]
	switch wasLink, isLink := want.Mode == bundle.Link, e.Kind == bundle.Link; {
	case !ok:
		d.Added = append(d.Added, e.Path)
	case e.Kind == want.Mode && e.SHA256 == want.SHA256:
	case wasLink && !isLink && e.SHA256 == want.SHA256:
		d.Links = append(d.Links, e.Path)
	case wasLink || isLink:
		d.Changed = append(d.Changed, e.Path)
	case e.SHA256 == want.SHA256:
		d.Mode = append(d.Mode, e.Path)
	case onlyLineEndings(filepath.Join(dir, filepath.FromSlash(e.Path)), want):
		d.EOL = append(d.EOL, e.Path)
	default:
		d.Changed = append(d.Changed, e.Path)
	}
}

// onlyLineEndings reports whether the file has the content that want names once
// its line endings are all LF, or all CRLF.
func onlyLineEndings(path string, want File) bool {
	data, _, err := readFile(path, nil)
	if err != nil || int64(len(data)) == want.Size {
		return false
	}
	lf := bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if sha256.Sum256(lf) == want.SHA256 {
		return true
	}
	return sha256.Sum256(bytes.ReplaceAll(lf, []byte("\n"), []byte("\r\n"))) == want.SHA256
}

// warnings says the drift in the codes of the listing, at most one of each. What is missing, or has another mode or form of name, is part
// of what else was edited.
func (d Drift) warnings() []Warning {
	type part struct {
		code, what string
		paths      []string
	}
	git := []part{{"E_INCOMPLETE", "files of it are missing: ", d.Missing}, {"E_FORM", "names differ from its receipt by their form of Unicode only: ", d.Form},
		{"E_MODE", "mode differs: ", d.Mode}}
	var out []Warning
	if d.Edited() {
		var parts []string
		for _, p := range []part{{what: "changed", paths: d.Changed}, {what: "added", paths: d.Added}, {what: "missing", paths: d.Missing},
			{what: "form of name of", paths: d.Form}, {what: "mode of", paths: d.Mode}} {
			if len(p.paths) > 0 {
				parts = append(parts, p.what+" "+few(p.paths))
			}
		}
		if d.Forged {
			parts = append(parts, "the receipt names a tree digest that its files do not have")
		}
		out, git = append(out, Warning{"E_DRIFT", "differs from its receipt: " + strings.Join(parts, "; ")}), nil
	}
	rest := []part{{"E_RESIDUE", "holds what its release does not, and what Python may run: ", d.Residue}, {"E_EOL", "differs from its receipt by line endings only: ", d.EOL},
		{"E_LINK", "a link became a file that holds its text: ", d.Links}}
	for _, p := range slices.Concat(git, rest) {
		if len(p.paths) > 0 {
			out = append(out, Warning{p.code, p.what + few(p.paths)})
		}
	}
	return out
}

// few lists at most three of paths.
func few(paths []string) string {
	shown := make([]string, 0, 3)
	for _, p := range paths[:min(len(paths), 3)] {
		shown = append(shown, diag.Printable(p))
	}
	text := strings.Join(shown, ", ")
	if n := len(paths) - len(shown); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}
