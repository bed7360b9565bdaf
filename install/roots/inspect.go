package roots

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/conflict"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/spec/skill"
)

// A Warning is one remark about a copy: a stable code and a sentence.
type Warning struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// A finding is what a skill's directory and its receipt say, whatever else is there.
type finding struct {
	name, description, version, format string // of SKILL.md; name is "" if it has none
	listed, whenToUse                  string // of SKILL.md, as agents tell their models: the description where SKILL.json has another, and what Claude Code adds to it
	trust                              string // as SKILL.md declares it; "" if it does not
	withheld                           string // "true" if agents that know the switch keep it from the model
	invocation                         string // who may start it: a skill.Invocation; "" if it cannot be read
	effects                            string // side effects that it declares, with commas between; "" if it declares none, not even "none"
	tools                              string // its limit on tools, in words; "" if it sets none
	libraries                          string // packages that it needs, one a line: name, range and ecosystem, with tabs between
	gates                              string // limits that it sets, one a line: what it is called, and the keys of hosts that say the same, after tabs
	state                              string // Invalid, Unsupported or Gated; "" if it can be used
	front                              string // the frontmatter, if agents read it differently: see skill.Front
	code, problem                      string // why it cannot be used: E_YAML and the like; "" if it can
	tree                               string // digest of what is there; "" if that cannot be a bundle

	receiptTree                                          string // "" if there is no usable receipt
	receiptVersion, source, of, url, commit, manifest    string
	issuer, identity, repository, signerRef, runner, key string
	copyOf                                               string
	generatedFrom                                        map[string]string

	isMore bool      // there is more than the receipt names, although tree is the receipt's; not in a cache
	nested []string  // directories of skills inside this one
	notes  []Warning // what is wrong with the files
}

// fields are f's strings in the order of the cache.
func (f *finding) fields() []*string {
	return []*string{
		&f.name, &f.description, &f.version, &f.format, &f.trust, &f.state, &f.code, &f.problem, &f.tree,
		&f.receiptTree, &f.receiptVersion, &f.source, &f.url, &f.commit, &f.manifest,
		&f.issuer, &f.identity, &f.repository, &f.signerRef, &f.runner, &f.key, &f.copyOf, &f.front, &f.withheld, &f.gates, &f.libraries,
		&f.invocation, &f.effects, &f.tools, &f.of, &f.listed, &f.whenToUse,
	}
}

// receipt returns what f knows of the receipt: all but name, files and links.
func (f *finding) receipt() (Receipt, bool) {
	r := Receipt{
		Tree: bundle.Digest(f.receiptTree), Version: f.receiptVersion, Source: f.source, Of: f.of, URL: f.url,
		Commit: ref.Commit(f.commit), Manifest: ref.Digest(f.manifest), GeneratedFrom: f.generatedFrom, CopyOf: f.copyOf,
	}
	signer := lock.Signer{Issuer: f.issuer, Identity: f.identity, Repository: f.repository, Ref: f.signerRef, Runner: f.runner, Key: f.key}
	if signer != (lock.Signer{}) {
		r.Signer = &signer
	}
	return r, f.receiptTree != ""
}

// Receipt is what the copy's receipt said when it was listed, without files and links; ok is false if there is none that can be used.
func (r Record) Receipt() (receipt Receipt, ok bool) {
	receipt, ok = r.found.receipt()
	receipt.Name = filepath.Base(r.Path)
	return receipt, ok
}

// Origin is where the copy's receipt says that it came from: an address, and the commit in it. Both are "" for a copy that
// was not installed by skl, and claims like everything in a receipt.
func (r Record) Origin() (url string, commit ref.Commit) {
	return r.found.url, ref.Commit(r.found.commit)
}

func (f *finding) setReceipt(r Receipt) {
	f.receiptTree, f.receiptVersion, f.source, f.of, f.url = string(r.Tree), r.Version, r.Source, r.Of, r.URL
	f.commit, f.manifest, f.generatedFrom = string(r.Commit), string(r.Manifest), r.GeneratedFrom
	f.copyOf = r.CopyOf
	if s := r.Signer; s != nil {
		f.issuer, f.identity, f.repository, f.signerRef, f.runner, f.key = s.Issuer, s.Identity, s.Repository, s.Ref, s.Runner, s.Key
	}
}

