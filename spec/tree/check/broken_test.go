package check_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/check"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A slip is one edit of a line, as fingers and editors make it.
type slip struct{ kind, line string }

var (
	headingLine   = regexp.MustCompile(`^##[ \t]+(Tree|Rules|Agent|Response)\b`)
	bulletText    = regexp.MustCompile(`^( *)[*+-] (.*)$`)
	primitiveWord = regexp.MustCompile(`^([ \t│|├└─]*(?:[*+-] )?)(IF|ELSE_IF|ELSE|SWITCH|CASE|DEFAULT|FOR_EACH|PARALLEL|BREAK|END|ASK|SHOW_PLAN|EXPLORE|VERIFY_EXPECTED)\b(.*)$`)
)

// slips are the edits of one line: of its heading, its primitive, its arrows, its bullet and its indent. A step that is nested one deeper is no slip, but
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
		for _, sign := range []string{"@", "- ", "// ", "[ ] ", "[x] ", "1. ", "\u00a0", "&nbsp;", "\\", "\u200b", "<b>"} {
			add("disguise", front+sign+word+rest)
		}
		for _, around := range []string{"_", "~~", "\"", "("} {
			add("disguise", front+around+word+map[string]string{"(": ")"}[around]+rest)
		}
		add("disguise", front+word[:1]+" "+word[1:]+rest)
		add("disguise", front+word[:1]+"\u200b"+word[1:]+rest)
		add("disguise", front+strings.NewReplacer("E", "Е", "A", "А", "B", "В", "O", "О", "S", "Ѕ", "I", "І").Replace(word)+rest)
		if word == "CASE" || word == "IF" || word == "ELSE_IF" {
			add("quote", front+word+strings.Replace(rest, `"`, "", 1))
			add("quote", front+word+strings.Replace(rest, `"`, "“", 1))
			add("quote", front+word+strings.NewReplacer(" == ", " === ", " = ", " := ", " equals ", " eq ").Replace(rest))
		}
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
			add("arrow", head+" "+map[string]string{"<<": "«", ">>": "»"}[op]+" "+tail)
			add("arrow", head+" "+map[string]string{"<<": "&lt;&lt;", ">>": "&gt;&gt;"}[op]+" "+tail)
			add("arrow", head+" "+map[string]string{"<<": "<< <<", ">>": "<<"}[op]+" "+tail)
			add("arrow", head+" "+op[:1]+"\u200b"+op[1:]+" "+tail)
		}
	}
	if m := bulletText.FindStringSubmatch(line); m != nil {
		add("bullet", m[1]+"1. "+m[2])
		add("bullet", m[1]+m[2])
		add("bullet", m[1]+"> * "+m[2])
		add("bullet", m[2])
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
	skills := published(t)
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
	arrows := missed["arrow"]
	delete(missed, "arrow")
	if arrows > 1 || len(missed) > 0 {
		t.Errorf("missed %d arrows and %v", arrows, missed)
	}
}

// misspelt are the ways in which a finger slips in a word.
func misspelt(word string) (out []string) {
	at := len(word) / 2
	for _, w := range [...]string{word[:at] + word[at+1:], word[:at] + word[at:at+1] + word[at:], word[:at-1] + word[at:at+1] + word[at-1:at] + word[at+1:], word[:at] + "q" + word[at+1:]} {
		if strings.ToUpper(word) == word {
			w = strings.ToUpper(w)
		}
		if w != word {
			out = append(out, w)
		}
	}
	return out
}

