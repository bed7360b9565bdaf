package apply

import (
	"bytes"
	"errors"
	"path/filepath"

	"github.com/skl-project/skl/cmd/skl/internal/ask"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

// mergeAttribute is what .gitattributes says of the files that skl merges; a clone whose configuration has no such driver merges them as
// any text.
const mergeAttribute = "merge=skl"

// mergeCommand is the driver of that name. Git runs it by a shell, so that a machine that lost skl merges as any other.
const mergeCommand = "if command -v skl >/dev/null; then skl __merge-driver %O %A %B %P; else git merge-file -q %A %O %B; fi"

// mergeLines are the lines of .gitattributes for the files of skl below the project; dirs are its directories of skills.
func mergeLines(dirs []string) []string {
	lines := []string{"/skl.toml " + mergeAttribute, "/skl.lock " + mergeAttribute}
	for _, dir := range dirs {
		lines = append(lines, attributesOf("/"+dir+"/.skl/*.json", mergeAttribute))
	}
	return lines
}

// A MergeDriver says who merges the files of skl, in this project and in this clone.
type MergeDriver struct {
	Wanted bool   // .gitattributes asks for skl's
	Set    bool   // this clone has it
	Config string // the file in which a clone says so
	Other  string // the driver that it has under that name, if that is another
}

// MergeDriver reads who merges the files of skl. ok is false outside of a repository.
func (a *Applier) MergeDriver() (d MergeDriver, ok bool, err error) {
	if a.Scope.Kind != hosts.Project {
		return MergeDriver{}, false, nil
	}
	command, config, err := a.Scope.Tracker.MergeDriver(a.Scope.Project, "skl")
	if errors.Is(err, files.ErrNoRepository) {
		return MergeDriver{}, false, nil
	}
	if err != nil {
		return MergeDriver{}, false, err
	}
	text, err := a.Scope.Site.Dir.ReadFile(filepath.Join(a.Scope.Project, ".gitattributes"), scope.MaxEdited)
	d = MergeDriver{Wanted: err == nil && asksToMerge(text), Set: command == mergeCommand, Config: config}
	if !d.Set {
		d.Other = command
	}
	return d, true, nil
}

// asksToMerge reports whether skl's block in a .gitattributes has the lines of the driver.
func asksToMerge(text []byte) bool {
	_, block, _ := cutBlock(text)
	return bytes.Contains(block, []byte(" "+mergeAttribute))
}

// offerDriver decides whether git is to merge the files of skl by skl. Without a yes of the person nothing is set: it is a program that
// git runs, and the configuration of a clone is its owner's.
func (a *Applier) offerDriver(asked, started bool) (yes bool, err error) {
	d, ok, err := a.MergeDriver()
	switch {
	case err != nil || !ok && !asked:
		return false, err
	case !ok:
		return false, diag.New(diag.Misuse, "no_repository", "%s is not in a git repository, so nothing is merged", a.Scope.Short(a.Scope.Project)).Hint("git init")
	case asked:
		return true, nil
	case d.Set && d.Wanted:
		return false, nil
	case !d.Wanted && !started:
		return false, nil // somebody decided
	}
	yes, err = a.Ask.Confirm("Let skl merge skl.toml, skl.lock and receipts in git? It sets a merge driver in the configuration of this clone, and names it in .gitattributes.")
	if errors.Is(err, ask.ErrNobody) {
		why := "git merges skl.toml and skl.lock as any text"
		if d.Wanted {
			why = ".gitattributes wants skl to merge them, and this clone has no such driver"
		}
		a.Scope.Tell.Note("%s; skl init --merge-driver lets skl merge them in this clone", why)
		return false, nil
	}
	return yes, err
}

// driverEdit is the edit of the configuration of git that sets the driver. Git itself is not run. A configuration that is not below the
// project, as that of a work tree beside its repository, is for git to write.
func (a *Applier) driverEdit() (fileEdit, error) {
	d, _, err := a.MergeDriver()
	if err != nil {
		return fileEdit{}, err
	}
	if !scope.Below(a.Scope.Project, d.Config) {
		return fileEdit{}, diag.New(diag.Unmet, "merge_driver", "the configuration of this clone is not in the project, but %s", a.Scope.Short(d.Config)).
			Hint("git config merge.skl.driver %s", diag.Quote(mergeCommand))
	}
	return fileEdit{d.Config, func(old []byte) []byte {
		if d.Set {
			return old
		}
		if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
			old = append(old[:len(old):len(old)], '\n')
		}
		return append(old[:len(old):len(old)], "[merge \"skl\"]\n\tname = skl merges skl.toml, skl.lock and receipts\n\tdriver = \""+mergeCommand+"\"\n"...)
	}}, nil
}
