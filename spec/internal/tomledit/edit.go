package tomledit

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/order"
)

// Every edit below leaves the Doc as it was when it returns an error, and leaves
// comments alone that stand outside of what it removes or replaces.

// Set gives path the value raw, which is TOML on one line. A value that is there
// is replaced where it stands. A new one becomes the last key of its table, in
// the form the table has (inline, lines below a header, dotted keys); a table
// that does not exist becomes a [section] at the end of the file.
// Tables that have a header cannot be replaced by a value.
func (d *Doc) Set(path []string, raw string) error {
	body, rest := d.Root, path // the nearest table on the way that has keys of its own
	at := d.Root
	for i, key := range path {
		f := at.field(key)
		if f == nil {
			break
		}
		if i == len(path)-1 {
			if f.Value.form != written {
				return fmt.Errorf("%s is a table and cannot become a value", quotePath(path))
			}
			return d.splice(span{f.Value.Offset, f.Value.end}, raw)
		}
		if f.Value.Kind != Table {
			return fmt.Errorf("%s is %s and cannot hold keys", quotePath(path[:i+1]), f.Value.Kind)
		}
		at = f.Value
		if at.form == header || at.form == written {
			body, rest = at, path[i+1:]
		}
	}
	line := quotePath(rest) + " = " + raw
	switch {
	case body.form == written:
		return d.insertField(body, line)
	case len(rest) == 1 || at.form == dotted:
		return d.insertLine(body, line)
	}
	return d.Append("["+quotePath(path[:len(path)-1])+"]", QuoteKey(path[len(path)-1])+" = "+raw)
}

// Append adds a header and its lines at the end of the file, after a blank line.
func (d *Doc) Append(header string, lines ...string) error {
	eol := d.eol()
	var b strings.Builder
	if n := len(d.src); n > 0 {
		if d.src[n-1] != '\n' {
			b.WriteString(eol)
		}
		if !bytes.HasSuffix(d.src, []byte(eol+eol)) {
			b.WriteString(eol)
		}
	}
	for _, line := range append([]string{header}, lines...) {
		b.WriteString(line + eol)
	}
	return d.splice(span{len(d.src), len(d.src)}, b.String())
}

// Delete removes path and everything below it, and says whether it was there.
// Comments on lines of their own stay, also those inside a removed [section].
func (d *Doc) Delete(path []string) (bool, error) {
	was := d.Root
	before := d.src
	for found := false; ; found = true {
		in, at := d.Root, d.Root
		var f *Field
		for _, key := range path {
			if f = at.field(key); f == nil {
				return found, nil
			}
			if at.form == written {
				in = at
			}
			at = f.Value
		}
		var err error
		if in.form == written {
			err = d.deleteInline(in, f)
		} else {
			err = d.cut(d.lines(f, nil))
		}
		if err != nil {
			d.Root, d.src = was, before
			return false, err
		}
	}
}

// DeleteItem removes element i of the [[path]] tables.
func (d *Doc) DeleteItem(path []string, i int) error {
	item, err := d.item(path, i)
	if err != nil {
		return err
	}
	return d.cut(d.lines(&Field{Value: item}, nil))
}

// SetInItem gives a key of element i of the [[path]] tables the value raw.
func (d *Doc) SetInItem(path []string, i int, key, raw string) error {
	item, err := d.item(path, i)
	if err != nil {
		return err
	}
	if v := item.Get(key); v == nil {
		return d.insertLine(item, QuoteKey(key)+" = "+raw)
	} else if v.form == written {
		return d.splice(span{v.Offset, v.end}, raw)
	}
	return fmt.Errorf("%s is a table and cannot become a value", QuoteKey(key))
}

func (d *Doc) item(path []string, i int) (*Value, error) {
	at := d.at(path)
	if at == nil || at.form != tables || i >= len(at.Items) {
		return nil, fmt.Errorf("%s is not a list of [[%[1]s]] tables, so it cannot be edited", quotePath(path))
	}
	return at.Items[i], nil
}

// at is the value at path, nil if there is none.
func (d *Doc) at(path []string) *Value {
	at := d.Root
	for _, key := range path {
		at = at.Get(key)
	}
	return at
}

