package serve

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/spec/ref"
)

// A gitDir is where the history of a working tree is: HEAD in own, branches in common. They differ for a linked working tree.
type gitDir struct{ own, common string }

// findGit returns the git directory of a working tree: root/.git, or what the file of that name points to.
func findGit(root string) (g gitDir, ok bool) {
	path := filepath.Join(root, ".git")
	info, err := os.Lstat(path)
	if err != nil {
		return gitDir{}, false
	}
	if info.Mode().IsRegular() {
		target, ok := strings.CutPrefix(small(path), "gitdir: ")
		if !ok {
			return gitDir{}, false
		}
		if path = target; !filepath.IsAbs(path) {
			path = filepath.Join(root, path)
		}
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return gitDir{}, false
	}
	g = gitDir{own: path, common: path}
	if common := small(filepath.Join(path, "commondir")); common != "" {
		if g.common = common; !filepath.IsAbs(common) {
			g.common = filepath.Join(path, common)
		}
	}
	return g, true
}

// commit returns the commit that HEAD names, and "" if there is none yet, or if the repository keeps its branches in a form other than files.
func (g gitDir) commit() string {
	head := small(filepath.Join(g.own, "HEAD"))
	// A symbolic ref may name another; five are more than git follows.
	for range 5 {
		branch, symbolic := strings.CutPrefix(head, "ref: ")
		if !symbolic {
			break
		}
		branch = strings.TrimSpace(branch)
		if !filepath.IsLocal(filepath.FromSlash(branch)) {
			return ""
		}
		if head = small(filepath.Join(g.common, filepath.FromSlash(branch))); head == "" {
			head = g.packed(branch)
		}
	}
	if _, ok := ref.ParseCommit(head); !ok {
		return ""
	}
	return head
}

// packed looks a branch up in packed-refs.
func (g gitDir) packed(branch string) string {
	f, err := os.Open(filepath.Join(g.common, "packed-refs"))
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 64<<20))
	for lines.Scan() {
		if sha, name, ok := strings.Cut(lines.Text(), " "); ok && name == branch {
			return sha
		}
	}
	return ""
}

// small returns the trimmed text of a small file, "" if there is none.
func small(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 4096))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
