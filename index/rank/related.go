package rank

import (
	_ "embed"
	"iter"
	"strconv"
	"strings"
)

// relatedTerms has a line for each term that has related ones, in the order of the terms: the term, and then a related term and how close it is, of 100,
// for each. It was learned from functions of several hundred projects: which words stand in the names and parameters of those whose documentation has
// a word. See testdata/bench/README.md.
//
//go:embed related.txt
var relatedTerms string

// related yields the terms that often name what term describes, such as "dir" for "directory", and how close they are, 0 to 1.
func related(term string) iter.Seq2[string, float64] {
	return func(yield func(string, float64) bool) {
		line := lineOf(relatedTerms, term)
		for line != "" {
			var word, close string
			word, line, _ = strings.Cut(line, " ")
			close, line, _ = strings.Cut(line, " ")
			n, err := strconv.Atoi(close)
			if err != nil || !yield(word, float64(n)/100) {
				return
			}
		}
	}
}

// lineOf returns what stands behind key in one of the lines of text, which are sorted.
func lineOf(text, key string) string {
	for text != "" {
		middle := strings.LastIndexByte(text[:len(text)/2], '\n') + 1
		line, after, _ := strings.Cut(text[middle:], "\n")
		first, rest, _ := strings.Cut(line, " ")
		switch strings.Compare(key, first) {
		case 0:
			return rest
		case -1:
			text = text[:middle]
		default:
			text = after
		}
	}
	return ""
}