// receiptOf returns where the receipt of the skill at rel is, a slash-separated
// path relative to root. Only skills directly below a root, or disabled ones, have one.
func receiptOf(root, rel string) string {
	if strings.HasPrefix(rel, "../") {
		rel = path.Base(rel) // disabled
	}
	return filepath.Join(root, stateDir, filepath.FromSlash(rel)+".json")
}

// ReadReceipt reads the receipt of the skill in root/name. Its error is
// [fs.ErrNotExist] when there is none.
func ReadReceipt(root, name string) (Receipt, error) {
	r, _, err := readReceipt(ReceiptPath(root, name))
	return r, err
}

func readReceipt(path string) (Receipt, stamp, error) {
	if err := checkState(filepath.Dir(path)); err != nil {
		return Receipt{}, stamp{}, err
	}
	data, at, err := readFile(path, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return Receipt{}, stamp{}, err
	}
	var r Receipt
	if err == nil {
		r, err = ParseReceipt(data)
	} else if st, statErr := statPath(path); statErr == nil && st.kind != regular {
		err = badReceipt("it is not a regular file") // and no link to one is followed
	} else {
		err = badReceipt("%w", err)
	}
	if err == nil && r.Name+".json" != filepath.Base(path) {
		err = badReceipt("it is that of %q", diag.Printable(r.Name))
	}
	if e, ok := diag.Own(err); ok {
		e.At(diag.Position{File: path, Line: e.Where.Line})
		if e.Code == CodeConflict {
			if _, _, err := UnmergedReceipt(filepath.Dir(filepath.Dir(path)), strings.TrimSuffix(filepath.Base(path), ".json")); err == nil {
				return Receipt{}, at.stamp, e.Hint("skl install")
			}
		}
		return Receipt{}, at.stamp, e.Hint("skl install --force replaces it, after a backup").Hint("or restore it from version control")
	}
	return r, at.stamp, nil
}

// UnmergedReceipt reads the receipts of which git made the one of the skill in root/name, which holds the markers of a merge.
func UnmergedReceipt(root, name string) (ours, theirs Receipt, err error) {
	path := ReceiptPath(root, name)
	if err := checkState(filepath.Dir(path)); err != nil {
		return Receipt{}, Receipt{}, err
	}
	data, _, err := readFile(path, nil)
	if err != nil {
		return Receipt{}, Receipt{}, err
	}
	if len(data) > MaxReceiptBytes {
		return Receipt{}, Receipt{}, badReceipt("it is larger than %d bytes", MaxReceiptBytes)
	}
	sides, err := conflict.Split(data, path)
	if err != nil {
		return Receipt{}, Receipt{}, err
	}
	if ours, err = ParseReceipt(sides.Ours); err == nil {
		theirs, err = ParseReceipt(sides.Theirs)
	}
	if err == nil && (ours.Name != name || theirs.Name != name) {
		err = badReceipt("it is that of %q", diag.Printable(ours.Name))
	}
	if err != nil {
		return Receipt{}, Receipt{}, err
	}
	return ours, theirs, nil
}

