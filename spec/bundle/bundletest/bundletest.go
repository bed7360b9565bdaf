// Package bundletest has the names that no source may let into a bundle, so that one table is
// held against all of them.
package bundletest

import "github.com/skl-project/skl/spec/bundle"

// A Name is the path of a file that makes a bundle one that is refused with Code.
type Name struct {
	Path, Code string
	Nowhere    bool // no file system of Unix can have it
}

// Names are look-alikes of .git and of skl's own directory, for HFS+ (characters that it ignores), NTFS (what it
// cuts off, streams, short names) and FAT, and paths that leave the bundle or deceive.
func Names() []Name {
	var out []Name
	for _, git := range []string{
		".git", ".GIT", ".Git", ".git ", ".git.", ".git . .", "git~1", "GIT~1", "GIT~2", "git~10", ".git::$INDEX_ALLOCATION",
		".git:stream", ".g\u200cit", ".gi\u200dt", "\u200e.git", ".git\u200f", ".gi\u206at", ".g\ufeffit", ".gIt\u206f",
	} {
		out = append(out, Name{Path: git + "/config", Code: bundle.CodePathGit}, Name{Path: "sub/" + git, Code: bundle.CodePathGit})
	}
	for _, state := range []string{
		".skl", ".skl-edit-1", ".SKL", ".skl.", ".skl ", "SKL~1", "skl~3", ".skl::$DATA", ".s\u200ckl", ".\u017fkl", ".s\u212al",
		".Agents", ".agents.", ".agents ", "AGENTS~1", ".agents::$INDEX_ALLOCATION", ".age\u200dnts",
	} {
		out = append(out, Name{Path: state + "/journal", Code: bundle.CodePathState}, Name{Path: "sub/" + state, Code: bundle.CodePathState})
	}
	return append(out,
		Name{Path: `a\b`, Code: bundle.CodePathBackslash}, Name{Path: `.git\config`, Code: bundle.CodePathBackslash},
		Name{Path: "C:/x", Code: bundle.CodePathDrive}, Name{Path: "x\x1b]8;;", Code: bundle.CodePathControl},
		Name{Path: "a\nb", Code: bundle.CodePathControl}, Name{Path: "a\u202eb", Code: bundle.CodePathControl},
		Name{Path: "a\xffb", Code: bundle.CodePathUTF8}, Name{Path: "skill.MD", Code: bundle.CodePathCollision},
		Name{Path: "../x", Code: bundle.CodePathTraversal, Nowhere: true}, Name{Path: "a/../x", Code: bundle.CodePathTraversal, Nowhere: true},
		Name{Path: "/x", Code: bundle.CodePathAbsolute, Nowhere: true}, Name{Path: "a//x", Code: bundle.CodePathEmpty, Nowhere: true},
	)
}
