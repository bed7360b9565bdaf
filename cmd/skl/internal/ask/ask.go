// Package ask is how a use case puts a question to a person, whoever asks it: a terminal, an agent's client, a page.
package ask

import "errors"

// ErrNobody is returned by questions that nobody can be asked.
var ErrNobody = errors.New("nobody to ask: not a terminal")

// An Asker puts questions to a person. Its methods may be called concurrently; they return ErrNobody where nobody can be
// asked, and the error of a context that ended.
type Asker interface {
	// CanAsk reports whether questions can be put to a person.
	CanAsk() bool
	// Confirm asks a yes-or-no question that no default answers.
	Confirm(question string) (bool, error)
	// Choose asks which of several options are wanted and returns their indexes.
	Choose(question string, options []Option) ([]int, error)
}

// An Option of a Choose question.
type Option struct {
	Label   string
	Detail  string // one line; what does not fit is cut
	Default bool
}
