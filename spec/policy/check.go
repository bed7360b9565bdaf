package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
)

// States of a Judgement.
const (
	Holds    = "holds"
	NotAbout = "not about it"
	Excepted = "exception"
	NotHolds = "does not hold"
)

// A Judgement is what one rule says of one skill.
type Judgement struct {
	Rule      string        `json:"rule"`
	Policy    string        `json:"policy"`
	Where     diag.Position `json:"where"`
	State     string        `json:"state"`               // holds, does not hold, exception, not about it
	Refusals  []Refusal     `json:"refusals"`            // one for each condition that does not hold
	Exception string        `json:"exception,omitempty"` // that takes the skill out
}

// A Refusal is a condition of a rule that a skill does not hold.
type Refusal struct {
	Skill     string        `json:"skill"`
	Version   string        `json:"version,omitempty"`
	Rule      string        `json:"rule"`
	Policy    string        `json:"policy"` // machine, organisation, user, project
	Where     diag.Position `json:"where"`
	Condition string        `json:"condition"`         // the key
	Found     string        `json:"found"`             // a clause: "it is not signed"
	Wants     string        `json:"wants"`             // what would hold, a clause too
	Expired   string        `json:"expired,omitempty"` // its exception, which is over
	Explain   string        `json:"-"`                 // that of the subject
}

// Sentence says it for people, without its place.
func (r Refusal) Sentence() string {
	s := "rule " + r.Rule + " of the " + r.Policy + " refuses " + strings.TrimSpace(r.Skill+" "+r.Version) + ": " + r.Why()
	return s
}

// Why is what was found, and what would hold.
func (r Refusal) Why() string {
	return strings.TrimSuffix(r.Found+"; "+r.Wants+"; "+r.Expired, "; ")
}

// writers are those who can make an exception.
var writers = map[string]string{"machine": "the administrator of this machine", "organisation": "whoever signs the policy of the organisation", "user": "you", "project": "whoever maintains the project"}

// WayOut says who can make an exception, and where.
func (r Refusal) WayOut() string {
	return writers[r.Policy] + " can write an [[exception]] for rule " + r.Rule + " in " + r.Where.File
}

// Check lists all conditions of all rules that the subjects do not hold, in the order of the subjects and of the files.
func (p *Policy) Check(subjects []Subject, now time.Time) (all []Refusal) {
	for i := range subjects {
		s := prepared(&subjects[i])
		for _, f := range p.Files {
			for _, r := range f.Rules {
				if r.about(&s) {
					if j := p.judge(f, r, &s, now); j.Refusals != nil {
						all = append(all, j.Refusals...)
					}
				}
			}
		}
	}
	return all
}

// Explain is what each rule says of s, in the order of the files.
func (p *Policy) Explain(subject *Subject, now time.Time) (all []Judgement) {
	s := prepared(subject)
	for _, f := range p.Files {
		for _, r := range f.Rules {
			if !r.about(&s) {
				all = append(all, Judgement{r.ID, f.Policy, r.Where, NotAbout, []Refusal{}, ""})
				continue
			}
			j := p.judge(f, r, &s, now)
			j.Refusals = append([]Refusal{}, j.Refusals...)
			all = append(all, j)
		}
	}
	return all
}

// A subject is one that many rules look at: what they are about is in lower case.
type subject struct {
	*Subject
	names []string
	from  []string
}

func prepared(s *Subject) subject {
	out := subject{Subject: s}
	for _, n := range s.Names {
		out.names = append(out.names, strings.ToLower(n))
	}
	for _, a := range s.Addresses {
		out.from = append(out.from, strings.ToLower(a.Text))
	}
	return out
}

// about reports whether r is about s. Whose word an address is does not matter here: it makes more rules count, not fewer.
func (r *Rule) about(s *subject) bool {
	if r.skills != nil && !anyWhole(r.skills, s.names) {
		return false
	}
	return r.from == nil || slices.ContainsFunc(s.from, func(a string) bool { return anyBegins(r.from, a) })
}

