// Package query is what can be asked of an index, and the form of its answers.
//
//   - Params are the parameters of the tools, the service and the command, Decode reads them from JSON; Parse reads the
//     S-expression language. Both give an Expr, simplified, or an error that says what is wrong and where.
//   - Nothing is guessed and nothing passed over: unknown fields, kinds, operators, escapes of a regex, and text after an
//     expression are errors with what was meant. Filters that play no part are named in Query.Ignored.
//   - A Handle is a stable name for a span of a file. Its id depends on the path, the type and the span, not on
//     the content, and is spelled in one way everywhere.
//   - Texts, expressions, globs and lists have the limits below; a glob matches in linear time.
//   - It is pure, knows nothing of files and stores, and may be used concurrently.
//
// The errors are of the type *diag.Error and the class Misuse; their codes are "query_parse", "glob_pattern", "invalid_request" and
// "handle_id".
package query

import (
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/glob"
)

// Limits of a query.
const (
	DefaultLimit = 16
	MaxLimit     = 200
	MaxPatterns  = 32
	MaxText      = 4 << 10  // bytes of one text, name or heading
	MaxPattern   = 64 << 10 // bytes of the text of Grep; of what is longer than MaxText, the rarest words are searched
	MaxDSL       = 64 << 10 // bytes of an expression
	MaxDepth     = 64       // of an expression
	MaxForms     = 256      // parentheses of an expression
	MaxBudget    = 1 << 20  // tokens of ExpandBudget
)

// An Op says what an Expr asks for.
type Op uint8

const (
	Grep       Op = iota // Text: words, ranked; with punctuation that words do not have, a literal
	Literal              // Text: these bytes, complete
	Regex                // Text: an RE2 expression over lines, complete
	Code                 // Text: symbols of this name, else of a name with these words
	Definition           // Text: symbols of exactly this name, whatever its case
	Defining             // Text: symbols that match these words, in their names or anywhere
	References           // Text: uses of this name
	Section              // Text: headings that contain it, whatever their case
	File                 // Glob: whole files
	Children             // Text: what has this parent
	Named                // Text: parent; Name: what has this parent and this name
	InFile               // Glob, Args[0]
	Union                // Args
	Intersect            // Args
	Limit                // N, Args[0]
)

// An Expr is a node of a query. It is not changed after Compile or Parse.
type Expr struct {
	Op   Op
	Text string
	Name string
	Glob glob.Glob
	N    int
	Args []*Expr
}

// A Query is ready to be run.
type Query struct {
	Expr         *Expr
	Text         string // what was asked, for people and for scores: patterns, names and headings, space between
	Limit        int    // 1 to MaxLimit
	ExpandBudget int    // tokens of content that the answer may hold; 0 for none

	Ignored []string // parameters that were given and play no part, such as pattern beside symbol; worth a note in the answer
}

// LongNote says what becomes of a question that [Query.IsLong].
const LongNote = "the question is long: its first line and its rarest words were searched"

// IsLong says whether of a text that was asked only a part of the words is searched.
func (q Query) IsLong() bool { return q.Expr != nil && q.Expr.isLong() }

func (e *Expr) isLong() bool {
	return e.Op == Grep && len(e.Text) > MaxText || slices.ContainsFunc(e.Args, (*Expr).isLong)
}

// Note returns what the reader of an answer has to know besides: what played no part, that the question was cut, that notIndexed files are not covered, in which
// languages names are not known, and, if nothing was found, that what nobody refers to may be named all the same. It is "" if there is
// nothing to know.
func (q Query) Note(notIndexed int, notRead []string, behind, found bool) string {
	var list []string
	if behind {
		list = append(list, "there was no time to see which files changed; ask again for the newest text")
	}
	if len(notRead) > 0 {
		what := "definitions"
		if q.Expr.IsReferences() {
			what = "uses of names"
		}
		list = append(list, what+" in "+strings.Join(notRead, ", ")+" are not read, only words; literal finds all places that have the name")
	} else if !found && q.Expr != nil && q.Expr.IsReferences() {
		list = append(list, "nothing calls or imports it or uses it as a type; literal finds all places that have the name")
	}
	if len(q.Ignored) > 0 {
		list = append(list, strings.Join(q.Ignored, ", ")+" played no part: another parameter says what is searched")
	}
	if q.IsLong() {
		list = append(list, LongNote)
	}
	if notIndexed > 0 {
		list = append(list, diag.CountAre(notIndexed, "file")+" not indexed yet, and not in this answer; index the repository to cover all")
	}
	return strings.Join(list, "; ")
}

// SplitName divides "pkg.Type.Method", "a::b" or "A#b" into the last name and what qualifies it.
func SplitName(s string) (qualifiers []string, name string) {
	s = WholeName(s)
	parts := strings.FieldsFunc(s, func(r rune) bool { return r == '.' || r == ':' || r == '#' || r == '/' || r == '\\' })
	if len(parts) == 0 {
		return nil, s
	}
	return parts[:len(parts)-1], parts[len(parts)-1]
}

