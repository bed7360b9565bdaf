package cond

import (
	"context"
	"fmt"
	"path"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/resource"
)

//go:noinline
func undecided(format string, args ...any) *diag.Error {
	return diag.New(diag.Unmet, "condition_undecided", format, args...)
}

// Eval decides e. Operands that need no model are decided first, and a model is
// asked only when they leave the result open; How is ByModel only then. Its
// errors are those of env's funcs, and *diag.Error with code
// condition_undecided (class Unmet).
func Eval(ctx context.Context, e Expr, env Env) (bool, How, error) {
	v := evaluation{env: env}
	if env.Answer != nil {
		v.answer, v.options, v.asked = env.Answer()
	}
	ok, err := v.decide(ctx, e)
	how := ByRule
	if v.model {
		how = ByModel
	}
	return ok && err == nil, how, err
}

// An evaluation is one Eval.
type evaluation struct {
	env     Env
	answer  string
	options []string
	asked   bool // there is a question in scope
	model   bool // a model was asked
	later   bool // operands that need a model wait
	lacks   bool // the last test failed for want of a value
}

// decide is the whole of Eval for e and what is below it.
func (v *evaluation) decide(ctx context.Context, e Expr) (bool, error) {
	if opt, ok := v.offered(optionText(e.String())); ok {
		return opt == foldOption(v.answer), nil
	}
	switch e := e.(type) {
	case And:
		return v.all(ctx, e.Of, true)
	case Or:
		return v.all(ctx, e.Of, false)
	case Not:
		ok, err := v.decide(ctx, e.Of)
		return !ok && err == nil, err
	}
	ok, err := v.rule(e)
	if !v.byModel(e, err) {
		return ok, err
	}
	switch {
	case v.later:
		return false, errLater
	case v.env.Model == nil:
		return false, err
	}
	v.model = true
	return v.env.Model(ctx, e.String())
}

// rule decides what is neither joined nor negated by the grammar alone.
func (v *evaluation) rule(e Expr) (bool, error) {
	v.lacks = false
	switch e := e.(type) {
	case Natural:
		return false, undecided("condition %q is natural language, which only a model decides", e.Text)
	case AnswerIs:
		return v.answerIs(e)
	case FileExists:
		return v.fileExists(e)
	}
	return v.test(e)
}

// all decides operands until one settles the result: false for And (and true), true for Or. Those that need
// no model go first.
func (v *evaluation) all(ctx context.Context, of []Expr, and bool) (bool, error) {
	var rest []Expr
	later := v.later
	v.later = true
	for _, o := range of {
		ok, err := v.decide(ctx, o)
		if err == errLater {
			rest = append(rest, o)
			continue
		}
		if err != nil || ok != and {
			v.later = later
			return ok, err
		}
	}
	if v.later = later; later && len(rest) > 0 {
		return false, errLater
	}
	for _, o := range rest {
		if ok, err := v.decide(ctx, o); err != nil || ok != and {
			return ok, err
		}
	}
	return and, nil
}

// offered reports whether text is an option of the question, and gives it folded.
func (v *evaluation) offered(text string) (folded string, ok bool) {
	if len(v.options) == 0 {
		return "", false
	}
	text = foldOption(text)
	for _, o := range v.options {
		if foldOption(o) == text {
			return text, true
		}
	}
	return "", false
}

