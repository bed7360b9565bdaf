package retrieval

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/skl-project/skl/index/query"
)

// A history is a clone of a repository whose commits are asked about.
type history struct {
	dir string
	id  string // of the bundle
}

// A change is a commit as a question: its message, and the files that it changed in the state before it.
type change struct {
	question
	parent string
}

// openHistory clones ../shared/data/zoekt.bundle, and skips without it.
func openHistory(t testing.TB) (history, bool) {
	t.Helper()
	dir, err := os.Getwd()
	var bundle string
	for ; err == nil && bundle == "" && filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		name := filepath.Join(filepath.Dir(dir), "shared", "data", "zoekt.bundle")
		if _, err := os.Stat(name); err == nil {
			bundle = name
		}
	}
	if _, err := exec.LookPath("git"); err != nil || bundle == "" {
		if os.Getenv("SKL_TEST_REQUIRE") == "all" {
			t.Fatal("git, or shared/data/zoekt.bundle beside the repository, is missing")
		}
		return history{}, false
	}
	data, err := os.ReadFile(bundle)
	if err != nil {
		t.Fatal(err)
	}
	h := history{dir: filepath.Join(t.TempDir(), "zoekt"), id: fmt.Sprintf("%.6x", sha256.Sum256(data))}
	git(t, ".", "clone", "-q", "--no-checkout", bundle, h.dir)
	return h, true
}

// git runs git without the settings of the user.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "git", append([]string{"-c", "core.autocrlf=false", "-c", "advice.detachedHead=false"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v: %s", args[0], err, stderr.String())
	}
	return string(out)
}

// at puts the files of a commit into the directory.
func (h history) at(t testing.TB, commit string) {
	t.Helper()
	git(t, h.dir, "checkout", "-q", "-f", "--detach", commit)
}

// commits makes S4 of at most n commits of one half, oldest first. Left out are merges, commits of more than five files that are
// not tests, those that are about form or versions, and messages that name a file.
func (h history) commits(t testing.TB, n int, keep func(commit string) bool) []change {
	dull := regexp.MustCompile(`(?i)^(merge|revert|bump|gofmt|go fmt|format|lint|update (dep|go|module)|upgrade|release|chore|build\(deps|all: (gofmt|update))` +
		`|go\.mod|go mod|dependabot|bazel|typo`)
	trailer := regexp.MustCompile(`(?im)^(change-id|signed-off-by|co-authored-by|reviewed-[a-z]+|fixes|closes|bug|issue|test plan|[a-z]+-thread[a-z-]*)[: ].*$` +
		`|https?://\S+|#[0-9]+`)
	named := regexp.MustCompile(`\w/\w|\.(go|md|html|js|json|yaml|yml|sh|proto|txt|mod)\b`)
	var all []change
	for record := range strings.SplitSeq(git(t, h.dir, "log", "--no-merges", "--no-renames", "--name-status", "--reverse", "--format=%x01%H%x02%P%x02%B%x02"), "\x01") {
		part := strings.Split(record, "\x02")
		if len(part) != 4 || len(part[1]) != 40 || !keep(part[0]) {
			continue
		}
		message := trailer.ReplaceAllString(strings.TrimSpace(part[2]), "")
		if dull.MatchString(message) || named.MatchString(message) {
			continue
		}
		var truth []place
		changed := 0
		for line := range strings.Lines(part[3]) {
			status, name, ok := strings.Cut(strings.TrimSpace(line), "\t")
			if !ok || isTestFile(name) {
				continue
			}
			changed++
			if status != "A" && path.Base(name) != "go.mod" && path.Base(name) != "go.sum" {
				truth = append(truth, place{path: name})
			}
		}
		text := withoutPaths(message, truth)
		if len(truth) == 0 || changed > 5 || len(strings.Fields(text)) < 4 {
			continue
		}
		all = append(all, change{parent: part[1], question: question{set: "S4 commit", group: part[0], text: text, truth: truth, all: true,
			params: query.Params{Pattern: text, Limit: 50}}})
	}
	// Chosen at random, but asked in the order of the history, so that one state differs little from the next.
	index := make([]int, len(all))
	for i := range index {
		index[i] = i
	}
	index = shuffled(newDrawer(400, n), index)
	index = index[:min(n, len(index))]
	slices.Sort(index)
	var out []change
	for _, i := range index {
		out = append(out, all[i])
	}
	return out
}

var testDirectory = regexp.MustCompile(`(^|/)(tests?|testdata|__tests__|fixtures)/`)

// isTestFile says whether a file tests others, in the ways of several languages.
func isTestFile(p string) bool {
	base := path.Base(p)
	return strings.Contains(base, "_test.") || strings.Contains(base, ".test.") || strings.Contains(base, ".spec.") || strings.HasPrefix(base, "test_") ||
		testDirectory.MatchString(p)
}

// withoutPaths returns the first 60 words of a message, without those that name a directory or a file of the paths.
func withoutPaths(message string, files []place) string {
	parts := map[string]bool{}
	for _, f := range files {
		for part := range strings.SplitSeq(strings.ToLower(f.path), "/") {
			parts[part], parts[strings.TrimSuffix(part, path.Ext(part))] = true, true
		}
	}
	var out []string
	for _, w := range strings.Fields(message) {
		if plain := strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }); !parts[strings.ToLower(plain)] {
			out = append(out, plainWords(w)...)
		}
	}
	return strings.Join(out[:min(len(out), 60)], " ")
}

func TestWithoutPaths(t *testing.T) {
	got := withoutPaths("web: show the Server's version\n\nin every page of zoekt-web (server_main) mains", []place{{path: "cmd/web/server_main.go"}})
	if want := "show the Server s version in every page of zoekt web mains"; got != want {
		t.Errorf("withoutPaths = %q, want %q", got, want)
	}
}
