package config

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/internal/tomledit"
)

// An Allow is a lasting consent: what a skill may do without a question while it and all that it binds are what they were.
type Allow struct {
	Skill  string   // its name
	Digest string   // of its plan, as "skl run" computes it
	What   []string // run, effects, and tools by name
}

// Allowed is what is allowed for good to the skill of a name and a plan's digest.
func (c *Config) Allowed(name, digest string) (what []string) {
	for _, a := range c.Allows {
		if a.Skill == name && a.Digest == digest {
			what = append(what, a.What...)
		}
	}
	return what
}

// AddAllow allows a skill something for good. What is allowed already changes nothing.
func (c *Config) AddAllow(a Allow) error {
	have := c.Allowed(a.Skill, a.Digest)
	a.What = slices.DeleteFunc(slices.Clone(a.What), func(w string) bool { return slices.Contains(have, w) })
	if len(a.What) == 0 {
		return nil
	}
	return c.edit(func(doc *tomledit.Doc) error {
		return doc.Append("[[allow]]", "skill = "+tomledit.Quote(a.Skill), "digest = "+tomledit.Quote(a.Digest), "what = "+tomledit.QuoteList(a.What))
	})
}

func (p *parser) allows(list tomledit.Field) {
	if list.Value.Kind != tomledit.Array {
		p.Fail(list.Value, "allow is %s, not a list of tables: write [[allow]]", list.Value.Kind)
		return
	}
	for _, item := range list.Value.Items {
		var a Allow
		p.Table(tomledit.Field{Key: "allow", Value: item}, func(f tomledit.Field) {
			switch f.Key {
			case "skill":
				a.Skill = p.Formed(f, tomledit.Directory)
			case "digest":
				a.Digest = p.Formed(f, isDigest)
			case "what":
				a.What = p.Texts(f)
			default:
				p.Unknown(f, "skill", "digest", "what")
			}
		})
		if a.Skill == "" || a.Digest == "" || len(a.What) == 0 {
			p.Lacks(item, "an [[allow]] needs skill, digest and what")
		}
		p.c.Allows = append(p.c.Allows, a)
	}
}

// isDigest reports whether s is a kind of digest by SHA-256, and 64 hex digits.
func isDigest(s string) bool {
	kind, hex, ok := strings.Cut(s, ":")
	return ok && strings.HasSuffix(kind, "sha256") && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}
