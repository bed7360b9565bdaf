package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/install"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/skill"
)

// permLoadCommand is asked for by a skill whose SKILL.md holds commands that some
// agents run while they load it.
const permLoadCommand = "load-command"

// An ask is what a skill wants that nobody accepted yet.
type ask struct {
	name  string
	perm  string
	lines []string // where it shows: "SKILL.md:12  !`git status`"
}

// materialise fetches what is missing, fills in what a bundle says of itself
// (generated_from, permissions), and returns what was not accepted before.
func (w *world) materialise(ctx context.Context, in *install.Installer, want []lock.Skill, old *lock.Lock, have map[string]install.Have, dry bool) ([]ask, error) {
	peeked := &peek{docs: map[string][]byte{}}
	fetch := in.Fetch
	in.Fetch = func(ctx context.Context, s lock.Skill, sink bundle.Sink) error {
		return fetch(ctx, s, peekSink{sink, s.Name, peeked})
	}
	defer func() { in.Fetch = fetch }()
	known := make([]lock.Skill, len(want))
	for i, s := range want {
		// A registry says what tree a new release has; only what was locked was accepted.
		if known[i] = s; s.Tree != "" {
			if before, ok := old.Skill(s.Name); !ok || before.Tree != s.Tree {
				known[i].Tree = ""
			}
		}
	}
	if err := in.Materialise(ctx, want, have, dry); err != nil {
		return nil, err
	}
	var asks []ask
	for i := range want {
		src, ok := peeked.docs[want[i].Name]
		if !ok && known[i].Tree != "" {
			continue // locked before: its permissions were accepted then
		}
		if !ok {
			var err error
			if src, err = fs.ReadFile(in.Store.FS(want[i].Tree), skill.FileName); err != nil {
				return nil, err
			}
		}
		asks = append(asks, stamp(&want[i], src, known[i].Tree != "")...)
	}
	return asks, nil
}

// stamp fills in an entry from its SKILL.md and returns the permissions that are new.
func stamp(s *lock.Skill, src []byte, locked bool) []ask {
	doc, err := skill.Read(src)
	if err != nil || locked {
		return nil
	}
	s.GeneratedFrom = generatedFrom(doc)
	var lines []string
	for _, f := range skill.BodyFeatures(src[doc.Body:]) {
		if f.Kind == skill.LoadCommand {
			lines = append(lines, diag.Position{File: skill.FileName, Line: f.Line + doc.BodyLine - 1}.String()+"  "+f.Text)
		}
	}
	accepted := slices.Contains(s.Permissions, permLoadCommand)
	s.Permissions = slices.DeleteFunc(slices.Clone(s.Permissions), func(p string) bool { return p == permLoadCommand })
	if len(lines) == 0 {
		return nil
	}
	s.Permissions = append(s.Permissions, permLoadCommand)
	if accepted {
		return nil
	}
	return []ask{{s.Name, permLoadCommand, lines}}
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
// refused (exit 4) unless --accept names them.
func (w *world) consent(j *job, asks []ask) error {
	for _, a := range asks {
		if slices.Contains(j.accept, a.perm) || j.dry && w.ui.JSON {
			continue
		}
		w.ui.Warn("%s runs commands when an agent loads it:", a.name)
		for _, line := range a.lines {
			w.ui.Warn("  %s", line)
		}
		if j.dry {
			continue
		}
		yes, err := w.ui.Confirm("install " + a.name + " all the same?")
		if errors.Is(err, ui.ErrNoTerminal) || err == nil && !yes {
			return diag.New(diag.Refused, "load_commands", "%s runs %s when an agent loads it: %s", a.name, ui.Count(len(a.lines), "command"), strings.Join(a.lines, "; ")).
				Hint("accept that: add --accept %s", a.perm)
		}
		if err != nil {
			return err
		}
	}
	return nil
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

// maxPeek bounds what is kept of a SKILL.md, in bytes.
const maxPeek = 1 << 20

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

// capped keeps the first maxPeek bytes written to it.
type capped []byte

func (c *capped) Write(p []byte) (int, error) {
	*c = append(*c, p[:min(len(p), maxPeek-len(*c))]...)
	return len(p), nil
}
