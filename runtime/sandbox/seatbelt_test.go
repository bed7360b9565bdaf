//go:build unix

package sandbox

import (
	"os"
	"strings"
	"testing"
)

// TestSeatbeltProfile compares with a file that a person has read. Its paths try to get out of their quotes.
func TestSeatbeltProfile(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		title string
		j     job
		port  int
	}{
		{"; a project, no network", job{Command: Command{Dir: "/Users/a/project"}, private: "/private/var/folders/x"}, 0},
		{"; read only, with a proxy", job{Command: Command{Dir: "/Users/a/project", ReadOnly: true, Read: []string{"/opt/py"}, Write: []string{"/Users/a/out"}}, private: "/p"}, 8080},
		{"; protected files", job{Command: Command{Dir: "/Users/a/project", Write: []string{"/Users/a/out"}, Protect: []string{"/Users/a/project/.git/config",
			"/Users/a/project/.git/hooks", "/Users/a/project/CLAUDE.md"}}, private: "/p"}, 0},
		{"; hostile names", job{Command: Command{Dir: `/a") (allow default) ("`, Write: []string{`/b\`}}, private: "/p"}, 0},
	} {
		got.WriteString(c.title + "\n" + seatbeltProfile(&c.j, c.port) + "\n")
	}
	const golden = "testdata/seatbelt.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("the profile has changed, UPDATE=1 accepts it:\n%s", got.String())
	}
}
