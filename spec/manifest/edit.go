package manifest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
)

// edit runs change on a copy and takes the result if it is a manifest.
// An error leaves m as it was.
func (m *Manifest) edit(change func(*tomledit.Doc) error) error {
	doc := *m.doc
	if err := change(&doc); err != nil {
		return diag.New(diag.Failed, "manifest_invalid", "%w", err).At(diag.Position{File: m.file})
	}
	next, err := read(tomledit.NewReader(&doc, m.file, code))
	if err != nil {
		return err
	}
	*m = *next
	return nil
}

// SetSkill makes s the entry of name; s.Name is not looked at. Of an entry that
// is there only the keys that differ are changed.
func (m *Manifest) SetSkill(name string, s Skill) error {
	old, found := m.Skill(name)
	keys := []struct{ key, old, raw string }{
		{"ref", quoted(old.Ref), quoted(s.Ref)},
		{"skill", quoted(old.Skill), quoted(s.Skill)},
		{"version", quoted(old.Version), quoted(s.Version)},
		{"branch", quoted(old.Branch), quoted(s.Branch)},
		{"tag", quoted(old.Tag), quoted(s.Tag)},
		{"commit", quoted(string(old.Commit)), quoted(string(s.Commit))},
		{"hosts", list(old.Hosts), list(s.Hosts)},
		{"root", quoted(old.Root), quoted(s.Root)},
		{"hold", truth(old.Hold), truth(s.Hold)},
		{"hold_reason", quoted(old.HoldReason), quoted(s.HoldReason)},
	}
	return m.edit(func(doc *tomledit.Doc) error {
		path := []string{"skills", name}
		var pairs []string
		for _, k := range keys {
			if k.old == k.raw {
				continue
			}
			pairs = append(pairs, k.key+" = "+k.raw)
			if !found {
				continue
			}
			if err := set(doc, append(path, k.key), k.raw); err != nil {
				return err
			}
		}
		if found {
			return nil
		}
		return doc.Set(path, "{ "+strings.Join(pairs, ", ")+" }")
	})
}

// set writes raw at path unless it is there already; "" removes the key.
func set(doc *tomledit.Doc, path []string, raw string) error {
	if raw == "" {
		_, err := doc.Delete(path)
		return err
	}
	at := doc.Root
	for _, key := range path {
		at = at.Get(key)
	}
	if at != nil && at.Inline() == raw {
		return nil
	}
	return doc.Set(path, raw)
}

//go:noinline
func quoted(s string) string {
	if s == "" {
		return ""
	}
	return tomledit.Quote(s)
}

// list is a list of strings in TOML, "" for nil.
func list(all []string) string {
	if all == nil {
		return ""
	}
	return tomledit.QuoteList(all)
}

func truth(b bool) string {
	if !b {
		return ""
	}
	return "true"
}

// RemoveSkill removes the entry of name, if there is one.
//
//go:noinline
func (m *Manifest) RemoveSkill(name string) error {
	return m.edit(func(doc *tomledit.Doc) error {
		_, err := doc.Delete([]string{"skills", name})
		return err
	})
}

// SetHosts sets targets.hosts.
//
//go:noinline
func (m *Manifest) SetHosts(hosts []string) error {
	return m.edit(func(doc *tomledit.Doc) error { return doc.SetStrings([]string{"targets", "hosts"}, hosts) })
}

// SetLinks sets targets.links; "" removes it.
//
//go:noinline
func (m *Manifest) SetLinks(links string) error {
	return m.edit(func(doc *tomledit.Doc) error { return set(doc, []string{"targets", "links"}, quoted(links)) })
}

// SetVendor sets targets.vendor.
//
//go:noinline
func (m *Manifest) SetVendor(vendor bool) error {
	return m.edit(func(doc *tomledit.Doc) error {
		return set(doc, []string{"targets", "vendor"}, strconv.FormatBool(vendor))
	})
}

// SetNamespace binds a namespace; "" removes the binding. Whether a namespace may be
// bound anew is the caller's rule.
//
//go:noinline
func (m *Manifest) SetNamespace(namespace, binding string) error {
	return m.edit(func(doc *tomledit.Doc) error { return set(doc, []string{"namespace", namespace}, quoted(binding)) })
}

// SetMarket says where the marketplace of a name is.
//
//go:noinline
func (m *Manifest) SetMarket(name, ref string) error {
	return m.edit(func(doc *tomledit.Doc) error { return set(doc, []string{"market", name, "ref"}, quoted(ref)) })
}

// AddAck records what is accepted. Of what is recorded already it says who accepted it last, when, why and of which release.
//
//go:noinline
func (m *Manifest) AddAck(a Ack) error {
	return m.edit(func(doc *tomledit.Doc) error {
		i := slices.IndexFunc(m.Acks, a.same)
		var was Ack
		if i >= 0 {
			was = m.Acks[i]
		}
		if was.On != "" && a.On == "" { // a day cannot be empty
			if err := doc.DeleteItem([]string{"ack"}, i); err != nil {
				return err
			}
			i, was = -1, Ack{}
		}
		if was.On != "" && was.On < a.On && was.Version == a.Version && was.By == a.By && was.Reason == a.Reason {
			a.On = was.On // it was accepted then, and nothing is new
		}
		var lines []string
		for _, k := range [][3]string{{"code", a.Code, was.Code}, {"name", a.Name, was.Name}, {"winner", a.Winner, was.Winner}, {"loser", a.Loser, was.Loser},
			{"version", a.Version, was.Version}, {"by", a.By, was.By}, {"on", a.On, was.On}, {"reason", a.Reason, was.Reason}} {
			key, is := k[0], k[1]
			if is == k[2] {
				continue
			}
			text := tomledit.Quote(is)
			if key == "on" {
				text = is
			}
			if i < 0 {
				lines = append(lines, key+" = "+text)
			} else if err := doc.SetInItem([]string{"ack"}, i, key, text); err != nil {
				return err
			}
		}
		if i < 0 {
			return doc.Append("[[ack]]", lines...)
		}
		return nil
	})
}

// RemoveAck takes the acceptance of a conflict back; the reason is not compared.
//
//go:noinline
func (m *Manifest) RemoveAck(a Ack) error {
	return m.edit(func(doc *tomledit.Doc) error {
		for i := len(m.Acks) - 1; i >= 0; i-- {
			if !m.Acks[i].same(a) {
				continue
			}
			if err := doc.DeleteItem([]string{"ack"}, i); err != nil {
				return err
			}
		}
		return nil
	})
}
