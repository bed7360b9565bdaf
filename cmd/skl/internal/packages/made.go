package packages

import (
	"path/filepath"
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/scope"
	"github.com/skl-project/skl/install/durable"
	"github.com/skl-project/skl/runtime/author/skillify"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/diag"
)

// MadeDir is where this user's cache keeps the skill that was made with a stamp, as it was made. The stamp's keys are those of SKILL.md.
func MadeDir(sc *scope.Scope, stamp map[string]string) string {
	return filepath.Join(sc.Dirs.Cache, "made", skillify.Key(stamp))
}

// NoteMade notes the digest of the skill in [MadeDir], for [MadeHere].
func NoteMade(sc *scope.Scope, stamp map[string]string) error {
	dir := MadeDir(sc, stamp)
	guard := bundle.NewGuard(nil, bundle.InstallLimits)
	if err := bundle.FromFS(scope.FilesIn(dir), guard); err != nil {
		return err
	}
	sum, err := guard.Close()
	if err != nil {
		return err
	}
	return durable.WriteFile(noteOf(sc, sum.Tree), []byte(words(stamp)), 0o600)
}

// noteOf is the file that says of what the skill with a tree was made.
func noteOf(sc *scope.Scope, tree bundle.Digest) string {
	return filepath.Join(sc.Dirs.Cache, "made", filepath.Base(strings.ReplaceAll(string(tree), ":", "-"))+".txt")
}

// words name a package.
func words(stamp map[string]string) string {
	return strings.TrimSpace(stamp["ecosystem"] + " " + stamp["package"] + " " + stamp["version"])
}

// MadeHere says of what package this user made the skill with that tree and that stamp on this machine; "" if they did not. Of the
// stamp only the keys count that skl.lock has.
func MadeHere(sc *scope.Scope, tree bundle.Digest, stamp map[string]string) string {
	if len(stamp) == 0 || tree == "" {
		return ""
	}
	data, err := durable.ReadFile(noteOf(sc, tree))
	if err != nil || string(data) != words(stamp) {
		return ""
	}
	return diag.Printable("made here of " + words(stamp))
}
