package git

import (
	"strings"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

// readFrontmatter fills name and description from a SKILL.md beside its SKILL.json, nil if there is none. The name that
// found has already stays if the frontmatter has none. A skill that cannot be
// read, or whose name cannot be a directory's on every system, gets Invalid.
func readFrontmatter(src, sidecar []byte, found *source.Found) {
	doc, err := skill.ReadWith(src, sidecar)
	if err != nil {
		found.Invalid = err
		return
	}
	found.Description = doc.Description
	if doc.Name != "" {
		found.Lock.Name = doc.Name
	}
	found.Invalid = checkName(found.Lock.Name)
}

// checkName reports whether a skill's name can be that of its directory.
func checkName(name string) error {
	err := bundle.CheckPath(name)
	if err == nil {
		err = bundle.CheckPortable(name)
	}
	if err == nil && !strings.Contains(name, "/") && !strings.HasPrefix(name, ".") && !strings.HasPrefix(name, "-") {
		return nil
	}
	return diag.New(diag.Refused, "SPEC-NAME-CHARS", "name %q cannot be the name of a directory on every system", diag.Printable(name)).
		Hint("names are lower-case letters, digits and single hyphens: ask the author to change it in SKILL.md")
}
