package bundle

import "github.com/skl-project/skl/spec/diag"

// Codes of the errors of this package. All of them mean that the bundle was
// refused as a whole.
const (
	CodePathEmpty     = "PKG-PATH-EMPTY"     // the path, or an element of it, is empty
	CodePathAbsolute  = "PKG-PATH-ABSOLUTE"  // starts with "/"
	CodePathDrive     = "PKG-PATH-DRIVE"     // starts with a drive letter
	CodePathTraversal = "PKG-PATH-TRAVERSAL" // has a "." or ".." element
	CodePathBackslash = "PKG-PATH-BACKSLASH" // a separator on Windows, a character elsewhere
	CodePathNUL       = "PKG-PATH-NUL"       // holds a NUL byte
	CodePathControl   = "PKG-PATH-CONTROL"   // holds control, bidirectional or tag characters
	CodePathUTF8      = "PKG-PATH-UTF8"      // is not valid UTF-8
	CodePathGit       = "PKG-PATH-GIT"       // has an element that some system takes for .git
	CodePathState     = "PKG-PATH-STATE"     // has an element that some system takes for .skl, skl's own directory
	CodePathLong      = "PKG-PATH-LONG"      // longer than MaxPath, or than what is portable
	CodePathDeep      = "PKG-PATH-DEEP"      // more than MaxDepth elements
	CodePathReserved  = "PKG-PATH-RESERVED"  // portable only: a device name of Windows
	CodePathTrailing  = "PKG-PATH-TRAILING"  // portable only: an element ends in a dot or a space
	CodePathCharacter = "PKG-PATH-CHARACTER" // portable only: one of < > : " | ? *
	CodePathCollision = "PKG-PATH-COLLISION" // differs from another path by case or Unicode form only
	CodePathConflict  = "PKG-PATH-CONFLICT"  // a file or link where another path needs a directory
	CodeDuplicate     = "PKG-DUPLICATE"      // the same path twice

	CodeLink       = "PKG-LINK"        // a link where none is allowed: in pack, as .gitattributes
	CodeLinkTarget = "PKG-LINK-TARGET" // a link's text cannot be a portable path
	CodeLinkEscape = "PKG-LINK-ESCAPE" // a link leaves the bundle
	CodeLinkBroken = "PKG-LINK-BROKEN" // a link does not lead to a regular file
	CodeIrregular  = "PKG-IRREGULAR"   // a device, pipe, socket, hard link or sparse file
	CodeSetID      = "PKG-SETID"       // a set-user-id or set-group-id bit

	CodeTooBig     = "PKG-TOO-BIG"     // more bytes than the limit
	CodeTooMany    = "PKG-TOO-MANY"    // more entries than the limit
	CodeRatio      = "PKG-RATIO"       // unpacks to more than MaxRatio times its size
	CodeSize       = "PKG-SIZE"        // the content is not as long as announced
	CodeArchive    = "PKG-ARCHIVE"     // the archive is damaged, or of an unknown format
	CodeEncrypted  = "PKG-ENCRYPTED"   // an encrypted zip entry
	CodeOverlap    = "PKG-OVERLAP"     // zip entries that share bytes
	CodeAmbiguous  = "PKG-AMBIGUOUS"   // programs read the archive differently
	CodeTrailing   = "PKG-TRAILING"    // data behind the end of the archive
	CodeNoSkillMD  = "PKG-NO-SKILL-MD" // no SKILL.md at the root
	CodeLFSPointer = "PKG-LFS-POINTER" // a Git LFS pointer in place of its content
	CodeDigest     = "PKG-DIGEST"      // the text is not a tree digest
)

// refuse makes an error of this package. Everything from the bundle is quoted by the callers.
//
//go:noinline
func refuse(code, format string, args ...any) *diag.Error {
	return diag.New(diag.Refused, code, format, args...)
}

// ambiguous refuses an archive that another program would read differently.
func ambiguous(format string, args ...any) *diag.Error {
	return refuse(CodeAmbiguous, format, args...).Hint("pack it again, for example with: skl pack DIR -o FILE")
}
