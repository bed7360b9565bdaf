package author

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/runtime/author"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/spec/audit/content"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// IndexName is a file of every skill that is made, which no person reads.
const IndexName = skillify.IndexName

// A RenewRequest asks to bring a skill to what its package says now.
type RenewRequest struct {
	Skill   string // its folder, or the name of an installed skill that comes from a folder here
	From    string // as in [FreshRequest]
	Version string // of skl
	Merge   bool   // keep what a person changed
	DryRun  bool

	Prose
}

// Results of a renewal.
const (
	Renewed     = "updated"
	WouldRenew  = "would_update"
	Unchanged   = "unchanged"
	Conflicting = "conflicts" // nothing was changed; the copy has the conflicts
	HasEdits    = "edited"    // nothing was changed: a person's edits are merged if that is asked for
)

// A Renewal is what an update of a skill does.
type Renewal struct {
	Fresh
	Result    string             `json:"result"`
	Diff      []trees.FileDiff   `json:"diff"`
	Kept      []skillify.Place   `json:"kept"`           // what a person changed, and stays
	Still     []skillify.Mention `json:"still_named"`    // what it names and the package does not have any more
	Conflicts []skillify.Place   `json:"conflicts"`      // what both changed
	Copy      string             `json:"copy,omitempty"` // the merged skill with markers of the conflicts
	Put       string             `json:"put"`            // the folder that has it now
	Report    *skillify.Report   `json:"report"`
	Findings  []content.Finding  `json:"findings"`
}

// Renew brings a skill to what its package says now. What a person changed is kept with Merge, and refused without. All files of the folder are
// written, or none.
func (a *Author) Renew(ctx context.Context, q RenewRequest) (Renewal, error) {
	m, err := a.openMade(q.Skill)
	if err != nil {
		return Renewal{}, err
	}
	if err := a.Scope.InstalledCopy(m.dir); err != nil {
		return Renewal{}, err
	}
	now, err := a.compare(ctx, m, q.From, q.Version, q.Prose)
	if err != nil {
		return Renewal{}, err
	}
	if err := a.renewable(m, now); err != nil {
		return Renewal{}, err
	}
	if by := m.origin.SummarizedBy; by != "" && !q.Summarize {
		a.Scope.Tell.Note("the overview that %s wrote is not written again: --summarize does that", diag.Printable(by))
	}
	m.copied = a.copyOf(m, now)
	merged, err := a.merged(m, now)
	if err != nil {
		return Renewal{}, err
	}
	r := Renewal{Fresh: m.fresh, Diff: trees.Diff(treeOfFiles(m.files), treeOfFiles(merged.Files)), Kept: append([]skillify.Place{}, merged.Kept...), Conflicts: append([]skillify.Place{}, merged.Conflicts...),
		Put: m.dir, Report: &now.Report, Findings: append([]content.Finding{}, treeOfFiles(merged.Files).Findings()...)}
	r.Still = append([]skillify.Mention{}, skillify.StillNamed(now, merged.Files, m.fresh.API.Removed)...)
	switch {
	case len(r.Edited) > 0 && !q.Merge:
		r.Result = HasEdits
		return r, nil
	case len(r.Conflicts) > 0:
		r.Result = Conflicting
		if q.DryRun {
			return r, nil
		}
		a.tellEarlier(m)
		r.Copy, err = m.copied, a.writeCopy(m, merged)
		return r, err
	}
	return a.putRenewed(m, now, merged, r, q.DryRun)
}

// renewable refuses what cannot be brought to what its package says now.
func (a *Author) renewable(m *madeSkill, now *skillify.Skill) error {
	at := a.Scope.Short(m.dir)
	switch {
	case now == nil:
		return diag.New(diag.Unmet, "no_package", "%s: %s", at, m.fresh.Why).Hint("name it: --from DIR")
	case m.base == nil:
		return diag.New(diag.Refused, "base_lost", "%s: %s", at, diag.Printable(m.fresh.Why)).Hint("make it anew beside it: skl skillify %s -o DIR", diag.Quote(m.origin.Ecosystem+":"+m.origin.Package))
	case m.fresh.Drift == "older" && m.fresh.Against == "":
		return diag.New(diag.Refused, "older", "%s was made of %s %s, and %s is here, which is older", at, diag.Printable(m.origin.Package), diag.Printable(m.fresh.From), diag.Printable(m.fresh.To)).
			Hint("%s", m.fresh.Mend(at))
	}
	for name, kind := range m.kinds {
		if kind != bundle.Link {
			continue
		}
		if _, ok := m.base.Index.Files[name]; ok || now.File(name) != nil {
			return diag.New(diag.Refused, "irregular_file", "%s is a link, not a regular file", filepath.Join(at, filepath.FromSlash(name))).Hint("put a regular file in its place")
		}
	}
	return nil
}

