package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
)

// installResult is what "skl install --json" prints.
type installResult struct {
	OK      bool             `json:"ok"`
	Changes []install.Change `json:"changes"`
	Lock    string           `json:"lock"`                  // changed or unchanged
	Refused []apply.Held     `json:"refused,omitempty"`     // of a dry run: updates that need --accept
	Held    []apply.Held     `json:"held,omitempty"`        // of --all: what was left out, and why; then "ok" is false
	Passed  []apply.Passed   `json:"passed_over,omitempty"` // what looks like a skill there and is none to skl
	Gone    []apply.Gone     `json:"gone,omitempty"`        // skills that their source no longer holds, which stay
	Ungated []apply.Ungated  `json:"ungated,omitempty"`     // limits that skills set and agents do not keep
	Unmet   []apply.Unmet    `json:"unmet,omitempty"`       // what skills that are new here say they need, and is not there
	Kept    []apply.Kept     `json:"kept,omitempty"`        // skills that were not to have what they ask for anew, which stay

	Merged  []scope.Merged     `json:"merged,omitempty"`  // of lock: what was taken of two sides of a merge
	Derived []apply.Derivation `json:"derived,omitempty"` // skills made from another package than before, or derived from one by hand

	Resolved []string `json:"resolved,omitempty"` // of lock: the files that held the markers of a merge
	Next     []string `json:"next,omitempty"`     // of such a lock: the commands that end the merge
}

func dryRunFlag() cli.Flag {
	return &cli.BoolFlag{Name: "dry-run", Usage: "print the plan and change nothing"}
}

func forceFlag() cli.Flag {
	return &cli.BoolFlag{Name: "force", Usage: "replace local edits, after a backup"}
}

func acceptFlag() cli.Flag {
	return &cli.StringSliceFlag{Name: "accept", Usage: "accept `PERM`[,…] that a skill asks for, \"signer\" or \"moved\""}
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
			skl install anthropics/skills/pdf --root .claude/skills   # there instead of .agents/skills
			skl install skl:canopy-runtime   # comes with skl
			skl install            # what skl.toml says`,
		flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "skill", Aliases: []string{"s"}, Usage: "install the skill `NAME` of the reference (repeatable)"},
			hostFlag("install for the agent `HOST` (repeatable)"),
			&cli.BoolFlag{Name: "all", Usage: "all skills of the reference that can be installed; what is held is listed, exit 3"},
			&cli.BoolFlag{Name: "strict", Usage: "with --all: all or nothing"},
			&cli.BoolFlag{Name: "list", Aliases: []string{"l"}, Usage: "only list what the reference holds"},
			&cli.StringFlag{Name: "as", Usage: "install the one skill under `NAME`, which skl.toml records"},
			&cli.BoolFlag{Name: "pin", Usage: "write the exact version"},
			&cli.BoolFlag{Name: "link", Usage: "link a local folder instead of copying it, while you work on it"},
			&cli.BoolFlag{Name: "gate", Usage: "say how to keep skills from agents that ignore the limits they set"},
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
	ci := w.scope.Getenv("CI") == "true" || w.scope.Getenv("CI") == "1"
	frozen := c.Bool("frozen") || ci && len(refs)+len(names) == 0 && scope.Exists(filepath.Join(w.scope.Base, "skl.lock"))
	if err := installUsage(c, len(refs), len(names), frozen); err != nil {
		return err
	}
	if c.Bool("list") {
		return w.listRefs(ctx, refs)
	}
	if c.Bool("link") {
		return w.link(ctx, c, refs)
	}
	if frozen {
		if len(refs)+len(names) > 0 {
			return diag.New(diag.Misuse, "usage", "--frozen installs what skl.lock says and takes no reference")
		}
		return runFrozen(ctx, w, c)
	}
	result, err := w.apply.Install(ctx, apply.InstallRequest{
		Refs: refs, Names: names, All: c.Bool("all"), Strict: c.Bool("strict"), Pin: c.Bool("pin"), Hosts: c.StringSlice("host"),
		Agreed: agreed(c), DryRun: c.Bool("dry-run"), Gate: c.Bool("gate"),
		Root: strings.Join(c.StringSlice("root"), ""), As: c.String("as"),
	})
	if held, ok := errors.AsType[*apply.Ambiguous](err); ok {
		return w.ambiguous(held)
	}
	return w.printInstall(result, err)
}

