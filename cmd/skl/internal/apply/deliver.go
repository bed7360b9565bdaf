package apply

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/manifest"
)

// A delivery is what is written beside the skills.
type delivery struct {
	files     *scope.Files       // as they are
	manifest  *manifest.Manifest // as it is to be; nil leaves both files as they are
	lock      *lock.Lock
	hosts     []string // agents
	dry, gate bool
	approve   func() error // asked before anything is written; nil agrees
}

// deliver applies changes, unless there is nothing to change.
func (a *Applier) deliver(ctx context.Context, in *install.Installer, changes install.Changes, d delivery) (Result, error) {
	if err := a.conflicts(changes); err != nil {
		return Result{}, err
	}
	files := d.written()
	result := Result{Changes: changes, Lock: d.lock, LockState: lockState(d.files, files.Lock), DryRun: d.dry}
	if d.dry {
		return result, nil
	}
	if d.approve != nil {
		if err := d.approve(); err != nil {
			return Result{}, err
		}
	}
	if changes.Any() || files.Manifest != nil || result.LockState == "changed" {
		var err error
		if result.Report, err = in.Apply(ctx, changes, files); err != nil {
			return Result{}, install.Explain(err, a.Scope.Root)
		}
		if err := refreshCaches(a.Scope.Site, changes); err != nil {
			a.Scope.Tell.Detail("the stat cache was not written: %s", err)
		}
	}
	a.Signatures.Note(d.lock)
	if err := a.Scope.TrustProject(); err != nil {
		a.Scope.Tell.Warn("the project is not marked as trusted: %s", err)
	}
	var err error
	if result.Remarks.Budgets, err = a.noteUses(ctx, d.hosts, changes); err != nil {
		a.Scope.Tell.Warn("could not determine which copies agents load: %s", err)
	}
	var came []string
	for _, c := range changes.List {
		if c.Action == install.Add || c.Action == install.Update {
			came = append(came, c.Name)
		}
	}
	if len(came) > 0 {
		a.tellUncarried(d.vendor(), func(name string) bool { return slices.Contains(came, name) })
	}
	if result.Remarks.Ungated, err = a.ungated(ctx, changes, d.gate); err != nil {
		a.Scope.Tell.Warn("could not determine which limits agents keep: %s", err)
	}
	a.Scope.KeepTags()
	return result, nil
}

// vendor says whether installed skills are committed; nil is not decided.
func (d *delivery) vendor() *bool {
	if d.manifest != nil {
		return d.manifest.Targets.Vendor
	}
	return d.files.Manifest.Targets.Vendor
}

// written is what becomes of skl.toml and skl.lock.
func (d *delivery) written() install.Files {
	if d.manifest == nil {
		return install.Files{LockPath: d.files.LockPath, Lock: d.files.LockText}
	}
	f := install.Files{LockPath: d.files.LockPath, Lock: d.lock.Format(), ManifestPath: d.files.ManifestPath}
	if text := d.manifest.Bytes(); !d.files.HasManifest || string(d.files.ManifestText) != string(text) {
		f.Manifest = text
	}
	return f
}

// refreshCaches brings the caches of the roots that hold one up to date. After a large install that would read everything once
// more: the next listing does it.
func refreshCaches(s install.Site, c install.Changes) error {
	const large = 32
	written := map[string]int{}
	for _, change := range c.List {
		if change.Action == install.Add || change.Action == install.Update {
			written[change.Root]++
		}
	}
	var errs []error
	for _, root := range s.All() {
		if written[root] <= large && s.Dir.Exists(filepath.Join(root, ".skl")) {
			errs = append(errs, s.Caches.Update(root))
		}
	}
	return errors.Join(errs...)
}

func lockState(f *scope.Files, next []byte) string {
	if f.HasLock && string(f.LockText) == string(next) {
		return "unchanged"
	}
	return "changed"
}

// conflicts turns what stands in the way into one refusal that names all of it.
func (a *Applier) conflicts(c install.Changes) error {
	if len(c.Conflicts) == 0 {
		return nil
	}
	for i := range c.Conflicts {
		c.Conflicts[i].Path = a.Scope.Short(c.Conflicts[i].Path)
	}
	err, _ := errors.AsType[*diag.Error](c.Conflicts[0].Err())
	for _, more := range c.Conflicts[1:] {
		err.Candidates = append(err.Candidates, more.Err().Error())
	}
	return err
}

// SignedWord says who signed what is added. l is the lock that it is added by, nil if there is none.
func (a *Applier) SignedWord(c install.Change, l *lock.Lock) string {
	switch {
	case c.Signer == "" && l == nil:
		return "unsigned"
	case l == nil:
		return "signed by " + c.Signer
	}
	s, _ := l.Skill(c.Name)
	if c.Signer != "" {
		if known, _, err := a.Signatures.Known(s); err != nil || !known {
			return "signed by " + c.Signer + " as skl.lock says, not checked"
		}
		return "signed by " + c.Signer
	}
	if s.Source == "embedded" {
		return "comes with skl"
	}
	if s.Unsigned {
		return "unsigned, accepted"
	}
	if known, _, err := a.Signatures.Known(s); err != nil || known || !signature.CanBeSigned(s) {
		return "unsigned"
	}
	if s.Log != nil {
		return "no known signer, logged"
	}
	return "no known signer"
}

// ContentChange counts what differs between the release that was installed and the
// new one, or says that nothing does; "" when one of them is not in the store.
func (a *Applier) ContentChange(c install.Change) string {
	st := a.Scope.Store()
	from, to := bundle.Digest(c.Before()), bundle.Digest(c.Digest)
	if from == to && from != "" {
		return "the same files  "
	}
	if from == "" || !st.Has(from) || !st.Has(to) {
		return ""
	}
	old, err := trees.Read(st.FS(from))
	if err != nil {
		return ""
	}
	now, err := trees.Read(st.FS(to))
	if err != nil {
		return ""
	}
	files, add, remove := 0, 0, 0
	for _, f := range trees.Diff(old, now) {
		files, add, remove = files+1, add+f.Add, remove+f.Remove
	}
	return fmt.Sprintf("%s +%d -%d  ", diag.Count(files, "file"), add, remove)
}
