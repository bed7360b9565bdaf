package author

import "strings"

// An Advice is a model's answer to a question about a skill. It changes nothing.
type Advice struct {
	Rows     []AdviceRow `json:"rows"`
	Approach string      `json:"approach"`
	FollowUp string      `json:"follow_up"` // an operation, or none
}

// An AdviceRow is one thing to do.
type AdviceRow struct {
	What   string `json:"what"`
	File   string `json:"file"`
	Anchor string `json:"anchor"` // of a line, "" for the file
	Line   int    `json:"line"`   // of the anchor; 0 for the file
	Action string `json:"action"`
	Why    string `json:"why"`
}

// ParseAdvice reads an answer and holds it against the skill: each file and line that it names is there, or it is said to be new. Its error is
// a [*Wrong].
func ParseAdvice(answer []byte, d *Draft) (*Advice, error) {
	x, err := parse[Advice](answer)
	if err != nil {
		return nil, err
	}
	if len(x.Rows) == 0 && strings.TrimSpace(x.Approach) == "" {
		return nil, wrong("the advice is empty")
	}
	for i := range x.Rows {
		r := &x.Rows[i]
		r.What, r.File, r.Action, r.Why, r.Line = oneLine(r.What), oneLine(r.File), oneLine(r.Action), oneLine(r.Why), 0
		if r.What == "" || r.Action == "" {
			return nil, wrong("row %d says nothing", i+1)
		}
		if r.Anchor == "" && r.File == "" {
			continue
		}
		was, err := d.was(r.File)
		if err != nil {
			return nil, asWrong(err)
		}
		if was == nil {
			return nil, wrong("row %d names %s, which is not there: a row on what should be added names no file", i+1, r.File)
		}
		if r.Anchor == "" {
			continue
		}
		n, err := split(string(was)).line(r.File, r.Anchor)
		if err != nil {
			return nil, err
		}
		r.Line = n + 1
	}
	x.Approach = oneLine(x.Approach)
	return x, nil
}
