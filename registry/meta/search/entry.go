package search

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A field is a part of what a skill says. Each is a part of the one before.
type field uint8

const (
	anywhere field = 1 + iota
	said           // of itself: name, keywords, namespace and description
	named          // name and keywords
	fields   = 3
)

// An entry is what searches know of a skill. The zero entry is that of none.
type entry struct {
	cell
	words []word // sorted
}

// A word is one of a skill, and the narrowest field that it is in.
type word struct {
	text string
	in   field
}

// newEntry has the words of a skill in its fields.
func newEntry(c cell, name, about, body []string) entry {
	in := map[string]field{}
	for f, words := range map[field][]string{anywhere: body, said: about, named: name} {
		for _, w := range words {
			in[w] = max(in[w], f)
		}
	}
	e := entry{cell: c, words: make([]word, 0, len(in))}
	for _, text := range slices.Sorted(maps.Keys(in)) {
		e.words = append(e.words, word{text, in[text]})
	}
	return e
}

// narrowest returns the narrowest field that has a word which begins so, 0 if none has.
func (e entry) narrowest(beginning string) (in field) {
	i, _ := slices.BinarySearchFunc(e.words, beginning, func(w word, text string) int { return strings.Compare(w.text, text) })
	for ; i < len(e.words) && strings.HasPrefix(e.words[i].text, beginning); i++ {
		in = max(in, e.words[i].in)
	}
	return in
}

// shortPrefix is how many letters the beginnings of words have at most that are indexed like words, with [prefixMark] behind them: so many words begin
// with these that they would take long to gather.
const (
	shortPrefix = 2
	prefixMark  = "*"
)

// keys are the keys of postings that a skill is in, with the field by which it is.
func (e entry) keys() map[string]field {
	all := make(map[string]field, 2*len(e.words))
	for _, w := range e.words {
		all[w.text] = w.in
		for n, end := 0, 0; n < shortPrefix && end < len(w.text); n++ {
			_, size := utf8.DecodeRuneInString(w.text[end:])
			end += size
			key := w.text[:end] + prefixMark
			all[key] = max(all[key], w.in)
		}
	}
	return all
}

// encode writes the numbers of the cell, and each word by how many bytes it has in common with the one before, and its field.
func (e entry) encode() []byte {
	b := make([]byte, 0, 16+8*len(e.words))
	b = binary.AppendUvarint(b, uint64(e.namespace))
	b = binary.AppendUvarint(b, uint64(e.bits()))
	before := ""
	for _, w := range e.words {
		n := 0
		for n < min(len(before), len(w.text)) && before[n] == w.text[n] {
			n++
		}
		b = binary.AppendUvarint(b, uint64(n)<<2|uint64(w.in))
		b = binary.AppendUvarint(b, uint64(len(w.text)-n))
		b = append(b, w.text[n:]...)
		before = w.text
	}
	return b
}

var errDamaged = errors.New("the search index is damaged")

// decodeEntry reads what encode wrote. Nothing is the zero entry.
func decodeEntry(b []byte) (e entry, err error) {
	if len(b) == 0 {
		return e, nil
	}
	next := func() (n uint64) {
		n, size := binary.Uvarint(b)
		if size <= 0 {
			err = errDamaged
			b = nil
			return 0
		}
		b = b[size:]
		return n
	}
	e.namespace = uint32(next())
	e.setBits(uint32(next()))
	// Of all words one text is made, which they are parts of.
	var text []byte
	var ends []int
	before := 0
	for len(b) > 0 && err == nil {
		head, size := next(), next()
		n, in := head>>2, field(head&3)
		if n > uint64(len(text)-before) || size > uint64(len(b)) || n+size > maxWord || in == 0 {
			return entry{}, errDamaged
		}
		from := before
		before = len(text)
		text = append(append(text, text[from:from+int(n)]...), b[:size]...)
		b = b[size:]
		e.words = append(e.words, word{in: in})
		ends = append(ends, len(text))
	}
	all, from := string(text), 0
	for i, end := range ends {
		e.words[i].text = all[from:end]
		from = end
	}
	return e, err
}
