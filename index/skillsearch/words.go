package skillsearch

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"github.com/skl-project/skl/index/rank"
	"github.com/skl-project/skl/spec/order"
)

//go:embed aliases.txt
var aliasText string

//go:embed common.txt
var commonText string

// A vocabulary holds what means the same.
type vocabulary struct {
	groups [][][]string     // phrases, as terms
	starts map[string][]use // by the first term of a phrase, the longest phrase first
}

// A use is where a phrase stands: groups[group][phrase].
type use struct{ group, phrase int }

// aliases reads the embedded list: a group per line, its phrases between bars.
var aliases = sync.OnceValue(func() *vocabulary {
	v := &vocabulary{starts: map[string][]use{}}
	for text := range entries(aliasText) {
		var group [][]string
		for p := range strings.SplitSeq(text, "|") {
			if seq := termsOf(p); len(seq) > 0 {
				v.starts[seq[0]] = append(v.starts[seq[0]], use{len(v.groups), len(group)})
				group = append(group, seq)
			}
		}
		v.groups = append(v.groups, group)
	}
	for _, uses := range v.starts {
		order.Stable(uses, func(a, b use) int { return cmp.Compare(len(v.phrase(b)), len(v.phrase(a))) })
	}
	return v
})

func (v *vocabulary) phrase(u use) []string { return v.groups[u.group][u.phrase] }

// stopWords say nothing about a task: the words of English that only hold others together, and those that are in
// every description of a skill.
var stopWords = sync.OnceValue(func() map[string]bool {
	const words = `a about after again all also am an and any anything are as ask asks asked asking at be been before being but by can cannot could did do
		does doing don done each either else etc every everything for from get gets getting give given gives go going got had has have having he help
		helps helping her here his how i if in including into is it its itself just keep know let lets like ll looking make makes making may me might more
		most much must my need needs needed needing new no not now of off on once one only or other our out over own per please re s she should
		skill skills so some someone something such t than that the their them then there these they thing things this those through to too
		trigger triggers triggering try trying under unless until up upon us use used user users uses using ve very via want wants wanted was way we
		well were what whatever when whenever where whether which while who whose why will with within without would yet you your task tasks
		request requests requested mention mentions mentioned say says said phrase phrases invoke load agent's activate
		claude copilot codex assistant ensure comprehensive guide expert across working work works e g`
	m := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		for _, t := range termsOf(w) {
			m[t] = true
		}
	}
	return m
})

// common is how many of a thousand skills have a term, for terms that are no rarity: what a few skills alone
// cannot tell.
var common = sync.OnceValue(func() map[string]float64 {
	m := map[string]float64{}
	for text := range entries(commonText) {
		// A line is a count and the words of it.
		words := strings.Fields(text)
		n := 0.0
		for _, c := range words[0] {
			n = n*10 + float64(c-'0')
		}
		for _, w := range words[1:] {
			for _, t := range termsOf(w) {
				m[t] = max(m[t], n/1000)
			}
		}
	}
	return m
})

// entries yields the lines of an embedded list that are no comments.
func entries(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for l := range strings.Lines(text) {
			if l = strings.TrimSpace(l); l != "" && l[0] != '#' && !yield(l) {
				return
			}
		}
	}
}

func termsOf(text string) []string {
	var all []string
	rank.Terms([]byte(text), func(t []byte) { all = append(all, string(t)) })
	return all
}
