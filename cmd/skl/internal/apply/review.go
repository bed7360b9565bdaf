package apply

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install"
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
func (a *Applier) materialise(ctx context.Context, in *installer, want []lock.Skill, have map[string]install.Have, dry bool, chosen func(string) bool) ([]Wish, error) {
	if err := in.Materialise(ctx, want, have, dry); err != nil {
		return nil, err
	}
	var wishes []Wish
	for i := range want {
		s := &want[i]
		src, fetched := in.peeked.docs[s.Name]
		stored := false
		if !fetched {
			var err error
			if src, stored, err = skillText(in.Installer, *s, have[s.Name]); err != nil {
				return nil, err
			}
		}
		switch {
		case src == nil:
			// It was edited, and its release is nowhere on this machine: it stays as it is.
		case chosen(s.Name):
			wishes = append(wishes, stamp(s, src)...)
		default:
			if err := checkContent(*s, src); err != nil && !(stored && damaged(in.Installer, *s)) {
				return nil, err
			}
		}
	}
	return wishes, nil
}

// skillText is the SKILL.md of a release that was not fetched: as it is installed, or as it is stored. It is nil if the
// release is neither.
func skillText(in *install.Installer, s lock.Skill, h install.Have) (src []byte, stored bool, err error) {
	if h.Present && h.Managed && h.Edits == nil && h.Receipt.Tree == s.Tree {
		src, err = scope.ReadIn(h.Path, skill.FileName)
		return src, false, err
	}
	if !in.Store.Has(s.Tree) {
		return nil, false, nil
	}
	src, err = fs.ReadFile(in.Store.FS(s.Tree), skill.FileName)
	return src, true, err
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

// stamp fills in an entry from its SKILL.md and returns the permissions that are new.
func stamp(s *lock.Skill, src []byte) []Wish {
	is := Says(src)
	accepted := s.Permissions
	s.GeneratedFrom, s.Permissions = is.generatedFrom, is.permissions
	var wishes []Wish
	for _, perm := range is.permissions {
		if !slices.Contains(accepted, perm) {
			wishes = append(wishes, Wish{s.Name, perm, is.Lines})
		}
	}
	return wishes
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

// consent shows load-time commands and asks for them; where nobody can be asked they are
// refused (exit 4) unless they were accepted.
func (a *Applier) consent(wishes []Wish) error {
	for _, wish := range wishes {
		wish.Warn(a.Tell)
		yes, err := a.Ask.Confirm("install " + wish.Skill + " all the same?")
		if errors.Is(err, ask.ErrNobody) || err == nil && !yes {
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
	tell.Warn("%s runs commands when an agent loads it:", w.Skill)
	for _, line := range w.Lines {
		tell.Warn("  %s", line)
	}
}

// An installer keeps the SKILL.md of what it fetches.
type installer struct {
	*install.Installer
	peeked *peek
}

// installer works on the scope's root with links for these hosts.
func (a *Applier) installer(hostIDs []string, links string) (*installer, error) {
	in, err := a.Installer(hostIDs, links)
	if err != nil {
		return nil, err
	}
	out := &installer{in, &peek{docs: map[string][]byte{}}}
	fetch := in.Fetch
	in.Fetch = func(ctx context.Context, s lock.Skill, sink bundle.Sink) error {
		return fetch(ctx, s, peekSink{sink, s.Name, out.peeked})
	}
	return out, nil
}

// peek keeps the SKILL.md of bundles that pass by.
type peek struct {
	mu   sync.Mutex
	docs map[string][]byte // by skill
}

type peekSink struct {
	bundle.Sink
	name string
	to   *peek
}

func (s peekSink) File(path string, executable bool, size int64, r io.Reader) error {
	if path != skill.FileName {
		return s.Sink.File(path, executable, size, r)
	}
	var kept capped
	if err := s.Sink.File(path, executable, size, io.TeeReader(r, &kept)); err != nil {
		return err
	}
	s.to.mu.Lock()
	defer s.to.mu.Unlock()
	s.to.docs[s.name] = kept
	return nil
}

// maxPeek bounds what is kept of a SKILL.md, in bytes.
const maxPeek = 1 << 20

// capped keeps the first maxPeek bytes written to it.
type capped []byte

func (c *capped) Write(p []byte) (int, error) {
	*c = append(*c, p[:min(len(p), maxPeek-len(*c))]...)
	return len(p), nil
}
