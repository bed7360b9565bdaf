package skill

import (
	"bytes"
	"io/fs"
	"path"
	"strings"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// lintPackage checks the files of a skill as a bundle.
func lintPackage(fsys fs.FS) []diag.Finding {
	p := &packageLint{fsys: fsys, folded: map[string]string{}}
	err := fs.WalkDir(fsys, ".", p.visit)
	if err != nil && err != fs.SkipAll {
		p.report(RuleUnreadable, ".", "the directory cannot be read: %v", err)
	}
	p.skillFile()
	limits := bundle.PublishLimits
	switch {
	case p.tooBig:
		p.report(RuleTooBigInstall, ".", "the skill holds more than %d files or %d MiB: too big to install", bundle.InstallLimits.Entries, bundle.InstallLimits.Bytes>>20)
	case p.entries > limits.Entries || p.bytes > limits.Bytes:
		p.report(RuleTooBig, ".", "the skill holds %d files and %d KiB, more than %d files or %d MiB: too big to publish", p.entries, p.bytes>>10, limits.Entries, limits.Bytes>>20)
	}
	return p.found
}

// A packageLint walks a skill's files.
type packageLint struct {
	fsys    fs.FS
	found   []diag.Finding
	folded  map[string]string // path by its key on systems that ignore case
	entries int
	bytes   int64
	tooBig  bool
	hasMain bool
	inCase  string // SKILL.md in another case
}

//go:noinline
func (p *packageLint) report(rule, file, format string, args ...any) {
	f := problem(rule, 0, 0, format, args...)
	f.File = file
	p.found = append(p.found, *f)
}

func (p *packageLint) visit(name string, d fs.DirEntry, err error) error {
	if err != nil {
		p.report(RuleUnreadable, name, "cannot be read: %v", err)
		return nil
	}
	if name == "." {
		return nil
	}
	switch {
	case d.Name() == ".git" && d.IsDir():
		return fs.SkipDir
	case d.Name() == ".git":
		return nil
	case d.Type().IsRegular() && bundle.Residue(name):
		p.bytecode(name, "; bundles leave it out")
		return nil
	}
	p.bytecode(name, "")
	p.paths(name)
	if d.IsDir() {
		return nil
	}
	if p.entries++; p.entries > bundle.InstallLimits.Entries {
		p.tooBig = true
		return fs.SkipAll
	}
	p.names(name)
	switch mode := d.Type(); {
	case mode&fs.ModeSymlink != 0:
		p.link(name)
	case !mode.IsRegular():
		p.report(RuleFileType, name, "is neither a regular file nor a directory")
	default:
		return p.file(name, d)
	}
	return nil
}

// bytecode reports compiled Python.
func (p *packageLint) bytecode(name, more string) {
	if strings.HasSuffix(name, ".pyc") {
		p.report(RuleBytecode, name, "is compiled Python, which nobody can review%s", more)
	}
}

func (p *packageLint) paths(name string) {
	if err := bundle.CheckPath(name); err != nil {
		p.report(RulePathUnsafe, name, "%s", sentence(err))
		return
	}
	if err := bundle.CheckPortable(name); err != nil {
		p.report(RulePathPortable, name, "%s", sentence(err))
	}
	for at := name; at != "."; at = path.Dir(at) {
		switch other, found := p.folded[bundle.Fold(at)]; {
		case !found:
			p.folded[bundle.Fold(at)] = at
		case other != at:
			p.report(RulePathCollision, name, "is the same as %s where case or Unicode form does not count", diag.Printable(other))
			return
		}
	}
}

// sentence is an error without the place it names itself.
func sentence(err error) string {
	if e, ok := err.(*diag.Error); ok {
		return e.Message
	}
	return err.Error()
}

// names checks what a file is called.
func (p *packageLint) names(name string) {
	base := path.Base(name)
	switch {
	case name == FileName:
		p.hasMain = true
	case strings.EqualFold(name, FileName):
		p.inCase = name
	case base == FileName:
		p.report(RuleNested, name, "is a skill inside the skill; some hosts list it, most do not")
	}
}

func (p *packageLint) skillFile() {
	switch {
	case p.inCase != "":
		p.report(RuleSkillFileCase, p.inCase, "is spelled %s by the format, and most hosts look for nothing else", FileName)
	case !p.hasMain && !p.tooBig:
		p.report(RuleNoSkillFile, ".", "the directory has no %s", FileName)
	}
}

// link checks that a symbolic link leads to a regular file inside the skill.
func (p *packageLint) link(name string) {
	target, err := fs.ReadLink(p.fsys, name)
	if err != nil {
		p.report(RuleLinkEscape, name, "is a link that cannot be read: %v", err)
		return
	}
	p.bytes += int64(len(target))
	if err := bundle.CheckLinkTarget(name, target); err != nil {
		p.report(RuleLinkEscape, name, "%s", sentence(err))
		return
	}
	info, err := fs.Lstat(p.fsys, path.Join(path.Dir(name), target))
	if err != nil || !info.Mode().IsRegular() {
		p.report(RuleLinkEscape, name, "is a link to %q, which is not a regular file inside the skill", diag.Printable(target))
		return
	}
	p.report(RuleLink, name, "is a link to %s; bundles are published without links", diag.Printable(target))
}

func (p *packageLint) file(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		p.report(RuleUnreadable, name, "cannot be read: %v", err)
		return nil
	}
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky) != 0 {
		p.report(RuleSetID, name, "has a set-id or sticky bit")
	}
	if p.bytes+info.Size() > bundle.InstallLimits.Bytes {
		p.tooBig = true
		return fs.SkipAll
	}
	content, err := fs.ReadFile(p.fsys, name)
	if err != nil {
		p.report(RuleUnreadable, name, "cannot be read: %v", err)
		return nil
	}
	p.bytes += int64(len(content))
	if bundle.IsLFSPointer(content) {
		p.report(RuleLFS, name, "is a Git LFS pointer; fetch its content and store that")
	}
	if bytes.IndexByte(content[:min(len(content), 8000)], 0) < 0 {
		p.found = append(p.found, hiddenText(name, content)...)
	}
	return nil
}
