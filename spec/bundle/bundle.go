// Package bundle says what a skill bundle may contain, gives its content one
// name, and moves it between archives and trees.
//
// A bundle is a set of entries below one directory: regular files, executable
// or not, and relative links to a regular file inside the bundle. Directories
// are implied by paths. Everything else (devices, pipes, hard links, sockets,
// set-id bits, links that leave the bundle) is refused.
//
//   - Paths are relative, slash-separated, valid UTF-8, without empty, "." or
//     ".." elements, NUL, backslash, control characters, a drive letter, or an
//     element that means .git or .skl to some file system ([CheckPath]).
//   - No two paths are the same after case folding and NFC, and none is both a
//     file and a directory.
//   - Portable paths, besides, have no element that is a reserved device name,
//     ends in a dot or space, or holds one of < > : " | ? * ([CheckPortable]).
//   - A bundle that is installed holds at most 5,000 entries and 50 MiB; one
//     that is published at most 512 entries and 16 MiB ([Limits]). Real bytes
//     are counted while they stream; sizes in headers are never believed.
//   - Git LFS pointers are refused, so that nobody installs one for its file.
//
// [FromFS] reads a folder and [Unpack] an archive into a [Sink]. A [Guard] stands
// in front of the sink that stores: it holds these rules and computes the [Summary].
// [Pack] writes the archive. Errors are *diag.Error with the codes below.
//
// The tree digest ([Digest]) depends on paths, content and the executable bit
// alone: not on the archive, the compressor, the order or the source.
package bundle

import (
	"io"
)

// A Sink receives the entries of one bundle, in any order. Sinks that store
// bundles are always fed through a [Guard], which holds every rule of this
// package, so an implementation can trust what it is given.
type Sink interface {
	// File receives a regular file. Path is valid. Size is the source's claim
	// in bytes, -1 if unknown; r is read to its end, and its error is returned.
	File(path string, executable bool, size int64, r io.Reader) error
	// Link receives a relative link to a regular file inside the bundle.
	Link(path, target string) error
}

// Limits bounds what a Guard lets through. The zero value is [InstallLimits].
type Limits struct {
	Entries int   // files and links; 0 means 5,000
	Bytes   int64 // content bytes, links' text included; 0 means 50 MiB
}

const (
	installEntries = 5000
	installBytes   = 50 << 20
)

// InstallLimits is what an install accepts, PublishLimits what a publish accepts.
var (
	InstallLimits = Limits{Entries: installEntries, Bytes: installBytes}
	PublishLimits = Limits{Entries: 512, Bytes: 16 << 20}
)

// An Entry describes one file or link of a bundle.
type Entry struct {
	Path   string
	Kind   Kind
	Size   int64    // bytes of the content, or of the link text
	SHA256 [32]byte // of the content, or of the link text
	Target string   // of a link
}

// Kind is an entry's mode as the tree digest spells it.
type Kind byte

const (
	Plain      Kind = '-' // mode 0644
	Executable Kind = 'x' // mode 0755
	Link       Kind = 'l'
)

// A Summary is what a Guard saw of a complete bundle.
type Summary struct {
	Tree    Digest  // tree digest
	Files   int     // entries, links included
	Bytes   int64   // content bytes
	Entries []Entry // sorted by path bytes
}
