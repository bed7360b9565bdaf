package skillsearch

import (
	"github.com/skl-project/skl/spec/skill"
)

// fill makes a Skill of what a SKILL.md says.
func fill(d *skill.Document, src []byte) Skill {
	k := Skill{Name: d.Name, Description: d.Description, Version: d.Version, Tokens: (len(src) + 3) / 4}
	body := src[min(d.Body, len(src)):]
	k.Headings = Headings(body)
	k.Body = body[:min(len(body), MaxBody)]
	k.Tools = d.Preapproved()
	return k
}
