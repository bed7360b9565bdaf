package check_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
)

// A slip is one edit of a line, as fingers and editors make it.
type slip struct{ kind, line string }

var (
	headingLine   = regexp.MustCompile(`^##[ \t]+(Tree|Rules|Agent|Response)\b`)
	primitiveWord = regexp.MustCompile(`^([ \t│|├└─]*(?:[*+-] )?)(IF|ELSE_IF|ELSE|SWITCH|CASE|DEFAULT|FOR_EACH|PARALLEL|BREAK|END|ASK|SHOW_PLAN|EXPLORE|VERIFY_EXPECTED)\b(.*)$`)
)

// slips are the edits of one line: of its heading, its primitive, its arrows and its indent. A step that is nested one deeper is no slip, but
// what a person does to make another tree; it is counted.
func slips(line string) (out []slip) {
	add := func(kind, text string) {
		if text != line {
			out = append(out, slip{kind, text})
		}
	}
	if headingLine.MatchString(line) {
		add("heading", strings.ToLower(line))
		add("heading", strings.ToUpper(line))
		add("heading", line[1:])
		add("heading", "#"+line)
		at := strings.IndexAny(line, "TRA")
		add("heading", line[:at+1]+line[at+2:])
		add("heading", line[:at+1]+line[at+2:at+3]+line[at+1:at+2]+line[at+3:])
		if strings.HasSuffix(line, "Tree") {
			add("heading", line+":")
			add("heading", line+"s")
		}
		return out
	}
	if m := primitiveWord.FindStringSubmatch(line); m != nil {
		front, word, rest := m[1], m[2], m[3]
		add("primitive", front+strings.ToLower(word)+rest)
		add("primitive", front+word[:1]+strings.ToLower(word[1:])+rest)
		add("primitive", front+strings.ReplaceAll(word, "_", " ")+rest)
		add("primitive", front+strings.ReplaceAll(word, "_", "")+rest)
		add("primitive", front+word[1:]+rest)
		add("primitive", front+word+word[len(word)-1:]+rest)
		add("primitive", front+word+":"+rest)
		add("primitive", front+"**"+word+"**"+rest)
	}
	for _, op := range []string{"<<", ">>"} {
		if at := strings.Index(line, " "+op+" "); at >= 0 {
			head, tail := line[:at], line[at+4:]
			add("arrow", head+" "+op[:1]+" "+tail)
			add("arrow", head+" "+op[:1]+" "+op[:1]+" "+tail)
			add("arrow", head+" "+tail)
			add("arrow", head+" "+op+op[:1]+" "+tail)
			add("arrow", head+op+tail)
			add("arrow", head+" "+map[string]string{"<<": "<-", ">>": "->"}[op]+" "+tail)
		}
	}
	if text := strings.TrimLeft(line, " "); text != line && (text[0] == '*' || text[0] == '-' || text[0] == '+') {
		add("indent", line[1:])
		add("indent", " "+line)
		add("indent", text)
		add("nest", "  "+line)
		add("nest", strings.Replace(line, "  ", "\t", 1))
	}
	return out
}

// Whatever slips in a tree is an error that stops a run, or the tree says the same as before: no step becomes one for a model, and no branch
// another.
func TestSlips(t *testing.T) {
	skills := corpus(t)
	total, missed := 0, map[string]int{}
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		s := skills[name]
		fsys, ok := s.FS.(fstest.MapFS)
		if s.Tree == nil || !ok || fsys[s.File] == nil || blocked(s) {
			continue
		}
		src := string(fsys[s.File].Data)
		lines := strings.Split(strings.ReplaceAll(src, "\r\n", "\n"), "\n")
		key := strings.Join(lines[s.Tree.First-1:s.Tree.Last], "\n")
		if seen[key] {
			continue
		}
		seen[key] = true
		for i, line := range lines {
			if n := i + 1; !headingLine.MatchString(line) && (n < s.Tree.First || n > s.Tree.Last) {
				continue
			}
			for _, e := range slips(line) {
				edited := slices.Clone(lines)
				edited[i] = e.line
				total++
				if why := harmless(t, fsys, s, strings.Join(edited, "\n")); why != "" {
					if missed[e.kind]++; e.kind != "nest" {
						t.Logf("%s:%d %s %q: %s", name, i+1, e.kind, e.line, why)
					}
				}
			}
		}
	}
	t.Logf("%d edits of %d trees; of these made another tree: %v", total, len(seen), missed)
	nested := missed["nest"]
	delete(missed, "nest")
	if total < 5000 || nested > 300 {
		t.Errorf("%d edits, %d nested", total, nested)
	}
	// An output that a text names with no arrow left is part of the text.
	if missed["arrow"] > 1 || missed["heading"]+missed["primitive"]+missed["indent"] > 0 {
		t.Errorf("missed %v", missed)
	}
}

func blocked(s *tree.Skill) bool { return slices.ContainsFunc(check.Check(s), check.Blocking) }

// harmless is "" if an edit is refused or changes nothing, else what it changes.
func harmless(t *testing.T, fsys fstest.MapFS, was *tree.Skill, src string) string {
	t.Helper()
	now := maps.Clone(fsys)
	now[was.File] = &fstest.MapFile{Data: []byte(src)}
	s, err := tree.Load(now, was.Dir)
	if err != nil || blocked(s) {
		return ""
	}
	switch {
	case s.Tree == nil:
		return "there is no tree"
	case !slices.EqualFunc(was.Tree.Nodes, s.Tree.Nodes, same):
		return "another tree"
	case !slices.Equal(was.Response, s.Response) || !slices.Equal(was.Rules, s.Rules) || (was.Agent == nil) != (s.Agent == nil):
		return "another section"
	}
	return ""
}

// same reports whether two steps do the same, however they are written.
func same(a, b *tree.Node) bool {
	bold := a.Bold == b.Bold || a.Kind != tree.Call
	return a.Kind == b.Kind && bold && a.Name == b.Name && a.Inline == b.Inline && reflect.DeepEqual(a.Args, b.Args) && reflect.DeepEqual(a.Outs, b.Outs) &&
		a.Body == b.Body && a.Cond == b.Cond && a.Var == b.Var && a.In == b.In && a.Question == b.Question && slices.Equal(a.Options, b.Options) &&
		a.Message == b.Message && slices.Equal(a.Fields, b.Fields) && a.Path == b.Path && a.Section == b.Section && slices.EqualFunc(a.Children, b.Children, same)
}
