package skill

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// SidecarName is the file that described a skill before corteza.skill/v1.
const SidecarName = "SKILL.json"

// CodeSidecar is the code of a SKILL.json that cannot be read.
const CodeSidecar = "E_SIDECAR"

// ReadSidecar reads a SKILL.json as format v0. Its version, author and license become
// metadata; its tools never limited anything and are ignored with a warning. The
// document has no Fields and no body. A missing description is not an error,
// because a SKILL.md beside it may have one.
//
// Its error is a *diag.Error with code E_SIDECAR.
func ReadSidecar(data []byte) (*Document, error) {
	d, _, err := readSidecar(data)
	return d, err
}

// readSidecar also returns the keys that a SKILL.md has no place for.
func readSidecar(data []byte) (d *Document, others []string, err error) {
	invalid := func(why string) (*Document, []string, error) {
		return nil, nil, diag.New(diag.Unmet, CodeSidecar, "%s", why).At(diag.Position{File: SidecarName})
	}
	if len(data) > MaxFrontmatter {
		return invalid("the file is larger than 64 KiB")
	}
	root, err := decodeJSON(strings.TrimPrefix(string(data), "\ufeff"), Span{Line: 1, Column: 1})
	if err != nil {
		return invalid("the file is not JSON: " + diag.Printable(err.Error()))
	}
	if root.Kind != Map {
		return invalid("the file is not a JSON object")
	}
	d = &Document{State: Ready, Invocation: Auto}
	for _, f := range root.Fields {
		text, isText := f.Value.text()
		text = strings.TrimSpace(text)
		switch f.Key {
		case "name", "description", "version", "author", "license":
			if !isText {
				d.warn(RuleFieldType, "%s is not a string", f.Key)
				continue
			}
		}
		switch f.Key {
		case "name":
			d.Name = text
		case "description":
			d.Description = text
		case "license":
			d.License = text
			d.Metadata = append(d.Metadata, Pair{f.Key, text})
		case "version":
			d.Version = text
			d.Metadata = append(d.Metadata, Pair{f.Key, text})
		case "author":
			d.Metadata = append(d.Metadata, Pair{f.Key, text})
		case "tools":
			d.warn(RuleLegacyTools, "tools never limited anything and is ignored; use tools.allow of %s", FormatV1)
		default:
			others = append(others, f.Key)
		}
	}
	if err := CheckName(d.Name, ""); err != nil {
		d.warn(err.(*diag.Error).Code, "%s", err.(*diag.Error).Message)
	}
	return d, others, nil
}

func (d *Document) warn(rule, format string, args ...any) {
	f := problem(rule, 1, 1, format, args...)
	f.File, f.Severity = SidecarName, diag.SeverityWarning
	d.Warnings = append(d.Warnings, *f)
}

// SidecarIn reads the SKILL.json of the skill in directory dir of fsys, and no more of it than is needed to see that it is too large. It
// is nil where there is no such file, or what has its name is none.
func SidecarIn(fsys fs.FS, dir string) []byte {
	name := path.Join(dir, SidecarName)
	if info, err := fs.Stat(fsys, name); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxFrontmatter+1))
	if err != nil {
		return nil
	}
	return append([]byte{}, data...)
}

// ReadWith is [Read] for a SKILL.md with a SKILL.json beside it; sidecar is nil where there is none. Of format v0, what SKILL.md
// does not say is taken from the sidecar: name, description, license, version and author. A SKILL.md without a frontmatter is then
// all body. One that names its format takes nothing. Agents read no sidecar, so each key that is taken, or differs, leaves a Warning.
//
// Its error is that of Read, or that of [ReadSidecar] where the sidecar alone could have described the skill.
func ReadWith(src, sidecar []byte) (*Document, error) {
	doc, err := Read(src)
	if sidecar == nil || err != nil && !isUndescribed(err) {
		return doc, err
	}
	r, p := openWith(src, sidecar)
	if p != nil || r.doc.Description == "" {
		if _, wrong := ReadSidecar(sidecar); wrong != nil {
			return nil, wrong
		}
		return nil, err
	}
	return r.lenient(), nil
}

func isUndescribed(err error) bool {
	e, ok := errors.AsType[*diag.Error](err)
	return ok && e.Code == CodeNoDescription
}

// openWith opens and reads src beside a sidecar. A file without a frontmatter is opened only if the sidecar describes it.
func openWith(src, sidecar []byte) (*reader, *diag.Finding) {
	r, p := open(src)
	switch {
	case p == nil:
		r.read()
	case sidecar == nil || !isBare(src):
		return nil, p
	default:
		r = &reader{fm: &frontmatter{src: src, bodyLine: 1}, doc: &Document{State: Ready, Invocation: Auto, BodyLine: 1}}
		r.report(RuleNameMissing, Span{Line: 1, Column: 1}, "the skill has no name")
		r.report(RuleDescMissing, Span{Line: 1, Column: 1}, "the skill has no description")
	}
	if sidecar != nil {
		r.takeSidecar(sidecar)
	}
	if p != nil && r.doc.Description == "" {
		return nil, p
	}
	return r, nil
}

// isBare reports whether src begins with no frontmatter, not even one that is not closed.
func isBare(src []byte) bool {
	first, _, _ := bytes.Cut(bytes.TrimPrefix(src, []byte("\ufeff")), []byte("\n"))
	return !isFence(first)
}

