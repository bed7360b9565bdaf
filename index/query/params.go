package query

import (
	"fmt"
	"strings"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
	"github.com/skl-project/skl/spec/spell"
)

// Compile checks p and makes a Query of it.
//
// The first of these that is given selects the nodes to search; [Query.Ignored] names all others that are given:
//
//   - Query.
//   - With Kind "definition": Parent and Symbol, Parent, Symbol, or Pattern or Patterns: definitions that match the words. With Kind
//     "reference": Symbol, or Pattern or Patterns of one word each.
//   - Parent and Symbol, Parent, Symbol, Section, then Literal, Regex, Pattern or Patterns, which exclude each other.
//
// Several patterns are a union, with Match "all" an intersection. Glob restricts any of this. Query.Limit is the smaller of Limit and the
// number in a limit form around all of Query, which is not part of Query.Expr then, so that the whole number of
// matches stays known.
//
// The codes of its errors are "query_parse" where there is nothing to search or Query is wrong, "glob_pattern", and else
// "invalid_request".
func (p Params) Compile() (Query, error) {
	if err := p.check(); err != nil {
		return Query{}, err
	}
	g, err := glob.Parse(p.Glob)
	if err != nil {
		return Query{}, err
	}
	e, used, err := p.target()
	if err != nil {
		return Query{}, err
	}
	q := Query{Limit: p.Limit, ExpandBudget: p.ExpandBudget, Ignored: p.ignored(used)}
	if e = simplify(e); e.Op == Limit {
		if q.Limit == 0 || e.N < q.Limit {
			q.Limit = e.N
		}
		e = e.Args[0]
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	q.Text = e.Texts()
	q.Expr = inFile(g, e)
	return q, nil
}

// check refuses values that no query may have.
func (p Params) check() error {
	switch {
	case p.Kind != "" && p.Kind != "definition" && p.Kind != "reference" && p.Kind != "any":
		return badChoice("kind", p.Kind, "definition", "reference", "any")
	case p.Match != "" && p.Match != "any" && p.Match != "all":
		return badChoice("match", p.Match, "any", "all")
	case p.Limit < 0 || p.Limit > MaxLimit:
		return diag.New(diag.Misuse, "invalid_request", "limit is %d, which is not from 1 to %d", p.Limit, MaxLimit).
			Hint("leave limit out for %d, or narrow the query with glob", DefaultLimit)
	case p.ExpandBudget < 0 || p.ExpandBudget > MaxBudget:
		return diag.New(diag.Misuse, "invalid_request", "expand_budget is %d, which is not from 0 to %d", p.ExpandBudget, MaxBudget)
	case p.Patterns != nil && len(p.Patterns) == 0:
		return diag.New(diag.Misuse, "invalid_request", "patterns is an empty list").Hint("leave patterns out, or name some")
	case len(p.Patterns) > MaxPatterns:
		return diag.New(diag.Misuse, "invalid_request", "patterns has %d texts, %d are allowed", len(p.Patterns), MaxPatterns)
	}
	return nil
}

func badChoice(field, value string, choices ...string) error {
	err := diag.New(diag.Misuse, "invalid_request", "%s is %s, not one of %s", field, quote(value), strings.Join(choices, ", "))
	if near := spell.Nearest(value, choices, 1); len(near) > 0 {
		return err.Meant(near...).Hint("did you mean %q?", near[0])
	}
	return err.Hint("leave %s out for any", field)
}

// target chooses what is searched. used names the parameters that say it, with space between.
func (p Params) target() (e *Expr, used string, err error) {
	if p.Query != "" {
		e, err = Parse(p.Query)
		return e, "query", err
	}
	switch p.Kind {
	case "definition":
		return p.definition()
	case "reference":
		return p.reference()
	}
	switch {
	case p.Parent != "":
		return p.parent()
	case p.Symbol != "":
		return leaf(Code, "symbol", p.Symbol)
	case p.Section != "":
		return leaf(Section, "section", p.Section)
	}
	if err := p.oneText(); err != nil {
		return nil, "", err
	}
	switch {
	case p.Literal != "":
		return leaf(Literal, "literal", p.Literal)
	case p.Regex != "":
		return leaf(Regex, "regex", p.Regex)
	case p.Pattern != "":
		return leaf(Grep, "pattern", p.Pattern)
	case p.Patterns != nil:
		return p.several(Grep)
	}
	return nil, "", diag.New(diag.Misuse, "query_parse", "there is nothing to search for").
		Hint("give one of pattern, patterns, literal, regex, symbol, section, parent or query")
}

func (p Params) definition() (*Expr, string, error) {
	switch {
	case p.Parent != "":
		return p.parent()
	case p.Symbol != "":
		return leaf(Definition, "symbol", p.Symbol)
	}
	if err := p.oneText(); err != nil {
		return nil, "", err
	}
	switch {
	case p.Pattern != "":
		return leaf(Defining, "pattern", p.Pattern)
	case p.Patterns != nil:
		return p.several(Defining)
	}
	return nil, "", p.kindNeeds("symbol, parent or pattern")
}

func (p Params) reference() (*Expr, string, error) {
	if p.Symbol != "" {
		return leaf(References, "symbol", p.Symbol)
	}
	if err := p.oneText(); err != nil {
		return nil, "", err
	}
	words := p.Patterns
	if p.Pattern != "" {
		words = []string{p.Pattern}
	}
	for _, w := range words {
		if len(strings.Fields(w)) > 1 {
			return nil, "", diag.New(diag.Misuse, "invalid_request", `kind "reference" asks for uses of a name, and %s is not a name`, quote(w)).
				Hint(`give the name as symbol, or leave kind out`)
		}
	}
	switch {
	case p.Pattern != "":
		return leaf(References, "pattern", p.Pattern)
	case p.Patterns != nil:
		return p.several(References)
	}
	return nil, "", p.kindNeeds("symbol")
}

// kindNeeds says that Kind does not go with what is given.
func (p Params) kindNeeds(what string) error {
	err := diag.New(diag.Misuse, "invalid_request", "kind %q needs %s", p.Kind, what)
	if given := p.given(); len(given) > 0 {
		return err.Hint("leave kind out to search by %s", given[0])
	}
	return err
}

// oneText refuses several of the ways to give a text.
func (p Params) oneText() error {
	var given []string
	for _, g := range p.given() {
		switch g {
		case "pattern", "patterns", "literal", "regex":
			given = append(given, g)
		}
	}
	if len(given) < 2 {
		return nil
	}
	err := diag.New(diag.Misuse, "invalid_request", "%s and %s exclude each other", given[0], given[1])
	if given[0] == "pattern" && given[1] == "patterns" {
		return err.Hint("put all into patterns")
	}
	return err.Hint(`both at once: query with (intersect …), such as (intersect (grep "words") (literal "text"))`)
}

func (p Params) parent() (*Expr, string, error) {
	e, used, err := leaf(Children, "parent", p.Parent)
	if err != nil || p.Symbol == "" {
		return e, used, err
	}
	child, _, err := leaf(Named, "symbol", p.Symbol)
	if err != nil {
		return nil, "", err
	}
	return &Expr{Op: Named, Text: e.Text, Name: child.Text}, "parent symbol", nil
}

// several combines the patterns.
func (p Params) several(op Op) (*Expr, string, error) {
	all := &Expr{Op: Union}
	if p.Match == "all" {
		all.Op = Intersect
	}
	for i, s := range p.Patterns {
		e, _, err := leaf(op, fmt.Sprintf("patterns[%d]", i), s)
		if err != nil {
			return nil, "", err
		}
		all.Args = append(all.Args, e)
	}
	return all, "patterns", nil
}

// leaf makes an Expr of the text of a parameter.
func leaf(op Op, field, s string) (*Expr, string, error) {
	s, why, hint := checkText(op, s)
	if why == "" {
		return &Expr{Op: op, Text: s}, field, nil
	}
	code := "invalid_request"
	if op == Regex && strings.HasPrefix(why, "is not an") {
		code = "query_parse" // as inside an expression
	}
	err := diag.New(diag.Misuse, code, "%s %s", field, why)
	if hint != "" {
		err.Hint("%s", hint)
	}
	return nil, "", err
}

// given names the parameters that say what is searched, and are there.
func (p Params) given() []string {
	var names []string
	for _, f := range [...]struct {
		name  string
		there bool
	}{
		{"query", p.Query != ""}, {"parent", p.Parent != ""}, {"symbol", p.Symbol != ""}, {"section", p.Section != ""},
		{"literal", p.Literal != ""}, {"regex", p.Regex != ""}, {"pattern", p.Pattern != ""}, {"patterns", p.Patterns != nil},
	} {
		if f.there {
			names = append(names, f.name)
		}
	}
	return names
}

// ignored names what is given and not used.
func (p Params) ignored(used string) []string {
	var names []string
	for _, g := range p.given() {
		if !strings.Contains(" "+used+" ", " "+g+" ") {
			names = append(names, g)
		}
	}
	if used == "query" && p.Kind != "" && p.Kind != "any" {
		names = append(names, "kind")
	}
	return names
}

// EvidenceParams are what the tools, the service and the command take for an evidence pack.
type EvidenceParams struct {
	Params
	MaxHandles int   `json:"max_handles,omitempty" jsonschema:"most handles in the pack, 1 to 64; default 8"`
	MaxPerFile int   `json:"max_per_file,omitempty" jsonschema:"most handles of one file, 1 to 8; default 2"`
	MaxTokens  int   `json:"max_tokens,omitempty" jsonschema:"most tokens that all handles of the pack together may expand to"`
	Plan       *bool `json:"plan,omitempty" jsonschema:"let the service add the definitions of names that it found; default false"`
}

// Compile checks p and makes a Query of it, as [Params.Compile] does, and the bounds of the pack. More handles than a pack
// can have are the most that it can have.
func (p EvidenceParams) Compile() (Query, rank.PackOptions, error) {
	for _, f := range [...]struct {
		name string
		n    int
	}{{"max_handles", p.MaxHandles}, {"max_per_file", p.MaxPerFile}, {"max_tokens", p.MaxTokens}} {
		if f.n < 0 {
			return Query{}, rank.PackOptions{}, diag.New(diag.Misuse, "invalid_request", "%s is %d, which is below 0", f.name, f.n)
		}
	}
	q, err := p.Params.Compile()
	if err != nil {
		return Query{}, rank.PackOptions{}, err
	}
	return q, rank.PackOptions{MaxHandles: min(p.MaxHandles, 64), MaxPerFile: min(p.MaxPerFile, 8), MaxTokens: p.MaxTokens}, nil
}
