package tool

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
)

const (
	maxPath  = 4096 // bytes
	maxLinks = 40   // symbolic links followed for one path
)

// A tree is a directory below which files are reached, and never outside of it.
type tree struct {
	root      *os.Root
	given     string // as it was named, cleaned
	real      string // without links
	prefix    string // what paths in it are shown with
	readOnly  bool
	owner     string // of one that is read only
	protected []protection
	isSpot    func(rel string) bool   // nil: nothing is
	closed    error                   // why nothing is found in it; nil if something is
	named     func(shown string) bool // whether the person named a file that holds secrets; nil: a file of the tree holds none
}

// A protection is a file, or a directory into which nothing is written.
type protection struct {
	what string      // it belongs to
	info os.FileInfo // nil: it is not there yet
	rel  string      // below the tree, with slashes; "" outside of it
}

func openTree(dir, prefix string) (*tree, error) {
	if !filepath.IsAbs(dir) {
		return nil, diag.New(diag.Misuse, CodeOutside, "the directory %q is not absolute", dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, diag.New(diag.Failed, CodeOutside, "opening %s: %w", dir, cause(err))
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, diag.New(diag.Failed, CodeOutside, "opening %s: %w", dir, cause(err))
	}
	return &tree{root: root, given: filepath.Clean(dir), real: real, prefix: prefix}, nil
}

func (t *tree) close() { t.root.Close() }

// protect keeps directories and files from being written. Their names are those of now: what is a link is protected
// where it leads.
func (t *tree) protect(dirs []string, what string) {
	for _, dir := range dirs {
		p := protection{what: what}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		p.info, _ = os.Stat(dir)
		p.rel, _ = t.relative(dir)
		if holds(dir, t.real) {
			p.rel = "."
		}
		if p.info != nil || p.rel != "" {
			t.protected = append(t.protected, p)
		}
	}
}

// relative is the path below t, with slashes, of an absolute path that is named below it.
func (t *tree) relative(path string) (string, bool) {
	for _, base := range []string{t.real, t.given} {
		rel, err := filepath.Rel(base, path)
		if err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return "", false
}

// A place is where a path leads, found without following a link that was not looked at. Its directory is
// held open, so that nothing that happens to the path later leads elsewhere.
type place struct {
	tree    *tree
	dir     *os.Root      // the deepest directory that is there
	names   []string      // of the directories from the tree down to dir
	missing []string      // directories below dir that are not there
	base    string        // the last name; "" when the path is the directory dir
	info    os.FileInfo   // of what is there; nil for nothing
	within  []os.FileInfo // of the directories that names are of
	open    []*os.Root    // what to close
}

//go:noinline
func (p *place) close() {
	for _, r := range p.open {
		r.Close()
	}
	p.open = nil
}

// rel is the path below the tree, without links.
func (p *place) rel() string {
	parts := slices.Concat(p.names, p.missing)
	if p.base != "" {
		parts = append(parts, p.base)
	}
	if len(parts) == 0 {
		return "."
	}
	return strings.Join(parts, "/")
}

// shown is the path as policies and results name it.
//
//go:noinline
func (p *place) shown() string { return p.tree.prefix + p.rel() }

// find finds a path in the tree that its spelling names: absolute paths by the directory, "skill:…" the skill's own, "result:N" what a call
// gave, all others the working directory.
func (d *Dispatcher) find(path string) (*place, error) {
	if rest, ok := strings.CutPrefix(path, resultPrefix); ok && d.config.Results != "" {
		return d.findResult(rest)
	}
	if rest, ok := strings.CutPrefix(path, "skill:"); ok && d.own != nil {
		return d.own.find(rest)
	}
	if filepath.IsAbs(path) && d.own != nil {
		clean := filepath.Clean(path)
		if _, ok := d.own.relative(clean); ok {
			return d.own.find(path)
		}
	}
	return d.work.find(path)
}

// reached is what a path leads a program to that runs in the working directory: a place of the working directory or of the skill, which the
// caller closes. It is nil for what is neither. Unlike find it takes every way that the system does: out and in again, by
// links and by full paths. known is false where that depends on the program, as below /proc; and where it is a directory above.
func (d *Dispatcher) reached(path string) (p *place, known bool) {
	at, known := leads(d.work.real, path)
	if !known || holds(at, d.work.real) && at != d.work.real {
		return nil, false
	}
	for _, t := range []*tree{d.own, d.work} {
		if t == nil {
			continue
		}
		if rel, ok := t.relative(at); ok {
			if p, err := t.find(rel); err == nil {
				return p, true
			}
		}
	}
	return nil, true
}

// leads is where path leads from dir, which has no links; what is not there is taken as it is written. known is false for
// what is below /proc on the way, and for too many links.
func leads(dir, path string) (at string, known bool) {
	at = dir
	if filepath.IsAbs(path) {
		at = filepath.VolumeName(path) + string(filepath.Separator)
		path = path[len(filepath.VolumeName(path)):]
	}
	rest, links := strings.Split(filepath.ToSlash(path), "/"), 0
	for len(rest) > 0 {
		name := rest[0]
		rest = rest[1:]
		if name == "" || name == "." {
			continue
		}
		if at = filepath.Join(at, name); at == "/proc" {
			return "", false
		}
		target, err := os.Readlink(at)
		if err != nil {
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		at = filepath.Dir(at)
		if filepath.IsAbs(target) {
			at = filepath.VolumeName(target) + string(filepath.Separator)
			target = target[len(filepath.VolumeName(target)):]
		}
		rest = append(strings.Split(filepath.ToSlash(target), "/"), rest...)
	}
	return at, true
}

func outside(path string) *diag.Error {
	return diag.New(diag.Refused, CodeOutside, "%q is outside of the working directory", diag.Brief(path, 300))
}

// find walks to path, which need not be there. The caller closes the place.
func (t *tree) find(path string) (*place, error) {
	if t.closed != nil {
		return nil, t.closed
	}
	given := path
	if len(path) > maxPath || strings.ContainsRune(path, 0) {
		return nil, diag.New(diag.Refused, CodeOutside, "a path of %d bytes, or with a NUL, is not looked for", len(path))
	}
	if filepath.IsAbs(path) {
		rel, ok := t.below(path)
		if !ok {
			return nil, outside(given)
		}
		path = rel
	}
	if runtime.GOOS == "windows" {
		if path = filepath.ToSlash(path); strings.Contains(path, ":") || strings.HasPrefix(path, "/") {
			return nil, outside(given)
		}
	}
	w := walk{place: &place{tree: t, dir: t.root}, roots: []*os.Root{t.root}, given: given}
	err := w.run(strings.Split(path, "/"))
	if err == nil && t.readOnly && slices.ContainsFunc(strings.Split(w.place.rel(), "/"), isDotGit) {
		// A digest does not cover .git: files there could change after a person agreed, and nobody would see it.
		err = diag.New(diag.Refused, CodeProtected, "%q is not a file of the skill: no digest covers .git", diag.Printable(given))
	}
	if err != nil {
		w.place.close()
		return nil, err
	}
	return w.place, nil
}

// below is what follows the tree's own name in an absolute path. Elements ".." stay, since what
// they mean depends on links.
func (t *tree) below(path string) (string, bool) {
	for _, base := range []string{t.real, t.given} {
		if path == base {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(base, string(filepath.Separator))+string(filepath.Separator)); ok {
			return rest, true
		}
	}
	return "", false
}

// A walk goes to a path, one name at a time.
type walk struct {
	place *place
	roots []*os.Root // roots[i] is the directory at names[:i]
	links int
	given string
}

func (w *walk) run(pending []string) error {
	p := w.place
	for len(pending) > 0 {
		name := pending[0]
		pending = pending[1:]
		switch {
		case name == "" || name == ".":
			if p.base != "" {
				return w.notDirectory()
			}
			continue
		case p.base != "":
			return w.notDirectory()
		case name == "..":
			if err := w.up(); err != nil {
				return err
			}
			continue
		case len(p.missing) > 0:
			p.missing = append(p.missing, name)
			continue
		}
		more, err := w.enter(name)
		if err != nil {
			return err
		}
		pending = append(more, pending...)
	}
	if n := len(p.missing); n > 0 {
		p.base, p.missing = p.missing[n-1], p.missing[:n-1]
	}
	if p.base == "" && p.info == nil {
		info, err := p.dir.Stat(".")
		if err != nil {
			return failed("looking at %q: %w", w.given, cause(err))
		}
		p.info = info
	}
	return nil
}

func (w *walk) notDirectory() error {
	return failed("%q leads through something that is not a directory", diag.Printable(w.given))
}

func (w *walk) up() error {
	p := w.place
	if n := len(p.missing); n > 0 {
		p.missing = p.missing[:n-1]
		return nil
	}
	if len(p.names) == 0 {
		return outside(w.given)
	}
	n := len(p.names) - 1
	p.names, p.within, w.roots = p.names[:n], p.within[:n], w.roots[:n+1]
	p.dir, p.info = w.roots[n], nil
	return nil
}

// enter goes one name down. It returns the names that a link stands for.
func (w *walk) enter(name string) ([]string, error) {
	p := w.place
	info, err := p.dir.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.missing = append(p.missing, name)
		return nil, nil
	case err != nil:
		return nil, failed("looking at %q: %w", diag.Printable(w.given), cause(err))
	case info.Mode()&fs.ModeSymlink != 0:
		return w.follow(name)
	case !info.IsDir():
		p.base, p.info = name, info
		return nil, nil
	}
	dir, err := openSame(p.dir, name, info)
	if err != nil {
		return nil, failed("looking at %q: %w", diag.Printable(w.given), cause(err))
	}
	p.open = append(p.open, dir)
	p.names, p.within, w.roots = append(p.names, name), append(p.within, info), append(w.roots, dir)
	p.dir = dir
	return nil, nil
}

var errChanged = errors.New("it changed meanwhile")

// openSame opens the directory name, which has to be the one that info is about.
func openSame(dir *os.Root, name string, info os.FileInfo) (*os.Root, error) {
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if now, err := sub.Stat("."); err != nil || !os.SameFile(info, now) {
		sub.Close()
		return nil, errChanged
	}
	return sub, nil
}

func (w *walk) follow(name string) ([]string, error) {
	if w.links++; w.links > maxLinks {
		return nil, failed("%q leads through more than %d links", diag.Printable(w.given), maxLinks)
	}
	target, err := w.place.dir.Readlink(name)
	if err != nil {
		return nil, failed("looking at %q: %w", diag.Printable(w.given), cause(err))
	}
	if filepath.IsAbs(target) {
		rel, ok := w.place.tree.below(target)
		if !ok {
			return nil, outside(w.given)
		}
		for len(w.place.names) > 0 {
			if err := w.up(); err != nil {
				return nil, err
			}
		}
		target = rel
	}
	if runtime.GOOS == "windows" {
		if target = filepath.ToSlash(target); strings.Contains(target, ":") || strings.HasPrefix(target, "/") {
			return nil, outside(w.given)
		}
	}
	return strings.Split(target, "/"), nil
}

// cause is what went wrong without the name that the system puts before it.
func cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}

// writable says why nothing is written at p.
func (p *place) writable() error {
	refuse := func(what string) error {
		return diag.New(diag.Refused, CodeProtected, "%q is never written: it belongs to %s", diag.Printable(p.shown()), what)
	}
	if p.tree.readOnly {
		return refuse(p.tree.owner)
	}
	rel := p.rel()
	if names := strings.Split(rel, "/"); slices.ContainsFunc(names, isDotGit) || p.tree.becomesGit(names) {
		return refuse("git")
	}
	if p.tree.isSpot != nil && p.tree.isSpot(rel) {
		return diag.New(diag.Refused, CodeProtected, "%q is never written: skl, agents, editors, shells or CI services act on it by themselves", diag.Printable(p.shown())).
			Hint("put the text into another file, for the person to read and to move")
	}
	for _, g := range p.tree.protected {
		if g.rel == "." {
			return refuse("a protected directory")
		}
		if g.rel != "" && (strings.EqualFold(rel, g.rel) || len(rel) > len(g.rel) && rel[len(g.rel)] == '/' && strings.EqualFold(rel[:len(g.rel)], g.rel)) {
			return refuse(g.what)
		}
		if g.info != nil && (slices.ContainsFunc(p.within, func(i os.FileInfo) bool { return os.SameFile(i, g.info) }) || p.info != nil && os.SameFile(p.info, g.info)) {
			return refuse(g.what)
		}
	}
	return nil
}

// gitParts are what a directory has that git takes for one of its own, whatever it is called.
var gitParts = []string{"HEAD", "objects", "refs"}

func isGitPart(name string) bool {
	return slices.ContainsFunc(gitParts, func(part string) bool { return strings.EqualFold(part, name) })
}

// becomesGit reports whether something at the path of names makes a directory above it one of git.
func (t *tree) becomesGit(names []string) bool {
	for i, name := range names {
		if !isGitPart(name) {
			continue
		}
		there := 0
		for _, part := range gitParts {
			if _, err := t.root.Lstat(path.Join(path.Join(names[:i]...), part)); err == nil && !strings.EqualFold(part, name) {
				there++
			}
		}
		if there == len(gitParts)-1 {
			return true
		}
	}
	return false
}

// readable says why what is at p is not read.
func (p *place) readable() error {
	if isDisabled(p.rel()) {
		return diag.New(diag.Refused, CodeProtected, "%q is not read: it belongs to a skill that is disabled", diag.Printable(p.shown())).Hint("skl list --all")
	}
	if !p.tree.secret(p.rel()) {
		return nil
	}
	return diag.New(diag.Refused, CodeProtected, "%q is not read: its name says that it holds secrets", diag.Printable(p.shown())).
		Hint("--allow 'read(%s)', to let it be read", diag.Printable(p.shown()))
}

// secret reports whether the file at rel holds secrets, by its name, and the person did not name it.
func (t *tree) secret(rel string) bool {
	return t.named != nil && secrets.Named(filepath.ToSlash(t.real)+"/"+rel) && !t.named(t.prefix+rel)
}

// isDisabled reports whether a path leads to where skl puts skills that no model is to see, as roots.Aside says.
func isDisabled(rel string) bool {
	names := strings.Split(rel, "/")
	i := slices.Index(names, ".skl")
	return i >= 0 && i+2 < len(names) && names[i+2] == "disabled"
}

// openFile opens the regular file at p.
func (p *place) openFile() (*os.File, error) {
	switch {
	case p.info == nil:
		return nil, failed("there is no file %q", diag.Printable(p.shown()))
	case p.base == "":
		return nil, failed("%q is a directory", diag.Printable(p.shown()))
	case !p.info.Mode().IsRegular():
		return nil, diag.New(diag.Refused, CodeOutside, "%q is not a regular file", diag.Printable(p.shown()))
	}
	if err := p.readable(); err != nil {
		return nil, err
	}
	f, err := p.dir.OpenFile(p.base, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, failed("opening %q: %w", diag.Printable(p.shown()), cause(err))
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(info, p.info) {
		f.Close()
		return nil, failed("opening %q: %w", diag.Printable(p.shown()), errChanged)
	}
	return f, nil
}

func (p *place) readAll(limit int64) ([]byte, error) {
	f, err := p.openFile()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var buf bytes.Buffer
	buf.Grow(int(min(p.info.Size(), limit)) + bytes.MinRead)
	if _, err := buf.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, failed("reading %q: %w", diag.Printable(p.shown()), cause(err))
	}
	if int64(buf.Len()) > limit {
		return nil, failed("%q has more than %d bytes", diag.Printable(p.shown()), limit)
	}
	return buf.Bytes(), nil
}

// replace gives the file at p new content: written beside it, synced, and renamed, so that a crash leaves the
// old content or all of the new. Directories that are missing are made.
func (p *place) replace(data []byte) error {
	if err := p.writable(); err != nil {
		return err
	}
	mode := fs.FileMode(0o666)
	switch {
	case p.base == "":
		return failed("%q is a directory", diag.Printable(p.shown()))
	case p.info != nil && !p.info.Mode().IsRegular():
		return diag.New(diag.Refused, CodeOutside, "%q is not a regular file", diag.Printable(p.shown()))
	case p.info != nil:
		mode = p.info.Mode().Perm()
	}
	if err := p.replaceIn(data, mode); err != nil {
		return failed("writing %q: %w", diag.Printable(p.shown()), cause(err))
	}
	return nil
}

func (p *place) replaceIn(data []byte, mode fs.FileMode) error {
	dir := p.dir
	for _, name := range p.missing {
		if err := dir.Mkdir(name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		info, err := dir.Lstat(name)
		if err != nil {
			return err
		}
		sub, err := openSame(dir, name, info)
		if err != nil {
			return err
		}
		p.open = append(p.open, sub)
		dir = sub
	}
	var random [8]byte
	rand.Read(random[:])
	beside := ".skl-" + hex.EncodeToString(random[:]) + ".tmp"
	f, err := dir.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && p.info != nil {
		err = f.Chmod(mode)
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = dir.Rename(beside, p.base)
	}
	if err != nil {
		dir.Remove(beside)
		return err
	}
	if d, err := dir.Open("."); err == nil && runtime.GOOS != "windows" {
		d.Sync()
		d.Close()
	}
	return nil
}