// takeSidecar fills in what SKILL.md does not say.
func (r *reader) takeSidecar(sidecar []byte) {
	say := func(rule, file, format string, args ...any) *diag.Finding {
		f := r.report(rule, Span{Line: 1, Column: 1}, format, args...)
		f.File = file
		return f
	}
	side, others, err := readSidecar(sidecar)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		say(RuleSidecarBroken, SidecarName, "it is not read: %s", e.Message)
		return
	}
	r.sidecarRemarks(side.Warnings, others)
	d := r.doc
	author, _ := side.Meta("author")
	own, _ := d.Meta("author")
	var keys, metadata []Pair
	var differ []string
	for _, x := range []struct {
		key        string
		own        *string
		side       string
		inMetadata bool
	}{
		{"name", &d.Name, side.Name, false}, {"description", &d.Description, side.Description, false}, {"license", &d.License, side.License, false},
		{"version", &d.Version, side.Version, true}, {"author", &own, author, true},
	} {
		switch {
		case x.side == "" || x.side == *x.own:
		case *x.own != "" || d.Format != "":
			differ = append(differ, x.key)
		case x.inMetadata:
			*x.own = x.side
			metadata = append(metadata, Pair{x.key, x.side})
		default:
			*x.own = x.side
			keys = append(keys, Pair{x.key, x.side})
		}
	}
	d.Metadata = append(d.Metadata, metadata...)
	if len(differ) > 0 {
		say(RuleSidecar, SidecarName, "%s: SKILL.md counts, and SKILL.json says something else", strings.Join(differ, ", "))
	}
	r.dropMissing(keys)
	if len(keys) > 0 {
		rule := RuleSidecar
		if slices.ContainsFunc(keys, func(p Pair) bool { return p.Key != "license" }) {
			rule = RuleSidecarAlone
		}
		say(rule, FileName, "%s: only SKILL.json says it, which agents do not read", names(keys)).Fix = r.keysFix(keys)
	}
	if len(metadata) > 0 {
		f := say(RuleSidecar, FileName, "%s: only SKILL.json says it, which agents do not read", names(metadata))
		if len(keys) == 0 || r.fm.end > 0 { // else the next pass, when there is a frontmatter
			f.Fix = r.metadataFix(metadata)
		}
	}
}

// sidecarRemarks adds the warnings about a sidecar, and names the keys that stay in it, at most 200 bytes of them.
func (r *reader) sidecarRemarks(warnings []diag.Finding, others []string) {
	for _, w := range warnings {
		if w.Rule != RuleNameMissing {
			r.findings = append(r.findings, w)
		}
	}
	var known []string
	others = slices.DeleteFunc(slices.Clone(others), func(key string) bool {
		_, ofHost := LookupKey(key)
		_, ofFormat := lookupV1(key)
		if is := ofHost || ofFormat || isBaseKey(key); is {
			known = append(known, key)
			return true
		}
		return false
	})
	say := func(rule, text string, keys []string) {
		if len(keys) > 0 {
			list := diag.Printable(diag.Head(strings.Join(keys, ", "), maxFeatureText))
			r.report(rule, Span{Line: 1, Column: 1}, text, list).File = SidecarName
		}
	}
	say(RuleSidecar, "%s: nothing obeys it in SKILL.json; write it into SKILL.md by hand, where it counts", known)
	say(RuleSidecarKeys, "%s: SKILL.md has no place for it, so lint --fix leaves it here", others)
}

// dropMissing removes the findings that what was taken has answered.
func (r *reader) dropMissing(taken []Pair) {
	for _, p := range taken {
		rule := map[string]string{"name": RuleNameMissing, "description": RuleDescMissing}[p.Key]
		kept := r.findings[:0]
		for _, f := range r.findings {
			if rule == "" || f.Rule != rule {
				kept = append(kept, f)
			}
		}
		r.findings = kept
	}
}

func names(pairs []Pair) string {
	var out []string
	for _, p := range pairs {
		out = append(out, p.Key)
	}
	return strings.Join(out, ", ")
}

// keysFix writes keys at the end of the frontmatter, or a frontmatter of them.
func (r *reader) keysFix(keys []Pair) *diag.Fix {
	if r.fm.flowRoot {
		return nil
	}
	eol := r.lineBreak()
	var text string
	for _, p := range keys {
		text += p.Key + ": " + scalarYAML(p.Value) + eol
	}
	fix := &diag.Fix{Note: "write it into SKILL.md", Start: r.fm.end, End: r.fm.end, Text: text}
	if r.fm.end == 0 {
		fix.Text = "---" + eol + text + "---" + eol
		if len(r.fm.src) > 0 && r.fm.src[0] != '\n' && r.fm.src[0] != '\r' {
			fix.Text += eol
		}
		if bytes.HasPrefix(r.fm.src, []byte("\ufeff")) {
			fix.End = len("\ufeff")
		}
	}
	return fix
}

func (r *reader) metadataFix(pairs []Pair) *diag.Fix {
	var entries []string
	for _, p := range pairs {
		entries = append(entries, p.Key+": "+quoted(p.Value))
	}
	at, text, err := r.metadataInsert(entries)
	if err != nil || r.fm.flowRoot || r.fm.end == 0 {
		return nil
	}
	return &diag.Fix{Note: "write it into SKILL.md", Start: at, End: at, Text: text}
}

// quoted spells s as a string that no parser takes for a number.
func quoted(s string) string { return string(appendString(nil, s)) }
