package apply

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/spec/diag"
)

// An InitRequest asks to start a project, or to change how one was started.
type InitRequest struct {
	Hosts  []string // agents, by id
	Vendor *bool    // installed skills are committed; nil is as skl.toml has it, and true where it has nothing
	Here   bool     // where there is no project, the working directory becomes one
	DryRun bool

	MergeDriver bool // git merges the files of skl by skl
}

// An Initialized is a project that was, or would be, started.
type Initialized struct {
	Manifest string   `json:"manifest"`
	Hosts    []string `json:"hosts"`
	Vendor   bool     `json:"vendor"`
	Wrote    []string `json:"wrote"`

	MergeDriver bool `json:"merge_driver"` // it was, or would be, set in the configuration of this clone
}

// The blocks that init owns in files of git; it touches nothing outside them.
const (
	blockStart = "# skl: begin"
	blockEnd   = "# skl: end"
)

// Init writes skl.toml and what git has to know of the directories of skills, and trusts the project.
func (a *Applier) Init(ctx context.Context, q InitRequest) (Initialized, error) {
	if a.Scope.Kind == hosts.User && q.Here {
		if err := a.Scope.StartProject(); err != nil {
			return Initialized{}, err
		}
	}
	f, end, err := a.Scope.Edit(ctx, q.DryRun)
	if err != nil {
		return Initialized{}, err
	}
	defer end()
	chosen, err := a.Targets(f.Manifest, q.Hosts)
	if err != nil {
		return Initialized{}, err
	}
	vendor := cmp.Or(q.Vendor, f.Manifest.Targets.Vendor)
	out := Initialized{Manifest: f.ManifestPath, Hosts: append([]string{}, chosen...), Vendor: vendor == nil || *vendor}
	if err := f.Manifest.SetVendor(out.Vendor); err != nil {
		return Initialized{}, err
	}
	var shown []string
	if out.Vendor {
		if shown, err = a.taken(q.Vendor != nil); err != nil {
			return Initialized{}, err
		}
	}
	if out.MergeDriver, err = a.offerDriver(q.MergeDriver, !f.HasManifest); err != nil {
		return Initialized{}, err
	}
	edits := a.initFiles(f, chosen, out, shown)
	if out.MergeDriver {
		driver, err := a.driverEdit()
		if err != nil {
			return Initialized{}, err
		}
		edits = append(edits, driver)
	}
	if out.Wrote, err = a.edits(edits, q.DryRun); err != nil || q.DryRun {
		return out, err
	}
	return out, a.Scope.TrustProject()
}

// taken are the lines of .gitignore that let git have what it ignores of skills. Those that take a whole root back are for who asked for
// that: somebody may mean to ignore it.
func (a *Applier) taken(asked bool) ([]string, error) {
	c := a.committed(func(string) bool { return true })
	if len(c.paths) == 0 {
		return nil, nil
	}
	at := filepath.Join(a.Scope.Project, ".gitignore")
	old, err := a.Scope.Site.Dir.ReadFile(at, scope.MaxEdited)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	hidden, err := a.Scope.Tracker.Hidden(a.Scope.Project, c.paths, map[string]string{at: string(setBlock(old, nil))})
	switch {
	case errors.Is(err, files.ErrNoRepository):
		return nil, nil
	case err != nil:
		a.Scope.Tell.Warn("which files of skills git ignores is not known: %s", diag.Clip(diag.Printable(err.Error()), 300))
		return nil, nil
	case !asked && !bytes.Contains(old, []byte(blockStart)) && slices.ContainsFunc(hidden, c.whole):
		a.tellUncarried(nil, func(string) bool { return true })
		a.Scope.Tell.Warn("git ignores all skills of a root, by %s; skl init --vendor takes them out, skl init --no-vendor says that they are not committed",
			diag.Printable(a.Scope.Short(hidden[slices.IndexFunc(hidden, c.whole)].File)))
		return nil, nil
	}
	lines, rest, err := a.unhidden(c)
	if err == nil && len(rest) > 0 {
		a.Scope.Tell.Warn("git ignores %s of skills by a .gitignore further down, such as %s; git add -f adds them", diag.Count(len(rest), "file"), diag.Printable(rest[0].Path))
	}
	return lines, err
}

