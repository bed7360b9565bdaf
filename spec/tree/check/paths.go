package check

import (
	"io/fs"
	"path"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// maxFiles is how many files of a skill are looked at for their category.
const maxFiles = 512

// resources checks the files that the steps of b read.
func (c *checker) resources(b *body) {
	b.each(func(n *tree.Node, _ []*tree.Node, _ int) {
		if n.Kind == tree.Verify && n.Path == "" {
			c.missing(VerifyMissing, n.Pos, resource.DefaultVerify, "the checklist", b.reached, n)
			return
		}
		if n.Kind != tree.Read && n.Kind != tree.Verify || n.Path == "" {
			return
		}
		if c.escapes(n.Pos, n.Path) {
			return
		}
		name, ok := local(n.Path)
		if !ok {
			return
		}
		if n.Kind == tree.Verify {
			c.missing(VerifyMissing, n.Pos, n.Path, "the checklist", b.reached, n)
			return
		}
		if resource.CategoryOf(name) == resource.Project {
			// A file outside of the layout is one of the project, unless the skill has it.
			inAssets := strings.HasPrefix(name, "assets/")
			if known := strings.HasPrefix(strings.ToUpper(name), "SKILL.MD") || strings.HasPrefix(strings.ToUpper(name), "README"); inAssets || c.exists(name) && !known {
				c.report(NoCategory, n.Pos, diag.Clip(name, 60)+" is in no directory of the layout, so nothing says how it is used")
			}
			if !inAssets {
				return
			}
		}
		if !c.missing(FileMissing, n.Pos, n.Path, "the file", b.reached, n) {
			c.sectionOf(n, name, b.reached)
		}
	})
	if b.op == nil && c.skill.Tree != nil {
		c.layout()
	}
}

// escapes reports a path that leaves the skill. Those into canopy-runtime do not
// count: it is part of the host.
func (c *checker) escapes(at tree.Pos, name string) bool {
	slashed := strings.ReplaceAll(strings.Trim(name, "`"), `\`, "/")
	drive := len(slashed) > 1 && slashed[1] == ':'
	if strings.HasPrefix(slashed, "/") || strings.HasPrefix(slashed, "~") || drive {
		c.report(PathEscapes, at, "the path "+diag.Clip(name, 60)+" is not relative to the skill")
		return true
	}
	clean := path.Clean(slashed)
	rest, ok := strings.CutPrefix(clean, "../")
	if !ok {
		return clean == ".."
	}
	sibling, _, inside := strings.Cut(rest, "/")
	switch {
	case !inside || sibling == "..":
		c.report(PathEscapes, at, "the path "+diag.Clip(name, 60)+" leaves the skill")
	case sibling == skill.RuntimeName:
	case c.skill.Doc.Neighbour(sibling):
		c.report(PathEscapes, at, "the path "+diag.Clip(name, 60)+" leads into another skill, which is not always installed beside this one").Severity = diag.SeverityWarning
	default:
		c.report(PathEscapes, at, "the path "+diag.Clip(name, 60)+" leads into another skill, which compatibility does not name")
	}
	return true
}

// missing reports a file that does not exist. When it is found at its path in the
// other layout, that is a warning with a fix. n is where it is written, nil for a contract.
func (c *checker) missing(rule string, at tree.Pos, written, what string, reached bool, n *tree.Node) bool {
	name, ok := local(written)
	if !ok || c.exists(name) || c.skill.FS == nil {
		return false
	}
	if other := resource.Mapped(name); other != "" && c.exists(other) {
		f := c.report(FileMissing, at, what+" "+diag.Clip(written, 60)+" is found at "+other)
		f.Severity = diag.SeverityWarning
		f.Fix = c.rewritePath(at, n, written, other)
		return true
	}
	f := c.report(rule, at, what+" "+diag.Clip(written, 60)+" does not exist")
	if !reached {
		f.Severity = diag.SeverityWarning
		f.Message += " (nothing calls this op)"
	}
	return true
}

// rewritePath is the splice that writes another path on the line of at.
func (c *checker) rewritePath(at tree.Pos, n *tree.Node, old, path string) *diag.Fix {
	f := c.source(at.File)
	if f == nil {
		return nil
	}
	line, start := f.line(at.Line)
	i := strings.Index(line, old)
	if i < 0 || strings.Count(line, old) != 1 || n != nil && n.Last != n.Pos.Line {
		return nil
	}
	start += i
	return &diag.Fix{Note: "write the path of the file", Start: start, End: start + len(old), Text: path}
}

// sectionOf looks for the section of a file that a step reads.
func (c *checker) sectionOf(n *tree.Node, name string, reached bool) {
	if n.Section == "" && resource.CategoryOf(name) == resource.Script {
		c.part(n, name, reached)
		return
	}
	if n.Section == "" || n.Matching || strings.ContainsAny(n.Section, "<>{}$`") {
		return
	}
	f := c.source(name)
	if f == nil {
		return
	}
	ok := true
	switch {
	case resource.CategoryOf(name) == resource.Script:
		_, ok = resource.ScriptSection(f.text, n.Section)
	case path.Ext(name) == ".md" && (strings.Contains(n.Body, "§") || strings.Contains(n.Body, " section")):
		_, ok = resource.MarkdownSection(f.text, n.Section)
	}
	if !ok {
		p := c.report(SectionMissing, n.Pos, diag.Clip(n.Path, 60)+" has no section "+diag.Clip(n.Section, 60))
		if !reached {
			p.Severity = diag.SeverityWarning
		}
	}
}

// part looks for a script with sections of which a step names none.
func (c *checker) part(n *tree.Node, name string, reached bool) {
	f := c.source(name)
	if f == nil {
		return
	}
	if _, ok := resource.ScriptPart(f.text, n.Words()); ok {
		return
	}
	p := c.report(SectionMissing, n.Pos, diag.Clip(resource.NoPart(n.Path, f.text, n.Words()), 300))
	if !reached {
		p.Severity = diag.SeverityWarning
	}
}

// contractFile checks that a contract exists and is a schema.
func (c *checker) contractFile(rule string, at tree.Pos, written, what string, reached bool) {
	if c.escapes(at, written) {
		return
	}
	name, ok := local(written)
	if !ok || c.skill.FS == nil {
		return
	}
	if c.missing(rule, at, written, what, reached, nil) {
		return
	}
	sch := c.schema(name)
	if sch == nil {
		return
	}
	switch {
	case sch.bad != "":
		c.report(BadSchema, at, what+" "+diag.Clip(written, 60)+" "+sch.bad)
	case sch.sample:
		c.report(SampleSchema, at, what+" "+diag.Clip(written, 60)+" is a sample and no JSON Schema: nothing is checked against it")
	}
	if sch.leaves != "" {
		c.report(SampleSchema, at, what+" "+diag.Clip(written, 60)+" refers to "+diag.Clip(sch.leaves, 60)+", which is outside the skill").Severity = diag.SeverityError
	}
	if sch.lacks != "" {
		c.report(BadSchema, at, what+" "+diag.Clip(written, 60)+" refers to "+diag.Clip(sch.lacks, 60)+", which does not exist")
	}
}

// oldPlaces are the entries at the skill's root that stand below another directory now.
var oldPlaces = [...]string{"checklists", "commands", "constants", "ops", "ops.md", "policies", "schemas", "templates", "verify"}

// layout checks where the skill's files stand.
func (c *checker) layout() {
	if c.skill.FS == nil {
		return
	}
	var old []string
	for _, name := range oldPlaces {
		if c.exists(name) {
			old = append(old, name)
		}
	}
	if len(old) > 0 {
		c.report(OldLayout, tree.Pos{File: c.skill.File}, "the skill has the old layout: "+strings.Join(old, ", ")+" at its root instead of scripts, references and assets")
	}
	left := maxFiles
	fs.WalkDir(c.skill.FS, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || left == 0 {
			return fs.SkipAll
		}
		if d.IsDir() {
			if base := path.Base(name); name != "." && (base[0] == '.' || base == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		left--
		if here := resource.CategoryOf(name); here != resource.Project && d.Type().IsRegular() {
			if there := c.category(name, here); there != "" {
				c.report(WrongCategory, tree.Pos{File: name}, "the file is among "+string(here)+", and it belongs among "+string(there))
			}
			c.documents(name, here)
		}
		return nil
	})
}

// documents reports a resource that holds several documents: whoever reads one loads all.
func (c *checker) documents(name string, here resource.Category) {
	switch here {
	case resource.Constant, resource.Policy, resource.Checks, resource.VerifyDoc:
	default:
		return
	}
	f := c.source(name)
	if f == nil || path.Ext(name) != ".md" {
		return
	}
	titles := 0
	kinds := f.kinds(1)
	for n := 1; n <= f.lines(); n++ {
		line, _ := f.line(n)
		if kinds[n] != headLine || !strings.HasPrefix(line, "# ") {
			continue
		}
		if titles++; titles == 2 {
			c.report(SeveralInFile, tree.Pos{File: name, Line: n, Column: 1}, "a second document begins here: whoever reads one loads both; move it to a file of its own")
		}
	}
}

// category tells where a file belongs by its content, "" if it is well placed or
// nobody can tell.
func (c *checker) category(name string, here resource.Category) resource.Category {
	switch path.Ext(name) {
	case ".sh", ".ps1", ".bat":
		if here != resource.Script && here != resource.Template && here != resource.Reference {
			return resource.Script
		}
	case ".json":
		if here == resource.Schema || here == resource.Template || here == resource.Script || here == resource.Reference {
			return ""
		}
		if text, ok := c.read(name); ok && strings.Contains(text, `"$schema"`) && strings.Contains(text, `"properties"`) {
			return resource.Schema
		}
	case ".md":
		if here != resource.Constant && here != resource.Policy {
			return ""
		}
		f := c.source(name)
		if f == nil {
			return ""
		}
		boxes, others := 0, 0
		for n := 1; n <= f.lines(); n++ {
			line, _ := f.line(n)
			switch text := strings.TrimSpace(line); {
			case text == "" || text[0] == '#':
			case len(text) > 5 && isItem(text) && text[2] == '[' && text[4] == ']':
				boxes++
			case line == text:
				others++
			}
		}
		if boxes > 1 && boxes > others {
			return resource.Checks
		}
	}
	return ""
}
