package author

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/secrets"
	"github.com/skl-project/skl/spec/skill"
)

// Limits of what a model is shown of a skill.
const (
	maxShown = 48 << 10 // bytes of text, with anchors
	maxNames = 500      // files
)

// An anchor names a line of a file: its number and four digits of the hash of its text, "12:ab3f". Text that moved or changed has another.
func anchor(n int, line string) string {
	sum := sha256.Sum256([]byte(line))
	return strconv.Itoa(n) + ":" + hex.EncodeToString(sum[:2])
}

// A text is a file as lines.
type text struct {
	lines []string // without their ends
	eol   string   // of most lines: "\n" or "\r\n"
	ends  []string // of each line; the last may have none
}

func split(data string) text {
	var t text
	crlf := 0
	for line := range strings.Lines(data) {
		end := ""
		switch {
		case strings.HasSuffix(line, "\r\n"):
			end, crlf = "\r\n", crlf+1
		case strings.HasSuffix(line, "\n"):
			end = "\n"
		}
		t.lines, t.ends = append(t.lines, strings.TrimSuffix(line, end)), append(t.ends, end)
	}
	t.eol = "\n"
	if 2*crlf > len(t.lines) {
		t.eol = "\r\n"
	}
	return t
}

// Numbered are the lines of a text from the one with that number, each behind its anchor: 12:ab3f|text. Next is the line that has no room
// any more in so many bytes, 0 if all have.
func Numbered(data string, from, room int) (shown string, next int) {
	var b strings.Builder
	for i, line := range split(data).lines {
		if i+1 < from {
			continue
		}
		if b.Len()+len(line)+16 > room {
			return b.String(), i + 1
		}
		b.WriteString(anchor(i+1, line) + "|" + line + "\n")
	}
	return b.String(), 0
}

// Shown is one file from a line on, as far as there is room.
func Shown(d *Draft, name string, from int) (string, error) {
	if secrets.Named(name) {
		return "", diag.New(diag.Refused, "path_protected", "%s is not shown: its name says that it holds secrets", diag.Printable(name))
	}
	data, err := d.Read(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		err = diag.New(diag.Misuse, "no_such_file", "%s has no file %s", diag.Printable(d.Name), diag.Printable(diag.Clip(name, 200)))
	}
	if err != nil {
		return "", err
	}
	if !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
		return "", diag.New(diag.Refused, CodeIrregular, "%s is no text", name)
	}
	text, next := Numbered(string(data), from, maxShown)
	return "=== " + name + "\n" + text + more(next), nil
}

// more says that lines are not shown.
func more(next int) string {
	if next == 0 {
		return ""
	}
	return fmt.Sprintf("(the lines from %d on are not shown: skl_look shows them)\n", next)
}

// Material is what a model is shown of a skill: the names of its files, and the text of those that say what is done, SKILL.md and ops
// first, as far as there is room. What is not shown is named.
func Material(d *Draft) (string, error) {
	var names []string
	files := d.FS()
	err := fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.IsDir():
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	var b strings.Builder
	var unseen []string
	for _, name := range names {
		if secrets.Named(name) {
			unseen = append(unseen, name+" (its name says that it holds secrets)")
			continue
		}
		data, err := fs.ReadFile(files, name)
		if err != nil || !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
			unseen = append(unseen, name+" (no text)")
			continue
		}
		room := maxShown - b.Len() - len(name)
		text, next := Numbered(string(data), 1, room)
		if next > 0 && name != skill.FileName || room < 0 {
			unseen = append(unseen, fmt.Sprintf("%s (%s)", name, diag.Size(int64(len(data)))))
			continue
		}
		b.WriteString("=== " + name + "\n" + text + more(next))
	}
	for i, name := range unseen {
		if i == 0 {
			b.WriteString("=== not shown; skl_look shows one\n")
		}
		if i == maxNames {
			fmt.Fprintf(&b, "and %d more\n", len(unseen)-i)
			break
		}
		b.WriteString(diag.Printable(name) + "\n")
	}
	return b.String(), nil
}

// rank is the order in which files are shown.
func rank(name string) int {
	switch {
	case name == skill.FileName:
		return 0
	case name == "ops.md" || name == "references/ops.md" || path.Dir(name) == "ops" || path.Dir(name) == "references/ops":
		return 1
	case path.Ext(name) == ".md":
		return 2
	}
	return 3
}
