package run

import (
	"maps"
	"slices"
	"strings"

	"github.com/skl-project/skl/spec/diag"
	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/cond"
)

// A stack is where a machine stands: the frames of the bodies that it is in, with what is bound and was read there.
type stack struct {
	Frames []*frame `json:"frames"`

	base int      // a child of PARALLEL begins above base frames that are copies of its parent's
	over handover // of such a child
}

// A handover is what a child of PARALLEL wrote into the frames of its parent.
type handover struct {
	writes []write
	ended  []namedOutcome
	docs   []document // policies, files and notes that outlive the child
}

// A write is an assignment.
type write struct {
	frame int
	name  string
	value any
	lack  string
}

type namedOutcome struct {
	name string
	outcome
}

func (st *stack) top() *frame { return st.Frames[len(st.Frames)-1] }

func (st *stack) push(f *frame) {
	f.end = len(f.nodes)
	if len(st.Frames) > 0 {
		below := st.top()
		f.Agent = f.Agent || below.Agent || f.Isolated
		f.ByAnswer = f.ByAnswer || below.ByAnswer
	}
	st.Frames = append(st.Frames, f)
}

func (st *stack) pop() *frame {
	f := st.top()
	st.Frames = st.Frames[:len(st.Frames)-1]
	return f
}

// owner is the innermost frame that is a tree or an op.
func (st *stack) owner() *frame {
	for i := len(st.Frames) - 1; ; i-- {
		if st.Frames[i].owns() {
			return st.Frames[i]
		}
	}
}

// scope is where bind and >> write.
func (st *stack) scope() (*scope, int) {
	for i := len(st.Frames) - 1; ; i-- {
		if s := st.Frames[i].Scope; s != nil {
			return s, i
		}
	}
}

// opName is the op whose body this is, "" in the tree.
func (st *stack) opName() string {
	if f := st.owner(); f.Kind == opFrame {
		return f.callee.Op.Name
	}
	return ""
}

// opSkill is the skill whose op the current body is of, nil if that is the skill that runs.
func (st *stack) opSkill() *tree.Skill {
	for i := len(st.Frames) - 1; i >= 0; i-- {
		if f := st.Frames[i]; f.Kind == opFrame && f.callee.Skill != nil {
			return f.callee.Skill
		}
	}
	return nil
}

// inputNote is what the marker of the op around says of an input, "" if name is none.
func (st *stack) inputNote(name string) string {
	for i := len(st.Frames) - 1; i >= 0; i-- {
		if f := st.Frames[i]; f.Kind == opFrame && f.callee.Op != nil {
			if has(f.Locals, name) {
				return f.callee.Op.InputDoc[name]
			}
			return ""
		}
	}
	return ""
}

// policies in force: those of the scope, and of the scopes around it.
func (st *stack) policies() []document {
	var out []document
	for _, f := range st.Frames {
		if f.Scope != nil {
			out = append(out, f.Scope.Policies...)
		}
	}
	return out
}

// adopt makes a document a policy of the scope.
func (st *stack) adopt(d document) {
	s, i := st.scope()
	s.Policies = append(s.Policies, d)
	if i < st.base {
		d.Policy = true
		st.over.docs = append(st.over.docs, d)
	}
}

// note keeps the result of a leaf that no name holds, for the leaves after it in the same op.
func (st *stack) note(path string, v any) {
	if text := strings.TrimSpace(cond.Text(v)); text != "" {
		st.noted(path + ": " + diag.Clip(text, 8<<10))
	}
}

func (st *stack) noted(text string) {
	if st.outlives() {
		st.over.docs = append(st.over.docs, document{Text: text})
	}
	o := st.owner()
	o.Notes = append(o.Notes, text)
	if n := len(o.Notes); n > 64 {
		o.Notes = slices.Clone(o.Notes[n-64:])
	}
}

// load keeps a file for the leaves after it in the same op.
func (st *stack) load(d document) {
	o := st.owner()
	if st.outlives() {
		st.over.docs = append(st.over.docs, d)
	}
	o.Docs = slices.DeleteFunc(slices.Clone(o.Docs), func(e document) bool { return e.Path == d.Path && e.Section == d.Section })
	o.Docs = append(o.Docs, d)
	if n := len(o.Docs); n > 64 {
		o.Docs = o.Docs[n-64:]
	}
}

// outlives reports whether the op that the machine is in goes on after this child of PARALLEL.
func (st *stack) outlives() bool {
	for i := len(st.Frames) - 1; i >= st.base; i-- {
		if st.Frames[i].owns() {
			return false
		}
	}
	return st.base > 0
}

// lost says what became of the child of PARALLEL that binds a name, if it did not come to its end.
func (st *stack) lost(phrase string) (why string, ok bool) {
	s, _ := st.scope()
	want := tree.NameOf(strings.TrimPrefix(strings.TrimPrefix(phrase, "context."), "ctx."))
	for _, name := range slices.Sorted(maps.Keys(s.Outcomes)) {
		if tree.NameOf(name) != want {
			continue
		}
		switch o := s.Outcomes[name]; o.Status {
		case Failed:
			return "the step that binds it failed: " + o.Error, true
		case Skipped:
			return "the step that binds it was not run, because one before it failed", true
		case Ended:
			if o.Error == "" {
				return "the step that binds it ended before", true
			}
			return "the step that binds it ended: " + o.Error, true
		}
	}
	return "", false
}
