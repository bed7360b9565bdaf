package apply

import (
	"cmp"
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/spell"
)

// CodeEscalation is the code of a release that asks for more than the one that is here, where nobody accepted that.
const CodeEscalation = "permission_escalation"

// asks computes what the release s asks for, from its files on this machine; ok is false if there are none.
func (in *installer) asks(s lock.Skill, h install.Have) (r audit.Report, ok bool, err error) {
	if r, ok := in.reports[s.Tree]; ok && s.Tree != "" {
		return r, true, nil
	}
	list, ok, err := in.files(s, h)
	if err != nil || !ok {
		return nil, false, err
	}
	r = audit.Read(list)
	if s.Tree != "" && in.peeked.files[s.Name] == nil {
		in.reports[s.Tree] = r
	}
	return r, true, nil
}

// gained fills in what a release that was chosen anew asks for, and returns what of it needs consent. Of a skill that is not here all but
// load-time commands is Fresh. What an update asks for is compared with the files of the release that was here, not with what skl.lock says
// of it; where these cannot be had any more, nothing was accepted.
func (a *Applier) gained(ctx context.Context, in *installer, s *lock.Skill, old lock.Skill, have map[string]install.Have, lines []string) (wishes []Wish, err error) {
	h := have[s.Name]
	now, ok, err := in.asks(*s, h)
	if err != nil || !ok {
		return nil, err
	}
	next := now.Set()
	s.Permissions = audit.Locked(next)
	in.asked[s.Name] = Asked{Report: now}
	var before audit.Set
	var was audit.Report // of the release that was here
	changes := []PermissionChange{}
	if old.Name == "" {
		old = unlocked(h)
	}
	switch {
	case old.Name == "":
		changes = PermissionDiff(nil, now)
	case old.Tree == s.Tree && s.Tree != "", old.SameBytes(*s):
		before = next
		if !h.Holds(s.Tree) { // these bytes were agreed to as far as the lock names what they ask for
			wishes = unsaidWishes(old, now)
		}
	default:
		var list []audit.File
		if list, ok, err = in.kept(old, h); ok {
			was = audit.Read(list)
		}
		if (err != nil || !ok) && old.Source != "local" {
			var t trees.Tree
			if t, err = trees.Release(ctx, a.Scope, old); err == nil {
				was, ok = t.Asks(), true
			} else if ctx.Err() != nil {
				return nil, err
			}
		}
		if !ok {
			was = nil
		}
		before = was.Granted(now)
		changes = PermissionDiff(was, now)
		in.asked[s.Name] = Asked{now, changes}
	}
	if old.Name != "" {
		h.Permissions = audit.Locked(before)
		have[s.Name] = h
	}
	if s.Source == "embedded" {
		return wishes, nil // it comes with the program that asks
	}
	for _, c := range wanting(changes, now, false) {
		w := Wish{Skill: s.Name, Permission: c.Permission, Lines: places(c.Places), Fresh: old.Name == ""}
		if c.Permission == permLoadCommand {
			w.Lines, w.Fresh = lines, false
		}
		wishes = append(wishes, w)
	}
	return wishes, nil
}

// unlocked is the release of an installed skill that skl.lock does not have, as its receipt tells it: it is what an update is compared with. Of
// files that were edited, or are gone, nothing was accepted.
func unlocked(h install.Have) lock.Skill {
	if !h.Managed {
		return lock.Skill{}
	}
	r := h.Receipt
	s := lock.Skill{Name: r.Name, Version: r.Version, Source: "local"} // its place is not known, so it is not fetched
	if h.Holds(r.Tree) {
		s.Tree = r.Tree
	}
	return s
}

// wanting are those changes of what a release asks for that want a yes: of a first install, load-time commands alone.
func wanting(changes []PermissionChange, now audit.Report, first bool) []PermissionChange {
	load := audit.Permission{Kind: audit.Load}
	loads := slices.ContainsFunc(changes, func(c PermissionChange) bool { return !c.Gone && c.Permission == permLoadCommand })
	return slices.DeleteFunc(slices.Clone(changes), func(c PermissionChange) bool {
		switch p, _ := audit.Parse(c.Permission); {
		case c.Gone || !c.Escalates:
			return true
		case p == load:
			return false
		default: // the wish for load-command shows commands as they are
			return first || loads && amongPlaces(now.At(p), now.At(load))
		}
	})
}

