package plan

import (
	"strings"

	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/lock"
)

// Facts are what was found out so far. They only grow, and what is in them stays true.
type Facts struct {
	Releases map[string]resolver.Release // by Choice.Key
	Versions map[string]Versions         // by Listing.Key
	Compared map[string]*lock.Skill      // by name: what the tags of an entry mean now; nil if that is what it says, or nobody can tell
	Read     map[string]Bundle           // by Reading.Key
	Needs    map[string][]resolver.Need  // by name and release: what a release says it needs
	Hosts    []string                    // the agents that skl.toml is to record; nil leaves those that it has

	because string // why the last attempt to take what is preferred failed; "" if none did
}

// NewFacts know nothing.
func NewFacts() *Facts {
	return &Facts{Releases: map[string]resolver.Release{}, Versions: map[string]Versions{}, Compared: map[string]*lock.Skill{}, Read: map[string]Bundle{}, Needs: map[string][]resolver.Need{}}
}

// Versions are all versions of a place, newest first; none where it has none.
type Versions struct {
	List               []string
	Namespace, Binding string // who owns its namespace, if that was found out
	Err                error
}

// A Bundle is what the files of a release say: its entry with everything that follows from them, or why they cannot be had or are refused.
type Bundle struct {
	Skill lock.Skill
	Err   error
}

// Questions are what has to be found out before there is a plan.
type Questions struct {
	Choose   []Choice
	Versions []Listing
	Compare  []Comparison
	Read     []Reading
}

// Any reports whether there are any.
func (q *Questions) Any() bool {
	return len(q.Choose)+len(q.Versions)+len(q.Compare)+len(q.Read) > 0
}

// A Choice asks which release a want means: Renew, and not the locked one where that can stay.
type Choice struct {
	Want  resolver.Named
	Key   string
	Renew bool
}

// newChoice is the choice of a want, which of tells from others.
func newChoice(want resolver.Named, of string, renew bool) Choice {
	if renew {
		of += " anew"
	}
	return Choice{Want: want, Key: of, Renew: renew}
}

// A Listing asks for all versions of a place.
type Listing struct {
	Want resolver.Want
	Key  string
}

// A Comparison asks whether the entry of a want is still what its tags mean.
type Comparison struct {
	Want  resolver.Named
	Skill lock.Skill
}

// A Reading asks what the files of a release say.
type Reading struct {
	Skill lock.Skill
	ID    string // the release, as Facts.Needs has it
	Anew  bool   // it was chosen anew, so nothing of it was accepted yet
	Held  bool   // it stays as it is: nothing of it has to be checked, or had
}

// Key tells readings apart.
func (r *Reading) Key() string {
	s := &r.Skill
	how := map[bool]string{true: "anew", false: "kept"}[r.Anew]
	if r.Held {
		how = "held"
	}
	return strings.Join([]string{s.Name, how, s.Source, s.URL, s.Path, s.Version, string(s.Commit), string(s.Manifest), string(s.Artifact), string(s.RefKind), s.Ref}, "\x00")
}

// NeedsKey is the key of Facts.Needs of the release of a reading.
func (r *Reading) NeedsKey() string { return release(r.Skill.Name, r.ID) }

func release(name, id string) string { return name + "\x00" + id }

// Names are the names of needs that are installed with the skill of a name, which is what its lock entry lists.
func Names(all []resolver.Need, of string) (names []string) {
	for i := range all {
		if all[i].Placed() && all[i].Name != of {
			names = append(names, all[i].Name)
		}
	}
	return names
}
