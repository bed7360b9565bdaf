package run

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/skl-project/skl/runtime/plan"
	"github.com/skl-project/skl/spec/tree"
)

type frameKind uint8

const (
	rootFrame   frameKind = iota // the tree of SKILL.md
	opFrame                      // the body of an op
	branchFrame                  // children of a node that was taken
	loopFrame                    // children of FOR_EACH
	childFrame                   // one child of PARALLEL
)

type chainState uint8

const (
	noChain chainState = iota
	chainOpen
	chainTaken
)

// A frame walks one list of siblings. The exported fields are its written form; the nodes are found again through the node of
// the frame below, so that a frame needs no pointer into the plan.
type frame struct {
	Kind  frameKind `json:"kind"`
	Base  string    `json:"base,omitempty"` // what the paths of its visits begin with
	Index int       `json:"index"`          // of the node that is or will be visited
	Owner string    `json:"owner,omitempty"`
	Take  int       `json:"take,omitempty"` // branch of SWITCH: 1 + index of the CASE; of ASK: 1 + index of the option's child

	Chain       chainState `json:"chain,omitempty"`
	ChainAnswer bool       `json:"chain_answer,omitempty"` // a condition of the chain looked at an answer
	ByAnswer    bool       `json:"by_answer,omitempty"`    // an answer led into this frame

	Var   string `json:"var,omitempty"` // loopFrame
	Items []any  `json:"items,omitempty"`
	Item  int    `json:"item,omitempty"`

	Locals   map[string]any `json:"locals,omitempty"` // parameters, loop variable
	Lacks    lacks          `json:"lacks,omitempty"`  // of Locals; a name that is not among them has no value here, whatever one further out has
	Scope    *scope         `json:"scope,omitempty"`  // root and isolated ops: what bind and >> write to; lookups end here
	Isolated bool           `json:"isolated,omitempty"`
	Agent    bool           `json:"agent,omitempty"` // this frame or one below it is isolated
	Answer   *answered      `json:"answer,omitempty"`
	Wrote    map[string]any `json:"wrote,omitempty"`  // opFrame: names bound since the call
	Unsure   lacks          `json:"unsure,omitempty"` // of Wrote
	Return   any            `json:"return,omitempty"`
	Returned bool           `json:"returned,omitempty"`
	Broke    bool           `json:"broke,omitempty"` // left by BREAK
	Docs     []document     `json:"docs,omitempty"`  // root and opFrame: files read for the leaves
	Notes    []string       `json:"notes,omitempty"` // root and opFrame: results that no name holds
	Plan     string         `json:"plan,omitempty"`  // root and opFrame: id of the last SHOW_PLAN

	nodes   []*tree.Node
	end     int         // index after the last node to visit
	node    *tree.Node  // owner: nil for the root
	callee  plan.Callee // opFrame
	started time.Time
}

// scope is one flat set of bindings.
type scope struct {
	Vars     map[string]any     `json:"vars"`
	Lacks    lacks              `json:"lacks,omitempty"` // of Vars
	Outcomes map[string]outcome `json:"outcomes,omitempty"`
	Policies []document         `json:"policies,omitempty"`
	Asked    map[string]bool    `json:"asked,omitempty"`   // names that an ASK bound
	Planned  map[string]bool    `json:"planned,omitempty"` // names that a SHOW_PLAN bound
}

func newScope() *scope { return &scope{Vars: map[string]any{}} }

// lacks says of bindings what has no value: the name that a text stands for, or that a text keeps a slot for. No rule decides by such a text.
type lacks map[string]string

// set records what the binding of name lacks, "" for nothing.
func (l *lacks) set(name, lack string) {
	switch {
	case lack == "":
		delete(*l, name)
	case *l == nil:
		*l = lacks{name: lack}
	default:
		(*l)[name] = lack
	}
}

// outcome is what became of the call that binds a name (ruling 5.23).
type outcome struct {
	Status Status `json:"status"`
	Error  string `json:"error,omitempty"`
}

// answered is the most recent ASK of an op.
type answered struct {
	Text    string   `json:"text"`
	Options []string `json:"options,omitempty"`
}

// document is a file, or a section of one, that a Read loaded.
type document struct {
	Path    string `json:"path"`
	Section string `json:"section,omitempty"`
	Text    string `json:"text"`
	Policy  bool   `json:"policy,omitempty"`
}

// path of the visit of the node at Index.
func (f *frame) path() string {
	i := strconv.Itoa(f.Index)
	if f.Kind == loopFrame {
		return f.Base + "[" + strconv.Itoa(f.Item) + "]/" + i
	}
	if f.Base == "" {
		return i
	}
	return f.Base + "/" + i
}

// owns reports whether the frame is the whole of a tree or of an op.
func (f *frame) owns() bool { return f.Kind == rootFrame || f.Kind == opFrame }

// clone copies what a child of PARALLEL may change; values are shared, as nothing changes a value.
func (f *frame) clone() *frame {
	c := *f
	c.Locals, c.Lacks, c.Wrote, c.Unsure = maps.Clone(f.Locals), maps.Clone(f.Lacks), maps.Clone(f.Wrote), maps.Clone(f.Unsure)
	c.Docs, c.Notes = slices.Clip(f.Docs), slices.Clip(f.Notes)
	if f.Scope != nil {
		s := *f.Scope
		s.Vars, s.Lacks, s.Outcomes = maps.Clone(s.Vars), maps.Clone(s.Lacks), maps.Clone(s.Outcomes)
		s.Asked, s.Planned = maps.Clone(s.Asked), maps.Clone(s.Planned)
		s.Policies = slices.Clip(s.Policies)
		c.Scope = &s
	}
	return &c
}

// branchNodes returns what a frame of kind branchFrame walks.
func branchNodes(n *tree.Node, take int) []*tree.Node {
	switch {
	case n.Kind == tree.Switch && take > 0 && take <= len(n.Children):
		return branchNodes(n.Children[take-1], 0)
	case n.Kind == tree.Ask && take > 0 && take <= len(n.Children):
		return n.Children[take-1].Children
	}
	return n.Children
}

// bindNodes gives frames that were read back their nodes.
func (s *session) bindNodes(frames []*frame) bool {
	for i, f := range frames {
		if i == 0 {
			f.nodes = s.plan.Main()
			f.end = len(f.nodes)
			continue
		}
		below := frames[i-1]
		if below.Index < 0 || below.Index >= len(below.nodes) {
			return false
		}
		f.node = below.nodes[below.Index]
		if f.node.ID != f.Owner {
			return false
		}
		switch f.Kind {
		case opFrame:
			c, ok := s.callee(f.node)
			if !ok || c.Op.Tree == nil {
				return false
			}
			f.callee, f.nodes = c, c.Op.Tree.Nodes
		case branchFrame:
			f.nodes = branchNodes(f.node, f.Take)
		case loopFrame:
			f.nodes = f.node.Children
		default:
			return false
		}
		f.end, f.started = len(f.nodes), s.now()
	}
	return true
}
