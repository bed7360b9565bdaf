// Package skillsearch answers which skill is the right one for a task, and says so when there is none.
//
//   - It ranks by words alone, in memory, and calls nobody: equal skills and an equal task give an equal answer, on
//     every platform. A task is a request as a developer writes it, or a few words.
//   - A description is read in three parts: what the skill does, when to use it, and when not to. The second counts
//     more than the first, the last counts against the skill.
//   - Terms are those of index/rank. A word that no skill has is read as the nearest one that a skill has, if it is a slip of
//     the fingers away; a list of words that mean the same (aliases.txt) is part of the package.
//   - The text of a skill was written by strangers and is data: of each skill at most MaxDescription bytes of description,
//     MaxBody bytes of body and MaxNames tags, headings, files and tools are read; answers hold single lines without control or
//     invisible characters, descriptions of at most 120 bytes.
//   - Facts about a skill besides its text move it by a few percent only: they decide among equals.
//
// The measure of quality is a test with held-back tasks; its results are in testdata/results.json.
package skillsearch

import (
	"slices"

	"github.com/skl-project/skl/index/rank"
)

// Limits of what is read of one skill. What is beyond is ignored.
const (
	MaxDescription = 4 << 10  // bytes
	MaxBody        = 32 << 10 // bytes
	MaxNames       = 200      // tags, headings, files and tools, of each
)

// Limits of an answer.
const (
	DefaultLimit = 5
	MaxLimit     = 100

	maxTask      = 4 << 10 // bytes
	maxShown     = 120     // bytes of a description
	maxShownName = 130     // bytes of a name or ref; a namespace, a slash and a name have at most 129
)

// A Skill is one that may be the answer.
type Skill struct {
	Name        string
	Ref         string // what to install or read; "" for Name
	Description string
	Version     string
	Source      string // where it comes from, for people: "project", "user", the name of a registry
	Digest      string
	Path        string // of its directory; "" if it is not on this machine

	Tags     []string
	Headings []string // of the body; nil to take them from Body
	Body     []byte   // of SKILL.md, without the frontmatter
	Files    []string // names of its files, slash-separated
	Tools    []string // that it wants to use

	Installed bool
	Verified  bool   // its signature was checked, and holds
	Trust     string // as roots says, or the registry's word for its state
	Findings  int    // what a scanner found
	Tokens    int    // what reading its SKILL.md costs, about
}

// Options of a Searcher. The zero value is right.
type Options struct {
	NoAliases bool // words mean themselves only
}

// A Context is what a search knows besides the task.
type Context struct {
	Languages []string // of the repository: "go", "python", "csharp", "cpp" and so on
	Limit     int      // matches at most; 0 means DefaultLimit, MaxLimit at most
}

// A Match is one skill of an answer. Its texts are single lines, safe to print.
type Match struct {
	Name        string   `json:"name"`
	Ref         string   `json:"ref"`
	Version     string   `json:"version,omitempty"`
	Installed   bool     `json:"installed"`
	Description string   `json:"description"` // at most 120 bytes: what it does, or when to use it
	Trust       string   `json:"trust"`
	Score       float64  `json:"score"` // comparable among the matches of one answer
	Why         []string `json:"why"`   // at most 4, such as "name: pdf" or "when: merge, split"
	Tokens      int      `json:"tokens"`
	Source      string   `json:"source,omitempty"`
	Digest      string   `json:"digest,omitempty"` // its beginning, enough to tell copies apart
	Findings    int      `json:"findings,omitempty"`

	Parts []rank.Part `json:"-"` // what Score is the sum of
	Index int         `json:"-"` // in the skills that New got
}

// An Answer to a task.
type Answer struct {
	Skills      []Match `json:"skills"` // best first; never nil
	NoGoodMatch bool    `json:"no_good_match"`
	Confidence  float64 `json:"confidence"` // that one of the first three is right, between 0 and 1
	Gap         float64 `json:"gap"`        // how far the first is before the second, as a share of its score; 1 if there is one only
	Total       int     `json:"total"`      // skills with a word of the task
	Note        string  `json:"note,omitempty"`
}

// A Searcher knows some skills. It may be used concurrently.
type Searcher struct {
	skills []Skill
	index  *index
	words  *vocabulary // nil with Options.NoAliases
}

// New makes a Searcher. It keeps skills without their bodies, and does not change them.
func New(skills []Skill, o Options) *Searcher {
	s := &Searcher{skills: slices.Clone(skills), index: newIndex(skills)}
	if !o.NoAliases {
		s.words = aliases()
	}
	for i := range s.skills {
		s.skills[i].Body = nil
	}
	return s
}

// Len returns the number of skills.
func (s *Searcher) Len() int { return len(s.skills) }

// Skill returns the skill that a match is about, without its body.
func (s *Searcher) Skill(m Match) Skill { return s.skills[m.Index] }
