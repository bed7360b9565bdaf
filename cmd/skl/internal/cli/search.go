package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/index/skillsearch"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/registry/client/wire"
	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/diag"
)

// A foundSkill is one answer of "skl search".
type foundSkill struct {
	Name        string   `json:"name"`
	Ref         string   `json:"ref"` // what to install; "" for one that is installed only
	Version     string   `json:"version"`
	Description string   `json:"description"`
	Registry    string   `json:"registry,omitempty"` // name in config.toml
	Installed   bool     `json:"installed"`
	Signed      bool     `json:"signed"`
	State       string   `json:"state,omitempty"`
	Score       float64  `json:"score"`  // comparable within one answer; 0 for what has only beginnings of the words, or has them in its body only
	Why         []string `json:"why"`    // such as "name: pdf"
	Tokens      int      `json:"tokens"` // that reading its SKILL.md costs; 0 if that is not known

	rank   float64 // the registry's own
	begins float64 // 3 for each word that begins one of the name, 1 for one of the description
}

type searchResult struct {
	Skills      []foundSkill `json:"skills"`
	Total       int          `json:"total"`
	Failed      []string     `json:"failed"`        // registries that did not answer
	NoGoodMatch bool         `json:"no_good_match"` // skills are the nearest
	Confidence  float64      `json:"confidence"`    // that the first is right, 0 to 1
}

const (
	nearest          = 5               // shown if there is no good match and no --limit
	maxRegistryQuery = 1000            // bytes that a registry reads of a question
	searchPatience   = 3 * time.Second // of skill_search with registries
)

func searchCommand() command {
	return command{name: "search", args: "WORDS…", group: "Skills", usage: "find skills, installed or on configured registries", output: searchResult{},
		example: "skl search fill pdf forms\nskl search pdf --registry corp --limit 50 --json",
		flags: []cli.Flag{
			&cli.StringFlag{Name: "registry", Usage: "ask the registry `NAME` of config.toml only"},
			&cli.IntFlag{Name: "limit", Value: 20, Usage: "show at most `N`"},
		},
		run: runSearch}
}

func runSearch(ctx context.Context, w *world, c *cli.Context) error {
	words := strings.TrimSpace(strings.Join(c.Args().Slice(), " "))
	limit := c.Int("limit")
	switch {
	case words == "":
		return diag.New(diag.Misuse, "usage", "search for what?").Hint("skl search fill pdf forms")
	case limit < 1 || limit > 100:
		return diag.New(diag.Misuse, "usage", "--limit is between 1 and 100")
	}
	names := slices.Sorted(maps.Keys(w.Config.Registries))
	if only := c.String("registry"); only != "" {
		if _, err := w.RegistryURL(only); err != nil {
			return err
		}
		names = []string{only}
	}
	var found skillsFound
	if c.String("registry") == "" {
		if err := w.findInstalled(ctx, &found); err != nil {
			return err
		}
	}
	w.askRegistries(ctx, names, words, min(100, max(50, 2*limit)), &found)
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, f := range found.failed {
		w.ui.Warn("registry %s: %s", f.registry, f.err)
	}
	out := found.answer(words)
	if len(out.Skills) == 0 && len(found.failed) > 0 && len(found.failed) == len(names) {
		return found.failed[0].err
	}
	if out.NoGoodMatch && !c.IsSet("limit") {
		limit = nearest
	}
	out.Skills = out.Skills[:min(limit, len(out.Skills))]
	return w.printSearch(words, names, out)
}

// searchSkills answers which skill fits a task: of those installed, and of those that the registries find for it.
// Registries have three seconds, and those that do not answer are named in the answer's note.
func (w *world) searchSkills(ctx context.Context, task string, limit int) (skillsearch.Answer, error) {
	var found skillsFound
	if err := w.findInstalled(ctx, &found); err != nil {
		return skillsearch.Answer{}, err
	}
	names := slices.Sorted(maps.Keys(w.Config.Registries))
	var note string
	if w.Offline() {
		if len(names) > 0 {
			note = "offline: registries were not asked"
		}
	} else {
		soon, cancel := context.WithTimeout(ctx, searchPatience)
		w.askRegistries(soon, names, task, 50, &found)
		cancel()
		if err := ctx.Err(); err != nil {
			return skillsearch.Answer{}, err
		}
		// What a registry says of its failure is a stranger's text.
		var silent []string
		for _, f := range found.failed {
			silent = append(silent, f.registry)
		}
		if silent != nil {
			note = "registries that did not answer: " + strings.Join(silent, ", ")
		}
	}
	a := found.rank(task, limit)
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
	found  []foundSkill // beside skills
	more   int          // that registries have beyond these
	failed []failedRegistry
}

type failedRegistry struct {
	registry string
	err      error
}

// rank returns those that have words of the task, best first.
func (s *skillsFound) rank(task string, limit int) skillsearch.Answer {
	return skillsearch.New(s.skills, skillsearch.Options{}).Search(task, skillsearch.Context{Limit: limit})
}

