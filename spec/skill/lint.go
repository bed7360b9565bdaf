package skill

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
)

// LintOptions choose how strict [Lint] is.
type LintOptions struct {
	Portable bool // report everything that only some hosts understand
	Strict   bool // warnings become errors
	Publish  bool // what a publish refuses is an error
}

// Lint checks one skill: fsys is rooted at its directory, whose name is dir; an
// empty dir is not compared with the skill's name. Files in findings are
// slash-separated paths inside the skill. Findings are sorted by file, line, column and rule.
//
// All regular files below 50 MiB in sum are read, a .git directory aside. What
// cannot be read is a finding. Nothing is followed out of fsys: symbolic links are
// examined only if fsys is an [fs.ReadLinkFS], else refused.
func Lint(fsys fs.FS, dir string, opt LintOptions) []diag.Finding {
	findings := lintPackage(fsys)
	src, err := fs.ReadFile(fsys, FileName)
	switch sidecar := SidecarIn(fsys, "."); {
	case err == nil:
		findings = append(findings, lintFile(src, sidecar, dir, opt)...)
	case errors.Is(err, fs.ErrNotExist) && sidecar != nil:
		found := lintFile(nil, sidecar, dir, opt) // as if SKILL.md were empty
		findings = append(findings, slices.DeleteFunc(found, func(f diag.Finding) bool { return f.Rule == RuleFrontmatter || f.Rule == RuleBodyEmpty })...)
	}
	for i := range findings {
		f := &findings[i]
		switch {
		case opt.Publish && lookupRule(f.Rule).Publish:
			f.Severity = diag.SeverityError
		case opt.Portable && f.Rule == RuleHostKey:
			f.Severity = diag.SeverityWarning
		}
		if opt.Strict && f.Severity == diag.SeverityWarning {
			f.Severity = diag.SeverityError
		}
	}
	diag.SortFindings(findings)
	return findings
}

// lintFile checks the text of a SKILL.md beside its SKILL.json, nil where there is none.
func lintFile(src, sidecar []byte, dir string, opt LintOptions) []diag.Finding {
	r, p := openWith(src, sidecar)
	if p != nil {
		found := []diag.Finding{*p}
		if _, err := ReadSidecar(sidecar); err != nil && sidecar != nil {
			broken := &reader{doc: &Document{}}
			broken.takeSidecar(sidecar)
			found = append(found, broken.findings...)
		}
		return found
	}
	r.lintNames(dir)
	r.lintText()
	r.lintBody(opt)
	if opt.Portable {
		r.lintGates()
		r.lintRunOnly()
	}
	if opt.Portable && r.doc.V1 != nil && r.doc.V1.Encoding == TopLevel {
		f, _ := find(r.fm.root, "skill_format")
		r.report(RuleTopLevel, f.KeySpan, "keys of %s stand at top level, where other validators refuse them; skl convert moves them into metadata", FormatV1)
	}
	return r.findings
}

// lintGates reports limits that not every host keeps.
func (r *reader) lintGates() {
	for _, g := range r.doc.Gates() {
		key, _, _ := strings.Cut(g.Key, ":")
		at := Span{Line: 1, Column: 1}
		for _, name := range []string{KeyNoModel, "metadata", strings.TrimSuffix(strings.TrimSuffix(key, ".allow"), ".deny")} {
			if f, ok := find(r.fm.root, name); ok {
				at = f.KeySpan
			}
		}
		switch {
		case len(g.By) > 0:
			r.report(RuleHostGate, at, "%s is kept by agents that know %s only", g.Key, strings.Join(g.By, " or "))
		case key == "tools.allow":
			r.report(RuleHostGate, at, "%s limits no agent; skl run keeps it", g.Key)
		case key == "tools.deny":
			r.report(RuleHostGate, at, "%s limits no agent without %s, which skl convert --to claude writes; skl run keeps it", g.Key, KeyNoTools)
		default:
			r.report(RuleHostGate, at, "%s keeps no agent's model from the skill without %s, or %s in agents/openai.yaml; skl convert writes them", g.Key, KeyNoModel, KeyNoImplicit)
		}
	}
}

// lintRunOnly reports what no host keeps, in one finding.
func (r *reader) lintRunOnly() {
	keys := r.doc.RunOnly()
	if len(keys) == 0 {
		return
	}
	at := Span{Line: 1, Column: 1}
	for _, name := range []string{"metadata", keys[0]} {
		if f, ok := find(r.fm.root, name); ok {
			at = f.KeySpan
		}
	}
	r.report(RuleHostGate, at, "no agent keeps %s; skl run does", strings.Join(keys, ", "))
}

