package skillify

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/pkgdoc"
	"github.com/skl-project/skl/spec/skill"
)

// A part is a piece of a file that is kept or replaced as a whole: a key of the frontmatter, or a heading with what is below it up to
// the next one. The parts of a file are all of its text, in order. A file that is not Markdown is one part.
type part struct {
	key  string // unique in the file, and the same in the file of another version of the package
	text string
}

// title is the heading of the part for people; of a key of the frontmatter, the key.
func (p *part) title() string {
	line, _, _ := strings.Cut(p.text, "\n")
	if frontKey(p.key) {
		return strings.TrimPrefix(p.key, frontPrefix)
	}
	if level(line) > 0 {
		return strings.TrimSpace(line)
	}
	return ""
}

const frontPrefix = "front:"

func frontKey(key string) bool { return strings.HasPrefix(key, frontPrefix) }

// stampKeys are the keys of a stamp: a person who keeps edits of a skill that was made has the second of a pair.
var stampKeys = [][2]string{{"corteza-generated-from", "corteza-derived-from"}, {"generated_from", "derived_from"}}

// sum identifies the key and the text of a part, whatever its line ends are and by whom the stamp says it is.
func (p *part) sum() string {
	text := p.text
	if strings.HasPrefix(p.key, frontPrefix) {
		for _, pair := range stampKeys {
			text = strings.Replace(text, pair[1]+":", pair[0]+":", 1)
		}
	}
	return short16(p.key)[:8] + short16(strings.TrimRight(text, "\n"))
}

func short16(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:8])
}

// parts cuts a file. Its text has the line ends of [unix].
func parts(name, text string) []part {
	if path.Ext(name) != ".md" {
		return []part{{"", text}}
	}
	var out []part
	if name == skill.FileName {
		out, text = front(text)
	}
	return append(out, sections(text)...)
}

// unix is text with LF at its line ends.
func unix(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// front cuts the frontmatter into its keys, and those of metadata; rest is what follows.
func front(text string) (out []part, rest string) {
	if !strings.HasPrefix(strings.TrimPrefix(text, "\ufeff"), "---\n") {
		return nil, text
	}
	count := map[string]int{}
	at, top := 0, ""
	add := func(key string, end int) {
		if at < end {
			out = append(out, part{numbered(count, frontPrefix+key), text[at:end]})
		}
		at = end
	}
	key := ""
	for pos := 0; pos < len(text); {
		end := pos + strings.IndexByte(text[pos:], '\n') + 1
		if end == pos {
			end = len(text)
		}
		line := strings.TrimRight(text[pos:end], "\n")
		switch name, indent, ok := yamlKey(line); {
		case pos > 0 && line == "---":
			add(key, pos)
			add("end", end)
			return out, text[end:]
		case ok && indent == 0:
			add(key, pos)
			key, top = stamp(name), name
		case ok && indent == 2 && top == "metadata":
			add(key, pos)
			key = "metadata." + stamp(name)
		}
		pos = end
	}
	return nil, text // it has no end
}

// yamlKey is the key at the start of a line in block style.
func yamlKey(line string) (name string, indent int, ok bool) {
	indent = len(line) - len(strings.TrimLeft(line, " "))
	name, _, ok = strings.Cut(line[indent:], ":")
	return name, indent, ok && name != "" && name[0] != '-' && !strings.ContainsAny(name, " #\"'{[")
}

// stamp is a key of the frontmatter as skills that nobody edited have it.
func stamp(key string) string {
	for _, pair := range stampKeys {
		if key == pair[1] {
			return pair[0]
		}
	}
	return key
}

// sections cuts Markdown at its headings. The title is no part of the keys: it names a version.
func sections(text string) (out []part) {
	count := map[string]int{}
	var names [7]string
	key, fence, at, first := "", "", 0, true
	for pos := 0; pos < len(text); {
		end := pos + strings.IndexByte(text[pos:], '\n') + 1
		if end == pos {
			end = len(text)
		}
		line := strings.TrimRight(text[pos:end], "\n")
		was := fence
		fence = pkgdoc.Fenced(line, was)
		if n := level(line); n > 0 && fence == "" && was == "" {
			if at < pos {
				out = append(out, part{numbered(count, key), text[at:pos]})
			}
			at = pos
			name := strings.TrimSpace(strings.Trim(line, "# \t"))
			if n == 1 && first {
				name = "" // the title
			}
			first = false
			names[n] = name
			clear(names[n+1:])
			key = strings.Join(names[1:n+1], "\x00") + "\x00"
		}
		pos = end
	}
	if at < len(text) {
		out = append(out, part{numbered(count, key), text[at:]})
	}
	return out
}

// level is that of the heading on a line, 0 if it is none.
func level(line string) int {
	n := len(line) - len(strings.TrimLeft(line, "#"))
	if n == 0 || n > 6 || len(line) > n && line[n] != ' ' && line[n] != '\t' {
		return 0
	}
	return n
}

// numbered is a key that is unique.
func numbered(count map[string]int, key string) string {
	count[key]++
	if n := count[key]; n > 1 {
		return key + "\x01" + strconv.Itoa(n)
	}
	return key
}
