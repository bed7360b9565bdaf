package skill

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// carriedPrefix starts the metadata keys that carry a key of another dialect, as
// "skl-claude-model". Their value is the line of the frontmatter at which the key
// stood, from 0, a space, and its lines as they were, comments included.
const carriedPrefix = "skl-"

// carriedName is the metadata key that carries a top-level key; "" for a key of no known dialect.
func carriedName(key string) string {
	k, ok := LookupKey(key)
	if !ok || strings.HasPrefix(key, "metadata.") {
		return ""
	}
	return carriedPrefix + strings.TrimSuffix(k.Dialect, "-code") + "-" + key
}

// stays reports whether a target leaves a key at top level. Limits stay where any
// reader of frontmatter keeps them: only the base format has no place for them.
func stays(target string, f Field) bool {
	if _, isV1 := lookupV1(f.Key); carriedName(f.Key) == "" || isV1 && isV1Shaped(f) {
		return true
	}
	k, _ := LookupKey(f.Key)
	switch {
	case target == "base":
		return false
	case k.Dialect == "intent", f.Key == KeyNoModel, f.Key == KeyNoTools, f.Key == keyUser:
		return true
	}
	return slices.Contains(k.Hosts, targets[target])
}

// pack moves the keys that a target does not read into metadata. Every other byte
// stays. The losses say where each key went. Its error is cannot_convert.
func pack(src []byte, target string) ([]byte, []Loss, error) {
	r, p := open(src)
	if p != nil {
		return src, nil, nil // a SKILL.json describes it
	}
	r.read()
	var moved []Field
	var entries []string
	var losses []Loss
	for _, f := range r.fm.root {
		if stays(target, f) {
			continue
		}
		start, end := r.linesOf(f)
		raw := string(src[start:end])
		if _, ok := carriedField(f.Key, raw); !ok {
			return nil, nil, cannotConvert("the lines of %s cannot be moved", diag.Printable(f.Key))
		}
		line := bytes.Count(src[r.fm.start:start], []byte("\n"))
		name := carriedName(f.Key)
		entries = append(entries, name+": "+quoted(strconv.Itoa(line)+" "+raw))
		moved = append(moved, f)
		losses = append(losses, movedLoss(f, name, target))
	}
	if len(moved) == 0 {
		return src, nil, nil
	}
	if r.fm.flowRoot {
		return nil, nil, cannotConvert("the frontmatter is written in braces")
	}
	at, text, err := r.metadataInsert(entries)
	if err != nil {
		return nil, nil, err
	}
	out := Apply(src, append([]diag.Fix{{Start: at, End: at, Text: text}}, r.cuts(moved)...))
	if !sameRest(r.fm.root, out, moved, nil) {
		return nil, nil, cannotConvert("another key would change")
	}
	return out, losses, nil
}

// movedLoss says that a target does not read a key, which metadata keeps.
func movedLoss(f Field, name, target string) Loss {
	code, severity := LossField, diag.SeverityInfo
	switch f.Key {
	case "paths", "when_to_use", "when-to-use":
		code, severity = LossTrigger, diag.SeverityWarning
	case "arguments", "argument-hint":
		code = LossArgs
	case "hooks": // one may deny what a tool would do
		code, severity = LossEnforce, diag.SeverityWarning
	}
	return Loss{Code: code, Field: f.Key, From: f.Key, To: "metadata." + name, Line: f.KeySpan.Line, Severity: severity, Text: f.Key + " is not read by " + target + "; it is kept in metadata"}
}

// actingKeys are those by which a host does something of its own accord: it runs commands, calls a tool, starts an agent.
var actingKeys = []string{"agent", "command-dispatch", "command-tool", "context", "hooks"}

// revived are the acting keys that a conversion brings back from metadata, where no host obeyed them: whoever wrote them there need not be a conversion.
func (r *reader) revived(before *Document) (losses []Loss) {
	for _, f := range r.fm.root {
		if _, was := find(before.Fields, f.Key); was || !slices.Contains(actingKeys, f.Key) {
			continue
		}
		name := "metadata." + carriedName(f.Key)
		start, end := r.linesOf(f)
		raw := strings.Join(strings.Fields(string(r.fm.src[start:end])), " ")
		losses = append(losses, Loss{Code: LossWiden, Field: f.Key, From: name, To: f.Key, Line: before.lineOf(carriedName(f.Key)), Severity: diag.SeverityError,
			Text: f.Key + " comes back from " + name + " and acts again: " + diag.Brief(diag.Printable(raw), 300)})
	}
	return losses
}

// linesOf are the offsets of the lines of a top-level field.
func (r *reader) linesOf(f Field) (start, end int) {
	cut := r.cuts([]Field{f})[0]
	return cut.Start, cut.End
}

