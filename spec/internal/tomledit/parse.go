package tomledit

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Parse reads src, which the Doc keeps. Its error is an *[Error].
func Parse(src []byte) (*Doc, error) {
	if len(src) > MaxBytes {
		return nil, &Error{1, 1, fmt.Sprintf("the file has more than %d bytes", MaxBytes)}
	}
	b := &builder{src: src, text: string(src), root: &Value{Kind: Table, form: root}}
	b.p.Reset(src)
	b.at = b.root
	for b.p.NextExpression() {
		if err := b.expression(b.p.Expression()); err != nil {
			return nil, err
		}
	}
	if err := b.p.Error(); err != nil {
		offset, message := len(src), err.Error()
		if e, ok := errors.AsType[*unstable.ParserError](err); ok {
			offset = cap(src) - cap(e.Highlight)
			message = e.Message
		}
		return nil, b.fail(offset, "%s", message)
	}
	return &Doc{Root: b.root, src: src}, nil
}

// A builder turns the parser's expressions into tables, and holds TOML's rules
// about who may define a table and who may add to it.
type builder struct {
	p     unstable.Parser
	src   []byte
	text  string // src again; most strings are parts of it
	root  *Value
	at    *Value // the table of the last header
	depth int    // of at, arrays of tables counted twice
	slab  []Value
}

func (b *builder) fail(offset int, format string, args ...any) error {
	line, column := position(b.src, offset)
	return &Error{line, column, fmt.Sprintf(format, args...)}
}

func (b *builder) value(v Value) *Value {
	if len(b.slab) == 0 {
		b.slab = make([]Value, 64)
	}
	p := &b.slab[0]
	b.slab = b.slab[1:]
	*p = v
	return p
}

// str is data as a string, without a copy where it stands in the file as it is.
func (b *builder) str(data []byte) string {
	at := cap(b.src) - cap(data)
	if len(data) == 0 || at < 0 || at+len(data) > len(b.src) || &b.src[at] != &data[0] {
		return string(data)
	}
	return b.text[at : at+len(data)]
}

func (b *builder) expression(n *unstable.Node) error {
	switch n.Kind {
	case unstable.KeyValue:
		if err := b.keyValue(b.at, n, b.depth); err != nil {
			return err
		}
		b.at.last = spanOf(n.Raw)
		return nil
	case unstable.Table, unstable.ArrayTable:
		return b.header(n)
	}
	return b.fail(int(n.Raw.Offset), "unexpected %s", n.Kind)
}

func spanOf(r unstable.Range) span { return span{int(r.Offset), int(r.Offset + r.Length)} }

// header opens [a.b.c] or [[a.b.c]].
func (b *builder) header(n *unstable.Node) error {
	at := b.root
	b.depth = 0
	keys := n.Key()
	for keys.Next() {
		key := keys.Node()
		offset, name := int(key.Raw.Offset), b.str(key.Data)
		if b.depth++; b.depth > MaxDepth {
			return b.fail(offset, "tables nest more than %d deep", MaxDepth)
		}
		f := at.field(name)
		if keys.IsLast() {
			return b.open(at, f, name, offset, n.Kind == unstable.ArrayTable)
		}
		switch {
		case f == nil:
			next := b.value(Value{Kind: Table, form: implicit, Offset: offset})
			at.add(Field{Key: name, Value: next, Offset: offset})
			at = next
		case f.Value.form == tables:
			b.depth++
			at = f.Value.Items[len(f.Value.Items)-1]
		case f.Value.Kind == Table && f.Value.form != written:
			at = f.Value
		default:
			return b.fail(offset, "%s is %s and cannot hold tables", QuoteKey(name), f.Value.Kind)
		}
	}
	return nil
}

// open makes the last name of a header the current table. f is what in already has of that name.
func (b *builder) open(in *Value, f *Field, name string, offset int, array bool) error {
	if array {
		b.depth++
	}
	switch {
	case f == nil && array:
		list := b.value(Value{Kind: Array, form: tables, Offset: offset})
		in.add(Field{Key: name, Value: list, Offset: offset})
		b.at = b.value(Value{Kind: Table, form: header, Offset: offset})
		list.Items = append(list.Items, b.at)
	case f == nil:
		b.at = b.value(Value{Kind: Table, form: header, Offset: offset})
		in.add(Field{Key: name, Value: b.at, Offset: offset})
	case array && f.Value.form == tables:
		b.at = b.value(Value{Kind: Table, form: header, Offset: offset})
		f.Value.Items = append(f.Value.Items, b.at)
	case !array && f.Value.form == implicit:
		b.at = f.Value
		b.at.form, b.at.Offset = header, offset
	default:
		line, _ := position(b.src, f.Offset)
		return b.fail(offset, "%s is already defined in line %d", QuoteKey(name), line)
	}
	b.at.last = span{offset, offset}
	return nil
}

