package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// scanGo reads Go by go/parser. A file that it refuses is read by goScanner, and so is
// one with brackets so deep that the parser's recursion would take 100 MB and more.
func scanGo(src []byte) File {
	if deepBrackets(src) {
		f := scanBrokenGo(src)
		f.Broken = false
		return f
	}
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || tree == nil {
		return scanBrokenGo(src)
	}
	g := goTree{builder: builder{src: src}, base: set.File(tree.FileStart).Base()}
	for _, d := range tree.Decls {
		g.declaration(d)
	}
	f := g.finish()
	goParents(&f)
	return f
}

// deepBrackets counts the brackets of strings and comments too, being a guard only.
func deepBrackets(src []byte) bool {
	const most = 1000
	depth := 0
	for _, c := range src {
		switch c {
		case '(', '[', '{':
			if depth++; depth > most {
				return true
			}
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return false
}

// A goTree walks a syntax tree of go/ast.
type goTree struct {
	builder
	base int
}

func (g *goTree) at(p token.Pos) int { return min(max(int(p)-g.base, 0), len(g.src)) }

func (g *goTree) declaration(d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		g.function(d)
	case *ast.GenDecl:
		g.group(d, true)
	}
}

func (g *goTree) function(d *ast.FuncDecl) {
	kind := Function
	if d.Recv != nil {
		kind = Method
	}
	s := g.add(kind, d, d.Name, d.Doc)
	if s != nil {
		s.Signature = g.signature(d.Type)
		if d.Recv != nil && len(d.Recv.List) > 0 {
			s.Owner = receiverName(d.Recv.List[0].Type)
		}
	}
	if d.Type.TypeParams != nil {
		g.walk(d.Type.TypeParams)
	}
	g.walk(d.Type.Params)
	if d.Type.Results != nil {
		g.walk(d.Type.Results)
	}
	if d.Body != nil {
		g.walk(d.Body)
	}
}

func (g *goTree) signature(t *ast.FuncType) string {
	start, end := t.Params.Pos(), t.End()
	if t.TypeParams != nil {
		start = t.TypeParams.Pos()
	}
	return oneLine(g.src[g.at(start):g.at(end)], maxSignature)
}

// receiverName returns the name of the type in *T, T[P] and the like, "" for none.
func receiverName(e ast.Expr) string {
	for range 8 {
		switch t := e.(type) {
		case *ast.Ident:
			return t.Name
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.IndexExpr:
			e = t.X
		case *ast.IndexListExpr:
			e = t.X
		default:
			return ""
		}
	}
	return ""
}

// add lists a definition; the blank name is none. The result is valid until the next add.
func (g *goTree) add(k Kind, n ast.Node, name *ast.Ident, doc *ast.CommentGroup) *Symbol {
	if name == nil || name.Name == "_" || name.Name == "" {
		return nil
	}
	i := g.symbol(k, g.at(n.Pos()), g.at(n.End()), g.at(name.Pos()), g.at(name.End()))
	s := &g.file.Symbols[i]
	s.Exported = name.IsExported()
	if doc != nil {
		s.Doc = Span{Start: g.at(doc.Pos()), End: g.at(doc.End())}
	}
	return s
}

// group lists the specs of a declaration: the whole of it where it stands without
// parentheses, otherwise each spec. Of functions' bodies only types are listed.
func (g *goTree) group(d *ast.GenDecl, top bool) {
	for _, spec := range d.Specs {
		var node ast.Node = spec
		if !d.Lparen.IsValid() {
			node = d
		}
		switch spec := spec.(type) {
		case *ast.ImportSpec:
			g.imported(spec)
		case *ast.TypeSpec:
			g.typeSpec(spec, node, docOf(d, spec.Doc))
			if top {
				g.walk(spec)
			}
		case *ast.ValueSpec:
			if !top {
				continue
			}
			kind := Variable
			if d.Tok == token.CONST {
				kind = Constant
			}
			for _, name := range spec.Names {
				g.add(kind, node, name, docOf(d, spec.Doc))
			}
			g.walk(spec)
		}
	}
}

func docOf(d *ast.GenDecl, own *ast.CommentGroup) *ast.CommentGroup {
	if own == nil && !d.Lparen.IsValid() {
		return d.Doc
	}
	return own
}

func (g *goTree) imported(spec *ast.ImportSpec) {
	path := strings.Trim(spec.Path.Value, "`\"")
	end := g.at(spec.Path.End()) - 1
	last := strings.LastIndexByte(path, '/') + 1
	if last < len(path) {
		g.reference(Import, path, end-(len(path)-last), end)
	}
}

func (g *goTree) typeSpec(spec *ast.TypeSpec, node ast.Node, doc *ast.CommentGroup) {
	kind := Struct
	face, ok := spec.Type.(*ast.InterfaceType)
	if ok {
		kind = Class
	}
	g.add(kind, node, spec.Name, doc)
	if !ok {
		return
	}
	for _, m := range face.Methods.List {
		if t, ok := m.Type.(*ast.FuncType); ok && len(m.Names) == 1 {
			if s := g.add(Method, m, m.Names[0], m.Doc); s != nil {
				s.Signature, s.Owner = g.signature(t), spec.Name.Name
			}
		}
	}
}

// walk lists what is used in n, and the types declared in it. deepBrackets bounds its
// recursion for nesting, and go/parser, which refuses trees deeper than 100,000 levels, for
// the rest: chains of operators, of selectors, of else if, which take 64 MB at worst.
func (g *goTree) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			g.call(n)
		case *ast.GenDecl:
			g.group(n, false)
		case *ast.Field:
			g.typeUse(n.Type)
		case *ast.ValueSpec:
			g.typeUse(n.Type)
		case *ast.TypeSpec:
			g.typeUse(n.Type)
		case *ast.CompositeLit:
			g.typeUse(n.Type)
		case *ast.TypeAssertExpr:
			g.typeUse(n.Type)
		case *ast.ArrayType:
			g.typeUse(n.Elt)
		case *ast.MapType:
			g.typeUse(n.Key)
			g.typeUse(n.Value)
		case *ast.ChanType:
			g.typeUse(n.Value)
		case *ast.Ellipsis:
			g.typeUse(n.Elt)
		case *ast.TypeSwitchStmt:
			for _, clause := range n.Body.List {
				if c, ok := clause.(*ast.CaseClause); ok {
					for _, e := range c.List {
						g.typeUse(e)
					}
				}
			}
		}
		return true
	})
}

