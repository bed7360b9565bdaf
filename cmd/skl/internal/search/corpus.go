package search

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"sync"

	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/runtime/skills"
)

// A corpus keeps the installed skills that were read last, ready to be searched: to read and index some hundred takes most of a second, and a
// process of agents is asked again and again. What roots found says whether they are still the same: it has the digest of each.
type corpus struct {
	mu       sync.Mutex
	key      [sha256.Size]byte
	skills   []skillsearch.Skill
	searcher *skillsearch.Searcher
}

// of returns the skills of a listing, and what searches them. Callers may change the skills.
func (c *corpus) of(ctx context.Context, l roots.Listing) ([]skillsearch.Skill, *skillsearch.Searcher, error) {
	key, whole := state(l)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.searcher != nil && whole && key == c.key {
		return slices.Clone(c.skills), c.searcher, nil
	}
	list, err := skillsearch.FromListing(ctx, skills.FS(), l)
	if err != nil {
		return nil, nil, err
	}
	c.key, c.skills, c.searcher = key, list, nil
	if whole {
		c.searcher = skillsearch.New(list, skillsearch.Options{})
	}
	return slices.Clone(list), c.searcher, nil
}

// state is a digest of all that a listing says. It is not whole if the bytes of a skill have no digest there.
func state(l roots.Listing) (key [sha256.Size]byte, whole bool) {
	h := sha256.New()
	enc := json.NewEncoder(h)
	whole = true
	for i := range l.Skills {
		r := &l.Skills[i]
		if r.State != roots.Active && r.State != roots.Untrusted {
			continue
		}
		// Embedded skills are those of this program.
		whole = whole && (r.Digest != "" || r.Scope == roots.ScopeSystem)
		if enc.Encode([]any{r.Name, r.Path, r.Digest, r.State, r.Trust, r.Scope, r.Source, r.Version, r.Description, r.Signature, r.Warnings}) != nil {
			whole = false
		}
	}
	h.Sum(key[:0])
	return key, whole
}
