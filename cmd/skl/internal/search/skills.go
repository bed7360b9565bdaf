package search

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/cmd/skl/internal/signature"
	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/index/skillsearch/public"
	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/resolver"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
	"github.com/skl-project/skl/spec/skill"
)

// A Skill is one that was found.
type Skill struct {
	Name        string   `json:"name"`
	Ref         string   `json:"ref"` // what to install; "" for one that is installed only
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Registry    string   `json:"registry,omitempty"` // name in config.toml
	Listed      string   `json:"listed,omitempty"`   // the repository that has it, as the list of public ones says that comes with skl: "github.com/acme/skills"
	Installed   bool     `json:"installed"`
	Signed      bool     `json:"signed"`
	State       string   `json:"state,omitempty"`
	PeopleOnly  bool     `json:"people_only,omitempty"` // an installed one that no model may start
	Gated       string   `json:"gated,omitempty"`       // why an installed one cannot be used here, such as packages that are missing
	Score       float64  `json:"score"`                 // comparable within one answer; 0 for what has only beginnings of the words, or has them in its body only
	Why         []string `json:"why"`                   // such as "name: pdf"
	Tokens      int      `json:"tokens"`                // that reading its SKILL.md costs; 0 if that is not known

	source string  // of an installed one that came from git: clone URL, "//" and path
	rank   float64 // the registry's own
	begins float64 // 3 for each word that begins one of the name, 1 for one of the description
}

// From says in words where the skill is, and what is to know before it is taken: "corp, installed, not for models".
// With marked, a sign beside it says already that it is installed.
func (s Skill) From(marked bool) string {
	var out []string
	add := func(word string, holds bool) {
		if holds {
			out = append(out, word)
		}
	}
	add(s.Registry, s.Registry != "")
	add("public list", s.Listed != "" && !s.Installed)
	add("installed", s.Installed && !(marked && s.Registry != ""))
	add("deprecated", s.State == "deprecated")
	add("gated", s.Gated != "")
	add("not for models", s.PeopleOnly)
	return strings.Join(out, ", ")
}

// Skills are the answer to a SkillsRequest, the best first.
type Skills struct {
	Skills      []Skill  `json:"skills"`
	Total       int      `json:"total"`
	Failed      []string `json:"failed"`        // registries that did not answer
	NoGoodMatch bool     `json:"no_good_match"` // skills are the nearest
	Confidence  float64  `json:"confidence"`    // that one of the first three is right, 0 to 1

	Asked        []string `json:"-"` // registries
	Repositories int      `json:"-"` // of the list of public ones, where that was searched
}

// PublicNote says where skills come from that only the list of public repositories has; "" if there are none.
func (s Skills) PublicNote() string {
	if !slices.ContainsFunc(s.Skills, func(k Skill) bool { return k.Listed != "" && !k.Installed }) {
		return ""
	}
	return fmt.Sprintf("public list: %d repositories on GitHub that skl knows without asking; nobody vouches for what they hold", s.Repositories)
}

// fewListed leaves the best of the list of public repositories, so that they do not drown what is installed.
func (s *Skills) fewListed() {
	n := 0
	s.Skills = slices.DeleteFunc(s.Skills, func(k Skill) bool {
		if k.Listed == "" || k.Installed {
			return false
		}
		n++
		return n > mostListed
	})
}

const (
	usual            = 20              // shown without a limit
	mostListed       = 5               // shown of the list of public repositories without a limit
	nearest          = 5               // shown without a limit if there is no good match
	maxRegistryQuery = 1000            // bytes that a registry reads of a question
	searchPatience   = 3 * time.Second // of Suggest with registries
)

// A SkillsRequest asks for skills, installed or on configured registries.
type SkillsRequest struct {
	Words    string
	Registry string // ask this one of the configuration and look at nothing else
	Public   bool   // search the list of public repositories that comes with skl, too; without a registry that is done anyway
	Limit    int    // 1 to 100; 0 is 20, or 5 if there is no good match
}