// amongPlaces reports whether all places of a are among those of b. Long lists are not known to be whole.
func amongPlaces(a, b []audit.Place) bool {
	return len(a) > 0 && len(a) < audit.MaxPlaces && !slices.ContainsFunc(a, func(at audit.Place) bool { return !slices.Contains(b, at) })
}

// Asked is what a release that was chosen anew asks for, and how that differs from the one before.
type Asked struct {
	Report  audit.Report
	Changes []PermissionChange // of an update
}

// places are positions as a person reads them.
func places(list []audit.Place) (out []string) {
	for _, at := range list {
		out = append(out, diag.Printable(at.File)+":"+strconv.Itoa(at.Line))
	}
	return out
}

// settled compares what skl.lock says that an entry asks for with its files. An entry that does not say it yet, or by
// other rules, gets it. What it does not say of files that are not here, nobody who read it agreed to: that is wished for.
func (in *installer) settled(s *lock.Skill, have map[string]install.Have) (wishes []Wish, err error) {
	h := have[s.Name]
	r, ok, err := in.asks(*s, h)
	if err != nil || !ok {
		return nil, err
	}
	if err := checkAsks(*s, r); err != nil {
		return nil, err
	}
	if old := unlocked(h); old.Tree != "" && old.Tree != s.Tree { // whoever wrote the lock agreed, and who installs it sees to what
		if was, ok, err := in.kept(old, h); err == nil && ok {
			in.asked[s.Name] = Asked{r, PermissionDiff(audit.Read(was), r)}
		}
	}
	if unsaid(*s, r) {
		in.unsaid = append(in.unsaid, s.Name)
		if !h.Holds(s.Tree) {
			wishes = unsaidWishes(*s, r)
		}
	}
	s.Permissions = audit.Locked(r.Set())
	h.Permissions = s.Permissions
	if h.Present {
		have[s.Name] = h
	}
	return wishes, nil
}

// unnamed are those permissions which want a yes that a release asks for and its entry in a lock does not name.
func unnamed(s lock.Skill, r audit.Report) []PermissionChange {
	return wanting(changesOf(audit.Said(s.Permissions), r.Set(), func(c audit.Change) []audit.Place { return r.At(c.Permission) }), r, false)
}

func unsaidWishes(s lock.Skill, r audit.Report) (wishes []Wish) {
	for _, c := range unnamed(s, r) {
		wishes = append(wishes, Wish{Skill: s.Name, Permission: c.Permission, Lines: places(c.Places), Unsaid: true})
	}
	return wishes
}

// unsaidRefusal is the refusal to install what a lock does not say that a skill asks for. command is what --accept is added to.
func unsaidRefusal(mine []Wish, version, command string) *diag.Error {
	var perms, lines []string
	for _, w := range mine {
		perms, lines = append(perms, w.Permission), append(lines, strings.TrimSpace(w.Permission+" "+strings.Join(w.Lines[:min(len(w.Lines), 1)], "")))
	}
	return diag.New(diag.Refused, CodeEscalation, "skl.lock does not say that %s asks for %s", strings.TrimSpace(mine[0].Skill+" "+version), strings.Join(lines, ", ")).
		Hint("see who changed it: git diff skl.lock").
		Hint("accept that: %s --accept %s", command, diag.Quote(strings.Join(perms, ",")))
}

// unsaid reports whether an entry does not say by these rules what it asks for: by others, or not at all.
func unsaid(s lock.Skill, r audit.Report) bool {
	next := audit.Locked(r.Set())
	return audit.Marked(next) && !slices.Equal(next, s.Permissions) && !slices.Contains(s.Permissions, next[0])
}

