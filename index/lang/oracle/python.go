package main

import (
	"regexp"
	"strings"
)

var upperName = regexp.MustCompile(`^[A-Z0-9_]*[A-Z][A-Z0-9_]*$`)

func (w *walker) python(n *node, s scope) {
	switch n.kind {
	case "function_definition":
		kind := "function"
		if s.inType {
			kind = "method"
		}
		w.define(kind, n, n.get("name"))
		for _, c := range n.children {
			inner := s
			if c.field == "body" {
				inner = scope{inFunction: true}
			}
			w.python(c, inner)
		}
		return
	case "class_definition":
		w.define("class", n, n.get("name"))
		for _, c := range n.children {
			switch c.field {
			case "superclasses":
				w.pythonBases(c, s)
			case "body":
				w.python(c, scope{inType: true})
			default:
				w.python(c, s)
			}
		}
		return
	case "lambda":
		w.pythonChildren(n, scope{inFunction: true})
		return
	case "type_alias_statement":
		if left := n.get("left"); left != nil {
			if name := firstKind(left, "identifier"); name != nil {
				w.define("struct", n, name)
			}
			if right := n.get("right"); right != nil {
				w.python(right, s)
			}
			return
		}
	case "assignment":
		if !s.inFunction && n.field != "right" {
			w.pythonAssign(n, n, s)
		}
	case "type":
		w.pythonChildren(n, scope{inFunction: s.inFunction, inType: s.inType, annotation: true})
		return
	case "call":
		if callee := n.get("function"); callee != nil {
			w.pythonPath("call", callee)
			s.annotation = false
			if callee.kind == "attribute" {
				w.python(callee.get("object"), s)
			} else if callee.kind != "identifier" {
				w.python(callee, s)
			}
			if a := n.get("arguments"); a != nil {
				w.python(a, s)
			}
			return
		}
	case "decorator":
		w.pythonPath("call", n.first())
	case "import_statement", "import_from_statement", "future_import_statement":
		w.pythonImport(n)
		return
	case "identifier":
		if s.annotation {
			w.pythonPath("type_ref", n)
		}
		return
	case "attribute":
		if s.annotation {
			w.pythonPath("type_ref", n)
			s.annotation = false
		}
		if o := n.get("object"); o != nil {
			w.python(o, s)
		}
		return
	case "string", "keyword_argument":
		s.annotation = false
		if n.kind == "keyword_argument" {
			if v := n.get("value"); v != nil {
				w.python(v, s)
			}
			return
		}
	}
	w.pythonChildren(n, s)
}

func (w *walker) pythonChildren(n *node, s scope) {
	for _, c := range n.children {
		w.python(c, s)
	}
}

// pythonPath refers to n if it is a name or ends in one.
func (w *walker) pythonPath(kind string, n *node) {
	switch {
	case n.is("identifier"):
		w.refer(kind, n, "")
	case n.is("attribute"):
		w.refer(kind, n.get("attribute"), w.text(n.get("object")))
	}
}

func (w *walker) pythonBases(n *node, s scope) {
	for _, c := range n.children {
		switch c.kind {
		case "identifier", "attribute", "subscript":
			s := s
			s.annotation = true
			w.python(c, s)
		default:
			w.python(c, s)
		}
	}
}

// pythonAssign lists the targets of n; of a chain a = b = 1 all have the span of the whole.
func (w *walker) pythonAssign(whole, n *node, s scope) {
	left := n.get("left")
	if left.is("identifier") {
		kind := pythonVariable(w.text(left), s)
		if n.get("right").is("lambda") {
			if kind = "function"; s.inType {
				kind = "method"
			}
		}
		w.define(kind, whole, left)
	} else {
		w.pythonTargets(whole, left, s)
	}
	if right := n.get("right"); right.is("assignment") {
		w.pythonAssign(whole, right, s)
	}
}

func (w *walker) pythonTargets(n, left *node, s scope) {
	if left.is("identifier") {
		w.define(pythonVariable(w.text(left), s), n, left)
		return
	}
	if left.is("pattern_list", "tuple_pattern", "list_pattern", "list_splat_pattern") {
		for _, c := range left.children {
			w.pythonTargets(n, c, s)
		}
	}
}

func pythonVariable(name string, s scope) string {
	switch {
	case s.inType:
		return "field"
	case upperName.MatchString(name):
		return "constant"
	}
	return "variable"
}

func (w *walker) pythonImport(n *node) {
	prefix := ""
	if n.kind == "future_import_statement" {
		for _, c := range n.children {
			if c.kind == "__future__" {
				w.refer("import", c, "")
				prefix = "__future__"
			}
		}
	}
	if m := n.get("module_name"); m != nil {
		prefix = w.text(m)
		if d := lastKind(m, "identifier"); d != nil {
			w.refer("import", d, dotted(string(w.src[m.start:d.start])))
		}
	}
	for _, c := range n.children {
		if c.field != "name" {
			continue
		}
		if c.kind == "aliased_import" {
			c = c.get("name")
		}
		if d := lastKind(c, "identifier"); d != nil {
			q := dotted(string(w.src[c.start:d.start]))
			if n.kind != "import_statement" {
				q = spaceless(prefix)
			}
			w.refer("import", d, q)
		}
	}
}

// dotted drops the dot that joins a path to its last component, but keeps those of a relative import.
func dotted(s string) string {
	s = spaceless(s)
	if t := strings.TrimRight(s, "."); t != "" {
		return t
	}
	return s
}

func spaceless(s string) string { return strings.Join(strings.Fields(s), "") }

func firstKind(n *node, kinds ...string) *node {
	if n.is(kinds...) {
		return n
	}
	for _, c := range n.children {
		if f := firstKind(c, kinds...); f != nil {
			return f
		}
	}
	return nil
}

func lastKind(n *node, kinds ...string) *node {
	if n.is(kinds...) {
		return n
	}
	for i := len(n.children) - 1; i >= 0; i-- {
		if f := lastKind(n.children[i], kinds...); f != nil {
			return f
		}
	}
	return nil
}