// Skills finds skills. Registries that do not answer are told of, and are an error only if nothing else was found.
func (s *Searcher) Skills(ctx context.Context, q SkillsRequest) (Skills, error) {
	names := slices.Sorted(maps.Keys(s.Scope.Config.Registries))
	var found skillsFound
	if q.Registry != "" {
		if _, err := s.Scope.RegistryURL(q.Registry); err != nil {
			return Skills{}, err
		}
		names = []string{q.Registry}
	} else if err := s.findInstalled(ctx, &found); err != nil {
		return Skills{}, err
	}
	limit := cmp.Or(q.Limit, usual)
	s.askRegistries(ctx, names, q.Words, min(100, max(50, 2*limit)), &found)
	if err := ctx.Err(); err != nil {
		return Skills{}, err
	}
	for _, f := range found.failed {
		s.Scope.Tell.Warn("registry %s: %s", f.registry, f.err)
	}
	listed := q.Public || len(names) == 0
	if listed {
		s.addPublic(&found)
	}
	out := found.answer(q.Words)
	out.Asked = names
	if listed {
		out.Repositories = public.Repositories()
	}
	if len(out.Skills) == 0 && len(found.failed) > 0 && len(found.failed) == len(names) {
		return Skills{}, found.failed[0].err
	}
	if out.NoGoodMatch && q.Limit == 0 {
		limit = nearest
	}
	if q.Limit == 0 && !q.Public {
		out.fewListed()
	}
	out.Skills = out.Skills[:min(limit, len(out.Skills))]
	return out, nil
}

// Suggest answers which skill fits a task: of those installed, and of those that the registries find for it.
// Registries have three seconds, and those that do not answer are named in the answer's note.
func (s *Searcher) Suggest(ctx context.Context, task string, limit int) (skillsearch.Answer, error) {
	var found skillsFound
	if err := s.findInstalled(ctx, &found); err != nil {
		return skillsearch.Answer{}, err
	}
	names := slices.Sorted(maps.Keys(s.Scope.Config.Registries))
	var note string
	if s.Scope.Offline() {
		if len(names) > 0 {
			note = "offline: registries were not asked"
		}
	} else {
		soon, cancel := context.WithTimeout(ctx, searchPatience)
		s.askRegistries(soon, names, task, 50, &found)
		cancel()
		if err := ctx.Err(); err != nil {
			return skillsearch.Answer{}, err
		}
		// The reasons for a failure are a stranger's text, so only the registries are named.
		var silent []string
		for _, f := range found.failed {
			silent = append(silent, f.registry)
		}
		if silent != nil {
			note = "registries that did not answer: " + strings.Join(silent, ", ")
		}
	}
	a := found.forModel(task, limit)
	switch {
	case a.Note == "":
		a.Note = note
	case note != "":
		a.Note += "; " + note
	}
	return a, nil
}

// skillsFound are the skills that a search chooses from.
type skillsFound struct {
	skills []skillsearch.Skill
	found  []Skill               // beside skills
	more   int                   // that registries have beyond these
	ready  *skillsearch.Searcher // of skills as they were installed, if no registry added any; nil makes one
	failed []failedRegistry
	files  *scope.Files // of the scope that was searched; nil if they cannot be read
}

type failedRegistry struct {
	registry string
	err      error
}

// rank returns those that have words of the task, best first.
func (s *skillsFound) rank(task string, limit int) skillsearch.Answer {
	searcher := s.ready
	if searcher == nil || searcher.Len() != len(s.skills) {
		searcher = skillsearch.New(s.skills, skillsearch.Options{})
	}
	return searcher.Search(task, skillsearch.Context{Limit: limit})
}

// forModel is rank without the skills that only people may start, and those that cannot be used here. It says how many of them fit.
func (s *skillsFound) forModel(task string, limit int) skillsearch.Answer {
	limit = min(cmp.Or(limit, skillsearch.DefaultLimit), skillsearch.MaxLimit)
	a := s.rank(task, skillsearch.MaxLimit)
	leave := func(which func(Skill) bool, why string) {
		all := len(a.Skills)
		a.Skills = slices.DeleteFunc(a.Skills, func(m skillsearch.Match) bool { return which(s.found[m.Index]) })
		if left := all - len(a.Skills); left > 0 {
			a.Total -= left
			a.Note = strings.TrimPrefix(a.Note+"; "+diag.Count(left, "skill")+" with words of the task "+why, "; ")
			if len(a.Skills) == 0 {
				a.NoGoodMatch, a.Confidence, a.Gap = true, 0, 0
			}
		}
	}
	leave(func(f Skill) bool { return f.Gated != "" }, "cannot be used here: skl list says what is missing")
	leave(func(f Skill) bool { return f.PeopleOnly }, "may be started by people only")
	a.Skills = a.Skills[:min(limit, len(a.Skills))]
	return a
}

