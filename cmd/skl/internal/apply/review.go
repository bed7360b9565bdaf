package apply

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// permLoadCommand is asked for by a skill whose SKILL.md holds commands that some
// agents run while they load it.
const permLoadCommand = "load-command"

// A Wish is what a skill wishes for and nobody accepted yet.
type Wish struct {
	Skill      string
	Permission string
	Lines      []string // where it shows: "SKILL.md:12  !`git status`"
	Fresh      bool     // of a skill that is not here: it needs consent where an update brings the skill in, and not where a person asks for it
	By         string   // of one that an update brings in: the skills that need it
	Unsaid     bool     // of one that skl.lock has, and does not say that of
}

// Materials are releases that are about to be read.
type materials struct {
	want   []lock.Skill // what is found out is written into them
	errs   []error      // of them, in their order: those that have one already are left alone
	old    *lock.Lock
	have   map[string]install.Have
	dry    bool
	alone  bool                   // what cannot be had of one does not stop the others
	stays  func(*lock.Skill) bool // an entry of old keeps its name; nil if all do
	chosen func(name string) bool // the entry was chosen anew
}

// materialise fetches what is missing and reads what each release says of itself. Into an entry that was chosen anew it
// writes that (generated_from, permissions), and returns what nobody accepted yet of each. An entry that was kept from a
// lock has to say the same, or is refused: see checkContent. The errors of releases go to m; the error that is returned is of none of them.
func (a *Applier) materialise(ctx context.Context, in *installer, m materials) ([][]Wish, error) {
	in.peeked.keep = m.dry
	var todo []lock.Skill
	var at []int
	for i := range m.want {
		if m.errs[i] == nil {
			todo, at = append(todo, m.want[i]), append(at, i)
		} else if !m.alone {
			return nil, m.errs[i]
		}
	}
	errs := in.Materialise(ctx, todo, m.have, m.dry, m.alone)
	wishes := make([][]Wish, len(m.want))
	for n, i := range at {
		m.want[i] = todo[n]
		if m.errs[i] = errs[n]; m.errs[i] == nil {
			wishes[i], m.errs[i] = a.says(ctx, in, &m.want[i], m)
		}
		if m.errs[i] != nil && !m.alone {
			return nil, m.errs[i]
		}
	}
	return wishes, ctx.Err()
}

// says reads what the files of one release say, which are here.
func (a *Applier) says(ctx context.Context, in *installer, s *lock.Skill, m materials) ([]Wish, error) {
	front, stored, err := in.front(s, m.have[s.Name])
	if err != nil || front.Text == nil { // it was edited, and its release is nowhere on this machine: it stays as it is
		return nil, err
	}
	if !m.chosen(s.Name) {
		var wishes []Wish
		err := checkContent(*s, front)
		if err == nil {
			wishes, err = in.settled(s, m.have)
		}
		if err == nil {
			err = in.locked(*s, m.have[s.Name])
		}
		if err != nil && stored && damaged(in.Installer, *s) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		return wishes, nil
	}
	is := Says(front)
	s.GeneratedFrom, s.Permissions = is.generatedFrom, is.permissions
	was, had := m.old.Skill(s.Name)
	if !had && m.stays != nil {
		if was, had = predecessor(s, m.old, m.stays); had {
			in.renamed[s.Name] = strings.TrimSpace(was.Name + " " + was.Version)
		}
	}
	if _, told := in.asked[s.Name]; !told && (!had || was.Tree != s.Tree) {
		a.tellIdle(*s, is.idle)
		for _, text := range is.doubts {
			a.Scope.Tell.Warn("%s: %s", s.Name, text)
		}
		a.tellNear(*s, front)
	}
	more, err := a.gained(ctx, in, s, was, m.have, is.Lines)
	if err != nil {
		return nil, err
	}
	found, err := in.findings(s, was, m.have[s.Name])
	return append(more, found...), err
}