// foldOption is an option as options compare: trimmed, blanks single, without case.
func foldOption(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

func (v *evaluation) answerIs(e AnswerIs) (bool, error) {
	switch {
	case !v.asked:
		return false, undecided("condition %q tests an answer, but no question was asked", e.Text)
	case len(v.options) > 0:
		return false, undecided("condition %q tests for an answer that the question does not offer, its options are: %s",
			e.Text, strings.Join(v.options, ", "))
	}
	return foldOption(e.Option) == foldOption(v.answer), nil
}

func (v *evaluation) fileExists(e FileExists) (bool, error) {
	if isPath(e.Path) && e.At.Text == "" && v.env.Lookup != nil {
		if val, ok := v.env.Lookup(e.Path); ok {
			return hollow(val) == e.Not, nil
		}
	}
	if v.env.Exists == nil {
		return false, undecided("condition %q tests for a file, but no files can be seen here", e.Text)
	}
	name, err := v.fill(e.Path)
	if err != nil {
		return false, fmt.Errorf("condition %q: %w", e.Text, err)
	}
	if e.At.Text != "" {
		at, ok := e.At.lookup(v.env)
		if !ok || hollow(at) {
			return false, v.none(e.Text, e.At)
		}
		dir := strings.TrimSpace(Text(at))
		if !isFile(e.Path) || strings.EqualFold(path.Base(dir), path.Base(name)) {
			name = dir
		} else {
			name = path.Join(dir, name)
		}
	}
	ok, err := v.env.Exists(name)
	return ok != e.Not && err == nil, err
}

// fill interpolates a path. A slot that has no value is an error, as a path with "<name>"
// in it would simply not exist; <skills-root> is the host's to fill.
func (v *evaluation) fill(name string) (string, error) {
	missing := ""
	out := resource.Interpolate(name, strings.TrimSpace(v.env.Arguments), func(p string) (string, bool) {
		if v.env.Lookup != nil {
			if val, ok := v.env.Lookup(p); ok {
				return Text(val), true
			}
		}
		missing += " " + p
		return "", false
	})
	for _, p := range strings.Fields(missing) {
		if p != "skills-root" && (strings.Contains(name, "<"+p+">") || strings.Contains(name, "{"+p+"}")) {
			return "", undecided("path %q has no value for %q", name, p)
		}
	}
	return out, nil
}

// test decides the tests of values.
func (v *evaluation) test(e Expr) (bool, error) {
	switch e := e.(type) {
	case Ref:
		return v.ref(e)
	case Equal:
		return v.equal(e)
	case Alternative:
		if val, ok := e.Right.lookup(v.env); ok && e.Right.Kind == Word {
			return Truth(val), nil
		}
		if v.named(e.Right) {
			return false, v.none(e.Text, e.Right)
		}
		val, ok := e.Left.lookup(v.env)
		if !ok && v.unbound(e.Left) {
			return false, v.none(e.Text, e.Left)
		}
		return ok && equalLiteral(val, e.Right), nil
	case Compare:
		return v.compare(e)
	case Greater:
		return v.greater(e)
	case Empty:
		if v.unknown(e.Of) {
			return false, v.none(e.Text, e.Of)
		}
		val, ok := e.Of.lookup(v.env)
		if e.Missing {
			return (!ok || val == nil) != e.Not, nil
		}
		return (!ok || hollow(val)) != e.Not, nil
	case Present:
		if v.unknown(e.Of) {
			return false, v.none(e.Text, e.Of)
		}
		val, ok := e.Of.lookup(v.env)
		return (ok && !hollow(val) && !(e.Found && val == false)) != e.Not, nil
	case Outcome:
		return v.outcome(e)
	case Contains:
		return v.contains(e)
	case Valid:
		if v.unbound(e.Of) {
			return false, v.none(e.Text, e.Of)
		}
		val, ok := e.Of.lookup(v.env)
		s, isString := val.(string)
		return (ok && isString && validForm(strings.TrimSpace(s), e.Form)) != e.Not, nil
	}
	return false, undecided("condition of unknown type %T", e)
}

func (v *evaluation) ref(e Ref) (bool, error) {
	if e.Of.Kind == Bool {
		return e.Of.Text == "true", nil
	}
	val, ok := e.Of.lookup(v.env)
	if !ok && e.Of.plain() {
		if v.asked && len(v.options) > 0 {
			return false, undecided("condition %q is neither bound nor an option of the question, its options are: %s",
				e.Text, strings.Join(v.options, ", "))
		}
		return false, v.lack("condition %q is neither bound nor the answer to a question", e.Text).
			Hint("is it a value that may be missing? write %q", e.Text+" is present")
	}
	if !ok && v.unbound(e.Of) {
		return false, v.none(e.Text, e.Of)
	}
	return ok && Truth(val), nil
}

func (v *evaluation) equal(e Equal) (bool, error) {
	left, ok := e.Left.lookup(v.env)
	if !ok && e.English && e.Left.plain() && e.Right.Kind == Word {
		return false, v.lack("condition %q names %q, which nothing binds", e.Text, e.Left.Text)
	}
	if v.unknown(e.Left) || e.Right.Kind != Null && v.unbound(e.Left) {
		return false, v.none(e.Text, e.Left)
	}
	if e.Right.sure() && v.unbound(e.Right) {
		return false, v.none(e.Text, e.Right)
	}
	if e.Right.reference() {
		if right, bound := e.Right.lookup(v.env); bound || e.Right.sure() {
			return Same(left, right) != e.Not, nil
		}
		if v.named(e.Right) {
			return false, v.none(e.Text, e.Right)
		}
	}
	return equalLiteral(left, e.Right) != e.Not, nil
}

func (v *evaluation) compare(e Compare) (bool, error) {
	l, err := v.number(e.Text, e.Left)
	if err != nil {
		return false, err
	}
	r, err := v.number(e.Text, e.Right)
	if err != nil {
		return false, err
	}
	switch e.Op {
	case "<":
		return l < r, nil
	case "<=":
		return l <= r, nil
	case ">":
		return l > r, nil
	}
	return l >= r, nil
}

func (v *evaluation) number(cond string, o Operand) (float64, error) {
	val, ok := o.Value(v.env)
	if o.Kind == Word {
		val, ok = o.lookup(v.env)
	}
	if !ok {
		return 0, v.lack("condition %q orders %q, which has no value", cond, o.Text)
	}
	f, ok := numeric(val)
	if !ok {
		return 0, undecided("condition %q orders %q, which is not a number", cond, o.Text)
	}
	return f, nil
}

func (v *evaluation) greater(e Greater) (bool, error) {
	var num [2]float64
	var ver [2]string
	typed, numbers, versions := true, true, true // typed: JSON numbers, where 1.10 is less than 1.9
	for i, o := range [...]Operand{e.Left, e.Right} {
		val, ok := o.Value(v.env)
		if o.Kind == Word && o.reference() {
			val, ok = o.lookup(v.env)
		}
		if !ok || val == nil {
			return false, v.lack("condition %q orders %q, which has no value", e.Text, o.name())
		}
		f, isNumber := numeric(val)
		num[i], numbers, typed = f, numbers && isNumber, typed && isNumber && !isText(val)
		ver[i] = "v" + strings.TrimPrefix(strings.TrimSpace(Text(val)), "v")
		versions = versions && semver.IsValid(ver[i])
	}
	switch {
	case versions && !typed:
		return (semver.Compare(ver[0], ver[1]) > 0) != e.Not, nil
	case numbers:
		return (num[0] > num[1]) != e.Not, nil
	}
	return false, undecided("condition %q orders values that are neither two versions nor two numbers", e.Text)
}

func (v *evaluation) outcome(e Outcome) (bool, error) {
	name := e.Of.Text
	for _, p := range [...]string{"context.", "ctx."} {
		name = strings.TrimPrefix(name, p)
	}
	got := ""
	if v.env.Outcome != nil {
		got = v.env.Outcome(name)
	}
	switch got {
	case "failed", "ended":
		return e.Failed != e.Not, nil
	case "ok":
		return e.Failed == e.Not, nil
	case "skipped":
		return e.Not, nil
	}
	if v.unbound(e.Of) {
		v.lacks = true
	}
	return false, undecided("condition %q asks how %q ended, but no call binds it", e.Text, name)
}

func (v *evaluation) contains(e Contains) (bool, error) {
	want, ok := e.Want.Value(v.env)
	if !ok {
		return false, v.none(e.Text, e.Want)
	}
	if v.unbound(e.Left) {
		return false, v.none(e.Text, e.Left)
	}
	val, ok := e.Left.lookup(v.env)
	if !ok || val == nil {
		return e.Not, nil
	}
	has := false
	switch val := val.(type) {
	case string:
		has = strings.Contains(val, Text(want))
	case []any:
		for _, item := range val {
			has = has || Same(item, want)
		}
	case map[string]any:
		_, has = val[Text(want)]
	default:
		return false, undecided("condition %q looks into %q, which is neither a text, a list nor an object", e.Text, e.Left.Text)
	}
	return has != e.Not, nil
}

func validForm(s, form string) bool {
	if form == "semver" {
		core, _, _ := strings.Cut(s, "+")
		core, _, _ = strings.Cut(core, "-")
		return strings.Count(core, ".") == 2 && semver.IsValid("v"+s)
	}
	for _, word := range strings.Split(s, "-") {
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			return false
		}
	}
	return true
}