// merged is the skill as it shall be. Where a person has taken the conflicts out of a copy, that is it.
func (a *Author) merged(m *madeSkill, now *skillify.Skill) (*skillify.Merge, error) {
	mark := filepath.Base(filepath.Dir(m.copied))
	theirs := now.All()
	out := skillify.MergeWith(m.base, m.files, theirs, m.origin.Package+" "+now.Origin.Version, mark)
	if len(out.Conflicts) > 0 && scope.Exists(m.copied) {
		all, err := trees.Read(scope.FilesIn(m.copied))
		if err != nil {
			return nil, err
		}
		solved := map[string][]byte{}
		var open []skillify.Place
		for name, f := range all {
			solved[name] = f.Data
			if f.Kind == bundle.Link {
				return nil, diag.New(diag.Refused, "irregular_file", "%s is a link, not a regular file", a.Scope.Short(filepath.Join(m.copied, filepath.FromSlash(name))))
			}
			if skillify.Marked(string(f.Data), mark, m.files[name], theirs[name]) {
				open = append(open, skillify.Place{File: name, What: "both_changed"})
			}
		}
		slices.SortFunc(open, func(a, b skillify.Place) int { return strings.Compare(a.File, b.File) })
		out.Files, out.Kept, out.Conflicts = solved, append(out.Kept, out.Conflicts...), open
	}
	if len(out.Conflicts) == 0 && (len(out.Kept) > 0 || m.byHand) {
		out.Files[skill.FileName] = skillify.Derived(out.Files[skill.FileName])
	}
	if doc, err := skill.Read(out.Files[skill.FileName]); len(out.Conflicts) == 0 {
		if err != nil {
			return nil, err
		}
		if o, _ := skillify.Stamp(doc); o == nil || o.Version != now.Origin.Version || o.SourceHash != now.Origin.SourceHash {
			return nil, diag.New(diag.Refused, "stamp_lost", "SKILL.md does not say that it was made of %s %s any more", diag.Printable(m.origin.Package), diag.Printable(now.Origin.Version)).
				Hint("keep its key generated_from or derived_from as it was made")
		}
	}
	return out, nil
}

// copyOf is where the merge of a skill with what is made now lies while it has conflicts.
func (a *Author) copyOf(m *madeSkill, now *skillify.Skill) string {
	h := sha256.New()
	for _, files := range []map[string][]byte{m.files, now.All()} {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			sum := sha256.Sum256(files[name])
			h.Write([]byte(name + "\x00"))
			h.Write(sum[:])
		}
		h.Write([]byte{0})
	}
	return filepath.Join(a.Scope.Dirs.Data, "generated", "merge", hex.EncodeToString(h.Sum(nil)[:6]), filepath.Base(m.dir))
}

// tellEarlier names the merges of other text of the skill that a person may have worked on.
func (a *Author) tellEarlier(m *madeSkill) {
	this := filepath.Dir(m.copied)
	entries, err := within.Anywhere().ReadDir(filepath.Dir(this))
	if err != nil {
		return
	}
	for _, e := range entries {
		if at := filepath.Join(filepath.Dir(this), e.Name(), filepath.Base(m.dir)); e.Name() != filepath.Base(this) && scope.Exists(at) {
			a.Scope.Tell.Note("a merge of a skill of that name, as its text was before, is still in %s", at)
		}
	}
}

// writeCopy writes a merge with conflicts beside the skill, unless it is there.
func (a *Author) writeCopy(m *madeSkill, merged *skillify.Merge) error {
	if scope.Exists(m.copied) {
		return nil
	}
	at, err := a.Scope.PlaceFor(filepath.Dir(m.copied))
	if err != nil {
		return err
	}
	defer at.Close()
	return writeFolder(at, m.copied, m.whole(merged))
}

// whole are the files of a merge.
func (m *madeSkill) whole(merged *skillify.Merge) (files []skillify.File) {
	for _, name := range slices.Sorted(maps.Keys(merged.Files)) {
		files = append(files, skillify.File{Path: name, Data: merged.Files[name], Executable: m.kinds[name] == bundle.Executable})
	}
	return files
}

// putRenewed writes what changed to the folder; of a skill in the data directory, where each version has a folder, to a new one.
func (a *Author) putRenewed(m *madeSkill, now *skillify.Skill, merged *skillify.Merge, r Renewal, dry bool) (Renewal, error) {
	moves := scope.Below(filepath.Join(a.Scope.Dirs.Data, "generated"), m.dir) && m.dir == a.generatedPath(m.name, m.origin)
	if moves {
		r.Put = a.generatedPath(m.name, now.Origin)
		moves = r.Put != m.dir
	}
	r.Result = Renewed
	switch {
	case len(r.Diff) == 0:
		r.Result = Unchanged
		return r, nil
	case dry:
		r.Result = WouldRenew
		return r, nil
	case moves:
		a.keepBase(now)
		_, err := a.putSkill(&skillify.Skill{Name: m.name, Origin: now.Origin, Files: m.whole(merged)}, Skillified{Path: r.Put}, false)
		return r, err
	}
	if err := a.Scope.EditFolder(m.dir, changesOf(m.files, merged.Files)); err != nil {
		return r, err
	}
	a.keepBase(now)
	within.Anywhere().RemoveAll(filepath.Dir(m.copied))
	return r, nil
}

// changesOf are those that make one set of files of another.
func changesOf(from, to map[string][]byte) (out []author.Change) {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		now, stays := to[name]
		switch {
		case !stays:
			out = append(out, author.Change{Path: name, Was: filled(from[name])})
		case !bytes.Equal(from[name], now):
			out = append(out, author.Change{Path: name, Was: filled(from[name]), Now: filled(now)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if _, ok := from[name]; !ok {
			out = append(out, author.Change{Path: name, Now: filled(to[name])})
		}
	}
	return out
}

// filled is the content of a file that is there, which may be empty.
func filled(data []byte) []byte {
	if data == nil {
		return []byte{}
	}
	return data
}

func treeOfFiles(files map[string][]byte) trees.Tree {
	t := trees.Tree{}
	for name, data := range files {
		t[name] = trees.File{Kind: bundle.Plain, Data: data}
	}
	return t
}