// SetStrings makes path the list. An array that is there keeps its comments:
// elements are removed, added at the end and, where the order asks for it, overwritten.
func (d *Doc) SetStrings(path []string, list []string) error {
	at := d.at(path)
	have, ok := at.Strings()
	if ok && slices.Equal(have, list) {
		return nil
	}
	if !ok || !bytes.Contains(d.src[at.Offset:at.end], []byte("\n")) {
		return d.Set(path, QuoteList(list))
	}
	was, before := d.Root, d.src
	err := d.setItems(path, list)
	if err != nil {
		d.Root, d.src = was, before
	}
	return err
}

// setItems drops what is not wanted, makes the length right, and overwrites by position.
func (d *Doc) setItems(path []string, list []string) error {
	array := func() *Value { return d.at(path) }
	for i := len(array().Items) - 1; i >= 0; i-- {
		items := array().Items
		if slices.Contains(list, items[i].Text) && len(items) <= len(list) {
			continue
		}
		before := array().Offset + 1
		if i > 0 {
			before = items[i-1].end
		}
		if err := d.cutElement(before, span{items[i].Offset, items[i].end}); err != nil {
			return err
		}
	}
	for n := len(array().Items); n < len(list); n++ {
		if err := d.insertItem(array(), Quote(list[n])); err != nil {
			return err
		}
	}
	for i, s := range list {
		if item := array().Items[i]; item.Text != s {
			if err := d.splice(span{item.Offset, item.end}, Quote(s)); err != nil {
				return err
			}
		}
	}
	return nil
}

// insertItem adds raw at the end of an array, on a line of its own if the last
// element has one.
func (d *Doc) insertItem(array *Value, raw string) error {
	n := len(array.Items)
	if n == 0 {
		return d.splice(span{array.Offset + 1, array.Offset + 1}, raw)
	}
	end, next := array.Items[n-1].end, d.skip(array.Items[n-1].end)
	if !d.opensLine(array.Items[n-1].Offset) || d.src[next] != ',' && d.lineEnd(end) > next {
		return d.splice(span{end, end}, ", "+raw)
	}
	line := d.indent(array.Items[n-1].Offset) + raw
	if d.src[next] == ',' {
		at := d.lineEnd(next)
		if array.end <= at {
			return d.splice(span{end, end}, ", "+raw)
		}
		return d.splice(span{at, at}, line+","+d.eol())
	}
	at := d.lineEnd(end)
	return d.replace([]edit{{span{end, end}, ","}, {span{at, at}, line + d.eol()}})
}

// insertField adds line to an inline table.
func (d *Doc) insertField(table *Value, line string) error {
	if len(table.Fields) == 0 {
		at := table.Offset + 1
		return d.splice(span{at, at}, " "+line+" ")
	}
	return d.splice(span{table.last.to, table.last.to}, ", "+line)
}

// insertLine adds line below the last key of a table with a header, or of the file.
func (d *Doc) insertLine(table *Value, line string) error {
	eol := d.eol()
	if table.form == root && table.last == (span{}) {
		return d.splice(span{}, line+eol)
	}
	at := d.lineEnd(table.last.to)
	if at == len(d.src) && d.src[at-1] != '\n' {
		return d.splice(span{at, at}, eol+line+eol)
	}
	return d.splice(span{at, at}, d.indent(table.last.from)+line+eol)
}

