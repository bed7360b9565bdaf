package report

import (
	"strings"

	"github.com/skl-project/skl/cmd/skl/internal/apply"
	"github.com/skl-project/skl/cmd/skl/internal/draw"
	"github.com/skl-project/skl/cmd/skl/internal/inspect"
	"github.com/skl-project/skl/cmd/skl/internal/screen"
)

// Check is the report of skl check. What was refused ends with exit 4, what does not hold with exit 3.
func Check(out inspect.Checked) Report {
	r := Report{Result: out, Text: func(t *Text) {
		t.Page(func(k screen.Look) string { return draw.Check(k, out) }, func(t *Text) { checks(t, out) })
	}}
	switch {
	case out.Refused != "":
		r.End = Refused(out.Refused)
	case !out.OK:
		r.End = Unmet("check")
	}
	return r
}

func checks(t *Text, out inspect.Checked) {
	for _, c := range out.Checks {
		t.Print("%s %s", Mark(c.OK), c.Check)
		for _, d := range c.Detail {
			t.Print("  %s", d)
		}
	}
	said := map[string]bool{}
	for _, c := range out.Checks {
		for _, m := range c.Mend {
			if !said[m] {
				said[m] = true
				t.Hint("%s", m)
			}
		}
	}
}

// Status is the report of skl status. What is not as it should be ends with exit 3, a blocked release with exit 4.
func (d *Desk) Status(s inspect.Status) Report {
	r := Report{Result: s, Text: func(t *Text) { d.status(t, s) }}
	switch {
	case s.OK:
	case apply.Blocked(s.Withdrawn) != nil:
		r.End = Refused("blocked") // it was said
	default:
		r.End = Unmet("status")
	}
	return r
}

func (d *Desk) status(t *Text, s inspect.Status) {
	say := func(label string, ok bool, good string, bad []string) {
		if ok {
			t.Print("%s %s", label, good)
			return
		}
		t.Print("%s %s", label, joinWords(bad))
	}
	t.Print("scope      %s, %s", s.Scope, d.Scope.Short(s.Base))
	dirs := make([]string, len(s.Roots))
	for i, dir := range s.Roots {
		dirs[i] = d.Scope.Short(dir)
	}
	t.Print("skills     %d in skl.toml, installed in %s", s.Skills, joinWords(dirs))
	t.Print("agents     %s", OrDash(joinWords(s.Hosts)))
	if s.None {
		t.none()
		return
	}
	if s.Lost != "" {
		t.Warn("%s", s.Lost)
	}
	say("lock      ", len(s.Stale) == 0, "fresh", prefixed("stale: ", s.Stale))
	say("files     ", len(s.Drift) == 0, "as published", prefixed("differ or missing: ", s.Drift))
	if len(s.Links) > 0 {
		say("links     ", false, "", []string{joinWords(s.Links)})
	}
	for _, line := range s.Off {
		t.Print("off        %s", line)
	}
	say("conflicts ", len(s.Conflicts) == 0, "none", s.Conflicts)
	if len(s.Sources) > 0 {
		say("sources   ", false, "", s.Sources)
	}
	if s.Scope == "project" && !s.Trusted {
		t.Print("trust      this project is not trusted: its skills are listed, not loaded")
		t.Hint("skl ci, or skl trust allow")
	}
	hints := s.Mend
	switch {
	case len(s.Stale) > 0 && s.Lost == "":
		hints = []string{"skl install"}
	case len(hints) == 0 && len(s.Conflicts) > 0:
		hints = []string{"skl list --shadowed"}
	}
	for _, h := range hints {
		t.Hint("%s", h)
	}
}

//go:noinline
func joinWords(words []string) string { return strings.Join(words, ", ") }

func prefixed(prefix string, words []string) []string { return []string{prefix + joinWords(words)} }
