package git

import (
	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/spec/skill"
)

// readFrontmatter fills name and description from a SKILL.md beside its SKILL.json, nil if there is none. The name that
// found has already stays if the frontmatter has none. A skill that cannot be
// read gets Invalid.
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
}