func (g *goTree) call(n *ast.CallExpr) {
	callee := n.Fun
	switch c := callee.(type) {
	case *ast.IndexExpr:
		if looksLikeType(c.Index) {
			g.typeUse(c.Index)
		}
		callee = c.X
	case *ast.IndexListExpr:
		for _, i := range c.Indices {
			g.typeUse(i)
		}
		callee = c.X
	}
	switch c := ast.Unparen(callee).(type) {
	case *ast.Ident:
		if (c.Name == "new" || c.Name == "make") && len(n.Args) > 0 {
			g.typeUse(n.Args[0])
		}
		if !predeclaredType(c.Name) {
			g.reference(Call, "", g.at(c.Pos()), g.at(c.End()))
		}
	case *ast.SelectorExpr:
		g.reference(Call, g.path(c.X), g.at(c.Sel.Pos()), g.at(c.Sel.End()))
	case *ast.StarExpr: // (*T)(x) makes a *T, or calls what a pointer to a function points to, which nearly nobody writes
		g.typeUse(c.X)
	}
}

// looksLikeType says of what stands between the brackets of f[x](y) that it is a type argument and no index: a name that other packages
// see is taken for one, as few constants are the index of a table of functions.
func looksLikeType(e ast.Expr) bool {
	switch t := e.(type) {
	case *ast.Ident:
		return t.IsExported()
	case *ast.SelectorExpr:
		_, ok := t.X.(*ast.Ident)
		return ok && t.Sel.IsExported()
	case *ast.StarExpr:
		return true
	case *ast.IndexExpr:
		return looksLikeType(t.X)
	}
	return false // arrays, maps and the like are found by walk
}

// path returns the text of a.b.c, "" if e is more than that.
func (g *goTree) path(e ast.Expr) string {
	for x := e; ; {
		switch y := x.(type) {
		case *ast.Ident:
			if text := g.src[g.at(e.Pos()):g.at(e.End())]; plainPath(text) {
				return g.text(g.at(e.Pos()), g.at(e.End()))
			}
			return ""
		case *ast.SelectorExpr:
			x = y.X
		default:
			return ""
		}
	}
}

// maxQualifier is the length of a Qualifier in bytes; what is longer is left out.
const maxQualifier = 200

// plainPath says that text has no white space and is not long.
func plainPath(text []byte) bool {
	if len(text) > maxQualifier {
		return false
	}
	for _, c := range text {
		if c <= ' ' {
			return false
		}
	}
	return true
}

// typeUse lists the names of a type expression. What is inside of arrays, functions
// and structs is found by walk.
func (g *goTree) typeUse(e ast.Expr) {
	for {
		switch t := e.(type) {
		case *ast.Ident:
			if t.Name != "_" && !predeclaredType(t.Name) {
				g.reference(TypeRef, "", g.at(t.Pos()), g.at(t.End()))
			}
			return
		case *ast.SelectorExpr:
			g.reference(TypeRef, g.path(t.X), g.at(t.Sel.Pos()), g.at(t.Sel.End()))
			return
		case *ast.StarExpr:
			e = t.X
		case *ast.ParenExpr:
			e = t.X
		case *ast.UnaryExpr:
			e = t.X
		case *ast.BinaryExpr:
			g.typeUse(t.Y)
			e = t.X
		case *ast.IndexExpr:
			g.typeUse(t.Index)
			e = t.X
		case *ast.IndexListExpr:
			for _, i := range t.Indices {
				g.typeUse(i)
			}
			e = t.X
		default:
			return
		}
	}
}

func predeclaredType(name string) bool {
	switch name {
	case "any", "bool", "byte", "comparable", "complex64", "complex128", "error", "float32", "float64",
		"int", "int8", "int16", "int32", "int64", "nil", "rune", "string",
		"uint", "uint8", "uint16", "uint32", "uint64", "uintptr":
		return true
	}
	return false
}

// goParents gives methods the type of their receiver as parent, where the file declares
// it, and makes siblings of the names of one spec.
func goParents(f *File) {
	siblings(f)
	types := make(map[string]int)
	for i, s := range f.Symbols {
		if s.Parent < 0 && (s.Kind == Struct || s.Kind == Class) {
			types[s.Name] = i
		}
	}
	for i := range f.Symbols {
		if s := &f.Symbols[i]; s.Kind == Method && s.Parent < 0 && s.Owner != "" {
			if parent, ok := types[s.Owner]; ok {
				s.Parent = parent
			}
		}
	}
}

// siblings makes symbols of equal spans children of what is around them, not of each other.
func siblings(f *File) {
	for i := range f.Symbols {
		s := &f.Symbols[i]
		if s.Parent >= 0 {
			if p := f.Symbols[s.Parent]; p.Span == s.Span {
				s.Parent, s.Owner = p.Parent, p.Owner
			}
		}
	}
}
