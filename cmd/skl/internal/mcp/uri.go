package mcp

import (
	"io/fs"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
)

const uriScheme = "skill://"

// A place is a file or a directory of a skill.
type place struct {
	skill string // name
	path  string // slash path; "" is the directory of the skill
}

// entry is the SKILL.md of a skill.
func entry(name string) place { return place{name, skill.FileName} }

// String is the URI of p.
func (p place) String() string {
	var b strings.Builder
	b.WriteString(uriScheme + url.PathEscape(p.skill))
	if p.path != "" {
		for element := range strings.SplitSeq(p.path, "/") {
			b.WriteString("/" + url.PathEscape(element))
		}
	}
	return b.String()
}

// parseURI parses the URI of a place. It says nothing of whether there is one.
// For every uri it accepts, parseURI(uri).String() == uri, so that a place has one URI; see FuzzURI.
func parseURI(uri string) (place, error) {
	rest, ok := strings.CutPrefix(uri, uriScheme)
	if !ok {
		return place{}, uriError(uri, "it does not start with %s", uriScheme)
	}
	elements := strings.Split(rest, "/")
	for i, text := range elements {
		element, err := url.PathUnescape(text)
		switch {
		case err != nil:
			return place{}, uriError(uri, "%q is not valid percent-encoding", brief(text))
		case text == "":
			return place{}, uriError(uri, "an element of its path is empty")
		case element == "." || element == "..":
			return place{}, uriError(uri, "an element of its path is %q", element)
		case strings.ContainsAny(element, "/\\\x00") || !utf8.ValidString(element):
			return place{}, uriError(uri, "%q is not a file name", brief(text))
		case url.PathEscape(element) != text:
			return place{}, uriError(uri, "%q must be written %q", brief(text), brief(url.PathEscape(element)))
		}
		elements[i] = element
	}
	p := place{elements[0], strings.Join(elements[1:], "/")}
	if p.path != "" && !fs.ValidPath(p.path) {
		return place{}, uriError(uri, "it names no file")
	}
	return p, nil
}

// brief is a part of a URI, which may be long, for a message.
func brief(text string) string { return strings.ToValidUTF8(diag.Clip(text, 200), "") }

// uriError refuses a URI.
func uriError(uri, format string, args ...any) error {
	why := diag.New(diag.Misuse, "invalid_request", format, args...)
	why.Message = "invalid URI " + quote(brief(uri)) + ": " + why.Message
	return why.Hint("the URIs of skills' files are in skills/list")
}
