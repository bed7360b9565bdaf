// Package install makes roots agree with a lock.
//
// It works in three steps: [Installer.Survey] reads what is there, [Diff] decides
// what to do without reading anything, and [Installer.Apply] does it as one
// [Transaction]: the skills' directories, links to them, receipts, skl.toml and
// skl.lock change together or not at all, also when the process is killed.
//
// Bytes are never rewritten: an installed directory has the tree digest of its
// release. Local edits and files of others are never overwritten: they are conflicts,
// unless a caller forces its way, and then the old directory is kept in a backup.
// Nothing of a bundle's content is executed.
package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
)

// FetchFunc streams the bundle of a locked release to a sink. It is called
// concurrently.
type FetchFunc func(ctx context.Context, s lock.Skill, sink bundle.Sink) error

// An Installer works on one canonical root. Its fields are set before first use.
type Installer struct {
	Site
	Links    []string               // directories that get a link for each skill, absolute
	LinksOf  map[string][]string    // by root: the directories for the skills there, where that is not Root
	LinksFor map[string][]string    // by skill: instead of both
	Copy     bool                   // they get copies: links cannot be made here, or are not wanted
	Exact    bool                   // skl.toml says which: what is of the other kind is replaced
	Junction bool                   // they get junctions: Windows
	Renew    bool                   // a receipt that cannot be used goes to the backups, and what it is beside counts as without one
	Spares   func(name string) bool // that a skill whose receipt cannot be used stays as it is, instead of an error; nil: none does
	Store    *store.Store
	Fetch    FetchFunc
	Progress diag.Progress

	step func(string) error // fault injection
}

// Diff is [Diff] of the installation: opt says nothing of roots and links.
func (in *Installer) Diff(want []lock.Skill, have map[string]Have, opt Options) Changes {
	opt.Links, opt.LinksOf, opt.LinksFor, opt.Homes, opt.Copy = in.Links, in.LinksOf, in.LinksFor, in.Homes, in.Copy
	return Diff(in.Root, want, have, opt)
}

// Have is what lies at the place of a skill.
type Have struct {
	Path        string
	Present     bool     // something lies there
	Empty       bool     // all that lies there is a directory that holds nothing; it is not Present
	Replaced    []string // places of links where someone put files of their own, which are no skill
	Disabled    bool     // Path is aside of the root; it stays there, without links
	Managed     bool     // there is a receipt
	Receipt     roots.Receipt
	Unusable    string        // the path of a receipt that cannot be used; not Managed, and Receipt is what the lock says
	Spared      bool          // Unusable, and it stays as it is
	Unmerged    bool          // the receipt holds the markers of a merge; Receipt is one of its sides
	Edits       []string      // local edits, nil if there are none
	Damaged     []string      // what git does not carry (see [roots.Drift.Edited]), and residue; nil if there are edits too
	Lacks       bool          // files are missing, and none was edited: what is there does not say what the release is
	Tree        bundle.Digest // of a directory that is not managed; "" if it is no bundle
	Links       map[string]LinkState
	Above       map[string]string // of Links that are not there: what is in their way
	OurLinks    []string          // links and copies that the receipt says are ours and that are, absolute
	Strays      []Stray           // the same skill in other roots, from before it moved
	Permissions []string          // accepted so far, from the lock
}

