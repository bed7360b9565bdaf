package cond

import (
	"errors"
	"strings"

	"github.com/skl-project/skl/spec/diag"
)

// An Unbound is a name without a value that leaves a condition undecided.
type Unbound struct {
	Name  string // as written, without backticks
	Plain bool   // a bare word of what may be a sentence: "clean", "build is green"
	Right bool   // a bare word that a test compares with, which could be a text
}

// A Scope is what is known of names where a condition stands, before it is decided. A nil func knows every name and no option.
type Scope struct {
	Has    func(path string) bool // has a value, or may have one
	Binds  func(path string) bool // something binds it somewhere: only then is it "missing" without a value
	Option func(text string) bool // some question offers it
	Name   func(word string) bool // a bare word that a value is compared with is a name, although it has no value
}

// FindUnbound returns the names that no rule decides e by, in order, without duplicates: those without a value, and in tests for
// presence those that nothing binds.
func FindUnbound(e Expr, s Scope) []Unbound {
	var out []Unbound
	seen := map[string]bool{}
	add := func(o Operand, plain bool, has func(string) bool) {
		if o.Kind == Arguments || !o.reference() || seen[o.Text] || has == nil || o.known(has) {
			return
		}
		seen[o.Text] = true
		out = append(out, Unbound{Name: o.name(), Plain: plain && o.plain()})
	}
	right := func(o Operand) {
		if o.sure() {
			add(o, false, s.Has)
		} else if n := len(out); o.Kind == Word && s.Name != nil && s.Name(o.Text) {
			if add(o, false, s.Has); len(out) > n {
				out[n].Right = true
			}
		}
	}
	var visit func(Expr)
	visit = func(e Expr) {
		if s.Option != nil && s.Option(optionText(e.String())) {
			return
		}
		for _, o := range operands(e) {
			visit(o)
		}
		switch e := e.(type) {
		case Ref:
			if !yesNo(e.Text) {
				add(e.Of, true, s.Has)
			}
		case Equal:
			if e.Right.Kind == Null {
				add(e.Left, false, s.Binds)
				return
			}
			add(e.Left, e.English && (e.Right.Kind == Word || e.Right.Kind == Bool), s.Has)
			right(e.Right)
		case Alternative:
			right(e.Right)
		case Compare:
			add(e.Left, false, s.Has)
			add(e.Right, false, s.Has)
		case Greater:
			add(e.Left, true, s.Has)
			add(e.Right, true, s.Has)
		case Contains:
			add(e.Left, false, s.Has)
			if e.Want.sure() {
				add(e.Want, false, s.Has)
			}
		case Valid:
			add(e.Of, false, s.Has)
		case Empty:
			add(e.Of, false, s.Binds)
		case Present:
			add(e.Of, false, s.Binds)
		case Outcome:
			add(e.Of, false, s.Binds)
		case FileExists:
			if e.At.Text != "" {
				add(e.At, false, s.Has)
			}
		}
	}
	visit(e)
	return out
}

// known reports whether has knows o, or the value that o leads into: a field that a value does not have is missing, and decided.
func (o Operand) known(has func(path string) bool) bool {
	name := o.name()
	if has(name) || o.Kind == Phrase && has(strings.ReplaceAll(name, "_", "-")) || has(Root(name)) {
		return true
	}
	i := strings.IndexAny(name, ".[")
	return i > 0 && has(name[:i])
}

// unbound reports whether o is a name that has no value.
func (v *evaluation) unbound(o Operand) bool {
	if !o.reference() || o.Kind == Arguments {
		return false
	}
	return v.env.Lookup == nil || !o.known(func(path string) bool { _, ok := v.env.Lookup(path); return ok }) || v.partless(o)
}

// named reports whether o is a bare word without a value that is a name all the same.
func (v *evaluation) named(o Operand) bool {
	return o.Kind == Word && o.reference() && v.env.Name != nil && v.env.Name(o.Text)
}

// partless reports whether o leads into a text, a number or a boolean, which has no fields that could be missing.
func (v *evaluation) partless(o Operand) bool {
	name := o.name()
	for i := len(name) - 1; i > 0; i-- {
		if name[i] != '.' && name[i] != '[' {
			continue
		}
		if _, whole := v.env.Lookup(name); whole {
			return false
		}
		if val, ok := v.env.Lookup(name[:i]); ok {
			return val != nil && Parts(val) == nil
		}
	}
	return false
}

// unknown reports whether o is a name that nothing binds, so that it is not missing but a mistake.
func (v *evaluation) unknown(o Operand) bool {
	return v.env.Binds != nil && v.unbound(o) && (!o.known(v.env.Binds) || v.partless(o))
}

// none is the error of a test of a name without a value.
func (v *evaluation) none(cond string, o Operand) error {
	return v.lack("condition %q names %q, which has no value", cond, o.Text)
}

// lack is an error that a value would mend, so that a model may decide instead.
func (v *evaluation) lack(format string, args ...any) *diag.Error {
	v.lacks = true
	return undecided(format, args...)
}

// errLater stands for a test that a model has to decide, while operands without one are decided first.
var errLater = errors.New("a model decides it")

// yesNo reports whether text is an answer whatever was asked.
func yesNo(text string) bool { return strings.EqualFold(text, "yes") || strings.EqualFold(text, "no") }

// byModel reports whether a model decides a test, since a name has no value. Of an answer a person alone decides, and
// a value of the wrong kind is a mistake: those errors stay.
func (v *evaluation) byModel(e Expr, err error) bool {
	if err == nil {
		return false
	}
	switch e := e.(type) {
	case Natural:
		return true
	case Ref:
		offered := yesNo(e.Text) || v.env.Option != nil && v.env.Option(optionText(e.Text))
		return v.lacks && !offered && !(e.Of.plain() && v.asked && len(v.options) > 0)
	}
	return v.lacks
}
