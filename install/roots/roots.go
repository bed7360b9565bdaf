// Package roots knows the ordered directories in which skills are searched,
// finds what is in them, and says which copy of a name is used, by skl and by
// each agent host, and what that copy hides.
//
//   - Roots are ordered as in R's .libPaths(): the first copy of a name that can
//     be used is active, later ones are shadowed, and every collision is reported.
//   - The search is breadth first in byte order, at most 6 directories deep and
//     2,000 directories wide per root, and ends at a SKILL.md. It skips .git,
//     node_modules and .skl. In a project, links that leave it are not followed.
//   - Two names are one if skill.NameKey makes them equal.
//   - Two paths to one real directory are one copy.
//   - Nothing in a root is written, and nothing that was found is run or interpreted
//     beyond the frontmatter of SKILL.md (its first 64 KiB).
//
// A copy that was installed has a [Receipt]; [Check] says how it differs.
// A search keeps what it read in [Caches], as do commands that write to a root.
package roots

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/install/hosts"
	"github.com/skl-project/skl/install/within"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/skill"
)

// A Config is all that a search depends on besides the directories themselves.
// Paths are absolute and clean, as [FindProject] returns them. The zero Config
// has no roots.
type Config struct {
	Project        string // top directory of the project; "" for none
	Cwd            string // in Project; "" is Project itself
	Home           string
	ProjectTrusted bool
	ManagedDir     string   // of the machine's administrator; "" for none
	EnforcedDir    string   // of the administrator too, before all others; "" for none
	ExtraRoots     []string // of --root, then SKL_SKILLS_PATH; may be relative to Cwd
	ProjectSearch  Search   // of the project's skl.toml
	UserSearch     Search   // of the user's configuration
	Hosts          []string // ids of the hosts to answer for, in the order of the answers
	System         fs.FS    // embedded skills, a directory each; may be nil
	Caches         Caches   // where Discover keeps what it read. Deletable at any time.
	Acks           []Ack

	// Linked are links in the project that the user made to folders outside of it: from the absolute path of the link to the
	// real path of the folder. They are followed, where other links out of the project are not.
	Linked map[string]string

	// Getenv is asked for the variables that move hosts' directories. nil: none is set.
	Getenv func(string) string
	// Own gives the rule for residue in the roots of a scope. nil: none passes.
	Own func(scope string) Own
	// Named are the directories, or links to them, of the skills of skl.toml: absolute paths. What lies there has the name of its directory, as
	// what a receipt is of.
	Named []string
	// Signed gives the verdict on the signature of an installed copy.
	// nil: a receipt with a signer is "skipped", one without "unsigned".
	Signed func(name string, r Receipt) Signature
	// Gate returns why an otherwise usable skill cannot be used here (a package of its library_depends is not here),
	// or "". It is asked about skills that need some. nil: nothing is missing.
	Gate func(needs []skill.Dependency, dir string) string
}

// Search are further roots of a scope. Paths are absolute; their order is that of the search.
type Search struct {
	Before []string // all others of the scope
	Own    []string // right after its canonical root: where skills of the scope are installed too
	After  []string // all others of the scope
}

// An Ack is a person's word that a collision is wanted: of this code, for this
// name, while both copies have these digests.
type Ack struct {
	Code, Name    string
	Winner, Loser bundle.Digest
}

// A Signature is what is known of a copy's signature.
type Signature struct {
	State  string `json:"state"` // verified, unsigned, failed, skipped
	Signer string `json:"signer"`

	// Stands says who stands for the release, so that its level of trust is that of a package, where this machine verified that: a
	// signer, or the log of a registry. "" is nobody.
	Stands string `json:"-"`
}

// States of a copy, in skl's own view.
const (
	Active      = "active"
	Shadowed    = "shadowed"
	Disabled    = "disabled"
	Untrusted   = "untrusted"
	Invalid     = "invalid"
	Unsupported = "unsupported"
	Gated       = "gated"
)

