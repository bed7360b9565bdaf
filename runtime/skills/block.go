package skills

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// BlockRule is the rule of [CheckBlock].
const BlockRule = "CNP-B01"

const (
	beginMarker = "<!-- canopy-runtime-begin -->"
	endMarker   = "<!-- canopy-runtime-end -->"
	blockFile   = "canopy-runtime/assets/constants/marker-block.md"
)

// State is what [Activate] does to a file.
type State string

const (
	Create  State = "create"  // the file was empty or absent
	Append  State = "append"  // it had no block
	Replace State = "replace" // it had one with another text
	Keep    State = "keep"    // it has the block as it is
)

// Block returns the marker block: both markers and the text between them, one a
// line, the last with its line end.
func Block() []byte {
	src, err := fs.ReadFile(FS(), blockFile)
	if err != nil {
		panic("skills: the marker block is not embedded: " + err.Error())
	}
	return src
}

// inner is the text between the markers, with its last line end.
func inner() string {
	text := strings.TrimPrefix(string(Block()), beginMarker+"\n")
	return strings.TrimSuffix(text, endMarker+"\n")
}

// Activate returns src with the marker block in it, and says what that took.
//
//   - An empty src becomes the block alone (Create).
//   - Without markers the block goes to the end after a blank line, and a last line
//     without end gets one (Append). Line ends are those of the first line.
//   - With markers the text between the first two is replaced; the lines of the markers
//     and all that is outside stay as they are (Replace, or Keep if nothing changes). Further pairs are
//     left alone: CheckBlock warns of them.
//   - Markers that do not pair up, or stand inside each other, are a *diag.Error of
//     class Unmet and code marker_block, with the line.
//
// A marker counts when it is alone on its line, blanks aside, and not inside a fenced block.
// Activate of its own result is Keep. The result may share memory with src.
func Activate(src []byte) (out []byte, state State, err error) {
	if len(src) == 0 {
		return Block(), Create, nil
	}
	pairs, err := scan(src)
	if err != nil {
		return nil, "", err
	}
	if len(pairs) == 0 {
		return appendBlock(src), Append, nil
	}
	p := pairs[0]
	eol := "\n"
	if bytes.HasSuffix(src[p.from:p.text], []byte("\r\n")) {
		eol = "\r\n"
	}
	want := strings.ReplaceAll(inner(), "\n", eol)
	if string(src[p.text:p.end]) == want {
		return src, Keep, nil
	}
	return join(src[:p.text], []byte(want), src[p.end:]), Replace, nil
}

func appendBlock(src []byte) []byte {
	eol := "\n"
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		eol = "\r\n"
	}
	glue := eol
	if src[len(src)-1] != '\n' {
		glue += eol
	}
	return join(src, []byte(glue), bytes.ReplaceAll(Block(), []byte("\n"), []byte(eol)))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

// Deactivate returns src without its marker blocks, all of them, and reports
// whether there was one. A blank line before a block goes with it when the block ends the file or
// another blank line follows. So Deactivate takes back exactly what Activate appended, but for the end of
// a last line that had none. Its errors are those of Activate. The result may share memory with src.
func Deactivate(src []byte) (out []byte, removed bool, err error) {
	pairs, err := scan(src)
	if err != nil {
		return nil, false, err
	}
	if len(pairs) == 0 {
		return src, false, nil
	}
	from := 0
	for _, p := range pairs {
		before := src[from:p.from]
		if rest := src[p.to:]; len(rest) == 0 || blankLine(rest) {
			before = cutBlankLine(before)
		}
		out = append(out, before...)
		from = p.to
	}
	return append(out, src[from:]...), true, nil
}

// blankLine reports whether text begins with an empty line.
func blankLine(text []byte) bool {
	return text[0] == '\n' || bytes.HasPrefix(text, []byte("\r\n"))
}

// cutBlankLine takes an empty line off the end of text.
func cutBlankLine(text []byte) []byte {
	for _, eol := range [...]string{"\r\n", "\n"} {
		rest, ok := bytes.CutSuffix(text, []byte(eol))
		if ok && (len(rest) == 0 || rest[len(rest)-1] == '\n') {
			return rest
		}
	}
	return text
}

// CheckBlock reports what is wrong with the marker block of an instruction file
// called file, under rule CNP-B01: errors where Activate refuses, warnings where there is not
// one block, or its text is not the present one.
func CheckBlock(src []byte, file string) []diag.Finding {
	found := func(line int, severity diag.Severity, format string, args ...any) diag.Finding {
		return diag.Finding{File: file, Line: line, Rule: BlockRule, Severity: severity, Message: fmt.Sprintf(format, args...)}
	}
	pairs, err := scan(src)
	if e, ok := errors.AsType[*diag.Error](err); ok {
		return []diag.Finding{found(e.Where.Line, diag.SeverityError, "%s", e.Message)}
	}
	if len(pairs) == 0 {
		return []diag.Finding{found(0, diag.SeverityWarning, "the file has no marker block of canopy-runtime")}
	}
	var out []diag.Finding
	for i, p := range pairs {
		if i > 0 {
			out = append(out, found(p.line, diag.SeverityWarning, "the file has another marker block on line %d: only that one is kept up to date", pairs[0].line))
			continue
		}
		if strings.ReplaceAll(string(src[p.text:p.end]), "\r\n", "\n") != inner() {
			out = append(out, found(p.line, diag.SeverityWarning, "the text of the marker block is not the one that skl writes"))
		}
	}
	return out
}
