package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/index"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
)

// A searched is what query, evidence and expand ask: an index, or those of all roots of skills.
type searched interface {
	Query(context.Context, query.Query) (query.Result, error)
	Evidence(context.Context, query.Query, rank.PackOptions) (query.Pack, error)
	Expand(ctx context.Context, ids []string, maxTokens int) (query.Expansion, error)
	Close() error
}

// placeFlags say what is searched.
func placeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "path", Usage: "search `DIR` (default: the repository of the working directory)"},
		&cli.StringFlag{Name: "service", Usage: "ask the index service at `URL`, and the files here for what is not committed; the key is in " + serviceKey},
		&cli.BoolFlag{Name: "skills", Usage: "search the skills of all roots instead"},
		&cli.IntFlag{Name: "max-tokens", Usage: "print at most about `N` tokens"},
	}
}

// questionFlags are the parameters of a query.
func questionFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "pattern", Aliases: []string{"p"}, Usage: "`WORDS` to search for; text with punctuation is searched as it is; may be repeated, see --match"},
		&cli.StringFlag{Name: "literal", Usage: "exact `TEXT`; every file that has it is found"},
		&cli.StringFlag{Name: "regex", Usage: "lines that match `RE2`; every file that has one is found"},
		&cli.StringFlag{Name: "symbol", Aliases: []string{"s"}, Usage: "`NAME` of a function, method, class or other definition"},
		&cli.StringFlag{Name: "section", Usage: "part of a Markdown `HEADING`"},
		&cli.StringFlag{Name: "parent", Usage: "`NAME` of what encloses it: a class for its methods"},
		&cli.StringFlag{Name: "kind", Usage: "`KIND`: definition, reference or any"},
		&cli.StringFlag{Name: "glob", Usage: "only files whose path matches `GLOB`"},
		&cli.StringFlag{Name: "match", Usage: "of several patterns `any` or all"},
		&cli.StringFlag{Name: "dsl", Usage: "`EXPRESSION` such as (in-file \"src/**\" (grep \"auth\"))"},
		&cli.IntFlag{Name: "limit", Usage: "at most `N` handles (default: 16)"},
	}
}

func queryCommand() command {
	return command{name: "query", args: "[WORDS…]", group: "Code", usage: "search code, documents and skills: handles first, text when wanted", output: query.Result{},
		example: "skl query --symbol AuthController --kind definition\nskl query --symbol authenticate --kind reference\nskl query retry with backoff --glob 'src/**'\nskl query --literal 'ctx, cancel :=' --files",
		flags: append(append(questionFlags(), &cli.IntFlag{Name: "expand-budget", Usage: "also print the text of the best handles, up to `N` tokens"},
			&cli.BoolFlag{Name: "files", Usage: "print the paths of all files that match, and nothing else"}), placeFlags()...),
		run: runQuery}
}

func evidenceCommand() command {
	return command{name: "evidence", args: "[WORDS…]", group: "Code", usage: "the few handles that answer a question, and whether to search on", output: query.Pack{},
		example: "skl evidence how are uploads resumed\nskl evidence --pattern 'token refresh' --max-handles 4 --json",
		flags: append(append(questionFlags(), &cli.IntFlag{Name: "max-handles", Usage: "at most `N` handles (default: 8)"},
			&cli.IntFlag{Name: "max-per-file", Usage: "at most `N` of one file (default: 2)"}), placeFlags()...),
		run: runEvidence}
}

func expandCommand() command {
	return command{name: "expand", args: "HANDLE…", group: "Code", usage: "print what handles stand for", output: query.Expansion{},
		example: "skl expand h1a2b3c4d5e6f7a8b9c0d1e2f",
		flags:   placeFlags(), run: runExpand}
}