// known are the names of a skill, of ops and of bindings, with how often its trees have each.
func known(s *tree.Skill) map[string]int {
	names := map[string]int{}
	text := &strings.Builder{}
	look := func(n *tree.Node) bool {
		for _, t := range n.Outs {
			names[t.Name] = 0
		}
		names[n.Var] = 0
		text.WriteString(n.Text + "\n")
		return true
	}
	tree.Walk(s.Tree.Nodes, look)
	for _, op := range s.Ops {
		names[op.Name] = 0
		if text.WriteString(op.Prose + "\n"); op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
	for _, word := range nameWord.FindAllString(text.String(), -1) {
		if _, ok := names[word]; ok {
			names[word]++
		}
	}
	maps.DeleteFunc(names, func(name string, _ int) bool { return !check.IsName(name) || len(name) < 2 })
	return names
}

var (
	nameWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
)

// named are the parts of the line of n in which its names stand: what is text for a person or a model is none.
func named(n *tree.Node, line string) (from, to int) {
	to = len(line)
	switch n.Kind {
	case tree.Call, tree.Explore:
		return 0, to
	case tree.If, tree.ElseIf:
		if cond.Model(cond.Parse(n.Cond)) {
			return 0, 0
		}
	case tree.Switch:
		if cond.ParseExpression(n.Cond).Natural {
			return 0, 0
		}
	case tree.ForEach:
		if cond.ParseCollection(n.In).Kind == cond.Prose {
			return 0, 0
		}
	case tree.Bind:
		if _, ok := cond.ParseOperand(n.Body); !ok {
			return 0, strings.IndexAny(line+"=", "=")
		}
	case tree.Prose, tree.Read, tree.Ask:
		if len(n.Outs) == 0 {
			return 0, 0
		}
		return strings.LastIndex(line, ">>"), to
	case tree.ShowPlan:
		return strings.Index(line, ">>"), to
	default:
		return 0, 0
	}
	return 0, to
}

// A name with a slip in it is said, or means the same: it is a name without a value, an op that nobody defines, a word that is given as text. Only a
// binding that nothing reads can have any name.
func TestMisspelt(t *testing.T) {
	skills := published(t)
	total, missed := 0, 0
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(skills)) {
		s := skills[name]
		fsys, ok := s.FS.(fstest.MapFS)
		if s.Tree == nil || !ok || fsys[s.File] == nil || blocked(s) {
			continue
		}
		names, before := known(s), said(check.Check(s))
		each(s, func(n *tree.Node) {
			if fsys[n.Pos.File] == nil {
				return
			}
			lines := strings.Split(strings.ReplaceAll(string(fsys[n.Pos.File].Data), "\r\n", "\n"), "\n")
			line := lines[n.Pos.Line-1]
			if key := fmt.Sprint(len(names), line); seen[key] {
				return
			} else {
				seen[key] = true
			}
			free := quoted.ReplaceAllStringFunc(line, func(s string) string { return strings.Repeat(" ", len(s)) })
			from, to := named(n, free)
			for _, at := range nameWord.FindAllStringIndex(free[:to], -1) {
				word := line[at[0]:at[1]]
				if at[0] < from || names[word] < 2 {
					continue
				}
				for _, w := range misspelt(word) {
					if _, taken := names[w]; taken {
						continue
					}
					total++
					edited := slices.Clone(lines)
					edited[n.Pos.Line-1] = line[:at[0]] + w + line[at[1]:]
					now := maps.Clone(fsys)
					now[n.Pos.File] = &fstest.MapFile{Data: []byte(strings.Join(edited, "\n"))}
					after, err := tree.Load(now, s.Dir)
					if err != nil || more(said(check.Check(after)), before) || unchanged(s, after) {
						continue
					}
					missed++
					t.Logf("%s: %s:%d %q", name, n.Pos.File, n.Pos.Line, edited[n.Pos.Line-1])
				}
			}
		})
	}
	t.Logf("%d edits, %d are not said", total, missed)
	if total < 900 || missed > 0 {
		t.Errorf("%d edits, %d missed", total, missed)
	}
}

// each yields the nodes of the tree and of the ops that have one.
func each(s *tree.Skill, yield func(*tree.Node)) {
	look := func(n *tree.Node) bool { yield(n); return true }
	tree.Walk(s.Tree.Nodes, look)
	for _, op := range s.Ops {
		if op.Tree != nil {
			tree.Walk(op.Tree.Nodes, look)
		}
	}
}

// unchanged reports whether the trees of two skills do the same.
func unchanged(a, b *tree.Skill) bool {
	return b.Tree != nil && slices.EqualFunc(a.Tree.Nodes, b.Tree.Nodes, same) && slices.EqualFunc(a.Ops, b.Ops, func(a, b *tree.Op) bool {
		return a.Name == b.Name && (a.Tree == nil) == (b.Tree == nil) && (a.Tree == nil || slices.EqualFunc(a.Tree.Nodes, b.Tree.Nodes, same))
	})
}

// said are the findings about names.
func said(found []diag.Finding) map[string]bool {
	out := map[string]bool{}
	for _, f := range found {
		switch f.Rule {
		case check.Unbound, check.BareWord, check.UnknownOp, check.Arity, check.LabelDiffers, check.StrictInput, check.LowerCase, check.NearStep:
			out[f.Rule+f.Message] = true
		}
	}
	return out
}

// more reports whether a has what b has not.
func more(a, b map[string]bool) bool {
	for key := range a {
		if !b[key] {
			return true
		}
	}
	return false
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
		a.Message == b.Message && slices.EqualFunc(a.Fields, b.Fields, func(f, g tree.PlanField) bool { return f.Name() == g.Name() && f.Value == g.Value }) && a.Path == b.Path && a.Section == b.Section && slices.EqualFunc(a.Children, b.Children, same)
}