// Receipts returns the usable receipts of root, sorted by name, and an error
// for each that is not. A root without receipts has none and no error.
func Receipts(root string) ([]Receipt, []error) {
	err := checkState(filepath.Join(root, stateDir))
	var entries []fs.DirEntry
	if err == nil {
		entries, err = os.ReadDir(filepath.Join(root, stateDir))
	}
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
		if !ok {
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

// checkState refuses a directory of skl's own that is a link: whoever made the content of the root
// made the link, and what it leads to says nothing of this root.
func checkState(dir string) error {
	st, err := statPath(dir)
	if err == nil && st.kind != directory {
		return badReceipt("%s is not a directory", dir).At(diag.Position{File: dir}).Hint("move %s away, then skl install", dir)
	}
	return err
}

// inspect reads the skill in dir, which root/rel is or leads to. What cannot be cached has no stamps: a skill that
// could not be read, and one with residue, because whose that is no stamp tells.
func inspect(s *scanner, root, rel, dir string, own Own) cached {
	var c cached
	var claims map[string]bool
	r, at, err := readReceipt(receiptOf(root, rel))
	switch {
	case err == nil:
		c.setReceipt(r)
		claims = r.claims()
	case !errors.Is(err, fs.ErrNotExist):
		code := "E_RECEIPT"
		if errors.Is(err, diag.Code(CodeConflict)) {
			code = CodeConflict
		}
		c.notes = append(c.notes, Warning{code, err.Error()})
	}
	c.receiptAt = at
	found, scanErr := s.scanTree(dir, claims)
	if scanErr != nil {
		c.unscanned(dir, scanErr)
		return c
	}
	if err == nil {
		found.takeNames(dir, r)
		if !durable.HasModes {
			found.takeModes(r)
		}
	}
	c.tree = string(found.tree())
	c.read(found.head, found.sidecar)
	c.takePolicy(dir)
	c.nested = found.nested()
	if e, ok := errors.AsType[*diag.Error](found.refusal); ok {
		c.notes = append(c.notes, Warning{e.Code, "it has no digest: " + e.Message})
	} else if len(found.odd) > 0 {
		c.notes = append(c.notes, Warning{bundle.CodeIrregular, "it has no digest: neither a file nor a link is " + few(found.odd)})
	}
	left := len(found.residue)+len(found.git) > 0
	if err == nil && (c.tree != c.receiptTree || left) {
		d := compare(dir, r, found, own)
		c.notes = append(c.notes, d.warnings()...)
		c.isMore = d.Any() && c.tree == c.receiptTree
	}
	if !left {
		c.stamps = found.stamps
	}
	return c
}

// glance reads what agents go by of a skill that a link out of the project leads to: its name, and its frontmatter. Agents follow the
// link, whatever skl thinks of it.
func glance(dir string) (f finding) {
	data, _, err := readFile(filepath.Join(dir, skillFile), nil)
	if err != nil {
		return f
	}
	var all finding
	all.read(head(data), nil)
	f.name, f.front, f.withheld = all.name, all.front, all.withheld
	return f
}

// sidecarOf reads the SKILL.json of the skill in dir, nil if there is none.
func sidecarOf(dir string) []byte {
	data, _, err := readFile(filepath.Join(dir, skill.SidecarName), nil)
	if err != nil {
		return nil
	}
	return data
}

// unscanned fills in what is known of a skill whose files could not all be read.
func (f *finding) unscanned(dir string, err error) {
	data, _, headErr := readFile(filepath.Join(dir, skillFile), nil)
	if headErr != nil {
		f.fail(Invalid, headErr)
		return
	}
	f.read(head(data), sidecarOf(dir))
	if errors.Is(err, errTooLarge) {
		f.notes = append(f.notes, Warning{"W_TRUNCATED", "it is larger than a skill may be, so it has no digest"})
		return
	}
	f.notes = append(f.notes, Warning{"E_READ", "it cannot be read completely, so it has no digest: " + err.Error()})
}

// whenToUse is what Claude Code adds to the description.
func whenToUse(doc *skill.Document) string {
	for _, field := range doc.Fields {
		if field.Key == "when_to_use" && field.Value.Kind == skill.Scalar && !field.Value.IsNull() {
			return field.Value.Text
		}
	}
	return ""
}

// read takes what the listing shows out of the start of SKILL.md.
// Agents read no SKILL.json, so what they make of the skill is in SKILL.md alone.
func (f *finding) read(head, sidecar []byte) {
	doc, err := skill.Read(head)
	f.front = skill.Front(head, doc)
	listed := ""
	if err == nil {
		listed = doc.Description
		f.whenToUse = whenToUse(doc)
	}
	if sidecar != nil {
		doc, err = skill.ReadWith(head, sidecar)
	}
	if err != nil {
		f.fail(Invalid, err)
		return
	}
	f.name, f.description, f.version, f.format = doc.Name, doc.Description, doc.Version, doc.Format
	if listed != f.description {
		f.listed = listed
	}
	if doc.IsWithheld() {
		f.withheld = "true"
	}
	for _, g := range doc.Gates() {
		f.gates += strings.Join(append([]string{g.Key}, g.By...), "\t") + "\n"
	}
	f.invocation = string(doc.Invocation)
	f.effects, f.tools = strings.Join(doc.SideEffects, ","), doc.Tools.Words()
	if doc.V1 != nil {
		for _, d := range doc.V1.LibraryDepends {
			f.libraries += d.Name + "\t" + d.Version + "\t" + d.Ecosystem + "\n"
		}
	}
	if doc.V1 != nil && slices.ContainsFunc(doc.Fields, func(field skill.Field) bool { return field.Key == "trust" }) {
		f.trust = doc.V1.Trust
	}
	switch doc.State {
	case skill.Invalid:
		f.fail(Invalid, doc.Problem)
	case skill.Unsupported:
		f.fail(Unsupported, doc.Problem)
	case skill.Gated:
		f.fail(Gated, doc.Problem)
	default:
		if f.name != "" && !isElement(f.name) {
			f.fail(Invalid, diag.New(diag.Unmet, codeNamePath, "the name %q cannot be a directory", diag.Printable(f.name)))
		}
	}
}

// codeNamePath is that of a name which is no fault where an installed skill has the name of its directory.
const codeNamePath = "E_NAME_PATH"

// noImplicit is the line by which a skill keeps itself from the model of Codex.
var noImplicit = regexp.MustCompile(`(?m)^[ \t]+allow_implicit_invocation:[ \t]*false[ \t\r]*$`)

// takePolicy adds what agents/openai.yaml in dir says to the limit of who may start the skill.
func (f *finding) takePolicy(dir string) {
	if !strings.HasPrefix(f.gates, "model_invocation") {
		return
	}
	data, _, err := readFile(filepath.Join(dir, "agents", "openai.yaml"), nil)
	if err != nil || len(data) > maxPolicy || !noImplicit.Match(data) {
		return
	}
	first, rest, _ := strings.Cut(f.gates, "\n")
	f.gates = first + "\t" + skill.KeyNoImplicit + "\n" + rest
}

// maxPolicy is how much of agents/openai.yaml is read, in bytes.
const maxPolicy = 64 << 10

// needs are the packages that the skill needs.
func (f *finding) needs() (out []skill.Dependency) {
	for line := range strings.Lines(f.libraries) {
		if words := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(words) == 3 {
			out = append(out, skill.Dependency{Name: words[0], Version: words[1], Ecosystem: words[2]})
		}
	}
	return out
}

// ByModel reports whether the skill lets a model start it: "model_invocation" and the keys of hosts do not say otherwise.
func (r Record) ByModel() bool { return !strings.HasPrefix(r.found.gates, "model_invocation") }

// ungated are the limits of the skill that a host does not keep.
func (f *finding) ungated(h hosts.Host) []string {
	var out []string
	for line := range strings.Lines(f.gates) {
		words := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if !slices.ContainsFunc(words[1:], func(key string) bool { return slices.Contains(h.Honours, key) }) {
			out = append(out, words[0])
		}
	}
	return out
}

// fail records why the skill cannot be used. An error without a code is that of a read.
func (f *finding) fail(state string, err error) {
	f.state, f.code, f.problem = state, "E_READ", err.Error()
	if e, ok := errors.AsType[*diag.Error](err); ok {
		f.code, f.problem = e.Code, e.Message
	}
}

// readFS is inspect for an embedded skill in directory name of fsys.
func readFS(fsys fs.FS, name string) finding {
	var f finding
	var entries []bundle.Entry
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
			f.read(head(data), skill.SidecarIn(fsys, name))
		}
		entries = append(entries, bundle.Entry{Path: rel, Kind: bundle.Plain, SHA256: sha256.Sum256(data)})
		return nil
	})
	if err != nil {
		f.fail(Invalid, err)
		return f
	}
	f.tree = string(bundle.TreeDigest(entries))
	return f
}