// indent is the white space at the start of offset's line.
func (d *Doc) indent(offset int) string {
	line := d.src[d.lineStart(offset):offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// opensLine reports whether only white space precedes offset on its line.
func (d *Doc) opensLine(offset int) bool {
	return len(bytes.Trim(d.src[d.lineStart(offset):offset], " \t")) == 0
}

// deleteInline removes f, or one key below it when it is made of dotted keys,
// from the inline table in.
func (d *Doc) deleteInline(in *Value, f *Field) error {
	for f.expr == (span{}) {
		f = &f.Value.Fields[0]
	}
	exprs := in.exprs(nil)
	order.Sort(exprs, func(a, b span) int { return a.from - b.from })
	start := in.Offset + 1
	if i := slices.Index(exprs, f.expr); i > 0 {
		start = exprs[i-1].to
	}
	return d.cutElement(start, f.expr)
}

// exprs appends the key = value spans of a table and of its dotted tables.
func (v *Value) exprs(list []span) []span {
	for i := range v.Fields {
		if f := &v.Fields[i]; f.expr != (span{}) {
			list = append(list, f.expr)
		} else {
			list = f.Value.exprs(list)
		}
	}
	return list
}

// cutElement removes an element of an array or inline table with the comma that
// follows it, or the one before when it is the last. before is the end of the
// element in front, or of the opening bracket.
func (d *Doc) cutElement(before int, e span) error {
	next := d.skip(e.to)
	if d.src[next] == ',' {
		to := next + 1
		for d.src[to] == ' ' || d.src[to] == '\t' {
			to++
		}
		if end := d.lineEnd(e.to); d.opensLine(e.from) && next < end && len(bytes.TrimSpace(d.src[to:end])) == 0 {
			return d.splice(span{d.lineStart(e.from), end}, "")
		}
		return d.replace([]edit{{e, ""}, {span{next, to}, ""}})
	}
	comma := d.skip(before)
	if comma >= e.from || d.src[comma] != ',' { // the only element
		return d.splice(e, "")
	}
	if len(bytes.TrimSpace(d.src[comma+1:e.from])) == 0 {
		return d.splice(span{comma, e.to}, "")
	}
	return d.replace([]edit{{span{comma, comma + 1}, ""}, {e, ""}})
}

// skip returns the offset of the first byte from at on that is neither space, line end nor comment.
func (d *Doc) skip(at int) int {
	for {
		switch d.src[at] {
		case ' ', '\t', '\r', '\n':
			at++
		case '#':
			at = d.lineEnd(at)
		default:
			return at
		}
	}
}

// lines appends the lines that define f: its key = value, or its header and all below.
func (d *Doc) lines(f *Field, list []span) []span {
	if f.expr != (span{}) {
		return append(list, span{d.lineStart(f.expr.from), d.lineEnd(f.expr.to)})
	}
	if f.Value.form == header {
		list = append(list, span{d.lineStart(f.Value.Offset), d.lineEnd(f.Value.Offset)})
	}
	for i := range f.Value.Fields {
		list = d.lines(&f.Value.Fields[i], list)
	}
	for _, item := range f.Value.Items {
		list = d.lines(&Field{Value: item}, list)
	}
	return list
}

// cut removes whole lines. Where that leaves two blank lines in a row, or blank
// lines at the start or end of the file, one goes with them.
func (d *Doc) cut(lines []span) error {
	order.Sort(lines, func(a, b span) int { return a.from - b.from })
	var cuts []edit
	for _, l := range lines {
		if n := len(cuts); n > 0 && cuts[n-1].to == l.from {
			cuts[n-1].to = l.to
			continue
		}
		cuts = append(cuts, edit{l, ""})
	}
	for i := range cuts {
		c := &cuts[i]
		if start := d.blankBefore(c.from); start < c.from && (i == 0 || start >= cuts[i-1].to) && d.blankAt(c.to) {
			c.from = start
		}
	}
	return d.replace(cuts)
}

// blankBefore is the start of the blank line that ends at offset, else offset.
func (d *Doc) blankBefore(offset int) int {
	if offset == 0 {
		return 0
	}
	start := d.lineStart(offset - 1)
	if len(bytes.TrimSpace(d.src[start:offset])) > 0 {
		return offset
	}
	return start
}

// blankAt reports whether the line at offset is blank or the file ends there.
func (d *Doc) blankAt(offset int) bool {
	return len(bytes.TrimSpace(d.src[offset:d.lineEnd(offset)])) == 0
}

func (d *Doc) lineStart(offset int) int { return bytes.LastIndexByte(d.src[:offset], '\n') + 1 }

// lineEnd is the offset behind the line's end.
func (d *Doc) lineEnd(offset int) int {
	if i := bytes.IndexByte(d.src[offset:], '\n'); i >= 0 {
		return offset + i + 1
	}
	return len(d.src)
}

// eol is the line ending of the file's first line.
func (d *Doc) eol() string {
	if i := bytes.IndexByte(d.src, '\n'); i > 0 && d.src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

//go:noinline
func (d *Doc) splice(at span, text string) error { return d.replace([]edit{{at, text}}) }

// An edit puts text in the place of bytes.
type edit struct {
	span
	text string
}

// replace makes edits, which are sorted and disjoint, and reads the result again.
func (d *Doc) replace(edits []edit) error {
	var out []byte
	from := 0
	for _, e := range edits {
		out = append(append(out, d.src[from:e.from]...), e.text...)
		from = e.to
	}
	out = append(out, d.src[from:]...)
	next, err := Parse(out)
	if err != nil {
		return fmt.Errorf("the edit would make the file invalid: %w", err)
	}
	*d = *next
	return nil
}
