package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// installResult is what "skl install --json" prints.
type installResult struct {
	OK      bool             `json:"ok"`
	Changes []install.Change `json:"changes"`
	Lock    string           `json:"lock"` // changed or unchanged
}

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print the plan and change nothing"}
}

func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace local edits, after a backup"}
}

func acceptFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "accept", Usage: "accept `PERM`[,…] that a skill asks for"}
}

func unsignedFlag() cli.Flag {
	return &cli.BoolFlag{Name: "allow-unsigned", Usage: "accept and record releases without a signature where one is wanted"}
}

func hostFlag(usage string) cli.Flag {
	return &cli.StringSliceFlag{Name: "host", Aliases: []string{"a", "agent"}, Usage: usage}
}

func installCommand() command {
	return command{name: "install", aliases: []string{"add", "i"}, args: "[REF…] [NAME…]", group: "Skills",
		usage: "resolve, lock and install skills", output: installResult{},
		example: `skl install anthropics/skills/pdf
			skl install obra/superpowers brainstorming writing-plans
			skl install obra/superpowers --all
			skl install github:o/r//skills/pdf@v1.2.0 --pin
			skl install ./my-skill
			skl install skl:canopy-runtime   # comes with skl
			skl install            # what skl.toml says`,
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "skill", Aliases: []string{"s"}, Usage: "install the skill `NAME` of the reference (repeatable)"},
			hostFlag("install for the agent `HOST` (repeatable)"),
			&cli.BoolFlag{Name: "all", Usage: "all skills of the reference"},
			&cli.BoolFlag{Name: "list", Aliases: []string{"l"}, Usage: "only list what the reference holds"},
			&cli.BoolFlag{Name: "pin", Usage: "write the exact version"},
			&cli.BoolFlag{Name: "link", Usage: "link a local folder instead of copying it, while you work on it"},
			&cli.BoolFlag{Name: "frozen", Usage: "exactly skl.lock or nothing (skl ci)"},
			forceFlag(), acceptFlag(), unsignedFlag(), dryRunFlag(),
		},
		run: runInstall}
}

func runInstall(ctx context.Context, w *world, c *cli.Context) error {
	refs, names, err := parseArgs(c.Args().Slice(), c.StringSlice("skill"))
	if err != nil {
		return err
	}
	if c.Bool("list") {
		return w.listRefs(ctx, refs)
	}
	if c.Bool("link") {
		return w.linkFolder(ctx, c, refs)
	}
	ci := w.env.getenv("CI") == "true" || w.env.getenv("CI") == "1"
	if c.Bool("frozen") || ci && len(refs)+len(names) == 0 && exists(filepath.Join(w.base, "skl.lock")) {
		if len(refs)+len(names) > 0 {
			return diag.New(diag.Misuse, "usage", "--frozen installs what skl.lock says and takes no reference")
		}
		return runFrozen(ctx, w, c)
	}
	for i := range refs {
		refs[i] = w.rebase(refs[i])
	}
	dry := c.Bool("dry-run")
	f, end, err := w.edit(ctx, dry)
	if err != nil {
		return err
	}
	defer end()
	if len(names) > 0 && len(refs) == 0 {
		return w.oneWord(names, f)
	}
	job := job{w: w, files: f, dry: dry, force: c.Bool("force"), accept: accepted(c), unsigned: c.Bool("allow-unsigned"), hostFlags: c.StringSlice("host")}
	if err := job.add(ctx, refs, names, c.Bool("all"), c.Bool("pin")); err != nil {
		return err
	}
	if err := job.relock(ctx, func(string) bool { return false }); err != nil {
		return err
	}
	return job.finish(ctx)
}

// accepted is the permissions named by --accept.
func accepted(c *cli.Context) []string {
	var out []string
	for _, list := range c.StringSlice("accept") {
		out = append(out, strings.Split(list, ",")...)
	}
	return out
}

