package cond_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree/cond"
)

// The law: what a condition prints parses to an equal condition, and no
// environment makes Eval panic, or gives a result together with an error.
func FuzzParse(f *testing.F) {
	for _, p := range productions {
		f.Add(p.text, p.answer)
	}
	f.Add(`((a) OR "b) AND (c) or 'd and e' AND it's f`, "a")
	f.Add("a is 1 or 2 OR `b` and not not (c = `d`)  \t AND e", "e")
	f.Add("a is\f'b\t c' and d is\u2003'e'", "e")
	f.Fuzz(func(t *testing.T, text, seed string) {
		e := cond.Parse(text)
		again := cond.Parse(e.String())
		if !reflect.DeepEqual(e, again) {
			t.Fatalf("Parse(%q) = %#v\nits text parses to %#v", text, e, again)
		}
		values := []any{nil, seed, true, 1.5, []any{seed}, map[string]any{"a": seed}, "1.2.3", "[1]", text}
		n := len(seed)
		pick := func() any { n++; return values[n%len(values)] }
		var asked []string
		env := cond.Env{
			Lookup:    func(p string) (any, bool) { v := pick(); return v, (len(p)+n)%3 > 0 },
			Arguments: seed,
			Answer:    func() (string, []string, bool) { return seed, strings.Split(seed, "|"), n%2 == 0 },
			Exists:    func(string) (bool, error) { return n%2 == 0, nil },
			Outcome:   func(string) string { return []string{"", "ok", "failed", "ended", "skipped"}[n%5] },
			Model:     func(_ context.Context, text string) (bool, error) { asked = append(asked, text); return n%2 == 0, nil },
		}
		none := func(string) bool { return false }
		ok, how, err := cond.Eval(t.Context(), e, env)
		if err != nil && (ok || !errors.Is(err, diag.Code("condition_undecided"))) {
			t.Errorf("%q = %v, %v", text, ok, err)
		}
		if (how == cond.ByModel) != (asked != nil) || asked != nil && !cond.Model(e) && len(cond.FindUnbound(e, cond.Scope{Has: none, Binds: none})) == 0 {
			t.Errorf("%q was decided by %s, asked %q, Model says %v", text, how, asked, cond.Model(e))
		}
		if _, _, err := cond.Eval(t.Context(), e, cond.Env{}); err != nil && !errors.Is(err, diag.Code("condition_undecided")) {
			t.Errorf("%q without an environment: %v", text, err)
		}
		cond.Names(e)
		cond.Files(e)
		v, err := cond.ParseExpression(text).Value(env)
		cond.Match(v, cond.ParseCase(seed), env)
		if items, _, _, err2 := cond.ParseCollection(text).Elements(env); err2 != nil && items != nil {
			t.Errorf("%q: elements together with %v", text, err2)
		}
		if err == nil && !cond.Same(v, v) {
			t.Errorf("%v does not equal itself", v)
		}
	})
}

var sink bool

func BenchmarkCondition(b *testing.B) {
	vars := map[string]any{"context.platform": "claude", "context.dirty": true, "context.available": true}
	env := cond.Env{Lookup: func(p string) (any, bool) { v, ok := vars[p]; return v, ok }}
	for name, text := range map[string]string{
		"equality":    `context.platform == "claude"`,
		"conjunction": `context.dirty is true AND context.available is true`,
		"natural":     `the change is already reflected in the file, for instance by a word that is reserved`,
	} {
		b.Run("parse/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink = cond.Model(cond.Parse(text))
			}
		})
		e := cond.Parse(text)
		if cond.Model(e) {
			continue
		}
		b.Run("eval/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				sink, _, _ = cond.Eval(b.Context(), e, env)
			}
		})
	}
}

func BenchmarkHostileText(b *testing.B) {
	for name, unit := range map[string]string{"quotes": `"' `, "groups": "(a AND ", "joints": "a and ", "nots": "not ", "brackets": "[(", "context": "context.a."} {
		text := strings.Repeat(unit, cond.MaxText/len(unit))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				sink = cond.Model(cond.Parse(text))
			}
		})
	}
	half := strings.Repeat("(a AND ", 31) + strings.Repeat("b ", 1800) + strings.Repeat(")", 31)
	b.Run("nested", func(b *testing.B) {
		b.SetBytes(int64(len(half)))
		for b.Loop() {
			sink = cond.Model(cond.Parse(half))
		}
	})
}