// Survey reads what the root holds of the wanted skills, and every skill that
// has a receipt there. With full, content is re-hashed even if its times say that it is unchanged.
func (in *Installer) Survey(ctx context.Context, want []lock.Skill, old *lock.Lock, full bool) (map[string]Have, error) {
	receipts, bad := in.Receipts()
	have, err := in.surveyBad(bad, old)
	if err != nil {
		return nil, err
	}
	strays, err := in.Strays()
	if err != nil {
		return nil, err
	}
	drifts, err := in.CheckAll(ctx, receipts, full)
	if err != nil {
		return nil, err
	}
	for i, r := range receipts {
		h := Have{Managed: true, Receipt: r}
		h.Path, h.Disabled = in.Place(r.Name)
		h.Present = in.exists(h.Path)
		switch {
		case !h.Present:
		case emptied(in.Dir, h.Path, &receipts[i], &drifts[i]):
			h.Present, h.Empty = false, true // nobody's work is lost with it
		default:
			h.take(drifts[i])
		}
		have[r.Name] = h
	}
	for _, w := range want {
		if _, ok := have[w.Name]; ok {
			continue
		}
		h := Have{Path: join(in.Home(w.Name), w.Name), Strays: strays[w.Name]}
		if h.Present = in.exists(h.Path) && !in.isOurs(h.Path, h.Strays); h.Present {
			if isDir(in.Dir, h.Path) { // what a link leads to is elsewhere, and may go away
				h.Tree = in.treeOf(h.Path, bundle.FromFS)
			}
			if err := in.takeCopy(&h, w.Name); err != nil {
				return nil, err
			}
		}
		have[w.Name] = h
	}
	for name, h := range have { // what nobody wants in a root that is not the installation's alone stays
		h.Strays = strays[name]
		have[name] = h
	}
	for name, h := range have {
		if err := in.surveyLinks(name, &h, full); err != nil {
			return nil, err
		}
		if old != nil {
			s, _ := old.Skill(name)
			h.Permissions = s.Permissions
		}
		have[name] = h
	}
	return have, nil
}

// surveyBad is what lies at the places of skills whose receipts are no good. The first that nothing can be done about is an error.
func (in *Installer) surveyBad(bad []error, old *lock.Lock) (map[string]Have, error) {
	have := map[string]Have{}
	for _, err := range bad {
		name, h, ok := in.unmerged(err, old)
		if ok {
			have[name] = h
			continue
		}
		name, h, ok = in.unusable(err, old)
		if h.Spared = ok && !in.Renew && in.Spares != nil && in.Spares(name); !ok || !in.Renew && !h.Spared {
			return nil, err
		}
		have[name] = h
	}
	return have, nil
}

// exists reports whether something lies at path. Links that lead in a circle are nothing: a root that became a link to the directory
// with its links leaves them.
func (s Site) exists(path string) bool {
	_, err := within.Resolve(path)
	return err == nil && s.Dir.Exists(path)
}

// emptied reports whether a directory is there of which all files of r are missing, and that holds nothing else.
func emptied(dir *within.Dir, path string, r *roots.Receipt, d *roots.Drift) bool {
	return len(d.Missing) == len(r.Files) && len(d.Added)+len(d.Changed)+len(d.Mode) == 0 && !d.Forged && isDir(dir, path)
}

// isDir reports whether a directory is at path, and no link to one.
func isDir(dir *within.Dir, path string) bool {
	info, err := dir.Lstat(path)
	return err == nil && info.IsDir()
}

// Unusable is the name of the skill whose receipt is no good, as err says, which [Site.Receipts] returned. ok is false for any other error.
func (s Site) Unusable(err error) (name string, ok bool) {
	e, isOwn := diag.Own(err)
	if !isOwn || e.Code != "E_RECEIPT" && e.Code != roots.CodeConflict {
		return "", false
	}
	return s.receiptName(e.Where.File)
}

// unusable is what lies at the place of a skill whose receipt is no good, as err says. ok is false for any other error.
func (s Site) unusable(err error, old *lock.Lock) (name string, h Have, ok bool) {
	if name, ok = s.Unusable(err); !ok {
		return "", Have{}, false
	}
	e, _ := diag.Own(err)
	h.Unusable = e.Where.File
	h.Path, h.Disabled = s.Place(name)
	if h.Present = s.Dir.Exists(h.Path); h.Present {
		h.Tree = s.treeOf(h.Path, bundle.FromFS)
	}
	if old != nil {
		if was, locked := old.Skill(name); locked {
			h.Receipt = roots.Receipt{Name: name, Tree: was.Tree, Version: was.Version, Source: was.Source, URL: was.URL, Commit: was.Commit}
		}
	}
	return name, h, true
}

// receiptName is the name of the skill whose receipt is at path, where it belongs.
func (s Site) receiptName(path string) (name string, ok bool) {
	name = strings.TrimSuffix(filepath.Base(path), ".json")
	return name, bundle.CheckPath(name) == nil && path == roots.ReceiptPath(s.Home(name), name)
}