// WholeName is a name as it was typed, without the parentheses of a call.
func WholeName(s string) string { return strings.TrimSuffix(strings.TrimSpace(s), "()") }

// AlikeNote says of what was found that it has other names than q asks for: those with its words, or a letter more or less; "" if it has not.
func (q Query) AlikeNote(found []Handle) string {
	e := q.Expr
	for e != nil && (e.Op == InFile || e.Op == Limit) {
		e = e.Args[0]
	}
	if e == nil || e.Op != Code && e.Op != Definition || len(found) == 0 {
		return ""
	}
	name := WholeName(e.Text)
	_, last := SplitName(name)
	for _, h := range found {
		if h.Name == "" || strings.EqualFold(h.Name, name) || strings.EqualFold(h.Name, last) {
			return ""
		}
	}
	return "nothing is called " + diag.Printable(name) + "; these have names like it"
}

// Notes joins notes, of which those that are empty say nothing.
func Notes(list ...string) string {
	return strings.Join(slices.DeleteFunc(list, func(n string) bool { return n == "" }), "; ")
}

// Languages joins two lists of [Result.NotRead].
func Languages(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// Params are what tools, service and command take. Zero fields are absent.
type Params struct {
	Pattern      string   `json:"pattern,omitempty" jsonschema:"words to search for; text with punctuation is searched as it is"`
	Patterns     []string `json:"patterns,omitempty" jsonschema:"several patterns, see match"`
	Literal      string   `json:"literal,omitempty" jsonschema:"exact text; every file that has it is found"`
	Regex        string   `json:"regex,omitempty" jsonschema:"RE2 expression over lines; every file that has it is found"`
	Symbol       string   `json:"symbol,omitempty" jsonschema:"name of a function, method, class, struct or other definition"`
	Section      string   `json:"section,omitempty" jsonschema:"part of a Markdown heading"`
	Parent       string   `json:"parent,omitempty" jsonschema:"name of the enclosing symbol: a class for its methods"`
	Kind         string   `json:"kind,omitempty" jsonschema:"definition, reference or any (default)"`
	Glob         string   `json:"glob,omitempty" jsonschema:"only files whose path matches, such as src/**/*.ts"`
	Match        string   `json:"match,omitempty" jsonschema:"any (default) or all of patterns"`
	Limit        int      `json:"limit,omitempty" jsonschema:"most handles to return, up to 200; default 16"`
	ExpandBudget int      `json:"expand_budget,omitempty" jsonschema:"tokens of content to return with the handles"`
	Query        string   `json:"query,omitempty" jsonschema:"S-expression, such as (in-file \"src/**\" (grep \"auth\"))"`
}

// A Span is a range of bytes [Start, End).
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// A Handle stands for a span of a file.
type Handle struct {
	ID         string  `json:"id"` // "h" and 24 hex digits
	FilePath   string  `json:"file_path"`
	NodeType   string  `json:"node_type"`
	Name       string  `json:"name,omitempty"`
	Parent     string  `json:"parent,omitempty"` // name of what it belongs to
	ParentID   string  `json:"parent_handle_id,omitempty"`
	Span       Span    `json:"span"`
	LineRange  [2]int  `json:"line_range"`
	TokenCount int     `json:"token_count"`
	Preview    string  `json:"preview,omitempty"`
	MatchLine  int     `json:"match_line,omitempty"` // of the first match of a text query
	Score      float64 `json:"score,omitempty"`

	// Approximate says that the definition was found by the words and brackets of its language: its end, or that it is one, may be wrong.
	Approximate bool `json:"approximate,omitempty"`

	Content    string `json:"content,omitempty"`
	Source     string `json:"source,omitempty"` // "local" or "service"
	CommitSHA  string `json:"commit_sha,omitempty"`
	Generation uint64 `json:"generation,omitempty"`
}

// A RefHandle is a use of a name.
type RefHandle struct {
	FilePath     string `json:"file_path"`
	Span         Span   `json:"span"`
	LineRange    [2]int `json:"line_range"`
	Name         string `json:"name"`
	Qualifier    string `json:"qualifier,omitempty"`
	RefType      string `json:"ref_type"` // "call", "import", "type_ref"
	SourceHandle string `json:"source_handle,omitempty"`
	Preview      string `json:"preview"`
	Source       string `json:"source,omitempty"`
	CommitSHA    string `json:"commit_sha,omitempty"`
	Generation   uint64 `json:"generation,omitempty"`
}

// A Result answers a Query.
type Result struct {
	Handles           List[Handle] `json:"handles"`
	RefHandles        []RefHandle  `json:"ref_handles,omitempty"`
	TotalTokens       int          `json:"total_tokens"`                // of the handles
	TotalMatches      int          `json:"total_matches"`               // of all that match, also of those that are not returned
	Truncated         bool         `json:"truncated"`                   // there are more
	AtLeast           bool         `json:"total_is_at_least,omitempty"` // there may be more than TotalMatches
	Relaxed           bool         `json:"relaxed,omitempty"`           // too few have all the words: some have only some
	AutoExpanded      bool         `json:"auto_expanded,omitempty"`
	ExpandedCount     int          `json:"expanded_count,omitempty"`
	ExpandedHandleIDs []string     `json:"expanded_handle_ids,omitempty"`
	ExpandNote        string       `json:"expand_note,omitempty"`
	NotIndexed        int          `json:"not_indexed,omitempty"` // files that the answer does not cover yet
	Behind            bool         `json:"behind,omitempty"`      // there was no time to see what changed: newer text may be missing, in any kind of query
	NotRead           []string     `json:"not_read,omitempty"`    // languages of files that have the name, in which definitions, or uses, are not known; words were searched instead
	Note              string       `json:"note,omitempty"`        // for the reader: what played no part, what is not covered
	Generation        uint64       `json:"generation,omitempty"`
}

// An Expansion is the content of handles.
type Expansion struct {
	Contents  List[Content] `json:"contents"`
	FailedIDs []Failure     `json:"failed,omitempty"`
	Truncated bool          `json:"truncated,omitempty"` // the limit of tokens cut it
}

// A Content is the text of one handle, as it is in the file now.
type Content struct {
	HandleID   string `json:"handle_id"`
	FilePath   string `json:"file_path"`
	LineRange  [2]int `json:"line_range"`
	TokenCount int    `json:"token_count"`
	Content    string `json:"content"`
	Cut        bool   `json:"cut,omitempty"` // only its beginning
}

// A Failure is a handle that has no content.
type Failure struct {
	HandleID string `json:"handle_id"`
	Code     string `json:"code"` // "handle_not_found", "stale_generation"
	Message  string `json:"message"`
}

// Status describes an index.
type Status struct {
	FilesIndexed   int            `json:"files_indexed"`
	FilesTotal     int            `json:"files_total"` // that could be
	TotalTokens    int            `json:"total_tokens"`
	IndexSizeBytes int64          `json:"index_size_bytes"`
	LastIndexed    string         `json:"last_indexed,omitempty"` // RFC 3339, UTC; "" for never
	SchemaVersion  int            `json:"schema_version"`
	RepoRoot       string         `json:"repo_root"`
	FileDiscovery  string         `json:"file_discovery"` // "walk", or "watch" while changes are told
	Generation     uint64         `json:"generation"`
	Languages      map[string]int `json:"languages"` // files of each
	LeftOut        LeftOut        `json:"left_out"`
}

// LeftOut says what is not covered on purpose.
type LeftOut struct {
	Ignored int      `json:"ignored"` // files and directories that git ignores; what is in those directories is not counted
	Secret  int      `json:"secret"`  // files whose names say that they hold keys or passwords
	Linked  int      `json:"linked"`  // files that are linked from outside of the directory
	Paths   []string `json:"paths"`   // of those two kinds, at most MaxLeftOut

	Odd        int `json:"odd"`        // files and directories whose names have a control character, or bytes that are no text
	Unreadable int `json:"unreadable"` // directories
	TooLarge   int `json:"too_large"`  // files that are not divided, so that only literals and regular expressions find what they have
}

// MaxLeftOut is how many paths a LeftOut names.
const MaxLeftOut = 20

// Note says what was left out, but for what git ignores; "" for nothing. divided says that the answer is from the parts of files.
func (l LeftOut) Note(divided bool) string {
	var list []string
	say := func(n int, noun, why string) {
		if n > 0 {
			list = append(list, diag.CountAre(n, noun)+" not searched, "+why)
		}
	}
	n := l.Secret + l.Linked
	shown, more := slices.Clone(l.Paths[:min(len(l.Paths), 3)]), ""
	if n > len(shown) {
		more = ", …"
	}
	for i := range shown {
		shown[i] = diag.Printable(shown[i])
	}
	say(n, "file", "as keys, passwords and links from outside are not: "+strings.Join(shown, ", ")+more)
	say(l.Odd, "file", "for control characters, or bytes that are not text, in their names")
	say(l.Unreadable, "folder", "being unreadable here")
	if divided {
		say(l.TooLarge, "file", "being too large; literal and regex search them")
	}
	return strings.Join(list, "; ")
}

// Add adds what another index leaves out, whose paths begin with prefix.
func (l *LeftOut) Add(m LeftOut, prefix func(string) string) {
	l.Ignored += m.Ignored
	l.Secret += m.Secret
	l.Linked += m.Linked
	l.Odd += m.Odd
	l.Unreadable += m.Unreadable
	l.TooLarge += m.TooLarge
	for _, p := range m.Paths {
		if len(l.Paths) < MaxLeftOut {
			l.Paths = append(l.Paths, prefix(p))
		}
	}
}
