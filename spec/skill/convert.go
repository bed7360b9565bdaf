package skill

import (
	"bytes"
	"slices"
	"sort"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// ToPortable moves the keys of corteza.skill/v1 from top level into metadata
// (encoding B), so that every host and validator of the base format accepts the
// file. All other bytes stay. What is lost: comments on the moved lines, and trust, which
// is never carried.
//
// A file without top-level keys of corteza.skill/v1 comes back unchanged. Files
// whose keys have errors, or whose frontmatter is in braces, are refused with
// code E_FORMAT_UNSUPPORTED, E_DUAL_ENCODING, E_YAML, E_NO_DESCRIPTION or "cannot_convert".
func ToPortable(src []byte) ([]byte, error) {
	r, err := convertible(src)
	if err != nil {
		return nil, err
	}
	if r.doc.V1 == nil || r.doc.V1.Encoding == Portable {
		return bytes.Clone(src), nil
	}
	top := r.topLevelKeys()
	var edits []diag.Fix
	if len(r.portableKeys()) == 0 { // else metadata says the same already
		entries, err := portableEntries(top)
		if err != nil {
			return nil, err
		}
		at, text, err := r.metadataInsert(entries)
		if err != nil {
			return nil, err
		}
		edits = append(edits, diag.Fix{Start: at, End: at, Text: text}) // before a cut at the same place
	}
	return r.converted(append(edits, r.cuts(top)...))
}

// ToTopLevel moves metadata.corteza-* entries to keys of their own at the end of
// the frontmatter (encoding A). It is the inverse of [ToPortable] and refuses the same.
func ToTopLevel(src []byte) ([]byte, error) {
	r, err := convertible(src)
	if err != nil {
		return nil, err
	}
	if r.doc.V1 == nil || len(r.portableKeys()) == 0 {
		return bytes.Clone(src), nil
	}
	meta, _ := find(r.fm.root, "metadata")
	var moved []Field
	for _, f := range meta.Value.Fields {
		if _, _, ok := portableKey(f.Key); ok {
			moved = append(moved, f)
		}
	}
	var edits []diag.Fix
	switch {
	case len(moved) == len(meta.Value.Fields):
		edits = r.cuts([]Field{meta})
	case meta.Value.Style == Flow:
		edits = flowCuts(meta.Value.Fields)
	default:
		edits = r.cuts(moved)
	}
	if r.doc.V1.Encoding == Portable {
		top := r.topLevelKeys()
		added := slices.DeleteFunc(r.portableKeys(), func(f Field) bool { _, both := find(top, f.Key); return both })
		text, err := topLevelText(added, r.lineBreak())
		if err != nil {
			return nil, err
		}
		edits = append(edits, diag.Fix{Start: r.fm.end, End: r.fm.end, Text: text})
	}
	return r.converted(edits)
}

//go:noinline
func cannotConvert(format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, "cannot_convert", "the encoding cannot be changed: "+format, args...).
		At(diag.Position{File: FileName})
}

// convertible reads src and refuses what a conversion could change the meaning of.
func convertible(src []byte) (*reader, error) {
	if _, err := Read(src); err != nil {
		return nil, err
	}
	r, _ := open(src)
	r.read()
	if r.doc.Problem != nil {
		return nil, r.doc.Problem
	}
	for _, f := range r.findings {
		if r.doc.V1 != nil && strings.HasPrefix(f.Rule, "V1-") && lookupRule(f.Rule).Severity == diag.SeverityError {
			return nil, cannotConvert("%s", f.Message).Hint("skl lint")
		}
	}
	switch {
	case r.doc.V1 == nil:
	case r.fm.flowRoot:
		return nil, cannotConvert("the frontmatter is written in braces")
	case len(r.fm.quotes) > 0:
		return nil, cannotConvert("a value with a colon is not quoted").Hint("skl lint --fix")
	}
	return r, nil
}

// converted makes edits and checks that they changed no key's meaning.
func (r *reader) converted(edits []diag.Fix) ([]byte, error) {
	out := Apply(r.fm.src, edits)
	after, p := open(out)
	if p != nil {
		return nil, cannotConvert("%s", p.Message)
	}
	after.read()
	if key, same := sameFacts(r.allFacts(), after.allFacts()); !same {
		return nil, cannotConvert("%s would change", key)
	}
	return out, nil
}

// allFacts gives the keys of corteza.skill, in whichever encoding, and all other fields.
func (r *reader) allFacts() map[string]string {
	top, portable := r.topLevelKeys(), r.portableKeys()
	out := facts(portable)
	for k, v := range facts(top) {
		out[k] = v
	}
	for _, f := range r.fm.root {
		_, isV1 := lookupV1(f.Key)
		switch {
		case isV1 || isExtension(f.Key):
		case f.Key == "metadata":
			for _, m := range f.Value.Fields {
				if _, _, ok := portableKey(m.Key); !ok {
					text, _ := appendJSON(nil, m.Value)
					out["metadata."+m.Key] = string(text)
				}
			}
		default:
			text, _ := appendJSON(nil, f.Value)
			out[f.Key] = string(text)
		}
	}
	return out
}

