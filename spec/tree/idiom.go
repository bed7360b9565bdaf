package tree

import (
	"strings"

	"github.com/skl-project/skl/spec/tree/cond"
	"github.com/skl-project/skl/spec/tree/resource"
)

// idioms are the words before a name in backticks that say where a result goes.
var idioms = [...]string{"to get ", "as ", "into "}

// bindIdioms gives steps the outputs that their words name: "Run `git branch` to get `branch`" binds branch where something
// of the skill reads that name. Where nothing does, the words say nothing of names, as in "write it as `json`".
func bindIdioms(s *Skill) {
	found := map[*Node][]string{}
	read := map[string]bool{}
	each := func(n *Node) bool {
		text := n.Body
		if (n.Kind == Prose || n.Kind == Read) && len(n.Outs) == 0 {
			if names, rest := idiomNames(text); names != nil {
				found[n], text = names, rest
			}
		}
		n.reads(text, read)
		return true
	}
	if s.Tree != nil {
		Walk(s.Tree.Nodes, each)
	}
	for _, op := range s.Ops {
		if op.Tree != nil {
			Walk(op.Tree.Nodes, each)
		}
		for _, o := range op.Outs {
			read[o.Name] = true
		}
	}
	if len(found) == 0 {
		return
	}
	for _, field := range s.Response {
		read[asName(field)] = true
	}
	for n, names := range found {
		for _, name := range names {
			if read[name] {
				n.Outs, n.Implied = append(n.Outs, Target{Name: name}), true
			}
		}
	}
}

// asName is a phrase as a name: "Files changed" is files_changed.
func asName(phrase string) string {
	return strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(bare(trim(phrase))), " ", "_"), "-", "_")
}

// reads adds the names that n reads, where text is what is left of its body.
func (n *Node) reads(text string, to map[string]bool) {
	add := func(path string) { to[cond.Root(strings.Trim(path, "`"))] = true }
	operand := func(o cond.Operand) {
		if o.Kind == cond.Word || o.Kind == cond.Path {
			add(o.Text)
		}
	}
	switch n.Kind {
	case If, ElseIf:
		for _, name := range cond.Names(cond.Parse(n.Cond)) {
			add(name)
		}
	case Switch:
		operand(cond.ParseExpression(n.Cond).Operand)
	case ForEach:
		operand(cond.ParseCollection(n.In).Of)
	case ShowPlan:
		for _, f := range n.Fields {
			to[asName(f.Text)] = true
		}
	case Bind:
		for _, word := range strings.Fields(n.Body) {
			add(word)
		}
	}
	for _, a := range n.Args {
		if a.Value.Kind == Ref || a.Value.Kind == Word {
			add(a.Value.Text)
		}
	}
	if n.Matching {
		add(n.Section)
	}
	for _, t := range [...]string{text, n.Message, n.Question} {
		for _, name := range resource.Mentions(t, nil) {
			add(name)
		}
	}
}

// finds are the words before a name and a colon that say what a step is to find out.
var finds = [...]string{"detect ", "determine ", "identify ", "resolve "}

// idiomNames finds the names that the idioms of text bind, and text without them.
func idiomNames(text string) (names []string, rest string) {
	for _, find := range finds {
		if len(text) > len(find) && strings.EqualFold(text[:len(find)], find) {
			name, after, ok := strings.Cut(text[len(find):], ":")
			if isIdent(name) && !isOpName(name) && ok && trim(after) != "" {
				names, text = []string{name}, after
			}
			break
		}
	}
	if !strings.Contains(text, "`") {
		return names, text
	}
	rest = text
	for _, idiom := range idioms {
		for from := 0; ; {
			i := strings.Index(rest[from:], idiom)
			if i < 0 {
				break
			}
			i += from
			from = i + len(idiom)
			if i > 0 && strings.IndexByte(blanks+"(", rest[i-1]) < 0 || strings.Count(rest[:i], "`")%2 > 0 {
				continue
			}
			end := from
			if after, ok := strings.CutPrefix(rest[end:], "the "); ok {
				end = len(rest) - len(after)
			}
			for {
				name, after, ok := codeName(rest[end:])
				if !ok {
					break
				}
				names = append(names, name)
				rest = rest[:end] + after
				joint := false
				for _, and := range [...]string{", and ", " and ", ", "} {
					if next, ok := strings.CutPrefix(rest[end:], and); ok {
						if _, _, joint = codeName(next); joint {
							end += len(and)
							break
						}
					}
				}
				if !joint {
					break
				}
			}
		}
	}
	return names, rest
}

// codeName cuts a name in backticks from the front of text.
func codeName(text string) (name, rest string, ok bool) {
	text, ok = strings.CutPrefix(text, "`")
	if !ok {
		return "", "", false
	}
	name, rest, ok = strings.Cut(text, "`")
	return name, rest, ok && isIdent(name) && !isOpName(name)
}
