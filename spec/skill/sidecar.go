package skill

import (
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
	invalid := func(why string) (*Document, error) {
		return nil, diag.New(diag.Unmet, CodeSidecar, "%s", why).At(diag.Position{File: SidecarName})
	}
	if len(data) > MaxFrontmatter {
		return invalid("the file is larger than 64 KiB")
	}
	root, err := decodeJSON(string(data), Span{Line: 1, Column: 1})
	if err != nil {
		return invalid("the file is not JSON: " + diag.Printable(err.Error()))
	}
	if root.Kind != Map {
		return invalid("the file is not a JSON object")
	}
	d := &Document{State: Ready, Invocation: Auto}
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
		}
	}
	if err := CheckName(d.Name, ""); err != nil {
		d.warn(err.(*diag.Error).Code, "%s", err.(*diag.Error).Message)
	}
	return d, nil
}

func (d *Document) warn(rule, format string, args ...any) {
	f := problem(rule, 1, 1, format, args...)
	f.File, f.Severity = SidecarName, diag.SeverityWarning
	d.Warnings = append(d.Warnings, *f)
}