// judge looks at the conditions of r, which is about s. Refusals are nil where there are none.
func (p *Policy) judge(f *File, r *Rule, s *subject, now time.Time) Judgement {
	out := Judgement{Rule: r.ID, Policy: f.Policy, Where: r.Where, State: Holds}
	for i := range r.conditions {
		c := &r.conditions[i]
		found := c.unmet(r, s, now)
		if found == "" {
			continue
		}
		where := r.Where
		where.Line = c.line
		out.Refusals = append(out.Refusals, Refusal{Skill: s.Skill, Version: s.Version, Explain: s.Explain, Rule: r.ID, Policy: f.Policy, Where: where, Condition: c.key, Found: found, Wants: c.wants(s, found)})
	}
	if out.Refusals == nil {
		return out
	}
	out.State = NotHolds
	switch e := p.exception(f, r, s, now); {
	case e == nil:
	case now.Before(e.end):
		out.State, out.Refusals, out.Exception = Excepted, nil, e.String()
	default:
		for i := range out.Refusals {
			out.Refusals[i].Expired = "its exception has expired: " + e.String()
		}
	}
	return out
}

// exception is the one for r and s, an expired one if there is no other; nil if there is none. Those of r's own file and of
// stronger ones count.
func (p *Policy) exception(f *File, r *Rule, s *subject, now time.Time) (found *Exception) {
	for _, from := range p.Files {
		if from != f && from.Tier >= f.Tier {
			continue
		}
		for _, e := range from.Exceptions {
			if e.Rule == r.ID && anyWhole(e.skills, s.Sure) && (found == nil || e.end.After(found.end)) {
				found = e
			}
		}
	}
	return found
}

// unmet says what of s does not hold c; "" if it holds.
func (c *condition) unmet(r *Rule, s *subject, now time.Time) string {
	if s.Unchecked && slices.Contains(ofSource, c.key) {
		return unchecked
	}
	switch c.key {
	case "sources":
		return c.sources(r, s)
	case "registries":
		switch {
		case s.Registry == "":
			return "it comes from no registry"
		case !anyBegins(c.list, s.Registry):
			return "it comes from the registry " + s.Registry
		}
	case "signers":
		if s.Signature.Verified && slices.ContainsFunc(s.Signature.Names, func(n string) bool { return anyBegins(c.list, n) }) {
			return ""
		} else if s.Signature.Verified {
			return "it is signed by " + s.Signature.Signer
		}
		return "it has no verified signature: " + s.Signature.Reason
	case "unsigned":
		if !s.Signature.Verified && !s.Comes {
			return "it has no verified signature: " + s.Signature.Reason
		}
	case "level":
		if s.Level == "" {
			return "its level of trust is not known"
		} else if slices.Index(levels, s.Level) < c.rank {
			return strings.TrimSuffix("its level of trust is "+s.Level+", "+s.LevelReason, ", ")
		}
	case "min_age":
		return c.young(s, now)
	case "licences":
		switch {
		case !s.Content:
			return unread
		case s.Licence == "":
			return "it names no licence"
		case !c.allows(s.Licence):
			return "its licence is " + diag.Clip(s.Licence, 80)
		}
	case "max_severity":
		return c.severe(s)
	case "forbid", "hosts":
		return c.asks(s)
	case "shadowing":
		if len(s.Masks) > 0 {
			return "other copies of that name differ from it: " + strings.Join(s.Masks, ", ")
		}
	}
	return ""
}

// before is what stands before the values of a key, for what would hold.
var before = map[string]string{"sources": "it may come from ", "registries": "it may come from ", "signers": "it may be signed by ", "level": "at least it has to be ", "licences": "it has to be under ",
	"max_severity": "findings may at most be ", "forbid": "it may not ask for ", "hosts": "it may contact ", "min_age": "it has to be as old as "}

// wants says what would hold c.
func (c *condition) wants(s *subject, found string) string {
	switch {
	case found == unchecked:
		return "skl ci, with a network, checks it"
	case c.key == "unsigned":
		return "it has to be signed by someone whom config.toml names in [[signer]]"
	case c.key == "shadowing":
		return "the others have to be removed or disabled"
	case c.key == "min_age" && !s.Released.IsZero():
		return before[c.key] + c.texts[0] + ", on " + s.Released.Add(c.age).UTC().Format(time.RFC3339)
	case len(c.texts) == 0:
		return before[c.key] + "nothing"
	}
	return before[c.key] + strings.Join(c.texts, ", ")
}

