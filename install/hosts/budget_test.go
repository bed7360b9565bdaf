package hosts

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// described are n copies in the directory of the project that h reads first, with descriptions of the given lengths in turn.
func described(h Host, n int, lengths ...int) (copies []Copy, uses []string) {
	root := filepath.Join("/home/me/p", filepath.FromSlash(h.ProjectReads[0]))
	if h.ID == "github-copilot" {
		root = "/home/me/p/.agents/skills"
	}
	for i := range n {
		name := fmt.Sprintf("skill-%03d", i)
		copies = append(copies, Copy{Places: []Place{{Root: root, Rel: name}}, Dir: root + "/" + name, Name: name, Description: strings.Repeat("x", lengths[i%len(lengths)])})
		uses = append(uses, Loads)
	}
	return copies, uses
}

// told sums up as whole/cut/named/dropped.
func told(list []*Told) string {
	whole, cut, named, dropped := 0, 0, 0, 0
	for _, t := range list {
		switch {
		case t == nil:
		case !t.Named:
			dropped++
		case t.Whole():
			whole++
		case t.Chars == 0:
			named++
		default:
			cut++
		}
	}
	return fmt.Sprintf("%d/%d/%d/%d", whole, cut, named, dropped)
}

// The parts of sets of skills that models were told of, as measured with the programs. TestClientsTell measures them again.
func TestTell(t *testing.T) {
	for _, tt := range []struct {
		host, settings string
		n              int
		lengths        []int
		want           string
	}{
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 10, []int{250}, "7/0/3/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 50, []int{250}, "5/0/45/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 150, []int{250}, "0/0/150/0"},
		{"claude-code", `{"model":"claude-opus-4-5"}`, 150, []int{250}, "0/0/150/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5[1m]"}`, 150, []int{250}, "127/0/23/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5","disableBundledSkills":true}`, 50, []int{250}, "28/0/22/0"},
		{"claude-code", ``, 50, []int{250}, "50/0/0/0"},
		{"claude-code", `{"model":"opus"}`, 150, []int{250}, "87/0/63/0"},
		{"claude-code", `{"model":"claude-opus-4-8"}`, 400, []int{250}, "75/0/325/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 30, []int{90}, "17/0/13/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 40, []int{49}, "28/0/12/0"},
		{"claude-code", `{"model":"sonnet"}`, 120, []int{307}, "72/0/48/0"},
		{"claude-code", `{"model":"claude-sonnet-4-5"}`, 60, []int{20, 80, 250, 600, 1100, 1800}, "9/0/51/0"},
		{"codex", ``, 50, []int{250}, "50/0/0/0"},
		{"codex", ``, 150, []int{250}, "0/150/0/0"},
		{"codex", ``, 60, []int{20, 80, 250, 600, 1100, 1800}, "30/30/0/0"},
		{"codex", "model_context_window = 128000\n", 400, []int{250}, "0/0/228/172"},
		{"codex", "[skills]\nmax_context_tokens = 12000\n", 150, []int{250}, "150/0/0/0"},
		{"github-copilot", ``, 10, []int{250}, "10/0/0/0"},
		{"github-copilot", ``, 150, []int{250}, "42/0/108/0"},
		{"github-copilot", ``, 130, []int{47}, "100/0/30/0"},
		{"github-copilot", ``, 120, []int{13}, "120/0/0/0"},
		{"github-copilot", ``, 150, []int{20, 80, 250, 600, 1000}, "31/0/119/0"},
		{"opencode", ``, 150, []int{250}, "0/0/0/0"},
	} {
		h, _ := Find(tt.host)
		env := Env{Home: "/home/me", Project: "/home/me/p", Cwd: "/home/me/p", ReadFile: func(path string) ([]byte, error) {
			if tt.settings != "" && (filepath.Base(path) == "settings.json" || filepath.Base(path) == "config.toml") {
				return []byte(tt.settings), nil
			}
			return nil, fs.ErrNotExist
		}}
		copies, uses := described(h, tt.n, tt.lengths...)
		list, need := h.Reader(env).Tell(copies, uses)
		if got := told(list); got != tt.want {
			t.Errorf("%s %q: %d of %v: %s, want %s", tt.host, tt.settings, tt.n, tt.lengths, got, tt.want)
		}
		for limit, fits := range map[int]bool{need: true, need - 1: false} { // what is said to be enough is, and nothing less
			if r := h.Reader(env); r.Budget() != nil {
				r.Budget().Limit = limit
				list, _ := r.Tell(copies, uses)
				if got := strings.HasPrefix(told(list), fmt.Sprintf("%d/", tt.n)); got != fits && (fits || tt.host == "github-copilot") {
					t.Errorf("%s: %d of %v: with %d: %s", tt.host, tt.n, tt.lengths, limit, told(list))
				}
			}
		}
	}
}