// carriedField reads lines that were carried: exactly one field, with this key.
func carriedField(key, raw string) (Field, bool) {
	if !strings.HasSuffix(raw, "\n") {
		return Field{}, false
	}
	r, p := open([]byte("---\n" + raw + "---\n"))
	if p != nil || len(r.fm.root) != 1 || r.fm.end-r.fm.start != len(raw) || r.fm.flowRoot || r.fm.root[0].Key != key || r.fm.root[0].KeySpan.Line != 2 {
		return Field{}, false
	}
	return r.fm.root[0], true
}

// A carried field is one that metadata keeps for another dialect.
type carried struct {
	entry Field  // in metadata
	field Field  // that was at top level
	line  int    // of the frontmatter, from 0
	raw   string // its lines
}

// carriedFields are the entries of metadata that can become top-level keys again.
func (r *reader) carriedFields() []carried {
	meta, _ := find(r.fm.root, "metadata")
	var out []carried
	for _, m := range meta.Value.Fields {
		rest, ok := strings.CutPrefix(m.Key, carriedPrefix)
		_, key, found := strings.Cut(rest, "-")
		if !ok || !found || carriedName(key) != m.Key || m.Value.Kind != Scalar {
			continue
		}
		number, raw, _ := strings.Cut(m.Value.Text, " ")
		line, err := strconv.Atoi(number)
		f, ok := carriedField(key, raw)
		if _, there := find(r.fm.root, key); err != nil || line < 0 || !ok || there {
			continue
		}
		out = append(out, carried{m, f, line, raw})
	}
	slices.SortStableFunc(out, func(a, b carried) int { return a.line - b.line })
	return out
}

// unpack is the inverse of pack. An entry that carries no key, or one that stands
// at top level already, stays. Lines that no longer fit at their place go to the end.
func unpack(src []byte) []byte {
	r, p := open(src)
	if p != nil || r.fm.flowRoot {
		return src
	}
	all := r.carriedFields()
	if len(all) == 0 {
		return src
	}
	rest := Apply(src, r.entryCuts(all))
	var restored []Field
	for _, c := range all {
		restored = append(restored, c.field)
	}
	for _, atEnd := range []bool{false, true} {
		if out := insertLines(rest, all, atEnd); sameRest(r.fm.root, out, nil, restored) {
			return out
		}
	}
	return src
}

// entryCuts removes entries from metadata, and metadata with them where pack wrote it.
func (r *reader) entryCuts(all []carried) []diag.Fix {
	meta, _ := find(r.fm.root, "metadata")
	is := func(f Field) bool {
		return slices.ContainsFunc(all, func(c carried) bool { return c.entry.Key == f.Key })
	}
	if meta.Value.Style == Flow {
		return flowCutsOf(meta.Value.Fields, is)
	}
	var entries []Field
	for _, c := range all {
		entries = append(entries, c.entry)
	}
	start, end := r.linesOf(meta)
	head := "metadata:" + r.lineBreak()
	if len(entries) == len(meta.Value.Fields) && end == r.fm.end && strings.HasPrefix(string(r.fm.src[start:end]), head) {
		return r.cuts([]Field{meta})
	}
	return r.cuts(entries)
}

// insertLines puts lines back into the frontmatter, each at its line or at the end.
func insertLines(src []byte, all []carried, atEnd bool) []byte {
	fm, p := split(src)
	if p != nil {
		return src
	}
	out := bytes.Clone(src[:fm.start])
	rest, line := src[fm.start:fm.end], 0
	for _, c := range all {
		for (line < c.line || atEnd) && len(rest) > 0 {
			n := nextLine(rest, 0, len(rest))
			out = append(out, rest[:n]...)
			rest = rest[n:]
			line++
		}
		out = append(out, c.raw...)
		line += strings.Count(c.raw, "\n")
	}
	out = append(out, rest...)
	return append(out, src[fm.end:]...)
}

// sameRest reports whether a changed file says what before did, but for the fields
// that were moved into metadata, or that came out of it. Entries that carry keys aside,
// metadata must be the same.
func sameRest(before []Field, after []byte, moved, restored []Field) bool {
	r, p := open(after)
	if p != nil {
		return false
	}
	want := fieldFacts(append(slices.DeleteFunc(slices.Clone(before), func(f Field) bool { _, is := find(moved, f.Key); return is }), restored...))
	_, same := sameFacts(want, fieldFacts(r.fm.root))
	return same
}

// fieldFacts gives each field its JSON; metadata has one for each entry that carries nothing.
func fieldFacts(fields []Field) map[string]string {
	out := map[string]string{}
	for _, f := range fields {
		if f.Key != "metadata" || f.Value.Kind != Map {
			if f.Key == "metadata" && f.Value.IsNull() {
				continue
			}
			text, err := appendJSON(nil, f.Value)
			if err != nil {
				text = []byte(f.Value.Text)
			}
			out[f.Key] = string(text)
			continue
		}
		for _, m := range f.Value.Fields {
			if text, err := appendJSON(nil, m.Value); err == nil && !strings.HasPrefix(m.Key, carriedPrefix) {
				out["metadata."+m.Key] = string(text)
			}
		}
	}
	return out
}
