package chunk

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

// samples are our own texts with what the encoder of cl100k_base makes of them.
var samples = []struct {
	name   string
	text   string
	tokens int
}{
	{"Go", "// Sum adds the numbers of a list and returns an error if there are none.\nfunc Sum(numbers []int) (total int, err error) {\n\tif len(numbers) == 0 {\n\t\treturn 0, errors.New(\"no numbers\")\n\t}\n\tfor _, n := range numbers {\n\t\ttotal += n\n\t}\n\treturn total, nil\n}\n", 72},
	{"Python", "class Account:\n    \"\"\"Holds money of one owner.\"\"\"\n\n    def __init__(self, owner: str, balance: float = 0.0) -> None:\n        self.owner = owner\n        self.balance = balance\n\n    def withdraw(self, amount: float) -> float:\n        if amount > self.balance:\n            raise ValueError(f\"{self.owner} has only {self.balance}\")\n        self.balance -= amount\n        return self.balance\n", 91},
	{"TypeScript", "export interface Options {\n  readonly timeoutMs?: number;\n  onRetry?: (attempt: number, error: Error) => void;\n}\n\nexport async function fetchWithRetry(url: string, options: Options = {}): Promise<Response> {\n  for (let attempt = 1; ; attempt++) {\n    try {\n      return await fetch(url, { signal: AbortSignal.timeout(options.timeoutMs ?? 5000) });\n    } catch (error) {\n      options.onRetry?.(attempt, error as Error);\n    }\n  }\n}\n", 109},
	{"Rust", "impl<T: Clone> Stack<T> {\n    /// Takes the last element, if there is one.\n    pub fn pop(&mut self) -> Option<T> {\n        match self.items.len() {\n            0 => None,\n            n => {\n                let item = self.items[n - 1].clone();\n                self.items.truncate(n - 1);\n                Some(item)\n            }\n        }\n    }\n}\n", 85},
	{"Markdown", "# Installing\n\nDownload the archive for your system, unpack it, and put the program into a directory that is in your `PATH`:\n\n```sh\ntar xzf tool.tar.gz\nsudo mv tool /usr/local/bin/\n```\n\n- **Linux** and **macOS** need nothing else.\n- On Windows, see [the notes](docs/windows.md) about long paths.\n", 78},
	{"prose", "The committee met on Thursday to discuss whether the old bridge should be repaired or replaced. Most members thought that a repair would be cheaper at first, but that the costs of maintenance over thirty years would exceed those of a new building. A decision was postponed until the engineers have finished their report.\n", 58},
	{"JSON", "{\n  \"name\": \"example\",\n  \"version\": \"2.14.0\",\n  \"scripts\": {\n    \"build\": \"tsc --project tsconfig.json\",\n    \"test\": \"vitest run\"\n  },\n  \"dependencies\": {\n    \"left\": \"^1.0.2\",\n    \"right\": \"~3.11.7\"\n  },\n  \"private\": true\n}\n", 84},
}

// The comment of Tokens has what was measured over files; this holds the estimate there.
func TestTokens(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			got := Tokens([]byte(s.text))
			if off := math.Abs(float64(got)/float64(s.tokens) - 1); off > 0.15 {
				t.Errorf("%d tokens, not %d", got, s.tokens)
			}
		})
	}
	if Tokens(nil) != 0 || Tokens([]byte("\n")) != 1 {
		t.Error("nothing is no token, and something is at least one")
	}
}

// A tally says of parts what Tokens says of them, but for a token at each seam.
func TestTally(t *testing.T) {
	var all strings.Builder
	for _, s := range samples {
		all.WriteString(s.text)
	}
	src := []byte(strings.Repeat(all.String(), 3))
	tally := newTally(src)
	if got, want := tally.between(0, len(src)), Tokens(src); got != want {
		t.Errorf("%d tokens, not %d", got, want)
	}
	for start := 0; start < len(src); start += 97 {
		for _, size := range []int{1, 63, 64, 65, 1000} {
			end := min(start+size, len(src))
			if got, want := tally.between(start, end), Tokens(bytes.Clone(src[start:end])); got < want-2 || got > want+2 {
				t.Errorf("%d-%d: %d tokens, not %d", start, end, got, want)
			}
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"", 5, ""},
		{"one two three", 100, "one two three"},
		{"one two\nthree four five six\n", 6, "one two\nthree four five"},
		{"one two three four\nfive six\n", 6, "one two three four\n"},
		{"日本語", 0, "日"},
	} {
		got := tt.text[:Cut([]byte(tt.text), tt.n)]
		if got != tt.want {
			t.Errorf("%q cut at %d is %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}
