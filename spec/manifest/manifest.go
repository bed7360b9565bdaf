// Package manifest reads and edits skl.toml: the skills that a project asks for,
// where they go, where else skills are searched, which source owns a namespace, which conflicts were accepted,
// and in a skill's own folder what publish publishes.
//
// The file belongs to its author. Edits replace the bytes of what changes and
// nothing else: comments, blank lines, order, quoting and line endings stay, an
// entry keeps its form (inline, [skills.pdf] or dotted keys), and an edit that
// changes nothing leaves the same bytes. Keys this version does not know are kept and
// reported as warnings.
//
// Errors are *diag.Error of class Failed and code manifest_invalid, with file, line and column; manifest_conflict for the markers of a merge.
package manifest

import (
	"cmp"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/internal/tomledit"
	"github.com/skl-project/skl/spec/ref"
)

// MaxBytes is the largest skl.toml that is read.
const MaxBytes = 1 << 20

// A Manifest is one skl.toml. Its fields are what the file says; they are
// changed with its methods only. It is not safe for concurrent use while it is edited.
type Manifest struct {
	Skills     []Skill // in the order of the file; names are unique
	Targets    Targets
	Namespaces map[string]string // namespace → "registry:NAME", "forge:NAME" or "market:NAME"
	Markets    map[string]string // name → ref of the marketplace, without which refs "market:NAME/plugin" lead nowhere
	Acks       []Ack
	Package    Package
	Roots      Search
	Warnings   []diag.Finding // keys that are not known

	file string
	doc  *tomledit.Doc
}

// A Skill is one entry of [skills]. At most one of Version, Branch, Tag and
// Commit is set; without any the default of the source is followed.
type Skill struct {
	Name    string // table key: what the skill is called here
	Ref     string // without a version; ref.Parse accepts it
	Skill   string // what Ref calls it, where that is not Name
	Version string // range: ^1.4, >=1.2, <2
	Branch  string
	Tag     string // one that is not a version
	Commit  ref.Commit

	Hosts []string // the agents that get it, instead of Targets.Hosts; nil does not say
	Root  string   // where it is installed, as rootpath writes it; "" is Targets.Root

	Hold       bool // update leaves it alone
	HoldReason string
}

// Targets says where skills go.
type Targets struct {
	Hosts  []string // agent hosts that get links
	Links  string   // auto, symlink, junction or copy; "" means auto
	Root   string   // where skills are installed, as rootpath writes it; "" is the canonical root
	Vendor *bool    // whether installed skills are committed; nil means not decided
}

// Search are further roots, in the order in which they are searched, as rootpath writes them.
type Search struct {
	Before []string // before the scope's own
	After  []string // after them
}

// An Ack is what somebody accepted of a skill: a conflict between two of its copies, or something that a release of it newly asks for.
// Everything in it is what the file says: it is a record for those who read it, and lets nothing happen.
type Ack struct {
	Code    string `json:"code"` // W_TRUST_DOWNGRADE; a permission, such as net:api.example; or the rule of a finding
	Name    string `json:"name"`
	Winner  string `json:"winner,omitempty"` // of a conflict: tree digests
	Loser   string `json:"loser,omitempty"`
	Version string `json:"version,omitempty"` // of the release that asked
	By      string `json:"by,omitempty"`      // who accepted it, as git names them; "" is not known
	On      string `json:"on,omitempty"`      // the day, as 2027-01-31; "" is not known
	Reason  string `json:"reason,omitempty"`
}

// same reports whether a and b accept the same thing.
func (a Ack) same(b Ack) bool {
	return a.Code == b.Code && a.Name == b.Name && a.Winner == b.Winner && a.Loser == b.Loser
}

// Package is what publish publishes, in a skill's own folder.
type Package struct {
	Name    string // namespace/name
	Version string // semantic version
}

// New returns the manifest a project starts with.
func New() *Manifest {
	m, err := Parse([]byte(`# Skills of this project: "skl install REF" adds one here.
# Commit this file together with skl.lock.

[skills]
`), "skl.toml")
	if err != nil {
		panic(err) // the text above is a manifest
	}
	return m
}

// Skill returns the entry of name.
//
//go:noinline
func (m *Manifest) Skill(name string) (Skill, bool) {
	for _, s := range m.Skills {
		if s.Name == name {
			return s, true
		}
	}
	return Skill{}, false
}

// Where is the place of a skill's entry, the zero Position if there is none.
func (m *Manifest) Where(name string) diag.Position {
	v := m.doc.Root.Get("skills").Get(name)
	if v == nil {
		return diag.Position{}
	}
	line, column := m.doc.Position(v.Offset)
	return diag.Position{File: m.file, Line: line, Column: column}
}

// RootOf is where the skill of a name is installed, as rootpath writes it; "" is the canonical root. A name without an entry is
// installed where those are that say nothing.
func (m *Manifest) RootOf(name string) string {
	s, _ := m.Skill(name)
	return cmp.Or(s.Root, m.Targets.Root)
}

// WhereHost is the first place of an agent in targets.hosts and in the hosts of skills, the zero Position if it is in none.
func (m *Manifest) WhereHost(id string) diag.Position {
	lists := []*tomledit.Value{m.doc.Root.Get("targets").Get("hosts")}
	for _, s := range m.Skills {
		lists = append(lists, m.doc.Root.Get("skills").Get(s.Name).Get("hosts"))
	}
	for _, v := range lists {
		if v == nil {
			continue
		}
		for _, item := range v.Items {
			if item.Str() == id {
				line, column := m.doc.Position(item.Offset)
				return diag.Position{File: m.file, Line: line, Column: column}
			}
		}
	}
	return diag.Position{}
}

// Bytes is the file. The caller must not change it.
//
//go:noinline
func (m *Manifest) Bytes() []byte { return m.doc.Bytes() }