// installUsage refuses flags that do not go together.
func installUsage(c *cli.Context, refs, names int, frozen bool) error {
	usage := func(format string, args ...any) *diag.Error { return diag.New(diag.Misuse, "usage", format, args...) }
	elsewhere := frozen || c.Bool("list") || c.Bool("link")
	roots := len(c.StringSlice("root"))
	switch {
	case c.Bool("strict") && !c.Bool("all"):
		return usage("--strict belongs to --all: all skills or none")
	case c.Bool("gate") && (elsewhere || c.Bool("dry-run")):
		return usage("--gate is about what an install left here, and goes with none of --dry-run, --frozen (as in CI), --list and --link").Hint("skl install --gate")
	case roots > 1:
		return usage("a skill is installed in one root; --root was given %d times", roots)
	case roots == 1 && (refs+names == 0 || elsewhere):
		return usage("--root says where the skills of a reference are installed, and goes with none of --frozen, --list and --link").
			Hint("skl install REF --root DIR").Hint("for all skills: root = \"DIR\" under [targets] in skl.toml")
	case c.IsSet("as") && (refs != 1 || names > 1 || elsewhere || c.Bool("all")):
		return usage("--as names the one skill of a reference, and goes with none of --all, --frozen, --list and --link").Hint("skl install REF NAME --as OTHER")
	}
	return nil
}

// ambiguous shows what a reference holds, of which some have to be named.
func (w *world) ambiguous(e *apply.Ambiguous) error {
	if !w.ui.JSON {
		w.printFound(e.Found, e.Passed)
		return e
	}
	for _, f := range e.Found {
		e.Err.Candidates = append(e.Err.Candidates, f.Lock.Name)
	}
	return e
}

// agreed is what the flags of a command agree to.
func agreed(c *cli.Context) apply.Agreed {
	return apply.Agreed{Accept: accepted(c), AllowUnsigned: c.Bool("allow-unsigned"), Force: c.Bool("force")}
}

// accepted is the permissions named by --accept.
func accepted(c *cli.Context) []string {
	var out []string
	for _, list := range c.StringSlice("accept") {
		out = append(out, strings.Split(list, ",")...)
	}
	return out
}

// listRefs shows what references hold, and changes nothing.
func (w *world) listRefs(ctx context.Context, refs []ref.Ref) error {
	type listed struct {
		Name        string      `json:"name"`
		Path        string      `json:"path"`
		Version     string      `json:"version"`
		Commit      string      `json:"commit,omitempty"`
		Description string      `json:"description"`
		Invalid     string      `json:"invalid,omitempty"`
		Held        *apply.Held `json:"held,omitempty"` // why --all would leave it out, as far as that is known without its files
	}
	all, over := []listed{}, []apply.Passed{}
	for _, r := range refs {
		found, passed, err := w.apply.Holdings(ctx, r)
		if err != nil {
			return err
		}
		if !w.ui.JSON {
			w.printFound(found, passed)
		}
		over = append(over, passed...)
		for _, s := range found {
			l := listed{s.Lock.Name, s.Lock.Path, s.Lock.Version, string(s.Lock.Commit), s.Description, "", s.Held}
			if s.Invalid != nil {
				l.Invalid = s.Invalid.Error()
			}
			all = append(all, l)
		}
	}
	if w.ui.JSON {
		return w.ui.Result(map[string]any{"skills": all, "passed_over": over})
	}
	return nil
}

