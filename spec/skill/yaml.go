package skill

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/skl-project/skl/spec/diag"
	"go.yaml.in/yaml/v4"
)

// MaxDepth is how deep maps and lists may nest, the frontmatter's own map included.
const MaxDepth = 8

// parse fills fm.root from the YAML text, which must keep to the profile: one
// document, a mapping with unique string keys, no anchors, aliases, tags or merge keys.
// Text that is no YAML is tried once more with its colon-containing plain values
// quoted, as hosts do; fm.quotes then says what was quoted.
func (fm *frontmatter) parse() *diag.Finding {
	if p := fm.checkText(); p != nil {
		return p
	}
	text := fm.src[fm.start:fm.end]
	node, err := load(text)
	if err == nil {
		return fm.build(&builder{fm: fm, text: text}, node)
	}
	fixes := quoteColons(text, fm.start)
	if len(fixes) == 0 {
		return fm.loadProblem(err)
	}
	mended := Apply(fm.src[:fm.end], fixes)[fm.start:]
	node, retryErr := load(mended)
	if retryErr != nil {
		return fm.loadProblem(err)
	}
	fm.quotes = fixes
	return fm.build(&builder{fm: fm, text: mended, edits: fixes}, node)
}

// load parses text into its root node, nil for text without content.
func load(text []byte) (*yaml.Node, error) {
	var doc yaml.Node
	if err := yaml.Load(text, &doc, yaml.WithPlugin(depthLimit{})); err != nil {
		var several *yaml.LoadErrors
		if errors.As(err, &several) && strings.Contains(err.Error(), "no documents") {
			return nil, nil
		}
		return nil, err
	}
	if len(doc.Content) == 0 {
		return nil, nil
	}
	return doc.Content[0], nil
}

// A depthLimit stops the parser early on text that only nests.
type depthLimit struct{}

// CheckDepth leaves the exact limit to the builder, which counts nodes rather than brackets.
func (depthLimit) CheckDepth(depth int, _ *yaml.DepthContext) error {
	if depth > 4*MaxDepth {
		return errTooDeep
	}
	return nil
}

func (depthLimit) CheckAlias(int, int) error { return nil }

// notYAML begins what is said of text that is no YAML at all.
const notYAML = "the frontmatter is not YAML: "

var errTooDeep = errors.New("lists and maps nest too deep")

func (fm *frontmatter) loadProblem(err error) *diag.Finding {
	var several *yaml.LoadErrors
	if errors.As(err, &several) {
		return fm.problemAt(RuleYAMLDocuments, fm.start, "the frontmatter holds more than one YAML document")
	}
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return fm.problemAt(RuleYAMLSyntax, fm.start, notYAML+"%s", diag.Printable(err.Error()))
	}
	if strings.Contains(err.Error(), errTooDeep.Error()) {
		return fm.problemAt(RuleYAMLDepth, fm.start, "lists and maps nest deeper than %d levels", MaxDepth)
	}
	b := &builder{fm: fm, text: fm.src[fm.start:fm.end]}
	return fm.problemAt(RuleYAMLSyntax, fm.start+b.offset(at.Mark.Line, at.Mark.Column), notYAML+"%s", diag.Printable(at.Message))
}

// build turns node into fm.root.
func (fm *frontmatter) build(b *builder, node *yaml.Node) *diag.Finding {
	if node == nil {
		return nil
	}
	if node.Kind != yaml.MappingNode && node.Kind != yaml.AliasNode {
		return fm.problemAt(RuleYAMLRoot, fm.start, "the frontmatter is not a map of keys and values")
	}
	b.start()
	root := b.value(node, 1, 0)
	if b.problem != nil {
		return b.problem
	}
	fm.root, fm.flowRoot = root.Fields, root.Style == Flow
	return nil
}

// A builder turns yaml nodes into values and finds where they end. Offsets are
// those of text until place maps them to the file.
type builder struct {
	fm      *frontmatter
	text    []byte
	edits   []diag.Fix // made to the file's YAML text to get text
	lines   []int      // offsets in text of its lines
	ascii   bool
	problem *diag.Finding // the first
}