// keyValue adds a.b.c = value to the table in.
func (b *builder) keyValue(in *Value, n *unstable.Node, depth int) error {
	keys := n.Key()
	for keys.Next() {
		key := keys.Node()
		offset, name := int(key.Raw.Offset), b.str(key.Data)
		if depth++; depth > MaxDepth {
			return b.fail(offset, "values nest more than %d deep", MaxDepth)
		}
		f := in.field(name)
		switch {
		case keys.IsLast() && f == nil:
			at := int(key.Raw.Offset + key.Raw.Length)
			at += bytes.IndexByte(b.src[at:], '=') + 1
			for b.src[at] == ' ' || b.src[at] == '\t' {
				at++
			}
			expr := spanOf(n.Raw)
			v, err := b.written(n.Value(), span{at, expr.to}, depth)
			if err != nil {
				return err
			}
			in.add(Field{Key: name, Value: v, Offset: offset, expr: expr})
		case !keys.IsLast() && f == nil:
			next := b.value(Value{Kind: Table, form: dotted, Offset: offset})
			in.add(Field{Key: name, Value: next, Offset: offset})
			in = next
		case !keys.IsLast() && f.Value.form == dotted:
			in = f.Value
		default:
			line, _ := position(b.src, f.Offset)
			return b.fail(offset, "%s is already defined in line %d", QuoteKey(name), line)
		}
	}
	return nil
}

// written is a value behind "=" or in an array; at is where it stands.
func (b *builder) written(n *unstable.Node, at span, depth int) (*Value, error) {
	if depth > MaxDepth {
		return nil, b.fail(at.from, "values nest more than %d deep", MaxDepth)
	}
	v := b.value(Value{Offset: at.from, end: at.to})
	switch n.Kind {
	case unstable.String:
		v.Kind, v.Text = String, b.str(n.Data)
	case unstable.Bool:
		v.Kind, v.Text = Bool, b.str(n.Data)
	case unstable.Array:
		v.Kind = Array
		for items := n.Children(); items.Next(); {
			item, err := b.written(items.Node(), spanOf(items.Node().Raw), depth+1)
			if err != nil {
				return nil, err
			}
			v.Items = append(v.Items, item)
		}
	case unstable.InlineTable:
		v.Kind = Table
		for fields := n.Children(); fields.Next(); {
			if err := b.keyValue(v, fields.Node(), depth); err != nil {
				return nil, err
			}
			v.last = spanOf(fields.Node().Raw)
		}
	default:
		v.Kind, v.Text = Other, b.str(n.Data)
		if n.Kind == unstable.Integer {
			v.Kind = Integer
		}
		if !plainInteger(v.Text) {
			var x map[string]any
			if err := toml.Unmarshal([]byte("x = "+v.Text), &x); err != nil {
				return nil, b.fail(at.from, "%s is not a valid %s", v.Text, n.Kind)
			}
		}
	}
	return v, nil
}

// plainInteger reports whether s needs no further check.
func plainInteger(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return len(s) < 19 && (len(s) == 1 || s[0] != '0')
}

// manyFields is where looking a key up by walking becomes slower than by a map.
const manyFields = 32

//go:noinline
func (v *Value) field(key string) *Field {
	if v == nil {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return &v.Fields[i]
		}
		return nil
	}
	for i := range v.Fields {
		if v.Fields[i].Key == key {
			return &v.Fields[i]
		}
	}
	return nil
}

func (v *Value) add(f Field) {
	if v.Fields == nil && v.form == header {
		v.Fields = make([]Field, 0, 16)
	}
	v.Fields = append(v.Fields, f)
	switch {
	case v.index != nil:
		v.index[f.Key] = len(v.Fields) - 1
	case len(v.Fields) > manyFields:
		v.index = make(map[string]int, 2*len(v.Fields))
		for i := range v.Fields {
			v.index[v.Fields[i].Key] = i
		}
	}
}
