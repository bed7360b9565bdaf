package screen

import "strings"

// goesOn are the words with which a sentence goes on behind a command that it names; each between blanks.
const goesOn = " a again adds an and are asks brings by can chooses compares does explains fetches finds for gives had has have if in installs is its " +
	"keeps knows leaves lets lists looks makes mends must names never no not numbers of on once or packs prints publishes puts reads refuses removes " +
	"replaces runs says sets settles shows starts takes tells that the then to tries updates was when which while with without will would writes "

// GoesOn reports whether a sentence goes on with word behind a command that it names, as in "skl key rotate makes a successor". A first
// word, which may stand behind flags, is the command itself, unless the program is meant, as in "skl keeps its journals".
func GoesOn(word string, first bool) bool {
	if first && (word == "runs" || word == "which") {
		return false // commands
	}
	return strings.Contains(goesOn, " "+word+" ")
}

// programs are the first words of commands: ours, others that hints name, and the prompt of an example.
const programs = " skl (skl `skl cd curl $ "

// commands joins the words of each command among words, as words cut them, so that it is never broken and can be copied. A
// command begins a text or follows what ends a clause, as in "or: skl lock"; quoted text counts as one word, as in a shell.
func commands(words [][]Span) [][]Span {
	var out [][]Span
	for i := 0; i < len(words); {
		end := i + 1
		if begins(words, i) {
			end = commandEnd(words, i)
		}
		var joined []Span
		for _, w := range words[i:end] {
			for _, s := range w {
				if n := len(joined); n > 0 && joined[n-1].Style == s.Style {
					joined[n-1].Text += s.Text
				} else {
					joined = append(joined, s)
				}
			}
		}
		out, i = append(out, joined), end
	}
	return out
}

// begins reports whether the word at i is the name of the program, and a command follows.
func begins(words [][]Span, i int) bool {
	if !strings.Contains(programs, " "+textOf(words[i])+" ") || i+2 >= len(words) || textOf(words[i+1]) != " " {
		return false
	}
	if GoesOn(textOf(words[i+2]), true) {
		return false // the program itself is meant
	}
	if i < 2 || strings.ContainsAny(textOf(words[i])[:1], "(`") || textOf(words[i-1]) != " " {
		return true
	}
	before := textOf(words[i-2])
	return strings.ContainsAny(before[len(before)-1:], " :;,$=") || strings.Contains(" or and then with && ", " "+before+" ")
}

// mostWords is how many words a command has at the most, with the blanks between them: text has no end in sight.
const mostWords = 200

// commandEnd is the index behind the words of the command that begins at i.
func commandEnd(words [][]Span, i int) int {
	words = words[:min(len(words), i+mostWords)]
	quote := rune(0)
	for end := i; ; end += 2 {
		text := textOf(words[end])
		for _, c := range text {
			switch {
			case quote == c:
				quote = 0
			case quote == 0 && (c == '\'' || c == '"' || c == '`'):
				quote = c
			}
		}
		switch {
		case end+2 >= len(words) && quote != 0: // an apostrophe
			return i + 1
		case end+2 >= len(words):
			return end + 1
		case quote != 0:
		case len(text) > 1 && text != "skl:" && strings.ContainsAny(text[len(text)-1:], ",;:.)"), textOf(words[end+1]) != " ", textOf(words[end+2])[0] == ' ':
			return end + 1
		case end > i && GoesOn(strings.TrimRight(textOf(words[end+2]), ",;:.)"), strings.HasPrefix(textOf(words[i+2]), "-")):
			return end + 1
		}
	}
}

func textOf(word []Span) string {
	if len(word) == 1 {
		return word[0].Text
	}
	var b strings.Builder
	for _, s := range word {
		b.WriteString(s.Text)
	}
	return b.String()
}
