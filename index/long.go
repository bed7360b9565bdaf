package index

import (
	"cmp"
	"strings"

	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/order"
)

// A cut is a question that is longer than [query.MaxText], and what is searched for it.
type cut struct{ text, short string }

const (
	titleBytes = 240 // of the first line of a long question, which says what the rest is about
	longWords  = 120 // of it that are searched
)

// asked makes a question of text. Of one that is longer than [query.MaxText], such as a title with a change below it, these are left: the words
// of its first line, and of the others those that the fewest pieces have, in their order. Words that no piece has say nothing.
func (s *search) asked(text string) (rank.Question, error) {
	text, err := s.shortened(text)
	return rank.Ask(text), err
}

func (s *search) shortened(text string) (string, error) {
	if len(text) <= query.MaxText {
		return text, nil
	}
	if s.cut.text != text {
		short, err := s.shorten(text)
		if err != nil {
			return "", err
		}
		s.cut = cut{text, short}
	}
	return s.cut.short, nil
}

func (s *search) shorten(text string) (string, error) {
	title, _, _ := strings.Cut(text, "\n")
	title = diag.Head(title, titleBytes)
	type rare struct {
		at, n int
		word  string
	}
	counts := make(map[string]int) // pieces that have a term
	seen := make(map[string]bool)
	var list []rare
	for at, word := range strings.Fields(text[len(title):]) {
		if len(word) > rank.MaxTerm || seen[word] {
			continue
		}
		seen[word] = true
		least := 0
		var failed error
		rank.Terms([]byte(word), func(term []byte) {
			n, ok := counts[string(term)]
			if !ok && failed == nil {
				n, failed = s.v.Count(string(term))
				counts[string(term)] = n
			}
			if n > 0 && (least == 0 || n < least) {
				least = n
			}
		})
		if failed != nil {
			return "", failed
		}
		if least > 0 {
			list = append(list, rare{at, least, word})
		}
	}
	order.Stable(list, func(a, b rare) int { return cmp.Compare(a.n, b.n) })
	list = list[:min(len(list), longWords)]
	order.Stable(list, func(a, b rare) int { return cmp.Compare(a.at, b.at) })
	var short strings.Builder
	short.WriteString(title)
	for _, r := range list {
		if short.Len()+1+len(r.word) > query.MaxText {
			break
		}
		short.WriteByte(' ')
		short.WriteString(r.word)
	}
	return short.String(), nil
}