func (b *builder) start() {
	b.lines = make([]int, 1, len(b.fm.lines)+1)
	b.ascii = true
	for i, c := range b.text {
		if c == '\n' {
			b.lines = append(b.lines, i+1)
		}
		b.ascii = b.ascii && c < utf8.RuneSelf
	}
}

// offset returns where the parser's line and column (from 1, in characters) are in text.
func (b *builder) offset(line, column int) int {
	if b.lines == nil {
		b.start()
	}
	if line < 1 || line > len(b.lines) {
		return len(b.text)
	}
	at := b.lines[line-1]
	if b.ascii {
		return min(at+column-1, len(b.text))
	}
	for ; column > 1 && at < len(b.text); column-- {
		_, w := utf8.DecodeRune(b.text[at:])
		at += w
	}
	return at
}

// place is the span in the file of text[start:end].
func (b *builder) place(start, end int) Span {
	return b.fm.span(b.fm.start+b.back(start), b.fm.start+b.back(end))
}

// back maps an offset of text to one of the file's YAML text.
func (b *builder) back(at int) int {
	grown := 0
	for _, e := range b.edits {
		start := e.Start - b.fm.start + grown
		if at <= start {
			break
		}
		if at < start+len(e.Text) {
			return e.Start - b.fm.start
		}
		grown += len(e.Text) - (e.End - e.Start)
	}
	return at - grown
}

func (b *builder) fail(rule string, offset int, format string, args ...any) {
	if b.problem == nil {
		b.problem = b.fm.problemAt(rule, b.fm.start+b.back(offset), format, args...)
	}
}

// value converts n, which is depth levels deep; indent is the column of the block
// collection that holds it, from 0. The Span of the result counts in the file.
func (b *builder) value(n *yaml.Node, depth, indent int) Value {
	v, _ := b.convert(n, depth, indent)
	return v
}

// convert also returns where n ends in text.
func (b *builder) convert(n *yaml.Node, depth, indent int) (Value, int) {
	start := b.offset(n.Line, n.Column)
	if !b.allowed(n, start, depth) {
		return Value{}, start
	}
	v, end := Value{}, start
	switch n.Kind {
	case yaml.ScalarNode:
		v.Text = n.Value
		v.Style, end = b.scalar(n, start, indent)
	case yaml.SequenceNode:
		v.Kind, v.Style, v.Items = List, Lines, make([]Value, 0, len(n.Content))
		for _, c := range n.Content {
			var item Value
			item, end = b.convert(c, depth+1, n.Column-1)
			v.Items = append(v.Items, item)
		}
	case yaml.MappingNode:
		v.Kind, v.Style, v.Fields = Map, Lines, make([]Field, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			var f Field
			f, end = b.field(n.Content[i], n.Content[i+1], depth, n.Column-1)
			v.Fields = append(v.Fields, f)
		}
		b.unique(v.Fields)
	}
	if n.Style&yaml.FlowStyle != 0 {
		v.Style = Flow
		// A pair in a list needs no braces of its own, as in [a: b].
		if pair := n.Kind == yaml.MappingNode && !bytes.HasPrefix(b.text[start:], []byte("{")); !pair {
			end = b.closing(max(end, start+1))
		}
	}
	v.Span = b.place(start, end)
	return v, end
}

func (b *builder) allowed(n *yaml.Node, start, depth int) bool {
	if b.problem != nil {
		return false
	}
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		b.fail(RuleYAMLAnchor, start, "anchors and aliases are not allowed in a frontmatter")
	case n.Style&yaml.TaggedStyle != 0 || n.Tag == "!":
		b.fail(RuleYAMLTag, start, "tags are not allowed in a frontmatter")
	case depth > MaxDepth && n.Kind != yaml.ScalarNode:
		b.fail(RuleYAMLDepth, start, "lists and maps nest deeper than %d levels", MaxDepth)
	}
	return b.problem == nil
}

