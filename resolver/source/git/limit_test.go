package git

import (
	"context"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/testdata/long"
)

// A fetch that may take little is given up before all of a large skill came; an install takes it afterwards.
func TestFetchWithLimit(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	noise := make([]byte, 24<<20)
	random := rand.NewChaCha8([32]byte{1})
	random.Read(noise)
	dir := gittest.Init(t, "large")
	commit := gittest.Commit(t, dir, gittest.Files{"skills/a/SKILL.md": "---\nname: a\n---\n", "skills/a/data.bin": string(noise)})
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	s := &Source{HTTP: http.DefaultClient, CacheDir: t.TempDir(), Git: "-"}
	skill := lock.Skill{Name: "a", Source: "git", URL: srv.URL + "/large.git", Path: "skills/a", Commit: ref.Commit(commit)}
	if err := s.Fetch(source.WithLimit(context.Background(), 1<<20), skill, &entries{}); !isCode(err, "git_too_large") {
		t.Errorf("with a limit: %v", err)
	}
	if sent := srv.Sent(); sent > 12<<20 {
		t.Errorf("%d bytes were sent", sent)
	}
	if err := s.Fetch(context.Background(), skill, &entries{}); err != nil {
		t.Errorf("without one: %v", err)
	}
}