// A Record is one copy of one skill.
//
// Qualified names it for good: "name@scope" for root/name in the canonical root of
// its scope (.agents/skills of the project, ~/.agents/skills, the managed
// directory, the embedded skills), else "name@scope:path", with a path
// relative to the project, or one that starts with "~/", or an absolute one.
type Record struct {
	Name          string            `json:"name"`               // of an installed skill the key of skl.toml, which is its directory; else what SKILL.md says
	OwnName       string            `json:"own_name,omitempty"` // what SKILL.md says, where an installed skill has another name: by it most agents know the skill
	Qualified     string            `json:"qualified"`
	Description   string            `json:"description"`
	Path          string            `json:"path"` // of its directory; "skl:NAME" if embedded
	Root          string            `json:"root"` // Root.ID
	Scope         string            `json:"scope"`
	Priority      int               `json:"priority"`
	Trust         string            `json:"trust"`
	State         string            `json:"state"`
	ShadowedBy    *string           `json:"shadowed_by"`
	Shadows       []string          `json:"shadows"`
	Hosts         []HostUse         `json:"hosts"`
	Source        string            `json:"source"`
	Version       string            `json:"version"`
	Digest        string            `json:"digest"` // tree digest; "" if it cannot be a bundle
	Format        string            `json:"format"`
	Signature     *Signature        `json:"signature"`
	GeneratedFrom map[string]string `json:"generated_from"`

	// The skill's own limits on its use, as "skl info" shows them.
	ModelInvocation string   `json:"model_invocation,omitempty"` // user-only, model-only or disabled; "" is auto, or a skill that cannot be read
	SideEffects     []string `json:"side_effects,omitempty"`     // nil if it declares none, not even "none": then every effect is asked for
	Tools           string   `json:"tools,omitempty"`            // "only read, grep; never bash"; "" sets no limit
	LibraryDepends  []string `json:"library_depends,omitempty"`  // packages: "pensar (r)"

	// Permissions are what the files ask for, where that was looked at; nil is not known.
	Permissions []string `json:"permissions,omitzero"`

	TrustReason string `json:"trust_reason,omitempty"` // where Trust is not what the place of the copy gives: why

	CopyOf   string      `json:"copy_of,omitempty"` // of a copy that skl made for an agent: Qualified of what it is a copy of; else ""
	Copies   []CopyState `json:"copies,omitempty"`  // of a skill: the copies that skl made of it
	Warnings []Warning   `json:"warnings"`

	key         string // skill.NameKey of the name
	ownKey      string // of the name that SKILL.md says, by which agents know it
	where       string // "name@scope:path", by which it is known, too
	place       *place // the root that it lies in
	first       *place // the strongest root that it is found in
	spots       []spot // first its own, then aliases
	found       finding
	throughLink bool  // its own spot is a link to it
	isLinked    bool  // its SKILL.md is a link
	isSkip      bool  // a link out of the project
	skillFile   stamp // of its SKILL.md as it was found; zero if it was not looked at
	open        []Ack // conflicts that nobody acknowledged
}

// URL is the address that the release of a copy came from, by its receipt; "" if it has none.
func (r Record) URL() string { return r.found.url }

// A spot is one path to a copy.
type spot struct {
	place *place
	rel   string
}

// CopyState is a copy that skl made of a skill for an agent.
type CopyState struct {
	Path  string `json:"path"`
	State string `json:"state"` // ok, edited, or other: of another release
}

// HostUse is what one host does with a copy; Use is one of hosts.Loads and so on.
type HostUse struct {
	Host    string        `json:"host"`
	Use     string        `json:"use"`
	Off     *hosts.Switch `json:"off,omitempty"`     // where Use is off: what says so
	Unclear []string      `json:"unclear,omitempty"` // files of the host's settings that could not be read: whether it loads what Use says it does is not known
	Told    *hosts.Told   `json:"told,omitempty"`    // where Use is cut or dropped: how much its model is told
	Ungated []string      `json:"ungated,omitempty"` // limits that the skill sets and the host, which shows it to its model, does not keep
	Reason  string        `json:"reason,omitempty"`  // the same as a sentence

	chosen string // where the host tells its model of the copy: Use as if it told everything
}

// Chosen is Use without regard to how much of the copy the host tells its model.
func (h HostUse) Chosen() string { return cmp.Or(h.chosen, h.Use) }

// Word is Use, with a question mark where it is not known.
func (h HostUse) Word() string {
	if len(h.Unclear) > 0 {
		return h.Use + "?"
	}
	return h.Use
}

// Shown reports whether the host may show the copy to its model, now or when it is told to trust the folder.
func (h HostUse) Shown() bool {
	return h.IsUsed() || h.Chosen() == hosts.Unstable || h.Use == hosts.Untrusted
}