// edits carries out what changes something and returns the paths of that. All files are read
// before the first is written: one that is no regular file refuses them all.
func (a *Applier) edits(list []fileEdit, dry bool) (wrote []string, err error) {
	wrote = []string{}
	next := make([][]byte, len(list))
	for i, e := range list {
		if err := a.Scope.Site.Dir.Replaceable(e.path); err != nil {
			return nil, err
		}
		old, err := a.Scope.Site.Dir.ReadFile(e.path, scope.MaxEdited)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if next[i] = e.content(old); !bytes.Equal(old, next[i]) {
			wrote = append(wrote, e.path)
		}
	}
	for i, e := range list {
		switch {
		case dry || !slices.Contains(wrote, e.path):
		case len(next[i]) == 0: // it held nothing but skl's block
			err = a.Scope.Site.Dir.Remove(e.path)
		default:
			err = a.Scope.Site.Dir.WriteFile(e.path, next[i], 0o644)
		}
		if err != nil {
			return nil, err
		}
	}
	return wrote, nil
}

// A fileEdit is one file that Init writes.
type fileEdit struct {
	path    string
	content func(old []byte) []byte
}

// initFiles are the files of git that say what becomes of installed skills, and skl.toml; shown are lines of .gitignore for skills that are committed.
func (a *Applier) initFiles(f *scope.Files, hostIDs []string, out Initialized, shown []string) []fileEdit {
	edits := []fileEdit{{f.ManifestPath, func([]byte) []byte { return f.Manifest.Bytes() }}}
	if a.Scope.Kind != hosts.Project {
		return edits
	}
	dirs := []string{hosts.Canonical}
	for _, id := range hostIDs {
		if h, ok := hosts.Find(id); ok {
			if _, link := hosts.WriteDirs(h, a.Scope.HostEnv(), a.Scope.Kind); link != "" {
				if rel, err := filepath.Rel(a.Scope.Project, link); err == nil && !slices.Contains(dirs, filepath.ToSlash(rel)) {
					dirs = append(dirs, filepath.ToSlash(rel))
				}
			}
		}
	}
	for _, root := range a.Scope.Site.Roots {
		if rel, err := filepath.Rel(a.Scope.Project, root); err == nil && !slices.Contains(dirs, filepath.ToSlash(rel)) {
			dirs = append(dirs, filepath.ToSlash(rel))
		}
	}
	var attributes []string
	ignore := shown
	for _, dir := range dirs {
		if out.Vendor {
			attributes = append(attributes, attributesOf(dir+"/**", keepBytes))
		} else {
			ignore = append(ignore, "/"+dir+"/")
		}
	}
	if !out.Vendor {
		dirs = nil
	}
	return append(edits,
		fileEdit{filepath.Join(a.Scope.Project, ".gitattributes"), func(old []byte) []byte {
			if out.MergeDriver || asksToMerge(old) {
				return setBlock(old, append(attributes[:len(attributes):len(attributes)], mergeLines(dirs)...))
			}
			return setBlock(old, attributes)
		}},
		fileEdit{filepath.Join(a.Scope.Project, ".gitignore"), func(old []byte) []byte { return setBlock(old, ignore) }})
}

// attributesOf is a line of .gitattributes.
func attributesOf(pattern, attributes string) string {
	if strings.Contains(pattern, " ") {
		pattern = strconv.Quote(pattern)
	}
	return pattern + " " + attributes
}

// cutBlock is what stands before skl's block in a file of lines, and the block; ok is false where there is none.
func cutBlock(text []byte) (before, block []byte, ok bool) {
	before, block, ok = bytes.Cut(text, []byte(blockStart))
	block, _, _ = bytes.Cut(block, []byte(blockEnd))
	return before, block, ok
}

// setBlock replaces skl's block in a file of lines, adds it at the end, or, without
// lines, removes it. The rest of the file stays as it is, line endings included.
func setBlock(old []byte, lines []string) []byte {
	eol := "\n"
	if bytes.Contains(old, []byte("\r\n")) {
		eol = "\r\n"
	}
	block := ""
	if len(lines) > 0 {
		block = blockStart + eol + strings.Join(lines, eol) + eol + blockEnd + eol
	}
	text := string(old)
	start := strings.Index(text, blockStart)
	if start >= 0 {
		if end := strings.Index(text[start:], blockEnd); end >= 0 {
			rest := strings.TrimPrefix(strings.TrimPrefix(text[start+end+len(blockEnd):], "\r"), "\n")
			return []byte(text[:start] + block + rest)
		}
	}
	if block != "" && text != "" && !strings.HasSuffix(text, "\n") {
		text += eol
	}
	return []byte(text + block)
}
