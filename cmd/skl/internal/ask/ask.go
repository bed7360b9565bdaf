// Package ask is how a use case puts a question to a person, whoever asks it: a terminal, an agent's client, a page.
package ask

import (
	"context"
	"errors"
	"fmt"
)

// ErrNobody is returned by questions that nobody can be asked.
var ErrNobody = errors.New("nobody to ask: not a terminal")

// ErrLeft is returned by questions that a person left without an answer. It is a context.Canceled.
var ErrLeft = fmt.Errorf("left without an answer: %w", context.Canceled)

// ErrStopped is returned by questions at which a person stopped the program. It is a context.Canceled.
var ErrStopped = fmt.Errorf("stopped: %w", context.Canceled)

// An Asker puts questions to a person. Its methods may be called concurrently; they return ErrNobody where nobody can be
// asked, and the error of a context that ended.
type Asker interface {
	// CanAsk reports whether questions can be put to a person.
	CanAsk() bool
	// Confirm asks a yes-or-no question that no default answers.
	Confirm(question string) (bool, error)
	// Letters asks a question that one letter answers; usual is what Enter means, "" if it means nothing.
	Letters(question string, letters []Letter, usual string) (string, error)
	// Say asks for one line in a person's own words; empty is none.
	Say(question string) (string, error)
	// Choose asks which of several options are wanted and returns their indexes, in ascending order.
	Choose(Choice) ([]int, error)
}

// A Letter is one of the answers to a question, and what it stands for. The word starts with the letter.
type Letter struct{ Key, Word string }

// A Choice is a question that is answered by some of several options.
type Choice struct {
	Question string // one line
	Note     string // a few words beside it: where the answer is kept
	Options  []Option
	Headings []string                  // groups that stand open, whatever the number of options
	Foot     func(picked []int) string // what the choice so far means; nil for nothing
	Same     func(picked []int) string // the command line that chooses the same; nil for none
}

// An Option of a Choice.
type Option struct {
	Label   string // by which it can be chosen
	Title   string // what is shown instead of the label, if anything
	Where   string // a path beside it
	Detail  string // one line; what does not fit is cut
	Group   string // options of a group stand together
	Version string // beside the name over the preview
	Preview []string
	Later   func(context.Context) ([]string, error) // the rest of the preview, which takes time; nil for none
	Default bool
}

// Shown is the title of o, or else its label.
func (o Option) Shown() string {
	if o.Title != "" {
		return o.Title
	}
	return o.Label
}
