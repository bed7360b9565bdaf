package skillify

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/pkgdoc"
)

// Limits of how far the entries that a sentence cites have to bear it out.
const (
	minSupport = 60 // percent of its words of content
	minLetters = 4  // of such a word
	stemRunes  = 5
	maxUnsaid  = 8 // words that an error names
)

// plainWords are those that say nothing of a package: a sentence can have them whatever it cites.
var plainWords = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`about above after again also and another any are argument arguments around based because been before being both can
		code could does done during each either every from function functions give gives given has have here how into its itself just library like made
		main make makes many may method methods more most must need needs not one only other others over package packages part parts programmer provide
		provides return returns same says several should some such take takes than that their them then there these they this those through together two
		under upon used user users uses using value values very well what when where whether which while will with within without would you your`) {
		out[stem(w)] = true
	}
	return out
})

// secretFile is the name of a file that holds secrets, and secretWord a word for what it holds.
var (
	secretFile = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?:^|[^a-z0-9_])(\.(?:env|netrc|ssh|npmrc|pypirc|pgpass|aws|gnupg|git-credentials|bash_history)|id_(?:rsa|dsa|ecdsa|ed25519)|credentials?|(?:etc/)?passwd|etc/shadow|keychain)(?:[^a-z0-9]|$)`)
	})
	secretWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:passwords?|passphrases?|tokens?|secrets?|(?:private|api|access|ssh)[ -]keys?)\b`)
	})
	sending = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:send|post|upload|transmit|forward|submit|e-?mail|mail|exfiltrate|report)(?:s|ing|ed)?\b`)
	})
	receiver = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\b(?:address|server|host|site|website|endpoint|domain|url|webhook|account|author|maintainer|dot|by post|by mail)\b|@`)
	})
)

// An entry is where a package describes an id: a page, with the symbol unless it is -1, or a guide.
type entry struct {
	page   *pkgdoc.Page
	symbol int
	guide  *pkgdoc.Guide
}

// entries are those of a package by id.
func entries(p *pkgdoc.Package) map[string][]entry {
	out := map[string][]entry{}
	for i := range p.Guides {
		out[p.Guides[i].ID] = append(out[p.Guides[i].ID], entry{guide: &p.Guides[i]})
	}
	for i := range p.Pages {
		page := &p.Pages[i]
		out[page.ID] = append(out[page.ID], entry{page, -1, nil})
		for j := range page.Symbols {
			id := page.Symbols[j].ID
			out[id] = append(out[id], entry{page, j, nil})
		}
	}
	return out
}

// say calls put with each text of an entry. Of a page that is all its symbols, of a symbol the page without the others.
func (e entry) say(put func(string)) {
	if g := e.guide; g != nil {
		put(g.Title)
		for _, h := range g.Headings {
			put(h.Text)
		}
		return
	}
	params := func(list []pkgdoc.Param) {
		for i := range list {
			put(list[i].Name)
			put(list[i].Type)
			put(list[i].Text)
		}
	}
	for _, s := range []string{e.page.ID, e.page.Title, e.page.Text, e.page.Returns, e.page.Deprecated} {
		put(s)
	}
	params(e.page.Params)
	for i := range e.page.Symbols {
		if s := &e.page.Symbols[i]; e.symbol < 0 || e.symbol == i {
			for _, t := range []string{s.Name, string(s.Kind), s.Signature, s.Text, s.Returns, s.Deprecated} {
				put(t)
			}
			params(s.Params)
		}
	}
}

// supported refuses a sentence that the entries which it cites do not bear out, and one that orders something beyond the package.
func (s *Sentence) supported(p *pkgdoc.Package, at map[string][]entry) error {
	said, text := map[string]bool{}, strings.Builder{}
	put := func(t string) {
		for _, w := range words(t) {
			said[stem(w)] = true
		}
		text.WriteString(strings.ToLower(t) + "\n")
	}
	for _, t := range []string{p.Name, p.Title, p.Text} {
		put(t)
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(s.Cites))) {
		for _, e := range at[id] {
			e.say(put)
		}
	}
	if err := s.ordered(said, text.String()); err != nil {
		return err
	}
	all, unsaid := 0, []string{}
	for i, span := range strings.Split(s.Text, "`") {
		if i%2 == 1 { // a name, which was looked for
			continue
		}
		for _, w := range words(span) {
			if utf8.RuneCountInString(w) < minLetters || plainWords()[stem(w)] {
				continue
			}
			if all++; !said[stem(w)] {
				unsaid = append(unsaid, short(w, 40))
			}
		}
	}
	if (all-len(unsaid))*100 < minSupport*all {
		return fmt.Errorf("the cited entries do not say: %s", strings.Join(unsaid[:min(len(unsaid), maxUnsaid)], ", "))
	}
	return nil
}

// ordered refuses a sentence with secrets, or with something that goes to somebody, of which the entries do not speak.
func (s *Sentence) ordered(said map[string]bool, entries string) error {
	low := strings.ToLower(s.Text)
	for _, m := range secretFile().FindAllStringSubmatch(low, -1) {
		if !strings.Contains(entries, m[1]) {
			return fmt.Errorf("it reads like an order to an agent: it names %q, which the cited entries do not", short(m[1], 40))
		}
	}
	for _, w := range secretWord().FindAllString(low, -1) {
		if !strings.Contains(entries, strings.TrimSuffix(w, "s")) {
			return fmt.Errorf("it reads like an order to an agent: it speaks of %q, and the cited entries do not", w)
		}
	}
	if !receiver().MatchString(low) {
		return nil
	}
	for _, w := range sending().FindAllString(low, -1) {
		if !said[stem(w)] {
			return fmt.Errorf("it reads like an order to an agent: it says to %q something, and the cited entries do not", w)
		}
	}
	return nil
}

// words are the runs of letters of a text, in lower case, those of names in one word apart.
func words(text string) []string {
	var out []string
	var w strings.Builder
	end := func() {
		if w.Len() > 0 {
			out = append(out, strings.ToLower(w.String()))
			w.Reset()
		}
	}
	lower := false
	for _, c := range text {
		if !unicode.IsLetter(c) || lower && unicode.IsUpper(c) {
			end()
		}
		if lower = unicode.IsLower(c); unicode.IsLetter(c) {
			w.WriteRune(c)
		}
	}
	end()
	return out
}

// stem is the start of an English word that its forms share.
func stem(w string) string {
	for _, end := range []string{"ing", "ies", "ed", "es", "s", "e", "y"} {
		if strings.HasSuffix(w, end) && len(w)-len(end) >= 3 {
			w = strings.TrimSuffix(w, end)
			break
		}
	}
	if n := len(w); n > 2 && w[n-1] == w[n-2] {
		w = w[:n-1]
	}
	n := 0
	for i := range w {
		if n == stemRunes {
			return w[:i]
		}
		n++
	}
	return w
}
