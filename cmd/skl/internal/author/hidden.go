package author

import (
	"path"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/skl-project/skl/cmd/skl/internal/trees"
	"github.com/skl-project/skl/spec/bundle"
	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// hidden counts the characters of a file that nobody sees.
func hidden(f trees.File) (n int) {
	if f.Kind == bundle.Link {
		return 0
	}
	for _, h := range skill.FindHidden(f.Data) {
		n += h.Count
	}
	if !utf8.Valid(f.Data) {
		return n
	}
	for i, r := range string(f.Data) { // terminals obey them, and a lone carriage return hides the line before it
		if unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\f' && !(r == '\r' && i+1 < len(f.Data) && f.Data[i+1] == '\n') {
			n++
		}
	}
	return n
}

// veil is markup by which text is not shown, or not where a reader looks: comments, definitions that say something, elements that are closed
// or have styles, alternative texts and titles, and text far to the right.
var veil = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<!--` +
		`|^ {0,3}\[[^\]]*\]:[ \t]*(?:#|<>|<#>)?[ \t]*["'(]|^ {0,3}\[(?://|comment|_|#)[^\]]*\]:` +
		`|<(?:details|template|script|style|noscript|object|iframe)\b` +
		`|<[a-z][^<>]*[ \t](?:hidden|style|title|alt|color|bgcolor|size|class|aria-[a-z]+|data-[a-z-]+)\b` +
		`|[ \t\x{a0}]{60,}\S` +
		`|!\[[^\]]{100,}\]|\]\([^()\s]+[ \t]+["'][^"']{60,}`)
})

// veiled counts the places of a text at which something is not shown. Code shows all.
func veiled(name string, f trees.File) (n int) {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdc":
	default:
		return 0
	}
	fence := ""
	for line := range strings.Lines(string(f.Data)) {
		line = strings.TrimRight(line, "\r\n")
		was := fence
		if fence = pkgdoc.Fenced(line, was); fence != "" || was != "" {
			continue
		}
		if !strings.ContainsAny(line, "<[") && !strings.Contains(line, far) && !strings.ContainsAny(line, "\t\u00a0") {
			continue
		}
		if strings.ContainsRune(line, '`') {
			line = codeSpan().ReplaceAllString(line, "` `")
		}
		n += len(veil().FindAllStringIndex(line, -1))
	}
	return n
}

// far is as many blanks as some text has in front of it that is far to the right.
var far = strings.Repeat(" ", 60)

var codeSpan = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`[^`]+`") })