// takeCopy makes of a copy for an agent, in whose place the skill itself is to be, what was installed there.
func (s Site) takeCopy(h *Have, name string) error {
	own, err := roots.ReadReceipt(filepath.Dir(h.Path), name)
	if err != nil || own.CopyOf == "" {
		return nil
	}
	d, err := s.compares().Check(filepath.Dir(h.Path), name, own)
	if err != nil {
		return err
	}
	h.Managed, h.Receipt = true, own
	h.take(d)
	return nil
}

// take notes how what lies there differs from its receipt.
func (h *Have) take(d roots.Drift) {
	if d.Edited() {
		h.Edits = d.List()
		return
	}
	h.Damaged, h.Lacks = d.List(), len(d.Missing)+len(d.Form) > 0
}

// Holds reports whether the files that lie there can be read in place of the release with this tree: none is missing, or was edited.
func (h Have) Holds(tree bundle.Digest) bool {
	return h.Present && h.Managed && h.Edits == nil && !h.Lacks && h.Receipt.Tree == tree
}

// surveyLinks fills in what lies at the places of a skill's links.
func (in *Installer) surveyLinks(name string, h *Have, full bool) error {
	h.Links = map[string]LinkState{}
	receipt := h.Receipt
	if !h.Managed && len(h.Strays) > 0 {
		receipt = h.Strays[0].Receipt
	}
	for _, path := range in.paths(name, h.Receipt) {
		p, err := in.look(path, name, receipt)
		if err != nil {
			return err
		}
		if p.State == LinkForeign && in.isOurs(path, h.Strays) {
			p.State = LinkStale // it leads to where the skill was, or is that
		}
		if p.Copy && p.State == LinkStale && in.Dir.Exists(h.Path) && !isDir(in.Dir, h.Path) {
			p.State = LinkEdited // it may be all that is left of the skill
		}
		h.Links[path] = p.State
		if p.State == LinkEdited && !in.isCopyReceipt(p.Path, name) && !in.isSkill(p.Path) {
			h.Replaced = append(h.Replaced, p.Path)
		}
		if p.Above != "" {
			if h.Above == nil {
				h.Above = map[string]string{}
			}
			h.Above[path] = p.Above
		}
		rel, err := filepath.Rel(in.Base, path)
		claimed := err == nil && slices.Contains(h.Receipt.Links, filepath.ToSlash(rel))
		if !claimed && (h.Unusable == "" || h.Receipt.Name == "") {
			continue
		}
		if p.State == LinkOurs || p.State == LinkStale || p.State == LinkMissing && p.Copy {
			h.OurLinks = append(h.OurLinks, path)
		}
	}
	for _, at := range h.Strays {
		for _, rel := range at.Receipt.Links {
			path := filepath.Join(in.Base, filepath.FromSlash(rel))
			if _, seen := h.Links[path]; seen || in.isHome(path, name) {
				continue
			}
			p, err := in.look(path, name, at.Receipt)
			if err != nil {
				return err
			}
			if in.isOurs(path, h.Strays) || p.Copy && (p.State == LinkOurs || p.State == LinkStale) {
				h.Links[path], h.OurLinks = LinkStale, append(h.OurLinks, path)
			}
		}
	}
	return nil
}

// Place is where the skill of the root is: directly below it, or, if it was disabled, below
// disabled in what lies aside of it.
func (s Site) Place(name string) (path string, isDisabled bool) {
	return s.placeIn(s.Home(name), name)
}

// isOurs reports whether what lies at path is a stray itself, or leads to one.
func (s Site) isOurs(path string, strays []Stray) bool {
	_, err := s.Dir.Readlink(path)
	return slices.ContainsFunc(strays, func(at Stray) bool {
		return samePlace(path, at.Path) || err == nil && real(path) == real(at.Path) // by however many links
	})
}

func (s Site) placeIn(root, name string) (path string, isDisabled bool) {
	path = join(root, name)
	if aside := filepath.Join(roots.Aside(root), disabled, name); !s.Dir.Exists(path) && s.Dir.Exists(aside) {
		return aside, true
	}
	return path, false
}