// tellIdle says which keys of a skill have no effect.
func (a *Applier) tellIdle(s lock.Skill, keys []string) {
	if len(keys) == 0 {
		return
	}
	remedy := "its author adds it"
	if s.Source == "local" {
		remedy = "skl convert " + diag.Quote(s.Ref) + " --to v1 adds it"
	}
	a.Scope.Tell.Warn("%s: %s; %s", s.Name, skill.IdleText(keys), remedy)
}

// tellNear says what in the text of a skill is nearly a tree.
func (a *Applier) tellNear(s lock.Skill, front Front) {
	doc, err := skill.ReadWith(front.Text, front.Sidecar)
	if err != nil {
		return // which is said elsewhere
	}
	for _, f := range tree.Near(doc, front.Text) {
		a.Scope.Tell.Warn("%s: %s [%s]; skl run refuses it, and agents take it for text", s.Name, f.Message, f.Rule)
	}
}

// front is the front of a release: as it was fetched, is installed or is stored. It is empty if the release is none of these.
func (in *installer) front(s *lock.Skill, h install.Have) (front Front, stored bool, err error) {
	if front, ok := in.peeked.frontOf(s); ok {
		return front, false, nil
	}
	return skillFront(in.Installer, *s, h)
}

// skillFront is the front of a release that was not fetched: as it is installed, or as it is stored. It is empty if the
// release is neither.
func skillFront(in *install.Installer, s lock.Skill, h install.Have) (front Front, stored bool, err error) {
	if h.Holds(s.Tree) {
		front, err = frontOf(h.Path)
		return front, false, err
	}
	if !in.Store.Has(s.Tree) {
		return Front{}, false, nil
	}
	front, err = frontIn(in.Store.FS(s.Tree))
	return front, true, err
}

// damaged reports whether the stored copy of s is not what its name says. Then it is fetched again before it is installed.
func damaged(in *install.Installer, s lock.Skill) bool {
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if bundle.ExactFS(in.Store.FS(s.Tree), guard) != nil {
		return true
	}
	sum, err := guard.Close()
	return err != nil || sum.Tree != s.Tree
}

func generatedFrom(doc *skill.Document) map[string]string {
	if doc.V1 == nil || doc.V1.GeneratedFrom == nil {
		return nil
	}
	g := doc.V1.GeneratedFrom
	out := map[string]string{}
	for key, value := range map[string]string{"ecosystem": g.Ecosystem, "package": g.Package, "version": g.Version, "source_hash": g.SourceHash} {
		if value != "" {
			out[key] = value
		}
	}
	return out
}

// consent shows what a skill wishes for and asks for it; where nobody can be asked it is
// refused (exit 4). from and to are its versions, accepted what was accepted of it beforehand.
func (a *Applier) consent(mine []Wish, from, to string, accepted []string) error {
	wish := mine[0]
	for _, w := range mine {
		w.Warn(a.Scope.Tell)
	}
	yes, err := a.Ask.Confirm("install " + wish.Skill + " all the same?")
	if !errors.Is(err, ask.ErrNobody) && (err != nil || yes) {
		return err
	}
	return refusal(mine, from, to, accepted)
}

// refusal is the error of what a skill wishes for and nobody agreed to.
func refusal(mine []Wish, from, to string, accepted []string) error {
	wish := mine[0]
	if wish.Unsaid {
		return unsaidRefusal(mine, to, "add")
	}
	if len(mine) > 1 || wish.Permission != permLoadCommand {
		return escalation(mine, from, to, accepted)
	}
	return diag.New(diag.Refused, "load_commands", "%s runs %s when an agent loads it: %s", wish.Skill, diag.Count(len(wish.Lines), "command"), strings.Join(wish.Lines, "; ")).
		Hint("accept that: add --accept %s", wish.Permission)
}

// Warn tells what the skill does.
func (w Wish) Warn(tell scope.Teller) {
	if w.isFinding() {
		for _, line := range w.Lines[:min(len(w.Lines), 3)] {
			tell.Warn("%s: %s [%s]", w.Skill, line, w.Permission)
		}
		return
	}
	if w.Permission != permLoadCommand {
		tell.Warn("%s asks for %s  %s", w.Skill, w.Permission, strings.Join(w.Lines[:min(len(w.Lines), 3)], ", "))
		return
	}
	tell.Warn("%s runs commands when an agent loads it:", w.Skill)
	for _, line := range w.Lines {
		tell.Warn("  %s", line)
	}
}

