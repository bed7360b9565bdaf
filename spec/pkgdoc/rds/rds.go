// Package rds reads what R wrote with saveRDS and into the databases of an installed package (NAME.rdx and NAME.rdb): the XDR form of
// R's serialization, versions 2 and 3, compressed with gzip or zlib or not at all. It follows "R Internals", section 1.8. Values are
// kept as far as documentation needs them: strings, whole numbers and lists with their attributes; functions and environments are
// read over. Nothing is evaluated.
//
// What is read may come from anybody: bytes, depth and elements are bounded, and an [Error] says what is wrong.
package rds

import (
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	MaxBytes = 64 << 20 // of one object, decompressed
	MaxDepth = 1000
)

// An Error says why bytes are no object of R.
type Error struct{ Text string }

func (e *Error) Error() string { return e.Text }

// ErrCompression is that of bytes compressed with xz, which is not read.
var ErrCompression = errors.New("it is compressed with xz")

// A Value is one object. The zero Value is NULL, and what everything that is not kept becomes.
type Value struct {
	Strings []string // of a character vector; a missing one is ""
	Ints    []int    // of a vector of whole numbers or truth values
	List    []Value  // of a list or pairlist
	IsList  bool

	attributes []attribute
}

type attribute struct {
	name  string
	value Value
}

// Attribute is the attribute called name; NULL if there is none.
func (v Value) Attribute(name string) Value {
	for _, a := range v.attributes {
		if a.name == name {
			return a.value
		}
	}
	return Value{}
}

// Named is the element of a list called name; NULL if there is none.
func (v Value) Named(name string) Value {
	for i, s := range v.Names() {
		if s == name && i < len(v.List) {
			return v.List[i]
		}
	}
	return Value{}
}

// Names are those of the elements, "" for one that has none; nil if none has.
func (v Value) Names() []string { return v.Attribute("names").Strings }

// String is the only string of a vector of one, else "".
func (v Value) String() string {
	if len(v.Strings) == 1 {
		return v.Strings[0]
	}
	return ""
}

// Read reads a file that saveRDS wrote.
func Read(data []byte) (Value, error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return Value{}, &Error{"it is damaged: " + err.Error()}
		}
		if data, err = all(z); err != nil {
			return Value{}, err
		}
	} else if bytes.HasPrefix(data, []byte("BZh")) {
		var err error
		if data, err = all(bzip2.NewReader(bytes.NewReader(data))); err != nil {
			return Value{}, err
		}
	} else if bytes.HasPrefix(data, []byte("\xfd7zXZ")) {
		return Value{}, ErrCompression
	}
	return decode(data)
}

func all(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	switch {
	case err != nil:
		return nil, &Error{"it is damaged: " + err.Error()}
	case len(data) > MaxBytes:
		return nil, &Error{"it is larger than 64 MiB when it is unpacked"}
	}
	return data, nil
}

// A DB is a database of objects: an index and the bytes that it points into.
type DB struct {
	Names []string // in the order of the index
	at    map[string][2]int
	data  []byte
}

// Open reads the index of a database; data are the bytes of its .rdb file.
func Open(index, data []byte) (*DB, error) {
	if bytes.HasPrefix(index, []byte{0x78}) { // zlib, as compress() of R writes it
		z, err := zlib.NewReader(bytes.NewReader(index))
		if err != nil {
			return nil, &Error{"its index is damaged: " + err.Error()}
		}
		if index, err = all(z); err != nil {
			return nil, err
		}
	}
	v, err := Read(index)
	if err != nil {
		return nil, err
	}
	variables := v.Named("variables")
	db := &DB{at: make(map[string][2]int), data: data}
	for i, name := range variables.Names() {
		if i >= len(variables.List) || len(variables.List[i].Ints) != 2 {
			return nil, &Error{"its index does not say where each object is"}
		}
		db.Names = append(db.Names, name)
		db.at[name] = [2]int(variables.List[i].Ints)
	}
	return db, nil
}