// CheckAll is [roots.Look.CheckAll], with disabled skills looked at where they are. With full every file is read, whatever is known.
func (s Site) CheckAll(ctx context.Context, receipts []roots.Receipt, full bool) ([]roots.Drift, error) {
	drifts := make([]roots.Drift, len(receipts))
	for _, root := range s.All() {
		var here []roots.Receipt
		var at []int
		for i, r := range receipts {
			if s.Home(r.Name) == root {
				here, at = append(here, r), append(at, i)
			}
		}
		look := s.compares()
		if !full {
			look.Known = s.Caches.Load(root)
		}
		found, err := look.CheckAll(ctx, root, here)
		for i, r := range here {
			if err != nil {
				return nil, err
			}
			if _, off := s.Place(r.Name); off {
				found[i], err = s.compares().Check(filepath.Join(roots.Aside(root), disabled), r.Name, r)
			}
			drifts[at[i]] = found[i]
		}
		if err != nil {
			return nil, err
		}
	}
	return drifts, nil
}

// treeOf is the tree digest of a directory as read sees it, "" if it is none or not a bundle.
func (s Site) treeOf(dir string, read func(fs.FS, bundle.Sink) error) bundle.Digest {
	root, err := s.Dir.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer root.Close()
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if read(durable.GuessModes(root.FS()), guard) != nil {
		return ""
	}
	sum, err := guard.Close()
	if err != nil {
		return ""
	}
	return sum.Tree
}

// Materialise makes sure that every wanted release that is not installed already is in
// the store, and fills in the tree, size and file count of those that were never
// fetched. Have is what a Survey found. A release whose bytes are not what the lock says is
// refused with code E_DIGEST. With dry, releases are fetched and checked but not stored. The errors are those of want, in its
// order. With alone, each is for itself; else the first ends the rest.
func (in *Installer) Materialise(ctx context.Context, want []lock.Skill, have map[string]Have, dry, alone bool) []error {
	errs := make([]error, len(want))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	missing := 0
	for i, s := range want {
		if h := have[s.Name]; installed(s, h) {
			if errs[i] = Matches(s, h.Receipt.Summary()); errs[i] != nil && !alone {
				return errs
			}
		}
		if in.Missing(s, have) {
			missing++
		}
	}
	for i := range want {
		if errs[i] != nil || !in.Missing(want[i], have) {
			continue
		}
		g.Go(func() error {
			if errs[i] = in.materialise(gctx, &want[i], missing, dry); alone {
				return nil
			}
			return errs[i]
		})
	}
	if err := g.Wait(); err != nil { // that of the others is that they were ended
		for i := range errs {
			if errs[i] != nil {
				errs[i] = err
			}
		}
	}
	return errs
}

// materialise is Materialise of one that is missing.
func (in *Installer) materialise(ctx context.Context, s *lock.Skill, of int, dry bool) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	in.Progress.Send(diag.Event{Stage: "fetch", Name: s.Name, Of: of})
	sum, err := in.fetch(ctx, *s, dry)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	if err := Matches(*s, sum); err != nil {
		return err
	}
	s.Tree, s.Files, s.Bytes = sum.Tree, sum.Files, sum.Bytes
	in.Progress.Send(diag.Event{Stage: "fetch", Name: s.Name, Of: of, Over: true})
	return nil
}

// Missing reports whether the bytes of s are neither installed nor in the store.
func (in *Installer) Missing(s lock.Skill, have map[string]Have) bool {
	return s.Tree == "" || !installed(s, have[s.Name]) && !in.Store.Has(s.Tree)
}

// installed reports whether what lies there was installed as exactly this release. The same files from another place, or under another
// version or pin, are fetched once more, so that what the lock says of them is checked where only the place can.
func installed(s lock.Skill, h Have) bool {
	return h.Present && h.Managed && !h.Lacks && OtherRelease(h.Receipt, s) == ""
}

// OtherRelease is the field in which a receipt is of another release than the lock entry s, "" if there is none.
func OtherRelease(r roots.Receipt, s lock.Skill) string {
	for _, f := range []struct {
		name string
		same bool
	}{{"tree", r.Tree == s.Tree}, {"version", r.Version == s.Version}, {"source", r.Source == s.Source}, {"url", r.URL == s.URL}, {"commit", r.Commit == s.Commit},
		{"manifest", r.Manifest == s.Manifest}, {"name on the registry", r.Of == s.RegistryName()}} {
		if !f.same {
			return f.name
		}
	}
	return ""
}