// cuts removes the lines of fields.
func (r *reader) cuts(fields []Field) []diag.Fix {
	var edits []diag.Fix
	for _, f := range fields {
		start := f.KeySpan.Start - (f.KeySpan.Column - 1)
		edits = append(edits, diag.Fix{Start: start, End: nextLine(r.fm.src, max(f.Value.End, f.KeySpan.End), r.fm.end)})
	}
	return edits
}

// flowCuts removes the fields of encoding B from a map in braces.
func flowCuts(fields []Field) []diag.Fix {
	return flowCutsOf(fields, func(f Field) bool { _, _, moved := portableKey(f.Key); return moved })
}

// flowCutsOf removes fields from a map in braces: each with the comma before it, or
// behind it where no other stays before it.
func flowCutsOf(fields []Field, is func(Field) bool) []diag.Fix {
	var edits []diag.Fix
	kept := false
	for i, f := range fields {
		switch {
		case !is(f):
			kept = true
		case kept:
			edits = append(edits, diag.Fix{Start: fields[i-1].Value.End, End: f.Value.End})
		case i+1 == len(fields):
			edits = append(edits, diag.Fix{Start: f.KeySpan.Start, End: f.Value.End})
		default:
			edits = append(edits, diag.Fix{Start: f.KeySpan.Start, End: fields[i+1].KeySpan.Start})
		}
	}
	return edits
}

func (r *reader) lineBreak() string {
	if bytes.HasSuffix(r.fm.src[:r.fm.start], []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// portableEntries spells keys as "corteza-key: value" lines, in the fixed order.
func portableEntries(keys []Field) ([]string, error) {
	var entries []string
	add := func(name string, s shape, v Value) error {
		text, err := encodePortable(s, v)
		entries = append(entries, portableName(name)+": "+scalarYAML(text))
		return err
	}
	for _, k := range v1Keys {
		f, ok := find(keys, k.name)
		switch {
		case !ok || k.name == "trust":
		case k.shape == shapeTools:
			for _, part := range []string{"allow", "deny"} {
				if list, ok := f.Value.Get(part); ok {
					if err := add("tools_"+part, shapeNames, list); err != nil {
						return nil, err
					}
				}
			}
		default:
			if err := add(k.name, k.shape, f.Value); err != nil {
				return nil, err
			}
		}
	}
	for _, f := range extensions(keys) {
		text, err := encodePortable(shapeTyped, f.Value)
		if err != nil {
			return nil, err
		}
		entries = append(entries, scalarYAML(portablePrefix+f.Key)+": "+scalarYAML(text))
	}
	return entries, nil
}

// extensions returns the x-* fields sorted by key.
func extensions(keys []Field) []Field {
	var out []Field
	for _, f := range keys {
		if isExtension(f.Key) {
			out = append(out, f)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Key < out[j].Key })
	return out
}

// metadataInsert returns where entries go and the text to insert there.
func (r *reader) metadataInsert(entries []string) (at int, text string, err error) {
	eol := r.lineBreak()
	meta, found := find(r.fm.root, "metadata")
	lines := func(indent string) string {
		return indent + strings.Join(entries, eol+indent) + eol
	}
	switch {
	case !found:
		return r.fm.end, "metadata:" + eol + lines("  "), nil
	case meta.Value.IsNull() && meta.Value.Text == "":
		return nextLine(r.fm.src, meta.KeySpan.End, r.fm.end), lines("  "), nil
	case meta.Value.Kind != Map:
		return 0, "", cannotConvert("metadata is not a map")
	case meta.Value.Style == Flow:
		text := strings.Join(entries, ", ")
		if len(meta.Value.Fields) > 0 {
			text = ", " + text
		}
		return meta.Value.End - 1, text, nil
	}
	last := meta.Value.Fields[len(meta.Value.Fields)-1]
	indent := strings.Repeat(" ", meta.Value.Column-1)
	return nextLine(r.fm.src, max(last.Value.End, last.KeySpan.End), r.fm.end), lines(indent), nil
}

// nextLine returns the start of the line after at.
func nextLine(src []byte, at, limit int) int {
	if i := bytes.IndexByte(src[at:limit], '\n'); i >= 0 {
		return at + i + 1
	}
	return limit
}

// topLevelText spells keys as lines of their own, in the fixed order.
func topLevelText(keys []Field, eol string) (string, error) {
	var b strings.Builder
	line := func(indent, key string, v Value, typed bool) error {
		text, err := appendFlow(nil, v, typed)
		b.WriteString(indent + scalarYAML(key) + ": " + string(text) + eol)
		return err
	}
	for _, k := range v1Keys {
		f, ok := find(keys, k.name)
		if !ok {
			continue
		}
		if f.Value.Kind == Map && (k.shape == shapeTools || k.shape == shapeOrigin) && len(f.Value.Fields) > 0 {
			b.WriteString(k.name + ":" + eol)
			for _, part := range f.Value.Fields {
				if err := line("  ", part.Key, part.Value, false); err != nil {
					return "", err
				}
			}
			continue
		}
		typed := k.shape == shapeTyped || k.shape == shapeBool
		if err := line("", k.name, f.Value, typed); err != nil {
			return "", err
		}
	}
	for _, f := range extensions(keys) {
		if err := line("", f.Key, f.Value, true); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}
