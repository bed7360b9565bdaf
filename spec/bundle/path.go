package bundle

import (
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of one path.
const (
	MaxPath  = 1024 // bytes
	MaxDepth = 32   // elements

	MaxPortablePath    = 240 // bytes; what is left of 260 below a short root on Windows
	MaxPortableElement = 255 // bytes
)

// EditMark starts the name of a directory in a folder whose files are being changed, or were when that was cut off.
const EditMark = ".skl-edit-"

// CheckPath reports why p cannot be the path of an entry: whatever it accepts stays
// below the directory it is joined to, on every system skl runs on.
func CheckPath(p string) error {
	if err := checkText(p); err != nil {
		return err
	}
	switch {
	case p == "":
		return refuse(CodePathEmpty, "a path is empty")
	case p[0] == '/':
		return refuse(CodePathAbsolute, "path %q is absolute", p)
	case hasDrive(p):
		return refuse(CodePathDrive, "path %q starts with a drive letter", p)
	case strings.Contains(p, `\`):
		return refuse(CodePathBackslash, "path %q holds a backslash", p)
	}
	depth := 0
	for e := range strings.SplitSeq(p, "/") {
		depth++
		switch {
		case e == "":
			return refuse(CodePathEmpty, "path %q has an empty element", p)
		case e == "." || e == "..":
			return refuse(CodePathTraversal, "path %q has a %q element", p, e)
		case isGit(e):
			return refuse(CodePathGit, "path %q has an element that means .git", p)
		case isState(e):
			return refuse(CodePathState, "path %q has an element that means .skl or .agents, where skl keeps its own files", p)
		case strings.HasPrefix(e, EditMark):
			return refuse(CodePathState, "path %q is what a change of the folder needs while it is under way", p).
				Hint("if that was cut off, this takes it back: skl fmt DIR").Hint("if it is there still, look through its files, and remove it")
		case depth > MaxDepth:
			return refuse(CodePathDeep, "path %q is deeper than %d elements", p, MaxDepth)
		}
	}
	return nil
}

// checkText holds for paths and for the text of links.
func checkText(p string) error {
	if len(p) > MaxPath {
		return refuse(CodePathLong, "path %q… is longer than %d bytes", p[:64], MaxPath)
	}
	if !utf8.ValidString(p) {
		return refuse(CodePathUTF8, "path %q is not valid UTF-8", p)
	}
	for _, r := range p {
		switch {
		case r == 0:
			return refuse(CodePathNUL, "path %q holds a NUL byte", p)
		case misleads(r):
			return refuse(CodePathControl, "path %q holds a control character", p)
		}
	}
	return nil
}

// misleads reports whether r makes a terminal, or a reader, see something else.
func misleads(r rune) bool {
	switch {
	case r < 0x80:
		return r < ' ' || r == 0x7f
	case unicode.IsControl(r), r == 0x2028, r == 0x2029:
		return true
	case r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

func hasDrive(p string) bool {
	return len(p) >= 2 && p[1] == ':' && 'a' <= p[0]|0x20 && p[0]|0x20 <= 'z'
}

// Means reports whether some file system opens dotted, a name in lower case that starts with a dot, when
// asked for e: folded by case, without the characters that HFS+ ignores, without what NTFS
// cuts off (dots and spaces at the end, a stream name), or by a short name like git~1.
func Means(e, dotted string) bool {
	if len(e) < len(dotted) && !strings.Contains(e, "~") {
		return false
	}
	e, _, _ = strings.Cut(e, ":")
	e = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, e)
	e = strings.TrimRight(e, ". ")
	if strings.EqualFold(e, dotted) {
		return true
	}
	stem, number, short := strings.Cut(e, "~")
	bare := dotted[1:]
	return short && number != "" && strings.Trim(number, "0123456789") == "" &&
		strings.EqualFold(stem, bare[:min(len(bare), 6)])
}

// isGit reports whether some file system opens .git when asked for e.
func isGit(e string) bool {
	if len(e) < 4 || e[0] != '.' && e[0]|0x20 != 'g' && e[0] < utf8.RuneSelf {
		return false
	}
	return Means(e, ".git")
}

// isState reports whether some file system opens .skl, where skl keeps receipts, when asked for e,
// or .agents, when e is not spelled so. Nobody writes these by chance.
func isState(e string) bool {
	if len(e) < 4 || e[0] != '.' && e[0]|0x20 != 's' && e[0]|0x20 != 'a' && e[0] < utf8.RuneSelf {
		return false
	}
	return Means(e, ".skl") || e != ".agents" && Means(e, ".agents")
}

// CheckPortable reports why p, which CheckPath accepts, cannot be unpacked
// everywhere. Uniqueness is not a matter of one path: see [Guard].
func CheckPortable(p string) error {
	if len(p) > MaxPortablePath {
		return refuse(CodePathLong, "path %q is longer than the portable %d bytes", p, MaxPortablePath)
	}
	for e := range strings.SplitSeq(p, "/") {
		switch {
		case len(e) > MaxPortableElement:
			return refuse(CodePathLong, "path %q has an element longer than %d bytes", p, MaxPortableElement)
		case strings.ContainsAny(e, `<>:"|?*`):
			return refuse(CodePathCharacter, "path %q holds one of < > : \" | ? *", p)
		case strings.HasSuffix(e, ".") || strings.HasSuffix(e, " "):
			return refuse(CodePathTrailing, "path %q has an element that ends in a dot or a space", p)
		case isDevice(e):
			return refuse(CodePathReserved, "path %q has an element that is a device on Windows", p)
		}
	}
	return nil
}

// isDevice follows Windows "Naming Files, Paths, and Namespaces": what stands
// before the first dot counts.
func isDevice(e string) bool {
	stem, _, _ := strings.Cut(e, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	digit, ok := strings.CutPrefix(stem, "COM")
	if !ok {
		digit, ok = strings.CutPrefix(stem, "LPT")
	}
	if !ok {
		return false
	}
	switch digit {
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
		return true
	}
	return false
}

// CheckLinkTarget reports why target cannot be the text of the link at p: it must be
// relative and stay inside the bundle. Whether it leads to a file is known
// only when the bundle is complete: see [Guard].
func CheckLinkTarget(p, target string) error {
	switch {
	case target == "":
		return refuse(CodeLinkTarget, "link %q is empty", p)
	case checkText(target) != nil, strings.Contains(target, `\`):
		return refuse(CodeLinkTarget, "link %q has the target %q, which is not a portable path", p, target)
	case target[0] == '/', hasDrive(target):
		return refuse(CodeLinkEscape, "link %q leads to the absolute path %q", p, target)
	}
	base := path.Base(p)
	for _, name := range []string{".gitmodules", ".gitattributes", ".gitignore"} {
		if Means(base, name) {
			return refuse(CodeLink, "%q is a link; git refuses it under that name", p)
		}
	}
	depth := strings.Count(p, "/")
	for e := range strings.SplitSeq(target, "/") {
		if isGit(e) {
			return refuse(CodePathGit, "link %q leads to %q, which has an element that means .git", p, target)
		}
		switch e {
		case "..":
			depth--
		case "", ".":
		default:
			depth++
		}
		if depth < 0 {
			return refuse(CodeLinkEscape, "link %q leads out of the bundle, to %q", p, target)
		}
	}
	return nil
}

// Residue reports whether the file p is of a kind that running or looking at a skill leaves behind: .DS_Store, and what Python
// keeps in __pycache__. A folder is packed without it. That says nothing of who wrote it: Python runs what it finds there. Compiled Python
// elsewhere was put there by somebody.
func Residue(p string) bool {
	dir, base := path.Split(p)
	return base == ".DS_Store" || strings.HasSuffix(base, ".pyc") && path.Base(dir) == "__pycache__"
}

// Fold maps all spellings of a path that some file system takes for one to
// the same string: full case folding (Unicode, CaseFolding.txt), then NFC.
// It is the one rule by which names of files are compared.
func Fold(p string) string {
	for i := range len(p) {
		if p[i] >= utf8.RuneSelf {
			return foldUnicode(p)
		}
	}
	return strings.ToLower(p)
}

// OneName says that two names, which differ, have one [Fold]: `"A" and "a" are one name on some file systems`. Where they look the same, it shows how they
// are written.
func OneName(a, b string) string {
	quote := strconv.Quote
	if norm.NFC.String(a) == norm.NFC.String(b) {
		quote = strconv.QuoteToASCII
	}
	return quote(a) + " and " + quote(b) + " are one name on some file systems"
}

func foldUnicode(p string) string {
	var b strings.Builder
	// Invalid UTF-8 is replaced byte by byte before marks are put in order: left in, it would change that order.
	for _, r := range norm.NFD.String(strings.Map(func(r rune) rune { return r }, p)) {
		if s := foldLong(r); s != "" {
			b.WriteString(s)
			continue
		}
		// The smallest rune of the orbit, in lower case, stands for all of it.
		least := r
		for o := unicode.SimpleFold(r); o != r; o = unicode.SimpleFold(o) {
			least = min(least, o)
		}
		b.WriteRune(unicode.ToLower(least))
	}
	return norm.NFC.String(b.String())
}

// foldLong is the folding of the runes that fold to several and have no canonical decomposition.
func foldLong(r rune) string {
	switch r {
	case 'ß', 'ẞ':
		return "ss"
	case 'ŉ':
		return "ʼn"
	case 'ẚ':
		return "aʾ"
	case 'և':
		return foldUnicode("եւ")
	case 'ﬀ':
		return "ff"
	case 'ﬁ':
		return "fi"
	case 'ﬂ':
		return "fl"
	case 'ﬃ':
		return "ffi"
	case 'ﬄ':
		return "ffl"
	case 'ﬅ', 'ﬆ':
		return "st"
	case 'ﬓ':
		return foldUnicode("մն")
	case 'ﬔ':
		return foldUnicode("մե")
	case 'ﬕ':
		return foldUnicode("մի")
	case 'ﬖ':
		return foldUnicode("վն")
	case 'ﬗ':
		return foldUnicode("մխ")
	}
	return ""
}