// answer returns all that were found: those with the name that was typed, those that have words of the question, best first, and then those of which
// only beginnings of words match, or what only a registry knows.
func (s *skillsFound) answer(words string) Skills {
	a := s.rank(words, skillsearch.MaxLimit)
	out := Skills{Skills: []Skill{}, Failed: []string{}, NoGoodMatch: a.NoGoodMatch, Confidence: a.Confidence, Total: s.more}
	seen := make([]bool, len(s.found))
	for _, m := range a.Skills {
		f := s.found[m.Index]
		f.Score, f.Why = m.Score, m.Why
		out.Skills = append(out.Skills, f)
		seen[m.Index] = true
	}
	var rest []Skill
	fits := false // something has all words, or what they begin
	for i, f := range s.found {
		all := false
		if f.begins, all = matches(words, cmp.Or(f.Ref, f.Name), f.Description); all {
			fits = true
		}
		if !seen[i] && (all || f.Registry != "") {
			f.Why = []string{}
			rest = append(rest, f)
		}
	}
	order.Stable(rest, func(a, b Skill) int {
		return cmp.Or(cmp.Compare(b.begins, a.begins), cmp.Compare(b.rank, a.rank), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref, b.Ref))
	})
	out.Skills = append(out.Skills, rest...)
	name := strings.Join(strings.Fields(strings.ToLower(words)), "-")
	order.Stable(out.Skills, func(a, b Skill) int {
		is := func(f Skill) int {
			if f.Name == name || f.Ref == name {
				return 0
			}
			return 1
		}
		return is(a) - is(b)
	})
	out.Total += len(out.Skills)
	out.NoGoodMatch = out.NoGoodMatch && !fits
	for _, f := range s.failed {
		out.Failed = append(out.Failed, f.registry)
	}
	return out
}

// findInstalled adds what is installed.
func (s *Searcher) findInstalled(ctx context.Context, found *skillsFound) error {
	l, err := s.Scope.Discover(ctx, nil)
	if err != nil {
		return err
	}
	list, searcher, err := s.installed.of(ctx, l)
	if err != nil {
		return err
	}
	found.ready = searcher
	f, _ := s.Scope.Load()
	found.files = f
	a := &apply.Applier{Scope: s.Scope, Signatures: signature.New(s.Scope)}
	gate, err := a.GateModels(ctx, apply.Glance, l.Skills)
	if err != nil {
		return err
	}
	a.WarnTaken(gate.Taken)
	withheld := map[string]string{} // by name: why models may not have it
	for name, all := range byName(l) {
		withheld[name] = apply.WithheldBy(gate.Withheld(all))
	}
	for _, k := range list {
		if withheld[skill.NameKey(k.Name)] == apply.CodeBlocked {
			continue // nothing is done with it
		}
		one := Skill{PeopleOnly: withheld[skill.NameKey(k.Name)] == apply.CodeInvocation, Name: k.Name, Version: k.Version, Description: k.Description, Installed: true, Tokens: k.Tokens}
		if f != nil && f.Lock != nil {
			switch locked, _ := f.Lock.Skill(k.Name); locked.Source {
			case "registry":
				one.Ref = signature.SubjectOf(locked).Name
			case "git":
				one.source = locked.URL + "//" + locked.Path
			}
		}
		found.skills = append(found.skills, k)
		found.found = append(found.found, one)
	}
	for _, r := range l.Skills {
		if r.State == roots.Gated && withheld[skill.NameKey(r.Name)] != apply.CodeBlocked && !slices.ContainsFunc(found.found, func(f Skill) bool { return f.Name == r.Name }) {
			found.addGated(r)
		}
	}
	return nil
}

// byName are the copies of a listing by the key of their names (skill.NameKey), in its order.
func byName(l roots.Listing) map[string][]roots.Record {
	out := map[string][]roots.Record{}
	for _, r := range l.Skills {
		key := skill.NameKey(r.Name)
		out[key] = append(out[key], r)
	}
	return out
}

// addGated adds an installed skill that cannot be used here.
func (s *skillsFound) addGated(r roots.Record) {
	one := Skill{Name: r.Name, Version: r.Version, Description: r.Description, Installed: true, PeopleOnly: !r.ByModel(), Gated: "it cannot be used here"}
	for _, w := range r.Warnings {
		if w.Code == "W_GATED" {
			one.Gated = w.Message
		}
	}
	s.found, s.ready = append(s.found, one), nil
	s.skills = append(s.skills, skillsearch.Skill{Name: r.Name, Description: r.Description, Version: r.Version})
}

