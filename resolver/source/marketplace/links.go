package marketplace

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// maxHops is how many links one path can lead through; more are taken for a circle.
const maxHops = 16

// Why a link is not followed.
var (
	errOut    = errors.New("a link that leads out of the repository")
	errPlugin = errors.New("a link that leads out of the plugin")
	errCircle = errors.New("a link that goes in a circle")
)

// follow puts the directories that links lead to in their place: of the parts themselves, and of the links in their folders. It
// also learns which parts are single skills.
func (s *Selection) follow(ctx context.Context, files Files) error {
	single := s.Named
	var near []string
	for i := range s.parts {
		p := &s.parts[i]
		to, err := s.real(ctx, files, p.dir)
		if leads(err) {
			s.pass(p.dir, err)
			continue
		}
		if err != nil {
			return err
		}
		if to != p.dir {
			s.Links, p.dir = append(s.Links, p.dir), to
		}
		if p.levels == 0 {
			continue
		}
		names, err := files.ReadDir(ctx, p.dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if p.self && slices.Contains(names, skill.FileName) {
			p.levels = 0
			near = append(near, path.Base(p.dir))
			continue
		}
		single = false
		if err := s.linked(ctx, files, p.dir, names); err != nil {
			return err
		}
	}
	if single {
		s.Near = near
	}
	return nil
}

// linked takes the skills that links in the folder dir lead to.
func (s *Selection) linked(ctx context.Context, files Files, dir string, names []string) error {
	for _, name := range names {
		if strings.HasSuffix(name, "/") || len(s.parts) > MaxSkills {
			continue
		}
		at := join(dir, name)
		text, err := files.ReadLink(ctx, at)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		to, err := s.real(ctx, files, at)
		if leads(err) {
			s.pass(at, err)
			continue
		}
		if err != nil {
			return err
		}
		below, err := files.ReadDir(ctx, to)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if !slices.Contains(below, skill.FileName) {
			s.pass(at, errors.New("a link to "+diag.Printable(text)+", where there is no skill"))
			continue
		}
		s.Links = append(s.Links, at)
		s.parts = append(s.parts, part{dir: to, self: true})
	}
	return nil
}

// real is as the function, and in Agent Plugins refuses to leave the plugin.
func (s *Selection) real(ctx context.Context, files Files, dir string) (string, error) {
	to, err := real(ctx, files, dir)
	if err == nil && s.open && s.within(dir) && !s.within(to) {
		return "", errPlugin
	}
	return to, err
}

// leads reports whether err is why a link is not followed.
func leads(err error) bool {
	return errors.Is(err, errOut) || errors.Is(err, errCircle) || errors.Is(err, errPlugin)
}

// pass notes a link that leads to no skill.
func (s *Selection) pass(at string, why error) {
	s.Passed = append(s.Passed, source.Passed{Path: at, Reason: why.Error()})
}

// real is the directory that dir is, with no link in its path. Its error is errOut or errCircle if a link
// cannot be followed.
func real(ctx context.Context, files Files, dir string) (string, error) {
	done, left := "", dir
	for hops := 0; left != ""; {
		name, rest, _ := strings.Cut(left, "/")
		at := join(done, name)
		text, err := files.ReadLink(ctx, at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done, left = at, rest
			continue
		case err != nil:
			return "", err
		}
		to := path.Join(done, text)
		if hops++; hops > maxHops {
			return "", errCircle
		}
		if path.IsAbs(text) || to == ".." || strings.HasPrefix(to, "../") {
			return "", errOut
		}
		if to == "." {
			to = ""
		}
		done, left = "", join(to, rest)
	}
	return done, nil
}
