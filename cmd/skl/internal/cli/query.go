package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/skl-project/skl/cmd/skl/internal/report"
	"github.com/skl-project/skl/cmd/skl/internal/search"
	"github.com/skl-project/skl/cmd/skl/internal/ui"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/spec/diag"
)

// placeFlags say what is searched.
func placeFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "path", Usage: "search `DIR` (default: the repository of the working directory)"},
		&cli.StringFlag{Name: "service", Usage: "ask the index service at `URL`, and add uncommitted files from here; its key is in " + search.ServiceKey},
		&cli.BoolFlag{Name: "skills", Usage: "search the skills of all roots instead"},
		leftOutFlag(),
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
		&cli.StringFlag{Name: "parent", Usage: "`NAME` of the enclosing definition, such as the class of a method"},
		&cli.StringFlag{Name: "kind", Usage: "`KIND` of answer: definition, reference or any (default)"},
		&cli.StringFlag{Name: "glob", Usage: "only files whose path matches `GLOB`"},
		&cli.StringFlag{Name: "match", Usage: "`HOW` many of several patterns have to be there: any (default) or all"},
		&cli.StringFlag{Name: "dsl", Usage: "`EXPRESSION` such as (in-file \"src/**\" (grep \"auth\"))"},
		&cli.IntFlag{Name: "limit", Usage: "at most `N` handles (default: 16)"},
	}
}

// indexVariable is what the help of commands that index says of it.
const indexVariable = "SKL_INDEX_BACKGROUND=on   a query that did not wait for all files leaves a process behind that indexes the rest"

