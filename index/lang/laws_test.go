package lang

import (
	"bytes"
	"testing"
)

// lawful checks what holds for the File of any bytes.
func lawful(t testing.TB, l Language, src []byte, f File) {
	t.Helper()
	span := func(what, name string, s Span) {
		t.Helper()
		if s.Start < 0 || s.Start >= s.End || s.End > len(src) {
			t.Fatalf("%s %q: span %d-%d of %d bytes", what, name, s.Start, s.End, len(src))
		}
	}
	last := 0
	for i, s := range f.Symbols {
		span("symbol", s.Name, s.Span)
		span("name", s.Name, s.NameSpan)
		if s.Doc != (Span{}) {
			span("doc", s.Name, s.Doc)
		}
		if s.Name == "" || s.Name != string(src[s.NameSpan.Start:s.NameSpan.End]) {
			t.Fatalf("name %q, its span says %q", s.Name, src[s.NameSpan.Start:s.NameSpan.End])
		}
		if s.NameSpan.Start < s.Span.Start || s.NameSpan.End > s.Span.End {
			t.Fatalf("%q: name outside its definition", s.Name)
		}
		if s.Span.Start < last {
			t.Fatalf("%q: not in order", s.Name)
		}
		last = s.Span.Start
		if len(s.Signature) > maxSignature {
			t.Fatalf("%q: signature of %d bytes", s.Name, len(s.Signature))
		}
		if s.Parent < -1 || s.Parent >= len(f.Symbols) || s.Parent == i {
			t.Fatalf("%q: parent %d", s.Name, s.Parent)
		}
		receiver := l == Go && s.Kind == Method
		if s.Parent >= 0 && !receiver {
			if p := f.Symbols[s.Parent]; p.Span.Start > s.Span.Start || p.Span.End < s.Span.End || s.Parent > i {
				t.Fatalf("%q %v: its parent %q %v does not enclose it", s.Name, s.Span, p.Name, p.Span)
			}
		}
	}
	last = 0
	for _, r := range f.References {
		span("reference", r.Name, r.Span)
		if r.Name != string(src[r.Span.Start:r.Span.End]) {
			t.Fatalf("reference %q, its span says %q", r.Name, src[r.Span.Start:r.Span.End])
		}
		if r.Span.Start < last {
			t.Fatalf("reference %q: not in order", r.Name)
		}
		last = r.Span.Start
		if r.Source < -1 || r.Source >= len(f.Symbols) {
			t.Fatalf("reference %q: source %d", r.Name, r.Source)
		}
	}
	for _, s := range f.Symbols[:min(3, len(f.Symbols))] {
		if line := 1 + bytes.Count(src[:s.Span.Start], []byte("\n")); line != s.Span.FirstLine {
			t.Fatalf("%q: line %d, not %d", s.Name, s.Span.FirstLine, line)
		}
	}
}
