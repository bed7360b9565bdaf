package chunk

import (
	"bytes"
	"sort"
	"unicode/utf8"
)

// Tokens estimates how many tokens of cl100k_base b is. It is cheap (more than 400 MB/s), deterministic, and
// additive but for a token at the seam: no vocabulary is asked, only how probable it is that a token starts at a byte,
// given the classes of that byte and its two neighbours.
//
// On 1,721 files from directories that the probabilities were not fitted to, half of the estimates are less than 2.7 % off
// and nine in ten less than 6.7 %: Go 7.2 %, Markdown 6.3, JavaScript 8.0, TypeScript 10.5 (mostly too high),
// Python 5.8, Rust 5.8, JSON 4.0. Text that is not in a Latin script can be off by a half.
func Tokens(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	w := start(b[0])
	sum := 0
	for _, c := range b[1:] {
		w = (w<<4 | uint(classes[c]&15)) & 0xfff
		sum += int(weights[w])
	}
	w = (w<<4 | newlineClass) & 0xfff
	return tokens(sum + int(weights[w]) - len(b)*lightest)
}

const (
	newlineClass = 1   // the class of a line end
	lightest     = ' ' // stands for the weight 0
	heaviest     = 63  // a token starts for sure
	stride       = 64  // bytes between the sums of a tally
)

// start returns the classes before the byte behind c, where c is the first.
func start(c byte) uint { return newlineClass<<4 | uint(classes[c]&15) }

// tokens makes a number of tokens of a sum of weights; what is not empty is at least one.
func tokens(sum int) int { return max((sum+heaviest/2)/heaviest, 1) }

// A tally answers how many tokens the parts of a text are.
type tally struct {
	src  []byte
	sums []int // of the weights of src[:i*stride]
}

func newTally(src []byte) tally {
	t := tally{src: src, sums: make([]int, len(src)/stride+1)}
	w := uint(newlineClass)
	if len(src) > 0 {
		w = start(src[0])
	}
	sum := 0
	for i := range len(t.sums) - 1 {
		for _, c := range src[i*stride+1 : min((i+1)*stride+1, len(src))] {
			w = (w<<4 | uint(classes[c]&15)) & 0xfff
			sum += int(weights[w]) - lightest
		}
		t.sums[i+1] = sum
	}
	return t
}

// upTo returns the sum of the weights of src[:p].
func (t *tally) upTo(p int) int {
	i := p / stride * stride
	sum := t.sums[p/stride]
	if i == p {
		return sum
	}
	w := uint(newlineClass)
	if i > 0 {
		w = uint(classes[t.src[i-1]] & 15)
	}
	w = w<<4 | uint(classes[t.src[i]]&15)
	for i++; i <= p; i++ {
		c := byte('\n')
		if i < len(t.src) {
			c = t.src[i]
		}
		w = (w<<4 | uint(classes[c]&15)) & 0xfff
		sum += int(weights[w]) - lightest
	}
	return sum
}

// between returns the tokens of src[start:end].
func (t *tally) between(start, end int) int {
	if start >= end {
		return 0
	}
	return tokens(t.upTo(end) - t.upTo(start))
}

// Cut returns the length of the beginning of b that has about n tokens: up to the end of a line if there is one in its second half, else
// to that of a character. It is at least one character, so that who goes on behind it gets on.
func Cut(b []byte, n int) int {
	end := sort.Search(len(b), func(i int) bool { return Tokens(b[:i+1]) > n })
	if i := bytes.LastIndexByte(b[:end], '\n') + 1; i > end/2 {
		return i
	}
	for end > 0 && end < len(b) && !utf8.RuneStart(b[end]) {
		end--
	}
	if end == 0 && len(b) > 0 {
		_, end = utf8.DecodeRune(b)
	}
	return end
}
