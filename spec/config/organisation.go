package config

import (
	"time"

	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/policy"
)

// defaultPolicyAge is how long a copy of an organisation's policy counts where nothing is written.
const defaultPolicyAge = 7 * 24 * time.Hour

// An Organisation is where rules of a policy are fetched that are in force besides those on this machine.
type Organisation struct {
	URL    string
	Key    string // path of the public key of whoever signs them, relative to File
	MaxAge time.Duration
	File   string // that says so
}

func (p *parser) organisation(entry tomledit.Field) {
	o := Organisation{MaxAge: defaultPolicyAge, File: p.File}
	p.Table(entry, func(f tomledit.Field) {
		switch f.Key {
		case "url":
			o.URL = p.url(f, "https", "http")
		case "key":
			o.Key = p.Text(f)
		case "max_age":
			var ok bool
			if o.MaxAge, ok = policy.Duration(p.Text(f)); !ok {
				p.Fail(f.Value, "invalid duration %q: use 90m, 36h, 3d or 2w", f.Value.Text)
			}
		default:
			p.Unknown(f, "url", "key", "max_age")
			w := p.Warnings[len(p.Warnings)-1] // rules would be missing
			p.Fail(f.Value, "%s", w.Message)
		}
	})
	if o.URL == "" || o.Key == "" {
		p.Lacks(entry.Value, "the organisation needs url and key: an unsigned policy is not accepted")
	}
	p.c.Organisations = append(p.c.Organisations, o)
}
