package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/skl-project/skl/spec/tree"
	"github.com/skl-project/skl/spec/tree/resource"
)

// Questions are the texts of what the skill can ask, as they are written, each once.
func (p *Plan) Questions() []string {
	var out []string
	for n := range p.Nodes() {
		if n.Kind == tree.Ask && !slices.Contains(out, n.Question) {
			out = append(out, n.Question)
		}
	}
	return out
}

// Asks reports whether a question of a run could take an answer that is given beforehand for key: for the path of a visit, for a node, or for a
// question that begins so. Where a question has places that are filled only then, what stands before the first counts.
func (p *Plan) Asks(key string) bool {
	if p.Whole != nil { // a turn of a conversation is named by its path
		return p.Skill.Doc.IsConversational() && (key == "0" || strings.HasPrefix(key, "0["))
	}
	if n, _, ok := p.NodeByID(key); ok {
		return asks(n)
	}
	if n := p.visited(key); n != nil {
		return asks(n)
	}
	for n := range p.Nodes() {
		if asks(n) && begins(n, key) {
			return true
		}
	}
	return false
}

// asks reports whether a visit of n can ask. PARALLEL asks where a model does one thing at a time.
func asks(n *tree.Node) bool { return n.Kind == tree.Ask || n.Kind == tree.Parallel }

func begins(n *tree.Node, key string) bool {
	texts := []string{n.Question, Adjusting}
	if n.Kind == tree.Parallel {
		texts = []string{Sequential}
	}
	for _, text := range texts {
		whole := n.Kind == tree.Ask
		if holes := resource.Holes(text, nil); len(holes) > 0 || strings.Contains(text, "$ARGUMENTS") {
			at := strings.IndexAny(text, "<{$")
			if c := strings.Index(text, "context."); c >= 0 && (at < 0 || c < at) {
				at = c
			}
			text, whole = text[:max(at, 0)], false
		}
		short := min(len(text), len(key))
		if strings.EqualFold(text[:short], key[:short]) && (len(key) <= len(text) || !whole) {
			return true
		}
	}
	return false
}

// Questions of the runtime itself.
const (
	Adjusting  = "What should be adjusted?"                // before an ASK is put again
	Sequential = "The model works on one thing at a time." // how the question begins
)

// visited is the node that a path of a visit leads to, nil if it leads to none: "1/0", "2[3]/1", "0>DEPLOY/2", perhaps with a word behind a colon.
func (p *Plan) visited(path string) *tree.Node {
	path, _, _ = strings.Cut(path, ":")
	nodes := p.Main()
	for {
		digits := len(path) - len(strings.TrimLeft(path, "0123456789"))
		i, err := strconv.Atoi(path[:digits])
		if err != nil || i >= len(nodes) {
			return nil
		}
		n := nodes[i]
		path, nodes = path[digits:], n.Children
		if strings.HasPrefix(path, "[") {
			_, rest, ok := strings.Cut(path, "]")
			if !ok {
				return nil
			}
			path = rest
		}
		if strings.HasPrefix(path, ">") {
			c, ok := p.Callee(n)
			name, rest, _ := strings.Cut(path[1:], "/")
			if !ok || c.Op.Tree == nil || c.Op.Name != name {
				return nil
			}
			path, nodes = "/"+rest, c.Op.Tree.Nodes
		}
		if path == "" {
			return n
		}
		if path[0] != '/' {
			return nil
		}
		path = path[1:]
	}
}