// question makes parameters of flags and words.
func question(c *cli.Context) query.Params {
	p := query.Params{Literal: c.String("literal"), Regex: c.String("regex"), Symbol: c.String("symbol"), Section: c.String("section"), Parent: c.String("parent"),
		Kind: c.String("kind"), Glob: c.String("glob"), Match: c.String("match"), Query: c.String("dsl"), Limit: c.Int("limit"), ExpandBudget: c.Int("expand-budget")}
	patterns := c.StringSlice("pattern")
	if words := strings.TrimSpace(strings.Join(c.Args().Slice(), " ")); words != "" {
		patterns = append(patterns, words)
	}
	if len(patterns) == 1 {
		p.Pattern = patterns[0]
	} else {
		p.Patterns = patterns
	}
	return p
}

func runQuery(ctx context.Context, w *world, c *cli.Context) error {
	q, err := question(c).Compile()
	if err != nil {
		return err
	}
	x, err := w.searched(ctx, c)
	if err != nil {
		return err
	}
	defer x.Close()
	if c.Bool("files") {
		return w.listFiles(ctx, x, q)
	}
	r, err := x.Query(ctx, q)
	if err != nil {
		return err
	}
	r = r.Within(c.Int("max-tokens"))
	if w.ui.JSON {
		return w.ui.Result(r)
	}
	for _, h := range r.Handles {
		w.ui.Print("%s  %s", handleLine(h), w.ui.Bold(strings.TrimSpace(strings.TrimPrefix(h.Parent+"."+h.Name, "."))))
		if h.Content != "" {
			w.ui.Show(h.Content)
		} else {
			w.ui.Print("    %s", h.Preview)
		}
	}
	for _, h := range r.RefHandles {
		name := h.Name
		if h.Qualifier != "" {
			name = h.Qualifier + "." + name
		}
		w.ui.Print("%-8s %s:%d  %s", h.RefType, h.FilePath, h.LineRange[0], w.ui.Bold(name))
		w.ui.Print("    %s", h.Preview)
	}
	w.tellQuery(r)
	return nil
}

// handleLine is what a handle is and where.
func handleLine(h query.Handle) string {
	return fmt.Sprintf("%s  %-10s %s:%d-%d  %d tokens", h.ID, h.NodeType, h.FilePath, h.LineRange[0], h.LineRange[1], h.TokenCount)
}

// tellQuery says how complete an answer is, and what to type next.
func (w *world) tellQuery(r query.Result) {
	shown := len(r.Handles) + len(r.RefHandles)
	switch {
	case shown == 0:
		w.ui.Note("nothing matches")
		w.ui.Hint("other words, or: skl evidence WORDS")
	case r.Truncated:
		more := ""
		if r.AtLeast {
			more = "at least "
		}
		w.ui.Note("%d of %s%d matches; --limit shows more, --glob narrows", shown, more, r.TotalMatches)
	}
	if r.Relaxed && shown > 0 {
		w.ui.Note("nothing has all of these words; these have some")
	}
	if r.ExpandNote != "" {
		w.ui.Note("%s", r.ExpandNote)
	}
	w.tellNotIndexed(r.NotIndexed)
	if len(r.Handles) > 0 && r.ExpandedCount == 0 {
		w.ui.Hint("skl expand %s", r.Handles[0].ID)
	}
}

func (w *world) tellNotIndexed(n int) {
	if n > 0 {
		w.ui.Note("%d files are not indexed yet and were only looked at as far as time allowed", n)
		w.ui.Hint("skl index")
	}
}

type filesResult struct {
	Files []string `json:"files"`
}

func (w *world) listFiles(ctx context.Context, x searched, q query.Query) error {
	lister, ok := x.(interface {
		Files(context.Context, query.Query) ([]string, error)
	})
	if !ok {
		return diag.New(diag.Misuse, "usage", "a service does not list files").Hint("leave out --files or --service")
	}
	list, err := lister.Files(ctx, q)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(filesResult{append([]string{}, list...)})
	}
	for _, p := range list {
		w.ui.Print("%s", p)
	}
	return nil
}