// Value reads the object called name.
func (db *DB) Value(name string) (Value, error) {
	at, ok := db.at[name]
	if !ok {
		return Value{}, &Error{"it is not there"}
	}
	if at[0] < 0 || at[1] < 5 || at[0] > len(db.data)-at[1] {
		return Value{}, &Error{"its index points outside the database"}
	}
	data := db.data[at[0] : at[0]+at[1]]
	size, data := binary.BigEndian.Uint32(data), data[4:]
	if size > MaxBytes {
		return Value{}, &Error{"it is larger than 64 MiB when it is unpacked"}
	}
	var r io.Reader = bytes.NewReader(data)
	switch data[0] {
	case 'Z':
		return Value{}, ErrCompression
	case '2':
		r = bzip2.NewReader(bytes.NewReader(data[1:]))
	case '0':
		r = bytes.NewReader(data[1:])
	default:
		z, err := zlib.NewReader(r)
		if err != nil {
			return Value{}, &Error{"it is damaged: " + err.Error()}
		}
		r = z
	}
	text, err := all(r)
	if err != nil {
		return Value{}, err
	}
	return decode(text)
}

// Types of objects and marks, as R numbers them.
const (
	typeSymbol = 1 + iota
	typePairs
	typeClosure
	typeEnvironment
	typePromise
	typeLanguage
	typeSpecial
	typeBuiltin
	typeChars
	typeLogical
)
const (
	typeInteger = 13 + iota
	typeReal
	typeComplex
	typeStrings
	typeDots
	_
	typeList
	typeExpression
	typeBytecode
	typePointer
	typeWeak
	typeRaw
	typeS4
)
const (
	markAttrLang    = 240
	markAttrPairs   = 239
	markBaseEnv     = 241
	markEmptyEnv    = 242
	markPersistent  = 247
	markPackage     = 248
	markNamespace   = 249
	markBaseSpace   = 250
	markMissing     = 251
	markUnbound     = 252
	markGlobal      = 253
	markNil         = 254
	markReference   = 255
	flagAttributes  = 1 << 9
	flagTag         = 1 << 10
	levelLatin1     = 4
	maxVectorLength = 1 << 28
)

type decoder struct {
	data    []byte
	symbols []string // what a reference leads to: names of symbols, "" for the rest
	depth   int
}

type damaged string

func decode(data []byte) (v Value, err error) {
	d := &decoder{data: data}
	defer func() {
		switch why := recover().(type) {
		case nil:
		case damaged:
			v, err = Value{}, &Error{string(why)}
		default:
			panic(why)
		}
	}()
	if string(d.bytes(2)) != "X\n" {
		return Value{}, &Error{"it is not in the XDR form of R's serialization"}
	}
	version := d.int()
	d.bytes(8)
	switch version {
	case 2:
	case 3:
		d.bytes(d.int())
	default:
		return Value{}, &Error{fmt.Sprintf("version %d of R's serialization is not known", version)}
	}
	return d.value(), nil
}

func (d *decoder) fail(text string) { panic(damaged(text)) }

func (d *decoder) bytes(n int) []byte {
	if n < 0 || n > len(d.data) {
		d.fail("it ends early")
	}
	out := d.data[:n]
	d.data = d.data[n:]
	return out
}

func (d *decoder) int() int { return int(int32(binary.BigEndian.Uint32(d.bytes(4)))) }

// length is that of a vector whose elements take at least size bytes.
func (d *decoder) length(size int) int {
	n := d.int()
	if n < 0 || n > maxVectorLength || n > len(d.data)/size {
		d.fail("a vector is longer than what is left of it")
	}
	return n
}

func (d *decoder) value() Value {
	if d.depth++; d.depth > MaxDepth {
		d.fail("it is nested deeper than 1000")
	}
	defer func() { d.depth-- }()
	flags := d.int()
	switch kind := flags & 0xff; kind {
	case markNil, markGlobal, markUnbound, markMissing, markBaseSpace, markEmptyEnv, markBaseEnv:
		return Value{}
	case markReference:
		d.reference(flags)
		return Value{}
	case typeSymbol:
		d.symbol()
		return Value{}
	case markNamespace, markPackage, markPersistent:
		d.int()
		for range d.length(8) {
			d.value()
		}
		d.symbols = append(d.symbols, "")
		return Value{}
	case typeEnvironment:
		d.int()
		d.symbols = append(d.symbols, "")
		for range 4 {
			d.value()
		}
		return Value{}
	case typePairs, typeLanguage, typeClosure, typePromise, typeDots, markAttrLang, markAttrPairs:
		return d.pairs(flags)
	default:
		return d.vector(kind, flags)
	}
}

