package roots

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// A Warning is one remark about a copy: a stable code and a sentence.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A finding is what a skill's directory and its receipt say, whatever else is there.
type finding struct {
	name, description, version, format string // of SKILL.md; name is "" if it has none
	code, problem                      string // why it cannot be used: E_YAML and the like; "" if it can
	tree                               string // digest of what is there; "" if that cannot be a bundle

	receiptTree                                          string // "" if there is no usable receipt
	receiptVersion, source, url, commit, manifest        string
	issuer, identity, repository, signerRef, runner, key string
	generatedFrom                                        map[string]string

	nested []string  // directories of skills inside this one
	notes  []Warning // what is wrong with the files
}

// fields are f's strings in the order of the cache.
func (f *finding) fields() []*string {
	return []*string{
		&f.name, &f.description, &f.version, &f.format, &f.code, &f.problem, &f.tree,
		&f.receiptTree, &f.receiptVersion, &f.source, &f.url, &f.commit, &f.manifest,
		&f.issuer, &f.identity, &f.repository, &f.signerRef, &f.runner, &f.key,
	}
}

// receipt returns what f knows of the receipt: all but name, files and links.
func (f *finding) receipt() (Receipt, bool) {
	r := Receipt{
		Tree: bundle.Digest(f.receiptTree), Version: f.receiptVersion, Source: f.source, URL: f.url,
		Commit: f.commit, Manifest: f.manifest, GeneratedFrom: f.generatedFrom,
	}
	signer := lock.Signer{Issuer: f.issuer, Identity: f.identity, Repository: f.repository, Ref: f.signerRef, Runner: f.runner, Key: f.key}
	if signer != (lock.Signer{}) {
		r.Signer = &signer
	}
	return r, f.receiptTree != ""
}

func (f *finding) setReceipt(r Receipt) {
	f.receiptTree, f.receiptVersion, f.source, f.url = string(r.Tree), r.Version, r.Source, r.URL
	f.commit, f.manifest, f.generatedFrom = r.Commit, r.Manifest, r.GeneratedFrom
	if s := r.Signer; s != nil {
		f.issuer, f.identity, f.repository, f.signerRef, f.runner, f.key = s.Issuer, s.Identity, s.Repository, s.Ref, s.Runner, s.Key
	}
}

// receiptOf returns where the receipt of the skill at rel is, a slash-separated
// path relative to root. Only skills directly below a root, or disabled ones, have one.
func receiptOf(root, rel string) string {
	return filepath.Join(root, stateDir, filepath.FromSlash(strings.TrimPrefix(rel, disabledDir+"/"))+".json")
}

// ReadReceipt reads the receipt of the skill in root/name. Its error is
// [fs.ErrNotExist] when there is none.
func ReadReceipt(root, name string) (Receipt, error) {
	r, _, err := readReceipt(ReceiptPath(root, name))
	return r, err
}

func readReceipt(path string) (Receipt, stamp, error) {
	data, at, err := readFile(path, nil)
	if err != nil {
		return Receipt{}, stamp{}, err
	}
	r, err := ParseReceipt(data)
	if err != nil {
		if e, ok := errors.AsType[*diag.Error](err); ok {
			e.At(diag.Position{File: path})
		}
		return Receipt{}, at.stamp, err
	}
	if r.Name+".json" != filepath.Base(path) {
		return Receipt{}, at.stamp, badReceipt("it is that of %q", diag.Printable(r.Name))
	}
	return r, at.stamp, nil
}

// Receipts returns the usable receipts of root, sorted by name, and an error
// for each that is not. A root without receipts has none and no error.
func Receipts(root string) ([]Receipt, []error) {
	entries, err := os.ReadDir(filepath.Join(root, stateDir))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, []error{err}
	}
	var receipts []Receipt
	var errs []error
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || e.IsDir() {
			continue
		}
		if r, err := ReadReceipt(root, name); err != nil {
			errs = append(errs, err)
		} else {
			receipts = append(receipts, r)
		}
	}
	return receipts, errs
}

// inspect reads the skill in dir, which root/rel is or leads to. What cannot be
// cached has no dirs.
func inspect(s *scanner, root, rel, dir string) cached {
	var c cached
	var keep func(string) bool
	r, at, err := readReceipt(receiptOf(root, rel))
	switch {
	case err == nil:
		c.setReceipt(r)
		keep = r.claims()
	case !errors.Is(err, fs.ErrNotExist):
		c.notes = append(c.notes, Warning{"E_RECEIPT", err.Error()})
	}
	c.receiptAt = at
	found, scanErr := s.scanTree(dir, keep)
	if scanErr != nil {
		c.unscanned(dir, scanErr)
		return c
	}
	c.tree = string(found.tree())
	c.read(found.head)
	c.nested = found.nested()
	if len(found.links) > 0 {
		c.notes = append(c.notes, Warning{"W_SYMLINK_ESCAPE", "a link leads out of the skill, so it has no digest: " + few(found.links)})
	}
	if err == nil && c.tree != c.receiptTree {
		c.notes = append(c.notes, compare(dir, r, found).warnings()...)
	}
	c.dirs, c.files = stampedOf(found.dirs), stampedOf(found.files)
	return c
}

func stampedOf(items []item) []stamped {
	out := make([]stamped, len(items))
	for i, it := range items {
		out[i] = stamped{it.path, it.at}
	}
	return out
}

// unscanned fills in what is known of a skill whose files could not all be read.
func (f *finding) unscanned(dir string, err error) {
	data, _, headErr := readFile(filepath.Join(dir, skillFile), nil)
	if headErr != nil {
		f.code, f.problem = "E_READ", headErr.Error()
		return
	}
	f.read(head(data))
	if errors.Is(err, errTooLarge) {
		f.notes = append(f.notes, Warning{"W_TRUNCATED", "it is larger than a skill may be, so it has no digest"})
		return
	}
	f.notes = append(f.notes, Warning{"E_READ", "it cannot be read completely, so it has no digest: " + err.Error()})
}

// read takes name and description out of the start of SKILL.md.
func (f *finding) read(head []byte) {
	doc, err := readDocument(head)
	if err != nil {
		f.code, f.problem = "E_YAML", err.Error()
		if e, ok := errors.AsType[*diag.Error](err); ok {
			f.code = e.Code
		}
	}
	if doc == nil {
		return
	}
	f.name, f.description, f.version, f.format = doc.Name, doc.Description, doc.Version, doc.Format
	if f.code == "" && f.name != "" && !isElement(f.name) {
		f.code, f.problem = "E_NAME_PATH", "the name cannot be a directory: "+diag.Printable(f.name)
	}
}

// readFS is inspect for an embedded skill in directory name of fsys.
func readFS(fsys fs.FS, name string) finding {
	var f finding
	var files []item
	err := fs.WalkDir(fsys, name, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, p)
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, name+"/")
		if rel == skillFile {
			f.read(head(data))
		}
		files = append(files, item{path: rel, kind: bundle.Plain, sum: sha256.Sum256(data)})
		return nil
	})
	if err != nil {
		f.code, f.problem = "E_READ", err.Error()
		return f
	}
	slices.SortFunc(files, func(a, b item) int { return strings.Compare(a.path, b.path) })
	f.tree = string(treeOf(files))
	return f
}