func (in *Installer) fetch(ctx context.Context, s lock.Skill, dry bool) (bundle.Summary, error) {
	if !dry {
		return in.Store.Put(bundle.InstallLimits, func(sink bundle.Sink) error { return in.Fetch(ctx, s, sink) })
	}
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	guard.Portable = runtime.GOOS == "windows"
	if err := in.Fetch(ctx, s, guard); err != nil {
		return bundle.Summary{}, err
	}
	return guard.Close()
}

// Matches reports, as an error with code E_DIGEST, that what was fetched differs from what is locked, and with
// [lock.CodeDamaged] an entry whose numbers are not those of its own tree. Without a tree nothing is compared.
func Matches(s lock.Skill, sum bundle.Summary) error {
	switch {
	case s.Tree == "":
		return nil
	case s.Tree != sum.Tree:
		return diag.New(diag.Refused, "E_DIGEST", "%s: the tree digest is %v, locked is %v", s.Name, sum.Tree, s.Tree).
			Hint("if somebody edited skl.lock: git diff skl.lock").
			Hint("else someone changed a published release: ask its publisher, or remove the entry, then: skl lock")
	case s.Files != sum.Files:
		return s.Damaged("says files = %d, and what its tree digest names has %d", s.Files, sum.Files)
	case s.Bytes != sum.Bytes:
		return s.Damaged("says bytes = %d, and what its tree digest names has %d", s.Bytes, sum.Bytes)
	}
	return nil
}

// Files are the manifest and lock that an Apply writes with the skills.
type Files struct {
	ManifestPath string
	Manifest     []byte // nil leaves the file as it is
	LockPath     string
	Lock         []byte
}

// Report is what an Apply did beside its changes.
type Report struct {
	Backups map[string][]string // by name: where replaced directories with local edits are kept
	Healed  []string            // skills whose stored copy was damaged and was fetched again
}

// Apply carries out changes. The caller holds the lock of the installation
// and has called Recover. Changes with conflicts are refused before anything is written.
func (in *Installer) Apply(ctx context.Context, c Changes, files Files) (Report, error) {
	if len(c.Conflicts) > 0 {
		return Report{}, c.Conflicts[0].Err()
	}
	t, err := Begin(in.Site)
	if err != nil {
		return Report{}, err
	}
	t.step = in.step
	report := Report{Backups: map[string][]string{}}
	if err := in.stage(ctx, t, c, &report); err != nil {
		return Report{}, t.Rollback(err)
	}
	if files.Manifest != nil {
		if err := t.ReplaceFile(files.ManifestPath, files.Manifest, 0o644); err != nil {
			return Report{}, t.Rollback(err)
		}
	}
	if err := t.Commit(files.LockPath, files.Lock); err != nil {
		return report, err
	}
	Tidy(&in.Site, t.left())
	return report, nil
}