// sources compares the addresses. A name in one that a weaker file than r's defines does not count.
func (c *condition) sources(r *Rule, s *subject) string {
	var named Address
	for _, a := range s.Addresses {
		if !anyBegins(c.list, a.Text) {
			continue
		}
		if a.Of <= r.tier {
			return ""
		}
		named = a
	}
	found := "it comes from nowhere that is known"
	if len(s.Addresses) > 0 {
		found = "it comes from " + s.Addresses[0].Text
	}
	if named.Text != "" {
		found += ", and what " + named.Text + " means is said by the " + named.Of.String() + ", which does not count for a rule of the " + r.tier.String()
	}
	return found
}

func (c *condition) young(s *subject, now time.Time) string {
	switch {
	case s.Comes || !s.Released.IsZero() && now.Sub(s.Released) >= c.age:
		return ""
	case s.Released.IsZero():
		return "it is not known when it was released: " + s.Unreleased
	case s.Released.After(now):
		return "it was released on " + s.Released.UTC().Format(time.RFC3339) + ", which is yet to come"
	}
	return "it was released on " + s.Released.UTC().Format(time.RFC3339)
}

func (c *condition) severe(s *subject) string {
	if !s.Audited {
		return "its content was not audited: this version of skl does not know how yet"
	}
	for _, f := range s.Findings {
		if at := slices.Index(severities, f.Severity); at < 0 || at > c.rank {
			return fmt.Sprintf("%s finds something %s in %s:%d", f.Rule, f.Severity, f.Place.File, f.Place.Line)
		}
	}
	return ""
}

// unchecked is of a skill whose lock says where it comes from.
const unchecked = "its source is known from skl.lock alone, which was not checked on this machine since there are rules"

const unread = "its files are not on this machine, so it is not known what they hold"

// cannotTell are permissions that may be any other of what code does.
var cannotTell = []audit.Kind{audit.Dynamic, audit.Agent}

// ofCode are the kinds that code has which cannot be told.
var ofCode = []audit.Kind{audit.Run, audit.Net, audit.Env, audit.Reads, audit.Writes, audit.Package}

// asks looks at what a skill asks for, for forbid and hosts.
func (c *condition) asks(s *subject) string {
	if !s.Content {
		return unread
	}
	var hits []string
	for i := range s.Permissions {
		p := s.Permissions[i].Permission
		hit, which := c.hit(p)
		if !hit {
			continue
		}
		text := p.String()
		if at := s.Permissions[i].Places; len(at) > 0 {
			text += fmt.Sprintf(" (%s:%d)", at[0].File, at[0].Line)
		}
		if which != "" {
			text += ", which may be " + which
		}
		hits = append(hits, text)
	}
	if hits == nil {
		return ""
	}
	return "it asks for " + strings.Join(hits, ", ")
}

// hit reports whether c does not allow p; which is what it may be, where that cannot be told.
func (c *condition) hit(p audit.Permission) (hit bool, which string) {
	hidden := slices.Contains(cannotTell, p.Kind)
	if c.perms == nil {
		return hidden || p.Kind == audit.Net && (p.Arg == "*" || !anyWhole(c.list, []string{argument(p)})), ""
	}
	for i := range c.perms {
		switch no := &c.perms[i]; {
		case no.kind == p.Kind && (no.all || p.Arg == "*" || no.args.whole(argument(p))):
			return true, ""
		case hidden && slices.Contains(ofCode, no.kind):
			hit, which = true, c.texts[i]
		}
	}
	return hit, which
}

// argument is what a pattern is compared with. Hosts have no case.
func argument(p audit.Permission) string {
	if p.Kind == audit.Net {
		return strings.ToLower(p.Arg)
	}
	return p.Arg
}

// isLicence reports whether s can be an SPDX id, or two with WITH.
func isLicence(s string) bool {
	id, with, _ := strings.Cut(s, " WITH ")
	return id != "" && strings.Trim(id+with, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+-") == ""
}

// allows reads an SPDX expression without parentheses: of what "OR" divides one part has to be allowed, of which all that "AND"
// divides are. Any other text is allowed only if it is in the list as it is.
func (c *condition) allows(expression string) bool {
	for _, part := range strings.Split(expression, " OR ") {
		if !slices.ContainsFunc(strings.Split(part, " AND "), func(id string) bool {
			return !slices.ContainsFunc(c.texts, func(t string) bool { return strings.EqualFold(t, strings.TrimSpace(id)) })
		}) {
			return true
		}
	}
	return false
}
