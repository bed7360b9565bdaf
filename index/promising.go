package index

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/skl-project/skl/index/files"
	"github.com/skl-project/skl/index/lang"
	"github.com/skl-project/skl/index/query"
	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/order"
)

// maxUnread is how many bytes of files are indexed so fast that it is not worth looking at them before.
const maxUnread = 4 << 20

// promising sorts the files that a first answer should cover: first those that have the words of the question, in their paths or, as far
// as time allows, in their text.
func (x *Index) promising(ctx context.Context, list []files.File, q query.Query) []files.File {
	words := askedWords(q)
	type promise struct {
		f     files.File
		value float64
	}
	promises := make([]promise, len(list))
	size := int64(0)
	for i, f := range list {
		lower := strings.ToLower(f.Path)
		v := weighPath(f.Path)
		for _, w := range words {
			if bytes.Contains([]byte(lower), w[0]) {
				v++
			}
		}
		if lang.Of(f.Path) != "" {
			v += 0.2
		}
		if f.Stamp.Size > 256<<10 {
			v -= 0.5
		}
		promises[i] = promise{f, v}
		size += f.Stamp.Size
	}
	by := func(a, b promise) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(strings.Count(a.f.Path, "/"), strings.Count(b.f.Path, "/")), strings.Compare(a.f.Path, b.f.Path))
	}
	order.Sort(promises, by)
	if len(words) > 0 && size > maxUnread {
		end := time.Now().Add(x.o.FirstAnswer * 2 / 5)
		parallel(ctx, len(promises), func(i int) {
			p := &promises[i]
			if p.f.Stamp.Size > 1<<20 || time.Now().After(end) {
				return
			}
			data, _, err := readFile(x.root, p.f.Path, nil)
			if err != nil {
				return
			}
			for _, spellings := range words {
				for k, w := range spellings {
					if bytes.Contains(data, w) {
						p.value += 2
						if k == len(spellings)-1 && definesIt(data, w) {
							p.value += 3
						}
						break
					}
				}
			}
		})
		order.Sort(promises, by)
	}
	out := make([]files.File, len(promises))
	for i, p := range promises {
		out[i] = p.f
	}
	return out
}

// definesIt says whether a word stands, somewhere, behind a keyword of definitions.
func definesIt(data, word []byte) bool {
	for _, k := range []string{"func ", "type ", "def ", "class ", "function ", "fn ", "struct ", "trait ", "interface ", ") "} {
		if bytes.Contains(data, append([]byte(k), word...)) {
			return true
		}
	}
	return false
}

// askedWords returns the words of a question, each in the spellings that code uses: small, with a capital, and as it was written.
func askedWords(q query.Query) [][][]byte {
	var list [][][]byte
	ask := rank.Ask(q.Text)
	for _, w := range strings.FieldsFunc(q.Text, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= 0x80)
	}) {
		lower := strings.ToLower(w)
		key := rank.Key(w)
		if len(w) < 3 || slices.ContainsFunc(ask.Terms, func(t rank.Term) bool { return t.Stop && t.Text == key }) {
			continue
		}
		spellings := [][]byte{[]byte(lower), []byte(strings.ToUpper(lower[:1]) + lower[1:]), []byte(w)}
		list = append(list, spellings)
		if len(list) == 12 {
			break
		}
	}
	return list
}