// An installer keeps the SKILL.md of what it fetches.
type installer struct {
	*install.Installer
	peeked  *peek
	asked   map[string]Asked               // by skill
	reports map[bundle.Digest]audit.Report // what was computed already, by tree
	unsaid  []string                       // skills of which skl.lock does not say by these rules what they ask for
	renamed map[string]string              // by skill that had another name before: that and the version
}

// installer works on the scope's root with links for these hosts.
func (a *Applier) installer(hostIDs []string, links string) (*installer, error) {
	in, err := a.Scope.Installer(hostIDs, links)
	if err != nil {
		return nil, err
	}
	out := &installer{in, &peek{docs: map[string]Front{}, links: map[string]map[string]string{}, from: map[string]lock.Skill{}}, map[string]Asked{}, map[bundle.Digest]audit.Report{}, nil, map[string]string{}}
	fetch := in.Fetch
	in.Fetch = func(ctx context.Context, s lock.Skill, sink bundle.Sink) error {
		out.peeked.forget(s)
		return fetch(ctx, s, peekSink{sink, s.Name, out.peeked})
	}
	return out, nil
}

// peek keeps the SKILL.md of bundles that pass by.
type peek struct {
	mu    sync.Mutex
	docs  map[string]Front             // by skill
	keep  bool                         // the whole of each
	files map[string][]audit.File      // by skill
	links map[string]map[string]string // by skill: where links lead, by their paths
	from  map[string]lock.Skill        // by skill: the release that was fetched
}

type peekSink struct {
	bundle.Sink
	name string
	to   *peek
}

func (s peekSink) File(path string, executable bool, size int64, r io.Reader) error {
	if s.to.keep {
		var done func()
		r, done = s.to.whole(s.name, path, executable, r)
		defer done()
	}
	if path != skill.FileName && path != skill.SidecarName && path != resolver.OwnManifest && path != resolver.APMManifest {
		return s.Sink.File(path, executable, size, r)
	}
	var kept capped
	if err := s.Sink.File(path, executable, size, io.TeeReader(r, &kept)); err != nil {
		return err
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	front := s.to.docs[s.name]
	switch path {
	case skill.FileName:
		front.Text = kept
	case resolver.OwnManifest:
		front.Manifest = append([]byte{}, kept...) // an empty one is there too
	case resolver.APMManifest:
		front.APM = append([]byte{}, kept...)
	default:
		front.Sidecar = append([]byte{}, kept...)
	}
	s.to.docs[s.name] = front
	return nil
}

// Link implements [bundle.Sink].
func (s peekSink) Link(path, target string) error {
	if s.to.keep {
		s.to.mu.Lock()
		if s.to.links[s.name] == nil {
			s.to.links[s.name] = map[string]string{}
		}
		s.to.links[s.name][path] = target
		s.to.mu.Unlock()
	}
	return s.Sink.Link(path, target)
}

// forget drops the files of a skill that is fetched once more.
func (p *peek) forget(s lock.Skill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.files, s.Name)
	delete(p.links, s.Name)
	delete(p.docs, s.Name)
	p.from[s.Name] = s
}

// frontOf is the front of a release, if its files were fetched, and those of no other since.
func (p *peek) frontOf(s *lock.Skill) (Front, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	front, ok := p.docs[s.Name]
	return front, ok && p.from[s.Name].SameRelease(*s)
}

// fetched reports whether the files of a release were fetched by this command, and those of no other since.
func (in *installer) fetched(s *lock.Skill) bool {
	_, ok := in.peeked.frontOf(s)
	return ok
}

// maxPeek bounds what is kept of a SKILL.md and the files beside it, in bytes: one more than is read of any of them, so that what was cut is refused.
const maxPeek = 1<<20 + 1

// capped keeps the first maxPeek bytes written to it.
type capped []byte

func (c *capped) Write(p []byte) (int, error) {
	*c = append(*c, p[:min(len(p), maxPeek-len(*c))]...)
	return len(p), nil
}
