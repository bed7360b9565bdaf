package model

import (
	"encoding/json"
	"strings"
)

// MaxAnswer is the size of the largest answer that is taken, in bytes.
const MaxAnswer = 1 << 20

// MaxDepth is how deep an answer may nest objects and lists.
const MaxDepth = 64

// maxStarts bounds how many opening braces are tried.
const maxStarts = 256

// Extract finds a JSON object in what a model wrote: all of text, or a part of
// it inside a code fence or between sentences. Of several objects it takes the
// last that fits, because drafts come before answers; when none fits, the last
// one, so that the caller can say what is wrong with it. A nil fits takes all.
//
// The result is valid JSON that stands in text byte for byte. Texts above
// MaxAnswer and objects deeper than MaxDepth are not looked at.
func Extract(text string, fits func(json.RawMessage) bool) (json.RawMessage, bool) {
	if len(text) > MaxAnswer {
		return nil, false
	}
	var last, fitting json.RawMessage
	for starts, i := 0, 0; starts < maxStarts; starts++ {
		open := strings.IndexByte(text[i:], '{')
		if open < 0 {
			break
		}
		i += open
		end := objectEnd(text[i:])
		if end == 0 || !json.Valid([]byte(text[i:i+end])) {
			i++
			continue
		}
		last = json.RawMessage(text[i : i+end])
		if fits == nil || fits(last) {
			fitting = last
		}
		i += end
	}
	if fitting != nil {
		return fitting, true
	}
	return last, last != nil
}

// objectEnd is the length of the object that s begins with, 0 if it does not
// end or nests too deep. It looks at brackets and strings only.
func objectEnd(s string) int {
	depth, inString := 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return 0
			}
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// shallow says whether value, which is valid JSON, nests at most MaxDepth deep.
func shallow(value []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}