func queryCommand() command {
	return command{name: "query", args: "[WORDS…]", group: "Code", usage: "search code, documents and skills: handles first, text when wanted", output: query.Result{},
		example: "skl query --symbol AuthController --kind definition\nskl query --symbol authenticate --kind reference\nskl query retry with backoff --glob 'src/**'\nskl query --literal 'ctx, cancel :=' --files",
		flags: append(append(questionFlags(), &cli.IntFlag{Name: "expand-budget", Usage: "print also the text of the best handles, up to `N` tokens"},
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
	return command{name: "expand", args: "HANDLE…", group: "Code", usage: "print the text behind handles", output: query.Expansion{},
		example: "skl expand h1a2b3c4d5e6f7a8b9c0d1e2f",
		flags:   placeFlags(), run: runExpand}
}

// question makes parameters of flags and words, and refuses what only a command line can get wrong.
func question(c *cli.Context) (query.Params, error) {
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
	if len(patterns) == 0 && p.Literal+p.Regex+p.Symbol+p.Section+p.Parent+p.Query == "" {
		return query.Params{}, diag.New(diag.Misuse, "query_parse", "there is nothing to search for").Hint("skl %s WORDS", c.Command.Name).Hint("skl %s --symbol NAME", c.Command.Name)
	}
	if given := givenOf(c, "literal", "regex"); len(patterns) > 0 && len(given) > 0 || len(given) > 1 {
		if len(given) == 1 {
			given = append([]string{"words"}, given...)
		}
		return query.Params{}, diag.New(diag.Misuse, "usage", "%s and %s exclude each other", given[0], given[1]).
			Hint(`skl %s --dsl '(intersect (grep "WORDS") (literal "TEXT"))' asks for both`, c.Command.Name)
	}
	return p, positive(c, "limit", "max-tokens", "expand-budget", "max-handles", "max-per-file")
}

// givenOf returns which of these flags are given, as they are written.
func givenOf(c *cli.Context, flags ...string) (given []string) {
	for _, name := range flags {
		if c.String(name) != "" {
			given = append(given, "--"+name)
		}
	}
	return given
}

// positive refuses numbers below 1: 0 would mean what the flag means when it is not given.
func positive(c *cli.Context, flags ...string) error {
	for _, name := range flags {
		if c.IsSet(name) && c.Int(name) < 1 {
			return diag.New(diag.Misuse, "usage", "--%s is %d, and has to be 1 or more", name, c.Int(name)).Hint("skl %s --help", c.Command.Name)
		}
	}
	return nil
}

// searchPlace is what the flags name.
func searchPlace(c *cli.Context) (search.Place, error) {
	p := search.Place{Path: c.String("path"), Service: c.String("service"), Skills: c.Bool("skills"), LeftOut: c.StringSlice("left-out")}
	if len(p.LeftOut) > 0 && p.Service != "" {
		return search.Place{}, diag.New(diag.Misuse, "usage", "--left-out and --service exclude each other: the service says what it covers").Hint("leave out one of them")
	}
	if given := givenOf(c, "path", "service"); p.Skills && len(given) > 0 {
		return search.Place{}, diag.New(diag.Misuse, "usage", "--skills and %s exclude each other", given[0]).Hint("leave out one of them")
	}
	return p, nil
}

func runQuery(ctx context.Context, w *world, c *cli.Context) error {
	p, err := question(c)
	if err != nil {
		return err
	}
	place, err := searchPlace(c)
	if err != nil {
		return err
	}
	q := search.Question{Place: place, Params: p, MaxTokens: c.Int("max-tokens")}
	if c.Bool("files") {
		return w.listFiles(ctx, q)
	}
	r, err := w.search.Query(ctx, q)
	if err != nil {
		return err
	}
	out := report.Report{Result: r.Result, Beside: func(say *report.Text) { tellIgnored(say, r.Query) }, Text: func(say *report.Text) {
		w.printHandles(say, r.Result)
		tellLeftOut(say, r.LeftOut, q.Params.Literal+q.Params.Regex == "")
		tellQuery(say, c, place, r)
	}}
	return out.Write(w.ui)
}

func (w *world) listFiles(ctx context.Context, q search.Question) error {
	r, err := w.search.Files(ctx, q)
	if err != nil {
		return err
	}
	out := report.Report{Result: r, Text: func(say *report.Text) {
		for _, p := range r.Files {
			say.Print("%s", p)
		}
		if len(r.Files) == 0 {
			say.Note("nothing matches")
		}
	}}
	out.Beside = func(say *report.Text) {
		tellIgnored(say, r.Query)
		tellLong(say, r.Query)
		tellLeftOut(say, r.LeftOut, q.Params.Literal+q.Params.Regex == "")
	}
	return out.Write(w.ui)
}

// printHandles prints two lines of each handle: what it is and where, and how it begins, or all of its text if that was wanted.
func (w *world) printHandles(say *report.Text, r query.Result) {
	where, tokens := 0, 0
	for _, h := range r.Handles {
		where, tokens = max(where, len(span(h.FilePath, h.LineRange))), max(tokens, len(strconv.Itoa(h.TokenCount)))
	}
	where = min(where, 60) // one long path does not push all others to the right
	for _, h := range r.Handles {
		name := strings.TrimPrefix(h.Parent+"."+h.Name, ".")
		if h.Name == "" {
			name = h.Parent
		}
		at := ""
		if h.MatchLine > h.LineRange[0] {
			at = fmt.Sprintf(", line %d", h.MatchLine)
		}
		say.Print("%s  %-10s  %-*s  %*d tokens%s  %s", h.ID, kindOf(h.NodeType, h.Approximate), where, diag.Printable(span(h.FilePath, h.LineRange)), tokens, h.TokenCount, at, w.bold(name))
		if h.Content != "" {
			printText(say, h.Content)
		} else {
			say.Print("    %s", h.Preview)
		}
	}
	for _, h := range r.RefHandles {
		name := h.Name
		if h.Qualifier != "" {
			name = h.Qualifier + "." + name
		}
		say.Print("%-25s  %-8s  %s:%d  %s", h.SourceHandle, h.RefType, h.FilePath, h.LineRange[0], w.bold(name))
		say.Print("    %s", h.Preview)
	}
}

// kindOf marks a definition that is approximate.
func kindOf(nodeType string, approximate bool) string {
	if approximate {
		return "~" + nodeType
	}
	return nodeType
}

// tellNotRead says for which languages words were searched instead of names.
func tellNotRead(say *report.Text, languages []string, uses bool) {
	if len(languages) == 0 {
		return
	}
	what := "definitions"
	if uses {
		what = "uses of names"
	}
	say.Note("%s in %s are not read, only words", what, strings.Join(languages, ", "))
}

// bold emphasises text that came from a file.
func (w *world) bold(text string) ui.Painted { return ui.Painted(w.ui.Bold(diag.Printable(text))) }

func span(path string, lines [2]int) string {
	return fmt.Sprintf("%s:%d-%d", path, lines[0], lines[1])
}

// printText prints text of a file, and ends its last line.
func printText(say *report.Text, text string) {
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	say.Folded([]byte(text))
}

// tellQuery says how complete an answer is, and what to type next.
func tellQuery(say *report.Text, c *cli.Context, place search.Place, r search.Answer) {
	shown := len(r.Handles) + len(r.RefHandles)
	all := strconv.Itoa(r.TotalMatches) + " matches"
	if r.TotalMatches == 1 {
		all = "1 match"
	}
	if r.AtLeast {
		all = "at least " + all
	}
	switch {
	case r.Cut:
		say.Note("%d of %s: --max-tokens %d cut the answer", shown, all, c.Int("max-tokens"))
	case shown == 0 && r.Query.Expr.IsReferences() && len(r.NotRead) == 0:
		say.Note("nothing calls or imports it or uses it as a type")
		if name := r.Query.Expr.Texts(); r.NotIndexed == 0 && !strings.Contains(name, " ") {
			say.Hint("skl query%s --literal %s", place.Flags(), diag.Quote(name))
		}
	case shown == 0:
		say.Note("nothing matches")
		if r.NotIndexed == 0 {
			say.Hint("try other words, or: skl evidence%s WORDS", place.Flags())
		}
	case r.Truncated:
		say.Note("%d of %s; --limit shows more, --glob narrows", shown, all)
	}
	tellLong(say, r.Query)
	if note := r.Query.AlikeNote(r.Handles); note != "" {
		say.Note("%s", note)
	}
	tellRelaxed(say, r.Relaxed && shown > 0)
	tellNotRead(say, r.NotRead, r.Query.Expr.IsReferences())
	if r.ExpandNote != "" && !r.Cut {
		say.Note("--expand-budget %d has room for the text of %d of %d handles", c.Int("expand-budget"), r.ExpandedCount, shown)
	}
	tellNotIndexed(say, place, r.NotIndexed, r.Indexing)
	tellBehind(say, r.Behind)
	switch {
	case len(r.Handles) > 0 && r.ExpandedCount == 0:
		say.Hint("skl expand%s %s", place.Flags(), r.Handles[0].ID)
	case len(r.RefHandles) > 0 && r.RefHandles[0].SourceHandle != "":
		say.Hint("skl expand%s %s", place.Flags(), r.RefHandles[0].SourceHandle)
	}
}

// tellIgnored names what was asked and plays no part.
func tellIgnored(say *report.Text, q query.Query) {
	for _, name := range q.Ignored {
		switch name {
		case "pattern", "patterns":
			say.Note("the words are not searched for, since another flag says what is")
		case "query":
			say.Note("--dsl plays no part beside the other flags")
		default:
			say.Note("--%s plays no part beside the other flags", name)
		}
	}
}

// tellLong says that a question was cut.
func tellLong(say *report.Text, q query.Query) {
	if q.IsLong() {
		say.Note("%s", query.LongNote)
	}
}

func tellNotIndexed(say *report.Text, place search.Place, n int, indexing bool) {
	if n == 0 {
		return
	}
	going := ""
	if indexing {
		going = "; indexing goes on in the background"
	}
	say.Note("%s not indexed yet, and not in this answer%s", diag.CountAre(n, "file"), going)
	switch {
	case place.Skills:
		say.Hint("skl index --skills")
	case place.Path != "":
		say.Hint("skl index %s", diag.Quote(place.Path))
	default:
		say.Hint("skl index")
	}
}

// tellBehind says that changes of the last moments may be missing.
func tellBehind(say *report.Text, behind bool) {
	if behind {
		say.Note("there was no time to see which files changed; ask again for the newest text")
	}
}

func (w *world) printContents(say *report.Text, c *cli.Context, e query.Expansion) {
	for _, h := range e.Contents {
		say.Print("// %s %s", h.HandleID, span(h.FilePath, h.LineRange))
		printText(say, h.Content)
	}
	if e.Truncated {
		say.Note("the answer was cut at --max-tokens %d", c.Int("max-tokens"))
	}
}

func runEvidence(ctx context.Context, w *world, c *cli.Context) error {
	params, err := question(c)
	if err != nil {
		return err
	}
	place, err := searchPlace(c)
	if err != nil {
		return err
	}
	p, err := w.search.Evidence(ctx, search.EvidenceQuestion{Place: place, EvidenceParams: query.EvidenceParams{
		Params: params, MaxHandles: c.Int("max-handles"), MaxPerFile: c.Int("max-per-file"), MaxTokens: c.Int("max-tokens")}})
	if err != nil {
		return err
	}
	out := report.Report{Result: p.Pack, Beside: func(say *report.Text) { tellIgnored(say, p.Query) }}
	out.Text = func(say *report.Text) { w.printEvidence(say, place, p) }
	return out.Write(w.ui)
}

func (w *world) printEvidence(say *report.Text, place search.Place, p search.Evidence) {
	rows := [][]string{{"HANDLE", "TYPE", "NAME", "WHERE", "TOKENS", "SCORE"}}
	for _, h := range p.Handles {
		rows = append(rows, []string{h.ID, kindOf(h.NodeType, h.Approximate), h.Name, span(h.FilePath, h.LineRange), strconv.Itoa(h.TokenCount), strconv.FormatFloat(h.Score, 'f', 2, 64)})
	}
	say.Rows(rows)
	tellLeftOut(say, p.LeftOut, true)
	if len(p.Handles) == 0 {
		say.Note("nothing matches")
	} else {
		say.Note("%d of %d matches, %d tokens; confidence %.2f, %s", p.SelectedCount, p.TotalMatches, p.SelectedTokens, p.Guidance.Confidence, p.Guidance.ConfidenceBand)
		say.Note("%s", p.Guidance.Sentence())
	}
	tellLong(say, p.Query)
	tellRelaxed(say, p.Relaxed && len(p.Handles) > 0)
	tellNotRead(say, p.NotRead, p.Query.Expr.IsReferences())
	tellNotIndexed(say, place, p.NotIndexed, p.Indexing)
	tellBehind(say, p.Behind)
	switch n := min(len(p.ExpandSuggestion), p.Guidance.SuggestedExpandCount); {
	case n > 0:
		say.Hint("skl expand%s %s", place.Flags(), strings.Join(p.ExpandSuggestion[:n], " "))
	case p.NotIndexed == 0:
		say.Hint("try other words, a --symbol or a --glob")
	}
}

func tellRelaxed(say *report.Text, relaxed bool) {
	if relaxed {
		say.Note("few or none have all of these words; some of these have only some")
	}
}

func runExpand(ctx context.Context, w *world, c *cli.Context) error {
	place, err := searchPlace(c)
	if c.NArg() == 0 {
		return diag.New(diag.Misuse, "usage", "expand which handles?").Hint("skl query%s WORDS", place.Flags())
	}
	if err == nil {
		err = positive(c, "max-tokens")
	}
	if err != nil {
		return err
	}
	e, lost, err := w.search.Expand(ctx, place, c.Args().Slice(), c.Int("max-tokens"))
	switch {
	case err != nil:
		return err
	case len(e.Contents) == 0 && len(lost) > 0:
		return lost[0]
	}
	out := report.Report{Result: e, Text: func(say *report.Text) {
		w.printContents(say, c, e)
		for _, l := range lost {
			say.Warn("%v", l)
		}
	}}
	if len(lost) > 0 {
		out.End = report.Shown{Err: lost[0]}
	}
	return out.Write(w.ui)
}
