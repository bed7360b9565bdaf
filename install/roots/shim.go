package roots

import (
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

type document struct{ Name, Description, Version, Format string }

func readDocument(src []byte) (*document, error) {
	rest, ok := strings.CutPrefix(string(src), "---\n")
	front, _, ok2 := strings.Cut(rest, "\n---")
	if !ok || !ok2 {
		return nil, diag.New(diag.Unmet, "E_YAML", "no frontmatter")
	}
	var d document
	for line := range strings.Lines(front) {
		k, v, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			return nil, diag.New(diag.Unmet, "E_YAML", "not a field: %s", line)
		}
		v = strings.Trim(strings.TrimSpace(v), `"`)
		switch k {
		case "name":
			d.Name = v
		case "description":
			d.Description = v
		case "version":
			d.Version = v
		case "skill_format":
			d.Format = v
		}
	}
	if d.Description == "" {
		return &d, diag.New(diag.Unmet, "E_NO_DESCRIPTION", "the skill has no description")
	}
	if d.Format != "" && d.Format != "corteza.skill/v1" {
		return &d, diag.New(diag.Unmet, "E_FORMAT_UNSUPPORTED", "format %s", d.Format)
	}
	return &d, nil
}
