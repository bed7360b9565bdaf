// Package policy reads policy.toml and says which of its rules a skill does not hold.
//
//   - A policy is the union of the rules of its files: of the machine, of the organisation, of the user and of the project. Every
//     rule that is about a skill has to hold. Nothing overrides a rule, so a weaker file can only add.
//   - An exception takes skills out of a rule of its own file, or of a weaker one, until a date, with a reason and a name.
//   - A file that is not understood is an error of class Refused: no rule of it may be left out. That holds for keys that are
//     not known too, since a misspelt rule would refuse nothing.
//   - What a rule asks for and nobody could compute does not hold: a missing value is never a good one.
//
// The text of a file:
//
//	expires = 2027-01-01             # a policy that is fetched may say until when it is good
//	serial = 12                      # and which of its versions it is: an older one is not taken any more
//
//	[[rule]]
//	id = "ours-is-signed"            # unique in the file; named in refusals
//	skills = ["acme/*", "pdf"]       # what it is about, by name or owner/name; absent: all
//	from = ["github:acme/*"]         # and by address; absent: any
//	                                 # conditions; all that are written have to hold
//	sources = ["registry:corp"]      # addresses that it may come from
//	registries = ["https://skills.example.com"]
//	signers = ["https://github.com/acme/*", "key:SHA256:…"]
//	unsigned = "refuse"
//	level = "package"                # at least: local, project, user, package, managed
//	min_age = "3d"                   # of the release: seconds s, minutes m, hours h, days d, weeks w
//	licences = ["MIT", "Apache-2.0"] # SPDX ids
//	max_severity = "medium"          # of the findings of an audit: none, low, medium, high, critical
//	forbid = ["network", "run:curl"] # permissions of spec/audit
//	hosts = ["*.example.com"]        # only these may be contacted
//	shadowing = "error"
//
//	[[exception]]
//	rule = "ours-is-signed"
//	skills = ["acme/old"]
//	until = 2027-01-01               # the last day, UTC
//	reason = "…"
//	by = "…"
//
// In patterns "*" is any run of characters without "/", and "**" one with. An address or an identity matches if it does as a whole, or
// up to a "/" of it: "github:acme" has all repositories of acme. What a rule is about is compared without regard to case, what it
// allows is not.
//
// The package opens nothing and knows no clock. A Policy is not changed by use, but for Note, so it may be used concurrently.
package policy

import (
	"slices"
	"time"

	"github.com/skl-project/skl/spec/audit"
	"github.com/skl-project/skl/spec/diag"
)

// MaxBytes is the largest policy.toml that is read.
const MaxBytes = 1 << 20

// FileName is what the file is called in every place.
const FileName = "policy.toml"

// A Tier is whose word a file is. Smaller ones are stronger.
type Tier int

const (
	Machine Tier = iota
	Organisation
	User
	Project
)

var tiers = [...]string{"machine", "organisation", "user", "project"}

// String is the tier as people call it.
func (t Tier) String() string { return tiers[t] }

// A File is one policy.toml.
type File struct {
	Name       string       `json:"file"`   // as messages name it
	Policy     string       `json:"policy"` // the tier in words
	Rules      []*Rule      `json:"rules"`
	Exceptions []*Exception `json:"exceptions"`
	LastDay    string       `json:"expires,omitempty"`
	Serial     int64        `json:"serial,omitempty"`
	Tier       Tier         `json:"-"`

	expires time.Time // the end of its last day; zero is never
}

// CodeExpired is the code of a file whose last day is over.
const CodeExpired = "policy_expired"

// Current refuses a file whose last day is over.
func (f *File) Current(now time.Time) error {
	if f.expires.IsZero() || now.Before(f.expires) {
		return nil
	}
	return diag.New(diag.Refused, CodeExpired, "the policy %s expired with %s, so it refuses everything", f.Name, f.LastDay).
		Hint("whoever writes it has to look at it again and move expires")
}

// A Rule is one [[rule]].
type Rule struct {
	ID         string        `json:"id"`
	Where      diag.Position `json:"where"`
	About      []Line        `json:"about"`      // skills and from; nothing is all skills
	Conditions []Line        `json:"conditions"` // in their order

	tier         Tier
	skills, from []pattern // nil: all, any
	conditions   []condition
}

// A Line is one key of a rule.
type Line struct {
	Key    string   `json:"key"`
	Values []string `json:"values"`
}