// answer returns all that were found: those with the name that was typed, those that have words of the question, best first, and then those of which
// only beginnings of words match, or what only a registry knows.
func (s *skillsFound) answer(words string) searchResult {
	a := s.rank(words, skillsearch.MaxLimit)
	out := searchResult{Skills: []foundSkill{}, Failed: []string{}, NoGoodMatch: a.NoGoodMatch, Confidence: a.Confidence, Total: s.more}
	seen := make([]bool, len(s.found))
	for _, m := range a.Skills {
		f := s.found[m.Index]
		f.Score, f.Why = m.Score, m.Why
		out.Skills = append(out.Skills, f)
		seen[m.Index] = true
	}
	var rest []foundSkill
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
	slices.SortStableFunc(rest, func(a, b foundSkill) int {
		return cmp.Or(cmp.Compare(b.begins, a.begins), cmp.Compare(b.rank, a.rank), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref, b.Ref))
	})
	out.Skills = append(out.Skills, rest...)
	name := strings.Join(strings.Fields(strings.ToLower(words)), "-")
	slices.SortStableFunc(out.Skills, func(a, b foundSkill) int {
		is := func(f foundSkill) int {
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
func (w *world) findInstalled(ctx context.Context, s *skillsFound) error {
	l, err := w.Discover(ctx, nil)
	if err != nil {
		return err
	}
	list, err := skillsearch.FromListing(ctx, skills.FS(), l)
	if err != nil {
		return err
	}
	f, _ := w.Load()
	for _, k := range list {
		one := foundSkill{Name: k.Name, Version: k.Version, Description: k.Description, Installed: true, Tokens: k.Tokens}
		if f != nil && f.Lock != nil {
			if locked, ok := f.Lock.Skill(k.Name); ok && locked.Source == "registry" {
				one.Ref = apply.SubjectOf(locked).Name
			}
		}
		s.skills = append(s.skills, k)
		s.found = append(s.found, one)
	}
	return nil
}

// askRegistries asks all of names at once, for at most limit skills each. One that does not answer is named, and hides nothing.
func (w *world) askRegistries(ctx context.Context, names []string, words string, limit int, s *skillsFound) {
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
			r, err := client.New(w.HTTP, w.Config.Registries[name].URL)
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
			s.failed = append(s.failed, failedRegistry{names[i], a.err})
			continue
		}
		if !a.Relaxed { // then nobody wants the others
			s.more += max(0, a.Total-len(a.Items))
		}
		for _, k := range a.Items {
			s.add(names[i], k)
		}
	}
}

// add adds a skill that a registry offers, or says where an installed one comes from.
func (s *skillsFound) add(registry string, k wire.Skill) {
	one := foundSkill{Name: k.Name, Ref: k.Namespace + "/" + k.Name, Version: k.Latest, Description: k.Description, Registry: registry, Signed: k.Signed, State: k.State, rank: k.Score}
	if at := slices.IndexFunc(s.found, func(f foundSkill) bool { return f.Installed && f.Registry == "" && f.Ref == one.Ref }); at >= 0 {
		one.Installed, one.Tokens = true, s.found[at].Tokens
		s.found[at] = one
		s.skills[at].Ref = one.Ref
		return
	}
	s.found = append(s.found, one)
	s.skills = append(s.skills, skillsearch.Skill{Name: k.Name, Ref: one.Ref, Description: k.Description, Version: k.Latest, Source: registry, Tags: k.Keywords, Trust: k.State})
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

func (w *world) printSearch(words string, registries []string, out searchResult) error {
	if w.ui.JSON {
		return w.ui.Result(out)
	}
	if len(out.Skills) == 0 {
		w.ui.Print("nothing matches %q", words)
		if len(registries) == 0 {
			w.ui.Hint("no registry is configured: skl login URL --default")
		}
		return nil
	}
	if out.NoGoodMatch {
		w.ui.Print("no good match; the nearest are:")
	}
	rows := [][]string{{"NAME", "VERSION", "FROM", "DESCRIPTION"}}
	for _, s := range out.Skills {
		from := s.Registry
		switch {
		case s.Installed && from == "":
			from = "installed"
		case s.Installed:
			from += ", installed"
		}
		if s.State == "deprecated" {
			from += ", deprecated"
		}
		rows = append(rows, []string{cmp.Or(s.Ref, s.Name), s.Version, from, cut(s.Description, 70)})
	}
	w.ui.Rows(rows)
	if out.Total > len(out.Skills) {
		w.ui.Note("%d more: --limit", out.Total-len(out.Skills))
	}
	if i := slices.IndexFunc(out.Skills, func(s foundSkill) bool { return !s.Installed }); i >= 0 {
		w.ui.Hint("skl info %s    skl install %s", out.Skills[i].Ref, out.Skills[i].Ref)
	}
	return nil
}
