// Package skills holds the skills that come with skl, and the marker block that
// points agents without skl to them. The language they explain is that of
// spec/canopy-tree.md.
//
//   - canopy-runtime tells an agent how to walk a tree by itself; canopy-debug walks
//     one and shows every step; canopy writes and mends skills that are trees.
//   - The marker block stands in an instruction file of a host, between two comments.
//     [Activate] and [Deactivate] change what is between them, and the comments, and no
//     other byte but those that they document. Both refuse a file whose markers do not pair up.
//   - Nothing here reads or writes a file of the project: bytes in, bytes out.
//
// Time and memory are linear in the input. Everything is safe for concurrent use.
package skills

import (
	"archive/zip"
	"bytes"
	_ "embed"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/spell"
)

// The archive is made of the directories beside this file by go test ./runtime/skills -update: a third of their size.
//
//go:embed skills.zip
var archive []byte

var files = sync.OnceValue(func() fs.FS {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		panic(err) // the program's own: a defect of the build
	}
	return z
})

// FS returns the skills, one directory each, named like the skill. All files end
// their lines with LF. It is never written to.
func FS() fs.FS { return files() }

// Codes of errors.
const (
	CodeHost  = "unknown_host" // a host that has no instruction file here
	CodeBlock = "marker_block" // markers that do not pair up
)

// The instruction files, as slash paths below a project.
const (
	claudeFile  = "CLAUDE.md"
	copilotFile = ".github/copilot-instructions.md"
)

// Target returns the file that holds the marker block for a host, as a slash path
// below the project that fsys is rooted at. The host "agents" means whichever of
// the instruction files exists, CLAUDE.md before the other, and CLAUDE.md if none does.
// fsys may be nil: then none exists. Any other host than claude-code, github-copilot and agents is a
// *diag.Error of class Misuse and code unknown_host.
func Target(fsys fs.FS, host string) (file string, err error) {
	hosts := []string{"agents", "claude-code", "github-copilot"}
	switch host {
	case "claude-code":
		return claudeFile, nil
	case "github-copilot":
		return copilotFile, nil
	case "agents":
		for _, file := range [...]string{claudeFile, copilotFile} {
			found, err := isFile(fsys, file)
			if err != nil {
				return "", err
			}
			if found {
				return file, nil
			}
		}
		return claudeFile, nil
	}
	e := diag.New(diag.Misuse, CodeHost, "no host called %q reads a marker block", host).Meant(hosts...)
	for _, near := range spell.Nearest(host, append(hosts, "claude", "copilot"), 1) {
		i := slices.IndexFunc(hosts, func(h string) bool { return strings.Contains(h, near) })
		e.Meant(hosts[i]).Hint("skl activate --host %s", hosts[i])
	}
	return "", e
}

// isFile reports whether there is something at file. That it cannot be told is an
// error: the block would land in another file the next time.
func isFile(fsys fs.FS, file string) (bool, error) {
	if fsys == nil {
		return false, nil
	}
	_, err := fs.Stat(fsys, file)
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist) || strings.Contains(file, "/") && !errors.Is(err, fs.ErrPermission):
		return false, nil // .github may be a file
	}
	if _, refused := errors.AsType[*diag.Error](err); refused {
		return false, err
	}
	return false, diag.New(diag.Failed, "file_unreadable", "looking for %s: %w", file, err)
}
