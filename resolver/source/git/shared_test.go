package git

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/skl-project/skl/resolver/source"
	"github.com/skl-project/skl/resolver/source/git/gittest"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/spec/ref"
	"github.com/skl-project/skl/testdata/long"
)

// A real repository: every tag of it, a skill of 724 files with a link, and five
// commits before a branch, all as git has them.
func TestRealRepository(t *testing.T) {
	gittest.Need(t)
	dir := gittest.FromBundle(t, gittest.Shared(t, "superpowers.bundle"))
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	ctx := context.Background()
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	r := gitRef(srv.URL + "/superpowers.git")
	releases, err := s.Versions(ctx, r)
	if err != nil {
		t.Fatal(err)
	}
	tags := 0
	for _, at := range releases {
		if at.Kind != source.Tag {
			continue
		}
		tags++
		if at.Version != strings.TrimPrefix(at.Name, "v") {
			t.Errorf("tag %s has version %q", at.Name, at.Version)
		}
	}
	if tags != 33 {
		t.Errorf("%d tags, want 33", tags)
	}
	revisions := map[string]string{
		string(at(t, releases, "v5.0.1").Commit):          "skills/brainstorming",
		gittest.Git(t, dir, "rev-parse", "main~5"):        "skills/writing-skills",
		gittest.Git(t, dir, "rev-parse", "v3.1.0^{tree}"): "",
	}
	for commit, dirPath := range revisions {
		var got entries
		err := s.Fetch(ctx, lock.Skill{URL: r.URL, Path: dirPath, Commit: ref.Commit(commit)}, &got)
		if dirPath == "" {
			if err == nil {
				t.Errorf("a tree was taken for a commit")
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		same(t, got.m, truth(t, dir, commit, dirPath))
	}
}

// 417 SKILL.md files, 15 of them below other skills: all others are found, and
// every one of them is fetched as it is by one request for all.
func TestRealRepositoryOfManySkills(t *testing.T) {
	long.Slow(t)
	gittest.Need(t)
	dir := gittest.FromBundle(t, gittest.Shared(t, "awesome-copilot.bundle"))
	srv := gittest.NewServer(t, gittest.Options{}, dir)
	ctx := context.Background()
	s := &Source{HTTP: http.DefaultClient, Git: "-"}
	r := gitRef(srv.URL + "/awesome-copilot.git")
	commit := gittest.Git(t, dir, "rev-parse", "HEAD")
	found, err := s.Skills(ctx, r, source.Release{Commit: ref.Commit(commit)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(found) != 402 {
		t.Errorf("%d skills, want 402", len(found))
	}
	var skills []lock.Skill
	for _, f := range found {
		skills = append(skills, f.Lock)
	}
	if err := s.Prefetch(ctx, skills); err != nil {
		t.Fatal(err)
	}
	if n := srv.Requests(); n != 4 {
		t.Errorf("%d requests, want 4: greeting, trees, SKILL.md files, the other files", n)
	}
	all := make(map[string]string)
	for _, skill := range skills {
		var got entries
		if err := s.Fetch(ctx, skill, &got); err != nil {
			t.Fatal(err)
		}
		for name, text := range got.m {
			all[path.Join(skill.Path, name)] = text
		}
	}
	if n := srv.Requests(); n != 4 {
		t.Errorf("%d requests after fetching, want none more", n-4)
	}
	ids := make(map[string]string)
	for line := range strings.SplitSeq(gittest.Git(t, dir, "ls-tree", "-r", "-z", commit), "\x00") {
		if meta, name, ok := strings.Cut(line, "\t"); ok {
			ids[name] = meta
		}
	}
	for name, text := range all {
		mode, content, _ := strings.Cut(text, " ")
		set := newObjectSet(maxObjects)
		id, err := set.add(3, []byte(content)) // a blob
		if want := fmt.Sprintf("%s blob %s", mode, id); err != nil || ids[name] != want {
			t.Errorf("%s is %q, want %q", name, want, ids[name])
		}
	}
}

// How much of a repository of 400 skills comes over the network, and what it
// costs, when one skill is installed: refs, the skill by name, its files.
func BenchmarkOneSkillOfMany(b *testing.B) {
	gittest.Need(b)
	dir := gittest.FromBundle(b, gittest.Shared(b, "awesome-copilot.bundle"))
	for _, proto := range []struct {
		name string
		opt  gittest.Options
	}{{"v2", gittest.Options{}}, {"v0", gittest.Options{V0: true}}} {
		b.Run(proto.name, func(b *testing.B) {
			srv := gittest.NewServer(b, proto.opt, dir)
			r := gitRef(srv.URL + "/awesome-copilot.git")
			before := cpu(b)
			for b.Loop() {
				srv.Reset()
				s := &Source{HTTP: http.DefaultClient, Git: "-"}
				installOne(b, s, r.URL, "arize-trace")
			}
			b.ReportMetric(float64(srv.Sent()), "bytes-received")
			b.ReportMetric(float64(srv.Requests()), "requests")
			b.ReportMetric((cpu(b)-before)/float64(b.N), "cpu-ms/op")
		})
	}
	b.Run("file", func(b *testing.B) {
		for b.Loop() {
			installOne(b, &Source{Git: "-"}, "file://"+filepath.ToSlash(dir), "arize-trace")
		}
	})
}

func installOne(b *testing.B, s *Source, url, name string) {
	b.Helper()
	ctx := context.Background()
	releases, err := s.Versions(ctx, gitRef(url))
	if err != nil {
		b.Fatal(err)
	}
	found, err := s.Skills(ctx, gitRef(url), at(b, releases, "main"), []string{name})
	if err != nil || len(found) != 1 {
		b.Fatal(found, err)
	}
	if err := s.Fetch(ctx, found[0].Lock, &entries{}); err != nil {
		b.Fatal(err)
	}
}

// The pack that a server sends for a commit without files.
func BenchmarkReadPack(b *testing.B) {
	gittest.Need(b)
	dir := gittest.FromBundle(b, gittest.Shared(b, "awesome-copilot.bundle"))
	head := gittest.Git(b, dir, "rev-parse", "HEAD^{tree}")
	ids := head + "\n"
	for line := range strings.Lines(gittest.Git(b, dir, "ls-tree", "-r", "-t", head)) {
		if f := strings.Fields(line); f[1] == "tree" {
			ids += f[2] + "\n"
		}
	}
	pack := gittest.Bytes(b, dir, []byte(ids), "pack-objects", "--stdout", "--quiet", "--delta-base-offset")
	b.SetBytes(int64(len(pack)))
	for b.Loop() {
		set := newObjectSet(maxObjects)
		if err := readPack(strings.NewReader(string(pack)), defaultMaxPack, set); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(len(set.byID)), "objects")
	}
}
