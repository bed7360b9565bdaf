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
)

// permLoadCommand is asked for by a skill whose SKILL.md holds commands that some
// agents run while they load it.
const permLoadCommand = "load-command"

// A Wish is what a skill wishes for and nobody accepted yet.
type Wish struct {
	Skill      string
	Permission string
	Lines      []string // where it shows: "SKILL.md:12  !`git status`"
}

// materialise fetches what is missing and reads what each release says of itself. Into an entry that was chosen anew it
// writes that (generated_from, permissions), and returns what nobody accepted yet. An entry that was kept from a
// lock has to say the same, or is refused: see checkContent.
func (a *Applier) materialise(ctx context.Context, in *installer, want []lock.Skill, old *lock.Lock, have map[string]install.Have, dry bool, chosen func(string) bool) ([]Wish, error) {
	in.peeked.keep = dry
	if err := in.Materialise(ctx, want, have, dry); err != nil {
		return nil, err
	}
	var wishes []Wish
	for i := range want {
		s := &want[i]
		front, stored, err := in.front(s, have[s.Name])
		if err != nil {
			return nil, err
		}
		switch {
		case front.Text == nil:
			// It was edited, and its release is nowhere on this machine: it stays as it is.
		case chosen(s.Name):
			is := Says(front)
			s.GeneratedFrom, s.Permissions = is.generatedFrom, is.permissions
			_, told := in.asked[s.Name]
			if was, had := old.Skill(s.Name); !told && (!had || was.Tree != s.Tree) {
				a.tellIdle(*s, is.idle)
			}
			was, _ := old.Skill(s.Name)
			more, err := a.gained(ctx, in, s, was, have, is.Lines)
			if err != nil {
				return nil, err
			}
			found, err := in.findings(s, was, have[s.Name])
			if err != nil {
				return nil, err
			}
			wishes = append(append(wishes, more...), found...)
		default:
			err := checkContent(*s, front)
			if err == nil {
				err = in.settled(s, have)
			}
			if err == nil {
				err = in.locked(*s, have[s.Name])
			}
			if err != nil && !(stored && damaged(in.Installer, *s)) {
				return nil, err
			}
		}
	}
	return wishes, nil
}

// tellIdle says which keys of a skill have no effect.
func (a *Applier) tellIdle(s lock.Skill, keys []string) {
	if len(keys) == 0 {
		return
	}
	remedy := "its author adds it"
	if s.Source == "local" {
		remedy = "skl convert " + scope.Quote(s.Ref) + " --to v1 adds it"
	}
	a.Tell.Warn("%s: %s; %s", s.Name, skill.IdleText(keys), remedy)
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
	if h.Present && h.Managed && h.Edits == nil && h.Receipt.Tree == s.Tree {
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

// consent shows what skills wish for and asks for it; where nobody can be asked it is
// refused (exit 4) unless they were accepted.
func (j *job) consent(wishes []Wish) error {
	for _, mine := range bySkill(wishes) {
		wish := mine[0]
		for _, w := range mine {
			w.Warn(j.Tell)
		}
		yes, err := j.Ask.Confirm("install " + wish.Skill + " all the same?")
		if errors.Is(err, ask.ErrNobody) || err == nil && !yes {
			if len(mine) > 1 || wish.Permission != permLoadCommand {
				old, _ := j.files.Lock.Skill(wish.Skill)
				next, _ := j.next.Skill(wish.Skill)
				return escalation(mine, old.Version, next.Version, j.accept)
			}
			return diag.New(diag.Refused, "load_commands", "%s runs %s when an agent loads it: %s", wish.Skill, diag.Count(len(wish.Lines), "command"), strings.Join(wish.Lines, "; ")).
				Hint("accept that: add --accept %s", wish.Permission)
		}
		if err != nil {
			return err
		}
	}
	return nil
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
}

// installer works on the scope's root with links for these hosts.
func (a *Applier) installer(hostIDs []string, links string) (*installer, error) {
	in, err := a.Installer(hostIDs, links)
	if err != nil {
		return nil, err
	}
	out := &installer{in, &peek{docs: map[string]Front{}, from: map[string]lock.Skill{}}, map[string]Asked{}, map[bundle.Digest]audit.Report{}, nil}
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
	docs  map[string]Front        // by skill
	keep  bool                    // the whole of each
	files map[string][]audit.File // by skill
	from  map[string]lock.Skill   // by skill: the release that was fetched
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

// forget drops the files of a skill that is fetched once more.
func (p *peek) forget(s lock.Skill) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.files, s.Name)
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

// front is the front of the skill name, if its files were fetched.
func (p *peek) front(name string) (Front, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	front, ok := p.docs[name]
	return front, ok
}

// maxPeek bounds what is kept of a SKILL.md and the files beside it, in bytes: one more than is read of any of them, so that what was cut is refused.
const maxPeek = 1<<20 + 1

// capped keeps the first maxPeek bytes written to it.
type capped []byte

func (c *capped) Write(p []byte) (int, error) {
	*c = append(*c, p[:min(len(p), maxPeek-len(*c))]...)
	return len(p), nil
}