func (b *builder) field(key, value *yaml.Node, depth, indent int) (Field, int) {
	k, end := b.convert(key, depth+1, indent)
	switch {
	case b.problem != nil:
		return Field{}, end
	case key.Tag == "!!merge":
		b.fail(RuleYAMLMerge, b.offset(key.Line, key.Column), "merge keys are not allowed in a frontmatter")
	case key.Kind != yaml.ScalarNode || key.Tag != "!!str" || k.Style == Block:
		b.fail(RuleYAMLKey, b.offset(key.Line, key.Column), "a key is not a string; quote it")
	case !bytes.HasPrefix(bytes.TrimLeft(b.text[end:], " \t"), []byte(":")):
		b.fail(RuleYAMLKey, b.offset(key.Line, key.Column), "key %q is not followed by a colon", diag.Printable(k.Text))
	}
	if b.problem != nil {
		return Field{}, end
	}
	v, end := b.convert(value, depth+1, indent)
	return Field{Key: k.Text, KeySpan: k.Span, Value: v}, end
}

func (b *builder) unique(fields []Field) {
	if b.problem != nil || len(fields) < 2 {
		return
	}
	duplicate := func(f Field) {
		b.problem = problem(RuleYAMLDuplicate, f.KeySpan.Line, f.KeySpan.Column, "key %q appears twice", diag.Printable(f.Key))
	}
	if len(fields) <= 16 {
		for i, f := range fields {
			if _, found := find(fields[:i], f.Key); found {
				duplicate(f)
				return
			}
		}
		return
	}
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.Key] {
			duplicate(f)
			return
		}
		seen[f.Key] = true
	}
}

// scalar returns the style of n and where it ends.
func (b *builder) scalar(n *yaml.Node, start, indent int) (Style, int) {
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return Block, b.blockEnd(start, indent)
	case n.Style&yaml.DoubleQuotedStyle != 0:
		for i := start + 1; i < len(b.text); i++ {
			switch b.text[i] {
			case '\\':
				i++
			case '"':
				return Quoted, i + 1
			}
		}
		return Quoted, len(b.text)
	case n.Style&yaml.SingleQuotedStyle != 0:
		for i := start + 1; i < len(b.text); i++ {
			if b.text[i] != '\'' {
				continue
			}
			if i+1 == len(b.text) || b.text[i+1] != '\'' {
				return Quoted, i + 1
			}
			i++
		}
		return Quoted, len(b.text)
	}
	return Plain, b.plainEnd(start, n.Value)
}

// plainEnd walks along a plain scalar. Its text is its source, except that each
// run of blanks around line ends became one space, or one line end per empty line.
func (b *builder) plainEnd(start int, value string) int {
	if bytes.HasPrefix(b.text[start:], []byte(value)) {
		return start + len(value)
	}
	at := start
	for i := 0; i < len(value) && at < len(b.text); {
		if !isBlank(value[i]) {
			i++
			at++
			continue
		}
		for i < len(value) && isBlank(value[i]) {
			i++
		}
		for at < len(b.text) && isBlank(b.text[at]) {
			at++
		}
	}
	return at
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// blockEnd returns the end of the last line with text of a block scalar whose
// header is at start: all following lines that are empty or deeper than indent.
func (b *builder) blockEnd(start, indent int) int {
	line := b.text[start:]
	if i := bytes.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	at := start + len(line)
	end := start + len(bytes.TrimRight(line, " \t\r"))
	for at < len(b.text) {
		at++
		line := b.text[at:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		trimmed := bytes.TrimRight(line, " \t\r")
		if len(trimmed) > 0 {
			if len(line)-len(bytes.TrimLeft(line, " ")) <= indent {
				break
			}
			end = at + len(trimmed)
		}
		at += len(line)
	}
	return end
}

// closing returns the offset behind the bracket that closes a flow collection
// whose last element ends at at.
func (b *builder) closing(at int) int {
	for at < len(b.text) {
		switch c := b.text[at]; {
		case c == ']' || c == '}':
			return at + 1
		case c == '#':
			for at < len(b.text) && b.text[at] != '\n' {
				at++
			}
		default:
			at++
		}
	}
	return len(b.text)
}