func runEvidence(ctx context.Context, w *world, c *cli.Context) error {
	q, o, err := query.EvidenceParams{Params: question(c), MaxHandles: c.Int("max-handles"), MaxPerFile: c.Int("max-per-file"), MaxTokens: c.Int("max-tokens")}.Compile()
	if err != nil {
		return err
	}
	x, err := w.searched(ctx, c)
	if err != nil {
		return err
	}
	defer x.Close()
	p, err := x.Evidence(ctx, q, o)
	if err != nil {
		return err
	}
	if w.ui.JSON {
		return w.ui.Result(p)
	}
	rows := [][]string{{"HANDLE", "TYPE", "NAME", "WHERE", "TOKENS", "SCORE"}}
	for _, h := range p.Handles {
		rows = append(rows, []string{h.ID, h.NodeType, h.Name, fmt.Sprintf("%s:%d-%d", h.FilePath, h.LineRange[0], h.LineRange[1]), strconv.Itoa(h.TokenCount), strconv.FormatFloat(h.Score, 'f', 2, 64)})
	}
	w.ui.Rows(rows)
	w.ui.Note("%d of %d matches, %d tokens; confidence %.2f (%s): %s", p.SelectedCount, p.TotalMatches, p.SelectedTokens, p.Guidance.Confidence, p.Guidance.ConfidenceBand, p.Guidance.NextStep)
	w.tellNotIndexed(p.NotIndexed)
	if n := min(len(p.ExpandSuggestion), p.Guidance.SuggestedExpandCount); n > 0 {
		w.ui.Hint("skl expand %s", strings.Join(p.ExpandSuggestion[:n], " "))
	}
	return nil
}

func runExpand(ctx context.Context, w *world, c *cli.Context) error {
	ids := c.Args().Slice()
	if len(ids) == 0 {
		return diag.New(diag.Misuse, "usage", "expand which handles?").Hint("skl query WORDS")
	}
	for i, id := range ids {
		var err error
		if ids[i], err = query.ParseID(id); err != nil {
			return err
		}
	}
	x, err := w.searched(ctx, c)
	if err != nil {
		return err
	}
	defer x.Close()
	e, err := x.Expand(ctx, ids, c.Int("max-tokens"))
	if err != nil {
		return err
	}
	if len(e.Contents) == 0 && len(e.FailedIDs) > 0 {
		f := e.FailedIDs[0]
		return diag.New(diag.Failed, f.Code, "%s: %s", f.HandleID, f.Message).Hint("skl query WORDS")
	}
	if w.ui.JSON {
		return w.ui.Result(e)
	}
	for _, h := range e.Contents {
		w.ui.Print("// %s %s:%d-%d", h.HandleID, h.FilePath, h.LineRange[0], h.LineRange[1])
		w.ui.Show(h.Content)
		if h.Cut {
			w.ui.Note("cut at --max-tokens %d", c.Int("max-tokens"))
		}
	}
	for _, f := range e.FailedIDs {
		w.ui.Warn("%s: %s", f.HandleID, f.Message)
	}
	return nil
}

// indexDir is where indexes are kept.
func (w *world) indexDir() string { return filepath.Join(w.dirs.cache, "index") }

// searchedDir is what --path says, else the repository around the working directory, else that directory.
func (w *world) searchedDir(path string) string {
	if path != "" {
		return absolute(w.cwd, path)
	}
	for dir := w.cwd; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) || dir == w.home {
			return w.cwd
		}
	}
}

// searched opens what the flags name.
func (w *world) searched(ctx context.Context, c *cli.Context) (searched, error) {
	if url := c.String("service"); url != "" && !c.Bool("skills") {
		return w.remoteIndex(ctx, url, w.searchedDir(c.String("path")))
	}
	if !c.Bool("skills") {
		return index.Open(ctx, w.searchedDir(c.String("path")), index.Options{CacheDir: w.indexDir(), Progress: w.ui.Progress})
	}
	if c.String("path") != "" || c.String("service") != "" {
		return nil, diag.New(diag.Misuse, "usage", "--skills excludes --path and --service")
	}
	return w.searchedSkills(ctx)
}
