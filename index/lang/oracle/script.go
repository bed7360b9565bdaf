package main

func (w *walker) script(n *node, s scope) {
	name := n.get("name")
	switch n.kind {
	case "function_declaration", "generator_function_declaration", "function_signature":
		w.define("function", n, name)
		w.scriptFunction(n, s)
		return
	case "function_expression", "generator_function", "arrow_function":
		if n.kind != "arrow_function" && name != nil && !s.annotation {
			w.define("function", n, name)
		}
		w.scriptFunction(n, s)
		return
	case "class_declaration", "abstract_class_declaration", "class":
		if !n.named {
			return
		}
		if name != nil && !s.annotation {
			w.define("class", n, name)
		}
		w.scriptClass(n, s)
		return
	case "interface_declaration", "type_alias_declaration":
		w.define("struct", n, name)
		w.scriptChildren(n, scope{inFunction: s.inFunction, inType: n.kind == "interface_declaration"}, "name")
		return
	case "enum_declaration":
		w.define("enum", n, name)
		w.scriptChildren(n, scope{inFunction: true}, "name")
		return
	case "module", "internal_module":
		if !n.named {
			return
		}
		if name.is("string") {
			name = name.first()
		}
		w.define("module", n, name)
		w.scriptChildren(n, scope{inFunction: s.inFunction}, "name")
		return
	case "method_definition", "method_signature", "abstract_method_signature":
		if name.is("property_identifier", "private_property_identifier") {
			switch {
			case s.inType:
				w.define("method", n, name)
			case n.kind == "method_definition":
				w.define("function", n, name)
			}
		}
		w.scriptFunction(n, s)
		return
	case "field_definition", "public_field_definition":
		w.scriptField(n, s)
		return
	case "lexical_declaration", "variable_declaration":
		if n.field == "initializer" {
			s.inType = false
			for _, c := range n.children {
				w.scriptDeclarator(c, s, "")
			}
			return
		}
		kind := "variable"
		if n.has("const") {
			kind = "constant"
		}
		for _, c := range n.children {
			w.scriptDeclarator(c, s, kind)
		}
		return
	case "assignment_expression":
		left, right := n.get("left"), n.get("right")
		target := left
		if left.is("member_expression") {
			target = left.get("property")
		}
		w.scriptBound(n, target, right, s, "")
		w.script(left, scope{inFunction: s.inFunction})
		return
	case "pair":
		key := n.get("key")
		if !key.is("property_identifier", "private_property_identifier") {
			w.script(key, scope{inFunction: s.inFunction})
			key = nil
		}
		w.scriptBound(n, key, n.get("value"), s, "")
		return
	case "call_expression":
		w.scriptCall(n)
	case "new_expression":
		w.scriptPath("call", n.get("constructor"))
	case "decorator":
		w.scriptPath("call", n.first())
	case "jsx_opening_element", "jsx_self_closing_element":
		if name.is("identifier") && !upperFirst(w.text(name)) {
			break
		}
		w.scriptPath("call", name)
		w.scriptChildren(n, scope{inFunction: s.inFunction}, "name")
		return
	case "jsx_closing_element":
		return
	case "import_statement", "export_statement":
		if w.scriptImport(n, s) {
			return
		}
	case "import_alias", "predefined_type":
		return
	case "type_identifier":
		w.refer("type_ref", n, "")
		return
	case "nested_type_identifier":
		w.refer("type_ref", name, w.text(n.get("module")))
		return
	case "extends_clause", "class_heritage":
		for _, c := range n.children {
			if c.is("identifier", "member_expression") {
				w.scriptPath("type_ref", c)
			}
		}
	case "type_parameter", "mapped_type_clause":
		w.scriptChildren(n, scope{inFunction: s.inFunction}, "name")
		return
	}
	if !n.is("class_body", "interface_body", "object_type") || n.field != "body" {
		s.inType = false
	}
	s.annotation = false
	w.scriptChildren(n, s, "")
}

func (w *walker) scriptChildren(n *node, s scope, but string) {
	for _, c := range n.children {
		if but == "" || c.field != but {
			w.script(c, s)
		}
	}
}

// scriptFunction walks a function's children; scope.annotation says that its own name is not wanted.
func (w *walker) scriptFunction(n *node, s scope) {
	for _, c := range n.children {
		switch c.field {
		case "name":
			if c.kind == "computed_property_name" {
				w.script(c, scope{inFunction: s.inFunction})
			}
		default:
			w.script(c, scope{inFunction: true})
		}
	}
}

