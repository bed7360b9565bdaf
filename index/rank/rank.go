// Package rank decides how well a text answers a question, and says why. It is shared by the search of code, of
// skills, and of a registry.
//
//   - Text is cut into terms: identifiers whole and in their parts (camel case, snake case), words of English by their
//     stem, all in lower case. Terms of a text and of a question are made by the same code.
//   - A score is the sum of named parts, each explainable; equal input gives equal scores on every platform.
//   - It is pure, and may be used concurrently.
package rank

// Terms calls yield with each term of text in order, repetitions included. The slice is valid during the call only.
// An identifier of several parts gives the whole in lower case without separators ("getuserbyid"), then the stem of
// each part; a single word gives its stem; a number of up to 20 digits gives itself.
func Terms(text []byte, yield func(term []byte)) { panic("not written") }

// A Question is what was asked, as terms.
type Question struct {
	Terms []Term
	Names []string // words that were written as identifiers (inner capitals, underscores, digits), as they were, and single quoted or lone words
}

// A Term of a question.
type Term struct {
	Text string
	Stop bool // a word of the kind that says little, such as "the"; it does not need to match
	Part bool // it is a part of an identifier that is also there as a whole
}

// Ask makes a Question of text of at most 4 KiB; what is beyond is ignored.
func Ask(text string) Question { panic("not written") }

// A Document is something that may answer.
type Document struct {
	Name      string // of the symbol, heading or skill
	Owner     string // of what it belongs to
	Path      string // of the file, with slashes
	Signature string
	Doc       []byte // doc comment or description
	Body      []byte
	Kind      string // type of node as in JSON, such as "function"
	Tokens    int    // that reading it costs
	Exported  bool
	Prior     float64 // what is known of it besides its text, such as feedback; 0 for nothing, between -1 and 1
}

// A Corpus is what the scores are relative to.
type Corpus struct {
	Documents int
	Length    float64               // mean number of terms of a document
	Frequency func(term string) int // how many documents have the term, roughly
}

// A Score says how well a document answers.
type Score struct {
	Value    float64  // comparable among documents of one question
	Coverage float64  // share of the question that matched, weighted by how rare the terms are, 0 to 1
	Matched  []string // terms of the question that it has, in the order of the question
	Parts    []Part   // what Value is the sum of
}

// A Part of a score.
type Part struct {
	Name  string  `json:"name"` // "name", "owner", "path", "signature", "doc", "body", "exact", "kind", "size", "prior"
	Value float64 `json:"value"`
}

// A Scorer scores documents for one question. It may be used concurrently.
type Scorer struct{}

// New returns a Scorer.
func New(q Question, c Corpus) *Scorer { panic("not written") }

// Score returns the score of d.
func (s *Scorer) Score(d Document) Score { panic("not written") }

// A Candidate for an evidence pack.
type Candidate struct {
	Path       string
	Start, End int // bytes
	FirstLine  int
	LastLine   int
	Kind       string
	Tokens     int
	Score      Score
	Recent     bool // expanded lately: suggested last
	Overlaps   bool // with what was expanded lately: chosen last
}

// PackOptions bound an evidence pack.
type PackOptions struct {
	MaxHandles int // 0 means 8; 1 to 64
	MaxPerFile int // 0 means 2; 1 to 8
	MaxTokens  int // of all handles together; 0 for no limit
}

// A Guidance tells an agent how to go on. Confidence is the probability that one of the suggested handles answers,
// calibrated by index/retrieval.
type Guidance struct {
	StopQuerying         bool    `json:"stop_querying"`
	RecommendedAction    string  `json:"recommended_action"` // "expand_then_answer" or "refine_query"
	SuggestedExpandCount int     `json:"suggested_expand_count"`
	MaxAdditionalQueries int     `json:"max_additional_queries"`
	Confidence           float64 `json:"confidence"`
	ConfidenceBand       string  `json:"confidence_band"` // "low" below 0.35, "high" from 0.70, else "medium"
	Rationale            string  `json:"rationale"`
	NextStep             string  `json:"next_step"`
}

// Pack chooses candidates, which come in the order of their scores, and says how to go on. chosen and suggested hold indexes of candidates,
// best first; total is the number of all matches, truncated says that the candidates are not all of them.
func Pack(candidates []Candidate, total int, truncated bool, o PackOptions) (chosen, suggested []int, g Guidance) {
	panic("not written")
}
