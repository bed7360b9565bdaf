package harness

import (
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/skl-project/skl/cmd/skl/internal/cli"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// checkHints fails if a hint of a command names a command line that the program does not take, with the values that it has: no such
// command, flag or subcommand, or too many arguments. followHints carries it out.
func checkHints(ts *testscript.TestScript, stderr string) {
	for line := range strings.Lines(stderr) {
		hint, ok := strings.CutPrefix(strings.TrimSpace(line), "skl: hint: ")
		if !ok {
			continue
		}
		for _, args := range CommandsOf(hint) {
			if err := cli.Parses(args); err != nil {
				ts.Fatalf("the hint %q names a command that is not there: %v", hint, err)
			}
		}
	}
}

var (
	// begins is where a command begins in a hint.
	begins = regexp.MustCompile(`(?:^|[:;,(] |  |&& )skl `)
	// ends is where one ends: a sign, or what a shell does with it.
	ends = regexp.MustCompile(`^(?:[,;:.)](?: |$)|  | (?:<|>|\||&&)(?: |$))`)
)

// CommandsOf are the command lines of skl that a hint names, without "skl": up to where the sentence goes on.
func CommandsOf(hint string) (out [][]string) {
	for _, s := range stepsOf(hint) {
		out = append(out, s.args)
	}
	return out
}

// A step is a command line of skl that a hint names.
type step struct {
	args  []string // without "skl"
	after string   // the hint before it, and behind the command before it
	stdin bool     // a file is to be its standard input
}

func stepsOf(hint string) (out []step) {
	at := begins.FindAllStringSubmatchIndex(hint, -1)
	from := 0
	for i, span := range at {
		end := len(hint)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		text := hint[span[1]-1 : end]
		if args := shellWords(text); len(args) > 0 { // else skl itself is meant
			out = append(out, step{args: args, after: hint[from : span[1]-len("skl ")], stdin: strings.Contains(text, " < ")})
		}
		from = span[1]
	}
	return out
}

// shellWords are the words of text as a shell takes them, up to where a sentence goes on outside of quotes.
func shellWords(text string) (words []string) {
	word, quote, begun := "", rune(0), false
	for i, c := range text {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word += string(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		default:
			next, _, _ := strings.Cut(strings.TrimPrefix(text[i:], " "), " ")
			goesOn := c == ' ' && screen.GoesOn(next, len(words) == 0 && !begun || len(words) > 0 && strings.HasPrefix(words[0], "-"))
			if goesOn || ends.MatchString(text[i:]) && (begun || c == ' ') && !(c == ':' && word == "skl") {
				if begun {
					words = append(words, word)
				}
				return words
			}
			if c != ' ' {
				word, begun = word+string(c), true
			} else if begun {
				words, word, begun = append(words, word), "", false
			}
		}
	}
	if begun {
		words = append(words, word)
	}
	return words
}
