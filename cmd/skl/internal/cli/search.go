package cli

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/registry/client"
	"github.com/skl-project/skl/spec/diag"
)

// A foundSkill is one answer of "skl search".
type foundSkill struct {
	Name        string  `json:"name"`
	Ref         string  `json:"ref"` // what to install; "" for one that is installed only
	Version     string  `json:"version"`
	Description string  `json:"description"`
	Registry    string  `json:"registry,omitempty"` // name in config.toml
	Installed   bool    `json:"installed"`
	Signed      bool    `json:"signed"`
	State       string  `json:"state,omitempty"`
	Score       float64 `json:"score"` // 3 for a word of the name, 1 for one of the description; comparable among sources

	rank float64 // the registry's own
}

type searchResult struct {
	Skills []foundSkill `json:"skills"`
	Total  int          `json:"total"`
	Failed []string     `json:"failed"` // registries that did not answer
}

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
	names := slices.Sorted(maps.Keys(w.config.Registries))
	if only := c.String("registry"); only != "" {
		if _, err := w.registryURL(only); err != nil {
			return err
		}
		names = []string{only}
	}
	out := searchResult{Skills: []foundSkill{}, Failed: []string{}}
	if c.String("registry") == "" {
		if err := w.searchInstalled(ctx, words, &out); err != nil {
			return err
		}
	}
	if err := w.searchRegistries(ctx, names, words, limit, &out); err != nil {
		return err
	}
	slices.SortStableFunc(out.Skills, func(a, b foundSkill) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.rank, a.rank), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Ref, b.Ref))
	})
	out.Skills = out.Skills[:min(limit, len(out.Skills))]
	return w.printSearch(words, names, out)
}

// searchRegistries asks all registries at once. One that does not answer is named, and hides nothing.
func (w *world) searchRegistries(ctx context.Context, names []string, words string, limit int, out *searchResult) error {
	type answer struct {
		skills []foundSkill
		total  int
		err    error
	}
	answers := make([]answer, len(names))
	limit = min(limit+len(out.Skills), 100) // some of the answers are installed, and found already
	var g errgroup.Group
	g.SetLimit(8)
	for i, name := range names {
		g.Go(func() error {
			a := &answers[i]
			r, err := client.New(w.web, w.config.Registries[name].URL)
			if err != nil {
				a.err = err
				return nil
			}
			found, err := r.Search(ctx, client.Query{Text: words, Limit: limit})
			a.err, a.total = err, found.Total
			for _, s := range found.Items {
				// A registry also matches other forms of a word; such an answer stands behind the others.
				score, _ := matches(words, s.Namespace+"/"+s.Name, s.Description)
				a.skills = append(a.skills, foundSkill{Name: s.Name, Ref: s.Namespace + "/" + s.Name, Version: s.Latest, Description: s.Description, Registry: name,
					Signed: s.Signed, State: s.State, Score: score, rank: s.Score})
			}
			return nil
		})
	}
	g.Wait()
	failed := 0
	for i, a := range answers {
		if a.err != nil {
			failed++
			out.Failed = append(out.Failed, names[i])
			w.ui.Warn("registry %s: %s", names[i], a.err)
			continue
		}
		out.Total += a.total
		for _, s := range a.skills {
			if at := slices.IndexFunc(out.Skills, func(f foundSkill) bool { return f.Installed && f.Ref == s.Ref }); at >= 0 {
				s.Installed = true
				out.Skills[at] = s
				out.Total--
				continue
			}
			out.Skills = append(out.Skills, s)
		}
	}
	if failed > 0 && failed == len(names) && len(out.Skills) == 0 {
		return answers[0].err
	}
	return ctx.Err()
}

// searchInstalled looks at what is installed: every word must start a word of the name or the description.
func (w *world) searchInstalled(ctx context.Context, words string, out *searchResult) error {
	l, err := w.discover(ctx, nil)
	if err != nil {
		return err
	}
	f, _ := w.load()
	for _, r := range l.Skills {
		if r.State != roots.Active && r.State != roots.Untrusted {
			continue
		}
		score, ok := matches(words, r.Name, r.Description)
		if !ok {
			continue
		}
		s := foundSkill{Name: r.Name, Version: r.Version, Description: r.Description, Installed: true, Score: score}
		if f != nil && f.lock != nil {
			if locked, ok := f.lock.Skill(r.Name); ok && locked.Source == "registry" {
				subject, _ := subjectOf(locked)
				s.Ref = subject.Name
			}
		}
		out.Skills = append(out.Skills, s)
		out.Total++
	}
	return nil
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