// printInstall prints what became of an install, an update or a removal, unless err says that nothing did.
func (w *world) printInstall(r apply.Result, err error) error {
	if err != nil {
		return err
	}
	if !w.ui.JSON {
		w.printPassed(r.Remarks.Passed)
	}
	for _, name := range r.Unlinked {
		w.ui.Note("%s was a link; its folder is left as it is", name)
	}
	c := r.Changes
	if len(r.Stays.Held) > 0 {
		held, count := r.Stays.Held, len(r.Stays.Held)
		over := r.Remarks.Passed
		r.Stays.Held, r.Remarks.Passed = nil, nil
		if w.ui.JSON {
			if err := w.ui.Result(installResult{Changes: append([]install.Change{}, c.List...), Lock: r.LockState, Gone: r.Stays.Gone, Held: held, Unmet: r.Remarks.Unmet, Passed: over}); err != nil {
				return err
			}
			return unmet("held")
		}
		if len(c.List) > 0 {
			if err := w.printInstall(r, nil); err != nil {
				return err
			}
		}
		if w.ui.Screen {
			w.ui.Page(ui.Painted(draw.Held(w.ui.Look(), held)))
			held = nil
		}
		for _, h := range held {
			w.ui.Print("held %s  %s", cmp.Or(h.Name, h.Path), h.Why)
			for _, hint := range h.Hints {
				w.ui.Hint("%s: %s", cmp.Or(h.Name, h.Path), hint)
			}
		}
		w.ui.Note("held %s%s", diag.Count(count, "skill"), map[bool]string{true: "; --strict installs all or nothing"}[r.All])
		return unmet("held")
	}
	if w.ui.JSON {
		return w.ui.Result(installResult{OK: true, Changes: append([]install.Change{}, c.List...), Lock: r.LockState, Gone: r.Stays.Gone, Kept: r.Stays.Kept, Unmet: r.Remarks.Unmet, Ungated: r.Remarks.Ungated, Refused: r.Asks.Refused, Passed: r.Remarks.Passed, Merged: r.Remarks.Merged, Resolved: r.Remarks.Resolved, Next: r.Remarks.Next, Derived: r.Remarks.Derived})
	}
	for _, g := range r.Stays.Gone {
		w.ui.Warn("%s is gone upstream %s, and stays as it is; to remove it: skl remove %s", versioned(g.Name, g.Version), g.Since, g.Name)
	}
	for _, k := range r.Stays.Kept {
		w.ui.Warn("kept %s", versioned(k.Name, k.Version))
	}
	for _, wish := range r.Asks.Wishes {
		wish.Warn(w.ui)
	}
	if len(c.List) == 0 && len(r.Unlinked) > 0 {
		return nil // there was nothing but links
	}
	count := map[install.Action]int{}
	drawn := w.drawAdded(r)
	for _, h := range r.Asks.Refused {
		w.ui.Print("would hold %s  %s", h.Name, h.Why)
		for _, hint := range h.Hints {
			w.ui.Note("hint: %s", hint)
		}
	}
	for _, change := range c.List {
		count[change.Action]++
		if slices.ContainsFunc(r.Asks.Refused, func(h apply.Held) bool { return h.Name == change.Name }) {
			continue
		}
		if !drawn || change.Action != install.Add {
			w.printChange(change, r)
		}
	}
	verb := "done"
	if r.DryRun {
		verb = "nothing was changed (--dry-run)"
	}
	defer w.printUngated(r.Remarks.Ungated)
	defer w.printUnmet(r.Remarks.Unmet)
	if !c.Any() && r.LockState == "unchanged" {
		with := " with skl.lock" // and nobody asked whether there is anything else
		if r.Compared {
			with = ""
		}
		w.ui.Print("%s up to date%s in %s", diag.Count(len(c.List), "skill"), with, w.rootsOf(c.List))
		return nil
	}
	var parts []string
	for _, a := range []install.Action{install.Add, install.Update, install.Remove, install.Link, install.Held} {
		if count[a] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[a], a))
		}
	}
	w.ui.Detail("%s: %s", verb, strings.Join(parts, ", "))
	if r.DryRun {
		w.ui.Note("%s", verb)
		return nil
	}
	if drawn {
		return nil
	}
	if undo := w.undo(r); undo != "" {
		notes, usual := w.usesOf(c)
		w.ui.Page(ui.Painted(draw.Next(w.ui.Look(), notes, usual, w.committed(r), undo)))
		return nil
	}
	if r.LockState == "changed" {
		w.ui.Note("wrote %s and %s: commit them", w.scope.Short(filepath.Join(w.scope.Base, "skl.toml")), w.scope.Short(filepath.Join(w.scope.Base, "skl.lock")))
	}
	if count[install.Add]+count[install.Update] > 0 {
		w.printUses(c)
	}
	return nil
}

// committed are the files of a project that a change is to be committed with.
func (w *world) committed(r apply.Result) []string {
	if r.LockState != "changed" || w.scope.Project == "" {
		return nil
	}
	return []string{w.scope.Short(filepath.Join(w.scope.Base, "skl.toml")), w.scope.Short(filepath.Join(w.scope.Base, "skl.lock"))}
}

// undo is the command that takes an update back, on a terminal: "" where it would not be one of a few versions that can be named.
func (w *world) undo(r apply.Result) string {
	if !w.ui.Screen {
		return ""
	}
	command, n := "skl install", 0
	for _, c := range r.Changes.List {
		if c.Action != install.Update && c.Action != install.Keep || c.From == c.To || c.From == "" {
			continue
		}
		s, _ := r.Lock.Skill(c.Name)
		parsed, err := ref.Parse(s.Ref)
		if n++; err != nil || s.RefKind != lock.Range || n > 3 {
			return ""
		}
		parsed.Version = c.From
		command += " " + diag.Quote(parsed.String())
	}
	if n == 0 {
		return ""
	}
	return command
}