func (w *walker) scriptClass(n *node, s scope) {
	for _, c := range n.children {
		switch c.field {
		case "name":
		case "body":
			w.script(c, scope{inType: true})
		default:
			w.script(c, scope{inFunction: s.inFunction})
		}
	}
}

func (w *walker) scriptField(n *node, s scope) {
	name := n.get("name")
	if name == nil {
		name = n.get("property")
	}
	value := n.get("value")
	if name.is("property_identifier", "private_property_identifier") {
		kind := "field"
		if unwrap(value).is("function_expression", "generator_function", "arrow_function") {
			kind = "method"
		}
		w.define(kind, n, name)
	}
	for _, c := range n.children {
		switch {
		case c == name && !name.is("computed_property_name"):
		case c == value:
			w.scriptValue(value)
		default:
			w.script(c, scope{inFunction: true})
		}
	}
}

// scriptValue walks a bound value: a function or class in it is known by what it is bound to.
func (w *walker) scriptValue(value *node) {
	in := unwrap(value)
	if in.is("function_expression", "generator_function", "arrow_function", "class") {
		w.script(in, scope{inFunction: true, annotation: true})
		return
	}
	w.script(value, scope{inFunction: true})
}

func (w *walker) scriptDeclarator(c *node, s scope, kind string) {
	if !c.is("variable_declarator") {
		return
	}
	name := c.get("name")
	target := name
	if !name.is("identifier") {
		target = nil
		w.script(name, scope{inFunction: s.inFunction})
	}
	if s.inFunction {
		kind = ""
	}
	if t := c.get("type"); t != nil {
		w.script(t, scope{inFunction: s.inFunction})
	}
	w.scriptBound(c, target, c.get("value"), s, kind)
}

// scriptBound lists n as target if value is a function or a class, otherwise as kind unless that is "".
func (w *walker) scriptBound(n, target, value *node, s scope, kind string) {
	in := unwrap(value)
	switch {
	case in.is("function_expression", "generator_function", "arrow_function"):
		kind = "function"
	case in.is("class") && in.named:
		kind = "class"
	}
	bound := target.is("identifier", "property_identifier", "private_property_identifier")
	if bound && kind != "" {
		w.define(kind, n, target)
	}
	if value == nil {
		return
	}
	if in.is("function_expression", "generator_function", "arrow_function", "class") {
		w.script(in, scope{inFunction: s.inFunction, annotation: bound})
		return
	}
	w.script(value, scope{inFunction: s.inFunction})
}

// unwrap takes parentheses off.
func unwrap(n *node) *node {
	for n.is("parenthesized_expression") {
		n = n.first()
	}
	return n
}

func upperFirst(s string) bool { return s != "" && s[0] >= 'A' && s[0] <= 'Z' }

func (w *walker) scriptPath(kind string, n *node) {
	switch {
	case n.is("identifier"):
		w.refer(kind, n, "")
	case n.is("member_expression", "nested_identifier"):
		w.refer(kind, n.get("property"), w.text(n.get("object")))
	}
}

func (w *walker) scriptCall(n *node) {
	callee := n.get("function")
	w.scriptPath("call", callee)
	if callee.is("import") || callee.is("identifier") && w.text(callee) == "require" {
		if a := n.get("arguments").first(); a.is("string") {
			w.refer("import", a.first(), "")
		}
	}
}

// scriptImport says whether n was an import or a re-export, and so is done.
func (w *walker) scriptImport(n *node, s scope) bool {
	source := n.get("source")
	if source == nil {
		for _, c := range n.children {
			if c.kind == "import_require_clause" {
				w.refer("import", firstKind(c, "identifier"), w.text(c.get("source").first()))
				return true
			}
		}
		return n.kind == "import_statement"
	}
	module := w.text(source.first())
	count := len(w.references)
	w.scriptImported(n, module)
	if len(w.references) == count {
		w.refer("import", source.first(), "")
	}
	return true
}

func (w *walker) scriptImported(n *node, module string) {
	for _, c := range n.children {
		switch c.kind {
		case "import_specifier", "export_specifier":
			if name := c.get("name"); name.is("string") {
				w.refer("import", name.first(), module)
			} else {
				w.refer("import", name, module)
			}
		case "identifier":
			w.refer("import", c, module)
		case "import_clause", "named_imports", "export_clause", "namespace_import":
			w.scriptImported(c, module)
		case "namespace_export":
			w.refer("import", c.first(), module)
		}
	}
}
