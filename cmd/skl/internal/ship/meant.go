package ship

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
)

// maxNamed is how many files a refusal names.
const maxNamed = 20

// meant refuses files that nobody means to publish, because a release is for ever: those whose names say that they hold secrets, and those that git
// ignores. include are the ones that a person insists on; asked is the name that the command gave.
func (s *Shipper) meant(d *draft, include []string, asked string) error {
	paths := slices.Sorted(maps.Keys(d.files))
	for _, name := range include {
		p := path.Clean(filepath.ToSlash(name))
		at, ok := slices.BinarySearch(paths, p)
		if _, published := d.files[p]; !published {
			return diag.New(diag.Misuse, "usage", "--include %s: %s has no such file", diag.Printable(name), s.Scope.Short(d.dir)).Hint("name it as it is called in the folder: --include config/app.env")
		}
		if ok {
			paths = slices.Delete(paths, at, at+1)
		}
	}
	ignored, err := s.Scope.Tracker.Untracked(d.dir, paths)
	if err != nil && !errors.Is(err, files.ErrNoRepository) {
		s.Scope.Tell.Warn("which files git ignores is not known, so that they are published too: %s", diag.Clip(err.Error(), 300))
	}
	var why, insist []string
	for _, p := range paths {
		switch {
		case secrets.Named(p):
			why = append(why, p+"  its name says that it holds secrets")
		case slices.Contains(ignored, p):
			why = append(why, p+"  git ignores it")
		default:
			continue
		}
		insist = append(insist, "--include "+scope.Quote(p))
	}
	if len(why) == 0 {
		return nil
	}
	e := diag.New(diag.Refused, "not_meant", "%s would be published for ever, and hardly should: %s", s.Scope.Short(d.dir), diag.Count(len(why), "file"))
	for _, w := range why[:min(len(why), maxNamed)] {
		e.Candidates = append(e.Candidates, diag.Printable(w))
	}
	if more := len(why) - maxNamed; more > 0 {
		e.Candidates = append(e.Candidates, fmt.Sprintf("and %d more", more))
	}
	e.Hint("move them out of the folder")
	if len(insist) <= 3 {
		again := "skl publish " + strings.TrimSpace(scope.Quote(s.Scope.Short(d.dir))+" "+asked) + " " + strings.Join(insist, " ")
		e.Hint("%s publishes them all the same", again)
	} else {
		e.Hint("--include FILE, once for each file that belongs to the skill")
	}
	return e
}