// printUnmet says what skills need and is not there.
func (w *world) printUnmet(all []apply.Unmet) {
	for _, u := range all {
		if u.Needs == "" {
			w.ui.Warn("%s: %s", u.Name, u.Why)
			continue
		}
		w.ui.Warn("%s needs %s (%s), which is not installed", u.Name, u.Needs, u.File)
		switch {
		case u.Why != "":
			w.ui.Hint("%s", u.Why)
		case ref.IsWord(u.Needs):
			w.ui.Hint("its files do not say where %s is: skl search %s", u.Needs, u.Needs)
		}
	}
}

// printUngated says which limits of skills agents do not keep, and where that was asked for how a person keeps these skills from them.
func (w *world) printUngated(all []apply.Ungated) {
	offered, seen := false, map[string]bool{}
	for _, u := range all {
		about := u.Name + "\x00" + strings.Join(u.Limits, ", ")
		if !seen[about] {
			seen[about] = true
			var ids []string
			for _, o := range all {
				if o.Name+"\x00"+strings.Join(o.Limits, ", ") == about && !slices.Contains(ids, o.Host) {
					ids = append(ids, o.Host)
				}
			}
			w.ui.Warn("%s sets %s, which these agents do not keep: %s", u.Name, strings.Join(u.Limits, ", "), strings.Join(ids, ", "))
		}
		offered = offered || u.Setting != nil || u.Convert != "" || u.Leave != nil
	}
	for _, u := range all {
		if u.Convert != "" {
			w.ui.Note("%s: skl convert %s --to %s -o DIR writes it with the keys that %s keeps", u.Host, diag.Quote(w.scope.Short(u.Path)), u.Convert, u.Host)
		}
		if u.Leave != nil {
			how := "in place of"
			if u.Leave.Over == 0 {
				how = "added as"
			}
			w.ui.Note("%s: no link, with this %s line %d of skl.toml", u.Host, how, u.Leave.Line)
			for _, line := range u.Leave.Lines {
				w.ui.Note("  %s", line)
			}
		}
		switch {
		case u.Setting == nil:
		case u.Setting.File == "":
			w.ui.Note("%s: %s", u.Host, u.Setting.Text)
		default:
			w.ui.Note("%s: in %s", u.Host, u.Setting.File)
			for line := range strings.SplitSeq(u.Setting.Text, "\n") {
				w.ui.Note("  %s", line)
			}
		}
	}
	if len(all) > 0 && !offered {
		w.ui.Hint("skl install --gate says how to keep it from them")
	}
}

// printUses says which agents load what was installed, and which do not.
func (w *world) printUses(c install.Changes) {
	notes, usual := w.usesOf(c)
	for _, n := range notes {
		w.ui.Warn("%s", n)
	}
	if usual != "" {
		w.ui.Note("%s", usual)
	}
}

// usesOf is what printUses says: first of agents that do not load what was installed, then the usual.
func (w *world) usesOf(c install.Changes) (notes []string, usual string) {
	named, loaded := false, false
	var names []string
	for _, change := range c.List {
		for _, h := range change.Hosts {
			named = true
			if name := w.scope.OtherName(h.Host, change.Root); name != "" && !slices.Contains(names, w.scope.Short(name)) {
				names = append(names, w.scope.Short(name))
			}
			switch {
			case len(h.Unclear) > 0 && (h.Use == "loads" || h.Use == "listed"):
				notes = append(notes, "whether "+h.Host+" loads "+change.Name+" is not known: "+w.scope.Short(h.Unclear[0])+" could not be read")
			case h.Use == "loads" || h.Use == "listed":
				loaded = true
			case h.Off != nil:
				notes = append(notes, h.Host+" is told not to load "+change.Name+", in "+w.scope.Short(h.Off.File))
			default:
				notes = append(notes, h.Host+" "+doesWith(h.Use, change.Name))
			}
		}
	}
	switch {
	case loaded:
		usual = "agents load it from their next start; skl list shows which copy each one loads"
	case !named && !w.anyReads(c.List):
		usual = "no agent reads " + w.rootsOf(c.List) + ": add --host AGENT for those that are to load it"
	case !named:
		usual = "agents that read " + w.rootsOf(c.List) + " load it from their next start; for others add --host AGENT"
	}
	if len(names) > 0 {
		usual += "; no links in " + joinWords(names) + ", which is " + w.rootsOf(c.List) + " by another name"
	}
	return notes, usual
}

