package session

import (
	"io/fs"
	"path"
	"strings"

	"github.com/skl-project/skl/runtime/skills"
	"github.com/skl-project/skl/spec/bundle"
)

// bundled is "skl:NAME" if r is a skill that comes with skl: that itself, or a copy with the same files. "" for any other.
func (r *Runnable) bundled() string {
	if strings.HasPrefix(r.Dir, "skl:") {
		return r.Dir
	}
	own, err := fs.Sub(skills.FS(), r.Name)
	if err != nil || path.Base(r.Name) != r.Name {
		return ""
	}
	want, err := treeDigest(own)
	if err != nil {
		return "" // there is none of that name
	}
	if got, err := treeDigest(r.Files); err != nil || got != want {
		return ""
	}
	return "skl:" + r.Name
}

func treeDigest(fsys fs.FS) (bundle.Digest, error) {
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(fsys, guard); err != nil {
		return "", err
	}
	sum, err := guard.Close()
	return sum.Tree, err
}