// askRegistries asks all of names at once, for at most limit skills each. One that does not answer is named, and hides nothing.
func (s *Searcher) askRegistries(ctx context.Context, names []string, words string, limit int, found *skillsFound) {
	if len(words) > maxRegistryQuery {
		words = strings.ToValidUTF8(words[:maxRegistryQuery], "")
	}
	type answer struct {
		wire.SearchResult
		err error
	}
	answers := make([]answer, len(names))
	var g errgroup.Group
	g.SetLimit(8)
	for i, name := range names {
		g.Go(func() error {
			a := &answers[i]
			r, err := client.New(s.Scope.HTTP, s.Scope.Config.Registries[name].URL)
			if err == nil {
				a.SearchResult, err = r.Search(ctx, client.Query{Text: words, Limit: limit})
			}
			a.err = err
			return nil
		})
	}
	g.Wait()
	for i, a := range answers {
		if a.err != nil {
			found.failed = append(found.failed, failedRegistry{names[i], a.err})
			continue
		}
		if !a.Relaxed { // then nobody wants the others
			found.more += max(0, a.Total-len(a.Items))
		}
		for _, k := range a.Items {
			found.add(names[i], k)
		}
	}
}

// add adds a skill that a registry offers, or says where an installed one comes from.
func (s *skillsFound) add(registry string, k wire.Skill) {
	one := Skill{Name: k.Name, Ref: k.Namespace + "/" + k.Name, Version: k.Latest, Description: k.Description, Registry: registry, Signed: k.Signed, State: k.State, rank: k.Score}
	if at := slices.IndexFunc(s.found, func(f Skill) bool { return f.Installed && f.Registry == "" && f.Ref == one.Ref }); at >= 0 {
		one.Installed, one.Tokens, one.PeopleOnly = true, s.found[at].Tokens, s.found[at].PeopleOnly
		one.Gated = s.found[at].Gated
		s.found[at] = one
		s.skills[at].Ref, s.ready = one.Ref, nil
		return
	}
	s.found = append(s.found, one)
	s.skills = append(s.skills, skillsearch.Skill{Name: k.Name, Ref: one.Ref, Description: k.Description, Version: k.Latest, Source: registry, Tags: k.Keywords, Trust: k.State})
}

// addPublic adds the skills of well-known public repositories, or says of which an installed one is. Nobody is asked.
func (s *Searcher) addPublic(found *skillsFound) {
	installed := len(found.found)
	var names *resolver.Resolver
	if found.files != nil {
		names = s.Scope.Resolver(found.files.Manifest)
	}
	for _, k := range public.All() {
		one := Skill{Name: k.Name, Ref: k.Ref(), Description: strings.ReplaceAll(k.Words, " ", ", "), Listed: "github.com/" + k.Repository}
		if !onGitHub(names, k.Owner()) {
			one.Ref = k.Exact()
		}
		source := "https://" + one.Listed + ".git//" + k.Path
		if at := slices.IndexFunc(found.found[:installed], func(f Skill) bool { return f.source == source }); at >= 0 {
			found.found[at].Ref, found.found[at].Listed = one.Ref, one.Listed
			continue
		}
		found.found = append(found.found, one)
		found.skills = append(found.skills, skillsearch.Skill{Name: k.Name, Ref: one.Ref, Description: k.Words, Source: one.Listed})
	}
}

// onGitHub reports whether a name of the owner means GitHub where people type it here. names is nil where that is not known.
func onGitHub(names *resolver.Resolver, owner string) bool {
	if names == nil || names.Asked(owner) != "" {
		return false
	}
	binding, err := names.Recorded(owner)
	return err == nil && binding == resolver.GitHub
}

// matches reports whether every word starts a word of the texts; matches in the name count more.
func matches(words, name, description string) (score float64, ok bool) {
	split := func(s string) []string {
		return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r > 0x7f) })
	}
	inName, inText := split(name), split(description)
	for _, word := range split(words) {
		starts := func(s string) bool { return strings.HasPrefix(s, word) }
		switch {
		case slices.ContainsFunc(inName, starts):
			score += 3
		case slices.ContainsFunc(inText, starts):
			score++
		default:
			return 0, false
		}
	}
	return score, true
}
