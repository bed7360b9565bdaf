package plan

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/resource"
)

type fileKey struct {
	skill *tree.Skill
	path  string
}

type file struct {
	text string
	err  error // that there is none; other errors are not kept
}

// A fileCache keeps files as they were when first read.
type fileCache struct {
	mu    sync.Mutex
	files map[fileKey]file // guarded by mu
	bytes int              // guarded by mu
}

// read returns the text of a file of s; name is clean and inside s.
func (c *fileCache) read(s *tree.Skill, name string) (string, error) {
	key := fileKey{s, name}
	c.mu.Lock()
	defer c.mu.Unlock()
	if f, ok := c.files[key]; ok {
		return f.text, f.err
	}
	text, err := readFile(s.FS, name)
	if keep := err == nil || errors.Is(err, diag.Code(CodeMissing)); keep && c.bytes+len(text) <= MaxKept {
		c.files[key] = file{text, err}
		c.bytes += len(text) + len(name)
	}
	return text, err
}

func readFile(fsys fs.FS, name string) (string, error) {
	if err := checkLinks(fsys, name); err != nil {
		return "", err
	}
	f, err := fsys.Open(name)
	if err != nil {
		return "", missing(name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", missing(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", diag.New(diag.Unmet, CodeMissing, "%s is not a regular file", name)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err != nil {
		return "", diag.New(diag.Failed, CodeMissing, "%s cannot be read: %w", name, err)
	}
	if len(data) > MaxFile {
		return "", diag.New(diag.Unmet, CodeTooLarge, "%s is larger than %d KiB, the limit of a file that a tree reads", name, MaxFile>>10)
	}
	return string(data), nil
}

func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return diag.New(diag.Unmet, CodeMissing, "there is no file %s in the skill", name)
	}
	return diag.New(diag.Failed, CodeMissing, "%s cannot be read: %w", name, err)
}

