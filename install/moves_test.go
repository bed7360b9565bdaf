package install

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/skl-project/skl/install/roots"
	"github.com/skl-project/skl/install/store"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/lock"
	"github.com/skl-project/skl/testdata/long"
)

// Skills that move between roots at random, with new content, links or copies, and agents that come and go, always lie in their
// root and nowhere else; every place of an agent leads to them, and nothing is left behind.
func TestMovesAtRandom(t *testing.T) {
	long.Slow(t)
	base := filepath.Join(memory(t), "project")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	canonical, claude, tools := filepath.Join(base, ".agents", "skills"), filepath.Join(base, ".claude", "skills"), filepath.Join(base, "tools", "skills")
	all := []string{canonical, claude, tools}
	random := rand.New(rand.NewSource(7))
	ctx := context.Background()
	var old lock.Lock
	for round := range 150 {
		site := siteIn(base)
		site.Homes, site.Roots = map[string]string{}, []string{claude, tools}
		in := &Installer{Site: site, Store: &store.Store{Dir: filepath.Join(base, "..", "store")}, Fetch: content,
			Copy: random.Intn(3) == 0, Exact: true, LinksOf: map[string][]string{}}
		for _, root := range all { // each agent reads one root, and has a link where the skill is in another
			var links []string
			for _, agent := range all[:2] {
				if agent != root && random.Intn(4) > 0 {
					links = append(links, agent)
				}
			}
			in.LinksOf[root] = links
		}
		in.Links = in.LinksOf[canonical]
		want := wanted(1 + random.Intn(2))[:4+random.Intn(4)]
		for _, s := range want {
			in.Homes[s.Name] = all[random.Intn(3)]
		}
		for _, s := range old.Skills { // as scope.SetRoots: what is not wanted lies where the lock says
			if !slices.ContainsFunc(want, func(w lock.Skill) bool { return w.Name == s.Name }) {
				in.Homes[s.Name] = s.Root
			}
		}
		have, err := in.Survey(ctx, want, &old, round%2 == 0)
		if err == nil {
			err = errors.Join(in.Materialise(ctx, want, have, false, false)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		next := lock.Lock{}
		for _, s := range want {
			s.Root = in.Home(s.Name)
			next.Set(s)
		}
		changes := in.Diff(want, have, Options{Prune: true})
		if _, err := in.Apply(ctx, changes, Files{LockPath: filepath.Join(base, "skl.lock"), Lock: next.Format()}); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		old = next
		holds(t, in, want, all)
		again, err := in.Survey(ctx, want, &old, true)
		if err != nil {
			t.Fatal(err)
		}
		if c := in.Diff(want, again, Options{Prune: true}); c.Any() || len(c.Conflicts) > 0 {
			t.Fatalf("round %d: a second install would change %+v", round, c)
		}
		if t.Failed() {
			t.Fatalf("round %d: %v", round, in.Homes)
		}
	}
}

// holds fails unless all has the wanted skills, what leads to them, and nothing else.
func holds(t *testing.T, in *Installer, want []lock.Skill, all []string) {
	t.Helper()
	expected := map[string]string{} // path → what it is
	for _, s := range want {
		expected[filepath.Join(in.Home(s.Name), s.Name)] = "skill"
		for _, dir := range in.LinkDirs(s.Name) {
			expected[filepath.Join(dir, s.Name)] = map[bool]string{false: "link", true: "copy"}[in.Copy]
		}
	}
	for _, root := range all {
		entries, err := os.ReadDir(root)
		if err != nil {
			continue
		}
		for _, e := range entries {
			path := filepath.Join(root, e.Name())
			if e.Name() == ".skl" {
				continue
			}
			is := "skill"
			switch r, err := roots.ReadReceipt(root, e.Name()); {
			case e.Type()&fs.ModeSymlink != 0:
				is = "link"
			case err != nil:
				is = fmt.Sprint("no receipt: ", err)
			case r.CopyOf != "":
				is = "copy"
			}
			if expected[path] != is {
				t.Errorf("%s is %q, want %q", path, is, expected[path])
			}
			delete(expected, path)
			i := slices.IndexFunc(want, func(s lock.Skill) bool { return s.Name == e.Name() })
			if i >= 0 && in.treeOf(path, bundle.FromFS) != want[i].Tree {
				t.Errorf("%s does not hold its release", path)
			}
		}
		receipts, bad := roots.Receipts(root)
		for _, r := range receipts {
			if _, err := os.Lstat(filepath.Join(root, r.Name)); err != nil {
				t.Errorf("%s has a receipt of %s and nothing else", root, r.Name)
			}
		}
		if len(bad) > 0 {
			t.Error(bad[0])
		}
	}
	for path, is := range expected {
		t.Errorf("%s is not there, want %q", path, is)
	}
}
