package git_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	gogit "github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/skl-project/skl/resolver/source/git"
	"github.com/skl-project/skl/spec/ref"
)

// printer is a bundle.Sink that prints what it is given.
type printer struct{}

func (printer) File(path string, executable bool, size int64, r io.Reader) error {
	fmt.Println(path, size, executable)
	_, err := io.Copy(io.Discard, r)
	return err
}

func (printer) Link(path, target string) error {
	fmt.Println(path, "->", target)
	return nil
}

// A skill is resolved and fetched in three calls.
func ExampleSource() {
	dir, err := repository()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	ctx := context.Background()
	src := &git.Source{Git: "-"}
	r := ref.Ref{Kind: ref.Git, URL: "file://" + filepath.ToSlash(dir)}
	releases, err := src.Versions(ctx, r)
	if err != nil {
		fmt.Println(err)
		return
	}
	skills, err := src.Skills(ctx, r, releases[0], []string{"pdf"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(releases[0].Name, skills[0].Lock.Name, skills[0].Lock.Version[:20])
	if err := src.Fetch(ctx, skills[0].Lock, printer{}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// master pdf 0.0.0-20260102030405
	// SKILL.md 48 false
}

// repository makes a repository with one skill.
func repository() (string, error) {
	dir, err := os.MkdirTemp("", "skl-example-")
	if err != nil {
		return "", err
	}
	repo, err := gogit.PlainInit(dir, false)
	if err != nil {
		return dir, err
	}
	tree, err := repo.Worktree()
	if err != nil {
		return dir, err
	}
	if err := os.MkdirAll(filepath.Join(dir, "skills", "pdf"), 0o755); err != nil {
		return dir, err
	}
	text := "---\nname: pdf\ndescription: Fills in forms.\n---\n\n"
	if err := os.WriteFile(filepath.Join(dir, "skills", "pdf", "SKILL.md"), []byte(text), 0o644); err != nil {
		return dir, err
	}
	if _, err := tree.Add("skills"); err != nil {
		return dir, err
	}
	author := &object.Signature{Name: "Test", Email: "test@example.com", When: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	_, err = tree.Commit("add pdf", &gogit.CommitOptions{Author: author})
	return dir, err
}
