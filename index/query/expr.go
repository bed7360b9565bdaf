package query

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/glob"
)

// An argument is what an operator of the language takes.
type argument uint8

const (
	text   argument = iota // into Text
	name                   // into Name
	files                  // into Glob
	number                 // into N
	one                    // query, into Args
	many                   // queries, one or more
)

// form is how an operator is written.
type form struct {
	name string
	args []argument
}

// forms are by Op.
var forms = [...]form{
	Grep:       {"grep", []argument{text}},
	Literal:    {"literal", []argument{text}},
	Regex:      {"regex", []argument{text}},
	Code:       {"code", []argument{text}},
	Definition: {"definition", []argument{text}},
	Defining:   {"defining", []argument{text}},
	References: {"references", []argument{text}},
	Section:    {"section", []argument{text}},
	File:       {"file", []argument{files}},
	Children:   {"children", []argument{text}},
	Named:      {"children-named", []argument{text, name}},
	InFile:     {"in-file", []argument{files, one}},
	Union:      {"union", []argument{many}},
	Intersect:  {"intersect", []argument{many}},
	Limit:      {"limit", []argument{number, one}},
}

// String returns the operator as it is written.
func (o Op) String() string {
	if int(o) < len(forms) {
		return forms[o].name
	}
	return "unknown"
}

// String returns e in the S-expression language, on one line unless a text has line ends that are not \n or \r.
// Parse of it gives an Expr that equals e, if e was made by Parse or Compile.
func (e *Expr) String() string { return string(e.append(nil)) }

func (e *Expr) append(b []byte) []byte {
	if e == nil {
		return append(b, "()"...)
	}
	b = append(append(b, '('), e.Op.String()...)
	if int(e.Op) < len(forms) {
		for _, a := range forms[e.Op].args {
			switch a {
			case text:
				b = appendQuoted(append(b, ' '), e.Text)
			case name:
				b = appendQuoted(append(b, ' '), e.Name)
			case files:
				source := e.Glob.String()
				if source == "" {
					source = "**"
				}
				b = appendQuoted(append(b, ' '), source)
			case number:
				b = strconv.AppendInt(append(b, ' '), int64(e.N), 10)
			}
		}
	}
	for _, arg := range e.Args {
		b = arg.append(append(b, ' '))
	}
	return append(b, ')')
}

// appendQuoted appends s as a string of the language.
func appendQuoted(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		case '\t':
			b = append(b, `\t`...)
		case '\r':
			b = append(b, `\r`...)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// Equal says whether e and o are written alike.
func (e *Expr) Equal(o *Expr) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.Op == o.Op && e.Text == o.Text && e.Name == o.Name && e.N == o.N && e.Glob.String() == o.Glob.String() &&
		slices.EqualFunc(e.Args, o.Args, (*Expr).Equal)
}

// IsReferences says whether e is answered by references: it asks for uses of names, perhaps of several, within
// files, or so many of them. In all other places References stands for the handles that the uses lie in.
func (e *Expr) IsReferences() bool {
	switch e.Op {
	case References:
		return true
	case InFile, Limit:
		return e.Args[0].IsReferences()
	case Union:
		return !slices.ContainsFunc(e.Args, func(a *Expr) bool { return !a.IsReferences() })
	case Intersect:
		return len(e.Args) == 1 && e.Args[0].IsReferences()
	}
	return false
}

// AsksSymbol says whether e asks for definitions or uses of names alone, and which.
func (e *Expr) AsksSymbol() (name string, ok bool) {
	switch e.Op {
	case Code, Definition, Defining, References:
		return e.Text, true
	case InFile, Limit:
		return e.Args[0].AsksSymbol()
	case Union, Intersect:
		for _, a := range e.Args {
			if _, ok := a.AsksSymbol(); !ok {
				return "", false
			}
		}
		return e.Texts(), true
	}
	return "", false
}

// Texts returns what e asks for, for people and for scores: texts and names in order, without repetitions,
// space between. Globs of InFile do not count.
func (e *Expr) Texts() string {
	var all []string
	add := func(s string) {
		if s != "" && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	var walk func(e *Expr)
	walk = func(e *Expr) {
		add(e.Text)
		add(e.Name)
		if e.Op == File {
			add(e.Glob.String())
		}
		for _, a := range e.Args {
			walk(a)
		}
	}
	walk(e)
	return strings.Join(all, " ")
}

// simplify returns what is answered as e is, and is smaller. The order of answers stays: that of a union
// is the order of its queries, that of an intersection the order of the first.
func simplify(e *Expr) *Expr {
	switch e.Op {
	case InFile:
		return inFile(e.Glob, simplify(e.Args[0]))
	case Limit:
		q := simplify(e.Args[0])
		if q.Op == Limit {
			return &Expr{Op: Limit, N: min(e.N, q.N), Args: q.Args}
		}
		return &Expr{Op: Limit, N: e.N, Args: []*Expr{q}}
	case Union, Intersect:
		return simplifySet(e)
	}
	return e
}

// inFile restricts q, which is simple, to files that g matches.
func inFile(g glob.Glob, q *Expr) *Expr {
	if g.Everything() {
		return q
	}
	for in := q; in.Op == InFile || in.Op == Limit; in = in.Args[0] {
		if in.Op == InFile && in.Glob.String() == g.String() {
			return q
		}
	}
	return &Expr{Op: InFile, Glob: g, Args: []*Expr{q}}
}

func simplifySet(e *Expr) *Expr {
	var args []*Expr
	seen := make(map[string]bool, len(e.Args))
	add := func(q *Expr) {
		if key := q.String(); !seen[key] {
			seen[key] = true
			args = append(args, q)
		}
	}
	count := 0
	for _, a := range e.Args {
		q := simplify(a)
		if q.Op == e.Op {
			count += len(q.Args)
			for _, inner := range q.Args {
				add(inner)
			}
			continue
		}
		count++
		add(q)
	}
	if len(args) > 1 {
		return &Expr{Op: e.Op, Args: args}
	}
	if e.Op == Intersect && count > 1 && args[0].IsReferences() {
		// One alone would be answered by references, twice the same by the handles around them.
		return &Expr{Op: e.Op, Args: []*Expr{args[0], args[0]}}
	}
	return args[0]
}
