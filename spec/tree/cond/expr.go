package cond

import "github.com/skl-project/skl/spec/tree/resource"

// And holds when all of its operands do; in the tree they are ordered as written.
type And struct {
	Text string
	Of   []Expr
}

// Or holds when one of its operands does.
type Or struct {
	Text string
	Of   []Expr
}

// Not holds when its operand does not.
type Not struct {
	Text string
	Of   Expr
}

// Equal compares two operands (rulings 5.5, 5.6): quoted text with case, bare words without, numbers as numbers. A
// bare word on the right is the value of the binding of that name, if there is one.
//
// A field that is missing equals only null. A side without a value leaves the test undecided, unless it is compared with null.
type Equal struct {
	Text        string
	Left, Right Operand
	Not         bool
	English     bool // written with is, is not, equals or does not equal
}

// Alternative is the further operand b of "x is a or b". It is a reading of an operand of Or only: b is a
// test of its own when it is the name of a binding or an option, else another value for x. Its text is b
// alone, which by itself parses to something else.
type Alternative struct {
	Text        string
	Left, Right Operand
}

// Compare orders a number: Op is "<", "<=", ">" or ">=". A side that is no number is an error.
type Compare struct {
	Text        string
	Left, Right Operand
	Op          string
}

// Greater orders versions, or numbers where both sides are numbers.
type Greater struct {
	Text        string
	Left, Right Operand
	Not         bool
}

// Empty tests for a value without content: null, "", [] and {}, and a missing one. With
// Missing it tests for null and missing values alone.
type Empty struct {
	Text    string
	Of      Operand
	Missing bool
	Not     bool
}

// Present holds for a value that is neither missing nor without content; with
// Found, as for "x found", false is not present either.
type Present struct {
	Text  string
	Of    Operand
	Found bool
	Not   bool
}

// Outcome tests how the call ended that binds a name. A call that ended early counts as failed.
type Outcome struct {
	Text   string
	Of     Operand
	Failed bool
	Not    bool
}

// Contains tests a text for a part, a list for an element, an object for a key. Null contains nothing.
type Contains struct {
	Text       string
	Left, Want Operand
	Not        bool
}

// FileExists tests for a file of the project. With At, Path names the file of the directory that
// At leads to, or describes the file there. If Path is also the path of a
// value ("config.json present"), that value is tested instead.
type FileExists struct {
	Text string
	Path string // as written, without backticks
	At   Operand
	Not  bool
}

// Valid tests the form of a text: "semver" (1.2.3, without a leading v) or "kebab-case".
type Valid struct {
	Text string
	Of   Operand
	Form string
	Not  bool
}

// AnswerIs is "user chose Option". An option that the question does not offer is an error.
type AnswerIs struct {
	Text   string
	Option string
}

// Ref tests a value for truth, or is an option (ruling 5.15).
//
// A field that a value lacks is false. A name without a value is undecided; one bare word without "_" may also be an option of a
// question that was not asked.
type Ref struct {
	Text string
	Of   Operand
}

func (e And) String() string         { return e.Text }
func (e Or) String() string          { return e.Text }
func (e Not) String() string         { return e.Text }
func (e Equal) String() string       { return e.Text }
func (e Alternative) String() string { return e.Text }
func (e Compare) String() string     { return e.Text }
func (e Greater) String() string     { return e.Text }
func (e Empty) String() string       { return e.Text }
func (e Present) String() string     { return e.Text }
func (e Outcome) String() string     { return e.Text }
func (e Contains) String() string    { return e.Text }
func (e FileExists) String() string  { return e.Text }
func (e Valid) String() string       { return e.Text }
func (e AnswerIs) String() string    { return e.Text }
func (e Ref) String() string         { return e.Text }

// operands returns the direct operands of e.
func operands(e Expr) []Expr {
	switch e := e.(type) {
	case And:
		return e.Of
	case Or:
		return e.Of
	case Not:
		return []Expr{e.Of}
	}
	return nil
}

// walk calls f for e and all below, in order.
func walk(e Expr, f func(Expr)) {
	f(e)
	for _, o := range operands(e) {
		walk(o, f)
	}
}

// Model reports whether deciding e may need a model: whether some operand of it
// is natural language.
func Model(e Expr) bool {
	if _, ok := e.(Natural); ok {
		return true
	}
	for _, o := range operands(e) {
		if Model(o) {
			return true
		}
	}
	return false
}

// Offers reports whether e, or an operand of it, tests for option: whether a
// question that offers option is answered there.
func Offers(e Expr, option string) bool {
	found := false
	want := foldOption(option)
	walk(e, func(e Expr) { found = found || foldOption(optionText(e.String())) == want })
	return found
}

// Files returns the paths whose existence e tests, as written, in order.
func Files(e Expr) []string {
	var out []string
	walk(e, func(e Expr) {
		if f, ok := e.(FileExists); ok && isFile(f.Path) {
			out = append(out, f.Path)
		}
	})
	return out
}

// Names returns the names and paths that e surely or, for a bare word, probably
// refers to, as [Env].Lookup gets them, in order of appearance, without duplicates. A bare word
// may be an option of a question instead (see [Option]); the right side of an equality
// counts only when it is surely a reference. Natural language gives what
// it mentions by `name`, {name}, <<name>> or context.name.
func Names(e Expr) []string {
	var out []string
	has := map[string]bool{}
	add := func(name string) {
		if !has[name] {
			has[name] = true
			out = append(out, name)
		}
	}
	of := func(o Operand, sure bool) {
		if o.Kind == Path || o.Kind == Phrase || o.Kind == Word && !sure {
			add(o.name())
		}
	}
	walk(e, func(e Expr) {
		switch e := e.(type) {
		case Equal:
			of(e.Left, false)
			of(e.Right, true)
		case Compare:
			of(e.Left, false)
			of(e.Right, false)
		case Greater:
			of(e.Left, false)
			of(e.Right, false)
		case Empty:
			of(e.Of, false)
		case Present:
			of(e.Of, false)
		case Outcome:
			of(e.Of, false)
		case Contains:
			of(e.Left, false)
			of(e.Want, true)
		case FileExists:
			for _, m := range resource.Mentions(e.Path, nil) {
				add(m)
			}
			if e.At.Text != "" {
				of(e.At, false)
			}
		case Valid:
			of(e.Of, false)
		case Ref:
			of(e.Of, false)
		case Natural:
			for _, m := range resource.Mentions(e.Text, nil) {
				add(m)
			}
		}
	})
	return out
}