func TestBudgetSettings(t *testing.T) {
	for _, tt := range []struct {
		host, settings, variables string
		want                      string
	}{
		{"claude-code", ``, "", `30000 characters about ""`},
		{"claude-code", `{"model":"opus"}`, "", `30000 characters "opus"`},
		{"claude-code", `{"model":"opus"}`, "ANTHROPIC_MODEL=claude-sonnet-4-5", `8000 characters "claude-sonnet-4-5"`},
		{"claude-code", `{"model":"claude-opus-4-7"}`, "", `30000 characters about "claude-opus-4-7"`},
		{"claude-code", `{"model":"claude-3-5-haiku"}`, "", `8000 characters about "claude-3-5-haiku"`},
		{"claude-code", `{"model":"claude-sonnet-4-5","skillListingBudgetFraction":0.05}`, "", `40000 characters "claude-sonnet-4-5" skillListingBudgetFraction`},
		{"claude-code", `{"skillListingBudgetFraction":"much"}`, "", `30000 characters about ""`},
		{"claude-code", `{"env":{"SLASH_COMMAND_TOOL_CHAR_BUDGET":"12000"}}`, "", `12000 characters "" SLASH_COMMAND_TOOL_CHAR_BUDGET`},
		{"claude-code", ``, "SLASH_COMMAND_TOOL_CHAR_BUDGET=no", `30000 characters about ""`},
		{"codex", ``, "", `5440 tokens ""`},
		{"codex", `model = "o5"`, "", `5440 tokens about "o5"`},
		{"codex", "model_context_window = 128000", "", `2560 tokens "" model_context_window`},
		{"codex", "model_context_window = -1", "", `5440 tokens ""`},
		{"codex", "[skills]\nmax_context_tokens = 9223372036854775807", "", `2147483647 tokens "" skills.max_context_tokens`},
		{"codex", "[skills", "", `5440 tokens about ""`},
		{"github-copilot", ``, "", `15000 characters ""`},
	} {
		h, _ := Find(tt.host)
		b := h.Reader(Env{Home: "/home/me", Getenv: func(name string) string {
			value, _ := strings.CutPrefix(tt.variables, name+"=")
			if value == tt.variables {
				return ""
			}
			return value
		}, ReadFile: func(path string) ([]byte, error) {
			if tt.settings == "" {
				return nil, errors.Join(fs.ErrNotExist)
			}
			return []byte(tt.settings), nil
		}}).Budget()
		got := fmt.Sprintf("%d %s", b.Limit, b.Unit)
		if b.About {
			got += " about"
		}
		if got = strings.TrimSpace(fmt.Sprintf("%s %q %s", got, b.Model, b.By)); got != tt.want {
			t.Errorf("%s %s %s: %s, want %s", tt.host, tt.settings, tt.variables, got, tt.want)
		}
	}
}

// Hosts write descriptions each in their own way, and people count characters.
func TestTellText(t *testing.T) {
	for _, tt := range []struct {
		host, description, when string
		want                    int
	}{
		{"claude-code", "one\n\n  two", "", 9}, {"claude-code", "<b>", "", 9}, {"claude-code", "é😀", "", 3}, {"claude-code", "a", "b", 5},
		{"claude-code", strings.Repeat("x", 2000), "", 1536},
		{"codex", " one \n\n two", "", 7}, {"codex", strings.Repeat("é", 2000), "", 1024},
		{"github-copilot", "it's <b>", "", 19},
	} {
		h, _ := Find(tt.host)
		copies, uses := described(h, 1, 1)
		copies[0].Description, copies[0].WhenToUse = tt.description, tt.when
		list, _ := h.Reader(Env{Home: "/home/me", Project: "/home/me/p", Cwd: "/home/me/p"}).Tell(copies, uses)
		if got := list[0]; got == nil || got.Of != tt.want || !got.Whole() {
			t.Errorf("%s: %q: %+v, want %d", tt.host, tt.description, got, tt.want)
		}
	}
}

func BenchmarkTell(b *testing.B) {
	for _, id := range []string{"claude-code", "codex", "github-copilot"} {
		h, _ := Find(id)
		r := h.Reader(Env{Home: "/home/me", Project: "/home/me/p", Cwd: "/home/me/p"})
		copies, uses := described(h, 400, 250, 80, 600)
		b.Run(id, func(b *testing.B) {
			for b.Loop() {
				r.Tell(copies, uses)
			}
		})
	}
}