// anyReads reports whether there is an agent that reads a root that changes are made in.
func (w *world) anyReads(changes []install.Change) bool {
	return slices.ContainsFunc(changes, func(c install.Change) bool {
		return w.scope.IsRead(c.Root)
	})
}

// rootsOf are the roots that changes are made in, as a person reads them.
func (w *world) rootsOf(changes []install.Change) string {
	var dirs []string
	for _, c := range changes {
		if dir := w.scope.Short(c.Root); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	if len(dirs) == 0 {
		dirs = []string{w.scope.Short(w.scope.Site.Home(""))}
	}
	slices.Sort(dirs)
	return joinWords(dirs)
}

// doesWith says in words why an agent does not load a skill.
func doesWith(use, name string) string {
	switch use {
	case "hidden":
		return "loads another copy of " + name + "; skl list --shadowed shows them"
	case "unstable":
		return "loads this copy of " + name + " or another, not always the same; skl list --shadowed shows them"
	case "untrusted":
		return "loads " + name + " only when it is told to trust this folder"
	}
	return "does not read " + name
}

// drawAdded draws on a terminal what was added, and reports whether it did.
func (w *world) drawAdded(r apply.Result) bool {
	if !w.ui.Screen || r.DryRun {
		return false
	}
	var added []draw.Added
	for _, c := range r.Changes.List {
		if c.Action != install.Add {
			continue
		}
		added = append(added, w.addedOf(c, r.Lock, r.Asks.Asked))
		w.printKept(c.Name, r)
	}
	if len(added) == 0 {
		return false
	}
	notes, usual := w.usesOf(r.Changes)
	w.ui.Page(ui.Painted(draw.After(w.ui.Look(), added, w.committed(r), notes, usual, w.ui.Verbose, w.apply.AgentsOf, diag.Size)))
	return true
}

// fewNames is how many programs, hosts and others of a kind a line names.
const fewNames = 5

// neededBy says which other skills a skill is there for.
func neededBy(c install.Change) string { return "needed by " + strings.Join(c.RequiredBy, ", ") }

// addedOf is a skill that is added, in the words of a reader.
func (w *world) addedOf(c install.Change, l *lock.Lock, asked map[string]apply.Asked) draw.Added {
	s, _ := l.Skill(c.Name)
	a := draw.Added{Name: c.Name, Version: c.To, Source: draw.From(c.Source, s.URL), Files: c.Files, Bytes: c.Bytes, Signed: w.apply.SignedWord(c, l), Root: w.scope.Short(c.Root), Copies: c.Copies, Asks: asked[c.Name].Report.Summary(fewNames)}
	for _, link := range c.Links {
		a.Links = append(a.Links, w.scope.Short(filepath.Dir(link)))
	}
	if len(c.RequiredBy) > 0 {
		a.Asks = append([]string{neededBy(c)}, a.Asks...)
	}
	return a
}

// agree shows what is about to be added and asks for one yes; --yes gives it, and where nobody can be asked the command line
// is the yes.
func (w *world) agree(_ context.Context, p apply.Proposal) (bool, error) {
	if w.ui.Yes || !w.ui.CanAsk() {
		return true, nil
	}
	var added []draw.Added
	for _, c := range p.Add {
		added = append(added, w.addedOf(c, p.Lock, p.Asked))
	}
	w.ui.Show(draw.Before(w.ui.ErrLook(), added, diag.Size))
	question := "install?"
	if names := draw.Agents(p.Hosts); len(names) > 0 && len(names) < 6 {
		question = "install for " + strings.Join(names, ", ") + "?"
	}
	for {
		answer, err := w.ui.Letters(question, []ask.Letter{{Key: "y", Word: "yes"}, {Key: "f", Word: "files"}, {Key: "n", Word: "no"}}, "y")
		if err != nil || answer != "f" {
			return answer == "y", err
		}
		for _, a := range added {
			files, err := p.Files(a.Name)
			if err != nil {
				return false, err
			}
			for _, file := range files {
				w.ui.Show(w.ui.ErrLook().Lines(screen.L(screen.T("  " + a.Name + "/" + file))))
			}
		}
	}
}

// gained shows what an update asks for anew, and asks whether it may have that. --yes does not answer.
func (w *world) gained(g apply.Gain) (bool, error) {
	w.ui.Show(draw.Gained(w.ui.ErrLook(), g))
	for {
		answer, err := w.ui.Letters(g.Name+" asks for more than was accepted:", []ask.Letter{{Key: "d", Word: "diff"}, {Key: "a", Word: "accept"}, {Key: "k", Word: "keep " + screen.Version(g.From)}}, "")
		if err != nil || answer != "d" {
			return answer == "a", err
		}
		files, err := g.Files()
		if err != nil {
			return false, err
		}
		w.ui.Show(draw.Diff(w.ui.ErrLook(), inspect.Diff{Name: g.Name, From: g.From, To: g.To, Files: files}, false))
	}
}

// versioned is a name with its version, if it has one.
func versioned(name, version string) string { return strings.TrimSpace(name + " " + version) }

func (w *world) printChange(c install.Change, r apply.Result) {
	where := w.scope.Short(filepath.Join(c.Root, c.Name))
	kind := map[bool]string{false: "link", true: "copy"}[c.Copies]
	for _, l := range c.Links {
		where += ", " + kind + " in " + w.scope.Short(filepath.Dir(l))
	}
	mark := ui.Painted(w.ui.Done())
	if r.DryRun {
		mark = "would"
	}
	switch c.Action {
	case install.Add:
		w.ui.Print("%s add %s  %s, %s, %s  %s", mark, versioned(c.Name, c.To), diag.Count(c.Files, "file"), diag.Size(c.Bytes), w.apply.SignedWord(c, r.Lock), where)
		if len(c.RequiredBy) > 0 {
			w.ui.Print("    %s", neededBy(c))
		}
		for _, line := range r.Asks.Asked[c.Name].Report.Summary(fewNames) {
			w.ui.Print("    %s", line)
		}
	case install.Update:
		if c.Moves() {
			w.ui.Print("%s move %s  %s → %s", mark, versioned(c.Name, c.To), w.scope.Short(c.MovedFrom), where)
			break
		}
		if c.From == c.To && c.Before() == c.Digest {
			w.ui.Print("%s restore %s  %s", mark, versioned(c.Name, c.To), where)
			break
		}
		if w.ui.Screen && !r.DryRun {
			w.ui.Page(ui.Painted(draw.Update(w.ui.Look(), draw.Updated{Name: c.Name, From: c.From, To: c.To, Content: w.apply.ContentChange(c), Asks: changesOf(r, c)})))
			break
		}
		w.ui.Print("%s update %s %s → %s  %s%s", mark, c.Name, orDash(c.From), c.To, w.apply.ContentChange(c), where)
		for _, line := range changesOf(r, c) {
			w.ui.Print("    %s", line)
		}
	case install.Keep:
		if c.From != "" && c.From != c.To {
			if w.ui.Screen && !r.DryRun {
				w.ui.Page(ui.Painted(draw.Update(w.ui.Look(), draw.Updated{Name: c.Name, From: c.From, To: c.To, Content: w.apply.ContentChange(c), Asks: changesOf(r, c)})))
				break
			}
			w.ui.Print("%s update %s %s → %s  the same files  %s", mark, c.Name, c.From, c.To, where)
		}
	case install.Remove:
		w.ui.Print("%s remove %s", mark, versioned(c.Name, c.From))
	case install.Link:
		if gone := c.Unlinked(); len(gone) > 0 {
			w.ui.Print("%s unlink %s  %s", mark, c.Name, w.scope.Short(gone[0]))
			break
		}
		w.ui.Print("%s link %s  %s", mark, c.Name, where)
	case install.Held:
		w.ui.Warn("%s has local edits and stays as it is; skl diff %s shows them", c.Name, c.Name)
	}
	for _, path := range c.Stays() {
		w.ui.Warn("%s is a copy of %s that has local edits and stays as it is; skl install --force replaces it, after a backup", w.scope.Short(path), c.Name)
	}
	w.printKept(c.Name, r)
}

// changesOf is what an update asks for anew, and no longer.
func changesOf(r apply.Result, c install.Change) (lines []string) {
	for _, p := range r.Asks.Asked[c.Name].Changes {
		lines = append(lines, p.String())
	}
	return lines
}

// printKept says what became of files that were replaced or damaged.
func (w *world) printKept(name string, r apply.Result) {
	for _, path := range r.Report.Backups[name] {
		w.ui.Note("%s: the replaced files are kept in %s", name, w.scope.Short(path))
	}
	if slices.Contains(r.Report.Healed, name) {
		w.ui.Note("%s: the stored copy was damaged; it was fetched again", name)
	}
}