// lintNames adds what only matters beside the directory and for publishing;
// read has checked the rest of the name.
func (r *reader) lintNames(dir string) {
	if CheckName(r.doc.Name, "") != nil {
		return
	}
	f, _ := find(r.fm.root, "name")
	if err := CheckName(r.doc.Name, dir); err != nil {
		r.reportError(err, f.Value.Span)
	}
	if err := CheckPublishName(r.doc.Name); err != nil {
		r.reportError(err, f.Value.Span)
	}
}

// lintText checks how the frontmatter is written.
func (r *reader) lintText() {
	text := r.fm.src[r.fm.start:r.fm.end]
	if bytes.IndexByte(r.fm.src[:r.fm.end], '\r') >= 0 {
		r.report(RuleCRLF, Span{Line: 1, Column: 1}, "the frontmatter has Windows line ends")
	}
	if i := bytes.Index(text, []byte("---")); i >= 0 {
		r.report(RuleDashes, r.fm.span(r.fm.start+i, r.fm.start+i), "the reference tool ends the frontmatter at these hyphens")
	}
	if i := firstInvalid(r.fm.src[r.fm.body:]); i >= 0 {
		r.report(RuleEncoding, r.inBody(i), "the body is not UTF-8")
	}
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	i := 0
	for {
		r, w := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && w <= 1 {
			return i
		}
		i += w
	}
}

// inBody is the place of an offset of the body.
func (r *reader) inBody(offset int) Span {
	before := r.fm.src[r.fm.body : r.fm.body+offset]
	return Span{
		Start: r.fm.body + offset, End: r.fm.body + offset,
		Line:   r.fm.bodyLine + bytes.Count(before, []byte("\n")),
		Column: offset - bytes.LastIndexByte(before, '\n'),
	}
}

const maxBodyLines = 500 // agentskills spec: keep SKILL.md under 500 lines

func (r *reader) lintBody(opt LintOptions) {
	body := r.fm.src[r.fm.body:]
	if len(bytes.TrimSpace(body)) == 0 {
		r.report(RuleBodyEmpty, Span{Line: r.fm.bodyLine, Column: 1}, "nothing follows the frontmatter")
		return
	}
	if n := bytes.Count(bytes.TrimRight(body, "\n"), []byte("\n")) + 1; n > maxBodyLines {
		r.report(RuleBodyLines, Span{Line: r.fm.bodyLine + maxBodyLines, Column: 1}, "the body has %d lines; move what is not always needed to files beside it", n)
	}
	if at := secondFrontmatter(body); at >= 0 {
		r.report(RuleTwoFrontmatters, r.inBody(at), "a second frontmatter follows; hosts ignore it or read it as text")
	}
	if f, ok := find(r.fm.root, "hooks"); ok {
		r.report(RuleLoadCommand, f.KeySpan, "hooks run commands while the skill is active")
	}
	for _, f := range BodyFeatures(body, r.argumentNames()...) {
		at := Span{Line: r.fm.bodyLine + f.Line - 1, Column: f.Column}
		if f.Kind == LoadCommand {
			r.report(RuleLoadCommand, at, "some hosts run this command when they load the skill: %s", diag.Printable(f.Text))
		}
		if hosts := f.Kind.Hosts(); opt.Portable && len(hosts) > 0 {
			r.report(RuleHostBody, at, "%s is understood by %s only", diag.Printable(f.Text), strings.Join(hosts, " and "))
		}
	}
}

// argumentNames returns the names that the body can use as $name.
func (r *reader) argumentNames() []string {
	if v1 := r.doc.V1; v1 != nil && v1.Arguments != nil {
		return v1.Arguments.Positional
	}
	f, _ := find(r.fm.root, "arguments")
	if names, ok := f.Value.texts(); ok {
		return names
	}
	return strings.Fields(f.Value.Text)
}

// secondFrontmatter returns where a block between "---" lines that starts with a
// key begins the body, or -1.
func secondFrontmatter(body []byte) int {
	rest := bytes.TrimLeft(body, " \t\r\n")
	first := rest[:lineEnd(rest, 0)]
	if !isFence(bytes.TrimRight(first, "\n")) {
		return -1
	}
	if _, _, isEntry := plainEntry(rest, len(first), lineEnd(rest, len(first))); !isEntry {
		return -1
	}
	if !bytes.Contains(rest[len(first):], []byte("\n---")) {
		return -1
	}
	return len(body) - len(rest)
}