// reference is the name of the symbol that a reference leads to.
func (d *decoder) reference(flags int) string {
	at := flags >> 8
	if at == 0 {
		at = d.int()
	}
	if at < 1 || at > len(d.symbols) {
		d.fail("a reference leads nowhere")
	}
	return d.symbols[at-1]
}

func (d *decoder) symbol() string {
	flags := d.int()
	if flags&0xff != typeChars {
		d.fail("a symbol has no name")
	}
	name := d.chars(flags)
	d.symbols = append(d.symbols, name)
	return name
}

func (d *decoder) chars(flags int) string {
	n := d.int()
	if n < 0 {
		return "" // missing
	}
	b := d.bytes(n)
	if flags>>12&levelLatin1 != 0 || !utf8.Valid(b) {
		var w strings.Builder
		for _, c := range b {
			w.WriteRune(rune(c))
		}
		return w.String()
	}
	return string(b)
}

// pairs reads a chain of pairs: of pairlists the values are kept, with their names.
func (d *decoder) pairs(flags int) Value {
	out := Value{IsList: true}
	var names []string
	for {
		kind := flags & 0xff
		if flags&flagAttributes != 0 || kind == markAttrLang || kind == markAttrPairs {
			d.value()
		}
		name := ""
		if flags&flagTag != 0 {
			name = d.tag()
		}
		names = append(names, name)
		out.List = append(out.List, d.value())
		if kind != typePairs && kind != typeLanguage && kind != markAttrLang && kind != markAttrPairs {
			d.value() // a closure's body, a promise's environment
			return Value{}
		}
		flags = d.int()
		switch next := flags & 0xff; next {
		case markNil:
			out.attributes = []attribute{{"names", Value{Strings: names}}}
			return out
		case typePairs, typeLanguage:
		default:
			d.rest(flags)
			return out
		}
	}
}

// rest reads what ends a chain in the place of NULL.
func (d *decoder) rest(flags int) {
	switch kind := flags & 0xff; kind {
	case markReference:
		d.reference(flags)
	case typeSymbol:
		d.symbol()
	case markGlobal, markUnbound, markMissing, markBaseSpace, markEmptyEnv, markBaseEnv:
	default:
		d.fail("a list does not end")
	}
}

// tag is the name of a pair.
func (d *decoder) tag() string {
	flags := d.int()
	switch flags & 0xff {
	case typeSymbol:
		return d.symbol()
	case markReference:
		return d.reference(flags)
	case markNil:
		return ""
	}
	d.fail("a name is no symbol")
	return ""
}

func (d *decoder) vector(kind, flags int) Value {
	var out Value
	switch kind {
	case typeChars:
		return Value{Strings: []string{d.chars(flags)}}
	case typeStrings:
		n := d.length(8)
		out.Strings = make([]string, 0, n)
		for range n {
			f := d.int()
			if f&0xff != typeChars {
				d.fail("a string is none")
			}
			out.Strings = append(out.Strings, d.chars(f))
		}
	case typeLogical, typeInteger:
		n := d.length(4)
		out.Ints = make([]int, 0, n)
		for range n {
			out.Ints = append(out.Ints, d.int())
		}
	case typeReal:
		d.bytes(8 * d.length(8))
	case typeComplex:
		d.bytes(16 * d.length(16))
	case typeRaw:
		d.bytes(d.length(1))
	case typeList, typeExpression:
		n := d.length(4)
		out.IsList = true
		for range n {
			out.List = append(out.List, d.value())
		}
	case typeBuiltin, typeSpecial:
		d.bytes(d.int())
	case typeS4:
	default:
		d.fail(fmt.Sprintf("it holds an object of type %d, which documentation does not need", kind))
	}
	if flags&flagAttributes != 0 {
		a := d.value()
		for i, name := range a.Names() {
			out.attributes = append(out.attributes, attribute{name, a.List[i]})
		}
	}
	return out
}