// stage writes everything that changes beside its place and plans the swaps.
func (in *Installer) stage(ctx context.Context, t *Transaction, c Changes, report *Report) error {
	healed := make([]bool, len(c.List))
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(2 * runtime.GOMAXPROCS(0))
	copied := 0
	for _, change := range c.List {
		if change.plan.receipt && change.plan.content && change.Action != Remove {
			copied++
		}
	}
	for _, root := range c.homes() {
		if err := t.MkdirAll(filepath.Join(root, ".skl")); err != nil {
			return err
		}
	}
	for i, change := range c.List {
		if !change.plan.receipt || change.Action == Remove {
			continue
		}
		g.Go(func() (err error) {
			if err := gctx.Err(); err != nil {
				return err
			}
			var sum bundle.Summary
			switch {
			case change.plan.content:
				in.Progress.Send(diag.Event{Stage: "install", Name: change.Name, Of: copied})
				sum, healed[i], err = in.copyOut(gctx, change.want, stagedTree(t, change))
				in.Progress.Send(diag.Event{Stage: "install", Name: change.Name, Of: copied, Over: true})
			case !change.have.Managed:
				sum, err = in.summarise(change.have.Path)
			}
			if err != nil {
				return err
			}
			return in.Dir.Create(stagedReceipt(t, change), in.receipt(change, sum).Format(), 0o644)
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := t.fault("staged"); err != nil {
		return err
	}
	for i, change := range c.List {
		if healed[i] {
			report.Healed = append(report.Healed, change.Name)
		}
		if err := in.planOne(ctx, t, change, report); err != nil {
			return err
		}
	}
	return t.noteState(c.homes())
}

// summarise reads a directory that stays as it is, to write a receipt for it.
func (s Site) summarise(dir string) (bundle.Summary, error) {
	root, err := s.Dir.OpenRoot(dir)
	if err != nil {
		return bundle.Summary{}, err
	}
	defer root.Close()
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(durable.GuessModes(root.FS()), guard); err != nil {
		return bundle.Summary{}, err
	}
	return guard.Close()
}

// copyOut copies a release from the store. A damaged entry is fetched once more.
func (in *Installer) copyOut(ctx context.Context, s lock.Skill, dst string) (sum bundle.Summary, healed bool, err error) {
	sum, err = in.Store.Copy(s.Tree, in.Dir, dst)
	damaged := errors.Is(err, diag.Code("store_corrupt"))
	if damaged || errors.Is(err, fs.ErrNotExist) {
		if err := in.Store.Drop(s.Tree); err != nil {
			return bundle.Summary{}, false, err
		}
		put, err := in.fetch(ctx, s, false)
		if err != nil {
			return bundle.Summary{}, false, fmt.Errorf("%s: fetching it again: %w", s.Name, err)
		}
		if err := Matches(s, put); err != nil {
			return bundle.Summary{}, false, err
		}
		healed = damaged
		sum, err = in.Store.Copy(s.Tree, in.Dir, dst)
		if err != nil {
			return bundle.Summary{}, false, err
		}
	} else if err != nil {
		return bundle.Summary{}, false, err
	}
	return sum, healed, Matches(s, sum)
}

// planOne adds the replacements of one change to the transaction.
func (in *Installer) planOne(ctx context.Context, t *Transaction, c Change, report *Report) error {
	target, _ := in.Place(c.Name)
	for _, link := range c.plan.dropLinks {
		in.dropLink(t, c.Name, link)
	}
	if c.plan.backup {
		if err := in.keep(t, c.Name, target, report); err != nil {
			return err
		}
	}
	if c.have.Unusable != "" && c.plan.receipt {
		if err := in.keep(t, c.Name, c.have.Unusable, report); err != nil {
			return err
		}
	}
	if c.Action == Remove {
		if err := in.dropCopies(t, c, report); err != nil {
			return err
		}
		if c.plan.content && !c.plan.backup {
			t.Remove(target)
		}
		if path := roots.ReceiptPath(in.Home(c.Name), c.Name); in.Dir.Exists(path) && c.have.Unusable == "" {
			t.Remove(path)
		}
		return in.leaveStrays(t, c, report)
	}
	if err := in.leaveStrays(t, c, report); err != nil {
		return err
	}
	if c.plan.content {
		if err := t.Replace(target, stagedTree(t, c)); err != nil {
			return err
		}
	}
	for _, link := range c.plan.addLinks {
		if err := in.planLink(ctx, t, c, link, report); err != nil {
			return err
		}
	}
	if !c.plan.receipt {
		return nil
	}
	return t.Replace(roots.ReceiptPath(in.Home(c.Name), c.Name), stagedReceipt(t, c))
}

// leaveStrays adds what becomes of a skill's files in the roots where it no longer belongs: they go, what someone edited to the
// backups. They stay while the skill is held where it belongs: what is there may not be it.
func (in *Installer) leaveStrays(t *Transaction, c Change, report *Report) error {
	if c.Action == Held {
		return nil
	}
	for _, at := range c.have.Strays {
		switch {
		case !in.Dir.Exists(at.Path):
		case at.Edits != nil:
			if err := in.keep(t, c.Name, at.Path, report); err != nil {
				return err
			}
		case !slices.Contains(c.plan.addLinks, at.Path): // where a link takes its place
			t.Remove(at.Path)
		}
		t.Remove(roots.ReceiptPath(at.Root, c.Name))
	}
	return nil
}

func stagedTree(t *Transaction, c Change) string {
	return t.staged(filepath.Join(c.Root, c.Name), "tree-"+c.Name)
}

func stagedReceipt(t *Transaction, c Change) string {
	return t.staged(roots.ReceiptPath(c.Root, c.Name), "receipt-"+c.Name)
}

func (in *Installer) receipt(c Change, sum bundle.Summary) roots.Receipt {
	r := c.have.Receipt // keeps fields of later versions
	s := c.want
	if c.Action == Held {
		return r
	}
	r.Name, r.Tree, r.Version, r.Source, r.URL = s.Name, s.Tree, s.Version, s.Source, s.URL
	r.Of, r.Commit, r.Manifest, r.Signer, r.GeneratedFrom = s.RegistryName(), s.Commit, s.Manifest, s.Signer, s.GeneratedFrom
	r.Links, r.CopyOf = nil, "" // a copy for an agent may have become the skill itself
	for _, link := range c.Links {
		if rel, err := filepath.Rel(in.Base, link); err == nil && filepath.IsLocal(rel) {
			r.Links = append(r.Links, filepath.ToSlash(rel))
		}
	}
	if !c.plan.content && c.have.Managed {
		return r // the files are those of the receipt that is there
	}
	r.Files = files(sum)
	return r
}

// files are the files of a bundle as a receipt lists them.
func files(sum bundle.Summary) map[string]roots.File {
	out := make(map[string]roots.File, len(sum.Entries))
	for _, e := range sum.Entries {
		out[e.Path] = roots.File{Size: e.Size, SHA256: e.SHA256, Mode: e.Kind}
	}
	return out
}

// Kinds of what is put aside of a root.
const (
	backups  = "backup"
	disabled = "disabled"
)

// PutAside makes a directory for what is kept aside of the root, and keeps it out of
// version control.
func (s Site) PutAside(kind string) (dir string, err error) {
	dir = filepath.Join(s.aside(), kind)
	if _, err := s.Dir.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	return dir, s.ignoreAside()
}

// Move renames the skill at path to its place among the disabled ones, or back.
func (s Site) Move(path, to string) error {
	if filepath.Base(filepath.Dir(to)) == disabled {
		if _, err := s.PutAside(disabled); err != nil {
			return err
		}
	}
	return s.Dir.Rename(path, to)
}

// Err is the refusal for one conflict, of class Unmet.
func (c Conflict) Err() error {
	if c.Why == Foreign {
		err := diag.New(diag.Unmet, "foreign_files", "%s exists and was not installed by skl", c.Path)
		if c.blocks {
			return err.Hint("move %s away, then skl install", diag.Quote(c.Path))
		}
		return err.Hint("move it away, or compare first: skl digest %s", c.Path)
	}
	if c.Why == Disabled {
		return diag.New(diag.Unmet, "disabled", "%s is disabled, and cannot move to another root that way", c.Path).Hint("skl enable %s", c.Name)
	}
	if c.Why == EditedCopy {
		return diag.New(diag.Unmet, "local_edits", "%s is a copy of the skill that has local edits", c.Path).
			Hint("move it away: the next install makes a fresh copy").
			Hint("replace it, after a backup: skl install --force")
	}
	if c.Why == LeftCopy {
		return diag.New(diag.Unmet, "local_edits", "%s is a copy of %s that has local edits, and agents would go on loading it", c.Path, c.Name).
			Hint("remove it too, after a backup: add --force").
			Hint("keep it: move it to where no agent looks for skills, then do the same again")
	}
	return diag.New(diag.Unmet, "local_edits", "%s has local edits: %s", c.Path, strings.Join(c.Diff, ", ")).
		Hint("skl diff %s", c.Name).
		Hint("replace them, after a backup: add --force")
}

// keep plans that the edited directory, or the receipt, at path goes to the backups.
func (in *Installer) keep(t *Transaction, name, path string, report *Report) error {
	dir, err := in.PutAside(backups)
	if err != nil {
		return err
	}
	backup, err := in.freeName(filepath.Join(dir, filepath.Base(path)), report.Backups[name]...)
	if err != nil {
		return err
	}
	report.Backups[name] = append(report.Backups[name], backup)
	return t.Keep(path, backup)
}

// freeName is the first of path, path-2, path-3, … that does not exist and is not taken.
func (s Site) freeName(path string, taken ...string) (string, error) {
	for n := 1; n < 10_000; n++ {
		try := path
		if n > 1 {
			try = fmt.Sprintf("%s-%d", path, n)
		}
		if !s.Dir.Exists(try) && !slices.Contains(taken, try) {
			return try, nil
		}
	}
	return "", fmt.Errorf("%s: too many backups", path)
}

//go:noinline
func join(dir, name string) string { return filepath.Join(dir, name) }
