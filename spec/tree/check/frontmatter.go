package check

import (
	"regexp"
	"strings"
	"sync"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/skill"
	"github.com/skl-project/skl/spec/tree"
)

// movable is the key that means the same below metadata. One that changes what a
// host does, such as user-invocable, is moved by its author alone.
const movable = "argument-hint"

// Limit reports whether a key of hosts keeps a skill from something, so that moving it below metadata would grant more.
func Limit(f skill.Field) bool {
	switch f.Key {
	case "disable-model-invocation":
		return !strings.EqualFold(strings.TrimSpace(f.Value.Text), "false")
	case "user-invocable":
		return !strings.EqualFold(strings.TrimSpace(f.Value.Text), "true")
	case "disallowed-tools", "hooks", "paths":
		return true
	}
	return false
}

// frontmatter checks the keys that a skill with a tree has.
func (c *checker) frontmatter() {
	d := c.skill.Doc
	if d == nil {
		return
	}
	for _, f := range d.Fields {
		if known, ok := skill.LookupKey(f.Key); ok && !(f.Key == "arguments" && d.V1 != nil) {
			if Limit(f) {
				c.report(RootKey, pos(c.skill.File, f.KeySpan), f.Key+" is a limit that hosts keep only where it stands: it may stay").Severity = diag.SeverityInfo
				continue
			}
			c.report(RootKey, pos(c.skill.File, f.KeySpan), f.Key+" is a key of "+known.Dialect+": beside a tree it stands below metadata").Fix = c.moveKey(f)
		}
	}
	if _, ok := field(d.Fields, "compatibility"); !ok {
		c.report(NoCompat, tree.Pos{File: c.skill.File, Line: 1}, "compatibility is missing: it says that the tree needs a runtime").
			Fix = c.insertKey("compatibility: " + CanonicalCompatibility)
	} else if text := d.Compatibility; text != "" {
		f, _ := field(d.Fields, "compatibility")
		at := pos(c.skill.File, f.Value.Span)
		if !strings.Contains(text, skill.RuntimeName) {
			c.report(CompatText, at, "compatibility does not name canopy-runtime")
		} else if !address().MatchString(text) && !strings.Contains(strings.ToLower(text), "install") {
			c.report(CompatText, at, "compatibility does not say where canopy-runtime is found")
		}
		if ways := installs().FindAllString(text, -1); len(ways) == 1 && !strings.Contains(text, "any ") {
			c.report(OneInstall, at, "compatibility prescribes one way to install the runtime, "+ways[0]+": name others too")
		}
	}
}

var address = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[a-z0-9-]+\.[a-z]{2,}/[\w.-]+/[\w.-]+`)
})

var installs = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`gh skill install|git clone|install\.sh|install\.ps1|plugin (?:marketplace|install)|skl install|npx [\w@/-]+|curl `)
})

func pos(file string, s skill.Span) tree.Pos {
	return tree.Pos{File: file, Line: s.Line, Column: s.Column}
}

func field(fields []skill.Field, key string) (skill.Field, bool) {
	for _, f := range fields {
		if f.Key == key {
			return f, true
		}
	}
	return skill.Field{}, false
}

// keyLine returns the offset of the line on which key i of the frontmatter starts,
// or of the closing fence behind the last one; ok is false unless every key starts
// a line of its own.
func (c *checker) keyLine(i int) (at int, ok bool) {
	d, f := c.skill.Doc, c.source(c.skill.File)
	if f == nil || d == nil || len(d.Fields) == 0 {
		return 0, false
	}
	for _, k := range d.Fields {
		if k.KeySpan.Column != 1 || k.KeySpan.Start > len(f.text) || k.KeySpan.Start != f.offset(k.KeySpan.Line) {
			return 0, false
		}
	}
	if i < len(d.Fields) {
		return d.Fields[i].KeySpan.Start, true
	}
	n := d.BodyLine - 1
	line, at := f.line(n)
	if strings.TrimRight(line, " \t") != "---" {
		n-- // the file ends with the fence
		if line, at = f.line(n); strings.TrimRight(line, " \t") != "---" {
			return 0, false
		}
	}
	return at, true
}

// insertKey writes a line behind the description.
func (c *checker) insertKey(line string) *diag.Fix {
	i := 0
	for k, f := range c.skill.Doc.Fields {
		if f.Key == "description" {
			i = k + 1
		}
	}
	at, ok := c.keyLine(i)
	if !ok {
		return nil
	}
	return &diag.Fix{Note: "insert the key", Start: at, End: at, Text: line + c.source(c.skill.File).newline()}
}

// moveKey is the splice that moves a key of one line below metadata. It rewrites
// all lines in between, for a Fix is one splice.
func (c *checker) moveKey(f skill.Field) *diag.Fix {
	d, src := c.skill.Doc, c.source(c.skill.File)
	i := -1
	for k := range d.Fields {
		if d.Fields[k].Key == f.Key {
			i = k
		}
	}
	start, ok := c.keyLine(i)
	if !ok || f.Value.Kind != skill.Scalar || f.Key != movable {
		return nil
	}
	end, ok := c.keyLine(i + 1)
	if !ok || strings.Count(src.text[start:end], "\n") != 1 {
		return nil
	}
	line, nl := src.text[start:end], src.newline()
	meta, ok := field(d.Fields, "metadata")
	if !ok {
		if c.created {
			return nil
		}
		c.created = true
		return &diag.Fix{Note: "move the key below metadata", Start: start, End: end, Text: "metadata:" + nl + "  " + line}
	}
	if _, twice := field(meta.Value.Fields, f.Key); twice || meta.Value.Kind != skill.Map || meta.Value.Style != skill.Lines || len(meta.Value.Fields) == 0 {
		return nil
	}
	first := meta.Value.Fields[0].KeySpan
	to := src.offset(first.Line)
	indent := src.text[to:first.Start]
	if strings.Trim(indent, " ") != "" {
		return nil
	}
	if to > start {
		return &diag.Fix{Note: "move the key below metadata", Start: start, End: to, Text: src.text[end:to] + indent + line}
	}
	return &diag.Fix{Note: "move the key below metadata", Start: to, End: end, Text: indent + line + src.text[to:start]}
}