// checkAsks refuses an entry that says by these rules that it asks for something else than its files do.
func checkAsks(s lock.Skill, r audit.Report) error {
	if !audit.Agrees(s.Permissions, r.Set()) {
		said := slices.DeleteFunc(slices.Clone(s.Permissions), func(p string) bool { return audit.Marked([]string{p}) })
		return lockDiffers(s, "its list of permissions", listed(said), listed(r.Set().Texts()))
	}
	return nil
}

// escalation is the refusal of an update that asks for more, of one skill.
// Permissions accepted already are repeated by the hint, since --accept has to name all.
func escalation(wishes []Wish, from, to string, accepted []string) *diag.Error {
	if !slices.ContainsFunc(wishes, func(w Wish) bool { return !w.isFinding() }) {
		return findingsRefusal(wishes, accepted)
	}
	perms, lines := slices.Clone(accepted), []string(nil)
	for _, w := range wishes {
		perms = append(perms, w.Permission)
		line := w.Permission
		if len(w.Lines) > 0 {
			line += " (" + w.Lines[0] + ")"
		}
		lines = append(lines, line)
	}
	release := strings.TrimSpace(wishes[0].Skill + " " + to)
	said := release + " asks for more than was accepted of " + cmp.Or(from, "it")
	if by := wishes[0].By; by != "" {
		said = release + " (needed by " + by + ") is new here and asks for"
	}
	e := diag.New(diag.Refused, CodeEscalation, "%s: %s", said, strings.Join(lines, ", "))
	return e.Hint("accept that: add --accept %s", diag.Quote(strings.Join(perms, ",")))
}

// acceptable refuses a misspelt word of --accept, and a reason that skl.toml cannot hold, before anything is asked or fetched. One that is nothing like a permission
// is left to checkAccept, which knows what can be accepted.
func acceptable(words []string, reason string) error {
	if err := checkReason(reason); err != nil {
		return err
	}
	known := []string{signature.PermSigner, resolver.AcceptMoved}
	for _, k := range audit.Kinds() {
		known = append(known, string(k))
	}
	for _, word := range words {
		kind, _, _ := strings.Cut(word, ":")
		if meant := spell.Nearest(kind, known, 3); !couldBeAsked(word) && len(meant) > 0 {
			return noPermission(word).Meant(meant...)
		}
	}
	return nil
}

// couldBeAsked reports whether a word of --accept is one by which something can be accepted.
func couldBeAsked(word string) bool {
	_, ok := audit.Parse(word)
	return ok || word == signature.PermSigner || word == resolver.AcceptMoved || strings.HasPrefix(word, "AUD-")
}

func noPermission(word string) *diag.Error {
	return diag.New(diag.Misuse, "usage", "--accept %s: there is no such permission", diag.Quote(word))
}

// unknownFirst makes err, which came before checkAccept, the error of a word that can accept nothing, if there is one: it is a slip of
// the person, who may think that it was the answer to err.
func unknownFirst(words []string, err *error) {
	if *err == nil || diag.ClassOf(*err) == diag.Misuse {
		return
	}
	for _, word := range words {
		if !couldBeAsked(word) {
			*err = noPermission(word).Hint("words are permissions such as net:HOST, AUD-RULE, signer and moved")
		}
	}
}

// checkAccept refuses words of --accept that are no permission of a skill that was chosen, and nothing else that is accepted. What has
// no argument may be accepted of many skills beforehand.
func checkAccept(accept []string, wishes []Wish, asked map[string]Asked) error {
	could := []string{}
	for _, w := range wishes {
		could = append(could, w.Permission)
	}
	for _, word := range accept {
		p, ok := audit.Parse(word)
		asks := slices.Contains(could, word) || word == signature.PermSigner || word == resolver.AcceptMoved || ok && (p.Kind == audit.Load || p.Kind == audit.Dynamic)
		for _, by := range asked {
			asks = asks || ok && by.Report.At(p) != nil
		}
		if asks {
			continue
		}
		e := diag.New(diag.Misuse, "usage", "--accept %s: no skill that is installed or updated asks for that", diag.Quote(word))
		if len(could) == 0 {
			return e.Hint("nothing has to be accepted: leave it out")
		}
		slices.Sort(could)
		return e.Hint("permissions to accept: --accept %s", diag.Quote(strings.Join(slices.Compact(could), ",")))
	}
	return nil
}