// rebase makes a local ref, which a person writes from the working directory,
// relative to the manifest.
func (w *world) rebase(r ref.Ref) ref.Ref {
	if r.Kind != ref.Local {
		return r
	}
	rel, err := filepath.Rel(w.base, absolute(w.cwd, filepath.FromSlash(r.Path)))
	if err != nil {
		return r
	}
	text := filepath.ToSlash(rel)
	if text != "." && !strings.HasPrefix(text, "../") && text != ".." {
		text = "./" + text
	}
	if moved, err := ref.Parse(text); err == nil {
		moved.Skill = r.Skill
		return moved
	}
	return r
}

// listRefs shows what references hold, and changes nothing.
func (w *world) listRefs(ctx context.Context, refs []ref.Ref) error {
	f, err := w.load()
	if err != nil {
		return err
	}
	type listed struct {
		Name        string `json:"name"`
		Path        string `json:"path"`
		Version     string `json:"version"`
		Commit      string `json:"commit,omitempty"`
		Description string `json:"description"`
		Invalid     string `json:"invalid,omitempty"`
	}
	all := []listed{}
	for _, r := range refs {
		o, err := w.resolver(f.manifest).Open(ctx, resolver.Want{Ref: w.rebase(r)})
		if err != nil {
			return err
		}
		found, err := o.Skills(ctx, nil)
		if err != nil {
			return err
		}
		if !w.ui.JSON {
			w.printFound(found)
		}
		for _, s := range found {
			l := listed{s.Lock.Name, s.Lock.Path, s.Lock.Version, s.Lock.Commit, s.Description, ""}
			if s.Invalid != nil {
				l.Invalid = s.Invalid.Error()
			}
			all = append(all, l)
		}
	}
	if w.ui.JSON {
		return w.ui.Result(map[string]any{"skills": all})
	}
	return nil
}

// A job is one install, update, remove or lock: the manifest and lock it
// starts from, what it makes of them, and how it is carried out.
type job struct {
	w         *world
	files     *files
	next      *lock.Lock
	hosts     []string
	hostFlags []string
	dry       bool
	force     bool
	frozen    bool     // exactly the lock
	hold      bool     // leave edited skills as they are
	lockOnly  bool     // write skl.lock and nothing else
	accept    []string // permissions
	unsigned  bool     // releases without a signature are accepted where one is wanted
	added     []string // names the command line asked for
	anew      []string // names whose entry was chosen anew, not kept from the lock
	picked    []selection
}

