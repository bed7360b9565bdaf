package content

import (
	"bytes"
	"html"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A tongue is a rule in another language than English: the words around a stem are matched with an expression. For the rules in English
// words of Cyrillic are folded to Latin, and Chinese and Japanese have no words at all. In tongues.txt each line is
//
//	RULE stem { "|" stem } expression
//
// In an expression a blank is any blank, and "^" the start of a sentence. A match whose group is not empty is something else.
type tongue struct {
	rule  *Rule
	stems []string
	text  string
	once  sync.Once
	re    *regexp.Regexp // of text
}

const (
	maxAround = 240 // bytes before and behind a stem that are matched
	opening   = `(?:^\s*|[.!?:;,>#-]\s*|\s(?:und|dann|et|puis|y|luego|и|затем|bitte|пожалуйста)\s+)`
	quotes    = "\"“”„«「『‘'`"
	discussed = "ngreif ngriff attaqu atac атак 攻击 攻撃 注入 njection インジェクション"
)

func (s *ruleSet) readTongues(src string) {
	for line := range strings.Lines(src) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		stems, text, _ := strings.Cut(rest, " ")
		if upper := strings.ToUpper(stems); upper != stems {
			stems += "|" + upper
		}
		if start, ok := strings.CutPrefix(text, "^"); ok {
			text = opening + start
		}
		s.tongues = append(s.tongues, &tongue{rule: s.byID[id], stems: strings.Split(stems, "|"), text: "(?im)" + strings.ReplaceAll(text, " ", `\s+`)})
	}
}

// tongues reads what a text says in other languages. What stands behind a quotation mark is not said; what is said of attacks is no order.
func (s *scan) tongues(text []byte) {
	c := cursor{text: text, number: 1}
	for _, t := range s.rules.tongues {
		for _, stem := range t.stems {
			for at := 0; ; at = min(at+maxAround/2, len(text)) {
				k := bytes.Index(text[at:], []byte(stem))
				if k < 0 {
					break
				}
				at += k
				from, to := max(at-maxAround, 0), min(at+maxAround, len(text))
				first := c.line(from)
				s.tongue(t, text[from:to], from > 0, first, c.line(to))
			}
		}
	}
}

// plain is a text without emphasis, and with the apostrophe that keyboards have.
var plain = strings.NewReplacer("*", "", "_", "", "\u200b", "", "’", "'")

// tongue matches a part of a text, which has lines from first to last; cut if its start is not that of the text.
func (s *scan) tongue(t *tongue, part []byte, cut bool, first, last int) {
	t.once.Do(func() { t.re = regexp.MustCompile(t.text) })
	text := plain.Replace(norm.NFKC.String(html.UnescapeString(strings.ToValidUTF8(string(part), ""))))
	if cut {
		text = "…" + text
	}
	for _, m := range t.re.FindAllStringSubmatchIndex(text, -1) {
		said := strings.TrimLeft(text[m[0]:m[1]], " \r\n\t.!?:;,>#-")
		before := strings.TrimSpace(text[:m[1]-len(said)])
		quote, _ := utf8.DecodeLastRuneInString(before)
		if len(m) > 2 && m[3] > m[2] || strings.ContainsRune(quotes, quote) {
			continue
		}
		severity := t.rule.Severity
		for _, word := range strings.Fields(discussed) {
			if strings.Contains(before, word) {
				severity = Low
			}
		}
		s.add(t.rule.ID, severity, min(first+strings.Count(text[:m[1]-len(said)], "\n"), last), 0, t.rule.About, said)
	}
}
