package rank

// stem returns the stem of a lower-case word, changed in place. It needs room for one letter behind w.
//
// It takes off the endings that change nothing for a search: plural, -ed, -ing, -ly, -er and -or of who or what does it,
// -ion of what is done, and the final e; a doubled consonant that remains becomes one, and a final y becomes i. So
// parse, parses, parsed, parsing, parser and parsers are one term, as are query and queries.
// The first two letters stay, at least three letters remain (two of a few acronyms, as in "ids"), and a stem is in
// nearly all cases its own stem. It is made for the words of programs: what ends in -able, -al, -ment, -ness or -ity stays as it is.
//
// Whether a final e belongs to a stem is decided by its sound, in the same way with and without an ending: "stat" is a
// word of its own, therefore "state" keeps its e, and "stated" gets it back.
func stem(w []byte) []byte {
	if len(w) < 3 {
		return w
	}
	if w[len(w)-1] == 's' {
		if w = stemPlural(w); len(w) < 3 {
			return w
		}
	}
	switch w[len(w)-1] {
	case 'd':
		w = stemEd(w)
	case 'g':
		if hasEnd(w, "ing") {
			w = stemVerb(w, 3)
		}
	case 'y':
		if hasEnd(w, "ly") {
			w = stemLy(w)
		}
	case 'n':
		if hasEnd(w, "ion") {
			w = stemIon(w)
		} else if string(w) == "children" {
			return w[:5]
		}
	}
	if w[len(w)-1] == 'r' {
		w = stemDoer(w)
	}
	n := len(w)
	switch w[n-1] {
	case 'e':
		if n > 3 && !keepsE(w) {
			w = w[:n-1]
			n--
		}
	case 'y':
		if n > 2 && !isVowel(w[n-2]) {
			w[n-1] = 'i'
		}
	}
	if n >= 6 && w[n-1] == 'l' && w[n-2] == 'l' {
		w = w[:n-1]
	}
	return w
}

func hasEnd(w []byte, end string) bool {
	return len(w) >= len(end) && string(w[len(w)-len(end):]) == end
}

// vowels has bits for a, e, i, o, u and y.
const vowels = 1<<0 | 1<<4 | 1<<8 | 1<<14 | 1<<20 | 1<<24

func isVowel(b byte) bool { return b-'a' < 26 && vowels>>(b-'a')&1 != 0 }

func hasVowel(w []byte) bool {
	for _, b := range w {
		if isVowel(b) {
			return true
		}
	}
	return false
}

// isShort says whether w has one vowel letter, followed by one consonant other than w and x: "stat", "typ", "us".
func isShort(w []byte) bool {
	n := len(w)
	if n < 2 || isVowel(w[n-1]) || !isVowel(w[n-2]) || w[n-1] == 'w' || w[n-1] == 'x' {
		return false
	}
	return !hasVowel(w[:n-2])
}

func stemPlural(w []byte) []byte {
	n := len(w)
	if n < 3 || w[n-1] != 's' {
		return w
	}
	if n == 3 {
		switch string(w) {
		case "ids", "ops", "dbs", "vms", "ips", "uis", "prs":
			return w[:2]
		}
		return w
	}
	switch w[n-2] {
	case 's':
		return w
	case 'u':
		if n == 4 && w[2] == 'u' && w[1] == 'p' { // cpus, gpus
			return w[:3]
		}
		return w
	case 'i':
		switch string(w) {
		case "apis", "uris", "clis", "guis", "wikis", "emojis", "taxis":
			return w[:n-1]
		}
		return w
	case 'a':
		switch string(w) {
		case "alias", "canvas", "bias", "atlas", "whereas":
			return w
		}
	case 'e':
		switch string(w) {
		case "indices":
			return append(w[:3], 'e', 'x')
		case "vertices":
			return append(w[:4], 'e', 'x')
		case "matrices":
			return append(w[:4], 'i', 'x')
		case "statuses":
			return w[:6]
		}
	}
	return w[:n-1]
}

func stemEd(w []byte) []byte {
	n := len(w)
	if n < 4 || w[n-2] != 'e' {
		return w
	}
	if w[n-3] == 'e' {
		if n > 4 && (w[n-4] == 'r' || w[n-4] == 't') { // agreed, guaranteed, but not exceed
			return w[:n-1]
		}
		return w
	}
	if string(w) == "embed" {
		return w
	}
	return stemVerb(w, 2)
}

// stemVerb takes off an ending of cut letters, if what is left can be a verb.
func stemVerb(w []byte, cut int) []byte {
	s := w[:len(w)-cut]
	if len(s) < 2 || !hasVowel(s) {
		return w
	}
	if s = restored(s); len(s) < 3 {
		return w
	}
	return s
}

// restored undoes what an ending did to the last letters of s. The e that it may add stood in the word, or there is
// room for it.
func restored(s []byte) []byte {
	n := len(s)
	switch last := s[n-1]; {
	case n > 3 && last == s[n-2] && !isVowel(last) && last != 'l' && last != 's' && last != 'z' && last != 'f':
		return s[:n-1]
	case isShort(s), last == 's' && keepsE(append(s, 'e')):
		return append(s, 'e')
	}
	return s
}

// keepsE says whether w, which ends in e, keeps it.
func keepsE(w []byte) bool {
	s := w[:len(w)-1]
	n := len(s)
	switch s[n-1] {
	case 'e':
		return true
	case 's':
		return s[n-2] != 's' && !hasEnd(s, "ias")
	case 'i':
		return n == 3 // trie is not try
	}
	return isShort(s)
}

func stemLy(w []byte) []byte {
	n := len(w)
	if n < 6 {
		return w
	}
	switch w[n-3] {
	case 'a', 'b', 'f', 'i', 'o', 'p', 'u': // anomaly, assembly, butterfly, family, monopoly, supply
		return w
	}
	if hasEnd(w, "ically") {
		return w[:n-4]
	}
	return w[:n-2]
}

func stemIon(w []byte) []byte {
	n := len(w)
	switch s := w[:n-3]; {
	case n < 7:
		return w
	case hasEnd(w, "ification"):
		return w[:n-6] // the verb ends in -ify
	case hasEnd(w, "definition"):
		return w[:n-5]
	case hasEnd(s, "at"):
		verb := s[:len(s)-2]
		for _, end := range [...]string{"iz", "ur", "ent", "orm", "all", "ell", "lor", "tor", "lar"} {
			if len(verb) > 3 && hasEnd(verb, end) {
				return verb
			}
		}
		if isShort(s) { // station
			return w
		}
		return s
	case hasEnd(s, "t"), hasEnd(s, "ss"):
		return s
	}
	return w
}

func stemDoer(w []byte) []byte {
	n := len(w)
	if n < 6 {
		return w
	}
	s := w[:n-2]
	switch w[n-2] {
	case 'e':
		if s[len(s)-1] == 'e' || !hasVowel(s) {
			return w
		}
		switch string(w) {
		case "header", "letter", "container", "customer":
			return w // they are not who heads, lets, contains
		}
		return restored(s)
	case 'o':
		if (hasEnd(s, "t") || hasEnd(s, "ss")) && hasVowel(s) {
			return s
		}
	}
	return w
}