// add resolves refs and puts their skills into the manifest.
func (j *job) add(ctx context.Context, refs []ref.Ref, names []string, all, pin bool) error {
	rs := j.w.resolver(j.files.manifest)
	for _, r := range refs {
		picked, err := j.w.pick(ctx, rs, r, names, all, pin)
		if err != nil {
			return err
		}
		for _, s := range picked {
			if i := slices.IndexFunc(j.picked, func(p selection) bool { return p.entry.Name == s.entry.Name }); i >= 0 {
				if j.picked[i].found.Lock.SameBytes(s.found.Lock) {
					continue // one release, found through several plugins
				}
				return diag.New(diag.Misuse, "same_name", "%s and %s both hold a skill called %q; one name means one skill", j.picked[i].entry.Ref, s.entry.Ref, s.entry.Name)
			}
			if err := j.put(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// put writes one selection into the manifest. A name that means another skill already is refused.
func (j *job) put(s selection) error {
	m := j.files.manifest
	if have, ok := m.Skill(s.entry.Name); ok && have.Ref != s.entry.Ref {
		old, ok := j.files.lock.Skill(s.entry.Name)
		same := ok && old.URL == s.found.Lock.URL && old.Path == s.found.Lock.Path
		if !same && !j.force {
			return diag.New(diag.Misuse, "same_name", "skl.toml has a skill called %q already, from %s", s.entry.Name, have.Ref).At(m.Where(s.entry.Name)).
				Hint("skl remove %s", s.entry.Name).Hint("replace it: add --force")
		}
	}
	if err := m.SetSkill(s.entry.Name, s.entry); err != nil {
		return err
	}
	if ns := s.named.Ref.Namespace(); ns != "" && s.binding != "" && m.Namespaces[ns] == "" && j.w.config.Namespaces[ns] == "" {
		if err := m.SetNamespace(ns, s.binding); err != nil {
			return err
		}
	}
	j.picked = append(j.picked, s)
	j.added = append(j.added, s.entry.Name)
	return nil
}

// relock computes the next lock: what was picked, what still follows, the rest resolved.
func (j *job) relock(ctx context.Context, upgrade func(string) bool) error {
	all, err := wants(j.files.manifest)
	if err != nil {
		return err
	}
	base := j.files.lock.Clone()
	for _, s := range j.picked {
		entry := s.found.Lock
		if old, ok := base.Skill(entry.Name); ok && old.SameBytes(entry) {
			entry.Tree, entry.Files, entry.Bytes, entry.Permissions = old.Tree, old.Files, old.Bytes, old.Permissions
		}
		base.Set(entry)
	}
	j.anew = slices.Clone(j.added)
	var kept []resolver.Named
	for _, want := range all {
		old, ok := j.files.lock.Skill(want.Name)
		switch {
		case !ok || upgrade(want.Name) || !resolver.Keeps(old, want):
			j.anew = append(j.anew, want.Name)
		case !j.chosen(want.Name):
			kept = append(kept, want)
		}
	}
	if err := j.w.agreeOn(ctx, j.files, kept); err != nil {
		return err
	}
	j.next, err = j.w.resolver(j.files.manifest).Relock(ctx, all, base, func(name string) bool {
		return upgrade(name) && !slices.Contains(j.added, name)
	})
	return err
}

// chosen reports whether the entry of name was chosen anew, and not kept from the lock.
func (j *job) chosen(name string) bool { return slices.Contains(j.anew, name) }

// finish fetches, decides, shows and carries out.
func (j *job) finish(ctx context.Context) error {
	w := j.w
	var err error
	if !j.lockOnly {
		if j.hosts, err = w.targets(j.files.manifest, j.hostFlags); err != nil {
			return err
		}
	}
	in, err := w.installer(j.hosts, j.files.manifest.Targets.Links)
	if err != nil {
		return err
	}
	have, err := in.Survey(ctx, j.next.Skills, j.files.lock, false)
	if err != nil {
		return err
	}
	if err := w.checkSignatures(ctx, j.next, j.files.lock, signatureOptions{j.unsigned, j.accept, j.dry, j.lockOnly, j.chosen}); err != nil {
		return err
	}
	if err := w.prefetch(ctx, in, j.next.Skills, have); err != nil {
		return err
	}
	asks, err := w.materialise(ctx, in, j.next.Skills, have, j.dry, j.chosen)
	if err != nil {
		return err
	}
	if err := w.consent(j, asks); err != nil {
		return err
	}
	if j.lockOnly {
		return j.writeLock()
	}
	changes := install.Diff(w.root, j.next.Skills, have, install.Options{Force: j.force, Hold: j.hold, Prune: true, Links: in.Links, Copy: in.Copy})
	if j.hold {
		j.keepHeld(changes)
	}
	return j.carryOut(ctx, in, changes)
}

// carryOut applies changes, unless there is nothing to change, and prints them.
func (j *job) carryOut(ctx context.Context, in *install.Installer, changes install.Changes) error {
	w := j.w
	if err := w.conflicts(changes); err != nil {
		return err
	}
	files := j.applyFiles(j.next.Format())
	state := lockState(j.files, files.Lock)
	report := install.Report{}
	if !j.dry {
		if changes.Any() || files.Manifest != nil || state == "changed" {
			var err error
			if report, err = in.Apply(ctx, changes, files); err != nil {
				return install.Explain(err, w.root)
			}
			if err := refreshCache(w.root, changes); err != nil {
				w.ui.Detail("the stat cache was not written: %s", err)
			}
		}
		if err := w.trustProject(); err != nil {
			w.ui.Warn("the project is not marked as trusted: %s", err)
		}
		w.keepTags()
	}
	return w.printInstall(j, changes, report, state)
}

// refreshCache brings the root's stat cache up to date. After a large install that
// would read everything once more, so it is dropped: the next listing makes one.
func refreshCache(root string, c install.Changes) error {
	const large = 32
	written := 0
	for _, change := range c.List {
		if change.Action == install.Add || change.Action == install.Update {
			written++
		}
	}
	if written > large {
		return roots.DropCache(root)
	}
	return roots.WriteCache(root)
}

// keepHeld puts the old lock entry of what is held back into the next lock.
func (j *job) keepHeld(c install.Changes) {
	for _, change := range c.List {
		if old, ok := j.files.lock.Skill(change.Name); ok && change.Action == install.Held {
			j.next.Set(old)
		}
	}
}

// applyFiles is what is written beside the skills. A frozen install leaves both files as they are.
func (j *job) applyFiles(lockText []byte) install.Files {
	if j.frozen {
		return install.Files{LockPath: j.files.lockPath, Lock: j.files.lockText}
	}
	f := install.Files{LockPath: j.files.lockPath, Lock: lockText, ManifestPath: j.files.manifestPath}
	if old := j.files.manifestText; !j.files.hasManifest || string(old) != string(j.files.manifest.Bytes()) {
		f.Manifest = j.files.manifest.Bytes()
	}
	return f
}

func lockState(f *files, next []byte) string {
	if f.hasLock && string(f.lockText) == string(next) {
		return "unchanged"
	}
	return "changed"
}

// conflicts turns what stands in the way into one refusal that names all of it.
func (w *world) conflicts(c install.Changes) error {
	if len(c.Conflicts) == 0 {
		return nil
	}
	for i := range c.Conflicts {
		c.Conflicts[i].Path = w.short(c.Conflicts[i].Path)
	}
	err, _ := errors.AsType[*diag.Error](c.Conflicts[0].Err())
	for _, more := range c.Conflicts[1:] {
		err.Candidates = append(err.Candidates, more.Err().Error())
	}
	return err
}

func (w *world) printInstall(j *job, c install.Changes, report install.Report, lockChange string) error {
	if w.ui.JSON {
		for i := range c.List {
			c.List[i].Root = w.root
		}
		return w.ui.Result(installResult{OK: true, Changes: append([]install.Change{}, c.List...), Lock: lockChange})
	}
	count := map[install.Action]int{}
	for _, change := range c.List {
		count[change.Action]++
		w.printChange(change, j, report)
	}
	verb := "done"
	if j.dry {
		verb = "nothing was changed (--dry-run)"
	}
	if !c.Any() && lockChange == "unchanged" {
		w.ui.Print("%s up to date in %s", ui.Count(len(c.List), "skill"), w.short(w.root))
		return nil
	}
	var parts []string
	for _, a := range []install.Action{install.Add, install.Update, install.Remove, install.Link, install.Held} {
		if count[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[a], a))
		}
	}
	w.ui.Detail("%s: %s", verb, strings.Join(parts, ", "))
	if j.dry {
		w.ui.Note("%s", verb)
		return nil
	}
	if lockChange == "changed" {
		w.ui.Note("wrote %s and %s: commit them", w.short(j.files.manifestPath), w.short(j.files.lockPath))
	}
	if count[install.Add]+count[install.Update] > 0 {
		w.ui.Note("agents load it from their next start; skl list shows which copy each one loads")
	}
	return nil
}

func (w *world) printChange(c install.Change, j *job, report install.Report) {
	where := w.short(filepath.Join(c.Root, c.Name))
	for _, l := range c.Links {
		where += ", link in " + w.short(filepath.Dir(l))
	}
	mark := ui.Painted(w.ui.Done())
	if j.dry {
		mark = "would"
	}
	switch c.Action {
	case install.Add:
		w.ui.Print("%s add %s %s  %s, %s, %s  %s", mark, c.Name, c.To, ui.Count(c.Files, "file"), ui.Size(c.Bytes), j.signedWord(c), where)
	case install.Update:
		if c.From == c.To && c.Before() == c.Digest {
			w.ui.Print("%s restore %s %s  %s", mark, c.Name, c.To, where)
			break
		}
		w.ui.Print("%s update %s %s → %s  %s%s", mark, c.Name, orDash(c.From), c.To, w.contentChange(c), where)
	case install.Keep:
		if c.From != "" && c.From != c.To {
			w.ui.Print("%s update %s %s → %s  the same files  %s", mark, c.Name, c.From, c.To, where)
		}
	case install.Remove:
		w.ui.Print("%s remove %s %s", mark, c.Name, c.From)
	case install.Link:
		if gone := c.Unlinked(); len(gone) > 0 {
			w.ui.Print("%s unlink %s  %s", mark, c.Name, w.short(gone[0]))
			break
		}
		w.ui.Print("%s link %s  %s", mark, c.Name, where)
	case install.Held:
		w.ui.Warn("%s has local edits and stays as it is; skl diff %s shows them", c.Name, c.Name)
	}
	if path := report.Backups[c.Name]; path != "" {
		w.ui.Note("%s: the replaced files are kept in %s", c.Name, w.short(path))
	}
	if slices.Contains(report.Healed, c.Name) {
		w.ui.Note("%s: the stored copy was damaged; it was fetched again", c.Name)
	}
}

// signedWord says who signed what is added.
func (j *job) signedWord(c install.Change) string {
	switch {
	case c.Signer == "" && j.next == nil:
		return "unsigned"
	case j.next == nil:
		return "signed by " + c.Signer
	}
	s, _ := j.next.Skill(c.Name)
	if c.Signer != "" {
		if t, err := j.w.trustFor(namespaceOf(s)); err != nil || t.verifier == nil {
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
	if t, err := j.w.trustFor(namespaceOf(s)); err != nil || t.verifier != nil || !canBeSigned(s) {
		return "unsigned"
	}
	if s.Log != nil {
		return "no known signer, logged"
	}
	return "no known signer"
}

// contentChange counts what differs between the release that was installed and the
// new one, "" when one of them is not in the store.
func (w *world) contentChange(c install.Change) string {
	st := w.store()
	from, to := bundle.Digest(c.Before()), bundle.Digest(c.Digest)
	if from == "" || !st.Has(from) || !st.Has(to) {
		return ""
	}
	old, err := readTree(st.FS(from))
	if err != nil {
		return ""
	}
	now, err := readTree(st.FS(to))
	if err != nil {
		return ""
	}
	files, add, remove := 0, 0, 0
	for _, f := range diffTrees(old, now) {
		files, add, remove = files+1, add+f.Add, remove+f.Remove
	}
	return fmt.Sprintf("%s +%d -%d  ", ui.Count(files, "file"), add, remove)
}

// writeLock is the end of "skl lock".
func (j *job) writeLock() error {
	text := j.next.Format()
	state := lockState(j.files, text)
	if !j.dry && state == "changed" {
		if err := j.w.writeLockFile(j.files, text); err != nil {
			return err
		}
	}
	if !j.dry {
		j.w.keepTags()
	}
	if j.w.ui.JSON {
		return j.w.ui.Result(installResult{OK: true, Changes: []install.Change{}, Lock: state})
	}
	j.w.ui.Print("%s: %s, %s", j.w.short(j.files.lockPath), ui.Count(len(j.next.Skills), "skill"), state)
	return nil
}