// checkLinks refuses a path through a link that leaves the skill. A link may only be the last
// element, and lead to a regular file, as in a bundle.
func checkLinks(fsys fs.FS, name string) error {
	links, ok := fsys.(fs.ReadLinkFS)
	if !ok {
		return nil
	}
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '/' {
			continue
		}
		info, err := links.Lstat(name[:i])
		if err != nil {
			return missing(name, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		target, err := links.ReadLink(name[:i])
		if err != nil {
			return missing(name, err)
		}
		if i < len(name) || bundle.CheckLinkTarget(name, target) != nil {
			return outside(name, "goes through a link that leads out of the skill")
		}
		end := path.Join(path.Dir(name), target)
		if info, err := links.Lstat(end); err != nil || !info.Mode().IsRegular() {
			return outside(name, "is a link that leads to no regular file of the skill")
		}
	}
	return nil
}

func outside(name, why string) error {
	return diag.New(diag.Refused, CodeOutside, "the path %s %s", diag.Printable(name), why)
}

// locate says which file of which skill a path in a body of s means.
func (p *Plan) locate(s *tree.Skill, text string) (*tree.Skill, string, error) {
	name := strings.TrimSpace(strings.Trim(strings.TrimSpace(text), "`"))
	if rest, ok := strings.CutPrefix(name, skillsRoot); ok {
		name = "../" + rest
	}
	switch {
	case name == "":
		return nil, "", diag.New(diag.Unmet, CodeMissing, "a path is empty")
	case strings.ContainsAny(name, "\\\x00"), strings.HasPrefix(name, "/"), strings.HasPrefix(name, "~"), len(name) > 1 && name[1] == ':':
		return nil, "", outside(name, "is not relative to the skill")
	}
	name = path.Clean(name)
	rest, up := strings.CutPrefix(name, "../")
	if up || name == ".." {
		return p.sibling(s, name, rest)
	}
	if !fs.ValidPath(name) {
		return nil, "", outside(name, "is not a path")
	}
	return s, name, nil
}

// skillsRoot stands for the directory that skills are installed in.
const skillsRoot = "<skills-root>/"

// sibling finds a file of another skill: only of one that the plan's skill depends on.
func (p *Plan) sibling(s *tree.Skill, name, rest string) (*tree.Skill, string, error) {
	owner, file, ok := strings.Cut(rest, "/")
	if !ok || owner == ".." || !fs.ValidPath(file) {
		return nil, "", outside(name, "leaves the skill")
	}
	if owner == s.Name {
		return s, file, nil
	}
	if owner == p.Skill.Name {
		return p.Skill, file, nil
	}
	other := p.siblings[owner]
	if other == nil {
		return nil, "", outside(name, "is of the skill "+owner+", which is not an installed dependency")
	}
	return other, file, nil
}

// Resource reads a file that a body of skill names. Paths with interpolations are filled by the caller before.
// "../NAME/…" and "<skills-root>/NAME/…" are files of canopy-runtime, or of a skill that the plan's depends on or names in its compatibility. Errors are
// *diag.Error with the codes CodeMissing, CodeOutside and CodeTooLarge, and name the file.
func (p *Plan) Resource(s *tree.Skill, text string) (Resource, error) {
	owner, name, err := p.locate(s, text)
	if err != nil {
		return Resource{}, err
	}
	body, err := p.files.read(owner, name)
	if err == nil {
		return Resource{Category: resource.CategoryOf(name), Path: name, Text: body}, nil
	}
	if !errors.Is(err, diag.Code(CodeMissing)) {
		return Resource{}, err
	}
	mapped := resource.Mapped(name) // ruling 5.30: literal first, then the other layout
	if mapped == "" || !fs.ValidPath(mapped) {
		return Resource{}, err
	}
	body, other := p.files.read(owner, mapped)
	if other != nil {
		return Resource{}, err
	}
	return Resource{Category: resource.CategoryOf(mapped), Path: mapped, Text: body, Legacy: true}, nil
}

// Dynamic reports whether a path is known only at run time, because it has an interpolation.
func Dynamic(path string) bool {
	path = strings.TrimPrefix(strings.Trim(strings.TrimSpace(path), "`"), skillsRoot)
	return strings.ContainsAny(path, "<{$")
}

// file checks the file of a Read or Verify node.
func (b *binder) file(s *tree.Skill, n *tree.Node) {
	name := n.Path
	if n.Kind == tree.Verify && name == "" {
		name = DefaultVerify
	}
	if name == "" || Dynamic(name) {
		return
	}
	other := strings.HasPrefix(name, "../") || strings.HasPrefix(name, skillsRoot)
	if other {
		b.dependencies()
		b.named(s, name)
	}
	r, err := b.Resource(s, name)
	if errors.Is(err, diag.Code(CodeMissing)) && n.Kind == tree.Read && !other && resource.CategoryOf(name) == resource.Project {
		return // a file of the project, which tools reach
	}
	if err != nil {
		b.stop(s, n.Pos, fileRule(n.Kind, err), "%s", sentence(err))
		return
	}
	if r.Legacy {
		b.warn(s, n.Pos, check.FileMissing, "there is no file %s; %s is taken instead", name, r.Path)
	}
	if n.Kind == tree.Read && n.Section == "" {
		if _, err := Part(r, n); err != nil {
			b.stop(s, n.Pos, check.SectionMissing, "%s", sentence(err))
		}
	}
	if n.Kind == tree.Read && n.Section != "" && !n.Matching && !Dynamic(n.Section) {
		if _, ok := Section(r, n.Section); !ok {
			b.stop(s, n.Pos, check.SectionMissing, "%s has no section %q", r.Path, n.Section)
		}
	}
}

// named finds a skill that a path names and that the compatibility text names as well (CNP-O08). Ops are never looked
// up there (ruling 5.29): a path says which skill it means, and a name of an op does not.
func (b *binder) named(s *tree.Skill, path string) {
	name := strings.TrimPrefix(strings.TrimPrefix(path, skillsRoot), "../")
	name, _, _ = strings.Cut(name, "/")
	if b.opt.Find == nil || b.siblings[name] != nil || !s.Doc.Neighbour(name) {
		return
	}
	if found, err := b.opt.Find(name); err == nil && found != nil {
		b.siblings[name] = found
	}
}

func fileRule(k tree.Kind, err error) string {
	switch {
	case errors.Is(err, diag.Code(CodeOutside)):
		return check.PathEscapes
	case k == tree.Verify:
		return check.VerifyMissing
	}
	return check.FileMissing
}

func sentence(err error) string {
	if e, ok := err.(*diag.Error); ok {
		return e.Message
	}
	return err.Error()
}

// DefaultVerify is the checklist of a VERIFY_EXPECTED that names none.
const DefaultVerify = resource.DefaultVerify

// Part says which section of a script a Read without a sure section runs; "" is all of it, and of other files. Its error has the code
// CodeMissing.
func Part(r Resource, n *tree.Node) (section string, err error) {
	if r.Category != resource.Script {
		return "", nil
	}
	section, ok := resource.ScriptPart(r.Text, n.Words())
	if !ok {
		return "", diag.New(diag.Unmet, CodeMissing, "%s", diag.Clip(resource.NoPart(r.Path, r.Text, n.Words()), 300))
	}
	return section, nil
}

// Section returns the section of r that a tree names: of a script its named part, of other files the text below a heading.
func Section(r Resource, name string) (text string, ok bool) {
	if r.Category == resource.Script {
		return resource.ScriptSection(r.Text, name)
	}
	return resource.MarkdownSection(r.Text, name)
}