// IsUsed reports whether the host loads the copy, or lists it beside another one, however much of it its model is told.
func (h HostUse) IsUsed() bool { return h.Chosen() == hosts.Loads || h.Chosen() == hosts.Listed }

// A HostBudget is what a host tells its model of all that it loads.
type HostBudget struct {
	Host string `json:"host"`
	hosts.Budget
	Needs   int `json:"needs"`   // the limit at which everything would be told
	Skills  int `json:"skills"`  // that it loads and tells its model of, without those that come with it
	Whole   int `json:"whole"`   // of which it tells everything
	Cut     int `json:"cut"`     // of which it tells the name, and some of the description
	Named   int `json:"named"`   // of which it tells the name alone
	Dropped int `json:"dropped"` // of which it tells nothing
}

// Fits reports whether the model is told everything.
func (b HostBudget) Fits() bool { return b.Whole == b.Skills }

// A Listing is the result of a search, as "skl list --json" prints it.
type Listing struct {
	Roots  []Root   `json:"roots"`  // strongest first
	Skills []Record `json:"skills"` // by name, strongest first

	Budgets []HostBudget `json:"budgets"` // of the hosts that are known to tell their models a part only

	// Warnings are about the roots: directories that cannot be read, a SKILL.md
	// in the wrong place; and about settings of hosts. They belong on stderr.
	Warnings []Warning `json:"-"`
}

// Discover searches all roots of cfg. Its only error is that of ctx: what
// cannot be read is a state or a warning in the listing.
func Discover(ctx context.Context, cfg Config) (Listing, error) {
	places := expand(cfg)
	d := &discovery{cfg: cfg, caches: make(map[*place]Cache), found: make(map[*place][]candidate), byReal: make(map[string]*Record)}
	for _, p := range places {
		d.searchPlace(p)
	}
	d.foldEscaped()
	if err := d.inspectAll(ctx); err != nil {
		return Listing{}, err
	}
	records := d.describe()
	nameCopies(records)
	shadow(cfg, records)
	told, unclear := useHosts(cfg, records)
	l := Listing{Roots: make([]Root, len(places)), Skills: make([]Record, len(records)), Budgets: append([]HostBudget{}, told...), Warnings: append(d.warnings, unclear...)}
	for i, p := range places {
		l.Roots[i] = p.Root
	}
	for i, r := range records {
		l.Skills[i] = *r
	}
	return l, nil
}

// Lookup returns the copies that name means, strongest first: all copies of a
// plain name, the one with a qualified name, or for "name@scope" without such
// a copy all of that scope, for "name@scope:root" the one that lies in this root. Where no copy has the name, those count whose SKILL.md or directory says it.
func (l Listing) Lookup(name string) []Record {
	var plain, scoped, own []Record
	key := skill.NameKey(name)
	for _, r := range l.Skills {
		switch {
		case r.Qualified == name, r.where == name:
			return []Record{r}
		case r.key == key:
			plain = append(plain, r)
		case r.ownKey == key, skill.NameKey(filepath.Base(r.Path)) == key:
			own = append(own, r)
		case r.Name+"@"+r.Scope == name, strings.Contains(name, ":") && path.Dir(r.where) == name:
			scoped = append(scoped, r)
		}
	}
	if len(plain)+len(scoped) == 0 {
		return own
	}
	return append(plain, scoped...)
}

// IsQualified reports whether text is NAME@SCOPE or NAME@SCOPE:PATH, which names copies that are here and nothing that could be fetched.
func IsQualified(text string) bool {
	name, rest, ok := strings.Cut(text, "@")
	where, _, _ := strings.Cut(rest, ":")
	switch where {
	case ScopeManaged, ScopeProject, ScopeSession, ScopeUser, ScopePackage, ScopeSystem:
		return ok && name != "" && !strings.ContainsAny(name, `/\:.`)
	}
	return false
}

func (c Config) env() hosts.Env {
	env := hosts.Env{Home: c.Home, Project: c.Project, Cwd: c.Cwd, Getenv: c.Getenv, ReadFile: durable.ReadFile, Real: filepath.EvalSymlinks}
	env.ReadProject = func(path string) ([]byte, error) {
		dir, err := within.Open(c.Project)
		if err != nil {
			return nil, err
		}
		defer dir.Close()
		return dir.ReadFile(path, durable.MaxFile)
	}
	return env
}
