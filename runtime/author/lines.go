package author

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
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

// Numbered is a text with the anchor of each line before it: 12:ab3f|text.
func Numbered(data string) string {
	var b strings.Builder
	for i, line := range split(data).lines {
		b.WriteString(anchor(i+1, line) + "|" + line + "\n")
	}
	return b.String()
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
		data, err := fs.ReadFile(files, name)
		if err != nil || !utf8.Valid(data) || strings.ContainsRune(string(data), 0) {
			unseen = append(unseen, name+" (no text)")
			continue
		}
		part := "=== " + name + "\n" + Numbered(string(data))
		if b.Len()+len(part) > maxShown {
			unseen = append(unseen, fmt.Sprintf("%s (%s)", name, diag.Size(int64(len(data)))))
			continue
		}
		b.WriteString(part)
	}
	for i, name := range unseen {
		if i == 0 {
			b.WriteString("=== not shown\n")
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
