package main

// rustScope is scope with the meaning: inType directly in the body of an impl or a trait.
func (w *walker) rust(n *node, s scope) {
	name := n.get("name")
	switch n.kind {
	case "token_tree", "macro_definition", "line_comment", "block_comment":
		if n.kind == "macro_definition" {
			w.define("macro", n, name)
		}
		return
	case "function_item", "function_signature_item":
		kind := "function"
		if s.inType {
			kind = "method"
		}
		w.define(kind, n, name)
		w.rustChildren(n, scope{}, "body", scope{inFunction: true})
		return
	case "struct_item", "union_item", "type_item", "associated_type":
		w.define("struct", n, name)
		w.rustChildren(n, scope{inFunction: s.inFunction}, "", scope{})
		return
	case "enum_item":
		w.define("enum", n, name)
		w.rustChildren(n, scope{inFunction: s.inFunction}, "", scope{})
		return
	case "impl_item":
		w.rustImpl(n)
		return
	case "trait_item":
		w.define("class", n, name)
		w.rustChildren(n, scope{}, "body", scope{inType: true})
		return
	case "mod_item":
		w.define("module", n, name)
		w.rustChildren(n, scope{}, "body", scope{})
		return
	case "const_item", "static_item":
		if !s.inFunction {
			kind := "constant"
			if n.kind == "static_item" {
				kind = "variable"
			}
			w.define(kind, n, name)
		}
		w.rustChildren(n, scope{inFunction: true}, "", scope{})
		return
	case "closure_expression":
		s.inFunction = true
	case "use_declaration":
		w.rustUse(n.get("argument"), nil, "")
		return
	case "extern_crate_declaration":
		w.refer("import", name, "")
		return
	case "macro_invocation":
		w.rustPath("call", n.get("macro"))
		return
	case "call_expression":
		w.rustPath("call", n.get("function"))
	case "type_identifier":
		if n.field != "name" || s.annotation {
			w.rustType(n, "")
		}
		return
	case "scoped_type_identifier":
		w.rustType(name, w.text(n.get("path")))
		if p := n.get("path"); p != nil {
			w.rust(p, s)
		}
		return
	}
	if s.inType && n.kind != "declaration_list" && n.kind != "macro_invocation" {
		s.inType = false
	}
	for _, c := range n.children {
		inner := s
		// the name of a struct expression is a use, the name of a type parameter a declaration
		inner.annotation = c.field == "name" && n.is("struct_expression", "struct_pattern", "type_binding") == true
		w.rust(c, inner)
	}
}

func (w *walker) rustType(n *node, path string) {
	if n != nil && w.text(n) != "Self" {
		w.refer("type_ref", n, path)
	}
}

// rustChildren walks a definition's children, those of field in scope inner.
func (w *walker) rustChildren(n *node, s scope, field string, inner scope) {
	for _, c := range n.children {
		switch c.field {
		case "name":
		case field:
			w.rust(c, inner)
		default:
			w.rust(c, s)
		}
	}
}

func (w *walker) rustImpl(n *node) {
	t := n.get("type")
	name := firstKind(t, "type_identifier", "primitive_type")
	if name == nil {
		name = t
	}
	w.define("struct", n, name)
	for _, c := range n.children {
		switch c.field {
		case "type":
			w.rustOther(c, name)
		case "body":
			w.rust(c, scope{inType: true})
		default:
			w.rust(c, scope{})
		}
	}
}

// rustOther walks an impl's type, its name left out.
func (w *walker) rustOther(n, name *node) {
	if n == name {
		return
	}
	if len(n.children) == 0 {
		w.rust(n, scope{})
	}
	for _, c := range n.children {
		if c != name && c.is("type_identifier", "scoped_type_identifier") && firstKind(c, "type_identifier") != name {
			w.rust(c, scope{annotation: true})
			continue
		}
		w.rustOther(c, name)
	}
}

func (w *walker) rustPath(kind string, n *node) {
	switch {
	case n.is("identifier", "metavariable"):
		w.refer(kind, n, "")
	case n.is("field_expression"):
		if f := n.get("field"); f.is("field_identifier") {
			w.refer(kind, f, w.text(n.get("value")))
		}
	case n.is("scoped_identifier"):
		w.refer(kind, n.get("name"), w.text(n.get("path")))
	case n.is("generic_function"):
		w.rustPath(kind, n.get("function"))
	}
}

// rustUse refers to the leaves of a use tree; last is the last component of the prefix.
func (w *walker) rustUse(n, last *node, prefix string) {
	if n == nil {
		return
	}
	switch n.kind {
	case "identifier", "crate", "super", "metavariable":
		w.refer("import", n, prefix)
	case "self":
		if last == nil {
			last = n
		} else {
			prefix = parentPath(prefix)
		}
		w.refer("import", last, prefix)
	case "scoped_identifier":
		w.refer("import", n.get("name"), joinPath(prefix, spaceless(w.text(n.get("path")))))
	case "use_as_clause":
		w.rustUse(n.get("path"), last, prefix)
	case "use_wildcard":
		if p := n.first(); p != nil {
			w.rustUse(p, last, prefix)
		} else if last != nil {
			w.refer("import", last, parentPath(prefix))
		}
	case "use_list":
		for _, c := range n.children {
			if c.named {
				w.rustUse(c, last, prefix)
			}
		}
	case "scoped_use_list":
		p := n.get("path")
		if p == nil {
			w.rustUse(n.get("list"), last, prefix)
			return
		}
		end := p
		if p.kind == "scoped_identifier" {
			end = p.get("name")
		}
		w.rustUse(n.get("list"), end, joinPath(prefix, spaceless(w.text(p))))
	}
}

func joinPath(prefix, path string) string {
	if prefix == "" {
		return path
	}
	if path == "" {
		return prefix
	}
	return prefix + "::" + path
}

func parentPath(path string) string {
	for i := len(path) - 1; i > 0; i-- {
		if path[i] == ':' && path[i-1] == ':' {
			return path[:i-1]
		}
	}
	return ""
}
