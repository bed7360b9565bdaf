package scope

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
)

// maxNamed is how many files a refusal names.
const maxNamed = 20

// A Parcel is a folder whose files are about to leave this machine.
type Parcel struct {
	Dir     string   // absolute
	Paths   []string // of its files, sorted
	Include []string // files that go whatever their names and git say; relative to Dir, with slashes
	Fate    string   // what becomes of it, for people: "published for ever"
	Command string   // that was given, without its --include: "skl publish pdf"
	Insists string   // what the command then does: "publishes"
}

// Meant refuses files of a parcel that nobody means to give away: those whose names say that they hold secrets, and those that
// git ignores. Its error has the code not_meant.
func (sc *Scope) Meant(p Parcel) error {
	insisted := map[string]bool{}
	for _, name := range p.Include {
		f := path.Clean(filepath.ToSlash(name))
		insisted[f] = true
		if _, ok := slices.BinarySearch(p.Paths, f); !ok {
			return diag.New(diag.Misuse, "usage", "--include %s: %s has no such file", diag.Printable(name), sc.Short(p.Dir)).Hint("name it as it is called in the folder: --include config/app.env")
		}
	}
	paths := slices.DeleteFunc(slices.Clone(p.Paths), func(f string) bool { return insisted[f] })
	ignored, err := sc.Tracker.Untracked(p.Dir, paths)
	if err != nil && !errors.Is(err, files.ErrNoRepository) {
		sc.Tell.Warn("which files git ignores is not known, so that they are %s too: %s", p.Fate, diag.Clip(err.Error(), 300))
	}
	var why, insist []string
	for _, f := range p.Include { // --include has to name all
		insist = append(insist, "--include "+diag.Quote(f))
	}
	for _, f := range paths {
		switch {
		case secrets.Named(f):
			why = append(why, f+"  its name says that it holds secrets")
		case slices.Contains(ignored, f):
			why = append(why, f+"  git ignores it")
		default:
			continue
		}
		insist = append(insist, "--include "+diag.Quote(f))
	}
	if len(why) == 0 {
		return nil
	}
	e := diag.New(diag.Refused, "not_meant", "%s would be %s, and hardly should: %s", sc.Short(p.Dir), p.Fate, diag.Count(len(why), "file"))
	for _, w := range why[:min(len(why), maxNamed)] {
		e.Candidates = append(e.Candidates, diag.Printable(w))
	}
	if more := len(why) - maxNamed; more > 0 {
		e.Candidates = append(e.Candidates, fmt.Sprintf("and %d more", more))
	}
	e.Hint("move them out of the folder")
	if len(insist) <= 3 {
		e.Hint("%s %s %s them all the same", p.Command, strings.Join(insist, " "), p.Insists)
	} else {
		e.Hint("--include FILE, once for each file that belongs to the skill")
	}
	return e
}