// A condition is one key of a rule that a skill has to hold.
type condition struct {
	key   string
	line  int
	texts []string // as written
	list  []pattern
	perms []forbidden
	age   time.Duration
	rank  int // of level or max_severity
}

// An Exception takes skills out of a rule.
type Exception struct {
	Rule     string        `json:"rule"`
	Skills   []string      `json:"skills"`
	Until    string        `json:"until"`     // the last day, UTC
	DaysLeft int           `json:"days_left"` // after today, negative when it has expired; set by Note
	Idle     bool          `json:"idle"`      // no rule of its file, or of a weaker one, has that id; set by Note
	Reason   string        `json:"reason"`
	By       string        `json:"by"`
	Where    diag.Position `json:"where"`

	end    time.Time // of the last day
	skills []pattern
}

// String is e for people.
func (e *Exception) String() string {
	return e.Where.String() + ", until " + e.Until + ", by " + e.By + ": " + e.Reason
}

// A Policy is all files that are in force, the strongest first. The zero Policy refuses nothing.
type Policy struct {
	Files []*File
}

// Note fills in what the exceptions of p are at a time. Nobody else may use p meanwhile.
func (p *Policy) Note(now time.Time) {
	const day = 24 * 60 * 60
	for _, f := range p.Files {
		for _, e := range f.Exceptions {
			e.DaysLeft, e.Idle = -1, true
			if now.Before(e.end) {
				e.DaysLeft = int((e.end.Unix() - 1 - now.Unix()) / day)
			}
			for _, o := range p.Files {
				if o == f || o.Tier > f.Tier {
					e.Idle = e.Idle && !slices.ContainsFunc(o.Rules, func(r *Rule) bool { return r.ID == e.Rule })
				}
			}
		}
	}
}

// Any reports whether p has a rule.
func (p *Policy) Any() bool {
	return p != nil && slices.ContainsFunc(p.Files, func(f *File) bool { return len(f.Rules) > 0 })
}

// Needs are the parts of a Subject that some rule asks for and that cost something to compute.
type Needs struct{ Source, Signature, Age, Content, Findings, Masks, Level bool }

// Needs of all rules of p.
func (p *Policy) Needs() (n Needs) {
	for _, f := range p.Files {
		for _, r := range f.Rules {
			for _, c := range r.conditions {
				n.Source = n.Source || slices.Contains(ofSource, c.key)
				switch c.key {
				case "signers", "unsigned":
					n.Signature = true
				case "min_age":
					n.Age = true
				case "licences", "forbid", "hosts":
					n.Content = true
				case "max_severity":
					n.Findings = true
				case "level":
					n.Level = true
				case "shadowing":
					n.Masks = true
				}
			}
		}
	}
	return n
}

// A Subject is a skill as it was computed: nothing in it is a claim. Parts that no rule asks for (see [Needs]) may be left
// out.
type Subject struct {
	Skill, Version string
	Explain        string    // what "skl policy explain" takes for it: its name where it is installed, else its reference
	Names          []string  // what it is called: its own name, and owner/name
	Sure           []string  // those of Names that the user's bindings vouch for: an exception counts for these alone
	Addresses      []Address // where it comes from, in every spelling
	Unchecked      bool      // where it comes from is what a lock says, and was not checked here
	Registry       string    // address of the registry that holds it: https://host, oci://host; "" for other sources
	Comes          bool      // with skl itself

	Signature  Signature
	Released   time.Time // zero: not known
	Unreleased string    // why it is not known

	Content     bool // Licence and Permissions were read from its files
	Licence     string
	Permissions audit.Report

	Audited  bool // Findings are all that an audit has to say
	Findings []Finding
	Level    string // "" is not known

	LevelReason string // why it is that

	Masks []string // other copies of its name with other content
}

// An Address is one spelling of where a skill comes from.
type Address struct {
	Text string
	// Of is who says what a name in it means: a name that the user's configuration defines counts for no rule of
	// the machine or of an organisation.
	Of Tier
}

// A Signature is what came of verifying the signatures of a release.
type Signature struct {
	Verified bool
	Signer   string   // as people read it
	Names    []string // identity, and "key:" with the fingerprint
	Reason   string   // why it is not verified
}

// A Finding is one of an audit.
type Finding struct {
	Rule     string
	Severity string // low, medium, high, critical
	Place    audit.Place
}