// bySkill splits wishes where the skill changes.
func bySkill(wishes []Wish) (groups [][]Wish) {
	for len(wishes) > 0 {
		n := slices.IndexFunc(wishes, func(w Wish) bool { return w.Skill != wishes[0].Skill })
		if n < 0 {
			n = len(wishes)
		}
		groups, wishes = append(groups, wishes[:n]), wishes[n:]
	}
	return groups
}

// PermissionDiff compares what two trees ask for.
func PermissionDiff(from, to audit.Report) []PermissionChange {
	return changesOf(from.Granted(to), to.Set(), func(c audit.Change) []audit.Place {
		if c.Gone {
			return from.At(c.Permission)
		}
		return to.Gained(from, c.Permission)
	})
}

// changesOf compares two sets of permissions; at says where the one of a change shows.
func changesOf(was, is audit.Set, at func(audit.Change) []audit.Place) []PermissionChange {
	out := []PermissionChange{}
	for _, c := range audit.Compare(was, is) {
		places := at(c)
		if places == nil {
			places = []audit.Place{}
		}
		out = append(out, PermissionChange{c.Permission.String(), c.Gone, c.Escalates, places})
	}
	return out
}

// A PermissionChange is a permission that is newly asked for, or no longer.
type PermissionChange struct {
	Permission string        `json:"permission"`
	Gone       bool          `json:"gone"`
	Escalates  bool          `json:"escalates"` // an update that has it needs consent
	Places     []audit.Place `json:"places"`
}

// String is the change on one line: "+ net:api.ocr.example  scripts/ocr.py:12", and whether nobody is asked about it.
func (c PermissionChange) String() string {
	sign := map[bool]string{false: "+ ", true: "- "}[c.Gone]
	line := sign + c.Permission
	if len(c.Places) > 0 && !c.Gone {
		line += "  " + places(c.Places)[0]
	}
	if !c.Gone && !c.Escalates {
		line += "  (not asked about)"
	}
	return line
}

// FilesGone is the line of an entry of which nobody can say what it asks for.
const FilesGone = "? its files cannot be had"

// lockChanges is how what two entries of a lock ask for differs. What an entry does not say is read from its release; places
// are those of files that are on this machine or can be fetched. Wants are those that want a yes, of a skill that a person asked for anew as of a first
// install; known is false where nobody can say what the entry asks for.
func (a *Applier) lockChanges(ctx context.Context, old, now lock.Skill, first bool) (out, wants []PermissionChange, known bool) {
	report := func(s lock.Skill) (r audit.Report, ok bool) {
		if s.Name == "" {
			return nil, true
		}
		t, err := trees.Release(ctx, a.Scope, s)
		return t.Asks(), err == nil
	}
	to, ok := report(now)
	from, had := report(old)
	if ok && had {
		if out = PermissionDiff(from, to); now.Source == "embedded" {
			return out, nil, true
		}
		return out, wanting(out, to, first), true
	}
	was, _ := audit.FromLock(old.Permissions)
	is, computed := audit.FromLock(now.Permissions)
	out = changesOf(was, is, func(audit.Change) []audit.Place { return nil })
	return out, wanting(out, nil, first), computed
}

// whole keeps the files of bundles that pass by and are stored nowhere.
func (p *peek) whole(name, path string, executable bool, r io.Reader) (io.Reader, func()) {
	kept := cappedFile{sum: sha256.New()}
	return io.TeeReader(r, &kept), func() {
		f := audit.File{Path: path, Data: kept.data, Executable: executable}
		kept.sum.Sum(f.Sum[:0])
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.files == nil {
			p.files = map[string][]audit.File{}
		}
		p.files[name] = append(p.files[name], f)
	}
}

// cappedFile keeps as much of a file as shows that it is too long to be read, and the sum of the whole.
type cappedFile struct {
	data []byte
	sum  hash.Hash
}

func (c *cappedFile) Write(p []byte) (int, error) {
	c.data = append(c.data, p[:min(len(p), audit.MaxFileBytes+1-len(c.data))]...)
	return c.sum.Write(p)
}
